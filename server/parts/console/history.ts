import { bucketBounds, type Traffic, type TrafficSnapshot } from "../../shared/traffic.ts";
import { keptMinutes, keptSeconds, merged, percentile, type Sample } from "./browser/sample.ts";

/** Keeps one sample of the traffic per second for ten minutes, and one per minute for a day. */

const minuteSeconds = 60;

interface Now {
  connections: number;
  memory: number;
}

/** Returns each account's refused requests since the start. Accounts without any may be left out. */
type RefusedBy = () => ReadonlyMap<string, number>;

const mostRefused = 10;

export class History {
  readonly #traffic: Pick<Traffic, "snapshot">;
  readonly #now: () => Now;
  readonly #refusedBy: RefusedBy;
  /** One sample per second, oldest first. */
  readonly samples: Sample[] = [];
  /** Samples that merge 60 samples each, oldest first. */
  readonly minutes: Sample[] = [];
  #taken = 0;
  #before: TrafficSnapshot;
  #refusedBefore: ReadonlyMap<string, number>;
  #beforeMs: number;

  /** @param steadyMs milliseconds of a clock that never jumps */
  constructor(traffic: Pick<Traffic, "snapshot">, now: () => Now, refusedBy: RefusedBy, steadyMs: number) {
    this.#traffic = traffic;
    this.#now = now;
    this.#refusedBy = refusedBy;
    this.#before = traffic.snapshot();
    this.#refusedBefore = refusedBy();
    this.#beforeMs = steadyMs;
  }

  /** Takes a sample of the traffic since the last call. Call this every second. */
  take(steadyMs: number, unixMs: number): Sample {
    const after = this.#traffic.snapshot();
    const seconds = Math.max(0.001, (steadyMs - this.#beforeMs) / 1000);
    const rate = (count: number) => Math.round((count / seconds) * 10) / 10;
    const requests: Record<string, number> = {};
    const buckets = new Array<number>(bucketBounds.length + 1).fill(0);
    let bytes = 0;
    const before = new Map(
      this.#before.answers.map((answers) => [`${answers.route} ${answers.status}`, answers]),
    );
    for (const answers of after.answers) {
      const name = `${answers.route} ${answers.status}`;
      const known = before.get(name);
      const count = answers.requests - (known?.requests ?? 0);
      if (count === 0) continue;
      requests[name] = rate(count);
      bytes += answers.bytes - (known?.bytes ?? 0);
      for (const [i, total] of answers.buckets.entries()) buckets[i] += total - (known?.buckets[i] ?? 0);
    }
    const sum = (counts: Record<string, number>) => Object.values(counts).reduce((a, b) => a + b, 0);
    const times = buckets
      .map((count, i): [number, number] => [boundOf(i), count])
      .filter(([, count]) => count > 0);
    const refused = sum(after.refused) - sum(this.#before.refused);
    // There may be a million accounts, so they are read only after a refusal.
    const refusedBy = refused === 0 ? this.#refusedBefore : this.#refusedBy();
    const refusedNow = [...refusedBy]
      .map(([name, count]): [string, number] => [name, rate(count - (this.#refusedBefore.get(name) ?? 0))])
      .filter(([, each]) => each > 0)
      .sort(([, a], [, b]) => b - a)
      .slice(0, mostRefused);
    const sample = {
      at: Math.round(unixMs / 1000),
      seconds,
      requests,
      times,
      ...{ p50: percentile(times, 0.5), p90: percentile(times, 0.9), p99: percentile(times, 0.99) },
      refused: rate(refused),
      overRate: rate(after.refused.burst - this.#before.refused.burst),
      overQuota: rate(after.refused.quota - this.#before.refused.quota),
      unauthorized: rate(sum(after.unauthorized) - sum(this.#before.unauthorized)),
      bytes: rate(bytes),
      refusedBy: Object.fromEntries(refusedNow),
      ...this.#now(),
    };
    this.samples.push(sample);
    if (this.samples.length > keptSeconds) this.samples.shift();
    if (++this.#taken % minuteSeconds === 0) {
      this.minutes.push(merged(this.samples.slice(-minuteSeconds)));
      if (this.minutes.length > keptMinutes) this.minutes.shift();
    }
    this.#before = after;
    this.#refusedBefore = refusedBy;
    this.#beforeMs = steadyMs;
    return sample;
  }
}

/** Returns a bucket's upper bound in microseconds. For the last bucket, which has none, it is twice the highest bound. */
const boundOf = (bucket: number) => 1e6 * (bucketBounds[bucket] ?? 2 * bucketBounds[bucketBounds.length - 1]);
