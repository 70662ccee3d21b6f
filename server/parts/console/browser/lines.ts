import { useEffect, useRef, useState } from "preact/hooks";
import type uPlot from "uplot";
import { html } from "../../../shared/browser/html.ts";
import type { Sample } from "../history.ts";

/** Draws lines over the last ten minutes, live, with a table of their numbers. */

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

export function Lines({ title, samples, series, isLogarithmic, text }: LinesProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const [isTable, setTable] = useState(false);
  const data: uPlot.AlignedData = [
    samples.map(({ at }) => at),
    // 0 has no place on a logarithmic scale.
    ...series.map(({ value }) =>
      samples.map((sample) => value(sample) || (isLogarithmic ? null : (value(sample) ?? null))),
    ),
  ];
  useEffect(() => {
    if (isTable || !place.current) return;
    const element = place.current;
    const make = () => {
      plot.current?.destroy();
      // A canvas takes no custom property, nor the choice of a colour by the scheme.
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
              width: 2,
              dash: dashes[i],
              points: { show: false },
              value: (_: uPlot, value: number | null) => (value === null ? "–" : text(value)),
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
  return html`<section class="card lines">
    <header><h2>${title}</h2>
      <button type="button" class="plain" aria-expanded=${isTable} onClick=${() => setTable(!isTable)}>table</button>
    </header>
    ${isTable ? html`<${Minutes} title=${title} samples=${samples} series=${series} text=${text} />` : html`<div ref=${place} role="img" aria-label=${`${title}: lines over the last ten minutes; the table has the numbers`}></div>`}
  </section>`;
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
