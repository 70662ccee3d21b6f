import { readFileSync } from "node:fs";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { type Connections, maxWaitingBytes } from "./connections.ts";
import {
  bucketBounds,
  busyStride,
  maxTimedEach,
  type Times,
  type Traffic,
  type TrafficSnapshot,
} from "./traffic.ts";

const packageFile = new URL("../../package.json", import.meta.url);

/** Gauges to remove, because promtool rejects gauges whose names end in `_total`. Other gauges count the same by type. */
const miscalledGauges = [
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
  "nodejs_active_resources_total",
];

interface Sources {
  connections: Connections;
  traffic: Traffic;
  /** Seconds since the state was last saved. */
  stateAge(): number;
  /** Seconds since the current data version was loaded. */
  snapshotAge(): number;
}

export class Metrics {
  readonly registry = new Registry();
  readonly snapshotsRefused = this.counter(
    "hcqs_snapshots_refused_total",
    "Snapshot files refused. A file counts again when it is replaced or touched",
  );
  readonly snapshotsUnreadable = this.#gauge(
    "hcqs_snapshots_unreadable",
    "Snapshot files that can't be read or loaded now because of a system error. The server retries them",
  );
  readonly snapshotsLost = this.#gauge(
    "hcqs_snapshots_lost",
    "Data versions that were served before and can't be now, though their files are there",
  );
  readonly snapshotChanges = this.counter(
    "hcqs_snapshot_changes_total",
    "Data versions published or retired since the start",
    "change",
  );
  readonly snapshotRows = this.#gauge("hcqs_snapshot_rows", "Rows of each data version served", "version");
  readonly logLinesDropped = this.counter(
    "hcqs_log_lines_dropped_total",
    "Lines of the log or stdout that were dropped, because nobody read them or the disk was full",
  );

  #traffic: Traffic | undefined;
  /** The sums for the scrape in progress. Summing is expensive, so it is done once per scrape. */
  #counted: TrafficSnapshot | undefined;

  constructor() {
    collectDefaultMetrics({ register: this.registry });
    for (const name of miscalledGauges) this.registry.removeSingleMetric(name);
    const { version } = JSON.parse(readFileSync(packageFile, "utf8"));
    const build = this.#gauge("hcqs_build_info", "Always 1; what runs", "version", "node");
    build.set({ version, node: process.versions.node }, 1);
  }

  counter<Label extends string = never>(name: string, help: string, ...labelNames: Label[]): Counter<Label> {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }

  histogram(name: string, help: string, buckets: number[]): Histogram {
    return new Histogram({ name, help, buckets, registers: [this.registry] });
  }

  #gauge<Label extends string = never>(name: string, help: string, ...labelNames: Label[]): Gauge<Label> {
    return new Gauge({ name, help, labelNames, registers: [this.registry] });
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  async text(): Promise<string> {
    const counted = this.#traffic?.snapshot();
    this.#counted = counted;
    const text = await this.registry.metrics();
    return counted === undefined ? text : `${text}\n${timesText(counted)}`;
  }

  /** Adds a gauge that is read at each scrape; NaN if reading fails. */
  gauge(name: string, help: string, value: () => number): void {
    new Gauge({
      name,
      help,
      registers: [this.registry],
      collect() {
        this.set(orNaN(value));
      },
    });
  }

  watch({ connections, traffic, stateAge, snapshotAge }: Sources): void {
    this.#traffic = traffic;
    this.gauge("hcqs_open_connections", "Open client connections", () => connections.open);
    this.gauge(
      "hcqs_max_connections",
      "Maximum number of open client connections, from the process's limit of open files",
      () => connections.max,
    );
    this.gauge(
      "hcqs_waiting_response_bytes",
      "Bytes of responses held for clients that read slowly. A body that several clients wait for counts once",
      () => connections.waitingBytes,
    );
    this.gauge(
      "hcqs_max_waiting_response_bytes",
      "Maximum of hcqs_waiting_response_bytes. Beyond a thread's equal share of it, connections are closed",
      () => maxWaitingBytes,
    );
    this.gauge("hcqs_state_saved_age_seconds", "Seconds since counts and events were last saved", stateAge);
    this.gauge(
      "hcqs_snapshot_loaded_age_seconds",
      "Seconds since the current data version was loaded",
      snapshotAge,
    );
    const counter = <Label extends string>(
      name: string,
      help: string,
      labelNames: Label[],
      counts: (counted: TrafficSnapshot) => [labels: Partial<Record<Label, string>>, count: number][],
    ) => {
      const collect = () => {
        made.reset();
        for (const [labels, count] of this.#counted === undefined ? [] : counts(this.#counted))
          made.inc(labels, count);
      };
      const made: Counter<Label> = new Counter({
        name,
        help,
        labelNames,
        registers: [this.registry],
        collect,
      });
    };
    const refusals = "Connections closed at once because too many were open";
    counter("hcqs_connections_refused_total", refusals, [], () => [[{}, connections.refused]]);
    const cuts = "Connections closed because too many bytes waited for slow clients";
    counter("hcqs_slow_connections_closed_total", cuts, [], () => [[{}, connections.cut]]);
    counter("hcqs_http_requests_total", "Requests answered", ["route", "status"], ({ answers }) =>
      answers.map(({ route, status, requests }) => [{ route, status }, requests]),
    );
    counter(
      "hcqs_http_response_bytes_total",
      "Bytes of response bodies as sent, after any compression",
      ["route"],
      ({ answers }) => answers.map(({ route, bytes }) => [{ route }, bytes]),
    );
    counter(
      "hcqs_limit_refusals_total",
      "Requests answered with 429, by ceiling. clock: the server's clock was changed, and the month's usage wasn't loaded yet. address: an address has used its share of the pages' key",
      ["ceiling"],
      ({ refused }) => Object.entries(refused).map(([ceiling, count]) => [{ ceiling }, count]),
    );
    counter(
      "hcqs_unauthorized_total",
      "Requests answered with 401, by reason. inactive: the key is revoked or expired, or its account is suspended or deleted",
      ["reason"],
      ({ unauthorized }) => Object.entries(unauthorized).map(([reason, count]) => [{ reason }, count]),
    );
  }
}

