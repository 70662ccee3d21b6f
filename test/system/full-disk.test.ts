import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { type TestContext, test } from "node:test";
import { monthName, monthOf } from "../../server/shared/months.ts";
import { Store } from "../../server/store/store.ts";
import { fillableDisk } from "../support/full-disk.ts";
import {
  call,
  createKey,
  currentOnly,
  datasetsFolder,
  keepingStripped,
  node,
  pricesPath,
  ready,
  spawnServer,
  temporaryFolder,
  until,
} from "../support/server.ts";

/** Starts servers and commands on a disk that is really full: a small tmpfs. */

const repository = resolve(import.meta.dirname, "../..");
const datasetsDir = datasetsFolder(currentOnly);
const advice = "delete other files from the disk, or move STATE_DIR to another disk";
const month = monthName(monthOf(Date.now()));

function hcqs(words: string[], env: Record<string, string>) {
  const options = { cwd: repository, env: { ...process.env, ...env }, encoding: "utf8" } as const;
  const { status, stdout, stderr } = spawnSync("server/hcqs", words, options);
  return { status, stdout, stderr };
}

function serverOn(t: TestContext, stateDir: string, env: Record<string, string> = {}) {
  const server = spawnServer({ datasetsDir, stateDir, env });
  t.after(() => server.signal("SIGKILL"));
  return server;
}

/** A process that is killed leaves its write-ahead log. The log makes the database larger. */
function leaveLog(stateDir: string): void {
  const script = `
    import { Store } from "./server/store/store.ts";
    const store = Store.open(${JSON.stringify(stateDir)});
    const rest = { plan: "free", burst: 1, quota: 1, webhook: null, webhook_secret: null };
    store.atomically(() => {
      for (let i = 0; i < 2000; i++) store.accounts.create({ ...rest, name: String(i).padEnd(60) }, new Date());
    });
    process.kill(process.pid, "SIGKILL");`;
  spawnSync(node, [...keepingStripped, "--input-type=module", "--eval", script], { cwd: repository });
}

for (const [what, end, prepare] of [
  ["a clean stop", "SIGTERM", () => {}],
  ["kill -9", "SIGKILL", () => {}],
  ["kill -9 and the loss of the -shm file", "SIGKILL", (dir: string) => rmSync(`${dir}/state.sqlite-shm`)],
  ["kill -9 with a log that has to go into the database", "SIGKILL", leaveLog],
] as const)
  test(`after ${what}, a server starts on a full disk, serves, and is ready when the disk has room`, async (t) => {
    const { stateDir, fill, empty } = fillableDisk(t);
    const key = createKey(stateDir, "acme", { burst: 1000, quota: 100 });
    const request = `GET ${pricesPath}?procedure=5073`;
    const first = serverOn(t, stateDir);
    await ready(first);
    first.signal(end);
    await first.finished(end === "SIGKILL" ? end : null);
    prepare(stateDir);
    fill();

    const server = serverOn(t, stateDir, { PORTAL: "on", PORTAL_ACCOUNT: "acme" });
    const { api, ops } = await ready(server);
    const statusOf = async (path: string) => (await fetch(ops + path)).status;
    assert.equal((await call({ api, key }, request)).remaining, 99);
    assert.deepEqual([await statusOf("/readyz"), await statusOf("/livez")], [503, 200]);
    assert.match(server.stderr, /^(\{.*\}\n)*$/, "JSON lines only");
    const listed = hcqs(["keys", "list"], { STATE_DIR: stateDir });
    assert.deepEqual([listed.status, listed.stderr], [0, ""]);

    empty();
    await until("the server to be ready", async () => (await statusOf("/readyz")) === 200);
    server.signal("SIGTERM");
    assert.equal((await server.finished()).code, 0);
    assert.match(
      server.stderr,
      /"reason":"[^"]*\/state[^"]*: found no room on its disk, expected at least 64 KiB/,
    );
    const store = Store.open(stateDir);
    assert.deepEqual([...store.usage.ofMonth(month).values()], [1]);
    store.close();
  });

