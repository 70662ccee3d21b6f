import assert from "node:assert/strict";
import { test } from "node:test";
import { Client } from "pg";
import { PostgresServer } from "../support/postgres-server.ts";
import { Running, runKeys, temporaryFolder, until } from "../support/server.ts";
import { admittedBy, makeKey, runOn, SharedClient, SharedServer } from "../support/shared-server.ts";

/** Tests servers that share accounts through a real PostgreSQL. */

const database = await PostgresServer.start();
let names = 0;
const nextName = () => `account ${++names}`;

/** Starts servers that stop with the test. */
async function startAll(
  t: { after(work: () => void): void },
  count: number,
  env: Record<string, string> = {},
  url = database.url,
): Promise<SharedServer[]> {
  const servers = await Promise.all(Array.from({ length: count }, () => SharedServer.start(url, env)));
  t.after(() => {
    for (const server of servers) server.signal("SIGKILL");
  });
  return servers;
}

async function clientsOf(
  servers: readonly SharedServer[],
  key: string,
  each: number,
): Promise<SharedClient[]> {
  const all = servers.flatMap((server) => Array.from({ length: each }, () => SharedClient.of(server, key)));
  return Promise.all(all);
}

async function usedOf(account: string, from = database): Promise<number> {
  const [{ used }] = await from.query<{ used: number }>(
    `SELECT l.used FROM hcqs.limits l JOIN hcqs.rows r ON r.name = 'accounts:' || l.account
      WHERE r.content::json ->> 'name' = $1`,
    [account],
  );
  return used;
}

test("three servers admit the whole quota and no more, and record each event once", async (t) => {
  const [account, quota] = [nextName(), 600];
  const key = await makeKey(database.url, account, 200, quota);
  const servers = await startAll(t, 3);
  const clients = await clientsOf(servers, key, 2);
  await Promise.all(clients.map((client) => client.askUntil(() => client.counts.quota > 0)));
  assert.equal(admittedBy(clients), quota);
  assert.equal(await usedOf(account), quota);
  const events = async () => {
    const listed = JSON.parse((await runOn(database.url, "events", "list", "--json")).stdout);
    return listed.filter((event: { account: string }) => event.account === account);
  };
  await until("three events", async () => (await events()).length === 3);
  for (const server of servers)
    await until("the events on each server", async () => {
      const answer = await fetch(`${server.api}/api/v1/usage`, {
        headers: { Authorization: `Bearer ${key}` },
      });
      return answer.status === 429;
    });
  assert.deepEqual(
    (await events()).map(({ threshold }: { threshold: number }) => threshold),
    [80, 90, 100],
  );
  for (const client of clients) client.close();
  for (const server of servers) await server.stop();
  assert.equal(await usedOf(account), quota);
});

test("a rested account finds all of its rate on any server, and no more on all of them", async (t) => {
  const key = await makeKey(database.url, nextName(), 50, 1_000_000);
  const servers = await startAll(t, 2);
  const clients = await clientsOf(servers, key, 10);
  const outcomes = await Promise.all(
    clients.flatMap((client) => (client === clients[0] ? [client.ask()] : [])),
  );
  assert.deepEqual(outcomes, ["admitted"]);
  // One after the other on one server, within some milliseconds.
  const [first] = clients;
  const beganMs = performance.now();
  while (first.counts.burst === 0) await first.ask();
  const seconds = (performance.now() - beganMs) / 1000;
  assert.ok(first.counts.admitted >= 50, `${first.counts.admitted} admitted`);
  assert.ok(
    first.counts.admitted <= 50 * seconds + 1.75 * 50 + 1,
    `${first.counts.admitted} in ${seconds} s`,
  );
  for (const client of clients) client.close();
});

test("once a command has returned, a revoked key or a suspended account works on no server", async (t) => {
  const account = nextName();
  const key = await makeKey(database.url, account, 10_000, 1_000_000);
  const servers = await startAll(t, 2);
  const clients = await clientsOf(servers, key, 1);
  let isOver = false;
  const busy = Promise.all(
    clients.map(async (client) => {
      while (!isOver) await client.ask().catch(() => {});
    }),
  );
  const ask = (server: SharedServer) =>
    fetch(`${server.api}/api/v1/datasets`, { headers: { Authorization: `Bearer ${key}` } });
  await runOn(database.url, "accounts", "suspend", account);
  for (const server of servers) assert.equal((await ask(server)).status, 401);
  await runOn(database.url, "accounts", "resume", account);
  for (const server of servers) assert.equal((await ask(server)).status, 200);
  const listed = JSON.parse((await runOn(database.url, "keys", "list", "--json")).stdout);
  const { id } = listed.find((each: { account: string }) => each.account === account);
  const { code } = await runOn(database.url, "keys", "revoke", String(id));
  assert.equal(code, 0);
  for (const server of servers) assert.equal((await ask(server)).status, 401);
  isOver = true;
  await busy;
  for (const client of clients) client.close();
});

