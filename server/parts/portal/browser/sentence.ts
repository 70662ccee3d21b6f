import { html } from "../../../shared/browser/html.ts";
import { there } from "./api.ts";
import { nowhere, rangeOf } from "./choice.ts";
import { Letter } from "./dots.ts";
import type { PartProps, Pinned, Scope, View } from "./explore-data.ts";
import { choose, inYear, pin } from "./location.ts";
import { Nothing } from "./notes.ts";
import {
  comparison,
  isPriced,
  mainClause,
  noHospital,
  ownClause,
  placeTitle,
  pricesTitle,
  rangeText,
  type Word,
  whatIsPaid,
  withoutPrice,
} from "./words.ts";

/** Shows a procedure's prices as a sentence, and the choices as chips. */

/** The procedure's plain name with place and year; empty where nothing is known of it. */
export function titleText({ choice, code, unpriced, scope, nation }: View): string {
  const answer = there(scope) ?? there(nation) ?? unpriced;
  const name = answer?.procedure?.name;
  return name === undefined ? "" : pricesTitle({ code, name }, choice, answer?.source.data_year);
}

/** The sentence, or why there is none. */
export function Said({ view, datasets }: PartProps) {
  const scope = there(view.scope);
  if (scope === null) return html`<${Nothing} view=${view} datasets=${datasets} />`;
  return html`<h1>${mainClause(view.choice, scope).map(shown)}</h1>
    <p class="under">
      ${view.pinned.map((one) => html`${pinnedClause(view, scope, one)} `)}${whatIsPaid(scope.source.data_year, scope.summary.median_allowed)}${" "}<span class="quiet">${comparison(scope)}</span>
    </p>`;
}

const shown = (word: Word) =>
  typeof word === "string" ? word : html`<span class=${word.kind}>${word.text}</span>`;

function pinnedClause({ choice, code }: View, scope: Scope, { letter, ccn, entry, standing }: Pinned) {
  if (entry === null) return html`<b>${letter}</b> ${noHospital(ccn)}`;
  const clause = isPriced(entry) ? ownClause(choice, scope, entry, entry, standing) : [withoutPrice];
  return html`<b class="letter">${letter}</b> <a href=${inYear(`/facilities/${ccn}`, { procedure: code })}>${entry.facility}</a>${clause.map(shown)}`;
}

/** Shows each choice as a chip with a button that removes it. */
export function Chips({ view: { choice, pinned } }: { view: View }) {
  const range = rangeOf(choice);
  const place = placeTitle(choice);
  const chip = (text: string, remove: () => void, letter?: string) =>
    html`<button type="button" class="chip" onClick=${remove}>
      <span class="unseen">Remove: </span>${letter && html`<${Letter} letter=${letter} /> `}<span>${text}</span><span aria-hidden="true">×</span>
    </button>`;
  return html`<p class="chips">
    ${place !== "" && chip(place, () => choose(nowhere))}
    ${range && chip(rangeText(range), () => choose({ from: null, to: null }))}
    ${pinned.map(({ letter, ccn, entry }) => chip(entry?.facility ?? ccn, () => pin(choice, ccn), letter))}
  </p>`;
}
