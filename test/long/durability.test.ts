import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import path from "node:path";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import Database from "better-sqlite3";
import { generateKey, hashKey } from "../../server/accounts/keys.ts";
import { monthName, monthOf } from "../../server/shared/months.ts";
import { Store } from "../../server/store/store.ts";
import {
  Connection,
  call,
  currentOnly,
  datasetsFolder,
  pricesPath,
  type Running,
  ready,
  requestText,
  spawnServer,
  temporaryFolder,
  until,
} from "../support/server.ts";
import { account } from "../support/state.ts";
import { killRounds, sizeFrom, trialRandom } from "./trial.ts";

/** Tests the state after kill -9, on a full disk, and with a locked database. KILL_ROUNDS is the number of rounds. */

const rounds = sizeFrom("KILL_ROUNDS", 200);
/** Maximum milliseconds from the beginning of a start to a kill. A start takes less. */
const maxStartMs = 1500;
const datasetsDir = datasetsFolder(currentOnly);
const request = `GET ${pricesPath}?procedure=5073`;
const month = monthName(monthOf(Date.now()));

function start(stateDir: string): Running {
  return spawnServer({ datasetsDir, stateDir, env: { THREADS: "2" } });
}

async function kill(server: Running): Promise<void> {
  server.signal("SIGKILL");
  await assert.rejects(server.finished(), /was ended by SIGKILL/);
  assert.doesNotMatch(server.stderr, /"level":"(error|fatal)"/);
}

function storeAccount(store: Store, name: string, quota: number) {
  return store.atomically(() => {
    const now = new Date();
    const made = store.accounts.create({ ...account, burst: 1_000_000, quota, name }, now);
    const key = generateKey();
    store.keys.create(made.id, hashKey(key), key.slice(-4), null, now);
    return { ...made, key };
  });
}

/** Sends `each` requests over each of four connections. @returns the number of answers 200, and whether all arrived */
async function ask(api: string, key: string, each: number): Promise<{ admitted: number; isWhole: boolean }> {
  const text = requestText(request, { Authorization: `Bearer ${key}` }).repeat(each);
  let admitted = 0;
  let isWhole = true;
  const askOne = async () => {
    try {
      const connection = await Connection.open(api);
      await connection.send(text);
      for (let i = 0; i < each; i++) if ((await connection.answer()).status === 200) admitted++;
      connection.close();
    } catch {
      isWhole = false;
    }
  };
  await Promise.all(Array.from({ length: 4 }, askOne));
  return { admitted, isWhole };
}

test("kill -9 loses no saved count, key, account or event, and adds no counts", async (t) => {
  const random = trialRandom(t);
  const stateDir = temporaryFolder();
  const store = Store.open(stateDir);
  t.after(() => store.close());
  let quota = 120;
  const counted = storeAccount(store, "counted", quota);
  const others = [storeAccount(store, "first", 1000)];
  const saved = () => store.usage.ofMonth(month).get(counted.id) ?? 0;
  const total = { sent: 0, admitted: 0, forgotten: 0 };
  let events: string[] = [];
  let server = start(stateDir);
  t.after(() => server.signal("SIGKILL"));

  for (let round = 0; round < rounds; round++) {
    const { api } = await ready(server);
    const before = saved();
    // The first answer shows whether the server continues from the saved counts.
    const first = await call({ api, key: counted.key }, request);
    assert.equal(first.remaining, Math.max(0, quota - before - 1));
    let admitted = first.status === 200 ? 1 : 0;
    total.sent++;

    const each = 1 + random.int(40);
    const load = await ask(api, counted.key, each);
    assert.ok(load.isWhole);
    admitted += load.admitted;
    total.sent += 4 * each;
    assert.equal(admitted, Math.min(quota - before, 1 + 4 * each), "not one more than the quota, nor less");
    await until("the counts to be saved", () => saved() === before + admitted);

    // Requests from here to the kill may be lost from the counts.
    others.push(storeAccount(store, `other ${round}`, 1000));
    const more = random.int(40);
    const late = ask(api, counted.key, more);
    if (random.int(2) > 0) await late;
    await kill(server);
    const { admitted: lateAdmitted } = await late;
    total.sent += 4 * more;
    const after = saved();
    assert.ok(after >= before + admitted, `${after} are saved of ${before} and ${admitted}`);
    assert.ok(
      after <= Math.min(quota, before + admitted + 4 * more),
      `${after} are saved, more than was sent`,
    );
    total.admitted += admitted + lateAdmitted;
    total.forgotten += Math.max(0, before + admitted + lateAdmitted - after);
    assert.ok(total.admitted - total.forgotten <= after);

    const known = store.events.list().map(({ id }) => id);
    for (const id of events) assert.ok(known.includes(id), `the event ${id} is lost`);
    for (const threshold of [80, 90, 100])
      if (after * 100 >= quota * threshold)
        assert.equal(
          store.events.list().filter((event) => event.threshold === threshold && event.quota === quota)
            .length,
          1,
        );
    events = known;
    if (after >= quota) {
      quota += 100 + random.int(300);
      store.accounts.update({ ...counted, quota });
    }
    server = start(stateDir);
    if (random.int(4) === 0) {
      await delay(random.int(maxStartMs));
      await kill(server);
      server = start(stateDir);
    }
  }

  const { api } = await ready(server);
  for (const { key, name } of others)
    assert.match(
      (await call({ api, key }, "GET /api/v1/usage")).body.toString(),
      new RegExp(`"account":"${name}"`),
    );
  assert.ok(total.admitted <= quota + total.forgotten, `${total.admitted} were admitted of ${quota}`);
  t.diagnostic(`${rounds} kills: ${JSON.stringify(total)}, quota ${quota}, ${events.length} events`);
  await kill(server);
});

