import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { hash } from "node:crypto";
import { once } from "node:events";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { after, test } from "node:test";
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
  runKeys,
  spawnServer,
  temporaryFolder,
  until,
} from "../support/server.ts";
import { trialRandom } from "./trial.ts";

/** What survives kill -9, a disk that is full, and damage to the database. Rounds of kills: KILL_ROUNDS. */

const rounds = Number(process.env.KILL_ROUNDS || 2);
assert.ok(Number.isInteger(rounds) && rounds > 0, `KILL_ROUNDS is ${process.env.KILL_ROUNDS}`);
const datasetsDir = datasetsFolder(currentOnly);
const request = `GET ${pricesPath}?procedure=5073`;
const month = monthName(monthOf(Date.now()));
const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

function start(stateDir: string): Running {
  return spawnServer({ datasetsDir, stateDir, env: { THREADS: "2" } });
}

async function kill(server: Running): Promise<void> {
  server.signal("SIGKILL");
  await assert.rejects(server.finished(), /was ended by SIGKILL/);
}

/** Makes an account and a key for it, as the operator's command does. */
function storeAccount(store: Store, name: string, quota: number) {
  return store.atomically(() => {
    const now = new Date();
    const fields = {
      name,
      plan: "enterprise",
      burst: 1_000_000,
      quota,
      webhook: null,
      webhook_secret: null,
    } as const;
    const account = store.accounts.create(fields, now);
    const key = generateKey();
    store.keys.create(account.id, hashKey(key), key.slice(-4), null, now);
    return { ...account, key };
  });
}

/** Asks many times at once on some connections. @returns what was answered 200, and whether all were answered */
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

