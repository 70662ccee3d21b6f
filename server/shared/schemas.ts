import * as v from "valibot";

/** Schemas that settings, commands and requests have in common. */

/** A whole number in plain decimal digits. */
export function wholeNumber(min: number, max: number) {
  const expected = `a whole number from ${min} to ${max}`;
  return v.pipe(
    v.string(),
    v.regex(/^[0-9]+$/, expected),
    v.transform(Number),
    v.minValue(min, expected),
    v.maxValue(max, expected),
  );
}
