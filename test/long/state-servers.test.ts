import assert from "node:assert/strict";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
} from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { Store } from "../../server/store/store.ts";
import {
  askForKey,
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
} from "../support/server.ts";
import { modeOf, modesIn, namesIn } from "../support/state.ts";

/** Tests servers and commands with a state that is lost, replaced while they run, or readable by other users. */

const datasetsDir = datasetsFolder(currentOnly);
const saysOf = (version: string, what: string) =>
  `"version":"${version}","current":"2024.3","msg":"data version ${what}"`;
const request = `GET ${pricesPath}?procedure=5073`;

test("while its database is missing or replaced, a server isn't ready, logs it, and counts in memory", async (t) => {
  const stateDir = path.join(temporaryFolder(), "state");
  mkdirSync(stateDir, { mode: 0o755 });
  const key = createKey(stateDir, "acme", { burst: 1000, quota: 100 });
  chmodSync(stateDir, 0o755);
  chmodSync(path.join(stateDir, "state.sqlite"), 0o644);
  const datasetsDir = datasetsFolder(["2024.3", "2023.1"]);
  const server = spawnServer({ datasetsDir, stateDir });
  t.after(() => server.signal("SIGKILL"));
  const { api, ops } = await ready(server);
  const files = [stateDir, path.join(stateDir, "state.sqlite")];
  assert.ok(
    server.stderr.includes(
      `"files":${JSON.stringify(files)},"msg":"removed other users' access to the state`,
    ),
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
  copyFileSync(
    path.join(datasetsFolder(["2023.2"]), "2023.2.parquet"),
    path.join(datasetsDir, "2023.2.parquet"),
  );
  rmSync(path.join(datasetsDir, "2023.1.parquet"));
  assert.match(
    server.stderr,
    /"reason":"\S+ was deleted","msg":"the state isn't what was opened: .*stop the server, put a backup in its place, delete every -wal and -shm file beside it that isn't the backup's, and start again"/,
  );
  assert.match(await command(), /found other files than those that the running server has open/);
  assert.equal(await left(), 98);
  assert.ok(!existsSync(file));
  copyFileSync(`${file}.away`, file);
  await until("the log to say that", () => server.stderr.includes(" was replaced"));
  assert.match(await command(), /found other files than those/);
  assert.equal(await left(), 97);
  assert.doesNotMatch(server.stderr.slice(server.stderr.indexOf("isn't what was opened")), /"data version /);

  renameSync(`${file}.away`, file);
  await until("the server to be ready", isReady);
  assert.match(server.stderr, /the files of the state can be used again/);
  for (const said of [saysOf("2023.2", "published"), saysOf("2023.1", "retired")])
    await until("what lay there to be taken up", () => server.stderr.includes(said));
  server.signal("SIGTERM");
  assert.equal((await server.finished()).code, 0);
  const store = Store.open(stateDir);
  assert.deepEqual([...store.usage.ofMonth(new Date().toISOString().slice(0, 7)).values()], [3]);
  store.close();
});

test("after kill -9, servers and commands can use the state or a copy of it", async (t) => {
  const stateDir = path.join(temporaryFolder(), "state");
  let count = 0;
  for (const between of ["nothing", "a command", "a copy"]) {
    const server = spawnServer({ datasetsDir, stateDir });
    t.after(() => server.signal("SIGKILL"));
    await ready(server);
    await askForKey(stateDir, `account ${count++}`);
    server.signal("SIGKILL");
    await assert.rejects(server.finished());
    if (between === "a command") await askForKey(stateDir, `account ${count++}`);
    if (between === "a copy") {
      cpSync(stateDir, `${stateDir}.copy`, { recursive: true });
      rmSync(stateDir, { recursive: true });
      renameSync(`${stateDir}.copy`, stateDir);
    }
    assert.equal(JSON.parse((await runKeys(stateDir, "list", "--json")).stdout).length, count);
  }
});

const thisMonth = () => new Date().toISOString().slice(0, 7);

/** Loses a state's write-ahead log in several ways, each in a copy. @returns the content, the same in all copies */
function leftWithoutLog(stateDir: string) {
  const [left, ...others] = [undefined, 0, 16, 32, 500].map((bytes) => {
    const folder = path.join(temporaryFolder(), "state");
    cpSync(stateDir, folder, { recursive: true });
    rmSync(path.join(folder, "state.sqlite-shm"), { force: true });
    const log = path.join(folder, "state.sqlite-wal");
    if (bytes === undefined) rmSync(log, { force: true });
    else truncateSync(log, Math.min(bytes, statSync(log).size));
    const store = Store.open(folder);
    const left = {
      accounts: namesIn(store),
      keys: store.keys.list().length,
      versions: store.versions
        .all()
        .map(({ version }) => version)
        .toSorted(),
      counts: [...store.usage.ofMonth(thisMonth()).values()],
    };
    store.close();
    return left;
  });
  for (const other of others) assert.deepEqual(other, left);
  return left;
}

test("losing the write-ahead log after kill -9 loses no served version, shown key or saved count", async (t) => {
  const kill = async (server: ReturnType<typeof spawnServer>) => {
    server.signal("SIGKILL");
    await assert.rejects(server.finished());
  };
  const home = temporaryFolder();
  const first = spawnServer({ datasetsDir }, home);
  t.after(() => first.signal("SIGKILL"));
  await ready(first);
  await kill(first);
  const stateDir = path.join(home, "var");
  const shown = { accounts: ["demo"], keys: 1, versions: ["2024.3"], counts: [] as number[] };
  assert.deepEqual(leftWithoutLog(stateDir), shown);

  const folder = datasetsFolder(currentOnly);
  const second = spawnServer({ datasetsDir: folder, stateDir });
  t.after(() => second.signal("SIGKILL"));
  await ready(second);
  copyFileSync(path.join(datasetsFolder(["2023.2"]), "2023.2.parquet"), path.join(folder, "2023.2.parquet"));
  second.signal("SIGHUP");
  await until("it to be published", () => second.stderr.includes(saysOf("2023.2", "published")));
  await kill(second);
  assert.deepEqual(leftWithoutLog(stateDir), { ...shown, versions: ["2023.2", "2024.3"] });

  const third = spawnServer({ datasetsDir: folder, stateDir });
  t.after(() => third.signal("SIGKILL"));
  const { api } = await ready(third);
  const key = await askForKey(stateDir, "acme");
  await call({ api, key }, request);
  const store = Store.open(stateDir);
  await until("the count to be in the database itself", () => {
    const isSaved = store.usage.ofMonth(thisMonth()).size > 0;
    return isSaved && statSync(path.join(stateDir, "state.sqlite-wal")).size === 0;
  });
  await kill(third);
  assert.deepEqual(leftWithoutLog(stateDir), {
    accounts: ["acme", "demo"],
    keys: 2,
    versions: ["2023.2", "2024.3"],
    counts: [1],
  });
  store.close();
});
