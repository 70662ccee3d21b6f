const cents = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD" });

/** Formats dollars, with cents between 0 and 10: $10,035, $7.50. */
export const money = (amount: number) =>
  amount > 0 && amount < 10 ? cents.format(amount) : `$${whole(Math.round(amount))}`;
/** Formats an integer of at least zero: 2,344. */
export const whole = (number: number) =>
  number < 1000 ? String(number) : String(number).replace(/\B(?=(\d{3})+$)/g, ",");
export const times = (ratio: number) => `${ratio.toFixed(1)}×`;
/** Formats a percentage from 0 to 100, with at most one decimal below 1 and above 99, and none otherwise: 62%, 99.9%. */
export const percent = (share: number) =>
  `${share > 1 && share < 99 ? Math.round(share) : Math.round(share * 10) / 10}%`;
export const printable = (text: string) => text.replaceAll(/\p{C}/gu, "\ufffd");
export const change = (share: number) => `${share > 0 ? "+" : share < 0 ? "−" : ""}${Math.abs(share)}%`;
export const counted = (number: number, one: string, more: string) =>
  `${whole(number)} ${number === 1 ? one : more}`;