function orNaN(value: () => number): number {
  try {
    return value();
  } catch {
    return Number.NaN;
  }
}

/** Writes the histograms of times in Prometheus' format, because the library can't fill a histogram from buckets. */
function timesText({ answers, works }: TrafficSnapshot): string {
  const [durations, work] = ["hcqs_http_request_duration_seconds", "hcqs_thread_work_seconds"];
  return [
    `# HELP ${durations} Time from when a thread takes up a request until its response is handed to the network. For a file: until its first piece is. For a POST: from the end of its body. ` +
      `Each thread times the first ${maxTimedEach.toLocaleString("en-US")} requests of a second, and then one in ${busyStride} at random, which counts ${busyStride} times`,
    `# TYPE ${durations} histogram`,
    ...answers.flatMap(({ route, status, ...times }) =>
      histogramLines(durations, `route="${route}",status="${status}"`, times),
    ),
    `# HELP ${work} Time of each piece of a serving thread's work besides answering, during which requests wait. file: a further part of a file; publication: a step of taking over published data versions`,
    `# TYPE ${work} histogram`,
    ...Object.entries(works).flatMap(([name, times]) => histogramLines(work, `work="${name}"`, times)),
    "",
  ].join("\n");
}

function histogramLines(name: string, labels: string, { buckets, seconds }: Times): string[] {
  let count = 0;
  const lines = buckets.map((timed, i) => {
    count += timed;
    return `${name}_bucket{le="${bucketBounds[i] ?? "+Inf"}",${labels}} ${count}`;
  });
  return count === 0
    ? []
    : [...lines, `${name}_sum{${labels}} ${seconds}`, `${name}_count{${labels}} ${count}`];
}
