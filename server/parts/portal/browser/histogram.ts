import { useState } from "preact/hooks";
import { counted, money, percent, whole } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import type { FacilityRow, Price, PricesAnswer, ProcedureAnswer } from "./answers.ts";
import { Shape } from "./dots.ts";
import { priceFigures, type Range } from "./facilities.ts";
import { type Figures, figuresOf } from "./figures.ts";
import { dollarScale, placedTicks, Steps, useWidth } from "./picture.ts";

/**
 * Draws the distribution of charges, and below it summaries of charges and allowed amounts, on one logarithmic axis.
 * More facilities than a page are drawn as a histogram, fewer as one dot each.
 */

const height = 400;
const top = 40;
/** Height of the axis. */
const floor = 262;
const middle = (top + 20 + floor) / 2;
const strips = { charge: 318, allowed: 372 };
const side = 14;

interface Marked {
  name: string;
  row: FacilityRow;
}

interface HistogramProps {
  answer: ProcedureAnswer;
  prices: PricesAnswer | null;
  marked: Marked | null;
  mark: (ccn: string) => void;
  range: Range | null;
  list: (from: number | null, to: number | null) => void;
}

export function Histogram({ answer, prices, marked, mark, range, list }: HistogramProps) {
  const [measured, width] = useWidth();
  const [active, setActive] = useState<number | null>(null);
  const { summary, allowed, histogram } = answer;
  const { edges, counts } = histogram;
  const own = marked ? [marked.row.submitted_charge, marked.row.medicare_allowed] : [];
  const x = dollarScale(
    [allowed.min, allowed.max, summary.min_charge, summary.max_charge, ...own],
    side + 26,
    Math.max(width - side, side + 60),
  );
  const few = prices !== null && prices.next === null ? prices.data : null;
  const most = Math.max(...counts);
  const y = d3.scaleLinear([0, most], [floor, top + 22]);
  const bars = counts.map((count, i) => {
    const [from, to] = [x(edges[i]), x(edges[i + 1])];
    // A bar for a single charge would have no width.
    return from === to ? { count, x: from - 5, width: 10 } : { count, x: from, width: to - from };
  });
  const dots = few === null ? [] : swarm(few, x);
  const noteOfBar = (i: number) => ({
    x: bars[i].x + bars[i].width / 2,
    y: Math.max(y(counts[i]), 76),
    lines: [
      counted(counts[i], "facility", "facilities"),
      edges[i] === edges[i + 1]
        ? `each charges ${money(edges[i])}`
        : `${money(edges[i])} to ${money(edges[i + 1])}`,
      `${percent((100 * counts[i]) / summary.facilities)} of ${whole(summary.facilities)}`,
    ],
  });
  const isListed = (i: number) => range?.from === edges[i] && range.to === edges[i + 1];
  const listBar = (i: number) => (isListed(i) ? list(null, null) : list(edges[i], edges[i + 1]));
  const noteOfDot = (i: number) => {
    const { price, x, y, radius } = dots[i];
    const lines = [money(price.submitted_charge), price.facility, `${price.city}, ${price.state}`];
    return { x, y: Math.max(y - radius, 84), lines };
  };
  const label = `How ${counted(summary.facilities, "charge is", "charges are")} spread: from ${money(summary.min_charge)} to ${money(summary.max_charge)}, median ${money(summary.median_charge)}, the middle half from ${money(summary.p25_charge)} to ${money(summary.p75_charge)}. Medicare allows from ${money(allowed.min)} to ${money(allowed.max)}, median ${money(allowed.median)}.`;
  const median = x(summary.median_charge);
  const isNarrow = width < 400;
  return html`<${Steps}
    label=${label}
    height=${`${height}px`}
    count=${few ? dots.length : counts.length}
    active=${active}
    setActive=${setActive}
    noteOf=${few ? noteOfDot : noteOfBar}
    choose=${few ? (i: number) => mark(dots[i].price.ccn) : listBar}
    width=${width}
    measured=${measured}
  >
    <svg width=${width} height=${height} role="img" aria-label=${label}>
      <rect class="band" x=${x(summary.p25_charge)} width=${Math.max(0, x(summary.p75_charge) - x(summary.p25_charge))} y=${top} height=${floor - top} />
      ${(few ? [] : d3.ticks(0, most, 4))
        .filter((tick) => Number.isInteger(tick) && tick > 0)
        .map(
          (tick) => html`<g class="grid">
            <line x1=${side + 22} x2=${width - side} y1=${y(tick)} y2=${y(tick)} />
            <text x=${side + 18} y=${y(tick)} dy="0.32em" text-anchor="end">${whole(tick)}</text>
          </g>`,
        )}
      ${
        few
          ? dots.map(
              ({ x, y, radius }, i) => html`<circle
                class=${`facility-dot ${i === active ? "active" : ""}`}
                cx=${x}
                cy=${y}
                r=${radius}
                onPointerEnter=${() => setActive(i)}
                onClick=${() => mark(dots[i].price.ccn)}
              />`,
            )
          : bars.map(
              ({ count, x: from, width: wide }, i) => html`<g
                onPointerEnter=${() => setActive(i)}
                onClick=${() => listBar(i)}
                class=${`bar ${i === active ? "active" : ""} ${isListed(i) ? "listed" : ""}`}
              >
                <rect class="reach" x=${from} width=${wide} y=${top} height=${floor - top} />
                <rect class="amount" x=${from + 0.5} width=${Math.max(wide - 1, 1)} y=${y(count)} height=${floor - y(count)} />
              </g>`,
            )
      }
      <line class="axis" x1=${side + 22} x2=${width - side} y1=${floor} y2=${floor} />
      ${marked && html`<${MarkLine} marked=${marked} x=${x} />`}
      ${placedTicks(x, width / 74, width).map(
        ({ tick, at }) => html`<g class="tick">
          <line x1=${x(tick)} x2=${x(tick)} y1=${floor} y2=${floor + 5} />
          <line class="guide" x1=${x(tick)} x2=${x(tick)} y1=${floor + 26} y2=${height - 8} />
          <text x=${at} y=${floor + 18} text-anchor="middle">${money(tick)}</text>
        </g>`,
      )}
      <line class="median" x1=${median} x2=${median} y1=${top - 4} y2=${floor} />
      ${beside(median, top + 6, width, html`median <tspan class="strong">${money(summary.median_charge)}</tspan>`, 120)}
      <${Strip} y=${strips.charge} x=${x} kind="charge" title="Charged" isNarrow=${isNarrow} min=${summary.min_charge} max=${summary.max_charge}
        p10=${summary.p10_charge} p25=${summary.p25_charge} median=${summary.median_charge} p75=${summary.p75_charge} p90=${summary.p90_charge} />
      <${Strip} y=${strips.allowed} x=${x} kind="allowed" title="Medicare allows" isNarrow=${isNarrow} ...${allowed} />
      ${marked && html`<${Mark} marked=${marked} x=${x} width=${width} />`}
    </svg>
  <//>`;
}

