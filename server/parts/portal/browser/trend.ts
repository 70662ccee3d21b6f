import * as d3 from "../../../shared/browser/d3.ts";
import { counted, money, whole } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import type { TrendYear } from "./answers.ts";
import type { Pinned } from "./explore-data.ts";
import { Grid, PinShape, Place, Shape, Steps, useSteps } from "./picture.ts";
import { isFew, leastForQuartiles } from "./words.ts";

/**
 * Draws the medians of charges and of allowed amounts, and single hospitals' charges, over three years or more. With
 * `isBeside`, the only median is the nation's median charge, in grey. A median's line breaks if the procedure's name
 * changes, if a year is missing, and at years with few hospitals.
 */

export const leastYears = 3;
const height = 290;
const [top, floor] = [14, 262];
const dashes: Record<string, string> = { A: "7 3", B: "2 3", C: "9 3 2 3" };

const isSame = (before: TrendYear, year: TrendYear) =>
  year.data_year === before.data_year + 1 && year.name === before.name;

interface TrendProps {
  years: TrendYear[];
  pinned: readonly Pinned[];
  /** The data year of the page's prices, which the text below the lines describes; null for the last of `years`. */
  year: number | null;
  /** True on a hospital's page, and for lists around a place. A single hospital is then drawn in its amounts' colours. */
  isBeside?: boolean;
}

