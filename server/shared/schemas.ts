import * as v from "valibot";
import { anEmailAddress, isEmailAddress } from "./form-rules.ts";
import { maxTimeMs } from "./time.ts";

export function wholeNumber(min: number, max: number) {
  const expected = `a whole number from ${min} to ${max}`;
  return v.pipe(
    v.string(),
    v.regex(/^[0-9]+$/, expected),
    v.regex(/^(?!0[0-9])/, `${expected} without leading zeros`),
    v.transform(Number),
    v.minValue(min, expected),
    v.maxValue(max, expected),
  );
}

/** Seconds may have any number of decimals, because Python writes six. */
const isoForm = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/;
const aTimeInRange = "a time that exists, from 1970-01-01 to 9999-12-31 in UTC";

/** Whether a time exists and is in the allowed years. JavaScript would read 31 April as 1 May. */
function isInRange(text: string): boolean {
  const day = text.slice(0, 10);
  const midnight = new Date(`${day}T00:00:00Z`);
  if (Number.isNaN(midnight.getTime()) || !midnight.toISOString().startsWith(day)) return false;
  // Hour 24 is refused, because JavaScript turns it into the next day.
  if (text.slice(11, 13) === "24") return false;
  const ms = Date.parse(text);
  return ms >= 0 && ms <= maxTimeMs;
}

/** Makes a schema that parses a day, or a time with its zone, in ISO 8601 form into Unix milliseconds, rounded down. */
export function time(expected = "a time such as 2027-01-31T00:00:00Z") {
  return v.pipe(
    v.string(expected),
    v.regex(isoForm, expected),
    v.check(isInRange, aTimeInRange),
    v.transform((text) => Date.parse(text)),
  );
}

const aDay = "a day such as 2027-01-31";
export const day = v.pipe(v.string(aDay), v.regex(/^\d{4}-\d{2}-\d{2}$/, aDay), v.check(isInRange, aDay));

const aMonth = "a month such as 2027-01";
export const month = v.pipe(
  v.string(aMonth),
  v.regex(/^\d{4}-\d{2}$/, aMonth),
  v.check((text) => isInRange(`${text}-01`), aMonth),
);

export const emailAddress = v.pipe(v.string(anEmailAddress), v.check(isEmailAddress, anEmailAddress));
