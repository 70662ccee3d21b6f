import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { suite, test } from "node:test";
import { gunzipSync } from "node:zlib";
import Database from "better-sqlite3";
import { FakedClock } from "../support/faked-clock.ts";
import { PostgresServer } from "../support/postgres-server.ts";
import { Receiver } from "../support/quota-events.ts";
import { Running, temporaryFolder, until } from "../support/server.ts";
import { makeKey, runOn, SharedClient, SharedServer } from "../support/shared-server.ts";

/** Tests servers that share accounts while clocks jump and come back, on a real PostgreSQL. */

const [hourMs, dayMs] = [3_600_000, 86_400_000];
const repository = path.resolve(import.meta.dirname, "../..");
let names = 0;
const nextName = () => `account ${++names}`;

async function admit(server: SharedServer, key: string, count: number): Promise<void> {
  const client = await SharedClient.of(server, key);
  // While the machine is busy, a request may wait too long for its permit.
  await client.askUntil(() => client.counts.admitted >= count);
  client.close();
}

/** Makes an account with a webhook. @returns its key */
async function withWebhook(url: string, account: string, quota: number, webhook: string): Promise<string> {
  const numbers = ["--burst", "1000", "--quota", String(quota), "--webhook", webhook];
  const made = await runOn(url, "keys", "create", "--account", account, "--plan", "enterprise", ...numbers);
  assert.equal(made.code, 0, made.stderr);
  return made.stdout.trim();
}

const thresholdsOf = (receiver: Receiver, account: string) =>
  receiver.posts
    .map(({ body }) => JSON.parse(body).data)
    .filter((data) => data.account === account)
    .map(({ threshold }) => threshold);

test("the schema of the database is that of release 0.1.0, so its databases get all of this", () => {
  const schema = readFileSync(path.join(repository, "server/parts/postgres/schema.sql"));
  const sha256 = createHash("sha256").update(schema).digest("hex");
  assert.equal(sha256, "e7ab1ece1188440d8c8b06a7d75413a67255a6cb62a4deec033e69c51ff9d851");
});

