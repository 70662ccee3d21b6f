import { until } from "./connection.ts";

/**
 * What a server's operator listener says at `/metrics`. On a machine so busy that a request waits for seconds it is told
 * 408, as one that never comes whole: then again.
 */
export function metricsText(ops: string): Promise<string> {
  return until("the metrics", async () => {
    const response = await fetch(`${ops}/metrics`);
    return response.ok && response.text();
  });
}
