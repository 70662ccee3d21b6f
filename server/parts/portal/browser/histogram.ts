import * as d3 from "../../../shared/browser/d3.ts";
import { money, percent, whole } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import { byWidth } from "../../../shared/browser/labels.ts";
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
  Shape,
  Steps,
  useSteps,
} from "./picture.ts";
import { hospitals, isPriced, leastForQuartiles } from "./words.ts";

/**
 * Draws charges on a logarithmic axis: as dots if there are only a few hospitals, else as bars. What Medicare allows is
 * drawn below, on the same axis.
 */

/** Space on both sides of the drawing, in pixels. */
const [left, right] = [40, 14];
/** Width in pixels for which dots and marks are placed so that they don't overlap. */
const leastWidth = 240;

export function Histogram({ view, scope }: { view: View; scope: ProcedureAnswer }) {
  const steps = useSteps();
  const { active, setActive } = steps;
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
  if (!steps.isDrawn)
    return html`<${Steps} label=${label} height=${height} left=${left} right=${right} ...${steps} />`;
  const own = marks.flatMap(({ entry }) => [entry.submitted_charge, entry.medicare_allowed]);
  const x = dollarScale([allowed.min, allowed.max, summary.min_charge, summary.max_charge, ...own]);
  const most = Math.max(...counts);
  const y = d3.scaleLinear([0, most], [floor, top + 22]);
  const bars = counts.map((count, i) => {
    const [from, to] = [x(edges[i]), x(edges[i + 1])];
    // The edges of a single charge's bar are equal, so it gets a fixed width.
    return from === to ? { count, x: from - 1, width: 2 } : { count, x: from, width: to - from };
  });
  const dots = few === null ? [] : swarm(few, x, middle, (floor - top) / 2);
  // Compared hospitals are marked at their dots. Those without a dot are marked at the dots' middle line, or above the axis
  // if there are bars.
  const dotYOf = (ccn: string) =>
    dots.find(({ price }) => price.ccn === ccn)?.y ?? (few ? middle : floor - 6);
  // Below the axis, a note hides no bar, dot or median.
  const noteY = `${floor + 24}px`;
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
  const allowedAmounts = hasQuartiles
    ? [scope.allowed.median]
    : (few ?? []).map((one) => one.medicare_allowed);
  const median = x(summary.median_charge);
  const isLeft = median > 50;
  const half = [x(summary.p25_charge), x(summary.p75_charge)];
  return html`<${Steps}
    label=${label}
    height=${height}
    left=${left}
    right=${right}
    count=${few ? dots.length : counts.length}
      ...${steps}
    noteOf=${few ? noteOfDot : noteOfBar}
    choose=${few ? (i: number) => pin(choice, dots[i].price.ccn) : undefined}
  >
    <svg class="drawing" height=${height} overflow="visible" role="img" aria-label=${label}>
      ${hasQuartiles && html`<rect class="half" x=${`${half[0]}%`} width=${`${half[1] - half[0]}%`} y=${top} height=${floor - top} />`}
      ${!few && html`<${Grid} ticks=${d3.ticks(0, most, 4).filter((tick) => Number.isInteger(tick) && tick > 0)} y=${y} text=${whole} />`}
      ${
        few
          ? dots.map(
              ({ price, x, y, radius }, i) => html`<circle
                class=${`facility-dot ${i === active ? "active" : ""} ${canPin(choice, price.ccn) ? "choice" : ""}`}
                cx=${`${x}%`}
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
                <rect class="reach" x=${`${from}%`} width=${`${wide}%`} y=${top} height=${floor - top} />
                <rect class="amount" x=${`${from}%`} width=${`${wide}%`} y=${y(count)} height=${floor - y(count)} />
              </g>`,
            )
      }
      <line class="axis" x2="100%" y1=${floor} y2=${floor} />
      ${byWidth((width) =>
        placedTicks(x, width).map(
          ({ text, at, anchor }) => html`<g class="tick">
            <line x1=${`${at}%`} x2=${`${at}%`} y1=${floor} y2=${floor + 5} />
            <line class="track guide" x1=${`${at}%`} x2=${`${at}%`} y1=${floor + 46} y2=${height - 8} />
            <text x=${`${at}%`} y=${floor + 18} text-anchor=${anchor}>${text}</text>
          </g>`,
        ),
      )}
      <text class="axis-name" y=${floor + 38}>charge; each doubling is an equal step</text>
      <g class="strip allowed">
        <${AmountsText} x=${-left} y=${allowedY - 15} title=${hasQuartiles ? "Medicare allows, at the median," : "Medicare allows"} amounts=${allowedAmounts} />
        ${allowedAmounts.map((amount) => html`<${Shape} kind="allowed" x=${`${x(amount)}%`} y=${allowedY} />`)}
      </g>
      <${Marks} marks=${marks} x=${x} floor=${floor} chargeY=${dotYOf} allowedY=${allowedY} />
      ${
        // The text comes after the marks, so that the marks' lines don't cover it.
        !hasQuartiles &&
        html`<g class="strip charge"><${AmountsText} x=${-left} y=${top - 4} title="Charged" amounts=${(few ?? []).map((one) => one.submitted_charge)} /></g>`
      }
      ${
        hasQuartiles &&
        html`<line class="median" x1=${`${median}%`} x2=${`${median}%`} y1=${top - 4} y2=${floor} />
          <text class="label" x=${`${median}%`} dx=${isLeft ? -6 : 6} y=${top + 6} text-anchor=${isLeft ? "end" : "start"}>median <tspan class="strong">${money(summary.median_charge)}</tspan></text>`
      }
    </svg>
  <//>`;
}

