import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import path from "node:path";
import { test } from "node:test";
import * as v from "valibot";
import { type Snapshot, versionName } from "../../engine/index.ts";
import { datasetsResponse } from "../../server/api/responses.ts";
import { isoTime } from "../../server/shared/time.ts";
import { registryOf } from "../../server/store/registry.ts";
import { Store } from "../../server/store/store.ts";
import {
  Connection,
  call,
  currentOnly,
  datasetsFolder,
  listening,
  pricesPath,
  ready,
  requestText,
  spawnServer,
  startServer,
  type TestServer,
  temporaryFolder,
  versionSnapshot,
  versions,
} from "../support/server.ts";
import { preloaded } from "../support/stopping.ts";

/** Tests how a server starts and ends: its data, its ready line, its faults. */

const datasetsDir = datasetsFolder(currentOnly);
const newest = path.join(datasetsDir, "2024.3.parquet");
const snapshot = readFileSync(path.join(datasetsFolder(["2023.1"]), "2023.1.parquet"));

function stateSavedAt(ms: number): string {
  const folder = temporaryFolder();
  const store = Store.open(folder);
  store.progress.noteSaved(new Date(ms));
  store.close();
  return folder;
}

function stateThatServed(...snapshots: Snapshot[]): string {
  const folder = temporaryFolder();
  const store = Store.open(folder);
  for (const { provenance, sha256, contentSha256 } of snapshots)
    store.versions.serve(versionName(provenance), sha256, contentSha256, new Date(0));
  store.close();
  return folder;
}

/** The start must fail. @returns the server's stderr */
async function refusal(env: Record<string, string>, stateDir = temporaryFolder()): Promise<string> {
  const { code, stdout, stderr } = await spawnServer({ stateDir, env }).finished();
  assert.equal(code, 1, stderr);
  assert.equal(stdout, "");
  return stderr;
}

test("a DATASETS_DIR without snapshots is refused", async () => {
  const [empty, stateDir] = [temporaryFolder(), temporaryFolder()];
  assert.equal(
    await refusal({ DATASETS_DIR: empty }, stateDir),
    `DATASETS_DIR ${empty}: found no snapshots, expected at least one <year>.<revision>.parquet: hcqs fetch, hcqs import and hcqs sample write them\n`,
  );
  assert.deepEqual(
    [readdirSync(empty), readdirSync(stateDir)],
    [[], []],
    "neither a sample nor a state is made",
  );
});

const damaged = snapshot.subarray(0, snapshot.length - 10);

test("a DATASETS_DIR with only a damaged snapshot is refused", async () => {
  const folder = temporaryFolder();
  writeFileSync(path.join(folder, "2024.1.parquet"), damaged);
  const lines = (await refusal({ DATASETS_DIR: folder })).trim().split("\n");
  assert.match(lines.at(-2) ?? "", /"file":"2024\.1\.parquet".*"msg":"snapshot refused"/);
  assert.equal(
    lines.at(-1),
    `DATASETS_DIR ${folder}: found no snapshot that can be loaded, expected at least one`,
  );
});

test("a start loads files again that changed while they were loaded, before the server is ready", async () => {
  // The first two loads of 2024.1 read a file that is replaced meanwhile. A start tries at least three times.
  const preload = `
    import { copyFileSync, renameSync } from "node:fs";
    import promises from "node:fs/promises";
    import { syncBuiltinESMExports } from "node:module";
    const { open } = promises;
    let left = 2;
    promises.open = async (file, ...rest) => {
      const handle = await open(file, ...rest);
      if (String(file).endsWith("2024.1.parquet") && left-- > 0) {
        copyFileSync(file, file + ".new");
        renameSync(file + ".new", file);
      }
      return handle;
    };
    syncBuiltinESMExports();`;
  const versions = ["2024.1", "2023.1"];
  const server = await startServer({ datasetsDir: datasetsFolder(versions), env: preloaded(preload) });
  const { data } = v.parse(datasetsResponse, (await call(server, "GET /api/v1/datasets")).json());
  assert.deepEqual(
    data.map(({ data_version }) => data_version),
    versions,
  );
  assert.match(server.process.stderr, /"reason":"it changes while it is loaded"/);
  await server.stop();
});

/** Makes opening a file with this name never end. */
const openingNeverEnds = (name: string) =>
  preloaded(`
    import promises from "node:fs/promises";
    import { syncBuiltinESMExports } from "node:module";
    const { open } = promises;
    promises.open = (file, ...rest) =>
      String(file).endsWith("/${name}") ? new Promise(() => {}) : open(file, ...rest);
    syncBuiltinESMExports();`);

async function answers(server: Pick<TestServer, "api" | "key">, versions: readonly string[]): Promise<void> {
  for (const version of versions) {
    const path = `/api/v1/versions/${version}/healthcare/prices?procedure=5073`;
    assert.equal((await call(server, `GET ${path}`)).status, 200, version);
  }
}

test("beside known versions, new and wrong files never hold up a start, and each known version answers at once", async () => {
  const folder = datasetsFolder();
  const stateDir = stateThatServed(...versions.map(versionSnapshot));
  const [wrong, unending] = [100, "2099.1.parquet"];
  for (let i = 1; i <= wrong; i++) writeFileSync(path.join(folder, `2098.${i}.parquet`), damaged);
  writeFileSync(path.join(folder, unending), snapshot);
  const server = await startServer({ datasetsDir: folder, stateDir, env: openingNeverEnds(unending) });
  await answers(server, versions);
  assert.doesNotMatch(server.process.stderr, /"msg":"snapshot refused"/);
  await server.stop();
});