test("a quota holds through kill -9 of servers and crashes of the database", async (t) => {
  const own = await PostgresServer.start([]);
  const [account, quota] = [nextName(), 3000];
  const key = await makeKey(own.url, account, 500, quota);
  const servers = await startAll(t, 2, { DATABASE_GRACE: "0" }, own.url);
  const clients: SharedClient[] = [];
  const use = async (count: number) => {
    const some = await clientsOf(servers, key, 2);
    clients.push(...some);
    const before = admittedBy(clients);
    await Promise.all(
      some.map((client) =>
        client.askUntil(() => admittedBy(clients) >= before + count || client.counts.quota > 0),
      ),
    );
    for (const client of some) client.close();
  };
  await use(300);
  await servers[0].kill();
  await servers[0].begin();
  await use(300);
  await own.stop("SIGQUIT");
  await own.begin([]);
  await use(300);
  await servers[1].kill();
  await own.stop("SIGQUIT");
  await own.begin([]);
  await servers[1].begin();
  await use(quota);
  const admitted = admittedBy(clients);
  assert.ok(admitted <= quota, `${admitted} admitted`);
  assert.ok(admitted >= quota - 4 * 1.75 * 500, `${admitted} admitted`);
});

test("while the database is away, a server answers 503 after its grace, and goes on when it is back", async (t) => {
  const own = await PostgresServer.start();
  const key = await makeKey(own.url, "acme", 100, 1_000_000);
  const [server] = await startAll(t, 1, { DATABASE_GRACE: "0" }, own.url);
  const [client] = await clientsOf([server], key, 1);
  assert.equal(await client.ask(), "admitted");
  await own.stop("SIGQUIT");
  await client.askUntil(() => client.counts.unavailable > 3);
  assert.equal(await server.readiness(), 200);
  await until("the metric to grow", async () => (await server.metric("hcqs_database_away_seconds")) > 0);
  const before = client.counts.admitted;
  await own.begin();
  await client.askUntil(() => client.counts.admitted > before);
  await until("the metric to be 0", async () => (await server.metric("hcqs_database_away_seconds")) === 0);
  client.close();
  await server.stop();
  assert.match(server.log, /the database is away/);
  assert.match(server.log, /the database is back/);
});

for (const grace of [0, 2])
  test(`after a grace of ${grace} s nothing is admitted, also of accounts in steady use`, async (t) => {
    const own = await PostgresServer.start();
    const key = await makeKey(own.url, "acme", 200, 1_000_000);
    const [server] = await startAll(t, 1, { DATABASE_GRACE: String(grace) }, own.url);
    const clients = await clientsOf([server], key, 6);
    let isOver = false;
    const busy = Promise.all(clients.map((client) => client.askUntil(() => isOver)));
    await until("a steady use", () => admittedBy(clients) > 300);
    await own.stop("SIGQUIT");
    await until("the server to be alone", () => server.log.includes("the database is away"));
    const refusedMs = () =>
      Math.min(...clients.map(({ admittedMs }) => performance.now() - (admittedMs.at(-1) ?? 0)));
    await until("nothing to be admitted for some seconds", () => refusedMs() > 4000);
    const before = admittedBy(clients);
    await own.begin();
    await until("requests to be admitted", () => admittedBy(clients) > before);
    isOver = true;
    await busy;
    for (const client of clients) client.close();
  });

