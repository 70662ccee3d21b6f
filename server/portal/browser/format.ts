/** Numbers as people write them. */

const dollars = new Intl.NumberFormat("en-US", {
  style: "currency",
  currency: "USD",
  maximumFractionDigits: 0,
});
const count = new Intl.NumberFormat("en-US");

/** Whole dollars: $10,035. */
export const money = (amount: number) => dollars.format(amount);
/** 2,344. */
export const whole = (number: number) => count.format(number);
/** A ratio: 6.8×. */
export const times = (ratio: number) => `${ratio.toFixed(1)}×`;
/** One noun for one, another for more: 1 facility, 2 facilities. */
export const counted = (number: number, one: string, more: string) =>
  `${whole(number)} ${number === 1 ? one : more}`;
