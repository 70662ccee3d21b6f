import { counted, money, percent, times, whole } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import type { Standing } from "./answers.ts";
import { there } from "./ask.ts";
import { type Choice, inYear } from "./choice.ts";
import { isPriced, leastForQuartiles, type Pinned, type Scope, type View } from "./explore-data.ts";
import { plainOf, titleOf } from "./procedures.ts";
import { stateInSentence } from "./states.ts";

/** Puts a procedure's prices into words, for any number of hospitals, and for equal charges. */

const charge = (amount: number) => html`<span class="charge">${money(amount)}</span>`;
const allowed = (amount: number) => html`<span class="allowed">${money(amount)}</span>`;

/** The chosen place, to continue a sentence; empty for the nation. */
export function placeText({ state, near, within }: Choice): string {
  if (near !== null) return `within ${within} miles of ${near}`;
  return state === null ? "" : `in ${stateInSentence(state)}`;
}

/** The procedure's plain name with place and year; empty where nothing is known of it. */
export function titleText(view: View): string {
  const { choice, code, unpriced } = view;
  const answer = there(view.scope) ?? there(view.nation);
  const name = answer?.procedure.name ?? unpriced?.name;
  if (name === undefined) return "";
  const year = answer?.source.data_year ?? unpriced?.year;
  return [titleOf({ code, name }), placeText(choice)].filter(Boolean).join(" ") + (year ? `, ${year}` : "");
}

interface SentenceProps {
  choice: Choice;
  scope: Scope;
  pinned: readonly Pinned[];
}

export function Sentence({ choice, scope, pinned }: SentenceProps) {
  return html`<h1>${mainClause(choice, scope)}</h1>
    <p class="under">
      ${pinned.map((one) => html`${standingClause(choice, scope, one)} `)}<span class="quiet">${comparison(scope)}</span>
    </p>`;
}

function mainClause(choice: Choice, { summary, procedure }: Scope) {
  const { facilities, min_charge: min, max_charge: max, median_charge: median, median_allowed } = summary;
  const where = placeText(choice);
  const start = where === "" ? "" : `${where[0].toUpperCase()}${where.slice(1)}, `;
  const begin = (word: string) => (start === "" ? word : start + word.toLowerCase());
  const what = html` for ${plainOf(procedure.code)?.name ?? procedure.name}`;
  const medicare = html`Medicare allows ${allowed(median_allowed)}.`;
  if (facilities === 1) return html`${begin("One")} hospital charges ${charge(max)}${what}. ${medicare}`;
  if (min === max)
    return html`${begin("All")} ${whole(facilities)} hospitals charge ${charge(max)}${what}. ${medicare}`;
  if (facilities === 2)
    return html`${begin("Two")} hospitals charge ${charge(min)} and ${charge(max)}${what}. ${medicare}`;
  const range = html`${start}${whole(facilities)} hospitals charge from ${charge(min)} to ${charge(max)}${what}.`;
  if (facilities < leastForQuartiles) return html`${range} ${medicare}`;
  // An odd number has no half on each side.
  if (facilities % 2 === 1 && facilities < 20)
    return html`${range} The one in the middle charges ${charge(median)}; ${medicare}`;
  return html`${range} Half charge ${charge(median)} or more; ${medicare}`;
}

function comparison({ summary, procedure }: Scope) {
  const { min_charge: min, max_charge: max, median_charge, median_allowed, facilities } = summary;
  const ratio = median_charge / median_allowed;
  const isOne = facilities === 1 || min === max;
  const subject = isOne ? "the charge" : "the median charge";
  const object = facilities === 1 ? "what Medicare allows" : "the median that Medicare allows";
  const markup =
    times(ratio) === times(1)
      ? `${subject} is about ${object}`
      : ratio < 1
        ? `${subject} is ${percent(100 * (1 - ratio))} below ${object}`
        : `${subject} is ${timesInWords(ratio)} ${object}`;
  const isFew = facilities < leastForQuartiles && !isOne;
  const spread =
    max / min >= 1.05 && !isOne ? `the dearest charges ${timesInWords(max / min)} the cheapest` : "";
  const text = isFew ? spread : [spread, markup].filter(Boolean).join("; ");
  const includes = plainOf(procedure.code)?.includes;
  return [text && `${text[0].toUpperCase()}${text.slice(1)}.`, includes && `Includes ${includes}.`]
    .filter(Boolean)
    .join(" ");
}

const timesInWords = (ratio: number) => `${ratio.toFixed(ratio < 100 ? 1 : 0)} times`;

function standingClause(
  choice: Choice,
  { summary }: Scope,
  { letter, ccn, entry, standing: around }: Pinned,
) {
  if (entry === null) return html`<b>${letter}</b> ${noHospital(ccn)}`;
  const name = html`<b class="letter">${letter}</b> <a href=${inYear(`/facilities/${ccn}`)}>${entry.facility}</a>`;
  if (!isPriced(entry))
    return html`${name} has no price for this procedure: it doesn't do it, or for too few Medicare patients.`;
  const { state, near } = choice;
  const isInState = state === entry.state;
  const standing = around ?? (isInState ? entry.within_state : entry.national);
  const where = around
    ? " there"
    : isInState
      ? ` in ${stateInSentence(entry.state)}`
      : state === null && near === null
        ? ""
        : " in the nation";
  const place =
    near === null && summary.facilities === 1 ? "" : standing ? `, ${standingText(standing, where)}` : "";
  return html`${name} charges ${charge(entry.submitted_charge)}${place}; Medicare allows it ${allowed(entry.medicare_allowed)}.`;
}

/** The standing of a charge in words. Nothing is said about equal charges. */
export function standingText(
  { rank, facilities }: Pick<Standing, "rank" | "facilities">,
  where = "",
): string {
  if (facilities === 1) return `the only price${where}`;
  const all = `${whole(facilities)}${where}`;
  if (rank === 1) return `where none of ${all} charges less`;
  if (rank === facilities) return `the highest of ${all}`;
  return facilities < 20
    ? `where ${whole(rank - 1)} of ${all} ${rank === 2 ? "charges" : "charge"} less`
    : `more than ${percent((100 * (rank - 1)) / (facilities - 1))} of ${all}`;
}

export const noHospital = (ccn: string) =>
  /^[0-9A-Z]{6}$/i.test(ccn)
    ? `No hospital in the data has the number (CCN) ${ccn}: it may have closed or merged, or be one that Medicare pays otherwise.`
    : `“${ccn.replaceAll(/\p{C}/gu, "\ufffd")}” isn't a hospital's number (CCN): that has six characters.`;

export const hospitals = (number: number) => counted(number, "hospital", "hospitals");
