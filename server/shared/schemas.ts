import * as v from "valibot";

/** Schemas that settings, commands and requests have in common. */

/** A whole number in plain decimal digits without leading zeros. */
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

const isoTime = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/;

/** JavaScript takes the 30th of February for the 2nd of March. */
function isTime(text: string): boolean {
  const day = text.slice(0, 10);
  const midnight = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(Date.parse(text)) && midnight.toISOString().startsWith(day);
}

export function time(expected = "a time such as 2027-01-31T00:00:00Z") {
  return v.pipe(
    v.string(expected),
    v.regex(isoTime, expected),
    v.check(isTime, "a time that exists"),
    v.transform((text) => new Date(text)),
  );
}

const anEmailAddress = "an e-mail address such as ann@example.com";
/**
 * Of the forms that RFC 5321 allows those in use: no quotes, comments or lists, nothing that a header or a command could
 * take for its end, and a domain with a dot whose last part is no number.
 */
const emailForm =
  /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*@([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])$/i;
export const emailAddress = v.pipe(
  v.string(anEmailAddress),
  v.maxLength(254, anEmailAddress),
  v.regex(/^[^@]{1,64}@/, anEmailAddress),
  v.regex(emailForm, anEmailAddress),
);