test("a known version that is refused doesn't end a start beside others, and a start without any ends with 1", async () => {
  const folder = temporaryFolder();
  const stateDir = stateThatServed(versionSnapshot("2023.1"));
  writeFileSync(path.join(folder, "2023.1.parquet"), damaged);
  writeFileSync(path.join(folder, "2022.1.parquet"), damaged);
  const lines = await refusal({ DATASETS_DIR: folder }, stateDir);
  assert.match(lines, /found no snapshot that can be loaded/);
  for (const version of ["2023.1", "2022.1"])
    assert.match(lines, new RegExp(`"file":"${version}\\.parquet".*"msg":"snapshot refused"`));
  writeFileSync(path.join(folder, "2024.3.parquet"), readFileSync(newest));
  const server = await startServer({ datasetsDir: folder, stateDir });
  await answers(server, ["2024.3"]);
  await server.stop();
});

for (const name of ["PORT", "OPS_PORT"])
  test(`a ${name} that another process listens on is refused`, async () => {
    const other = createServer();
    const port = String(await listening(other));
    const stateDir = temporaryFolder();
    const lines = await refusal({ DATASETS_DIR: datasetsDir, [name]: port }, stateDir);
    other.close();
    assert.deepEqual(readdirSync(stateDir), [], "no state is made");
    const last = lines.trim().split("\n").at(-1);
    assert.match(last ?? "", new RegExp(`^can't listen on 127\\.0\\.0\\.1 port ${port}.*EADDRINUSE`));
  });

test("a start in which one serving thread fails registers no data version", async () => {
  // The first serving thread makes the folder, so making it fails in the second serving thread.
  const first = JSON.stringify(path.join(temporaryFolder(), "first"));
  const preload = `
    import { mkdirSync } from "node:fs";
    import { isMainThread, workerData } from "node:worker_threads";
    if (!isMainThread && workerData?.gate !== undefined)
      try { mkdirSync(${first}); } catch { throw new Error("no memory"); }`;
  const stateDir = temporaryFolder();
  const env = { DATASETS_DIR: datasetsDir, THREADS: "2", ...preloaded(preload) };
  const lines = await refusal(env, stateDir);
  assert.equal(lines.trim().split("\n").at(-1), "a serving thread can't start: no memory");
  assert.deepEqual(registryOf({ STATE_DIR: stateDir }), []);
});

test("stdout has only the ready line, and the log warns about an old state", async () => {
  const savedMs = Date.now() - 3 * 3_600_000 - 60_000;
  const stateDir = stateSavedAt(savedMs);
  const server = await startServer({ datasetsDir, stateDir });
  assert.match(
    server.process.stdout,
    /^ready http:\/\/127\.0\.0\.1:[1-9]\d* ops http:\/\/127\.0\.0\.1:[1-9]\d*\n$/,
  );
  assert.notEqual(server.api, server.ops);
  for (const [target, status] of [
    ["/livez", 200],
    ["/readyz", 200],
    ["/readyz?verbose", 200],
    ["/", 200],
    ["/nothing", 404],
    [pricesPath, 404],
  ] as const)
    assert.equal((await fetch(server.ops + target)).status, status, target);
  assert.equal((await call(server, "GET /livez")).status, 404, "the API has none of these");

  const idle = await Connection.open(server.api);
  await idle.send(requestText(`GET ${pricesPath}`));
  assert.equal((await idle.answer()).status, 401);
  assert.equal(await server.stop(), 0);
  assert.equal((await idle.rest()).length, 0);
  await assert.rejects(Connection.open(server.api), /ECONNREFUSED/);

  const lines = server.process.stderr
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  for (const { level, time } of lines) {
    assert.match(level, /^(info|warn)$/);
    assert.equal(time, new Date(time).toISOString());
  }
  const messages = lines.map(({ msg }) => msg);
  assert.ok(messages.includes("stopped") && !messages.includes("request"), messages.join());
  const { level, saved, hours, msg } = lines.find((line) => "hours" in line);
  assert.deepEqual([level, saved, hours], ["warn", isoTime(savedMs), 3]);
  assert.match(msg, /If it was restored from a backup: .* valid again, so revoke them$/);
  const store = Store.open(stateDir);
  assert.ok((store.progress.savedAt() ?? 0) > savedMs, "its end counts as well");
  store.close();
});

test("a server listens on HOST and OPS_HOST and creates no account if STATE_DIR is set", async () => {
  const stateDir = temporaryFolder();
  const env = { HOST: "::1", OPS_HOST: "localhost" };
  const server = spawnServer({ datasetsDir, stateDir, env });
  const { api } = await ready(server);
  assert.match(server.stdout, /^ready http:\/\/\[::1\]:\d+ ops http:\/\/localhost:\d+\n$/);
  assert.equal((await fetch(api + pricesPath)).status, 401);
  server.signal("SIGINT");
  const { code, stdout, stderr } = await server.finished();
  assert.equal(code, 0);
  assert.doesNotMatch(stdout + stderr, /hcq_|demo/);
  // The log has to say that the state is new, because an operator may have mistyped STATE_DIR.
  assert.match(stderr, /"msg":"made a new state: without accounts, and without a registry of data versions"/);
});
