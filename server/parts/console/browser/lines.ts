import { useState } from "preact/hooks";
import * as d3 from "../../../shared/browser/d3.ts";
import { html } from "../../../shared/browser/html.ts";
import { byWidth, placedLabels } from "../../../shared/browser/labels.ts";
import type { Sample } from "./sample.ts";

/** Draws lines over time, or lists their numbers in a table. */

interface Series {
  name: string;
  /** Name of a CSS custom property. Widths and dashes tell lines apart without colours. */
  colour: string;
  width: number;
  dash?: string;
  value(sample: Sample): number | null;
}

interface LinesProps {
  title: string;
  samples: Sample[];
  /** All samples merged into one. The legend shows it unless the pointer is on the drawing. */
  now: Sample | undefined;
  /** Name of the period that the samples cover, such as "an hour". */
  range: string;
  seconds: number;
  series: Series[];
  isLogarithmic: boolean;
  text(value: number): string;
}

/** Height of the drawing in pixels. Horizontal positions are percentages. */
const height = 220;
const [top, floor] = [16, 196];
/** Height in pixels of a label at a line's end. */
const endHeight = 15;
/** Width in pixels of a character of a label. */
const letterWidth = 7.6;

export function Lines(props: LinesProps) {
  const { title } = props;
  const [isTable, setTable] = useState(false);
  return html`<section class="card lines">
    <header><h2>${title}</h2>
      <button type="button" class="plain" aria-expanded=${isTable} onClick=${() => setTable(!isTable)}>${isTable ? "picture" : "table"}</button>
    </header>
    ${isTable ? html`<${Steps} ...${props} />` : html`<${Drawing} ...${props} />`}
  </section>`;
}

function Drawing({ title, samples, now, range, seconds, series, isLogarithmic, text }: LinesProps) {
  /** Unix milliseconds below the pointer; null while the pointer isn't on the drawing. */
  const [pointed, setPointed] = useState<number | null>(null);
  const timeOf = ({ at }: Sample) => at * 1000;
  const last = samples.at(-1)?.at ?? Date.now() / 1000;
  const x = d3.scaleTime([(last - seconds) * 1000, last * 1000], [0, 100]);
  // Zeros are left out, except in the first series of a chart with a linear scale. A logarithmic scale can't show 0,
  // and a line of errors along 0 would look like an alarm.
  const drawn = ({ value }: Series, sample: Sample) =>
    isLogarithmic || value !== series[0].value ? value(sample) || null : value(sample);
  const values = series.flatMap((one) => samples.flatMap((sample) => drawn(one, sample) ?? []));
  const most = Math.max(1, ...values);
  const y = isLogarithmic
    ? d3.scaleLog([Math.min(most / 10, ...values), most], [floor, top]).nice()
    : d3.scaleLinear([0, most * 1.1], [floor, top]);
  const decades = values.length === 0 ? [] : y.ticks().filter((tick) => Number.isInteger(Math.log10(tick)));
  const rows = isLogarithmic ? decades : y.ticks(4);
  const shown = pointed === null ? undefined : samples[d3.bisectCenter(samples.map(timeOf), pointed)];
  const onPointerMove = (event: PointerEvent & { currentTarget: Element }) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    setPointed(x.invert((100 * (event.clientX - left)) / width).getTime());
  };
  // Zeros next to a drawn value are drawn on a linear scale, so that a single sample is a spike and not an invisible
  // point.
  const isDrawn = (one: Series, i: number) =>
    drawn(one, samples[i]) !== null ||
    (!isLogarithmic &&
      one.value(samples[i]) === 0 &&
      [i - 1, i + 1].some((near) => samples[near] && drawn(one, samples[near]) !== null));
  // A sample without neighbours is drawn as a short line.
  const shortLine = (one: Series, i: number) =>
    isDrawn(one, i) && ![i - 1, i + 1].some((near) => samples[near] && isDrawn(one, near))
      ? `M${x(timeOf(samples[i])) - 0.5} ${y(one.value(samples[i]) ?? 0)}h1`
      : "";
  const lineOf = (one: Series) =>
    (d3
      .line<Sample>()
      .defined((_, i) => isDrawn(one, i))
      .x((sample) => x(timeOf(sample)))
      .y((sample) => y(one.value(sample) ?? 0))(samples) ?? "") +
    samples.map((_, i) => shortLine(one, i)).join("");
  const ends = series
    .flatMap((one) => {
      const end = samples.slice(-2).findLast((sample) => drawn(one, sample) !== null);
      return end ? [{ ...one, at: y(one.value(end) ?? 0) }] : [];
    })
    .sort((a, b) => b.at - a.at);
  // Labels that would overlap are moved up, starting with the lowest label.
  for (const [i, end] of ends.entries()) end.at = Math.min(end.at, (ends[i - 1]?.at ?? height) - endHeight);
  return html`<${Legend} series=${series} sample=${shown ?? now} time=${shown ? clock(timeOf(shown), "2-digit") : `last ${range.replace(/^an? /, "")}`} text=${text} />
    <div class="plot">
    <svg width="100%" height=${height} aria-hidden="true">${rows.map((row) => html`<text x="100%" y=${y(row)} dy="0.32em" text-anchor="end">${text(row)}</text>`)}</svg>
    <div class="by-width"><svg width="100%" height=${height} role="img" aria-label=${`${title}: lines over time; the table has the numbers`} onPointerMove=${onPointerMove} onPointerLeave=${() => setPointed(null)}>
      ${rows.map((row) => html`<line class="grid" x2="100%" y1=${y(row)} y2=${y(row)} />`)}
      ${samples.length > 0 && values.length === 0 && html`<text x="50%" y=${(top + floor) / 2} text-anchor="middle">no requests</text>`}
      ${byWidth((width) => timesOn(x, width).map(({ at, text, anchor }) => html`<text x=${`${at}%`} y=${floor + 18} text-anchor=${anchor}>${text}</text>`))}
      ${shown && html`<line class="grid" x1=${`${x(timeOf(shown))}%`} x2=${`${x(timeOf(shown))}%`} y1=${top} y2=${floor} />`}
      <svg viewBox=${`0 0 100 ${height}`} preserveAspectRatio="none">
        ${series.map((one) => html`<path d=${lineOf(one)} ...${strokeOf(one)} />`)}
      </svg>
    </svg></div>
    <svg class="ends" width="100%" height=${height} aria-hidden="true">${ends.map(({ name, at }) => html`<text y=${at} dy="0.32em">${name}</text>`)}</svg></div>`;
}