// Each test has a database of its own, and mostly waits.
suite("clocks that jump", { concurrency: 3 }, () => {
  test("from a state of release 0.1.0, an event comes once though the clock jumped, its deliverer died and a server lost its state", async (t) => {
    const clock = new FakedClock();
    const database = await PostgresServer.start(["fsync=off"], clock.env);
    const oldState = temporaryFolder();
    const zipped = readFileSync(path.join(repository, "test/support/0.1.0/state.sqlite.gz"));
    writeFileSync(path.join(oldState, "state.sqlite"), gunzipSync(zipped));
    const file = path.join(temporaryFolder(), "accounts.sqlite");
    const exported = await new Running("server/commands/accounts.ts", ["export", file], {
      STATE_DIR: oldState,
    }).finished();
    assert.equal(exported.code, 0, exported.stderr);
    const imported = await runOn(database.url, "accounts", "import", file);
    assert.equal(imported.code, 0, imported.stderr);

    const receiver = await Receiver.open();
    const account = nextName();
    const key = await withWebhook(database.url, account, 20, receiver.url());
    const env = { WEBHOOK_ALLOW_LOOPBACK: "true" };
    const first = await SharedServer.start(database.url, env);
    t.after(() => first.signal("SIGKILL"));
    clock.set(hourMs);
    await admit(first, key, 16);
    await until("the first event", () => thresholdsOf(receiver, account).length === 1);
    const oldest = "hcqs_webhook_oldest_pending_seconds";
    // The delivery is recorded, so no other server repeats it.
    await until("no event to be pending", async () => (await first.metric(oldest)) === 0);
    await first.kill();
    clock.set(0);
    const [{ seconds }] = await database.query<{ seconds: number }>(
      "SELECT extract(epoch FROM until - clock_timestamp())::float8 AS seconds FROM hcqs.turns WHERE name = 'deliver'",
    );
    assert.ok(seconds > 3000, `the turn ends in ${seconds} s`);

    const [lost, whole] = await Promise.all([1, 2].map(() => SharedServer.start(database.url, env)));
    t.after(() => {
      for (const server of [lost, whole]) server.signal("SIGKILL");
    });
    rmSync(lost.stateDir, { recursive: true });
    await until("the loss to be noticed", () => lost.log.includes("the state isn't what was opened"));
    await admit(whole, key, 2);
    await until("the second event", () => thresholdsOf(receiver, account).length === 2);
    await until("no event to be pending", async () => (await whole.metric(oldest)) === 0);
    assert.deepEqual(thresholdsOf(receiver, account), [80, 90]);
  });

  test("a server that lost its state doesn't keep the turn, and each server knows how long an event waits", async (t) => {
    const database = await PostgresServer.start();
    const receiver = await Receiver.open();
    const account = nextName();
    const key = await withWebhook(database.url, account, 20, receiver.url());
    const env = { WEBHOOK_ALLOW_LOOPBACK: "true" };
    const lost = await SharedServer.start(database.url, env);
    t.after(() => lost.signal("SIGKILL"));
    await admit(lost, key, 16);
    await until("the first event", () => thresholdsOf(receiver, account).length === 1);
    rmSync(lost.stateDir, { recursive: true });
    await until("the loss to be noticed", () => lost.log.includes("the state isn't what was opened"));
    await admit(lost, key, 2);
    const oldest = "hcqs_webhook_oldest_pending_seconds";
    await until("the event to wait", async () => (await lost.metric(oldest)) > 1);
    const other = await SharedServer.start(database.url, env);
    t.after(() => other.signal("SIGKILL"));
    await until("the second event", () => thresholdsOf(receiver, account).length === 2);
  });

  test("the event of a quota that was used up comes although the quota is raised at once", async (t) => {
    const database = await PostgresServer.start();
    const servers = await Promise.all([1, 2].map(() => SharedServer.start(database.url)));
    t.after(() => {
      for (const server of servers) server.signal("SIGKILL");
    });
    for (let i = 0; i < 3; i++) {
      const account = nextName();
      const key = await makeKey(database.url, account, 1000, 20);
      await admit(servers[i % 2], key, 20);
      const raised = await runOn(database.url, "keys", "update", "--account", account, "--quota", "1000");
      assert.equal(raised.code, 0, raised.stderr);
      await until("the events", async () => (await servers[i % 2].usage(key)).events.length === 3);
    }
  });

  /** Milliseconds from now to ten minutes before the end of the next UTC month. */
  function toMonthsEnd(): number {
    const now = new Date();
    return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 2, 1) - 600_000 - now.getTime();
  }

  for (const [when, aheadMs] of [
    ["now", 0],
    ["at a month's end", toMonthsEnd()],
  ] as const)
    test(`each server learns the counts again, also after a restart, when clocks jump ${when}`, async (t) => {
      const clock = new FakedClock(aheadMs);
      const serversClock = new FakedClock(aheadMs);
      const database = await PostgresServer.start(["fsync=off"], clock.env);
      const quota = 100;
      const key = await makeKey(database.url, nextName(), 1000, quota);
      const servers = await Promise.all([1, 2].map(() => SharedServer.start(database.url, serversClock.env)));
      t.after(() => {
        for (const server of servers) server.signal("SIGKILL");
      });
      const [first, second] = servers;
      const counted = async () => {
        const [row] = await database.query<{ used: number }>(
          `SELECT CASE WHEN month > hcqs.month_of(clock_timestamp()) THEN used_before ELSE used END AS used FROM hcqs.limits`,
        );
        return row.used;
      };
      /** What the second server has read, which it uses while the database is away. */
      const known = () => {
        const state = new Database(path.join(second.stateDir, "state.sqlite"), { readonly: true });
        const month = new Date(clock.nowMs()).toISOString().slice(0, 7);
        const used = state
          .prepare<[string], number>("SELECT used FROM usage WHERE month = ?")
          .pluck()
          .get(month);
        state.close();
        return used;
      };
      const settle = (what: string) =>
        until(`the count after ${what}`, async () => known() === (await counted()));
      await admit(first, key, 5);
      for (const jumpMs of [hourMs, -hourMs, dayMs, -dayMs]) {
        for (const one of [clock, serversClock]) one.set(aheadMs + jumpMs);
        await admit(first, key, 2);
        // The database's clock is right again first, and the servers' a moment later.
        for (const one of [clock, serversClock]) {
          one.set(aheadMs);
          await admit(first, key, 1);
        }
        await settle(`a jump of ${jumpMs / hourMs} h`);
      }
      await second.kill();
      await second.begin();
      await admit(first, key, 3);
      await settle("a restart");
      const left = quota - (await counted());
      await first.stop();
      await database.stop();
      await until("the second server to be alone", () => second.log.includes("the database is away"));
      const client = await SharedClient.of(second, key);
      await client.askUntil(() => client.counts.quota > 0);
      assert.ok(client.counts.admitted <= left, `${client.counts.admitted} admitted, ${left} left`);
      client.close();
    });
});
