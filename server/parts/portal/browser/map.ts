import * as d3 from "../../../shared/browser/d3.ts";
import { money, whole } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import { byWidth } from "../../../shared/browser/labels.ts";
import type { Dataset, ProcedureAnswer, StateRow } from "./answers.ts";
import { type Figures, figuresOf, groupColumns, versionColumns } from "./card.ts";
import { nowhere } from "./choice.ts";
import { context } from "./context.ts";
import { choose } from "./location.ts";
import { letterWidth, Steps, useSteps } from "./picture.ts";
import { stateName, states, statesText, whyMissing } from "./states.ts";
import { isFew, leastForQuartiles } from "./words.ts";

/** Draws the states, coloured by median charge. */

const [mapWidth, mapHeight] = [975, 610];
const mostColours = 6;

/** The states, DC and Puerto Rico, by name. The map has no other territory. */
const statesOnMap = d3.sort(
  Object.keys(states).filter((code) => Number(states[code].fips) < 60 || code === "PR"),
  stateName,
);

/** Boxes in the sea: DC is too small for a finger, and the file of outlines lacks Puerto Rico. */
const boxSize = { width: 64, height: 44 };
const boxes: Readonly<Record<string, readonly [x: number, y: number]>> = { DC: [905, 310], PR: [905, 525] };
const boxPath = ([x, y]: readonly [number, number]) =>
  `M${x},${y}h${boxSize.width}v${boxSize.height}h-${boxSize.width}z`;

const outlineOf = (code: string) =>
  html`${code !== "PR" && html`<use href=${`${context.settings.states}#${code}`} />`}${boxes[code] && html`<path d=${boxPath(boxes[code])} />`}`;

/** The first and the last level have the extreme colours, and a single level has a middle colour. */
const colourAt = (i: number, colours: number) =>
  `var(--map-${colours < 2 ? 3 : Math.round((i * (mostColours - 1)) / (colours - 1))})`;

interface MapProps {
  answer: ProcedureAnswer;
  dataset: Dataset | undefined;
  state: string | null;
}

