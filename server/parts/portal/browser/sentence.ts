import { money, percent, times, whole } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import type { FacilityAnswer, ProcedureAnswer, Standing } from "./answers.ts";
import { stateInSentence } from "./states.ts";

/** Puts a procedure's answer into words, for any number of facilities, and for equal charges. */

const charge = (amount: number) => html`<span class="charge">${money(amount)}</span>`;
const allowed = (amount: number) => html`<span class="allowed">${money(amount)}</span>`;

export function Sentence({ answer, standing }: { answer: ProcedureAnswer; standing: FacilityAnswer | null }) {
  return html`<h1>${mainClause(answer)}</h1>
    <p class="under">
      ${standing ? html`${standingClause(answer, standing)} ` : null}<span class="quiet">${comparison(answer)}</span>
    </p>`;
}

function mainClause({ summary, scope }: ProcedureAnswer) {
  const { facilities, min_charge: min, max_charge: max, median_charge: median, median_allowed } = summary;
  const place = scope.state === "national" ? "" : `In ${stateInSentence(scope.state)}, `;
  const begin = (word: string) => (place === "" ? word : place + word.toLowerCase());
  if (facilities === 1)
    return html`${begin("One")} facility has a price: it charges ${charge(max)}; Medicare allows ${allowed(median_allowed)}.`;
  if (min === max)
    return html`${begin("All")} ${whole(facilities)} facilities charge ${charge(max)}; Medicare allows ${allowed(median_allowed)}.`;
  const medicare = html`Medicare allows ${allowed(median_allowed)}.`;
  if (facilities === 2)
    return html`${begin("Two")} facilities charge ${charge(min)} and ${charge(max)}. ${medicare}`;
  const range = html`${place}${whole(facilities)} facilities charge from ${charge(min)} to ${charge(max)}.`;
  // An odd number has no half on each side.
  if (facilities % 2 === 1 && facilities < 20)
    return html`${range} The one in the middle charges ${charge(median)}; ${medicare}`;
  return html`${range} Half charge ${charge(median)} or more; ${medicare}`;
}

function comparison({ summary }: ProcedureAnswer) {
  const { min_charge: min, max_charge: max, median_charge, median_allowed, facilities } = summary;
  const ratio = median_charge / median_allowed;
  const subject = facilities === 1 || min === max ? "the charge" : "the median charge";
  const object = facilities === 1 ? "what Medicare allows" : "the median that Medicare allows";
  const markup =
    times(ratio) === times(1)
      ? `${subject} is about ${object}`
      : ratio < 1
        ? `${subject} is ${percent(100 * (1 - ratio))} below ${object}`
        : `${subject} is ${timesInWords(ratio)} ${object}`;
  const spread =
    max / min >= 1.05 && facilities > 1
      ? `The dearest charges ${timesInWords(max / min)} the cheapest; `
      : "";
  const text = spread + markup;
  return `${text[0].toUpperCase()}${text.slice(1)}.`;
}

const timesInWords = (ratio: number) => `${ratio.toFixed(ratio < 100 ? 1 : 0)} times`;

function standingClause({ procedure, scope }: ProcedureAnswer, { facility, data }: FacilityAnswer) {
  const row = data.find(({ code }) => code === procedure.code);
  const name = html`<a href=${`/facilities/${facility.ccn}`}>${facility.facility}</a>`;
  if (row === undefined)
    return html`${name} has no price for this procedure: it doesn't do it, or for too few Medicare patients.`;
  const isInState = scope.state === facility.state;
  const where = isInState
    ? ` in ${stateInSentence(facility.state)}`
    : scope.state === "national"
      ? ""
      : " in the nation";
  return html`${name} charges ${charge(row.submitted_charge)}, ${placeOf(isInState ? row.state : row.national, where)};
    Medicare allows it ${allowed(row.medicare_allowed)}.`;
}

/** The standing of a charge in words. Nothing is said about equal charges. */
export function placeOf({ rank, facilities }: Standing, where = ""): string {
  if (facilities === 1) return `the only price${where}`;
  const all = `${whole(facilities)}${where}`;
  if (rank === 1) return `where none of ${all} charges less`;
  if (rank === facilities) return `the highest of ${all}`;
  return `where ${whole(rank - 1)} of ${all} ${rank === 2 ? "charges" : "charge"} less`;
}
