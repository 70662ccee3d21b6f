import assert from "node:assert/strict";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { databaseFile } from "../../server/store/served.ts";
import { Store } from "../../server/store/store.ts";
import { succeed } from "../support/commands.ts";
import { call, pricesPath, startServer, temporaryFolder } from "../support/server.ts";

/**
 * Tests that this release works with files of release 0.1.0, made by `sample` with 300 rows, `keys create` for acme
 * (plan developer) and other (plan free), `accounts suspend other`, five requests, and `accounts export`.
 */

const files = path.resolve(import.meta.dirname, "../support/0.1.0");
const key = "hcq_acUn01iPQ00ipjTLCt1kH1FmmI3Yikt3USrYYB3Y2vm2geGLf";

/** Unpacks a database, such as `state`. */
function unpack(name: string, file: string): void {
  writeFileSync(file, gunzipSync(readFileSync(path.join(files, `${name}.sqlite.gz`))), { mode: 0o600 });
}

function installation(): { datasetsDir: string; stateDir: string } {
  const folder = temporaryFolder();
  const [datasetsDir, stateDir] = ["datasets", "state"].map((name) => path.join(folder, name));
  mkdirSync(stateDir, { mode: 0o700 });
  unpack("state", databaseFile(stateDir));
  cpSync(path.join(files, "2024.1.parquet"), path.join(datasetsDir, "2024.1.parquet"));
  return { datasetsDir, stateDir };
}

test("a server starts with the state and snapshot of 0.1.0 and keeps keys, usage and data versions", async () => {
  const { datasetsDir, stateDir } = installation();
  const server = await startServer({ datasetsDir, stateDir });
  const answer = await call({ api: server.api, key }, `GET ${pricesPath}?procedure=5072`);
  assert.equal(answer.status, 200);
  assert.equal((answer.json() as { source: { data_version: string } }).source.data_version, "2024.1");
  assert.equal(await server.stop(), 0);
  const store = Store.open(stateDir);
  assert.ok(store.usage.of(1, "2026-11") >= 5);
  assert.ok(store.versions.byName("2024.1") !== undefined);
  assert.equal(typeof store.accounts.byId(2)?.suspended_at, "number");
  store.close();
});

test("accounts exported by 0.1.0 can be imported", async () => {
  const [stateDir, file] = [temporaryFolder(), path.join(temporaryFolder(), "accounts.sqlite")];
  unpack("accounts", file);
  await succeed(stateDir, `accounts import ${file}`);
  const store = Store.open(stateDir);
  assert.deepEqual([store.accounts.byId(1)?.name, store.usage.of(1, "2026-11")], ["acme", 5]);
  store.close();
});
