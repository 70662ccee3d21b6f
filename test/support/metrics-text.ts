import assert from "node:assert/strict";
import { until } from "./connection.ts";

/**
 * The text at `/metrics` of a server's operator listener. A 408, which a request on a very busy machine may get, is
 * tried again.
 */
export function metricsText(ops: string): Promise<string> {
  return until("the metrics", async () => {
    const response = await fetch(`${ops}/metrics`);
    const text = await response.text();
    assert.ok(response.ok || response.status === 408, `${response.status}: ${text}`);
    return response.ok && text;
  });
}
