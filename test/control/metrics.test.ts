import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import { generateKey } from "../../server/accounts/keys.ts";
import { channels } from "../../server/shared/channels.ts";
import { metricsText } from "../support/metrics-text.ts";
import {
  call,
  createKey,
  pricesPath,
  requestText,
  startServer,
  temporaryFolder,
  withConnections,
} from "../support/server.ts";

/** Tests the values of `/metrics` after a known sequence of requests. */

const stateDir = temporaryFolder();
const keys = {
  burst: createKey(stateDir, "burst", { burst: 1, quota: 1000 }),
  quota: createKey(stateDir, "quota", { burst: 1000, quota: 1 }),
};
const server = await startServer({ stateDir, env: { THREADS: "2", ACCESS_LOG: "1000" } });
after(() => server.stop());

async function metricsOf({ ops }: { ops: string }): Promise<Map<string, number>> {
  const text = await metricsText(ops);
  const samples = [...text.matchAll(/^([a-z_]+(?:\{.*\})?) (\S+)$/gm)];
  return new Map(samples.map(([, name, value]) => [name, Number(value)]));
}

const [requests, times] = ["hcqs_http_requests_total", "hcqs_http_request_duration_seconds"];

test("what the threads ask themselves before they listen isn't counted or logged", async () => {
  const metrics = await metricsOf(server);
  const grown = [...metrics].filter(([name, value]) => /^hcqs_(http|limit|unauth)/.test(name) && value > 0);
  assert.deepEqual(grown, []);
  assert.doesNotMatch(server.process.stderr, /"msg":"request"/);
});