const dotRadius = 8;
const leastRadius = 2;

function swarm(prices: readonly Priced[], x: Scale, middle: number, room: number) {
  for (let radius = dotRadius; ; radius--) {
    const dots = swarmOf(prices, x, middle, radius);
    const fits = dots.every(({ y }) => Math.abs(y - middle) + radius <= room);
    if (fits || radius === leastRadius) return dots;
  }
}

/**
 * Places dots near the middle without overlap. The x of a dot is in percent.
 * @param prices in ascending order of charges
 */
function swarmOf(prices: readonly Priced[], x: Scale, middle: number, radius: number) {
  const apart = 2 * radius + 1;
  const placed: { price: Priced; x: number; y: number; radius: number }[] = [];
  for (const price of prices) {
    const at = x(price.submitted_charge);
    const away = (dot: { x: number }) => ((at - dot.x) * leastWidth) / 100;
    const near = placed.filter((dot) => away(dot) < apart);
    const isFree = (y: number) => near.every((dot) => Math.hypot(away(dot), y - dot.y) >= apart);
    let off = 0;
    while (!isFree(middle - off) && !isFree(middle + off)) off++;
    placed.push({ price, x: at, y: isFree(middle - off) ? middle - off : middle + off, radius });
  }
  return placed;
}

/** Lists the hospitals if the picture has a dot for each. Otherwise lists the bars with the compared hospitals in them. */
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
  floor: number;
  chargeY: (ccn: string) => number;
  allowedY: number;
}

/** Baselines of the marks' labels, in pixels. Each label has its own row. */
const markRows = [14, 30, 46];
const shapeSize = 11;

/** Marks each compared hospital by a line, a shape and a letter, so that no colour is needed to tell them apart. */
function Marks({ marks, x, floor, chargeY, allowedY }: MarksProps) {
  const inOrder = d3.sort(marks, ({ entry }) => entry.submitted_charge);
  const offsetsOf = (key: "submitted_charge" | "medicare_allowed") =>
    stacked(inOrder.map(({ entry }) => x(entry[key])));
  const [charges, allowed] = [offsetsOf("submitted_charge"), offsetsOf("medicare_allowed")];
  return inOrder.map(({ letter, entry }, i) => {
    const at = `${x(entry.submitted_charge)}%`;
    const side = x(entry.submitted_charge) > 50 ? -9 : 9;
    return html`<g class="mark">
      <line class="mark-line" x1=${at} x2=${at} y1=${markRows[i] + 4} y2=${floor} />
      <${PinShape} letter=${letter} x=${at} y=${markRows[i] - 4} />
      <text x=${at} dx=${side} y=${markRows[i]} text-anchor=${side < 0 ? "end" : "start"}>${letter} ${money(entry.submitted_charge)}</text>
      <${PinShape} letter=${letter} x=${at} y=${chargeY(entry.ccn) - charges[i]} />
      <${PinShape} letter=${letter} x=${`${x(entry.medicare_allowed)}%`} y=${allowedY + allowed[i]} />
    </g>`;
  });
}

/** Finds how many pixels to move each shape, so that none covers another. @param places in percent */
function stacked(places: readonly number[]): number[] {
  const rows: number[] = [];
  for (const [i, at] of places.entries()) {
    const isTaken = (row: number) =>
      rows.some((taken, j) => taken === row && (Math.abs(places[j] - at) * leastWidth) / 100 < shapeSize);
    rows[i] = [0, 1, 2].find((row) => !isTaken(row)) ?? 0;
  }
  return rows.map((row) => row * shapeSize);
}
