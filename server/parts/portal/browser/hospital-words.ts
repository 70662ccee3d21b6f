import { money, times } from "../../../shared/browser/format.ts";
import type { FacilityAnswer } from "./answers.ts";
import { nameOf, plainOf } from "./procedures.ts";
import { stateInSentence } from "./states.ts";
import { paidByPatients, standingText, whatIsPaid, withoutAnyPrice } from "./words.ts";

/** Puts a hospital's charges into words. The server runs this module too. */

/** @param code code of the chosen procedure, whose charge comes first; null if none is chosen */
export function hospitalText({ data, facility, source }: FacilityAnswer, code: string | null): string {
  if (data.length === 0) return withoutAnyPrice;
  const chosen = data.find((row) => row.code === code);
  const plain = code === null ? undefined : plainOf(code);
  const compared = data.filter(({ national }) => national.facilities > 1);
  const above = compared.filter((row) => row.submitted_charge > row.national.median_charge).length;
  const inState = data.filter((row) => row.within_state.facilities > 1);
  const aboveState = inState.filter((row) => row.submitted_charge > row.within_state.median_charge).length;
  const charges = (median: string, above: number, all: number) => {
    const whole = all === 1 ? "one procedure" : all === 2 ? "both procedures" : `all ${all} procedures`;
    if (above === 0) return `${median} or less for ${whole}`;
    return `more than ${median} for ${above === all ? whole : `${above} of ${all} procedures`}`;
  };
  const others = (some: unknown[], there = "") =>
    some.length < data.length ? ` that other hospitals${there} have a price for` : "";
  const nation =
    data.length === 1
      ? `It has a price for one procedure: ${nameOf(data[0])}.`
      : `It charges ${charges("the nation's median", above, compared.length)}${others(compared)}` +
        `${inState.length > 0 ? `, and ${charges(`the median in ${stateInSentence(facility.state)}`, aboveState, inState.length)}${others(inState, " there")}` : ""}.`;
  const paid = chosen ? paidByPatients(chosen.medicare_allowed, chosen.medicare_payment) : "";
  const own = chosen
    ? `For ${nameOf(chosen)} it charges ${money(chosen.submitted_charge)}: ${standingText(chosen.national, " in the nation")}. Medicare allows it ${money(chosen.medicare_allowed)}${paid}. `
    : plain
      ? `It has no price for ${plain.name}: it doesn't do it, or for too few Medicare patients. `
      : "";
  const ratio = medianOf(data.map((row) => row.submitted_charge / row.medicare_allowed));
  const subject = data.length === 1 ? "It" : "Typically it";
  return `${own}${nation} ${subject} charges ${times(ratio).replace("×", " times")} what Medicare allows. ${whatIsPaid(source.data_year, paid === "" ? chosen?.medicare_allowed : undefined)}`;
}

function medianOf(numbers: number[]): number {
  const sorted = numbers.sort((a, b) => a - b);
  const half = (sorted.length - 1) / 2;
  return (sorted[Math.floor(half)] + sorted[Math.ceil(half)]) / 2;
}

export const addressText = ({ facility }: FacilityAnswer): string =>
  `${[facility.street, facility.city, `${facility.state} ${facility.zip ?? ""}`.trim()].filter(Boolean).join(", ")} · CCN ${facility.ccn}`;