const dotRadius = 8;
const leastRadius = 2;

/** A dot for each facility at its charge; smaller ones where many charge the same. */
function swarm(prices: readonly Price[], x: d3.ScaleLogarithmic<number, number>) {
  for (let radius = dotRadius; ; radius--) {
    const dots = swarmOf(prices, x, radius);
    const fits = dots.every(({ y }) => Math.abs(y - middle) + radius <= floor - middle);
    if (fits || radius === leastRadius) return dots;
  }
}

/** Places dots as near to the middle as possible without overlap. The prices are sorted. */
function swarmOf(prices: readonly Price[], x: d3.ScaleLogarithmic<number, number>, radius: number) {
  const apart = 2 * radius + 1;
  const placed: { price: Price; x: number; y: number; radius: number }[] = [];
  for (const price of prices) {
    const at = x(price.submitted_charge);
    const near = placed.filter((dot) => at - dot.x < apart);
    const isFree = (y: number) => near.every((dot) => Math.hypot(at - dot.x, y - dot.y) >= apart);
    let away = 0;
    while (!isFree(middle - away) && !isFree(middle + away)) away++;
    placed.push({ price, x: at, y: isFree(middle - away) ? middle - away : middle + away, radius });
  }
  return placed;
}

/** A text to the right of a place, or to its left where there is no room. */
function beside(x: number, y: number, width: number, text: unknown, room: number) {
  const isLeft = x + room > width;
  return html`<text class="label" x=${isLeft ? x - 6 : x + 6} y=${y} text-anchor=${isLeft ? "end" : "start"}>${text}</text>`;
}

interface StripProps {
  x: d3.ScaleLogarithmic<number, number>;
  y: number;
  kind: "charge" | "allowed";
  title: string;
  isNarrow: boolean;
  min: number;
  p10: number;
  p25: number;
  median: number;
  p75: number;
  p90: number;
  max: number;
}

/** A summary: a line from minimum to maximum, a thick one from p10 to p90, and a box for the middle half. */
function Strip({ x, y, kind, title, isNarrow, min, p10, p25, median, p75, p90, max }: StripProps) {
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

/** The line of the chosen facility. It ends above the texts of the axis. */
function MarkLine({ marked, x }: { marked: Marked; x: d3.ScaleLogarithmic<number, number> }) {
  const at = x(marked.row.submitted_charge);
  return html`<line class="mark-line" x1=${at} x2=${at} y1=${18} y2=${floor} />`;
}

function Mark({
  marked,
  x,
  width,
}: {
  marked: Marked;
  x: d3.ScaleLogarithmic<number, number>;
  width: number;
}) {
  const { name, row } = marked;
  const at = x(row.submitted_charge);
  const most = Math.max(12, Math.floor(width / 11));
  const text = name.length > most ? `${name.slice(0, most - 1)}…` : name;
  const room = (text.length + 9) * 7;
  const isLeft = at > width / 2;
  // Where neither side has room, the text is aligned to the picture's edge.
  const start = isLeft
    ? Math.max(at - 8, Math.min(room, width))
    : Math.min(at + 8, Math.max(width - room, 0));
  return html`<g class="mark">
    <path d=${`M${at - 5} 10h10l-5 8z`} />
    <text x=${start} y=${15} text-anchor=${isLeft ? "end" : "start"}>${text} ${money(row.submitted_charge)}</text>
    <circle cx=${at} cy=${strips.charge} r="6" />
    <circle cx=${x(row.medicare_allowed)} cy=${strips.allowed} r="6" />
  </g>`;
}

export function histogramFigures({ histogram }: ProcedureAnswer, prices: PricesAnswer | null): Figures {
  if (prices !== null && prices.next === null) return priceFigures(prices.data);
  const { edges, counts } = histogram;
  return figuresOf(
    counts.map((count, i) => ({ from: edges[i], to: edges[i + 1], count })),
    ["charge from", ({ from }) => from, money],
    ["to", ({ to }) => to, money],
    ["facilities", ({ count }) => count, whole],
  );
}
