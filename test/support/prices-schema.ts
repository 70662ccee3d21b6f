import * as v from "valibot";

/** The form of an answer with prices. */

const number = (least: number) =>
  v.pipe(
    v.number(),
    v.minValue(least),
    v.check((value) => Number(value.toFixed(2)) === value, "two decimals at most"),
  );
const amount = number(0.01);
const count = v.pipe(v.number(), v.integer());

export const pricesSchema = v.strictObject({
  procedure: v.strictObject({ code: v.string(), name: v.string() }),
  scope: v.strictObject({ state: v.string() }),
  summary: v.strictObject({
    facilities: count,
    median_charge: amount,
    min_charge: amount,
    max_charge: amount,
    spread: number(1),
    p10_charge: amount,
    p25_charge: amount,
    p75_charge: amount,
    p90_charge: amount,
    median_allowed: amount,
    services: v.nullable(count),
    weighted_median_charge: v.nullable(amount),
    weighted_mean_charge: v.nullable(amount),
  }),
  data: v.array(
    v.strictObject({
      facility: v.string(),
      city: v.string(),
      state: v.pipe(v.string(), v.regex(/^[A-Z]{2}$/)),
      ccn: v.string(),
      submitted_charge: amount,
      medicare_allowed: amount,
    }),
  ),
  source: v.strictObject({ data_year: v.number(), data_version: v.string(), caveat: v.string() }),
  next: v.nullable(v.string()),
});

/** All of it but the way to the next page, which the data doesn't say. */
export type PricesBody = Omit<v.InferOutput<typeof pricesSchema>, "next">;
