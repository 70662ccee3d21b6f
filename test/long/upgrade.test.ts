import assert from "node:assert/strict";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { encodeSnapshot } from "../../engine/index.ts";
import { databaseFile } from "../../server/store/served.ts";
import { Store } from "../../server/store/store.ts";
import { succeed } from "../support/commands.ts";
import { repository } from "../support/deployment.ts";
import { snapshotAs } from "../support/fixtures.ts";
import { formerRelease, keeps, runOf } from "../support/former-release.ts";
import { Receiver } from "../support/quota-events.ts";
import { call, pricesPath, ready, startServer, temporaryFolder, until } from "../support/server.ts";

/**
 * Tests that this release works with files of release 0.1.0, and that release 0.1.0 works with files of this one. The files
 * in `../support/0.1.0` were made by `sample` with 300 rows, `keys create` for acme (plan developer) and other (plan free),
 * `accounts suspend other`, five requests, and `accounts export`.
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

type Ask = (target: string, key: string) => Promise<[status: number, body: unknown]>;

/** One server's folders, on which both releases run. */
class Installation {
  readonly #env = {
    ...{ DATASETS_DIR: temporaryFolder(), STATE_DIR: temporaryFolder() },
    ...{ PORT: "0", OPS_PORT: "0", THREADS: "1", PORTAL: "off", WEBHOOK_ALLOW_LOOPBACK: "true" },
  };
  release: string;

  constructor(release: string) {
    this.release = release;
  }

  async command(name: string, ...args: string[]): Promise<string> {
    const running = runOf(this.release, `server/commands/${name}.ts`, args, this.#env);
    const { code, stdout, stderr } = await running.finished();
    assert.equal(code, 0, `${name} ${args.join(" ")}: ${stderr}`);
    return stdout.trim();
  }

  sample = (year: string) =>
    this.command("sample", "--out", this.#env.DATASETS_DIR, "--year", year, "--rows", "3000");

  /** Writes a snapshot with what 0.1.0 doesn't know: the comparison with CMS's totals. */
  addCompared(version: string): void {
    const totals = { checked: 1, agree: 1, differ: 0, worst: null };
    const snapshot = snapshotAs(version, [["990001", "AL", "5072", 200, 100]], { totals });
    writeFileSync(path.join(this.#env.DATASETS_DIR, `${version}.parquet`), encodeSnapshot(snapshot));
  }

  keyOf = (account: string, quota: number, ...more: string[]) =>
    this.command(
      "keys",
      ...["create", "--account", account, "--plan", "enterprise"],
      ...["--burst", "1000", "--quota", String(quota), ...more],
    );

  /** Runs a server meanwhile, which answers to `ask`. */
  async serving(use: (ask: Ask) => Promise<void>) {
    const server = runOf(this.release, "server/main.ts", [], this.#env);
    const { api } = await ready(server);
    await use(async (target, key) => {
      const answer = await call({ api, key }, `GET /api/v1/${target}`);
      return [answer.status, answer.json()];
    });
    server.signal("SIGTERM");
    assert.equal((await server.finished()).code, 0, server.stderr);
    // The console of 0.1.0 needs a package that isn't installed any more.
    const errors = server.stderr.split("\n").filter((line) => /"level":"(error|fatal)"/.test(line));
    assert.deepEqual(
      errors.filter((line) => !line.includes("the console's files")),
      [],
    );
  }
}

test("one server goes from 0.1.0 to this release, back and forth again: keys, use, events and answers stay", async () => {
  const receiver = await Receiver.open();
  const thresholds = () => receiver.posts.map(({ body }) => JSON.parse(body).data.threshold);
  const one = new Installation(formerRelease());
  const former = one.release;
  for (const year of ["2023", "2024"]) await one.sample(year);
  const reader = await one.keyOf("reader", 1_000_000);
  const small = await one.keyOf("small", 100, "--webhook", receiver.url());
  const revoked = await one.keyOf("gone", 10);
  await one.command("keys", "revoke", "3");

  const targets = [
    ...["2023.1", "2024.1"].flatMap((version) =>
      ["prices?procedure=5072&limit=50", "facilities?procedure=5072&sort=markup", "procedures/5072"].map(
        (target) => `versions/${version}/healthcare/${target}`,
      ),
    ),
    "healthcare/trends?procedure=5072&versions=2023.1,2024.1",
  ];
  const answersTo = (ask: Ask) =>
    Promise.all(
      targets.map(async (target) => {
        const [status, body] = await ask(target, reader);
        assert.equal(status, 200, `${target}: ${JSON.stringify(body)}`);
        return body;
      }),
    );
  /** @returns how many requests were admitted */
  const useUp = async (ask: Ask, most: number) => {
    for (let used = 0; used < most; used++) if ((await ask(targets[0], small))[0] === 429) return used;
    return most;
  };
  let before: unknown[] = [];
  await one.serving(async (ask) => {
    before = await answersTo(ask);
    assert.equal((await ask(targets[0], revoked))[0], 401);
    assert.equal(await useUp(ask, 85), 85);
    await until("the first event", () => receiver.posts.length === 1);
  });

  one.release = repository;
  await one.sample("2022");
  one.addCompared("2021.1");
  let late = "";
  let now: unknown[] = [];
  await one.serving(async (ask) => {
    now = await answersTo(ask);
    for (const [i, answer] of now.entries())
      assert.ok(
        keeps(before[i], answer),
        `${targets[i]} was ${JSON.stringify(before[i])}, is ${JSON.stringify(answer)}`,
      );
    assert.equal((await ask(targets[0], revoked))[0], 401);
    assert.equal(await useUp(ask, 100), 15, "the rest of the quota");
    late = await one.keyOf("late", 10);
    assert.equal((await ask(targets[0], late))[0], 200);
    await until("all events", () => receiver.posts.length === 3);
  });

  for (const { release, used, answers } of [
    { release: former, used: 2, answers: before },
    { release: repository, used: 3, answers: now },
  ]) {
    one.release = release;
    await one.serving(async (ask) => {
      assert.deepEqual(await answersTo(ask), answers);
      for (const version of ["2022.1", "2021.1"])
        assert.equal((await ask(`versions/${version}/healthcare/prices?procedure=5072`, reader))[0], 200);
      assert.equal((await ask(targets[0], revoked))[0], 401);
      assert.equal(await useUp(ask, 1), 0);
      const [, usage] = await ask("usage", late);
      assert.ok(keeps({ quota: { limit: 10, used } }, usage), JSON.stringify(usage));
    });
    const events = JSON.parse(await one.command("events", "list", "--json")) as { threshold: number }[];
    assert.deepEqual(events.map(({ threshold }) => threshold).sort(), [100, 80, 90]);
  }
  assert.deepEqual(thresholds(), [80, 90, 100]);
});