test("each series that an alert's labels name is there before its first event", async () => {
  const rules = readFileSync(path.join(import.meta.dirname, "../../server/monitoring/alerts.yaml"), "utf8");
  const metrics = await metricsOf(server);
  const named = [...rules.matchAll(/(hcqs_\w+)\{(\w+)=(~?)"([^"]+)"\}/g)];
  assert.ok(named.length > 3);
  for (const [all, name, label, tilde, value] of named) {
    const form = new RegExp(`^${name}\\{(.*,)?${label}="${value}"`);
    const found = [...metrics.keys()].filter((series) => form.test(series));
    assert.notEqual(found.length, 0, all);
    if (tilde === "") continue;
    // Every status that the expression means, of every route.
    for (const status of ["500", "503"])
      assert.ok(metrics.has(`${requests}{route="${pricesPath}",status="${status}"}`), status);
  }
});

test("requests are counted by route and status, and each is timed", async () => {
  const asked: [
    request: string,
    route: string,
    status: number,
    headers?: Record<string, string | undefined>,
  ][] = [
    [`GET ${pricesPath}?procedure=5072`, pricesPath, 200],
    [`HEAD ${pricesPath}?procedure=5072`, pricesPath, 200],
    [`GET ${pricesPath}`, pricesPath, 400],
    [`POST ${pricesPath}`, pricesPath, 405],
    [`GET ${pricesPath}?procedure=5072`, pricesPath, 401, { Authorization: undefined }],
    [`GET ${pricesPath}?procedure=5072`, pricesPath, 401, { Authorization: "Bearer x" }],
    ["GET /api/v1/versions/2024/search?q=hosp", "/api/v1/versions/{version}/search", 200],
    ["GET /api/v1/versions/1999/search?q=hosp", "/api/v1/versions/{version}/search", 404],
    ["GET /api/v1/healthcare/facilities/000001", "/api/v1/healthcare/facilities/{ccn}", 200],
    ["GET /api/v1/pages/x", "/api/v1/pages/{cursor}", 400],
    ["GET /api/v1/export.csv", "/api/v1/export.csv", 200],
    ["GET /api/v1/export.parquet", "/api/v1/export.parquet", 206, { Range: "bytes=0-9" }],
    ["GET /api/v1/nothing", "unknown", 404],
  ];
  const before = await metricsOf(server);
  let bytes = 0;
  for (const [request, , status, headers] of asked) {
    const answer = await call(server, request, headers);
    assert.equal(answer.status, status, request);
    if (!request.startsWith("HEAD")) bytes += answer.body.length;
  }
  const after = await metricsOf(server);
  const grownBy = (name: string) => (after.get(name) ?? 0) - (before.get(name) ?? 0);
  const counts = new Map<string, number>();
  for (const [, route, status] of asked) {
    const labels = `{route="${route}",status="${status}"}`;
    counts.set(labels, (counts.get(labels) ?? 0) + 1);
  }
  for (const [labels, count] of counts) {
    assert.equal(grownBy(requests + labels), count, labels);
    assert.equal(grownBy(`${times}_count${labels}`), count, labels);
    assert.equal(grownBy(`${times}_bucket{le="+Inf",${labels.slice(1)}`), count, labels);
    assert.ok(grownBy(`${times}_sum${labels}`) > 0);
  }
  const sum = (of: RegExp) =>
    [...after.keys()].filter((name) => of.test(name)).reduce((total, name) => total + grownBy(name), 0);
  assert.equal(sum(/^hcqs_http_requests_total\{/), asked.length);
  assert.equal(sum(/^hcqs_http_response_bytes_total\{/), bytes);
});

test("requests over a limit are counted by limit, and unauthorized ones by reason", async () => {
  const statuses = (key: string) =>
    withConnections(server, 1, async ([connection]) => {
      const text = requestText("GET /api/v1/usage", { Authorization: `Bearer ${key}` });
      // Sends the three requests in the same segment, so that no time passes between them.
      await connection.send(text.repeat(3));
      return [await connection.answer(), await connection.answer(), await connection.answer()]
        .map(({ status }) => status)
        .join();
    });
  const before = await metricsOf(server);
  assert.equal(await statuses(keys.burst), "200,429,429");
  assert.equal(await statuses(keys.quota), "200,429,429");
  assert.equal((await server.keys("revoke", "1")).code, 0);
  const faulty = [undefined, "Basic x", "Bearer x", `Bearer ${generateKey()}`, `Bearer ${keys.burst}`];
  for (const Authorization of faulty)
    assert.equal((await call(server, "GET /api/v1/usage", { Authorization })).status, 401);
  const metrics = await metricsOf(server);
  const grown = [...metrics]
    .filter(([name]) => /^hcqs_(limit_refusals|unauthorized)_total/.test(name))
    .map(([name, value]) => [name, value - (before.get(name) ?? 0)]);
  assert.deepEqual(grown, [
    ['hcqs_limit_refusals_total{ceiling="burst"}', 2],
    ['hcqs_limit_refusals_total{ceiling="quota"}', 2],
    ['hcqs_limit_refusals_total{ceiling="clock"}', 0],
    ['hcqs_limit_refusals_total{ceiling="address"}', 0],
    ['hcqs_unauthorized_total{reason="missing"}', 2],
    ['hcqs_unauthorized_total{reason="malformed"}', 1],
    ['hcqs_unauthorized_total{reason="unknown"}', 1],
    ['hcqs_unauthorized_total{reason="inactive"}', 1],
  ]);
});

test("metrics show the version and the age of the state, and no label names an account or key", async () => {
  const metrics = await metricsOf(server);
  const packageFile = path.resolve(import.meta.dirname, "../../package.json");
  const { version } = JSON.parse(readFileSync(packageFile, "utf8"));
  assert.equal(metrics.get(`hcqs_build_info{version="${version}",node="${process.versions.node}"}`), 1);
  for (const age of ["hcqs_state_saved_age_seconds", "hcqs_snapshot_loaded_age_seconds"]) {
    const seconds = metrics.get(age);
    assert.ok(seconds !== undefined && seconds >= 0 && seconds < 3600, `${age} ${seconds}`);
  }
  for (const channel of channels) {
    assert.equal(metrics.get(`hcqs_${channel}_oldest_pending_seconds`), 0);
    for (const outcome of ["delivered", "retry", "failed"])
      assert.equal(metrics.get(`hcqs_${channel}_deliveries_total{outcome="${outcome}"}`), 0);
  }
  const labels = [...metrics.keys()]
    .filter((name) => name.startsWith("hcqs_"))
    .flatMap((name) => [...name.matchAll(/(\w+)="/g)].map(([, label]) => label));
  const expected = [
    "ceiling",
    "change",
    "le",
    "node",
    "outcome",
    "reason",
    "route",
    "status",
    "version",
    "work",
  ];
  assert.deepEqual([...new Set(labels)].sort(), expected);
});
