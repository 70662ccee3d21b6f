import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { counted, whole } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import type { Sample } from "../history.ts";
import type { State } from "../state.ts";
import { Lines } from "./lines.ts";
import { Accounts, Events, Refused, Versions } from "./tables.ts";
import { Traffic } from "./traffic.ts";

/** Starts the console: reads the server's stream and shows it. */

const keptSeconds = 600;
const stream: string = JSON.parse(document.querySelector("#settings")?.textContent ?? "{}").stream;

interface Seen {
  samples: Sample[];
  state: State | undefined;
  /** Whether a try to connect has failed. */
  isGone: boolean;
}

function useStream(): Seen {
  const [seen, setSeen] = useState<Seen>({ samples: [], state: undefined, isGone: false });
  useEffect(() => {
    const source = new EventSource(stream);
    const change = (changes: Partial<Seen>) => setSeen((before) => ({ ...before, ...changes }));
    source.addEventListener("open", () => change({ isGone: false }));
    source.addEventListener("error", () => {
      change({ isGone: true });
      // The browser reconnects by itself, unless the server answered with an error.
      if (source.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), 10_000);
    });
    source.addEventListener("history", ({ data }) => change({ samples: JSON.parse(data) }));
    source.addEventListener("state", ({ data }) => change({ state: JSON.parse(data) }));
    source.addEventListener("sample", ({ data }) =>
      setSeen((before) => ({
        ...before,
        samples: [...before.samples, JSON.parse(data)].slice(-keptSeconds),
      })),
    );
    return () => source.close();
  }, []);
  return seen;
}

function rateOf(sample: Sample, statuses: RegExp): number {
  return Object.entries(sample.requests)
    .filter(([name]) => statuses.test(name.slice(name.lastIndexOf(" ") + 1)))
    .reduce((sum, [, rate]) => sum + rate, 0);
}

const micros = (us: number | null) => {
  if (us === null) return "–";
  return us < 1000
    ? `${us < 10 ? us.toFixed(1) : Math.round(us)} µs`
    : `${(us / 1000).toFixed(us < 10_000 ? 1 : 0)} ms`;
};
const mebibytes = (bytes: number) => `${whole(Math.round(bytes / 2 ** 20))} MiB`;

function Figure({ name, value, isBad = false }: { name: string; value: string; isBad?: boolean }) {
  return html`<div class=${`card figure ${isBad ? "bad" : ""}`}><div class="value">${value}</div><div class="quiet">${name}</div></div>`;
}

function Health({ state, isGone }: Pick<Seen, "state" | "isGone">) {
  if (isGone) return html`<p class="health bad" role="status">The server can't be reached; trying again…</p>`;
  if (!state) return html`<p class="health quiet" role="status">…</p>`;
  const { server } = state;
  if (server.fault !== null) return html`<p class="health bad" role="status">${server.fault}</p>`;
  if (!server.ready) return html`<p class="health bad" role="status">Not ready</p>`;
  const { refused, accounts } = state;
  const exhausted = accounts.filter(({ used, quota }) => used >= quota).length;
  const since = `${new Date(server.started_at).toLocaleString()} (your time)`;
  const facts = `${counted(server.threads, "serving thread", "serving threads")}, Node ${server.node}, since ${since}`;
  const problems = [
    refused.length > 0 && `${counted(refused.length, "file is", "files are")} refused`,
    exhausted > 0 && `${counted(exhausted, "account has", "accounts have")} used up the month's quota`,
  ].filter((problem) => problem !== false);
  return problems.length === 0
    ? html`<p class="health good" role="status">All is well. <span class="quiet">${facts}</span></p>`
    : html`<p class="health warn" role="status">Serving; ${problems.join(", and ")}. <span class="quiet">${facts}</span></p>`;
}

function Page() {
  const { samples, state, isGone } = useStream();
  const last = samples.at(-1);
  const failed = last ? rateOf(last, /^5/) : 0;
  return html`<header class="top">
      <span class="name">Console</span><span class="about">Healthcare Charge Query Service</span>
      <nav aria-label="More"><a href="/metrics">Metrics</a><a href="/readyz">Ready?</a></nav>
    </header>
    <main id="main">
      <h1 class="unseen">Console</h1>
      <${Health} state=${state} isGone=${isGone} />
      <div class="four">
        <${Figure} name="requests per second" value=${last ? whole(Math.round(rateOf(last, /./))) : "–"} />
        <${Figure} name=${last?.p99 == null ? "no request in the last second" : "99 % of requests take the server less"} value=${micros(last?.p99 ?? null)} />
        <${Figure} name="refused per second, by a ceiling" value=${last ? whole(Math.round(last.refused)) : "–"} />
        <${Figure} name=${`memory${last ? `, ${whole(last.connections)} connections` : ""}`} value=${last ? mebibytes(last.memory) : "–"} />
      </div>
      ${failed > 0 && html`<p class="health bad" role="alert">${failed} requests per second fail by the server's fault (5xx): see the log.</p>`}
      <div class="pair">
        <${Lines} title="Requests per second" samples=${samples} isLogarithmic=${false} series=${[
          { name: "2xx and 3xx", colour: "--charge", value: (sample: Sample) => rateOf(sample, /^[23]/) },
          { name: "4xx", colour: "--warn", value: (sample: Sample) => rateOf(sample, /^4(?!29)/) },
          { name: "429", colour: "--ink", value: (sample: Sample) => rateOf(sample, /^429/) },
          { name: "5xx", colour: "--bad", value: (sample: Sample) => rateOf(sample, /^5/) },
        ]} text=${(value: number) => whole(Math.round(value))} />
        <${Lines} title="Time for a request" samples=${samples} isLogarithmic=${true} series=${[
          { name: "median", colour: "--charge", value: (sample: Sample) => sample.p50 },
          { name: "90 %", colour: "--warn", value: (sample: Sample) => sample.p90 },
          { name: "99 %", colour: "--bad", value: (sample: Sample) => sample.p99 },
        ]} text=${micros} />
      </div>
      <${Traffic} samples=${samples} />
      ${state && html`<${Refused} state=${state} /><${Versions} state=${state} /><${Accounts} state=${state} /><${Events} state=${state} />`}
    </main>`;
}

render(html`<${Page} />`, document.querySelector("#app")!);
