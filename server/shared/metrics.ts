import { Counter, collectDefaultMetrics, Gauge, Registry } from "prom-client";
import type { Connections } from "./connections.ts";

/** What the operator's `/metrics` shows, in Prometheus' text format. */

export class Metrics {
  readonly registry = new Registry();
  readonly snapshotsRefused = new Counter({
    name: "hcqs_snapshots_refused_total",
    help: "Snapshot files that were refused, a file once per content",
    registers: [this.registry],
  });
  readonly snapshotsUnreadable = new Gauge({
    name: "hcqs_snapshots_unreadable",
    help: "Snapshot files that the system doesn't let the server read or load now; they are tried again",
    registers: [this.registry],
  });
  readonly snapshotChanges = new Counter({
    name: "hcqs_snapshot_changes_total",
    help: "Data versions published or retired since the start",
    labelNames: ["change"] as const,
    registers: [this.registry],
  });
  readonly snapshotRows = new Gauge({
    name: "hcqs_snapshot_rows",
    help: "Rows of each data version served",
    labelNames: ["version"] as const,
    registers: [this.registry],
  });
  readonly requestsFailed = new Counter({
    name: "hcqs_requests_failed_total",
    help: "Requests answered with a 500",
    registers: [this.registry],
  });
  readonly webhookTries = new Counter({
    name: "hcqs_webhook_tries_total",
    help: "Tries to post an event: delivered, to be tried again, or failed for good",
    labelNames: ["outcome"] as const,
    registers: [this.registry],
  });
  readonly emailTries = new Counter({
    name: "hcqs_email_tries_total",
    help: "Tries to mail an event: delivered to the SMTP server, to be tried again, or failed for good",
    labelNames: ["outcome"] as const,
    registers: [this.registry],
  });
  readonly logLinesDropped = new Counter({
    name: "hcqs_log_lines_dropped_total",
    help: "Lines of the log or of stdout that were lost: nobody read them, or the disk was full",
    registers: [this.registry],
  });

  constructor() {
    collectDefaultMetrics({ register: this.registry });
  }

  /** Shows clients' connections from now on. */
  watch(connections: Connections): void {
    const gauge = (name: string, help: string, value: () => number) =>
      new Gauge({
        name,
        help,
        registers: [this.registry],
        collect() {
          this.set(value());
        },
      });
    gauge("hcqs_open_connections", "Clients' connections that are open", () => connections.open);
    gauge(
      "hcqs_max_connections",
      "Clients' connections that may be open, by the files that the process may open",
      () => connections.max,
    );
    new Counter({
      name: "hcqs_connections_refused_total",
      help: "Connections closed at once because too many were open",
      registers: [this.registry],
      collect() {
        this.reset();
        this.inc(connections.refused);
      },
    });
  }
}