test(`${killRounds} times kill -9 under load gives back only what was admitted after the last write of counts`, async (t) => {
  /** Requests between two looks at the stored counts. */
  const askedAtOnce = 20;
  const stateDir = temporaryFolder();
  const store = Store.open(stateDir);
  t.after(() => store.close());
  const { id, key } = storeAccount(store, "busy", 1_000_000);
  const saved = () => store.usage.ofMonth(month).get(id) ?? 0;
  const text = requestText(request, { Authorization: `Bearer ${key}` });
  const random = trialRandom(t);
  let [sum, given] = [0, 0];
  for (let i = 0; i < killRounds; i++) {
    const before = saved();
    const written = () => saved() - before;
    const server = start(stateDir);
    t.after(() => server.signal("SIGKILL"));
    const { api } = await ready(server);
    const connection = await Connection.open(api);
    let answered = 0;
    const ask = async (count: number) => {
      for (let n = 0; n < count; n++) {
        await connection.send(text);
        assert.equal((await connection.answer()).status, 200);
        answered++;
      }
    };
    for (let writes = 1 + random.int(5); writes > 0; writes--) {
      const mark = answered + 1;
      await until("the counts to be written while requests go on", async () => {
        await ask(askedAtOnce);
        return written() >= mark;
      });
    }
    await ask(random.int(200));
    const seen = written();
    await kill(server);
    connection.close();
    const kept = written();
    assert.ok(kept >= seen && kept <= answered, `${kept} kept of ${answered}, ${seen} seen before the kill`);
    sum += answered;
    given += answered - kept;
  }
  t.diagnostic(`${killRounds} kills gave back ${given} of ${sum} requests`);
});

/** Limits the size of files that a running process may write, as a substitute for a full disk. */
function limitFiles(pid: number, bytes: number | "unlimited"): void {
  execFileSync("prlimit", [`--pid=${pid}`, `--fsize=${bytes}:unlimited`]);
}

const statusOf = async (ops: string, path = "/readyz") => (await fetch(`${ops}${path}`)).status;
const faults = (server: Running) =>
  server.stderr
    .split("\n")
    .filter((line) => line.includes('"level":"error"') && line.includes("saving usage failed"));

for (const [what, stop] of [
  [
    "a disk that takes no more bytes",
    (server: Running) => {
      limitFiles(server.pid, 1);
      return () => limitFiles(server.pid, "unlimited");
    },
  ],
  [
    "a database that another process has locked",
    (_: Running, stateDir: string) => {
      const other = new Database(path.join(stateDir, "state.sqlite"));
      other.exec("BEGIN EXCLUSIVE");
      return () => other.close();
    },
  ],
] as const)
  test(`with ${what}, the server isn't ready but keeps serving, and saves its counts later`, async () => {
    const stateDir = temporaryFolder();
    const store = Store.open(stateDir);
    const { id, key } = storeAccount(store, "a", 100);
    const server = start(stateDir);
    after(() => server.signal("SIGKILL"));
    const { api, ops } = await ready(server);
    const saved = () => store.usage.ofMonth(month).get(id) ?? 0;
    assert.equal((await call({ api, key }, request)).remaining, 99);
    await until("the count to be saved", () => saved() === 1);
    assert.equal(await statusOf(ops), 200);

    const release = stop(server, stateDir);
    assert.equal((await call({ api, key }, request)).remaining, 98);
    await until("the server not to be ready", async () => (await statusOf(ops)) === 503);
    await until("the log to say why", () => faults(server).length > 0);
    for (let left = 97; left >= 0; left--) assert.equal((await call({ api, key }, request)).remaining, left);
    assert.equal((await call({ api, key }, request)).status, 429);
    assert.equal(saved(), 1);
    assert.equal(await statusOf(ops, "/livez"), 200);

    release();
    await until("the counts to be saved", () => saved() === 100);
    await until("the server to be ready", async () => (await statusOf(ops)) === 200);
    assert.equal(store.events.list().length, 3);
    server.signal("SIGTERM");
    assert.equal((await server.finished()).code, 0);
    store.close();
  });

test("a server that can't save its last counts logs it and exits with code 1", async () => {
  const stateDir = temporaryFolder();
  const store = Store.open(stateDir);
  const { key } = storeAccount(store, "a", 100);
  const server = start(stateDir);
  const { api } = await ready(server);
  limitFiles(server.pid, 1);
  assert.equal((await call({ api, key }, request)).status, 200);
  server.signal("SIGTERM");
  assert.equal((await server.finished()).code, 1);
  assert.match(server.stderr, /the last counts can't be saved/);
  store.close();
});
