import { percent } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import { figureSeconds, type Sample } from "./sample.ts";
import { Rows } from "./tables.ts";

/** Shows the busiest routes with their worst status. Less busy routes are folded. */

const shownRoutes = 10;

const rate = (value: number) => {
  if (value === 0) return "0";
  if (value < 0.05) return "< 0.1";
  return value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString("en-US");
};

/** Ranks 5xx, 429, other 4xx, and then all other statuses. */
const badness = (status: string) =>
  status.startsWith("5") ? 3 : status === "429" ? 2 : status.startsWith("4") ? 1 : 0;

interface Route {
  name: string;
  worst: string;
  /** Requests per second over all samples. */
  statuses: Map<string, number>;
  now: number;
  all: number;
}

function routesOf(samples: Sample[]): Route[] {
  const routes = new Map<string, Route>();
  const add = (from: Sample[], change: (route: Route, status: string, share: number) => void) => {
    for (const { requests } of from)
      for (const [key, count] of Object.entries(requests)) {
        const at = key.lastIndexOf(" ");
        const [name, status] = [key.slice(0, at), key.slice(at + 1)];
        const route = routes.get(name) ?? { name, worst: status, statuses: new Map(), now: 0, all: 0 };
        routes.set(name, route);
        change(route, status, count / from.length);
      }
  };
  add(samples, (route, status, share) => {
    route.all += share;
    route.statuses.set(status, (route.statuses.get(status) ?? 0) + share);
    if (badness(status) > badness(route.worst)) route.worst = status;
  });
  add(samples.slice(-figureSeconds), (route, _, share) => {
    route.now += share;
  });
  return [...routes.values()].sort((a, b) => b.all - a.all);
}

export function Traffic({ samples }: { samples: Sample[] }) {
  const routes = routesOf(samples);
  const more = routes.slice(shownRoutes);
  const rowsOf = (title: string, some: Route[]) =>
    html`<${Rows} title=${title} heads=${["Route", "Worst", "#Now", "#Ten minutes", "Statuses"]} rows=${some.map(cellsOf)} />`;
  return html`<section class="card"><header><h2>Busiest routes</h2><p class="about quiet">Requests per second</p></header>
    ${routes.length === 0 ? html`<p class="quiet">No request in the last ten minutes.</p>` : rowsOf("Busiest routes", routes.slice(0, shownRoutes))}
    ${more.length > 0 && html`<details><summary>${more.length} more</summary>${rowsOf("Other routes", more)}</details>`}
  </section>`;
}

function cellsOf({ name, worst, statuses, now, all }: Route) {
  const texts = [...statuses]
    .sort(([, a], [, b]) => b - a)
    .map(([status, share]) => `${status} ${percent((100 * share) / all)}`);
  return [
    // A long route may break after each slash.
    html`<code>${name.split(/(?<=\/)/).map((part) => html`${part}<wbr />`)}</code>`,
    html`<span class=${["", "", "warn", "bad"][badness(worst)]}>${worst}</span>`,
    rate(now),
    rate(all),
    html`<span class="quiet">${texts.join(", ")}</span>`,
  ];
}
