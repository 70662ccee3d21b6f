import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { after, test } from "node:test";
import { parse } from "yaml";
import { channels } from "../../server/shared/channels.ts";
import { Connections } from "../../server/shared/connections.ts";
import { Metrics } from "../../server/shared/metrics.ts";
import { Traffic } from "../../server/shared/traffic.ts";
import { freePort } from "../support/connection.ts";
import { metricsText } from "../support/metrics-text.ts";
import { call, createKey, pricesPath, startServer, temporaryFolder, until } from "../support/server.ts";

/** Tests the dashboard's queries and the alert rules with a real Prometheus. */

const monitoring = resolve(import.meta.dirname, "../../server/monitoring");
const rulesFile = join(monitoring, "alerts.yaml");
const configFile = join(monitoring, "prometheus.yaml");
const testsFile = join(monitoring, "alerts.test.yaml");

interface Panel {
  type: string;
  title: string;
  targets?: { expr: string }[];
}
const { panels }: { panels: Panel[] } = JSON.parse(readFileSync(join(monitoring, "dashboard.json"), "utf8"));

interface Rules {
  groups: { rules: { alert: string; annotations: { runbook: string } }[] }[];
}
interface AlertTests {
  tests: {
    name: string;
    alert_rule_test: { alertname: string; exp_alerts: { exp_annotations: { runbook?: string } }[] }[];
  }[];
}

const queries = panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => ({
    title,
    query: expr.replaceAll("$instance", ".*").replaceAll("$__rate_interval", "1m"),
  })),
);

const stateDir = temporaryFolder();
const spent = createKey(stateDir, "spent", { burst: 1000, quota: 1 });
const server = await startServer({ stateDir, env: { THREADS: "2" } });
const { prometheus, base } = await startPrometheus(new URL(server.ops).host);
after(async () => {
  prometheus.kill();
  await server.stop();
});

/** Starts Prometheus with the repository's configuration. It scrapes the target each second. */
async function startPrometheus(target: string): Promise<{ prometheus: ChildProcess; base: string }> {
  const folder = temporaryFolder();
  const config = join(folder, "prometheus.yaml");
  copyFileSync(rulesFile, join(folder, "alerts.yaml"));
  writeFileSync(
    config,
    `global: { evaluation_interval: 1s }\n${readFileSync(configFile, "utf8")
      .replace("scrape_interval: 15s", "scrape_interval: 1s")
      .replace('127.0.0.1:9090"]', `${target}"]`)}`,
  );
  const port = await freePort();
  const child = spawn(
    "prometheus",
    [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: "ignore" },
  );
  process.once("exit", () => child.kill("SIGKILL"));
  return { prometheus: child, base: `http://127.0.0.1:${port}` };
}

async function ask<Data>(path: string): Promise<Data | undefined> {
  const response = await fetch(base + path).catch(() => undefined);
  if (response === undefined || response.status === 503) return undefined;
  const { status, data, error } = (await response.json()) as { status: string; data: Data; error?: string };
  assert.equal(status, "success", `${path}: ${error}`);
  return data;
}

async function load(): Promise<void> {
  await call(server, `GET ${pricesPath}?procedure=5072`);
  await call(server, "GET /api/v1/search?q=hosp");
  await call(server, "GET /api/v1/nothing");
  await call(server, "GET /api/v1/usage", { Authorization: undefined });
  await call(server, "GET /api/v1/usage", { Authorization: `Bearer ${spent}` });
}

test("the alert rules are valid, each has a runbook and a test, and the tests pass", () => {
  const rules: Rules = parse(readFileSync(rulesFile, "utf8"));
  const runbooks = new Map(
    rules.groups
      .flatMap((group) => group.rules)
      .map(({ alert, annotations }) => [alert, annotations.runbook]),
  );
  assert.ok(runbooks.size > 0);
  for (const [alert, runbook] of runbooks) assert.ok(runbook.length >= 20, alert);
  const tests: AlertTests = parse(readFileSync(testsFile, "utf8"));
  const named = new Set(tests.tests.map(({ name }) => name));
  assert.deepEqual(
    [...runbooks.keys()].filter((alert) => !named.has(alert)),
    [],
  );
  for (const { alertname, exp_alerts } of tests.tests.flatMap((rows) => rows.alert_rule_test))
    for (const expected of exp_alerts) expected.exp_annotations.runbook = runbooks.get(alertname) ?? "";
  // JSON is YAML, too.
  const filledIn = join(temporaryFolder(), "alerts.test.yaml");
  writeFileSync(filledIn, JSON.stringify({ ...tests, rule_files: [rulesFile] }));
  execFileSync("promtool", ["check", "rules", rulesFile], { stdio: "pipe" });
  execFileSync("promtool", ["test", "rules", filledIn], { stdio: "pipe" });
});

