import assert from "node:assert/strict";
import { test } from "node:test";
import { Connections } from "../../server/shared/connections.ts";
import { Metrics } from "../../server/shared/metrics.ts";
import { ThreadTraffic, Traffic } from "../../server/shared/traffic.ts";
import { assertApproved } from "../support/approved.ts";

/** Tests the text of the metrics, apart from those of Node's own. */

test("the text has each metric with its help, type, labels and value", async () => {
  const metrics = new Metrics();
  const connections = new Connections(100);
  const traffic = new Traffic(["/a"], 1);
  let nowMs = 0;
  const thread = new ThreadTraffic(traffic.buffers[0], () => nowMs);
  const begun = thread.begin();
  nowMs = 3;
  thread.answered(0, 200, 120, begun);
  thread.refused("burst", 0);
  thread.unauthorized("unknown");
  connections.enter();
  connections.wait(77);
  connections.cutSlow();
  metrics.watch({
    ...{ connections, traffic },
    stateAge: () => 12,
    snapshotAge: () => {
      throw new Error("there is none");
    },
  });
  metrics.snapshotsRefused.inc();
  metrics.snapshotChanges.inc({ change: "published" });
  metrics.snapshotRows.set({ version: "2024.1" }, 5);
  metrics.snapshotsUnreadable.set(2);
  metrics.snapshotsLost.set(3);
  metrics.logLinesDropped.inc(4);
  metrics.histogram("hcqs_waits", "Waits", [0.1, 1]).observe(0.5);
  const text = await metrics.text();
  const own = text.split("\n").filter((line) => /^(# (HELP|TYPE) )?hcqs_/.test(line) && !/ 0$/.test(line));
  assertApproved("metrics.txt", `${own.join("\n").replace(/version="[^"]*",node="[^"]*"/, "…")}\n`);
  assert.match(text, /^nodejs_eventloop_lag_seconds /m);
  // promtool rejects gauges whose names end in `_total`.
  const gauges = [...text.matchAll(/^# TYPE (\S+) gauge$/gm)].map(([, name]) => name);
  assert.deepEqual(
    gauges.filter((name) => name.endsWith("_total")),
    [],
  );
  assert.match(metrics.contentType, /^text\/plain; version=0\.0\.4/);
});