test("a report that the database refuses is repeated until it is counted, and requests are admitted meanwhile", async (t) => {
  const own = await PostgresServer.start();
  const key = await makeKey(own.url, "acme", 100, 1_000_000);
  await own.query(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'no such report'; END $$`);
  await own.query(`CREATE TRIGGER reports BEFORE UPDATE ON hcqs.limits FOR EACH ROW
    WHEN (NEW.used - OLD.used > 60) EXECUTE FUNCTION refuse()`);
  const [server] = await startAll(t, 1, { DATABASE_GRACE: "3" }, own.url);
  const [client] = await clientsOf([server], key, 1);
  for (let i = 0; i < 20; i++) await client.ask();
  await own.stop();
  await client.askUntil(() => client.counts.admitted >= 120);
  // After the grace, too.
  await client.askUntil(() => client.counts.unavailable > 20);
  const alone = client.counts.admitted;
  await own.begin();
  await client.askUntil(() => client.counts.admitted > alone + 20);
  assert.ok((await usedOf("acme", own)) < alone);
  await until("the refusal to be logged", () => server.log.includes("no such report"));
  client.close();
  // A start, too, goes on although the report is refused.
  server.signal("SIGKILL");
  await server.begin();
  const [next] = await clientsOf([server], key, 1);
  await next.askUntil(() => next.counts.admitted > 0);
  next.close();
  await own.query("DROP TRIGGER reports ON hcqs.limits");
  await until("the report", async () => (await usedOf("acme", own)) >= alone);
});

test("a restart continues the grace, also of a server that admitted nothing in it", async (t) => {
  const own = await PostgresServer.start();
  const key = await makeKey(own.url, "acme", 100, 1_000_000);
  const [server] = await startAll(t, 1, { DATABASE_GRACE: "2" }, own.url);
  await own.stop();
  await until("the grace to end", async () => (await server.metric("hcqs_database_away_seconds")) > 2);
  await server.stop();
  await server.begin();
  const [client] = await clientsOf([server], key, 1);
  await client.askUntil(() => client.counts.unavailable >= 20);
  assert.equal(client.counts.admitted, 0);
  client.close();
});

test("a database whose limits are locked is away until they are free, and nothing is admitted after the grace", async (t) => {
  const own = await PostgresServer.start();
  const key = await makeKey(own.url, "acme", 100, 1_000_000);
  const [server] = await startAll(t, 1, { DATABASE_GRACE: "2" }, own.url);
  const [client] = await clientsOf([server], key, 1);
  let isOver = false;
  const busy = client.askUntil(() => isOver);
  await until("a steady use", () => client.counts.admitted > 100);
  const locker = new Client({ connectionString: own.url });
  await locker.connect();
  await locker.query("BEGIN; LOCK TABLE hcqs.limits");
  await until("the server to be alone", () => server.log.includes("the database is away"));
  const refusedMs = () => performance.now() - (client.admittedMs.at(-1) ?? 0);
  await until("nothing to be admitted for some seconds", () => refusedMs() > 4000);
  assert.equal(server.log.match(/the database is away/g)?.length, 1);
  await locker.query("COMMIT");
  await locker.end();
  const before = client.counts.admitted;
  await until("requests to be admitted", () => client.counts.admitted > before);
  isOver = true;
  await busy;
  client.close();
});

test("within the grace a server goes on alone, and what it admits is counted afterwards, also over a restart", async (t) => {
  const own = await PostgresServer.start();
  const quota = 1000;
  const key = await makeKey(own.url, "acme", 50, quota);
  const [server] = await startAll(t, 1, {}, own.url);
  const [client] = await clientsOf([server], key, 1);
  for (let i = 0; i < 20; i++) assert.equal(await client.ask(), "admitted");
  await until("the use to be read", async () => (await usedOf("acme", own)) >= 20);
  await own.stop();
  await until("the server to be alone", () => server.log.includes("the database is away"));
  const before = client.counts.admitted;
  await client.askUntil(() => client.counts.admitted >= before + 60);
  client.close();
  await server.stop();
  await server.begin();
  const [next] = await clientsOf([server], key, 1);
  await next.askUntil(() => next.counts.admitted >= 20);
  const admitted = client.counts.admitted + next.counts.admitted;
  await own.begin();
  await until("the report", async () => (await usedOf("acme", own)) >= admitted);
  await next.askUntil(() => next.counts.quota > 0);
  const all = client.counts.admitted + next.counts.admitted;
  assert.ok(all <= quota, `${all} admitted`);
  assert.ok(all >= quota - 100, `${all} admitted`);
  next.close();
});

test("a server reads everything anew after a restore, and refuses an empty database", async (t) => {
  const own = await PostgresServer.start();
  const key = await makeKey(own.url, "kept", 100, 1000);
  await own.query("CREATE TABLE saved_changes AS TABLE hcqs.changes");
  await own.query("CREATE TABLE saved_rows AS TABLE hcqs.rows");
  const lost = await makeKey(own.url, "lost", 100, 1000);
  const [server] = await startAll(t, 1, {}, own.url);
  const statusOf = async (of: string) =>
    (await fetch(`${server.api}/api/v1/datasets`, { headers: { Authorization: `Bearer ${of}` } })).status;
  assert.deepEqual([await statusOf(key), await statusOf(lost)], [200, 200]);
  await own.query(`BEGIN; TRUNCATE hcqs.changes, hcqs.rows; INSERT INTO hcqs.changes TABLE saved_changes;
    INSERT INTO hcqs.rows TABLE saved_rows; COMMIT`);
  // A further change gives the lost change's version again.
  const later = await makeKey(own.url, "later", 100, 1000);
  await until("the lost account to be gone", async () => (await statusOf(lost)) === 401);
  assert.deepEqual([await statusOf(key), await statusOf(later)], [200, 200]);
  // A dump is restored into a database that nobody has touched.
  await own.query("DROP SCHEMA hcqs CASCADE");
  await until("the server to be alone", () => server.log.includes("the database is away"));
  const schemas = await own.query("SELECT 1 FROM pg_namespace WHERE nspname = 'hcqs'");
  assert.equal(schemas.length, 0);
  await own.query("CREATE SCHEMA hcqs; CREATE TABLE hcqs.installed (schema_version integer)");
  const half = await runOn(own.url, "keys", "list");
  assert.match(half.stderr, /its schema hcqs isn't complete\), expected a backup that is restored whole\n$/);
  await own.query("DROP SCHEMA hcqs CASCADE");
  await server.stop();
  const again = new Running("server/main.ts", [], {
    ...{ DATABASE_URL: own.url, STATE_DIR: server.stateDir, PORT: "0", OPS_PORT: "0", THREADS: "1" },
  });
  const { code, stderr } = await again.finished();
  assert.equal(code, 1);
  assert.match(
    stderr,
    /DATABASE_URL: found .*it is empty, though this server has a copy.*, expected the database of those/,
  );
});

test("while a backup is restored table by table, a server waits for all of it", async (t) => {
  const own = await PostgresServer.start();
  const key = await makeKey(own.url, "acme", 100, 1_000_000);
  await own.query("CREATE TABLE backup AS SELECT * FROM hcqs.rows");
  const later = await makeKey(own.url, "later", 100, 1_000_000);
  const [server] = await startAll(t, 1, {}, own.url);
  await own.query(
    "DELETE FROM hcqs.changes WHERE version = (SELECT max(version) FROM hcqs.changes); DELETE FROM hcqs.rows",
  );
  await until("the server to notice", () => server.log.includes("is a backup being restored?"));
  await own.query("INSERT INTO hcqs.rows SELECT * FROM backup");
  await until("the whole backup to be read", () => server.log.includes("the database is back"));
  const [client, other] = await Promise.all(
    [key, later].map(async (each) => (await clientsOf([server], each, 1))[0]),
  );
  assert.equal(await client.ask(), "admitted");
  await assert.rejects(other.ask(), /401 !== 429/);
  client.close();
  other.close();
});

test("a database that refuses to count is away until it counts", async (t) => {
  const own = await PostgresServer.start();
  const key = await makeKey(own.url, "acme", 100, 1_000_000);
  await own.query(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'not now'; END $$`);
  const [server] = await startAll(t, 1, {}, own.url);
  const [client] = await clientsOf([server], key, 1);
  await client.askUntil(() => client.counts.admitted > 20);
  await own.query(
    "CREATE TRIGGER refusal BEFORE UPDATE ON hcqs.limits FOR EACH ROW EXECUTE FUNCTION refuse()",
  );
  await until("the server to be alone", async () => {
    await client.ask();
    return server.log.includes("the database is away");
  });
  const before = client.counts.admitted;
  await client.askUntil(() => client.counts.admitted > before + 300);
  assert.equal(server.log.match(/the database is away/g)?.length, 1);
  assert.doesNotMatch(server.log, /the database is back/);
  const { code, stderr } = await runOn(own.url, "keys", "create", "--account", "x", "--plan", "free");
  assert.equal(code, 0, stderr);
  await own.query("DROP TRIGGER refusal ON hcqs.limits");
  await until("the database to be back", () => server.log.includes("the database is back"));
  client.close();
});

