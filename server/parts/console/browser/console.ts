import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { counted, percent, whole } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import type { Sample } from "../history.ts";
import type { State } from "../state.ts";
import { Attention } from "./attention.ts";
import { Lines } from "./lines.ts";
import { Sparkline } from "./sparkline.ts";
import { Accounts, Events, Refused, Versions } from "./tables.ts";
import { Traffic } from "./traffic.ts";

/** Starts the console: reads the server's stream and shows whether the server is up, and what needs attention. */

const keptSeconds = 600;
const keptMinutes = 1440;
/** Number of samples over which the large figures are averaged. */
const figureSeconds = 10;
const stream: string = JSON.parse(document.querySelector("#settings")?.textContent ?? "{}").stream;

interface Seen {
  samples: Sample[];
  minutes: Sample[];
  state: State | undefined;
  /** Whether connecting has failed. */
  isGone: boolean;
}

function useStream(): Seen {
  const [seen, setSeen] = useState<Seen>({ samples: [], minutes: [], state: undefined, isGone: false });
  useEffect(() => {
    const source = new EventSource(stream);
    const change = (changes: Partial<Seen>) => setSeen((before) => ({ ...before, ...changes }));
    source.addEventListener("open", () => change({ isGone: false }));
    source.addEventListener("error", () => {
      change({ isGone: true });
      // The browser reconnects by itself, unless the server answered with an error.
      if (source.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), 10_000);
    });
    source.addEventListener("history", ({ data }) => change(JSON.parse(data)));
    source.addEventListener("state", ({ data }) => change({ state: JSON.parse(data) }));
    source.addEventListener("sample", ({ data }) =>
      setSeen((before) => ({
        ...before,
        samples: [...before.samples, JSON.parse(data)].slice(-keptSeconds),
      })),
    );
    source.addEventListener("minute", ({ data }) =>
      setSeen((before) => ({
        ...before,
        minutes: [...before.minutes, JSON.parse(data)].slice(-keptMinutes),
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

const short = (value: number) => String(value < 10 ? Number(value.toFixed(1)) : Math.round(value));
const micros = (us: number | null) => {
  if (us === null) return "–";
  if (us < 1000) return `${short(us)} µs`;
  return us < 1e6 ? `${short(us / 1000)} ms` : `${short(us / 1e6)} s`;
};
const mebibytes = (bytes: number) => `${whole(Math.round(bytes / 2 ** 20))} MiB`;
const perSecond = (rate: number) => (rate > 0 && rate < 10 ? rate.toFixed(1) : whole(Math.round(rate)));

interface FigureProps {
  name: string;
  value: string;
  level?: string;
  samples: readonly Sample[];
  of: (sample: Sample) => number | null;
}

function Figure({ name, value, level = "", samples, of }: FigureProps) {
  return html`<div class=${`card figure ${level}`}>
    <div class="value">${value}</div><div class="quiet">${name}</div><${Sparkline} values=${samples.map(of)} />
  </div>`;
}

/** Shows whether the server is up. */
function Health({ state, isGone }: Pick<Seen, "state" | "isGone">) {
  if (isGone) return html`<p class="health bad" role="status">The server can't be reached; trying again…</p>`;
  if (!state) return html`<p class="health quiet" role="status">…</p>`;
  const { server } = state;
  if (server.fault !== null) return html`<p class="health bad" role="status">${server.fault}</p>`;
  if (!server.ready) return html`<p class="health bad" role="status">Not ready</p>`;
  const since = `${new Date(server.started_at).toLocaleString()} (your time)`;
  const facts = `${counted(server.threads, "serving thread", "serving threads")}, Node ${server.node}, since ${since}`;
  return html`<p class="health good" role="status">Up <span class="quiet">${facts}</span></p>`;
}

/** Figures over the last seconds. */
function lately(samples: readonly Sample[]) {
  const last = samples.slice(-figureSeconds);
  const sum = (of: (sample: Sample) => number) => last.reduce((total, sample) => total + of(sample), 0);
  const requests = sum((sample) => rateOf(sample, /./));
  const times = last.flatMap(({ p99 }) => p99 ?? []);
  return {
    rate: last.length === 0 ? null : requests / last.length,
    refusedShare: requests === 0 ? null : sum(({ refused }) => refused) / requests,
    failedShare: requests === 0 ? 0 : sum((sample) => rateOf(sample, /^5/)) / requests,
    p99: times.length === 0 ? null : Math.max(...times),
    memory: last.at(-1)?.memory ?? null,
    connections: last.at(-1)?.connections ?? 0,
  };
}

const spans = { "10 minutes": 0, "an hour": 60, "a day": keptMinutes };
type Span = keyof typeof spans;

function Page() {
  const { samples, minutes, state, isGone } = useStream();
  const [span, setSpan] = useState<Span>("10 minutes");
  const now = lately(samples);
  const refused = (sample: Sample) => (100 * sample.refused) / Math.max(rateOf(sample, /./), 1e-9);
  const drawn = spans[span] === 0 ? samples : minutes.slice(-spans[span]);
  const isRefusing = (now.refusedShare ?? 0) >= 0.01;
  return html`<header class="top">
      <span class="name">Console</span><span class="about">Healthcare Charge Query Service</span>
      <nav aria-label="More"><a href="/metrics">Metrics</a><a href="/readyz">Ready?</a></nav>
    </header>
    <main id="main">
      <h1 class="unseen">Console</h1>
      <${Health} state=${state} isGone=${isGone} />
      <div class="four">
        <${Figure} name="requests per second" value=${now.rate === null ? "–" : perSecond(now.rate)} samples=${samples} of=${(sample: Sample) => rateOf(sample, /./)} />
        <${Figure} name="99 % of requests take less" value=${micros(now.p99)} samples=${samples} of=${({ p99 }: Sample) => p99} />
        <${Figure} name="of requests are over a rate or quota (429)" level=${isRefusing ? "warn" : ""} value=${now.refusedShare === null ? "–" : percent(100 * now.refusedShare)} samples=${samples} of=${refused} />
        <${Figure} name=${`memory, ${counted(now.connections, "connection", "connections")}`} value=${now.memory === null ? "–" : mebibytes(now.memory)} samples=${samples} of=${({ memory }: Sample) => memory} />
      </div>
      ${state && html`<${Attention} state=${state} refusedShare=${now.refusedShare ?? 0} failedShare=${now.failedShare} />`}
      <p class="spans" role="group" aria-label="Time to show">${Object.keys(spans).map(
        (each) =>
          html`<button type="button" class="plain" aria-pressed=${each === span} onClick=${() => setSpan(each as Span)}>${each}</button>`,
      )}</p>
      <div class="pair">
        <${Lines} title="Requests per second" samples=${drawn} isLogarithmic=${false} series=${[
          { name: "2xx and 3xx", colour: "--charge", value: (sample: Sample) => rateOf(sample, /^[23]/) },
          { name: "4xx", colour: "--grey", value: (sample: Sample) => rateOf(sample, /^4(?!29)/) },
          { name: "429", colour: "--allowed", value: (sample: Sample) => rateOf(sample, /^429/) },
          { name: "5xx", colour: "--bad", value: (sample: Sample) => rateOf(sample, /^5/) },
        ]} text=${perSecond} />
        <${Lines} title="Time for a request" samples=${drawn} isLogarithmic=${true} series=${[
          { name: "median", colour: "--charge", value: (sample: Sample) => sample.p50 },
          { name: "90 %", colour: "--grey", value: (sample: Sample) => sample.p90 },
          { name: "99 %", colour: "--allowed", value: (sample: Sample) => sample.p99 },
        ]} text=${micros} />
      </div>
      ${state && html`<${Refused} state=${state} />`}
      <${Traffic} samples=${samples} />
      ${state && html`<${Accounts} state=${state} /><${Events} state=${state} /><${Versions} state=${state} />`}
    </main>`;
}

render(html`<${Page} />`, document.querySelector("#app")!);
