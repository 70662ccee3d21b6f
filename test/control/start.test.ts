import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type TestContext, test } from "node:test";
import { checkSnapshots, loadData } from "../../server/control/data.ts";
import { listenOps, opsServer } from "../../server/control/ops.ts";
import { closers, log } from "../../server/control/running.ts";
import { Health, openState } from "../../server/control/state.ts";
import { http } from "../../server/shared/runtime.ts";
import { readSettings, type Settings } from "../../server/shared/settings.ts";
import { Connection, requestText } from "../support/connection.ts";
import { documentAt } from "../support/readme.ts";
import { temporaryFolder } from "../support/server.ts";

/** Tests steps of a start: which data it needs, where the operator's listener is, and what signals do. */

function settingsOf(environment: Record<string, string>): Settings {
  const settings = readSettings(environment);
  assert.ok(!Array.isArray(settings));
  return settings;
}

/** Runs the shutdown steps that the test has registered. */
function endAfter(t: TestContext): void {
  const before = closers.length;
  t.after(async () => {
    for (const close of closers.splice(before).toReversed()) await close();
  });
}

test("a start needs a snapshot in DATASETS_DIR, unless that is the default folder, where it writes a sample", () => {
  const folder = temporaryFolder();
  const given = settingsOf({ DATASETS_DIR: folder });
  assert.throws(() => checkSnapshots(given), {
    name: "DataError",
    message: `DATASETS_DIR ${folder}: found no snapshots, expected at least one <year>.<revision>.parquet: hcqs fetch, hcqs import and hcqs sample write them`,
  });
  checkSnapshots({ ...given, isDefaultDatasetsDir: true });
  assert.equal(settingsOf({}).isDefaultDatasetsDir, true);
  writeFileSync(path.join(folder, "2024.1.parquet"), "");
  checkSnapshots(given);
});

test("a start tries all files if the known ones can't be served, and fails if none can", async (t) => {
  endAfter(t);
  const refused: unknown[] = [];
  t.mock.method(log, "error", ({ file }: { file: string }) => refused.push(file));
  t.mock.method(log, "warn", () => {});
  const folder = temporaryFolder();
  const settings = settingsOf({ DATASETS_DIR: folder, STATE_DIR: temporaryFolder() });
  const state = openState(settings, false);
  state.store.versions.serve("2023.1", "a", "b", new Date(0));
  // Folders are refused before a loader is begun.
  for (const name of ["2024.1", "2023.1", "other"]) mkdirSync(path.join(folder, `${name}.parquet`));
  await assert.rejects(
    loadData(settings, state, new Health(), () => assert.fail("nothing is published")),
    { message: `DATASETS_DIR ${folder}: found no snapshot that can be loaded, expected at least one` },
  );
  assert.deepEqual(
    refused.slice(0, 2),
    ["2023.1.parquet", undefined],
    "first the known one, and that it is lost",
  );
  assert.deepEqual(refused.slice(2), ["2024.1.parquet", "other.parquet"]);
});

test("the operator's listener says where it is, answers as the server's health is, and closes at the end", async (t) => {
  endAfter(t);
  const health = new Health();
  const operator = await listenOps(settingsOf({ OPS_PORT: "0" }), health);
  assert.ok(operator.port > 0 && operator.pages === undefined);
  const ask = async (path: string) => {
    const connection = await Connection.open(`http://127.0.0.1:${operator.port}`);
    await connection.send(requestText(`GET ${path}`, { Connection: "close" }));
    const { status, body } = await connection.answer();
    return [status, String(body)];
  };
  assert.deepEqual(await ask("/livez"), [200, "ok\n"]);
  assert.deepEqual(await ask("/"), [503, "starting\n"]);
  health.lostVersions = () => ["2023.1"];
  assert.deepEqual(await ask("/readyz?a"), [
    503,
    "not ready\ndata version 2023.1 isn't served, though it was before and its file is there\n",
  ]);
  health.isReady = true;
  health.lostVersions = () => [];
  assert.deepEqual(await ask("/readyz"), [200, "ready\n"]);
  operator.pages = {
    file: () => undefined,
    streamPath: "/stream",
    stream: (response) => response.end("streamed"),
  };
  assert.deepEqual(await ask("/nothing"), [404, "not found: there are /, /livez, /readyz and /metrics\n"]);
  assert.deepEqual(await ask("/stream"), [200, "streamed"]);
  const again = settingsOf({ OPS_PORT: String(operator.port) });
  await assert.rejects(listenOps(again, health), {
    message: new RegExp(`^can't listen on 127\\.0\\.0\\.1 port ${operator.port} \\(ops\\): .*already in use`),
  });
});

test("a client that is slow to ask, or doesn't ask again, holds one of 128 connections for seconds only", (t) => {
  const { mock } = t.mock.method(http, "createServer");
  const server = opsServer({
    ...{ isReady: () => true, lostVersions: () => [], pages: () => undefined, allowedHosts: [] },
    metrics: { text: async () => "", contentType: "" },
  });
  assert.equal(server.maxConnections, 128);
  assert.deepEqual(mock.calls[0].arguments[0], {
    ...{ headersTimeout: 2000, requestTimeout: 2000, keepAliveTimeout: 5000 },
    connectionsCheckingInterval: 500,
  });
});

test("each signal does what server/README.md says: some stop the server, and most do nothing", async (t) => {
  const handlers = new Map<string, () => void>();
  const on = process.on.bind(process);
  t.mock.method(process, "on", (event: string, handler: () => void) =>
    event.startsWith("SIG") ? handlers.set(event, handler) : on(event, handler),
  );
  const { onSignal } = await import("../../server/control/signals.ts");
  const stopped: string[] = [];
  t.mock.method(process, "exit", (code: number) => stopped.push(`exit ${code}`));
  const [stopping, ignored] = [/^\| (SIGTERM.*?) \| stops/m, /^\| (SIGHUP.*?) \| nothing/m].map((row) =>
    (row.exec(documentAt("server/README.md"))?.[1] ?? "").split(", "),
  );
  // These end no process that has no handler for them, or Node ignores them.
  const harmless = ["SIGPIPE", "SIGXFSZ", "SIGCHLD", "SIGURG", "SIGWINCH", "SIGCONT"];
  assert.deepEqual(
    [...handlers.keys()].toSorted(),
    [...stopping, ...ignored.filter((signal) => !harmless.includes(signal))].toSorted(),
  );
  for (const signal of ignored) handlers.get(signal)?.();
  assert.equal(stopped.length, 0);
  handlers.get("SIGTERM")?.();
  assert.equal(stopped.join(), "exit 0", "before the server can stop in order");
  onSignal.stop = (signal) => stopped.push(signal);
  for (const signal of stopping) handlers.get(signal)?.();
  assert.deepEqual(stopped.slice(1), stopping);
});
