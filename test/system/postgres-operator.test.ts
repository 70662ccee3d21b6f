import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { delaying } from "../support/delaying-proxy.ts";
import { PostgresServer } from "../support/postgres-server.ts";
import { documentAt } from "../support/readme.ts";
import { freePort, Running, temporaryFolder, until } from "../support/server.ts";
import { admittedBy, makeKey, runOn, SharedClient, SharedServer } from "../support/shared-server.ts";

/** Tests what an operator does with servers and their PostgreSQL: TLS, roles, pools, failover, restores, months. */

/** Starts a server that stops with the test. */
async function start(t: { after(work: () => void): void }, url: string, env: Record<string, string> = {}) {
  const server = await SharedServer.start(url, env);
  t.after(() => server.signal("SIGKILL"));
  return server;
}

test("sslmode means what it means to psql", async (t) => {
  const certificate = path.join(temporaryFolder(), "ca.pem");
  const key = path.join(path.dirname(certificate), "key.pem");
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
  const made = ["-keyout", key, "-out", certificate, "-days", "2", ...subject];
  execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", ...made], { stdio: "ignore" });
  const own = await PostgresServer.start();
  await own.stop();
  own.write("server.crt", readFileSync(certificate, "utf8"));
  own.write("server.key", readFileSync(key, "utf8"));
  await own.begin(["fsync=off", "ssl=on"]);
  const at = own.url.replace("127.0.0.1", "localhost");
  const list = (query: string) => runOn(`${at}${query}`, "accounts", "list");
  const isEncrypted = async () => {
    const ssl = "SELECT count(*)::int AS ssl FROM pg_stat_ssl WHERE ssl AND pid <> pg_backend_pid()";
    return ((await own.query<{ ssl: number }>(ssl))[0]?.ssl ?? 0) > 0;
  };
  const given = `sslrootcert=${certificate}`;
  for (const query of ["", "?sslmode=prefer", "?sslmode=require", `?sslmode=verify-full&${given}`]) {
    const server = await start(t, `${at}${query}`);
    assert.ok(await isEncrypted(), query);
    await server.stop();
  }
  for (const query of ["?sslmode=disable", "?sslmode=allow"]) {
    const server = await start(t, `${at}${query}`);
    assert.ok(!(await isEncrypted()), query);
    await server.stop();
  }
  for (const name of [`?sslmode=verify-ca&${given}`, `?${given}`]) {
    // The certificate has another name than this address.
    const { code, stderr } = await runOn(`${own.url}${name}`, "accounts", "list");
    assert.equal(code, 0, stderr);
  }
  for (const [query, said] of [
    ["?sslmode=verify-full", /self-signed certificate.*, expected .*sslrootcert/],
    ["?sslmode=verify-full&sslrootcert=/none.pem", /, open '\/none\.pem'.*, expected files of certificates/],
    ["?sslmode=verify-ca", /sslmode=verify-ca without sslrootcert, expected both/],
    ["?sslmode=bogus", /another sslmode, expected disable, allow, prefer/],
  ] as const) {
    const { code, stderr } = await list(query);
    assert.equal(code, 1);
    assert.match(stderr, /^DATABASE_URL[^\n]+, expected [^\n]+\n$/);
    assert.match(stderr, said);
  }
});

test("a missing and a wrong password are named by a command and by a start", async () => {
  const own = await PostgresServer.start();
  await makeKey(own.url, "acme", 10, 10);
  await own.query(
    "SET password_encryption = 'scram-sha-256'; CREATE ROLE locked SUPERUSER LOGIN PASSWORD 'a@b'",
  );
  own.write("pg_hba.conf", "host all locked all scram-sha-256\nhost all all all trust\n");
  await own.stop();
  await own.begin();
  const at = (password: string) => own.url.replace("hcqs@", `locked${password}@`);
  for (const password of ["", ":wrong"]) {
    const env = { STATE_DIR: temporaryFolder(), PORT: "0", OPS_PORT: "0", THREADS: "1" };
    const server = new Running("server/main.ts", [], { ...env, DATABASE_URL: at(password) });
    for (const { code, stderr } of [await runOn(at(password), "accounts", "list"), await server.finished()]) {
      assert.equal(code, 1);
      assert.match(stderr, /DATABASE_URL: found .*, expected a user and password that .*\n$/);
    }
  }
  const { code, stderr } = await runOn(at(":a%40b"), "accounts", "list");
  assert.equal(code, 0, stderr);
});

