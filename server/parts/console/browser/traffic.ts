import { percent } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import type { Sample } from "./sample.ts";
import { Rows } from "./tables.ts";

/** Shows the busiest routes with their statuses. Less busy routes are folded. */

const shownRoutes = 10;

const rate = (value: number) => {
  if (value === 0) return "0";
  if (value < 0.05) return "< 0.1";
  return value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString("en-US");
};

const levelOf = (status: string) => (status.startsWith("5") ? "bad" : status === "429" ? "warn" : "quiet");

interface Route {
  name: string;
  /** Requests per second by status. */
  statuses: Map<string, number>;
  all: number;
}

function routesOf(requests: Sample["requests"]): Route[] {
  const routes = new Map<string, Route>();
  for (const [key, rate] of Object.entries(requests)) {
    const at = key.lastIndexOf(" ");
    const [name, status] = [key.slice(0, at), key.slice(at + 1)];
    const route = routes.get(name) ?? { name, statuses: new Map(), all: 0 };
    routes.set(name, route);
    route.all += rate;
    route.statuses.set(status, rate);
  }
  return [...routes.values()].sort((a, b) => b.all - a.all);
}

export function Traffic({ now, range }: { now: Sample | undefined; range: string }) {
  const time = `the last ${range.replace(/^an? /, "")}`;
  const routes = routesOf(now?.requests ?? {});
  const more = routes.slice(shownRoutes);
  const rowsOf = (title: string, some: Route[]) =>
    html`<${Rows} title=${title} heads=${["Route", "#Requests", "Statuses"]} rows=${some.map(cellsOf)} />`;
  return html`<section class="card"><header><h2>Busiest routes</h2><p class="about quiet">Requests per second in ${time}</p></header>
    ${routes.length === 0 ? html`<p class="quiet">No request in ${time}.</p>` : rowsOf("Busiest routes", routes.slice(0, shownRoutes))}
    ${more.length > 0 && html`<details><summary>${more.length} more</summary>${rowsOf("Other routes", more)}</details>`}
  </section>`;
}

function cellsOf({ name, statuses, all }: Route) {
  const texts = [...statuses]
    .sort(([, a], [, b]) => b - a)
    .map(
      ([status, share], i) =>
        html`${i > 0 && ", "}<span class=${levelOf(status)}>${status} ${percent((100 * share) / all)}</span>`,
    );
  return [
    // A long route may break after each slash.
    html`<code>${name.split(/(?<=\/)/).map((part) => html`${part}<wbr />`)}</code>`,
    rate(all),
    texts,
  ];
}
