import assert from "node:assert/strict";
import { until } from "./connection.ts";

/** A very busy machine may answer 408. Then the request is repeated. */
export function metricsText(ops: string): Promise<string> {
  return until("the metrics", async () => {
    const response = await fetch(`${ops}/metrics`);
    const text = await response.text();
    assert.ok(response.ok || response.status === 408, `${response.status}: ${text}`);
    return response.ok && text;
  });
}
