import { html } from "../../../shared/browser/html.ts";
import type { Sample } from "../history.ts";

/** Shows a table of requests by route and status. */

const perSecond = (samples: Sample[], name: string) =>
  samples.length === 0
    ? 0
    : samples.reduce((sum, { requests }) => sum + (requests[name] ?? 0), 0) / samples.length;
const rate = (value: number) => {
  if (value === 0) return "0";
  if (value < 0.05) return "< 0.1";
  return value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString("en-US");
};

export function Traffic({ samples }: { samples: Sample[] }) {
  const names = [...new Set(samples.flatMap(({ requests }) => Object.keys(requests)))];
  const rows = names
    .map((name) => ({
      name,
      now: perSecond(samples.slice(-5), name),
      minute: perSecond(samples.slice(-60), name),
      all: perSecond(samples, name),
    }))
    .filter(({ all }) => all > 0)
    .sort((a, b) => b.all - a.all);
  return html`<section class="card"><header><h2>Requests per second by route and status</h2></header>
    <div class="scroll" tabindex="0" role="region" aria-label="Requests by route and status">
    <table><thead><tr><th scope="col">Route</th><th scope="col">Status</th><th scope="col" class="number">now</th>
      <th scope="col" class="number">last minute</th><th scope="col" class="number">ten minutes</th></tr></thead>
    <tbody>${rows.map(({ name, now, minute, all }) => {
      const at = name.lastIndexOf(" ");
      const status = name.slice(at + 1);
      return html`<tr key=${name}><td><code>${name.slice(0, at)}</code></td><td class=${status.startsWith("5") ? "bad" : ""}>${status}</td>
        <td class="number">${rate(now)}</td><td class="number">${rate(minute)}</td><td class="number">${rate(all)}</td></tr>`;
    })}
    ${rows.length === 0 && html`<tr><td colspan="5" class="quiet">no request in the last ten minutes</td></tr>`}</tbody></table></div></section>`;
}
