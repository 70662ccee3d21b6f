/** Describes samples of the traffic, and merges samples into a sample of a longer time. */

/** Maximum one-second samples that the server and the page keep. */
export const keptSeconds = 600;
export const keptMinutes = 1440;

/** The traffic of about a second or a minute, or of a longer time if samples were merged. Rates are per second. */
export interface Sample {
  /** End of the sample, in Unix seconds. */
  at: number;
  seconds: number;
  /** Requests per second. Keys are `<route> <status>`. */
  requests: Record<string, number>;
  /**
   * Estimated numbers of requests by the bucket of their time, ordered by bound. A bucket has times from half its bound
   * to its bound, in microseconds. The first also has shorter times, the last also longer ones. Empty buckets are left out.
   */
  times: [bound: number, requests: number][];
  /** The median in microseconds, computed from `times`. Like `p90` and `p99`, it is null if no request was timed. */
  p50: number | null;
  p90: number | null;
  p99: number | null;
  /** Refused requests (429) per second. */
  refused: number;
  /** Requests per second that were refused by an account's limit per second. */
  overRate: number;
  /** Requests per second that were refused by a month's quota. */
  overQuota: number;
  /** Refused requests per second by account, for the accounts with the most. */
  refusedBy: Record<string, number>;
  unauthorized: number;
  bytes: number;
  connections: number;
  memory: number;
}

/**
 * Computes a percentile. Interpolates on a logarithmic scale between a bound and its half.
 * @param share the percentile, from 0 to 1
 * @returns microseconds; null if there were no timed requests
 */
export function percentile(times: Sample["times"], share: number): number | null {
  const all = times.reduce((sum, [, requests]) => sum + requests, 0);
  if (all <= 0) return null;
  let rest = share * all;
  for (const [bound, requests] of times) {
    if (requests > 0 && rest <= requests) return Math.round(10 * (bound / 2) * 2 ** (rest / requests)) / 10;
    rest -= requests;
  }
  return times[times.length - 1][0];
}

function pooled(samples: readonly Sample[]): Sample["times"] {
  const counts = new Map<number, number>();
  for (const { times } of samples)
    for (const [bound, requests] of times) counts.set(bound, (counts.get(bound) ?? 0) + requests);
  return [...counts].sort(([a], [b]) => a - b);
}

/**
 * Returns the samples of the last `seconds`. For more than `keptSeconds`, returns samples of minutes, followed by samples
 * of the seconds after the last minute.
 */
export function samplesOf(seconds: number, samples: readonly Sample[], minutes: readonly Sample[]): Sample[] {
  const begin = (samples.at(-1)?.at ?? 0) - seconds;
  const whole = seconds <= keptSeconds ? [] : minutes.filter(({ at }) => at > begin);
  const rest = Math.max(begin, whole.at(-1)?.at ?? 0);
  return [...whole, ...samples.filter(({ at }) => at > rest)];
}

/** Merges samples into one sample for each step, such as ten seconds. Steps begin at round times of the clock. */
export const inSteps = (samples: readonly Sample[], seconds: number): Sample[] =>
  [...Map.groupBy(samples, ({ at }) => Math.ceil(at / seconds)).values()].map(merged);

/**
 * Merges one or more samples. The result has the means of rates, percentiles of all samples' times, and the maxima of
 * connections and memory.
 */
export function merged(samples: readonly Sample[]): Sample {
  const seconds = samples.reduce((sum, one) => sum + one.seconds, 0);
  // The rate must be exact enough for a single request in a day.
  const rounded = (sum: number) => Math.round((sum / seconds) * 1e6) / 1e6;
  const meanByName = (of: (sample: Sample) => Record<string, number>) => {
    const sums: Record<string, number> = {};
    for (const sample of samples)
      for (const [name, rate] of Object.entries(of(sample)))
        sums[name] = (sums[name] ?? 0) + rate * sample.seconds;
    for (const [name, sum] of Object.entries(sums)) sums[name] = rounded(sum);
    return sums;
  };
  const mean = (of: (sample: Sample) => number) =>
    rounded(samples.reduce((sum, one) => sum + of(one) * one.seconds, 0));
  const highest = (of: (sample: Sample) => number) => Math.max(...samples.map(of));
  const times = pooled(samples);
  return {
    at: samples[samples.length - 1].at,
    seconds,
    requests: meanByName(({ requests }) => requests),
    refusedBy: meanByName(({ refusedBy }) => refusedBy),
    times,
    ...{ p50: percentile(times, 0.5), p90: percentile(times, 0.9), p99: percentile(times, 0.99) },
    refused: mean(({ refused }) => refused),
    overRate: mean(({ overRate }) => overRate),
    overQuota: mean(({ overQuota }) => overQuota),
    unauthorized: mean(({ unauthorized }) => unauthorized),
    bytes: mean(({ bytes }) => bytes),
    connections: highest(({ connections }) => connections),
    memory: highest(({ memory }) => memory),
  };
}
