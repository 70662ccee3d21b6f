import { useEffect, useState } from "preact/hooks";
import * as d3 from "../../../shared/browser/d3.ts";
import { money } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import { byWidth, placedLabels } from "../../../shared/browser/labels.ts";
import { useDrawn } from "./location.ts";

/** Parts of pictures, such as a dollar scale, notes on hover or by arrow keys, and marks for amounts. */

/** Minimum ratio of a scale's highest to its lowest amount, so that nearly equal amounts are near each other. */
const leastSpan = 4;

/** Makes a logarithmic scale in percent. It covers all amounts, with a margin. */
export function dollarScale(amounts: readonly number[]) {
  const [low, high] = [Math.min(...amounts), Math.max(...amounts)];
  const air = Math.max((high / low) ** 0.03, Math.sqrt((leastSpan * low) / high));
  return d3.scaleLog([low / air, high * air], [0, 100]);
}

/** Minimum distance between a scale's first and last label, as a share of the largest such distance tried. */
const leastCovered = 0.75;

/** Assumed width in pixels of a character in a picture's small text. */
export const letterWidth = 7;

/**
 * Finds round amounts on a scale, such as $2,000, with anchors for their texts. Returns three or more if possible, else
 * two. If no two round amounts have room, returns the scale's ends.
 */
export function placedTicks(scale: Scale, width: number) {
  const [low, high] = scale.domain();
  const decades = d3.range(Math.floor(Math.log10(low)), Math.ceil(Math.log10(high)));
  const stepsOf = (digits: readonly number[]) =>
    decades.flatMap((decade) => digits.map((digit) => digit * 10 ** decade));
  const isInside = (tick: number) => tick >= low && tick <= high;
  const fine = stepsOf([1, 2, 5]).filter(isInside);
  const place = (ticks: readonly number[]) => {
    const labels = ticks.filter(isInside).map((tick) => ({ at: scale(tick), text: money(tick) }));
    return placedLabels(labels, width, letterWidth);
  };
  const sets = [
    ...[[1, 2, 5], [1, 5], [1]].map(stepsOf),
    [...new Set([0, Math.floor(fine.length / 2), fine.length - 1])].flatMap((i) => fine.slice(i, i + 1)),
    ...[6, 4, 3].map((count) => d3.ticks(low, high, count)),
  ].map(place);
  const having = (least: number) => sets.filter(({ placed }) => placed.length >= least);
  // The ends always have room.
  const enough = [having(3), having(2)].find(({ length }) => length > 0) ?? [place([low, high])];
  const spanOf = ({ placed }: (typeof sets)[number]) => (placed.at(-1)?.at ?? 0) - placed[0].at;
  const most = Math.max(...enough.map(spanOf));
  const covering = enough.filter((set) => spanOf(set) >= leastCovered * most);
  return (covering.find(({ isWhole }) => isWhole) ?? covering[0])?.placed ?? [];
}

interface GridProps {
  ticks: readonly number[];
  y: (amount: number) => number;
  text: (amount: number) => string;
}

export const Grid = ({ ticks, y, text }: GridProps) =>
  ticks.map(
    (tick) => html`<g>
      <line class="track" x2="100%" y1=${y(tick)} y2=${y(tick)} />
      <text x="-10" y=${y(tick)} dy="0.32em" text-anchor="end">${text(tick)}</text>
    </g>`,
  );

interface Note {
  /** Percent of the drawing's width. */
  x: number;
  /** A length within the drawing, in CSS. */
  y: string;
  /** Whether the note begins at `y`. Otherwise it ends there. */
  isBelow?: boolean;
  lines: readonly string[];
}

/** Makes the state for `Steps`: whether the picture may be drawn, and the index of the part whose numbers are shown. */
export function useSteps() {
  const isDrawn = useDrawn();
  const [active, setActive] = useState<number | null>(null);
  return { isDrawn, active, setActive };
}

interface StepsProps extends ReturnType<typeof useSteps> {
  label: string;
  /** The height in pixels to reserve until the picture is drawn; undefined if a style sheet reserves it. */
  height?: number;
  /** Pixels kept free beside the drawing. */
  left?: number;
  right?: number;
  count?: number;
  noteOf?: (part: number) => Note;
  choose?: ((part: number) => void) | undefined;
  children?: preact.ComponentChildren;
}

