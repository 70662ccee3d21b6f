import * as d3 from "../../../shared/browser/d3.ts";
import { money, percent, whole } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import type { Priced, ProcedureAnswer } from "./answers.ts";
import {
  type FigureColumn,
  type Figures,
  figuresOf,
  groupColumns,
  pinnedName,
  priceFigures,
  versionColumns,
} from "./card.ts";
import { canPin } from "./choice.ts";
import type { Pinned, View } from "./explore-data.ts";
import { pin } from "./location.ts";
import {
  AmountsText,
  dollarScale,
  Grid,
  PinShape,
  placedTicks,
  type Scale,
  Steps,
  useSteps,
  Values,
} from "./picture.ts";
import { hospitals, isPriced, leastForQuartiles } from "./words.ts";

/**
 * Draws the distribution of charges on a logarithmic axis: as dots if there are only a few hospitals, else as bars.
 * Below is what Medicare allows, on the same axis: the median, or each amount of few hospitals.
 */

const side = 14;

export function Histogram({ view, scope }: { view: View; scope: ProcedureAnswer }) {
  const steps = useSteps();
  const { width, active, setActive } = steps;
  const { choice, few, pinned } = view;
  const { summary, allowed, histogram } = scope;
  const { edges, counts } = histogram;
  const marks = pinned.flatMap(({ letter, entry }) => (entry && isPriced(entry) ? [{ letter, entry }] : []));
  const hasQuartiles = summary.facilities >= leastForQuartiles;
  const top = marks.length === 0 ? 30 : 58;
  const floor = few && few.length <= 2 * leastForQuartiles ? top + 100 : 254;
  const middle = (top + floor) / 2;
  const allowedY = floor + 84;
  const height = allowedY + (marks.length > 1 ? 36 : 20);
  const quartiles = hasQuartiles
    ? `, median ${money(summary.median_charge)}, the middle half from ${money(summary.p25_charge)} to ${money(summary.p75_charge)}`
    : "";
  const label = `The charges of ${hospitals(summary.facilities)}: from ${money(summary.min_charge)} to ${money(summary.max_charge)}${quartiles}. Medicare allows from ${money(allowed.min)} to ${money(allowed.max)}.`;
  if (width === 0) return html`<${Steps} label=${label} height=${height} ...${steps} />`;
  const own = marks.flatMap(({ entry }) => [entry.submitted_charge, entry.medicare_allowed]);
  const x = dollarScale(
    [allowed.min, allowed.max, summary.min_charge, summary.max_charge, ...own],
    side + 26,
    Math.max(width - side, side + 60),
  );
  const most = Math.max(...counts);
  const y = d3.scaleLinear([0, most], [floor, top + 22]);
  const bars = counts.map((count, i) => {
    const [from, to] = [x(edges[i]), x(edges[i + 1])];
    // The edges of a single charge's bar are equal, so it gets a fixed width.
    return from === to ? { count, x: from - 5, width: 10 } : { count, x: from, width: to - from };
  });
  const dots = few === null ? [] : swarm(few, x, middle, (floor - top) / 2);
  // Compared hospitals are marked at their dots, or else on the axis.
  const dotYOf = (ccn: string) =>
    dots.find(({ price }) => price.ccn === ccn)?.y ?? (few ? middle : floor - 6);
  // Below the axis, a note hides no bar, dot or median.
  const noteY = floor + 24;
  const noteOfBar = (i: number) => ({
    ...{ x: bars[i].x + bars[i].width / 2, y: noteY, isBelow: true },
    lines: [
      hospitals(counts[i]),
      edges[i] === edges[i + 1]
        ? `each charges ${money(edges[i])}`
        : `${money(edges[i])} to ${money(edges[i + 1])}`,
      `${percent((100 * counts[i]) / summary.facilities)} of ${whole(summary.facilities)}`,
    ],
  });
  const noteOfDot = (i: number) => {
    const { price, x } = dots[i];
    const lines = [money(price.submitted_charge), price.facility, `${price.city}, ${price.state}`];
    return { x, y: noteY, isBelow: true, lines };
  };
  const median = x(summary.median_charge);
  const isLeft = median + 120 > width;
  return html`<${Steps}
    label=${label}
    height=${height}
    count=${few ? dots.length : counts.length}
      ...${steps}
    noteOf=${few ? noteOfDot : noteOfBar}
    choose=${few ? (i: number) => pin(choice, dots[i].price.ccn) : undefined}
  >
    <svg class="drawing" width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} role="img" aria-label=${label}>
      ${hasQuartiles && html`<rect class="half" x=${x(summary.p25_charge)} width=${Math.max(0, x(summary.p75_charge) - x(summary.p25_charge))} y=${top} height=${floor - top} />`}
      ${!few && html`<${Grid} ticks=${d3.ticks(0, most, 4).filter((tick) => Number.isInteger(tick) && tick > 0)} y=${y} from=${side + 22} to=${width - side} gap=${4} text=${whole} />`}
      ${
        few
          ? dots.map(
              ({ price, x, y, radius }, i) => html`<circle
                class=${`facility-dot ${i === active ? "active" : ""} ${canPin(choice, price.ccn) ? "choice" : ""}`}
                cx=${x}
                cy=${y}
                r=${radius}
                onPointerEnter=${() => setActive(i)}
                onClick=${() => pin(choice, price.ccn)}
              />`,
            )
          : bars.map(
              ({ count, x: from, width: wide }, i) => html`<g
                onPointerEnter=${() => setActive(i)}
                class=${`bar ${i === active ? "active" : ""}`}
              >
                <rect class="reach" x=${from} width=${wide} y=${top} height=${floor - top} />
                <rect class="amount" x=${from + 0.5} width=${Math.max(wide - 1, 1)} y=${y(count)} height=${floor - y(count)} />
              </g>`,
            )
      }
      <line class="axis" x1=${side + 22} x2=${width - side} y1=${floor} y2=${floor} />
      ${placedTicks(x, width).map(
        ({ tick, at }) => html`<g class="tick">
          <line x1=${x(tick)} x2=${x(tick)} y1=${floor} y2=${floor + 5} />
          <line class="track guide" x1=${x(tick)} x2=${x(tick)} y1=${floor + 46} y2=${height - 8} />
          <text x=${at} y=${floor + 18} text-anchor="middle">${money(tick)}</text>
        </g>`,
      )}
      <text class="axis-name" x=${side + 22} y=${floor + 38}>charge; each doubling is an equal step</text>
      <${Values} width=${width} y=${allowedY} x=${x} kind="allowed" title=${hasQuartiles ? "Medicare allows, at the median," : "Medicare allows"} amounts=${hasQuartiles ? [scope.allowed.median] : (few ?? []).map((one) => one.medicare_allowed)} />
      <${Marks} marks=${marks} x=${x} width=${width} floor=${floor} chargeY=${dotYOf} allowedY=${allowedY} />
      ${
        // The text comes after the marks, so that the marks' lines don't cover it.
        !hasQuartiles &&
        html`<g class="strip charge"><${AmountsText} width=${width} y=${top - 4} title="Charged" amounts=${(few ?? []).map((one) => one.submitted_charge)} /></g>`
      }
      ${
        hasQuartiles &&
        html`<line class="median" x1=${median} x2=${median} y1=${top - 4} y2=${floor} />
          <text class="label" x=${median + (isLeft ? -6 : 6)} y=${top + 6} text-anchor=${isLeft ? "end" : "start"}>median <tspan class="strong">${money(summary.median_charge)}</tspan></text>`
      }
    </svg>
  <//>`;
}