/** Finds round times whose labels have room. @param x a scale to percent */
function timesOn(x: d3.ScaleTime<number, number>, width: number) {
  for (let most = 5; most > 0; most--) {
    const labels = x.ticks(most).map((time) => ({ at: x(time), text: clock(time) }));
    const { placed, isWhole } = placedLabels(labels, width, letterWidth);
    if (isWhole) return placed;
  }
  return [];
}

const clock = (time: Date | number, second?: "2-digit") =>
  new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", ...(second && { second }) });

const strokeOf = ({ colour, width, dash = "" }: Series) => ({
  ...{ stroke: `var(${colour})`, "stroke-width": width, "stroke-dasharray": dash },
});

interface LegendProps extends Pick<LinesProps, "series" | "text"> {
  sample: Sample | undefined;
  time: string;
}

/** Values have a minimum width, so that the layout rarely shifts. */
function Legend({ series, sample, time, text }: LegendProps) {
  return html`<ul class="legend" aria-hidden="true">
    <li class="time">${time}</li>
    ${series.map((one) => {
      const shown = sample ? one.value(sample) : null;
      return html`<li><svg width="28" height="8"><path d="M0 4H28" ...${strokeOf(one)} /></svg>
        ${one.name} <b>${shown === null ? "–" : text(shown)}</b></li>`;
    })}
  </ul>`;
}

function Steps({ title, samples, series, text }: LinesProps) {
  return html`<table><caption class="quiet">${title}, newest first</caption>
    <thead><tr><th scope="col">Until</th>${series.map(({ name }) => html`<th scope="col" class="number">${name}</th>`)}</tr></thead>
    <tbody>${samples.toReversed().map(
      (sample) =>
        html`<tr key=${sample.at}><td>${clock(sample.at * 1000, "2-digit")}</td>
          ${series.map(({ value }) => {
            const shown = value(sample);
            return html`<td class="number">${shown === null ? "–" : text(shown)}</td>`;
          })}</tr>`,
    )}</tbody></table>`;
}