test("a user that may only read is refused by a start and by a command", async () => {
  const own = await PostgresServer.start();
  await makeKey(own.url, "acme", 10, 10);
  await own.query("CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA hcqs TO reader");
  await own.query("GRANT SELECT ON ALL TABLES IN SCHEMA hcqs TO reader");
  const url = own.url.replace("hcqs@", "reader@");
  const env = { STATE_DIR: temporaryFolder(), PORT: "0", OPS_PORT: "0", THREADS: "1", DATABASE_URL: url };
  const server = new Running("server/main.ts", [], env);
  for (const { code, stderr } of [await server.finished(), await runOn(url, "keys", "list")]) {
    assert.equal(code, 1);
    assert.match(
      stderr,
      /DATABASE_URL: found .*the user may not change the tables\), expected SELECT, INSERT/,
    );
  }
});

test("a command says in one sentence that the database refuses or doesn't answer", async () => {
  const own = await PostgresServer.start();
  await makeKey(own.url, "acme", 10, 10);
  await own.query(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'audit says no'; END $$`);
  await own.query("CREATE TRIGGER audit BEFORE INSERT ON hcqs.rows FOR EACH ROW EXECUTE FUNCTION refuse()");
  const refused = await runOn(own.url, "keys", "create", "--account", "x", "--plan", "free");
  assert.deepEqual([refused.code, refused.stdout], [1, ""]);
  assert.match(
    refused.stderr,
    /^DATABASE_URL: found a database that refuses \(audit says no\), expected .*\n$/,
  );
  const locker = new Client({ connectionString: own.url });
  await locker.connect();
  await locker.query("BEGIN; LOCK TABLE hcqs.rows");
  const late = await runOn(own.url, "keys", "list");
  await locker.end();
  assert.match(late.stderr, /^DATABASE_URL: found no answer within 1 s, expected .*\n$/);
});

test("a server with accounts of its own refuses a database, and a copy refuses to be served alone", async (t) => {
  const stateDir = temporaryFolder();
  const made = await runKeys(stateDir, "create", "--account", "own", "--plan", "free");
  assert.equal(made.code, 0, made.stderr);
  const env = { STATE_DIR: stateDir, PORT: "0", OPS_PORT: "0", THREADS: "1" };
  const start = (more: Record<string, string>) =>
    new Running("server/main.ts", [], { ...env, ...more }).finished();
  const own = await start({ DATABASE_URL: database.url });
  assert.equal(own.code, 1);
  assert.match(own.stderr, /STATE_DIR: found accounts of its own, .* accounts export .* accounts import/);
  await makeKey(database.url, nextName(), 10, 10);
  const [server] = await startAll(t, 1);
  await server.stop();
  const copy = await start({ STATE_DIR: server.stateDir });
  assert.equal(copy.code, 1);
  assert.match(copy.stderr, /a copy of accounts that servers share through PostgreSQL, but no DATABASE_URL/);
});

for (const [what, url, said] of [
  [
    "that is unreachable",
    "postgres://hcqs@127.0.0.1:9/postgres",
    /127\.0\.0\.1:9: .*ECONNREFUSED.* see that it runs/,
  ],
  [
    "that doesn't exist",
    database.url.replace("/postgres", "/none"),
    /database "none" does not exist.*exists/,
  ],
  ["of an unknown user", database.url.replace("hcqs@", "nobody@"), /role "nobody" does not exist.*accepts/],
  ["without TLS", `${database.url}?sslmode=require`, /SSL.*sslmode/],
] as const)
  test(`a command names a database ${what} in one sentence, without its password`, async () => {
    const { code, stdout, stderr } = await runOn(url.replace("@", ":geheim@"), "accounts", "list");
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(stderr, said);
    assert.match(stderr, /^DATABASE_URL: found [^\n]+, expected [^\n]+\n$/);
    assert.doesNotMatch(stderr, /geheim/);
  });

test("a database with another schema version is refused", async () => {
  const own = await PostgresServer.start();
  await makeKey(own.url, "acme", 10, 10);
  await own.query("UPDATE hcqs.installed SET schema_version = 99");
  const { code, stderr } = await runOn(own.url, "keys", "list");
  assert.equal(code, 1);
  assert.match(stderr, /schema version 99.*expected schema version 1/);
});

test("of several hosts, the one that answers is used", async () => {
  const url = database.url.replace("127.0.0.1:", "127.0.0.1:9,127.0.0.1:");
  const { code, stderr } = await runOn(url, "accounts", "list");
  assert.equal(code, 0, stderr);
});
