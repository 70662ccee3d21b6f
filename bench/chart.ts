import { extent, scaleLog } from "d3";
import { digits } from "./figures.ts";
import type { LoadResult, Results } from "./report.ts";

/** A dot is a server's median CPU time per request, and a line is the server's range. */

const names: Readonly<Record<string, string>> = {
  service: "This service",
  ceiling: "uWebSockets.js, constant bytes",
  nginx: "nginx, static file",
  "node-http": "node:http, same engine",
  sqlite: "Fastify + better-sqlite3",
  "sqlite-cached": "… with a cache of answers",
  duckdb: "Fastify + DuckDB",
};

const width = 760;
const left = 245;
const right = 90;
const top = 66;
const rowHeight = 34;
// The default greys are readable on white and on black. With a known colour scheme, texts have more contrast.
const style = `
  text { font: 13px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; fill: #6e7781; }
  .title { font-size: 16px; font-weight: 600; }
  .axis { font-size: 11px; }
  .grid { stroke: #8b949e; stroke-opacity: 0.3; }
  .other { color: #8b949e; }
  .ours { color: #2f81f7; font-weight: 600; }
  .spread { stroke: currentColor; stroke-width: 2; }
  circle { fill: currentColor; }
  @media (prefers-color-scheme: light) { text { fill: #424a53; } .title, .ours text { fill: #1f2328; } }
  @media (prefers-color-scheme: dark) { text { fill: #9ea7b3; } .title, .ours text { fill: #f0f6fc; } }`;

/** @returns an SVG document */
export function chartOf(load: LoadResult, { machine, date }: Results): string {
  const rows = [...load.entrants].sort((a, b) => a.cpuUs.median - b.cpuUs.median);
  const bottom = top + rows.length * rowHeight;
  const [least = 1, most = 10] = extent(rows.flatMap(({ cpuUs: { min, max } }) => [min, max]));
  const x = scaleLog()
    .domain([least, most])
    .nice()
    .rangeRound([left, width - right]);
  const powers = x.ticks().filter((us) => Number.isInteger(Math.log10(us)));
  const grid = powers.map(
    (us) => `<line class="grid" x1="${x(us)}" y1="${top - 8}" x2="${x(us)}" y2="${bottom}"/>
<text class="axis" x="${x(us)}" y="${bottom + 16}" text-anchor="middle">${digits(us)} µs</text>`,
  );
  const marks = rows.map(({ name, cpuUs }, i) => {
    const y = top + i * rowHeight + rowHeight / 2;
    return `<g class="${name === "service" ? "ours" : "other"}">
<text x="${left - 14}" y="${y + 4}" text-anchor="end">${escaped(names[name] ?? name)}</text>
<line class="spread" x1="${x(cpuUs.min)}" y1="${y}" x2="${x(cpuUs.max)}" y2="${y}"/>
<circle cx="${x(cpuUs.median)}" cy="${y}" r="6"/>
<text x="${x(cpuUs.max) + 12}" y="${y + 4}">${digits(cpuUs.median)} µs</text>
</g>`;
  });
  const rounds = load.entrants[0].rounds.length;
  const note = `One core of ${machine.cpu}, ${rounds} rounds (line: their spread), logarithmic scale, ${date.slice(0, 10)}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${bottom + 48}" width="${width}" height="${bottom + 48}" role="img" aria-label="CPU time per request by server">
<style>${style}
</style>
<text class="title" x="16" y="26">CPU time per request, ${escaped(load.title)}</text>
<text class="axis" x="16" y="46">User and system time of the server's process; lower is better</text>
${grid.join("\n")}
${marks.join("\n")}
<text class="axis" x="16" y="${bottom + 38}">${escaped(note)}</text>
</svg>
`;
}

const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
