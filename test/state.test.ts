import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import { lockFolder } from "../server/lock.ts";
import { checkServed, narrowAccess, StateGuard } from "../server/state-files.ts";
import { Store } from "../server/store.ts";
import {
  call,
  createKey,
  currentOnly,
  datasetsFolder,
  pricesPath,
  ready,
  runKeys,
  spawnServer,
  temporaryFolder,
  until,
} from "./server.ts";

/** The files of the state: who can read them, and what a server does that loses them. */

const modeOf = (file: string) => (statSync(file).mode & 0o777).toString(8);
const modesIn = (folder: string) =>
  Object.fromEntries(readdirSync(folder).map((name) => [name, modeOf(path.join(folder, name))]));

for (const umask of ["000", "022", "0777"])
  test(`a command makes a state that only its owner can read, with umask ${umask}`, () => {
    const folder = path.join(temporaryFolder(), "state");
    const command = `umask ${umask}; exec "$0" server/keys-command.ts create --account acme --plan free`;
    execFileSync("sh", ["-c", command, process.execPath], {
      cwd: path.resolve(import.meta.dirname, ".."),
      env: { PATH: process.env.PATH, STATE_DIR: folder },
    });
    assert.equal(modeOf(folder), "700");
    assert.deepEqual(modesIn(folder), { "state.sqlite": "600" });
  });

test("a store, a lock and a guard make files that only their owner can read", () => {
  const before = process.umask(0);
  try {
    const folder = path.join(temporaryFolder(), "a/state");
    const guard = new StateGuard(folder);
    const store = Store.open(folder);
    guard.watch();
    assert.equal(modeOf(folder), "700");
    assert.deepEqual(new Set(Object.values(modesIn(folder))), new Set(["600"]));
    assert.deepEqual(narrowAccess(folder), { narrowed: [], open: [] });
    store.close();
    guard.close();
  } finally {
    process.umask(before);
  }
});

test("a folder for all, such as /tmp, isn't taken from the others, but the files in it are", () => {
  const folder = temporaryFolder();
  chmodSync(folder, 0o1777);
  Store.open(folder).close();
  chmodSync(path.join(folder, "state.sqlite"), 0o644);
  const narrowed = [path.join(folder, "state.sqlite")];
  assert.deepEqual(narrowAccess(folder), { narrowed, open: [folder] });
  assert.equal(modeOf(folder), "777");
});

/** A guard over a database that is open. */
function guarded() {
  const folder = path.join(temporaryFolder(), "state");
  const guard = new StateGuard(folder);
  const store = Store.open(folder);
  guard.watch();
  after(() => store.close());
  return { folder, guard, file: path.join(folder, "state.sqlite") };
}

for (const end of ["", "-wal", "-shm"])
  test(`state.sqlite${end} that is deleted, replaced or back again is noticed`, () => {
    const { guard, file } = guarded();
    assert.equal(guard.fault(), undefined);
    renameSync(file + end, `${file}.away`);
    assert.equal(guard.fault(), `${file}${end} was deleted`);
    writeFileSync(file + end, "");
    assert.equal(guard.fault(), `${file}${end} was replaced`);
    renameSync(`${file}.away`, file + end);
    assert.equal(guard.fault(), undefined);
    guard.close();
  });

test("a lock that is deleted is taken again, and one that another server has isn't", () => {
  const { folder, guard } = guarded();
  const lock = path.join(folder, "server.lock");
  const takes = /found another server that uses it/;
  rmSync(lock);
  assert.equal(guard.fault(), undefined);
  assert.throws(() => lockFolder(folder, 0), takes);
  rmSync(lock);
  const unlock = lockFolder(folder, 0);
  assert.match(guard.fault() ?? "", takes);
  unlock();
  assert.equal(guard.fault(), undefined);
  guard.close();
  lockFolder(folder, 0)();
});

test("commands that see another database than the server, or none, are refused until it ends", () => {
  const { folder, guard, file } = guarded();
  checkServed(folder);
  renameSync(file, `${file}.away`);
  const message = (found: string) =>
    `state database ${file}: found ${found}, while a server runs on the one that was here, expected that one: put it back, or stop the server`;
  assert.throws(() => checkServed(folder), { message: message("none") });
  copyFileSync(`${file}.away`, file);
  assert.throws(() => checkServed(folder), { message: message("another file") });
  rmSync(path.join(folder, "server.lock"));
  guard.fault();
  assert.throws(() => checkServed(folder), { message: message("another file") });
  guard.close();
  checkServed(folder);
});

