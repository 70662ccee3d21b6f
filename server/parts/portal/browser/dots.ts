import { money } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import { placedTicks, useWidth } from "./picture.ts";

/** Amounts as dots on a scale, in a row of a table: the eye compares down the column. */

export type Kind = "charge" | "allowed";
type Scale = d3.ScaleLogarithmic<number, number>;

/** A charge is round and an allowed amount a lozenge, wherever they are dots. */
export function Shape({ kind, x, y, size = 5 }: { kind: Kind; x: number; y: number; size?: number }) {
  const half = size * 1.25;
  return kind === "charge"
    ? html`<circle class="dot charge" cx=${x} cy=${y} r=${size} />`
    : html`<path class="dot allowed" d=${`M${x} ${y - half}L${x + half} ${y}L${x} ${y + half}L${x - half} ${y}Z`} />`;
}

/** A dot at a share of the width, in percent. */
export function DotAt({ kind, share, y }: { kind: Kind; share: number; y: number }) {
  return html`<svg x=${`${share}%`} y=${y} overflow="visible"><${Shape} kind=${kind} x=${0} y=${0} size=${4.5} /></svg>`;
}

/** @param x a scale to 0 to 100 */
export function Dots({
  x,
  charged,
  allowed,
  median,
}: {
  x: Scale;
  charged: number;
  allowed: number;
  median: number;
}) {
  const at = (amount: number) => `${x(amount)}%`;
  return html`<svg width="100%" height="18" aria-hidden="true">
    <line class="track" x1="0" x2="100%" y1="9" y2="9" />
    <line class="median" x1=${at(median)} x2=${at(median)} y1="3" y2="15" />
    <line class="between" x1=${at(allowed)} x2=${at(charged)} y1="9" y2="9" />
    <${DotAt} kind="charge" share=${x(charged)} y="9" />
    <${DotAt} kind="allowed" share=${x(allowed)} y="9" />
  </svg>`;
}

/** The scale, at the head of the column. */
export function DotsAxis({ x }: { x: Scale }) {
  const [measured, width] = useWidth();
  const inPixels = x.copy().range([0, width]);
  return html`<div ref=${measured}><svg width="100%" height="16" aria-hidden="true">
    ${placedTicks(inPixels, 4, width).map(({ tick, at }) => html`<text x=${at} y="12" text-anchor="middle">${money(tick)}</text>`)}
  </svg></div>`;
}

/** What a dot means, within a text. */
export function Key({ kind }: { kind: Kind }) {
  return html`<svg class="key" width="12" height="12" aria-hidden="true"><${Shape} kind=${kind} x=${6} y=${6} size=${4} /></svg>`;
}
