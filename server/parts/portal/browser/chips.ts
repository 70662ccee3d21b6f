import { money } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import type { Choice } from "./choice.ts";
import { Letter } from "./dots.ts";
import type { Pinned } from "./explore-data.ts";
import { choose, pin } from "./location.ts";
import { placeTitle } from "./words.ts";

/** Shows each choice as a chip with a button that removes it. */

export function Chips({ choice, pinned }: { choice: Choice; pinned: readonly Pinned[] }) {
  const range = rangeOf(choice);
  const place = placeTitle(choice);
  return html`<p class="chips">
    ${place !== "" && html`<${Chip} text=${place} remove=${() => choose({ state: null, near: null, within: null })} />`}
    ${range && html`<${Chip} text=${rangeText(range)} remove=${() => choose({ from: null, to: null })} />`}
    ${pinned.map(
      ({ letter, ccn, entry }) =>
        html`<${Chip} key=${ccn} letter=${letter} text=${entry?.facility ?? ccn} remove=${() => pin(choice, ccn)} />`,
    )}
  </p>`;
}

function Chip({ letter, text, remove }: { letter?: string; text: string; remove: () => void }) {
  return html`<button type="button" class="chip" onClick=${remove}>
    <span class="unseen">Remove: </span>${letter && html`<${Letter} letter=${letter} /> `}<span>${text}</span><span aria-hidden="true">×</span>
  </button>`;
}

/** Charges in dollars, both included. */
interface Range {
  from: number;
  to: number;
}

/** The charges that the list is limited to; null where it isn't. */
export function rangeOf({ from, to }: Choice): Range | null {
  if (from === null && to === null) return null;
  return { from: Number(from ?? 0), to: Number(to ?? Number.POSITIVE_INFINITY) };
}

export function rangeText({ from, to }: Range): string {
  if (to === Number.POSITIVE_INFINITY) return `${money(from)} or more`;
  return from === 0 ? `at most ${money(to)}` : `${money(from)} to ${money(to)}`;
}
