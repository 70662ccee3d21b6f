/** Describes samples of the traffic, and merges samples into a sample of a longer time. */

/** Number of one-second samples from which the figures, the legends and a route's current rate are computed. */
export const figureSeconds = 10;
/** Number of one-second samples that the server and the page keep. */
export const keptSeconds = 600;
/** Number of one-minute samples that the server and the page keep. */
export const keptMinutes = 1440;

/** The traffic of about one second or minute. Rates are per second. */
export interface Sample {
  /** End of the sample, in Unix seconds. */
  at: number;
  /** Answers per second, by `<route> <status>`. */
  requests: Record<string, number>;
  /** Median time per request in microseconds; null without requests. */
  p50: number | null;
  /** The 90th percentile of the time per request in microseconds; null without requests. */
  p90: number | null;
  /** The 99th percentile of the time per request in microseconds; null without requests. */
  p99: number | null;
  /** Requests per second that a ceiling refused. */
  refused: number;
  unauthorized: number;
  bytes: number;
  connections: number;
  memory: number;
}

/** Merges samples: the mean of rates, and the maximum of times and levels. */
export function merged(samples: readonly Sample[]): Sample {
  const requests: Record<string, number> = {};
  for (const sample of samples)
    for (const [name, rate] of Object.entries(sample.requests)) requests[name] = (requests[name] ?? 0) + rate;
  const rounded = (sum: number) => Math.round((sum / samples.length) * 100) / 100;
  for (const [name, sum] of Object.entries(requests)) requests[name] = rounded(sum);
  const mean = (of: (sample: Sample) => number) => rounded(samples.reduce((sum, one) => sum + of(one), 0));
  const highest = (of: (sample: Sample) => number | null) => {
    const values = samples.map(of).filter((value) => value !== null);
    return values.length === 0 ? null : Math.max(...values);
  };
  return {
    at: samples[samples.length - 1].at,
    requests,
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
