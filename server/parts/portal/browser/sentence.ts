import { counted, printable } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import { there } from "./ask.ts";
import type { Choice } from "./choice.ts";
import type { Pinned, Scope, View } from "./explore-data.ts";
import { inYear } from "./location.ts";
import {
  comparison,
  isPriced,
  mainClause,
  ownClause,
  pricesTitle,
  type Word,
  whatIsPaid,
  withoutPrice,
} from "./words.ts";

/** Shows a procedure's prices as a sentence. */

/** The procedure's plain name with place and year; empty where nothing is known of it. */
export function titleText({ choice, code, unpriced, scope, nation }: View): string {
  const answer = there(scope) ?? there(nation);
  const name = answer?.procedure.name ?? unpriced?.name;
  if (name === undefined) return "";
  return pricesTitle({ code, name }, choice, answer?.source.data_year ?? unpriced?.year);
}

interface SentenceProps {
  choice: Choice;
  scope: Scope;
  pinned: readonly Pinned[];
}

export function Sentence({ choice, scope, pinned }: SentenceProps) {
  return html`<h1>${mainClause(choice, scope).map(shown)}</h1>
    <p class="under">
      ${pinned.map((one) => html`${standingClause(choice, scope, one)} `)}${whatIsPaid(scope.source.data_year, scope.summary.median_allowed)}${" "}<span class="quiet">${comparison(scope)}</span>
    </p>`;
}

const shown = (word: Word) =>
  typeof word === "string" ? word : html`<span class=${word.kind}>${word.text}</span>`;

function standingClause(choice: Choice, scope: Scope, { letter, ccn, entry, standing }: Pinned) {
  if (entry === null) return html`<b>${letter}</b> ${noHospital(ccn)}`;
  const clause = isPriced(entry) ? ownClause(choice, scope, entry, entry, standing) : [withoutPrice];
  return html`<b class="letter">${letter}</b> <a href=${inYear(`/facilities/${ccn}`, { procedure: scope.procedure.code })}>${entry.facility}</a>${clause.map(shown)}`;
}

export const noHospital = (ccn: string) =>
  /^[0-9A-Z]{6}$/i.test(ccn)
    ? `No hospital in the data has the number (CCN) ${ccn}: it may have closed or merged, or be one that Medicare pays otherwise.`
    : `“${printable(ccn)}” isn't a hospital's number (CCN): that has six characters.`;

export const hospitals = (number: number) => counted(number, "hospital", "hospitals");