test("the rights of the documented role are enough once the tables are made", async (t) => {
  const own = await PostgresServer.start();
  const key = await makeKey(own.url, "acme", 100, 100);
  await own.query("CREATE ROLE hcqs_server LOGIN");
  const [, grants] =
    /To separate the rights.*?```sql\n(.*?)```/s.exec(documentAt("server/parts/postgres/README.md")) ?? [];
  for (const grant of (grants ?? assert.fail("no SQL")).trim().split("\n")) await own.query(grant);
  const url = own.url.replace("hcqs@", "hcqs_server@");
  const server = await start(t, url);
  const client = await SharedClient.of(server, key);
  assert.equal(await client.ask(), "admitted");
  client.close();
  await makeKey(url, "other", 10, 10);
  await own.query("REVOKE ALL ON ALL TABLES IN SCHEMA hcqs FROM hcqs_server");
  const { code, stderr } = await runOn(url, "accounts", "list");
  assert.equal(code, 1);
  assert.match(stderr, /^DATABASE_URL: found .*permission denied.*, expected a user that .*\n$/);
});

test("PgBouncer in session mode serves", async (t) => {
  const own = await PostgresServer.start();
  const [folder, port] = [temporaryFolder(), await freePort()];
  const settings = path.join(folder, "pgbouncer.ini");
  writeFileSync(
    settings,
    `[databases]\npostgres = host=127.0.0.1 port=${own.port} user=hcqs\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${port}
auth_type = any\npool_mode = session\nunix_socket_dir =\n`,
  );
  if (process.getuid?.() === 0) chownSync(folder, 65_534, 65_534);
  const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const bouncer = spawn("pgbouncer", [settings], { ...user, stdio: "ignore" });
  after(() => bouncer.kill("SIGKILL"));
  const url = own.url.replace(String(own.port), String(port)).replace("hcqs@", "hcqs:x@");
  await until("PgBouncer to serve", async () => (await runOn(url, "accounts", "list")).code === 0);
  const key = await makeKey(url, "acme", 100, 30);
  const server = await start(t, url);
  const client = await SharedClient.of(server, key);
  await client.askUntil(() => client.counts.quota > 0);
  assert.equal(client.counts.admitted, 30);
  client.close();
});

test("a promoted synchronous standby has all that was granted, and a standby is passed over before", async (t) => {
  const primary = await PostgresServer.start([]);
  const standby = await primary.standby("second");
  await primary.query("ALTER SYSTEM SET synchronous_standby_names = 'second'");
  await primary.query("SELECT pg_reload_conf()");
  await until("the standby to be synchronous", async () => {
    const [row] = await primary.query<{ sync_state: string }>("SELECT sync_state FROM pg_stat_replication");
    return row?.sync_state === "sync";
  });
  const hosts = `127.0.0.1:${standby.port},127.0.0.1:${primary.port}`;
  const url = primary.url.replace(`127.0.0.1:${primary.port}`, hosts);
  const quota = 400;
  const key = await makeKey(url, "acme", 200, quota);
  const servers = await Promise.all([1, 2].map(() => start(t, url, { DATABASE_GRACE: "0" })));
  const clients = await Promise.all(servers.map((server) => SharedClient.of(server, key)));
  await Promise.all(clients.map((client) => client.askUntil(() => admittedBy(clients) >= 150)));
  await primary.stop("SIGQUIT");
  await standby.promote();
  await standby.query("ALTER SYSTEM SET synchronous_standby_names = ''");
  await standby.query("SELECT pg_reload_conf()");
  await Promise.all(clients.map((client) => client.askUntil(() => client.counts.quota > 0)));
  assert.ok(admittedBy(clients) <= quota, `${admittedBy(clients)} admitted`);
  assert.ok(admittedBy(clients) >= quota - 150, `${admittedBy(clients)} admitted`);
  for (const client of clients) client.close();
});

test("a standby alone is refused in one sentence", async () => {
  const primary = await PostgresServer.start([]);
  await makeKey(primary.url, "acme", 10, 10);
  const standby = await primary.standby("second");
  const { code, stderr } = await runOn(standby.url, "accounts", "list");
  assert.equal(code, 1);
  assert.match(stderr, /it is a standby\), expected the primary: name all hosts/);
});

test("a new month begins at 0, and the last month's use stays", async (t) => {
  const own = await PostgresServer.start();
  const key = await makeKey(own.url, "acme", 1000, 20);
  const server = await start(t, own.url);
  const client = await SharedClient.of(server, key);
  await client.askUntil(() => client.counts.quota > 0);
  assert.equal(client.counts.admitted, 20);
  await own.query("UPDATE hcqs.limits SET month = month - 1, at = at - interval '1 month'");
  await client.askUntil(() => client.counts.admitted >= 40);
  const [row] = await own.query<{ used: number; used_before: number }>(
    "SELECT used, used_before FROM hcqs.limits",
  );
  assert.deepEqual(row, { used: 20, used_before: 20 });
  client.close();
});

