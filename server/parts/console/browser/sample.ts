/** Describes samples of the traffic, and merges samples into a sample of a longer time. */

/** The server and the page keep so many one-second samples. */
export const keptSeconds = 600;
export const keptMinutes = 1440;

/** The traffic of about one second or minute. Rates are per second. */
export interface Sample {
  /** End of the sample, in Unix seconds. */
  at: number;
  /** Keys are `<route> <status>`. */
  requests: Record<string, number>;
  /** Microseconds per request; null without requests, like `p90` and `p99`. */
  p50: number | null;
  p90: number | null;
  p99: number | null;
  /** Requests that a ceiling refused. */
  refused: number;
  /** The refused requests by account: the accounts with the most. */
  refusedBy: Record<string, number>;
  unauthorized: number;
  bytes: number;
  connections: number;
  memory: number;
}

/** Computes the mean of rates, and the maximum of times and levels. */
export function merged(samples: readonly Sample[]): Sample {
  const rounded = (sum: number) => Math.round((sum / samples.length) * 100) / 100;
  const meanByName = (of: (sample: Sample) => Record<string, number>) => {
    const sums: Record<string, number> = {};
    for (const sample of samples)
      for (const [name, rate] of Object.entries(of(sample))) sums[name] = (sums[name] ?? 0) + rate;
    for (const [name, sum] of Object.entries(sums)) sums[name] = rounded(sum);
    return sums;
  };
  const mean = (of: (sample: Sample) => number) => rounded(samples.reduce((sum, one) => sum + of(one), 0));
  const highest = (of: (sample: Sample) => number | null) => {
    const values = samples.map(of).filter((value) => value !== null);
    return values.length === 0 ? null : Math.max(...values);
  };
  return {
    at: samples[samples.length - 1].at,
    requests: meanByName(({ requests }) => requests),
    refusedBy: meanByName(({ refusedBy }) => refusedBy),
    p50: highest(({ p50 }) => p50),
    p90: highest(({ p90 }) => p90),
    p99: highest(({ p99 }) => p99),
    refused: mean(({ refused }) => refused),
    unauthorized: mean(({ unauthorized }) => unauthorized),
    bytes: mean(({ bytes }) => bytes),
    connections: highest(({ connections }) => connections) ?? 0,
    memory: highest(({ memory }) => memory) ?? 0,
  };
}
