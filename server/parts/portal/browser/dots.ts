import { money } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import type { ProcedureAnswer } from "./answers.ts";
import { letterWidth } from "./picture.ts";

/** Draws amounts on one scale: as dots, and as a summary. */

export type Kind = "charge" | "allowed";
export type Scale = d3.ScaleLogarithmic<number, number>;

/** The shape of an amount: charges are round, allowed amounts are lozenges. */
export function Shape({ kind, x, y, size = 5 }: { kind: Kind; x: number; y: number; size?: number }) {
  const half = size * 1.25;
  return kind === "charge"
    ? html`<circle class="dot charge" cx=${x} cy=${y} r=${size} />`
    : html`<path class="dot allowed" d=${`M${x} ${y - half}L${x + half} ${y}L${x} ${y + half}L${x - half} ${y}Z`} />`;
}

const pinSymbols: Record<string, d3.SymbolType> = {
  A: d3.symbolTriangle,
  B: d3.symbolSquare,
  C: d3.symbolStar,
};

/** The shape of a hospital that is compared, by its letter. */
export function PinShape({ letter, x, y }: { letter: string; x: number; y: number }) {
  return html`<path class="pin-shape" d=${d3.symbol(pinSymbols[letter], 70)()} transform=${`translate(${x} ${y})`} />`;
}

/** A dot in running text, as a legend. */
export function Key({ kind }: { kind: Kind }) {
  return html`<svg class="key" width="12" height="12" aria-hidden="true"><${Shape} kind=${kind} x=${6} y=${6} size=${4} /></svg>`;
}

/** The letter and the shape of a hospital that is compared. */
export function Letter({ letter }: { letter: string }) {
  return html`<span class="letter"><svg class="key" width="13" height="13" aria-hidden="true"><${PinShape} letter=${letter} x=${6.5} y=${7} /></svg>${letter}</span>`;
}

interface AmountsProps {
  x: Scale;
  y: number;
  kind: Kind;
  title: string;
}

type StripProps = AmountsProps & ProcedureAnswer["allowed"] & { isNarrow: boolean };

/** A summary: a line from minimum to maximum, a thick one from p10 to p90, and a box for the middle half. */
export function Strip({ x, y, kind, title, isNarrow, min, p10, p25, median, p75, p90, max }: StripProps) {
  const line = (from: number, to: number, more: string) =>
    html`<line class=${more} x1=${x(from)} x2=${x(to)} y1=${y} y2=${y} />`;
  const words = isNarrow ? "half" : "half of them";
  const half = p25 === p75 ? "" : `, ${words} ${money(p25)} to ${money(p75)}`;
  return html`<g class=${`strip ${kind}`}>
    <text x="0" y=${y - 15}>
      <tspan class="strong">${title} ${money(median)}</tspan>${half}
    </text>
    ${line(min, max, "whole")} ${line(p10, p90, "most")}
    <rect class="half" x=${x(p25)} width=${Math.max(2, x(p75) - x(p25))} y=${y - 7} height="14" rx="2" />
    <${Shape} kind=${kind} x=${x(median)} y=${y} />
  </g>`;
}

interface AmountsTextProps extends Pick<AmountsProps, "y" | "title"> {
  width: number;
  amounts: readonly number[];
}

/** The amounts of a few hospitals as text; only the lowest and the highest where not all have room. */
export function AmountsText({ width, y, title, amounts }: AmountsTextProps) {
  const texts = [...new Set(amounts.toSorted((a, b) => a - b).map(money))];
  const all = texts.join(", ");
  const isWide = (title.length + all.length) * letterWidth > width;
  return html`<text x="0" y=${y}><tspan class="strong">${title}</tspan> ${isWide ? `${texts[0]} to ${texts.at(-1)}` : all}</text>`;
}

/** The amounts of a few hospitals, each as a dot. */
export function Values({ x, width, y, kind, title, amounts }: AmountsProps & AmountsTextProps) {
  return html`<g class=${`strip ${kind}`}>
    <${AmountsText} width=${width} y=${y - 15} title=${title} amounts=${amounts} />
    ${amounts.map((amount) => html`<${Shape} kind=${kind} x=${x(amount)} y=${y} />`)}
  </g>`;
}