test("every server shows the use of all servers, by day", async (t) => {
  const own = await PostgresServer.start();
  const key = await makeKey(own.url, "acme", 100, 1000);
  const server = await start(t, own.url);
  const client = await SharedClient.of(server, key);
  for (let i = 0; i < 20; i++) assert.equal(await client.ask(), "admitted");
  client.close();
  await server.stop();
  await own.query("INSERT INTO hcqs.days SELECT account, date_trunc('month', at)::date, 7 FROM hcqs.limits");
  const other = await start(t, own.url);
  const { used, remaining, days } = await other.usage(key);
  assert.deepEqual([used, remaining], [21, 979]);
  assert.equal(days[0], days.length === 1 ? 21 : 7);
  assert.equal(
    days.reduce((sum, of) => sum + of, 0),
    21,
  );
});

test("a dump that is restored into another database serves", async (t) => {
  const own = await PostgresServer.start();
  const key = await makeKey(own.url, "acme", 100, 50);
  const server = await start(t, own.url);
  const client = await SharedClient.of(server, key);
  for (let i = 0; i < 20; i++) await client.ask();
  client.close();
  await server.stop();
  const dump = path.join(temporaryFolder(), "dump.sql");
  execFileSync("pg_dump", ["--file", dump, own.url]);
  await own.query("CREATE DATABASE restored");
  const url = own.url.replace("/postgres", "/restored");
  execFileSync("psql", ["--quiet", "--file", dump, url], { stdio: "ignore" });
  const other = await start(t, url);
  const next = await SharedClient.of(other, key);
  await next.askUntil(() => next.counts.quota > 0);
  assert.equal(next.counts.admitted, 30);
  next.close();
});

test("each event is delivered, at least once and with one id, also if a server is killed while it delivers", async (t) => {
  const own = await PostgresServer.start();
  const ids: string[] = [];
  let isHanging = true;
  const receiver = createServer((request, response) => {
    ids.push(String(request.headers["webhook-id"]));
    request.resume();
    if (!isHanging) response.end();
  });
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  after(() => {
    receiver.close();
    receiver.closeAllConnections();
  });
  const hook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  const made = await runOn(
    own.url,
    "keys",
    ...["create", "--account", "acme", "--plan", "enterprise", "--burst", "100", "--quota", "40"],
    ...["--webhook", hook],
  );
  assert.equal(made.code, 0, made.stderr);
  const servers = await Promise.all([1, 2].map(() => start(t, own.url, { WEBHOOK_ALLOW_LOOPBACK: "true" })));
  const clients = await Promise.all(servers.map((server) => SharedClient.of(server, made.stdout.trim())));
  await Promise.all(clients.map((client) => client.askUntil(() => client.counts.quota > 0)));
  await until("a delivery to begin", () => ids.length > 0);
  const [{ holder }] = await own.query<{ holder: string }>(
    "SELECT holder FROM hcqs.turns WHERE name = 'deliver'",
  );
  assert.ok(holder.length > 0);
  // It isn't known which server delivers, so one is killed and the other one goes on, now or after the turn.
  await servers[0].kill();
  isHanging = false;
  await until("all events", async () => {
    const { stdout } = await runOn(own.url, "events", "list", "--json");
    const events: { delivery: string }[] = JSON.parse(stdout);
    return events.length === 3 && events.every(({ delivery }) => delivery === "delivered");
  });
  assert.equal(new Set(ids).size, 3);
  for (const client of clients) client.close();
});

for (const ms of [20, 100])
  test(`with the database ${ms} ms away, requests wait and most of the rate is admitted`, async (t) => {
    const own = await PostgresServer.start();
    const rate = 50;
    const key = await makeKey(own.url, "acme", rate, 1_000_000);
    const proxy = await delaying(own.port, ms);
    after(() => proxy.close());
    const url = own.url.replace(String(own.port), String(proxy.port));
    const server = await start(t, url);
    const clients = await Promise.all(Array.from({ length: 8 }, () => SharedClient.of(server, key)));
    let asked = 0;
    const beganMs = performance.now();
    const endMs = beganMs + 6000;
    await Promise.all(
      clients.map(async (client) => {
        while (performance.now() < endMs) {
          await client.ask();
          asked++;
          await delay(60);
        }
      }),
    );
    const seconds = (performance.now() - beganMs) / 1000;
    const admitted = admittedBy(clients);
    assert.ok(admitted <= rate * seconds + 1.75 * rate + 1, `${admitted} in ${seconds} s`);
    // `test/parts/postgres/permits.test.ts` has the share, which doesn't depend on the machine's speed.
    assert.ok(admitted >= 0.5 * Math.min(rate * seconds, asked), `${admitted} of ${asked} in ${seconds} s`);
    for (const client of clients) client.close();
  });