export function StatesMap({ answer, dataset, state }: MapProps) {
  const toggle = (code: string) => choose({ ...nowhere, state: code === state ? null : code });
  const steps = useSteps();
  const { active, setActive } = steps;
  const rows = new Map(answer.data.map((row) => [row.state, row]));
  const label = `Map of the median charge by state, ${statesText([...rows.keys()])} with prices.`;
  const reasons = new Map(dataset?.coverage.missing_states.map((one) => [one.state, whyMissing(one)]));
  const gaps = html`<p class="quiet small">${gapsText(rows, reasons)}</p>`;
  const swatches = [
    { id: "sparse", text: `fewer than ${leastForQuartiles} hospitals`, isOn: answer.data.some(isFew) },
    { id: "no-price", text: "no price", isOn: statesOnMap.some((code) => code !== "MD" && !rows.has(code)) },
    { id: "outside", text: "Maryland, no price", isOn: !rows.has("MD") },
  ].filter(({ isOn }) => isOn);
  if (!steps.isDrawn)
    return html`<div class="map">
      <svg class="drawing legend" height=${legendHeight(swatches)} />
      <${Steps} label=${label} ...${steps} />
      ${gaps}
    </div>`;
  const edges = classesOf(answer.data.filter((row) => !isFew(row)).map(({ median_charge }) => median_charge));
  const colourOf = (row: StateRow) =>
    isFew(row)
      ? undefined
      : colourAt(d3.bisectRight(edges, row.median_charge, 1, edges.length - 1) - 1, edges.length - 1);
  const noteOf = (i: number) => {
    const code = statesOnMap[i];
    const row = rows.get(code);
    const lines = row
      ? [
          `${stateName(code)}: ${money(row.median_charge)}`,
          row.facilities === 1
            ? "a single hospital"
            : `${row.facilities < leastForQuartiles ? "only " : ""}${whole(row.facilities)} hospitals, ${money(row.min_charge)} to ${money(row.max_charge)}`,
          `Medicare allows ${money(row.median_allowed)}`,
        ]
      : [`${stateName(code)}: no prices`, reasons.get(code) ?? "no hospital with a price for this procedure"];
    const box = document.querySelector<SVGGElement>(`.map [data-state="${code}"]`)?.getBBox();
    const [x, y] = box ? [box.x + box.width / 2, box.y + box.height / 2] : [0, 0];
    return { x: (100 * x) / mapWidth, y: `max(${(100 * y) / mapHeight}% - 6px, 70px)`, lines };
  };
  return html`<div class="map">
    <${Legend} edges=${edges} swatches=${swatches} />
    <${Steps}
      label=${label}
      count=${statesOnMap.length}
      ...${steps}
      noteOf=${noteOf}
      choose=${(i: number) => toggle(statesOnMap[i])}
    >
      <svg class="drawing" overflow="visible" role="img" aria-label=${label}>
        <svg viewBox=${`0 0 ${mapWidth} ${mapHeight}`}>
        <defs>
          <pattern id="sparse" width="9" height="9" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
            <line x1="0" x2="0" y1="0" y2="9" class="track" stroke-width="9" />
          </pattern>
          <pattern id="outside" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)">
            <line x1="0" x2="0" y1="0" y2="6" stroke-width="1.5" />
          </pattern>
        </defs>
        ${statesOnMap.map((code, i) => {
          const row = rows.get(code);
          const hatch = row ? isFew(row) && "sparse" : code === "MD" && "outside";
          return html`<g
            data-state=${code}
            class=${row && !isFew(row) ? "state" : "state no-price"}
            fill=${row && colourOf(row)}
            onPointerEnter=${() => setActive(i)}
            onClick=${() => toggle(code)}
          >${outlineOf(code)}</g>${hatch && html`<g class="sparse" fill=${`url(#${hatch})`}>${outlineOf(code)}</g>`}`;
        })}
        ${active !== null && html`<g class="pointed">${outlineOf(statesOnMap[active])}</g>`}
        ${state !== null && statesOnMap.includes(state) && html`<g class="chosen">${outlineOf(state)}</g>`}
        </svg>
        ${Object.entries(boxes).map(([code, [x, y]]) => html`<text x=${`${(100 * (x + boxSize.width / 2)) / mapWidth}%`} y=${`${(100 * (y + boxSize.height)) / mapHeight}%`} dy="1em" text-anchor="middle">${code}</text>`)}
      </svg>
    <//>
    ${gaps}
  </div>`;
}

/** Divides amounts into classes of equal width, with round edges if possible. @returns the edges; empty without amounts */
function classesOf(amounts: readonly number[]): number[] {
  const [low, high] = d3.extent(amounts);
  if (low === undefined || high === undefined) return [];
  const edgesOf = (count: number) => d3.ticks(...d3.nice(low, high, count), count);
  const edges = [10, 8, 6, 5, 4, 3, 2].map(edgesOf).find(({ length }) => length <= mostColours + 1) ?? [];
  return edges.length < 2 ? [low, high] : edges;
}

const [coloursHeight, swatchHeight] = [36, 20];
/** Swatches are drawn below the colours, one below the other, so that the height doesn't depend on the width. */
const legendHeight = (swatches: readonly object[]) => coloursHeight + swatchHeight * swatches.length;

interface LegendProps {
  edges: readonly number[];
  /** `id` is the swatch's CSS class, and the id of its pattern if it has one. */
  swatches: { id: string; text: string }[];
}

function Legend({ edges, swatches }: LegendProps) {
  const colours = Math.max(0, edges.length - 1);
  const texts = edges.map(money);
  const room = letterWidth * Math.max(0, ...texts.map(({ length }) => length)) + 8;
  const step = Math.max(54, room);
  const at = (i: number) => `${(100 * i) / (colours + 1)}%`;
  // The first and the last text are always written. Texts between them are written where there is room.
  const isWritten = (i: number, width: number) => {
    const narrow = Math.min(step, width / (colours + 1));
    const every = Math.ceil(room / narrow);
    return i === 0 || i === colours || (i % every === 0 && i + every <= colours);
  };
  const height = legendHeight(swatches);
  return html`<div class="by-width"><svg class="drawing legend" width=${step * (colours + 1)} height=${height} overflow="visible" aria-hidden="true">
    ${d3.range(colours).map((i) => html`<rect x=${at(i)} width=${at(1)} height="10" fill=${colourAt(i, colours)} />`)}
    ${byWidth((width) => texts.map((text, i) => isWritten(i, width) && html`<text x=${at(i)} y="24">${text}</text>`))}
    ${swatches.map(({ id, text }, i) => {
      const y = coloursHeight + swatchHeight * i;
      return html`<rect y=${y} width="20" height="10" class=${`ground ${id}`} />
        ${id !== "no-price" && html`<rect y=${y} width="20" height="10" fill=${`url(#${id})`} />`}
        <text x="25" y=${y + 9}>${text}</text>`;
    })}
  </svg></div>`;
}

function gapsText(rows: Map<string, StateRow>, reasons: Map<string, string>): string {
  if (rows.size === 0) return "";
  const missing = statesOnMap.filter((code) => !rows.has(code));
  const maryland = missing.includes("MD") && reasons.get("MD");
  const others = missing.filter((code) => code !== "MD" || !maryland);
  const named = others.length > 8 ? statesText(others) : others.map(stateName).join(", ");
  return [maryland && `${maryland}.`, named && `No hospital with a price: ${named}.`]
    .filter(Boolean)
    .join(" ");
}

/** Lists the states with prices, dearest first, and then the states without any price in the data version. */
export function mapFigures(
  { data, procedure, source }: ProcedureAnswer,
  dataset: Dataset | undefined,
): Figures {
  const rows: (Partial<StateRow> & { state: string; reason?: string })[] = [
    ...data.toSorted((a, b) => b.median_charge - a.median_charge),
    ...(dataset?.coverage.missing_states ?? []).map((one) => ({ ...one, reason: whyMissing(one) })),
  ];
  return figuresOf(
    rows,
    ...versionColumns(source),
    ["state", null, ({ state }) => state],
    ["state_name", "state", ({ state }) => stateName(state)],
    ...groupColumns(procedure),
    ["facilities", "hospitals", ({ facilities }) => facilities ?? 0, whole],
    ["median_charge", "median", ({ median_charge }) => median_charge ?? null, money],
    ["min_charge", "lowest", ({ min_charge }) => min_charge ?? null, money],
    ["max_charge", "highest", ({ max_charge }) => max_charge ?? null, money],
    ["median_allowed", "allowed", ({ median_allowed }) => median_allowed ?? null, money],
    ["reason", "why none", ({ reason = "" }) => reason],
  );
}