const dotRadius = 8;
const leastRadius = 2;

/** Makes the dots smaller if they don't fit otherwise. */
function swarm(prices: readonly Priced[], x: Scale, middle: number, room: number) {
  for (let radius = dotRadius; ; radius--) {
    const dots = swarmOf(prices, x, middle, radius);
    const fits = dots.every(({ y }) => Math.abs(y - middle) + radius <= room);
    if (fits || radius === leastRadius) return dots;
  }
}

/** Places dots as near to the middle as possible without overlap. @param prices in ascending order of charges */
function swarmOf(prices: readonly Priced[], x: Scale, middle: number, radius: number) {
  const apart = 2 * radius + 1;
  const placed: { price: Priced; x: number; y: number; radius: number }[] = [];
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

/** The hospitals, if the picture has a dot for each, and otherwise the bars, each with the compared hospitals in it. */
export function histogramFigures(
  scope: ProcedureAnswer,
  few: Priced[] | null,
  pinned: readonly Pinned[],
): Figures {
  if (few !== null) return priceFigures(few, scope);
  const { edges, counts } = scope.histogram;
  const comparedIn = (bar: number) =>
    pinned.filter(({ entry }) => {
      const { submitted_charge: charge = null } = entry ?? {};
      const isLast = bar === counts.length - 1;
      return (
        charge !== null &&
        charge >= edges[bar] &&
        (charge < edges[bar + 1] || (isLast && charge === edges[bar + 1]))
      );
    });
  return figuresOf(
    counts.map((count, i) => ({ from: edges[i], to: edges[i + 1], count, compared: comparedIn(i) })),
    ...versionColumns(scope.source),
    ...groupColumns(scope.procedure),
    ["charge_from", "charge from", ({ from }) => from, money],
    ["charge_to", "to", ({ to }) => to, money],
    ["facilities", "hospitals", ({ count }) => count, whole],
    ...(pinned.length === 0
      ? []
      : ([["compared", "compared", ({ compared }) => compared.map(pinnedName).join("; ")]] as FigureColumn<{
          compared: Pinned[];
        }>[])),
  );
}

interface MarksProps {
  marks: readonly { letter: string; entry: Priced }[];
  x: Scale;
  width: number;
  floor: number;
  /** Finds the vertical position of the mark of a hospital's charge. */
  chargeY: (ccn: string) => number;
  allowedY: number;
}

const markRows = [14, 30, 46];
const shapeSize = 11;

/**
 * Takes the space from `start` to `end` in the first row that is free at `start`, or else in the top row.
 * @param ends the end of the taken part of each row
 * @returns the row's index
 */
function rowFor(ends: number[], start: number, end: number): number {
  const row = Math.max(
    0,
    ends.findIndex((taken) => taken < start),
  );
  ends[row] = end;
  return row;
}

/** Marks each compared hospital by a line, a shape and a letter, so that no colour is needed to tell them apart. */
function Marks({ marks, x, width, floor, chargeY, allowedY }: MarksProps) {
  const free = () => markRows.map(() => Number.NEGATIVE_INFINITY);
  const [labels, charges, allowed] = [free(), free(), free()];
  // Overlapping shapes are drawn one above or below the other.
  const down = (ends: number[], at: number) =>
    shapeSize * rowFor(ends, at - shapeSize / 2, at + shapeSize / 2);
  return marks
    .toSorted((a, b) => a.entry.submitted_charge - b.entry.submitted_charge)
    .map(({ letter, entry }) => {
      const at = x(entry.submitted_charge);
      const allowedAt = x(entry.medicare_allowed);
      const text = `${letter} ${money(entry.submitted_charge)}`;
      const room = text.length * 8 + 18;
      const start = Math.min(at - 6, width - room);
      const row = rowFor(labels, start, start + room);
      return html`<g class="mark">
        <line class="mark-line" x1=${at} x2=${at} y1=${markRows[row] + 4} y2=${floor} />
        <${PinShape} letter=${letter} x=${start + 6} y=${markRows[row] - 4} />
        <text x=${start + 15} y=${markRows[row]}>${text}</text>
        <${PinShape} letter=${letter} x=${at} y=${chargeY(entry.ccn) - down(charges, at)} />
        <${PinShape} letter=${letter} x=${allowedAt} y=${allowedY + down(allowed, allowedAt)} />
      </g>`;
    });
}