test("every dashboard panel shows data for a server with traffic", async () => {
  assert.ok(queries.length > 20);
  for (const { title, query } of queries)
    await until(`${title}: ${query}`, async () => {
      await load();
      const found = await ask<{ result: { value: [number, string] }[] }>(
        `/api/v1/query?query=${encodeURIComponent(query)}`,
      );
      return found?.result.some(({ value: [, value] }) => Number.isFinite(Number(value)));
    });
});

test("the metrics are well formed, and no alert fires on a healthy server", async () => {
  checkMetrics(await metricsText(server.ops));
  const groups = await until("the rules to be evaluated", async () => {
    const found = await ask<{ groups: { rules: { name: string; health: string; state: string }[] }[] }>(
      "/api/v1/rules",
    );
    return (
      found?.groups.every(({ rules }) => rules.every(({ health }) => health !== "unknown")) && found.groups
    );
  });
  const rules = groups.flatMap(({ rules }) => rules);
  assert.ok(rules.length > 0);
  for (const { name, health, state } of rules)
    assert.deepEqual([name, health, state], [name, "ok", "inactive"]);
});

test("promtool accepts all metrics, including those of several servers and every channel", async () => {
  const metrics = new Metrics();
  metrics.watch({
    connections: new Connections(10),
    traffic: new Traffic(["unknown"], 1),
    ...{ stateAge: () => 0, snapshotAge: () => 0 },
  });
  // Adds the metrics of parts, with the names and the help in their source files.
  const parts = join(monitoring, "../parts");
  const sources = readdirSync(parts, { recursive: true, encoding: "utf8" });
  for (const source of sources.filter((name) => name.endsWith(".ts")))
    for (const [, kind, name, help] of readFileSync(join(parts, source), "utf8").matchAll(
      /metrics\.(gauge|counter|histogram)\(\s*["`]([^"`]*)["`],\s*["`]([^"`]*)["`]/g,
    ))
      for (const channel of name.includes("$") ? channels : [""]) {
        const [ownName, ownHelp] = [name, help].map((text) => text.replace(/\$\{channel\}/, channel));
        if (kind === "counter") metrics.counter(ownName, ownHelp);
        else if (kind === "histogram") metrics.histogram(ownName, ownHelp, [1]);
        else metrics.gauge(ownName, ownHelp, () => 0);
      }
  const text = await metrics.text();
  for (const [, name] of readFileSync(join(monitoring, "../README.md"), "utf8").matchAll(/`(hcqs_\w+)[`{]/g))
    assert.match(text, new RegExp(`^# TYPE ${name} `, "m"));
  checkMetrics(text);
});

test("Prometheus accepts the configuration, and the alert rules and dashboard use its job name", () => {
  execFileSync("promtool", ["check", "config", configFile], { stdio: "pipe" });
  const jobs = [...readFileSync(configFile, "utf8").matchAll(/job_name: (\S+)$/gm)].map(([, job]) => job);
  assert.deepEqual(jobs, ["hcqs"]);
  const asked = [rulesFile, join(monitoring, "dashboard.json")].flatMap((file) =>
    Array.from(readFileSync(file, "utf8").matchAll(/job=\\?"([^"\\]*)/g), ([, job]) => job),
  );
  assert.ok(asked.length > 0);
  assert.deepEqual(new Set(asked), new Set(jobs));
});

/** promtool reports faults on stderr and by its exit code. */
function checkMetrics(text: string): void {
  const { status, stderr } = spawnSync("promtool", ["check", "metrics"], { input: text, encoding: "utf8" });
  assert.deepEqual([status, stderr], [0, ""]);
}