test("a stop on a full disk saves the last counts in the room of the reserve", async (t) => {
  const { stateDir, fill, empty } = fillableDisk(t);
  const key = createKey(stateDir, "acme", { burst: 1000, quota: 100 });
  const server = serverOn(t, stateDir);
  const { api } = await ready(server);
  fill();
  for (const rest of [99, 98])
    assert.equal((await call({ api, key }, `GET ${pricesPath}?procedure=5073`)).remaining, rest);
  server.signal("SIGTERM");
  assert.deepEqual([(await server.finished()).code, /can't be saved/.test(server.stderr)], [0, false]);
  empty();
  const store = Store.open(stateDir);
  t.after(() => store.close());
  assert.deepEqual([...store.usage.ofMonth(month).values()], [2]);
});

test("a server that isn't asked anything notices that the disk is full", async (t) => {
  const { stateDir, fill, empty } = fillableDisk(t);
  const server = serverOn(t, stateDir);
  const { ops } = await ready(server);
  const statusOf = async () => (await fetch(`${ops}/readyz`)).status;
  assert.equal(await statusOf(), 200);
  fill();
  await until("the server not to be ready", async () => (await statusOf()) === 503);
  empty();
  await until("the server to be ready", async () => (await statusOf()) === 200);
});

test("a start or a command that needs room on a full disk says how much, in one sentence", async (t) => {
  const { disk, stateDir, fill } = fillableDisk(t, "1m");
  const there = join(disk, "there");
  createKey(there, "acme", { burst: 1, quota: 1 });
  mkdirSync(join(disk, "data"));
  fill();
  const before = readdirSync(disk).toSorted();
  const server = await serverOn(t, stateDir).finished();
  const isNew = `state database ${stateDir}/state.sqlite: found no room on its disk, expected at least 512 KiB of room: ${advice}\n`;
  assert.deepEqual([server.code, server.stderr.split("\n").slice(-2).join("\n")], [1, isNew]);
  const created = hcqs(["keys", "create", "--account", "a", "--plan", "free"], { STATE_DIR: stateDir });
  assert.deepEqual([created.status, created.stderr], [1, isNew]);
  rmSync(stateDir, { recursive: true, force: true });

  const elsewhere = temporaryFolder();
  createKey(elsewhere, "acme", { burst: 1, quota: 1 });
  const file = join(disk, "file");
  const data = join(disk, "data");
  const room = "\\d+ KiB of room";
  for (const [words, found, expected] of [
    [
      ["keys", "create", "--account", "acme"],
      `state database ${there}/state.sqlite`,
      "at least 64 KiB of room",
    ],
    [["state", "backup", file], `file ${file}`, room],
    [["accounts", "export", file], `file ${file}`, room],
    [["sample", "--out", data, "--year", "2024"], data, room],
  ] as const) {
    const STATE_DIR = words[0] === "keys" ? there : elsewhere;
    const { status, stdout, stderr } = hcqs([...words], { STATE_DIR, DATASETS_DIR: datasetsDir });
    assert.deepEqual([status, stdout], [1, ""], words.join(" "));
    const line = stderr.split("\n").at(-2) ?? "";
    assert.match(line, new RegExp(`^${found}: found no room on its disk.*, expected ${expected}: `));
  }
  assert.deepEqual([readdirSync(disk).toSorted(), readdirSync(data), existsSync(file)], [before, [], false]);
});

for (const isServed of [false, true])
  test(`a key is revoked and an account suspended on a full disk ${isServed ? "while a server runs" : "without a server"}`, async (t) => {
    const { stateDir, fill, empty } = fillableDisk(t);
    const keys = ["acme", "other"].map((name) => createKey(stateDir, name, { burst: 1000, quota: 100 }));
    const server = serverOn(t, stateDir);
    const { api } = await ready(server);
    if (!isServed) {
      server.signal("SIGTERM");
      await server.finished();
    }
    fill();
    const statusOf = async (key: string) => (await call({ api, key }, "GET /api/v1/datasets")).status;
    for (const [i, words] of [
      ["keys", "revoke", "1"],
      ["accounts", "suspend", "other"],
    ].entries()) {
      const { status, stderr } = hcqs(words, { STATE_DIR: stateDir });
      // The server applies the change, but may have no room to say so.
      assert.match(stderr, isServed ? /^(this is stored, but .*\n)?$/ : /^$/, words.join(" "));
      assert.equal(status, 0, words.join(" "));
      if (isServed) assert.equal(await statusOf(keys[i]), 401);
    }
    empty();
    const store = Store.open(stateDir);
    t.after(() => store.close());
    assert.notEqual(store.keys.byId(1)?.revoked_at, null);
    assert.notEqual(store.accounts.byName("other")?.suspended_at, null);
  });
