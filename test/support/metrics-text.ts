import assert from "node:assert/strict";
import { until } from "./connection.ts";

/**
 * Fetches `/metrics` from a server's operator listener. Repeats a request that gets 408, which can happen on a very
 * busy machine.
 */
export function metricsText(ops: string): Promise<string> {
  return until("the metrics", async () => {
    const response = await fetch(`${ops}/metrics`);
    const text = await response.text();
    assert.ok(response.ok || response.status === 408, `${response.status}: ${text}`);
    return response.ok && text;
  });
}
