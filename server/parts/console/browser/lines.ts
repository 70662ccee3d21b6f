import { useEffect, useRef, useState } from "preact/hooks";
import type uPlot from "uplot";
import { html } from "../../../shared/browser/html.ts";
import type { Sample } from "../history.ts";

/** Draws lines over time, live, with a legend in place and a table of their numbers. */

declare global {
  interface Window {
    uPlot: typeof uPlot;
  }
}

interface Series {
  name: string;
  /** Name of a CSS custom property. */
  colour: string;
  value(sample: Sample): number | null;
}

interface LinesProps {
  title: string;
  samples: Sample[];
  series: Series[];
  isLogarithmic: boolean;
  text(value: number): string;
}

const height = 220;
const rowSeconds = 60;

const dashes = [[], [6, 3], [2, 3], [8, 3, 2, 3]];
const widths = [2, 1.5, 3, 2.5];

export function Lines({ title, samples, series, isLogarithmic, text }: LinesProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const [isTable, setTable] = useState(false);
  /** The sample below the pointer; null for the last one. */
  const [pointed, setPointed] = useState<number | null>(null);
  const data: uPlot.AlignedData = [
    samples.map(({ at }) => at),
    // A logarithmic scale can't show 0.
    ...series.map(({ value }) =>
      samples.map((sample) => value(sample) || (isLogarithmic ? null : (value(sample) ?? null))),
    ),
  ];
  useEffect(() => {
    if (isTable || !place.current) return;
    const element = place.current;
    const make = () => {
      plot.current?.destroy();
      // A canvas supports neither custom properties nor light-dark().
      const colour = (name: string) => {
        element.style.color = `var(${name})`;
        return getComputedStyle(element).color;
      };
      const axis = {
        stroke: colour("--grey"),
        grid: { stroke: colour("--line"), width: 1 },
        ticks: { show: false },
      };
      plot.current = new window.uPlot(
        {
          width: element.clientWidth,
          height,
          cursor: { y: false },
          legend: { show: false },
          hooks: { setCursor: [({ cursor }) => setPointed(cursor.idx ?? null)] },
          scales: {
            y: isLogarithmic ? { distr: 3 } : { range: (_, __, max) => [0, Math.max(1, max * 1.1)] },
          },
          axes: [
            axis,
            {
              ...axis,
              size: 70,
              values: (_, splits) => splits.map((value) => (value === null ? "" : text(value))),
            },
          ],
          series: [
            {},
            ...series.map(({ name, colour: property }, i) => ({
              label: name,
              stroke: colour(property),
              width: widths[i],
              dash: dashes[i],
              points: { show: false },
            })),
          ],
        },
        data,
        element,
      );
    };
    make();
    const observer = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", make);
    return () => {
      observer.disconnect();
      scheme.removeEventListener("change", make);
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [isTable]);
  useEffect(() => plot.current?.setData(data), [samples]);
  const shown = samples[pointed ?? samples.length - 1] ?? samples.at(-1);
  return html`<section class="card lines">
    <header><h2>${title}</h2>
      <button type="button" class="plain" aria-expanded=${isTable} onClick=${() => setTable(!isTable)}>table</button>
    </header>
    ${
      isTable
        ? html`<${Minutes} title=${title} samples=${samples} series=${series} text=${text} />`
        : html`<${Legend} series=${series} sample=${shown} text=${text} />
      <div ref=${place} role="img" aria-label=${`${title}: lines over time; the table has the numbers`}></div>`
    }
  </section>`;
}

interface LegendProps extends Pick<LinesProps, "series" | "text"> {
  sample: Sample | undefined;
}

/** The lines' names and values. Values have a fixed width, so that the layout doesn't shift. */
function Legend({ series, sample, text }: LegendProps) {
  return html`<ul class="legend" aria-hidden="true">
    <li class="time">${sample ? new Date(sample.at * 1000).toLocaleTimeString() : ""}</li>
    ${series.map(({ name, colour, value }, i) => {
      const shown = sample ? value(sample) : null;
      return html`<li><svg width="28" height="8"><line x1="0" x2="28" y1="4" y2="4" stroke=${`var(${colour})`} stroke-width=${widths[i]} stroke-dasharray=${dashes[i].join(" ")} /></svg>
        ${name} <b>${shown === null ? "–" : text(shown)}</b></li>`;
    })}
  </ul>`;
}

function Minutes({ title, samples, series, text }: Omit<LinesProps, "isLogarithmic">) {
  const minutes = [...Map.groupBy(samples, ({ at }) => Math.floor(at / rowSeconds))].reverse();
  return html`<table><caption class="quiet">${title}: the highest of each minute</caption>
    <thead><tr><th scope="col">Minute</th>${series.map(({ name }) => html`<th scope="col" class="number">${name}</th>`)}</tr></thead>
    <tbody>${minutes.map(
      ([minute, rows]) =>
        html`<tr key=${minute}><td>${new Date(minute * rowSeconds * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })}</td>
          ${series.map(({ value }) => {
            const values = rows.map(value).filter((value) => value !== null);
            return html`<td class="number">${values.length === 0 ? "–" : text(Math.max(...values))}</td>`;
          })}</tr>`,
    )}</tbody></table>`;
}