test("kill -9 forgets no count that was saved, makes up none, and loses no key, account or event", async (t) => {
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
    // The first answer says what the machine goes on from: what was saved, and nothing else.
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

    // From here on up to the kill, counts may be forgotten.
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
      // Killed at its start.
      await until("the start to be under way", () => server.stderr.includes("snapshot loaded"));
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

/** A customer's server that takes posts, and answers none up to `answers`. */
async function openReceiver() {
  const receiver = { ids: [] as string[], answers: false, url: "" };
  const http = createServer((request, response) => {
    receiver.ids.push(String(request.headers["webhook-id"]));
    if (receiver.answers) response.end();
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  after(() => {
    http.closeAllConnections();
    http.close();
  });
  const address = http.address();
  assert.ok(typeof address === "object" && address !== null);
  receiver.url = `http://127.0.0.1:${address.port}/`;
  return receiver;
}

test("events are made once however many threads reach a threshold, and posted after kill -9 all the same", async (t) => {
  const stateDir = temporaryFolder();
  const store = Store.open(stateDir);
  t.after(() => store.close());
  const receiver = await openReceiver();
  const { id, key, ...account } = storeAccount(store, "acme", 1000);
  store.accounts.update({ ...account, id, webhook: receiver.url, webhook_secret: secret });
  const env = { THREADS: "2", WEBHOOK_ALLOW_LOOPBACK: "true" };
  let server = spawnServer({ datasetsDir, stateDir, env });
  t.after(() => server.signal("SIGKILL"));
  const { admitted } = await ask((await ready(server)).api, key, 300);
  assert.equal(admitted, 1000);
  await until("the three events", () => store.events.list().length === 3);
  await until("the first one's post to be under way", () => receiver.ids.length === 1);
  const ids = store.events.list().map((event) => event.id);
  assert.deepEqual(receiver.ids, [ids[0]]);
  assert.deepEqual(
    store.events.list().map(({ threshold }) => threshold),
    [80, 90, 100],
  );
  await kill(server);
  assert.equal(server.stderr.split('"quota event"').length - 1, 3);

  receiver.answers = true;
  server = spawnServer({ datasetsDir, stateDir, env });
  await until("the deliveries", () => store.events.list().every(({ state }) => state === "delivered"));
  assert.deepEqual(receiver.ids.slice(1), ids, "the same ids, in their order");
  assert.doesNotMatch(server.stderr, /"quota event"/);
});

/** Lets a running process write no file beyond a size, as a full disk does; or lets it again. */
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
  test(`with ${what} the server isn't ready, says why, serves on and counts; and saves when it can again`, async () => {
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

test("counts that can't be saved at the end make the exit code 1, and the log says so", async () => {
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

/** A state folder as kill -9 leaves it: some of it in the database, the rest in its write-ahead log; and one that was closed. */
function stateFolders(): { killed: string; closed: string } {
  const [work, killed, closed] = [0, 1, 2].map(() => temporaryFolder());
  const fill = Store.open(work);
  fill.atomically(() => {
    for (let i = 0; i < 1000; i++) storeAccount(fill, `account ${i}`, 1000);
  });
  fill.close();
  copyFileSync(path.join(work, "state.sqlite"), path.join(closed, "state.sqlite"));
  const store = Store.open(work);
  store.usage.save(month, [[1, 7]]);
  for (const name of ["state.sqlite", "state.sqlite-wal"])
    copyFileSync(path.join(work, name), path.join(killed, name));
  store.close();
  return { killed, closed };
}

/** The files that hold state: an empty log holds none, and the index beside it is made anew at each start. */
function contents(folder: string): Map<string, string> {
  const names = readdirSync(folder).filter((name) => /^state\.sqlite(-wal)?$/.test(name));
  const files = names.map((name): [string, Buffer] => [name, readFileSync(path.join(folder, name))]);
  return new Map(
    files
      .filter(([name, bytes]) => name === "state.sqlite" || bytes.length > 0)
      .map(([name, bytes]) => [name, hash("sha256", bytes)]),
  );
}

const pageBytes = 4096;
const damages: Record<string, (file: string, size: number) => void> = {
  "a garbage header": (file) => writeFileSync(file, readFileSync(file).fill(0xa5, 0, 100)),
  "a first page of zeros": (file) => writeFileSync(file, readFileSync(file).fill(0, 0, pageBytes)),
  "garbage pages in its middle": (file, size) => {
    const middle = Math.floor(size / 2 / pageBytes) * pageBytes;
    writeFileSync(file, readFileSync(file).fill(0xa5, middle, middle + 4 * pageBytes));
  },
  "its second half gone": (file, size) => truncateSync(file, Math.floor(size / 2)),
  "but its first bytes gone": (file) => truncateSync(file, 50),
  "other content": (file) => writeFileSync(file, "This was a database once.\n".repeat(1000)),
};
const folders = stateFolders();

for (const kind of ["closed", "killed"] as const)
  for (const [damage, spoil] of Object.entries(damages))
    test(`a ${kind} server's database with ${damage} is refused at the start and left as it is`, () => {
      const folder = path.join(temporaryFolder(), "state");
      mkdirSync(folder);
      for (const name of readdirSync(folders[kind]))
        copyFileSync(path.join(folders[kind], name), path.join(folder, name));
      const file = path.join(folder, "state.sqlite");
      spoil(file, readFileSync(file).length);
      const before = contents(folder);
      const restore =
        "expected a sound database: put a backup in its place, delete every -wal and -shm file beside it that isn't the backup's, or move it away together with its -wal and -shm files to start anew";
      assert.throws(
        () => Store.open(folder).close(),
        ({ message }: Error) =>
          message.startsWith(`state database ${file}: found damage (`) && message.endsWith(restore),
      );
      assert.deepEqual(contents(folder), before);
    });

test("an empty database beside a write-ahead log is refused and left as it is", () => {
  const folder = temporaryFolder();
  writeFileSync(path.join(folder, "state.sqlite"), "");
  copyFileSync(path.join(folders.killed, "state.sqlite-wal"), path.join(folder, "state.sqlite-wal"));
  const before = contents(folder);
  assert.throws(() => Store.open(folder).close(), /found damage/);
  assert.deepEqual(contents(folder), before);
});

test("a server and a command on a damaged database say one line and end with 1", async () => {
  const folder = temporaryFolder();
  const file = path.join(folder, "state.sqlite");
  copyFileSync(path.join(folders.closed, "state.sqlite"), file);
  damages["garbage pages in its middle"](file, readFileSync(file).length);
  const before = contents(folder);
  for (const running of [start(folder).finished(), runKeys(folder, "list")]) {
    const { code, stdout, stderr } = await running;
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(
      stderr,
      /^state database .*: found damage \(.*\), expected a sound database: .* to start anew\n$/,
    );
    assert.deepEqual(contents(folder), before);
  }
});