export function Trend({ years, pinned, year: chosen, isBeside = false }: TrendProps) {
  const steps = useSteps();
  const { active, setActive } = steps;
  const label = `The ${isBeside ? "nation's " : ""}median charge over ${years.length} years: ${years.map((year) => `${year.data_year} ${money(year.median_charge)}, Medicare allows ${money(year.median_allowed)}`).join("; ")}.`;
  if (!steps.isDrawn) return html`<${Steps} label=${label} height=${height} ...${steps} />`;
  const isOwn = isBeside && pinned.length === 1;
  const [first, last] = [years[0], years[years.length - 1]];
  const described = years.find(({ data_year }) => data_year === chosen) ?? last;
  const lines = pinned.flatMap(({ letter, trend }) => {
    const points = (trend?.data ?? []).flatMap(
      ({ data_year, submitted_charge: charge, medicare_allowed: allowed }) =>
        typeof charge === "number" &&
        typeof allowed === "number" &&
        years.some((year) => year.data_year === data_year)
          ? [{ data_year, charge, allowed }]
          : [],
    );
    return points.length === 0 ? [] : [{ letter, points }];
  });
  const amounts = [
    ...years.map((year) => (isFew(year) ? year.median_charge : year.p75_charge)),
    ...(isBeside ? [] : years.map(({ median_allowed }) => median_allowed)),
    ...lines.flatMap(({ points }) =>
      points.flatMap(({ charge, allowed }) => (isOwn ? [charge, allowed] : charge)),
    ),
  ];
  const y = d3.scaleLinear([0, Math.max(...amounts) * 1.05], [floor, top]);
  const right = 84 + (lines.length > 0 ? 34 : 0);
  const left = 12 + 7.5 * Math.max(...y.ticks(4).map((tick) => money(tick).length));
  const x = d3.scaleLinear([first.data_year, last.data_year], [0, 100]);
  const runs: TrendYear[][] = [];
  for (const [i, year] of years.entries())
    if (i > 0 && isSame(years[i - 1], year) && !isFew(years[i - 1]) && !isFew(year))
      runs[runs.length - 1].push(year);
    else runs.push([year]);
  const at = ({ data_year }: TrendYear) => x(data_year);
  const pointsOf = (run: readonly TrendYear[], key: "median_charge" | "median_allowed") =>
    run.map((year): Point => [at(year), y(year[key])]);
  const band = d3.area(
    at,
    (year: TrendYear) => y(year.p25_charge),
    (year: TrendYear) => y(year.p75_charge),
  );
  const noteOf = (i: number) => {
    const year = years[i];
    return {
      x: at(year),
      y: `${Math.max(y(year.median_charge), 84)}px`,
      lines: [
        `${year.data_year}: ${isBeside ? "the nation " : ""}${money(year.median_charge)}`,
        isFew(year)
          ? `${money(year.min_charge)} to ${money(year.max_charge)}`
          : `half ${money(year.p25_charge)} to ${money(year.p75_charge)}`,
        `Medicare allows ${money(year.median_allowed)}`,
        counted(year.facilities, "hospital", "hospitals"),
        ...lines.flatMap(({ letter, points }) =>
          points
            .filter(({ data_year }) => data_year === year.data_year)
            .map(({ charge, allowed }) =>
              isOwn ? `own ${money(charge)}, allowed ${money(allowed)}` : `${letter}: ${money(charge)}`,
            ),
        ),
      ],
    };
  };
  const endX = lines.length > 0 ? 22 : 12;
  const ends = spread([
    {
      ...{ y: y(last.median_charge), kind: isBeside ? "nation" : "charge", amount: last.median_charge },
      what: isBeside ? "nation" : "median",
    },
    ...(isBeside
      ? []
      : [{ y: y(last.median_allowed), kind: "allowed", amount: last.median_allowed, what: "allowed" }]),
    ...lines.flatMap(({ letter, points }) => {
      const point = points.find(({ data_year }) => data_year === last.data_year);
      if (point === undefined) return [];
      const { charge, allowed } = point;
      if (!isOwn) return [{ y: y(charge), kind: "mark", amount: charge, what: letter }];
      return [
        { y: y(charge), kind: "charge", amount: charge, what: "charged" },
        { y: y(allowed), kind: "allowed", amount: allowed, what: "allowed" },
      ];
    }),
  ]);
  return html`<${Steps}
      label=${label}
      height=${height}
      left=${left}
      right=${right}
      count=${years.length}
      ...${steps}
      noteOf=${noteOf}
    >
      <svg class="drawing" height=${height} overflow="visible" role="img" aria-label=${label}>
        <${Grid} ticks=${y.ticks(4)} y=${y} text=${(tick: number) => (tick === 0 ? "$0" : money(tick))} />
        ${runs.map(
          (run) => html`<g class="run">
            ${
              isFew(run[0])
                ? null
                : run.length > 1
                  ? html`<svg viewBox=${`0 0 100 ${height}`} preserveAspectRatio="none"><path class=${isBeside ? "half nation" : "half"} d=${band(run)} /></svg>
                    ${!isBeside && html`<${Line} kind="allowed" points=${pointsOf(run, "median_allowed")} />`}
                    <${Line} kind=${isBeside ? "nation" : "charge"} points=${pointsOf(run, "median_charge")} />`
                  : html`<${Place} x=${`${at(run[0])}%`}><rect class="half" x="-12" width="24" y=${y(run[0].p75_charge)} height=${y(run[0].p25_charge) - y(run[0].p75_charge)} /><//>`
            }
          </g>`,
        )}
        ${lines.map(({ letter, points }) =>
          isOwn
            ? html`<${OwnLines} points=${points} x=${x} y=${y} />`
            : html`<g class="mark">
            <${Line} dash=${dashes[letter]} points=${points.map(({ data_year, charge }): Point => [x(data_year), y(charge)])} />
            ${points.map(({ data_year, charge }) => html`<${PinShape} letter=${letter} x=${`${x(data_year)}%`} y=${y(charge)} />`)}
          </g>`,
        )}
        ${years.map(
          (year, i) => html`<${Place} x=${`${at(year)}%`}>
            <rect
              class="reach"
              x="-24"
              width="48"
              y="0"
              height=${height}
              onPointerEnter=${() => setActive(i)}
              onPointerDown=${() => setActive(i)}
            />
            ${
              isBeside
                ? html`<circle class="nation" cy=${y(year.median_charge)} r=${i === active ? 4 : 3} />`
                : html`<${Shape} kind="charge" x=${0} y=${y(year.median_charge)} size=${i === active ? 6 : 4} />
                    <${Shape} kind="allowed" x=${0} y=${y(year.median_allowed)} size=${i === active ? 6 : 4} />`
            }
            <text class=${`tick ${year.data_year === chosen ? "strong" : ""}`} y=${height - 8} text-anchor="middle">${year.data_year}</text>
          <//>`,
        )}
        <${Place} x="100%">${ends.map(
          ({ y, labelY, kind, amount, what }) => html`<g class=${`end ${kind}`}>
            ${Math.abs(labelY - y) > 2 && html`<line x1="5" x2=${endX - 2} y1=${y} y2=${labelY} />`}
            ${
              kind === "mark"
                ? html`<${PinShape} letter=${what} x=${endX + 6} y=${labelY} />
                    <text class="strong" x=${endX + 15} y=${labelY} dy="0.32em">${what} ${money(amount)}</text>`
                : html`<text x=${endX} y=${labelY - 6.5} dy="0.32em"><tspan class="strong">${money(amount)}</tspan><tspan x=${endX} dy="1.1em">${what}</tspan></text>`
            }
          </g>`,
        )}<//>
      </svg>
    <//>
    <p class="quiet small">${trendText(years, described, isBeside)}</p>`;
}

/** A point, with x in percent and y in pixels. */
type Point = readonly [x: number, y: number];

interface LineProps {
  kind?: string;
  dash?: string;
  points: readonly Point[];
}

/** Draws a line in parts, because a path's points can't be percentages. */
const Line = ({ kind = "", dash, points }: LineProps) =>
  d3.pairs(
    points,
    (from, to) =>
      html`<line class=${`line ${kind}`} stroke-dasharray=${dash} x1=${`${from[0]}%`} y1=${from[1]} x2=${`${to[0]}%`} y2=${to[1]} />`,
  );

interface OwnLinesProps {
  points: { data_year: number; charge: number; allowed: number }[];
  x: d3.ScaleLinear<number, number>;
  y: d3.ScaleLinear<number, number>;
}

function OwnLines({ points, x, y }: OwnLinesProps) {
  return html`<g>${(["allowed", "charge"] as const).map((kind) => {
    return html`<${Line} kind=${kind} points=${points.map((point): Point => [x(point.data_year), y(point[kind])])} />
      ${points.map((point) => html`<${Shape} kind=${kind} x=${`${x(point.data_year)}%`} y=${y(point[kind])} size=${4} />`)}`;
  })}</g>`;
}

/** In pixels. A label with a hospital's letter has one line of text, and other labels have two. */
const heightOf = ({ kind }: { kind: string }) => (kind === "mark" ? 17 : 29);

/** Moves labels down until none overlap, and then up until none is below the picture. */
function spread<End extends { y: number; kind: string }>(ends: End[]): (End & { labelY: number })[] {
  const labels = ends.toSorted((a, b) => a.y - b.y).map((end) => ({ ...end, labelY: end.y }));
  let end = 0;
  for (const label of labels) {
    label.labelY = Math.max(label.labelY, end + heightOf(label) / 2);
    end = label.labelY + heightOf(label) / 2;
  }
  let begin = floor + 4;
  for (const label of labels.toReversed()) {
    label.labelY = Math.min(label.labelY, begin - heightOf(label) / 2);
    begin = label.labelY - heightOf(label) / 2;
  }
  return labels;
}

const moved = (share: number) =>
  share === 0 ? "stayed the same" : `${share > 0 ? "rose" : "fell"} by ${Math.abs(share)}%`;

function trendText(years: TrendYear[], year: TrendYear, isBeside: boolean): string {
  const before = years[years.indexOf(year) - 1];
  const texts: string[] = [];
  if (before && year.matched && !isFew(year.matched)) {
    const { facilities, median_charge, median_allowed } = year.matched;
    texts.push(
      `For ${whole(facilities)} hospitals${isBeside ? " in the nation" : ""} with a price in both ${before.data_year} and ${year.data_year}, each hospital's own charge typically ${moved(median_charge)}; Medicare's amount ${moved(median_allowed)}.`,
    );
  }
  if (years.some(isFew))
    texts.push(
      `No line, and no middle half, is drawn for ${years.every(isFew) ? "" : "a year with "}fewer than ${leastForQuartiles} hospitals.`,
    );
  for (const [i, year] of years.entries()) {
    if (i === 0 || isSame(years[i - 1], year)) continue;
    texts.push(
      year.name === years[i - 1].name
        ? `There are no prices between ${years[i - 1].data_year} and ${year.data_year}.`
        : `Since ${year.data_year} it is “${year.name}”, before “${years[i - 1].name}”: the line breaks, because the content may have changed.`,
    );
  }
  return texts.join(" ");
}
