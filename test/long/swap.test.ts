import assert from "node:assert/strict";
import { appendFileSync, mkdirSync, renameSync, unlinkSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import * as v from "valibot";
import { encodeSnapshot } from "../../engine/index.ts";
import { datasetsResponse } from "../../server/api/responses.ts";
import { monthName, monthOf } from "../../server/shared/months.ts";
import { Store } from "../../server/store/store.ts";
import { snapshotAs } from "../support/fixtures.ts";
import {
  ample,
  Connection,
  call,
  type Finished,
  getStuck,
  pricesPath,
  requestText,
  spawnServer,
  startServer,
  type TestServer,
  temporaryFolder,
  until,
} from "../support/server.ts";

/** Tests a running server: added and removed snapshot files, a second server on its state, and its end. */

const query = "?procedure=5072";
/** The pause between requests beside a swap. The long trials ask without a pause. */
const pauseMs = 10;

/** Makes a snapshot file whose lower charge identifies the version, by default: 20242 dollars in version 2024.2. */
function fileOf(version: string, charge = Number(version.replace(".", ""))): Uint8Array {
  return encodeSnapshot(
    snapshotAs(version, [
      ["010001", "AL", "5072", charge, 100],
      ["330001", "NY", "5072", charge + 1, 100],
    ]),
  );
}

/** The file appears at once and complete, because it is renamed. */
function put(folder: string, name: string, bytes: Uint8Array, changed = new Date()): void {
  const beside = path.join(folder, `.${name}.new`);
  writeFileSync(beside, bytes);
  utimesSync(beside, changed, changed);
  renameSync(beside, path.join(folder, name));
}

function folderOf(...versions: string[]): string {
  const folder = temporaryFolder();
  for (const version of versions) put(folder, `${version}.parquet`, fileOf(version));
  return folder;
}

// The tests check both serving threads.
const server = await startServer({ datasetsDir: folderOf("2023.1", "2024.1"), env: { THREADS: "2" } });
after(() => server.process.hasEnded || server.stop());

const logLine = v.looseObject({ msg: v.string() });

function logged(server: Pick<TestServer, "process">, message: string) {
  return server.process.stderr
    .split("\n")
    .filter((line) => line.startsWith("{") && line.endsWith("}") && line.includes(message))
    .map((line) => v.parse(logLine, JSON.parse(line)))
    .filter(({ msg }) => msg === message);
}

function change(server: TestServer, what: "published" | "retired", version: string) {
  return until(`${version} to be ${what}`, () =>
    logged(server, `data version ${what}`).find((line) => line.version === version),
  );
}

const prices = v.object({
  summary: v.object({ min_charge: v.number() }),
  source: v.object({ data_version: v.string() }),
});

/** Finds the version that answers below a path. Asserts that eight requests, spread over the threads, agree. */
async function answering(server: TestServer, base = ""): Promise<string> {
  const request = `GET /api/v1${base}/healthcare/prices${query}`;
  const answers = await Promise.all(Array.from({ length: 8 }, () => call(server, request)));
  const versions = answers.map((answer) => {
    assert.equal(answer.status, 200, answer.body.toString());
    const { summary, source } = v.parse(prices, answer.json());
    assert.equal(summary.min_charge, Number(source.data_version.replace(".", "")));
    return source.data_version;
  });
  assert.equal(new Set(versions).size, 1, versions.join());
  return versions[0];
}

async function previous(server: TestServer) {
  const { data } = v.parse(datasetsResponse, (await call(server, "GET /api/v1/datasets")).json());
  return Object.fromEntries(data.map(({ data_version, previous }) => [data_version, previous]));
}

async function missing(server: TestServer, version: string): Promise<string> {
  const answer = await call(server, `GET /api/v1/versions/${version}/healthcare/prices${query}`);
  assert.equal(answer.status, 404);
  const { type, message } = answer.error();
  assert.equal(type, "not_found");
  return message;
}

const usedThisMonth = (stateDir: string) => {
  const store = Store.open(stateDir);
  const used = store.usage.ofMonth(monthName(monthOf(Date.now())));
  store.close();
  return [...used.values()].reduce((sum, count) => sum + count, 0);
};

function complaints({ stderr }: Finished): string[] {
  return stderr.split("\n").filter((line) => line !== "" && !line.startsWith("{"));
}

test("new snapshot files are served, deleted ones are retired, and the last version stays", async () => {
  const folder = server.datasetsDir;
  assert.equal(await answering(server), "2024.1");
  assert.equal(await missing(server, "2025"), 'there is no data version "2025"; loaded are 2024.1, 2023.1');

  put(folder, "2023.10.parquet", fileOf("2023.10"));
  assert.equal((await change(server, "published", "2023.10")).current, "2024.1");
  put(folder, "2024.2.parquet", fileOf("2024.2"));
  put(folder, "2023.9.parquet", fileOf("2023.9"));
  assert.equal((await change(server, "published", "2024.2")).current, "2024.2");
  await change(server, "published", "2023.9");
  const changes = { rows_added: 0, rows_removed: 0, rows_changed: 2 };
  assert.deepEqual(await previous(server), {
    "2024.2": { data_version: "2024.1", ...changes },
    "2024.1": null,
    "2023.10": { data_version: "2023.9", ...changes },
    "2023.9": null,
    "2023.1": null,
  });
  assert.equal(await answering(server), "2024.2");
  assert.equal(await answering(server, "/versions/2024"), "2024.2");
  assert.equal(await answering(server, "/versions/2024.1"), "2024.1");
  assert.equal(await answering(server, "/versions/2023"), "2023.10");
  assert.equal(await answering(server, "/versions/2023.1"), "2023.1");

  unlinkSync(path.join(folder, "2023.10.parquet"));
  assert.equal((await change(server, "retired", "2023.10")).current, "2024.2");
  assert.equal(await answering(server, "/versions/2023"), "2023.9");
  assert.equal(
    await missing(server, "2023.10"),
    'there is no data version "2023.10"; loaded are 2024.2, 2024.1, 2023.9, 2023.1',
  );

  // Deletes the newest file last, because the server may read the folder between two deletions.
  for (const version of ["2023.1", "2023.9", "2024.1", "2024.2"])
    unlinkSync(path.join(folder, `${version}.parquet`));
  const stays = "the last data version is still served, though its file is gone";
  const report = await until("the report of the version that stays", () => logged(server, stays).at(0));
  assert.equal(report.file, "2024.2.parquet");
  for (const version of ["2024.1", "2023.9", "2023.1"]) await change(server, "retired", version);
  assert.equal(await answering(server), "2024.2");
  put(folder, "2022.1.parquet", fileOf("2022.1"));
  await change(server, "retired", "2024.2");
  assert.equal(await answering(server), "2022.1");
  assert.equal(logged(server, stays).length, 1);
});

test("a second server on the same STATE_DIR is refused", async () => {
  const second = await spawnServer(server).finished();
  assert.equal(second.code, 1);
  assert.deepEqual(complaints(second), [
    `STATE_DIR ${server.stateDir}: found another server that uses it, expected a folder of its own for each server`,
  ]);
  assert.equal(await answering(server), "2022.1");
});

test("snapshots that are copied piece by piece beside, and renamed when complete, fail no request", async () => {
  const folder = server.datasetsDir;
  // Beside means in a folder of the same file system, or under a name that isn't a snapshot's.
  mkdirSync(path.join(folder, ".incoming"));
  const places = {
    "2026.1": ".incoming/2026.1.parquet",
    "2026.2": ".2026.2.parquet.k3Xw9a",
    "2026.3": "copy.part",
  };
  let isDone = false;
  const statuses = new Set<number>();
  const ask = async () => {
    while (!isDone) {
      statuses.add((await call(server, `GET ${pricesPath}${query}`)).status);
      await delay(pauseMs);
    }
  };
  const asking = ask();
  const pieces = 3;
  // Each encoding has other bytes.
  const files = new Map(Object.keys(places).map((version) => [version, fileOf(version)]));
  for (let piece = 0; piece < pieces; piece++) {
    for (const [version, place] of Object.entries(places)) {
      const bytes = files.get(version) ?? assert.fail();
      const [start, end] = [piece, piece + 1].map((each) => Math.floor((each * bytes.length) / pieces));
      appendFileSync(path.join(folder, place), bytes.subarray(start, end));
    }
    // The server has read the folder since, because this version came later.
    const marker = `2021.${piece + 1}`;
    put(folder, `${marker}.parquet`, fileOf(marker));
    await change(server, "published", marker);
    assert.equal(await answering(server), "2022.1");
  }
  for (const [version, place] of Object.entries(places)) {
    renameSync(path.join(folder, place), path.join(folder, `${version}.parquet`));
    await change(server, "published", version);
    assert.equal(await answering(server), version);
  }
  const added = [...Object.keys(places), "2021.1", "2021.2", "2021.3"];
  for (const version of added) unlinkSync(path.join(folder, `${version}.parquet`));
  for (const version of added) await change(server, "retired", version);
  assert.equal(await answering(server), "2022.1");
  isDone = true;
  await asking;
  assert.deepEqual([...statuses], [200]);
  assert.deepEqual(logged(server, "snapshot refused"), []);
});

test("after SIGTERM, a server answers requests on open connections, closes them and exits with 0", async () => {
  const request = requestText(`GET ${pricesPath}${query}`, { Authorization: `Bearer ${server.key}` });
  const idle = await Connection.open(server.api);
  const left = (await call(server, "GET /api/v1/usage")).remaining;
  let answered = 0;
  const askUntilClosed = async (connection: Connection, isFirst: (() => void) | undefined) => {
    for (;;) {
      await connection.send(request);
      const answer = await connection.answer();
      assert.equal(answer.status, 200);
      answered++;
      isFirst?.();
      if (answer.header("Connection") !== "close") continue;
      assert.equal((await connection.rest()).length, 0);
      return;
    }
  };
  const connections = await Promise.all(Array.from({ length: 16 }, () => Connection.open(server.api)));
  const asking: Promise<void>[] = [];
  await Promise.all(
    connections.map(
      (connection) => new Promise<void>((first) => asking.push(askUntilClosed(connection, first))),
    ),
  );
  server.process.signal("SIGTERM");
  await Promise.all(asking);
  assert.equal((await idle.rest()).length, 0);
  assert.equal((await server.process.finished()).code, 0);
  assert.equal(usedThisMonth(server.stateDir), ample.quota - left + answered);
});

test("after SIGTERM, a slow reader still gets all its responses", async () => {
  const server = await startServer();
  const connection = await Connection.open(server.api);
  const asked = await getStuck(server, connection);
  server.process.signal("SIGTERM");
  await until("the server to be not ready", async () => (await fetch(`${server.ops}/readyz`)).status === 503);
  connection.resume();
  for (let i = 0; i < asked; i++) assert.equal((await connection.answer()).status, 200);
  assert.equal((await server.process.finished()).code, 0);
});
