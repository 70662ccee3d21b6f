import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { counted, percent, whole } from "../../../../shared/browser/format.ts";
import { html } from "../../../../shared/browser/html.ts";
import type { State } from "../../state.ts";
import { Attention, leastRefusedShare } from "../attention.ts";
import { Lines } from "../lines.ts";
import { inSteps, keptMinutes, keptSeconds, merged, type Sample, samplesOf } from "../sample.ts";
import { Accounts, Events, Refused, Versions } from "../tables.ts";
import { Traffic } from "../traffic.ts";

/** Reads the server's stream, and shows the server's state, its traffic and what needs attention. */

/** Requests count as slow if their 99th percentile is at least this many microseconds. */
const leastSlow = 250_000;
const stream: string = JSON.parse(document.querySelector("#settings")?.textContent ?? "{}").stream;

interface Seen {
  samples: Sample[];
  minutes: Sample[];
  state: State | undefined;
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
    const add = (event: string, name: "samples" | "minutes", kept: number) =>
      source.addEventListener(event, ({ data }) =>
        setSeen((before) => ({ ...before, [name]: [...before[name], JSON.parse(data)].slice(-kept) })),
      );
    add("sample", "samples", keptSeconds);
    add("minute", "minutes", keptMinutes);
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
}

function Figure({ name, value, level = "" }: FigureProps) {
  return html`<div class=${`card figure ${level}`}>
    <div class="value">${value}</div><div class="quiet">${name}</div>
  </div>`;
}

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

function shareOf(sample: Sample | undefined, of: (sample: Sample) => number): number | null {
  const all = sample === undefined ? 0 : rateOf(sample, /./);
  return sample === undefined || all === 0 ? null : of(sample) / all;
}

/** The periods that can be shown, with their length and the length of a step in the charts, both in seconds. */
const spans = {
  "10 minutes": { seconds: keptSeconds, step: 10 },
  "an hour": { seconds: 3600, step: 60 },
  "a day": { seconds: 60 * keptMinutes, step: 1200 },
};
type Span = keyof typeof spans;

function Page() {
  const { samples, minutes, state, isGone } = useStream();
  const [span, setSpan] = useState<Span>("10 minutes");
  const { seconds, step } = spans[span];
  const within = samplesOf(seconds, samples, minutes);
  const steps = inSteps(within, step);
  const now = within.length === 0 ? undefined : merged(within);
  const refusedOf = ({ refused }: Sample) => refused;
  const unauthorizedOf = ({ unauthorized }: Sample) => unauthorized;
  const countsOf = (rates: Readonly<Record<string, number>> = {}) =>
    Object.fromEntries(Object.entries(rates).map(([name, rate]) => [name, rate * (now?.seconds ?? 0)]));
  const refusedBy = countsOf(now?.refusedBy);
  const refusedShare = shareOf(now, refusedOf);
  const isSlow = (now?.p99 ?? 0) >= leastSlow;
  const { connections = 0 } = now ?? {};
  return html`<header class="top">
      <span class="name">Console</span><span class="about">Healthcare Charge Query Service</span>
      <nav aria-label="More"><a href="/metrics">Metrics</a><a href="/readyz">Readiness</a></nav>
    </header>
    <main id="main">
      <h1 class="unseen">Console</h1>
      <${Health} state=${state} isGone=${isGone} />
      <p class="spans" role="group" aria-label="Time to show">${Object.keys(spans).map(
        (each) =>
          html`<button type="button" class="plain" aria-pressed=${each === span} onClick=${() => setSpan(each as Span)}>${each}</button>`,
      )}</p>
      <div class="four">
        <${Figure} name="requests per second" value=${now ? perSecond(rateOf(now, /./)) : "–"} />
        <${Figure} name="99% of requests take less" level=${isSlow ? "warn" : ""} value=${micros(now?.p99 ?? null)} />
        <${Figure} name="of requests are over a rate or quota (429)" level=${(refusedShare ?? 0) >= leastRefusedShare ? "warn" : ""} value=${refusedShare === null ? "–" : percent(100 * refusedShare)} />
        <${Figure} name=${`memory, ${counted(connections, "connection", "connections")}`} value=${now ? mebibytes(now.memory) : "–"} />
      </div>
      ${!state && html`<p class="attention quiet" aria-hidden="true">${"\u00a0"}</p>`}
      ${state && html`<${Attention} state=${state} range=${span} refusedShare=${refusedShare ?? 0} overRateShare=${shareOf(now, ({ overRate }) => overRate) ?? 0} overQuotaShare=${shareOf(now, ({ overQuota }) => overQuota) ?? 0} unauthorizedShare=${shareOf(now, unauthorizedOf) ?? 0} answers=${countsOf(now?.requests)} refusedBy=${refusedBy} failedShare=${shareOf(now, (sample) => rateOf(sample, /^5/)) ?? 0} slow=${isSlow ? micros(now?.p99 ?? null) : undefined} />`}
      <div class="pair">
        <${Lines} title="Requests per second" samples=${steps} now=${now} range=${span} seconds=${seconds} isLogarithmic=${false} series=${[
          {
            name: "2xx, 3xx",
            colour: "--charge",
            width: 2,
            value: (sample: Sample) => rateOf(sample, /^[23]/),
          },
          {
            name: "other 4xx",
            colour: "--grey",
            width: 1.5,
            dash: "6 3",
            value: (sample: Sample) => rateOf(sample, /^4(?!29)/),
          },
          {
            name: "429",
            colour: "--allowed",
            width: 3,
            dash: "1 5",
            value: (sample: Sample) => rateOf(sample, /^429/),
          },
          {
            name: "5xx",
            colour: "--bad",
            width: 2.5,
            dash: "8 3 2 3",
            value: (sample: Sample) => rateOf(sample, /^5/),
          },
        ]} text=${perSecond} />
        <${Lines} title="Time for a request" samples=${steps} now=${now} range=${span} seconds=${seconds} isLogarithmic=${true} series=${[
          { name: "median", colour: "--ink", width: 3.5, value: (sample: Sample) => sample.p50 },
          { name: "90%", colour: "--grey", width: 2, value: (sample: Sample) => sample.p90 },
          { name: "99%", colour: "--ink", width: 1.25, dash: "5 3", value: (sample: Sample) => sample.p99 },
        ]} text=${micros} />
      </div>
      ${state && html`<${Refused} state=${state} />`}
      <${Traffic} now=${now} range=${span} />
      ${state && html`<${Accounts} state=${state} range=${span} refusedBy=${refusedBy} /><${Events} state=${state} /><${Versions} state=${state} />`}
    </main>`;
}

render(html`<${Page} />`, document.querySelector("#app")!);
