/** Numbers as people write them. */

const dollars = new Intl.NumberFormat("en-US", {
  style: "currency",
  currency: "USD",
  maximumFractionDigits: 0,
});
const count = new Intl.NumberFormat("en-US");

const cents = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD" });
const short = new Intl.NumberFormat("en-US", {
  style: "currency",
  currency: "USD",
  notation: "compact",
  maximumSignificantDigits: 3,
});

/** Whole dollars: $10,035; with cents below ten: $7.50. */
export const money = (amount: number) => (amount < 10 ? cents : dollars).format(amount);
/** In three digits: $10.1K. */
export const shortMoney = (amount: number) => short.format(amount);
/** 2,344. */
export const whole = (number: number) => count.format(number);
/** A ratio: 6.8×. */
export const times = (ratio: number) => `${ratio.toFixed(1)}×`;
/** 62 %, with the decimal where it tells something: 99.9 %. */
export const percent = (share: number) =>
  `${share > 1 && share < 99 ? Math.round(share) : Math.round(share * 10) / 10} %`;
/** What somebody wrote into the address, as it can be shown. */
export const printable = (text: string) => text.replaceAll(/\p{C}/gu, "\ufffd");
/** A change: +4.9 %. */
export const change = (share: number) => `${share > 0 ? "+" : share < 0 ? "−" : "±"}${Math.abs(share)} %`;
/** One noun for one, another for more: 1 facility, 2 facilities. */
export const counted = (number: number, one: string, more: string) =>
  `${whole(number)} ${number === 1 ? one : more}`;
