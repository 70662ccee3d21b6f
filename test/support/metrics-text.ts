import { until } from "./connection.ts";

/**
 * The text at `/metrics` of a server's operator listener. A 408, which a request on a very busy machine may get, is
 * tried again.
 */
export function metricsText(ops: string): Promise<string> {
  return until("the metrics", async () => {
    const response = await fetch(`${ops}/metrics`);
    return response.ok && response.text();
  });
}
