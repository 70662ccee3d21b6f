import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import { Accounts } from "../../server/accounts/sync.ts";
import { plans } from "../../server/shared/plans.ts";
import { lockFolder } from "../../server/store/lock.ts";
import { Store } from "../../server/store/store.ts";
import { run, succeed } from "../support/commands.ts";
import {
  keepingStripped,
  Running,
  rawRequest,
  requestText,
  runKeys,
  startServer,
  temporaryFolder,
  until,
} from "../support/server.ts";
import { account } from "../support/state.ts";

/** Tests that a running server has applied a command's change when the command returns. No request is repeated. */

const rounds = 50;
const server = await startServer({ env: { THREADS: "2" } });
const { stateDir } = server;
after(async () => {
  assert.equal(await server.stop(), 0);
});

/** Sends requests over many connections, to reach both threads of the server. @returns the different statuses */
async function statuses(key: string): Promise<number[]> {
  const request = requestText("GET /api/v1/usage", { Authorization: `Bearer ${key}` });
  const asked = Array.from({ length: 6 }, async () => (await rawRequest(server.api, request)).status);
  return [...new Set(await Promise.all(asked))];
}

const idIn = (stderr: string) => /key (\d+)/.exec(stderr)?.[1];
const hint = "this is stored, but the running server hasn't applied it";
const later = "it will as soon as it can\n";

test("a key works as soon as create returns and stops working as soon as revoke returns", async () => {
  await succeed(stateDir, "keys create --account busy --plan enterprise --burst 1000000 --quota 1000000000");
  for (let round = 0; round < rounds; round++) {
    const [{ stdout, stderr }] = await run(stateDir, ["keys create --account busy"]);
    assert.doesNotMatch(stderr, /stored/);
    assert.deepEqual(await statuses(stdout.trim()), [200], `created, round ${round}`);
    await succeed(stateDir, `keys revoke ${idIn(stderr)}`);
    assert.deepEqual(await statuses(stdout.trim()), [401], `revoked, round ${round}`);
  }
});

test("a key stops working as soon as expire --at now returns", async () => {
  const [{ stdout, stderr }] = await run(stateDir, ["keys create --account busy"]);
  for (const [at, status] of [
    ["now", 401],
    ["never", 200],
    ["now", 401],
  ]) {
    await succeed(stateDir, `keys expire ${idIn(stderr)} --at ${at}`);
    assert.deepEqual(await statuses(stdout.trim()), [status], `${at}`);
  }
});

test("while the server is suspended, a command ends with a warning, and its change applies later", async () => {
  // With the database's write lock here, the server isn't suspended in a write, which would leave the database locked.
  const idle = Store.open(stateDir);
  idle.atomically(() => {
    server.process.signal("SIGSTOP");
    while (!/\) T /.test(readFileSync(`/proc/${server.process.pid}/stat`, "utf8")));
  });
  idle.close();
  const create = ["create", "--account", "late", "--plan", "business"];
  const { code, stdout, stderr } = await runKeys(stateDir, ...create);
  const interrupted = new Running("server/commands/keys.ts", create, { STATE_DIR: stateDir });
  await until("the second key to be printed", () => interrupted.stdout !== "");
  interrupted.signal("SIGINT");
  await assert.rejects(interrupted.finished());
  server.process.signal("SIGCONT");

  assert.equal(code, 0);
  for (const said of [stdout, interrupted.stdout]) assert.match(said, /^hcq_[0-9A-Za-z]{49}\n$/);
  assert.ok(
    stderr.startsWith("made account late") && stderr.endsWith(`\n${hint} within 3 s; ${later}`),
    stderr,
  );
  // When the server confirms the next change, it has also applied all earlier changes.
  await succeed(stateDir, "keys create --account late");
  for (const said of [stdout, interrupted.stdout]) assert.deepEqual(await statuses(said.trim()), [200]);
});

test("commands don't wait when no server runs", async () => {
  const folder = temporaryFolder();
  const store = Store.open(folder);
  store.progress.saveApplied({ accounts: 0, keys: 0 });
  store.close();
  // A crashed server leaves such a lock behind. It must not delay commands.
  lockFolder(folder)();
  const results = await run(folder, ["keys create --account a --plan free", "keys revoke 1"]);
  for (const { code, stderr } of results) {
    assert.equal(code, 0);
    assert.doesNotMatch(stderr, /stored/);
  }
});

test("a command that changes nothing doesn't wait for a server", async () => {
  const folder = temporaryFolder();
  const store = Store.open(folder);
  const { id } = store.accounts.create({ ...account, ...plans.free, name: "a" }, new Date());
  store.keys.revoke(store.keys.create(id, Buffer.alloc(32), "0000", null, new Date()), new Date());
  assert.notDeepEqual(store.progress.applied(), store.progress.latest());
  store.close();
  const unlock = lockFolder(folder);
  const commands = ["keys list", "accounts list", "keys revoke 1", "keys update --account a --plan free"];
  for (const { code, stderr } of await run(folder, commands)) assert.deepEqual([code, stderr], [0, ""]);
  unlock();
});

test("a command fails and creates no database if a running server's database is gone", async () => {
  const folder = temporaryFolder();
  const unlock = lockFolder(folder);
  const store = Store.open(folder);
  store.close();
  rmSync(path.join(folder, "state.sqlite"));
  const [{ code, stderr }] = await run(folder, ["keys create --account a --plan free"]);
  unlock();
  assert.equal(code, 1);
  assert.equal(
    stderr,
    `STATE_DIR ${folder}: found no state.sqlite, expected a folder with the state of a server\n`,
  );
});

test("commands that check for a running server don't prevent a server from starting", async (t) => {
  const folder = temporaryFolder();
  lockFolder(folder)();
  const state = new URL("../../server/store/served.ts", import.meta.url);
  const look = `import { isServed } from "${state}"; process.send(0); for (;;) isServed(${JSON.stringify(folder)});`;
  const lookers = [0, 1].map(() =>
    spawn(process.execPath, [...keepingStripped, "--input-type=module", "--eval", look], {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    }),
  );
  t.after(() => {
    for (const looker of lookers) looker.kill("SIGKILL");
  });
  await Promise.all(lookers.map((looker) => once(looker, "message")));
  for (let i = 0; i < 100; i++) lockFolder(folder)();
});

test("a server confirms its own and others' changes only after it has applied them", () => {
  const folder = temporaryFolder();
  const [own, other] = [Store.open(folder), Store.open(folder)];
  const accounts = new Accounts(own, Date.now());
  const now = new Date();
  for (const store of [own, other]) {
    const { id } = store.accounts.create({ ...account, name: store === own ? "own" : "other" }, now);
    const key = store.keys.create(id, Buffer.alloc(32, id), "0000", null, now);
    for (const change of [
      () => {},
      () => store.keys.expire(key, now.getTime()),
      () => store.keys.revoke(key, now),
    ]) {
      change();
      assert.notDeepEqual(other.progress.applied(), other.progress.latest());
      accounts.refresh();
      assert.throws(() =>
        accounts.saveApplied(() => {
          throw new Error("no room");
        }),
      );
      assert.notDeepEqual(
        other.progress.applied(),
        other.progress.latest(),
        "what may still be lost gets no word",
      );
      accounts.saveApplied(() => {});
      assert.deepEqual(other.progress.applied(), other.progress.latest());
    }
  }
  own.close();
  other.close();
});