test("commands are refused, too, when what SQLite has beside the database is another or gone", () => {
  const { folder, guard, file } = guarded();
  checkServed(folder);
  for (const beside of [`${file}-shm`, `${file}-wal`]) {
    renameSync(beside, `${beside}.away`);
    assert.match(guard.fault() ?? "", /was deleted$/);
    assert.throws(() => checkServed(folder), /found other files beside it, while a server runs/);
    renameSync(`${beside}.away`, beside);
    checkServed(folder);
  }
  guard.close();
});

test("a folder that is deleted is made again for commands to be refused, and gone when the server ends", () => {
  const { folder, guard } = guarded();
  renameSync(folder, `${folder}.away`);
  assert.match(guard.fault() ?? "", /state\.sqlite was deleted/);
  assert.throws(() => checkServed(folder), /found none, while a server runs/);
  guard.close();
  assert.ok(!existsSync(folder), "so that it can be put back");
  rmSync(`${folder}.away`, { recursive: true });
});

const datasetsDir = datasetsFolder(currentOnly);
const request = `GET ${pricesPath}?procedure=5073`;

test("a server whose database is gone, replaced and back says so, and counts in memory meanwhile", async (t) => {
  const stateDir = path.join(temporaryFolder(), "state");
  mkdirSync(stateDir, { mode: 0o755 });
  const key = await createKey(stateDir, "acme", { burst: 1000, quota: 100 });
  chmodSync(path.join(stateDir, "state.sqlite"), 0o644);
  const server = spawnServer({ datasetsDir, stateDir });
  t.after(() => server.signal("SIGKILL"));
  const { api, ops } = await ready(server);
  const files = [stateDir, path.join(stateDir, "state.sqlite")];
  assert.ok(
    server.stderr.includes(`"files":${JSON.stringify(files)},"msg":"other users could read the state`),
  );
  const modes = modesIn(stateDir);
  assert.deepEqual([modeOf(stateDir), ...new Set(Object.values(modes))], ["700", "600"]);

  const isReady = async () => (await fetch(`${ops}/readyz`)).status === 200;
  const left = async () => (await call({ api, key }, request)).remaining;
  const command = async () => (await runKeys(stateDir, "create", "--account", "acme")).stderr;
  const file = path.join(stateDir, "state.sqlite");
  assert.ok(await isReady());
  assert.equal(await left(), 99);
  renameSync(file, `${file}.away`);
  await until("the server not to be ready", async () => !(await isReady()));
  assert.match(
    server.stderr,
    /"reason":"\S+ was deleted","msg":"the state isn't what was opened: .*start again"/,
  );
  assert.match(await command(), /found none, while a server runs on the one that was here/);
  assert.equal(await left(), 98);
  assert.ok(!existsSync(file));
  copyFileSync(`${file}.away`, file);
  await until("the log to say that", () => server.stderr.includes(" was replaced"));
  assert.match(await command(), /found another file, while a server runs/);
  assert.equal(await left(), 97);

  renameSync(`${file}.away`, file);
  await until("the server to be ready", isReady);
  assert.match(server.stderr, /the state is back in its place/);
  server.signal("SIGTERM");
  assert.equal((await server.finished()).code, 0);
  const store = Store.open(stateDir);
  assert.deepEqual([...store.usage(new Date().toISOString().slice(0, 7)).values()], [3]);
  store.close();
});

test("a server whose folder is deleted refuses commands, and says at its end that counts are lost", async (t) => {
  const stateDir = path.join(temporaryFolder(), "state");
  const key = await createKey(stateDir, "acme", { burst: 1000, quota: 100 });
  const server = spawnServer({ datasetsDir, stateDir });
  t.after(() => server.signal("SIGKILL"));
  const { api, ops } = await ready(server);
  rmSync(stateDir, { recursive: true });
  await until("the server not to be ready", async () => (await fetch(`${ops}/readyz`)).status === 503);
  assert.equal((await call({ api, key }, request)).remaining, 99);
  const { code, stderr } = await runKeys(stateDir, "create", "--account", "new", "--plan", "free");
  assert.equal(code, 1);
  assert.match(stderr, /found none, while a server runs on the one that was here/);
  server.signal("SIGTERM");
  assert.equal((await server.finished()).code, 1);
  assert.match(server.stderr, /the last counts can't be saved/);
  assert.ok(!existsSync(stateDir));
});