export function Steps(props: StepsProps) {
  const { label, height, left = 0, right = 0, count = 0, active, setActive, noteOf, choose } = props;
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step !== undefined && count > 0) {
      event.preventDefault();
      setActive(active === null ? (step === 1 ? 0 : count - 1) : (active + step + count) % count);
    } else if (event.key === "Home" || event.key === "End") {
      event.preventDefault();
      setActive(event.key === "Home" ? 0 : count - 1);
    } else if (event.key === "Escape") setActive(null);
    else if ((event.key === "Enter" || event.key === " ") && active !== null && choose) {
      event.preventDefault();
      choose(active);
    }
  };
  // Another answer can have fewer parts.
  const part = active !== null && active < count ? active : null;
  useEffect(() => {
    if (active !== null && active >= count) setActive(null);
  }, [active, count]);
  const note = part === null ? null : (noteOf?.(part) ?? null);
  return html`<div
    class="picture"
    role="group"
    aria-label=${`${label} The arrow keys go through the numbers${choose ? ", Enter chooses" : ""}.`}
    tabindex="0"
    onKeyDown=${onKeyDown}
    onBlur=${() => setActive(null)}
    onPointerLeave=${() => setActive(null)}
  >
    ${
      props.isDrawn
        ? html`<div class="by-width" style=${{ margin: `0 ${right}px 0 ${left}px` }}>
          ${props.children}
          <div class="note" role="status" hidden=${note === null} style=${note ? { left: `clamp(${95 - left}px, ${note.x}%, 100% + ${right - 95}px)`, top: note.y, transform: note.isBelow ? "translateX(-50%)" : "" } : undefined}>
            ${note?.lines.map((line, i) => html`<div>${i === 0 ? html`<b>${line}</b>` : line}</div>`)}
          </div>
        </div>`
        : html`<svg class="drawing" height=${height} />`
    }
  </div>`;
}

export type Kind = "charge" | "allowed";
export type Scale = d3.ScaleLogarithmic<number, number>;

interface PlaceProps {
  /** Percent, such as `42%`, or pixels. */
  x: string | number;
  y?: number;
  children?: preact.ComponentChildren;
}

/** Moves its children, which are drawn in pixels, to a position. */
export const Place = ({ x, y = 0, children }: PlaceProps) =>
  html`<svg x=${x} y=${y} overflow="visible">${children}</svg>`;

interface ShapeProps extends PlaceProps {
  kind: Kind;
  size?: number;
}

export function Shape({ kind, size = 5, ...place }: ShapeProps) {
  const half = size * 1.25;
  return html`<${Place} ...${place}>${
    kind === "charge"
      ? html`<circle class="dot charge" r=${size} />`
      : html`<path class="dot allowed" d=${`M0 ${-half}L${half} 0L0 ${half}L${-half} 0Z`} />`
  }<//>`;
}

const pinSymbols: Record<string, d3.SymbolType> = {
  A: d3.symbolTriangle,
  B: d3.symbolSquare,
  C: d3.symbolStar,
};

export const PinShape = ({ letter, ...place }: PlaceProps & { letter: string }) =>
  html`<${Place} ...${place}><path class="pin-shape" d=${d3.symbol(pinSymbols[letter], 70)()} /><//>`;

export function Key({ kind }: { kind: Kind }) {
  return html`<svg class="key" width="12" height="12" aria-hidden="true"><${Shape} kind=${kind} x=${6} y=${6} size=${4} /></svg>`;
}

export function Letter({ letter }: { letter: string }) {
  return html`<b class="letter"><svg class="key" width="16" height="15" aria-hidden="true"><${PinShape} letter=${letter} x=${8} y=${8} /></svg>${letter}</b>`;
}

interface ChipProps {
  text: string;
  href: string;
  letter?: string;
  /** CSS selector of the element that gets the focus after the chip is removed. */
  next: string;
}

export function Chip({ text, href, letter, next }: ChipProps) {
  const onClick = () => document.querySelector<HTMLElement>(next)?.focus({ preventScroll: true });
  return html`<a class="button chip" href=${href} title=${letter && text} onClick=${onClick}>
    <span class="unseen">Remove: </span>${letter && html`<${Letter} letter=${letter} /> `}<span class=${letter && "unseen"}>${text}</span><span aria-hidden="true">×</span>
  </a>`;
}

interface AmountsTextProps {
  x: number;
  y: number;
  title: string;
  amounts: readonly number[];
}

/** If the amounts don't fit, only the lowest and the highest are shown. */
export function AmountsText({ x, y, title, amounts }: AmountsTextProps) {
  const texts = [...new Set(amounts.toSorted((a, b) => a - b).map(money))];
  const all = texts.join(", ");
  const fits = (width: number) =>
    texts.length === 1 || (title.length + all.length) * letterWidth <= width - x;
  return byWidth(
    (width) =>
      html`<text x=${x} y=${y}><tspan class="strong">${title}</tspan> ${fits(width) ? all : `${texts[0]} to ${texts.at(-1)}`}</text>`,
  );
}
