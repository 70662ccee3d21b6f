import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { call, pricesPath, ready, spawnServer, temporaryFolder } from "../support/server.ts";
import { stateThatServed } from "../support/state.ts";

/** Tests a first start without settings, which writes a synthetic sample of full size. */

test("a first start without settings creates a sample and a working key, and a second start nothing", async () => {
  const home = temporaryFolder();
  const folder = path.join(home, "datasets/snapshots");
  mkdirSync(path.dirname(folder));
  const first = spawnServer({}, home);
  const { api } = await ready(first);
  assert.match(
    first.stdout,
    /^no snapshots in .*: writing a synthetic sample \(invented facilities and amounts\)\n/,
  );
  assert.deepEqual(readdirSync(folder).sort(), ["2023.1.parquet", "2024.1.parquet"]);
  assert.ok(existsSync(path.join(home, "var/state.sqlite")));

  assert.equal(first.stdout.match(/shown this once/g)?.length, 1);
  const [, key, url] = /curl -H "Authorization: Bearer (hcq_\w{49})" "([^"]+)"/.exec(first.stdout) ?? [];
  assert.ok(url.startsWith(`${api}/`));
  const response = await fetch(url, { headers: { Authorization: `Bearer ${key}` } });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("X-RateLimit-Remaining"), "999999");
  assert.match(await response.text(), /"data_version":"2024\.1"/);
  first.signal("SIGTERM");
  assert.equal((await first.finished()).code, 0);
  assert.ok(!first.stderr.includes(key), "the key isn't logged");

  const second = spawnServer({}, home);
  const again = await ready(second);
  assert.match(second.stdout, /^ready \S+ ops \S+\n$/);
  assert.equal((await call({ api: again.api, key }, `GET ${pricesPath}`)).remaining, 999_998);
  second.signal("SIGTERM");
  assert.equal((await second.finished()).code, 0);
  assert.equal(readdirSync(folder).length, 2);
});

test("a first start's sample gets version numbers that were never served", async () => {
  const home = temporaryFolder();
  const folder = path.join(home, "datasets/snapshots");
  const server = spawnServer({ stateDir: stateThatServed("2023.1", "2024.5", "2024.6") }, home);
  await ready(server);
  assert.deepEqual(readdirSync(folder).sort(), ["2023.2.parquet", "2024.7.parquet"]);
  server.signal("SIGTERM");
  assert.equal((await server.finished()).code, 0);
});
