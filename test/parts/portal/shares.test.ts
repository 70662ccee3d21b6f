import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  ample,
  createKey,
  datasetsFolder,
  pricesPath,
  rawRequest,
  requestText,
  startServer,
  temporaryFolder,
} from "../../support/server.ts";
import { preloaded } from "../../support/stopping.ts";

const stateDir = temporaryFolder();
const ownKey = createKey(stateDir, "visitors", ample);
const [nowMs, noonMs] = [Date.now(), new Date().setUTCHours(12, 0, 0, 0)];
const env = {
  // The server's wall clock starts at noon, because shares begin anew at midnight.
  ...preloaded(`const { now } = Date; Date.now = () => now() + ${noonMs - nowMs};`),
  PORTAL: "on",
  PORTAL_ACCOUNT: "visitors",
  PORTAL_ADDRESS_RATE: "0",
  PORTAL_ADDRESS_DAILY: "3",
  TRUSTED_PROXIES: "1",
  THREADS: "2",
};
const server = await startServer({ stateDir, datasetsDir: datasetsFolder(["2023.1"]), env });
after(() => server.stop());

const page = await rawRequest(server.api, requestText("GET /", {}));
const [, pagesKey = ""] = /"key":"(hcq_[0-9A-Za-z]+)"/.exec(String(page.body)) ?? [];

/** Each request has its own connection, so that any thread may answer it. */
const ask = (key: string, address: string) =>
  rawRequest(
    server.api,
    requestText(`GET ${pricesPath}?procedure=5072`, {
      Authorization: `Bearer ${key}`,
      "X-Forwarded-For": address,
    }),
  );

test("an address has a share of the pages' key, over all threads, and the account's other keys have none", async () => {
  for (const address of ["192.0.2.1", "2001:db8::1", "192.0.2.1"]) {
    const statuses = [];
    for (let i = 0; i < 5; i++) statuses.push((await ask(pagesKey, address)).status);
    const isNew = statuses[0] === 200;
    assert.deepEqual(statuses, isNew ? [200, 200, 200, 429, 429] : [429, 429, 429, 429, 429], address);
  }
  // The same /64, and an address that the client made up itself.
  assert.equal((await ask(pagesKey, "2001:db8::2")).status, 429);
  assert.equal((await ask(pagesKey, "198.51.100.7, 192.0.2.1")).status, 429);
  assert.equal((await ask(pagesKey, "192.0.2.1, 198.51.100.7")).status, 200);
  for (let i = 0; i < 5; i++) assert.equal((await ask(ownKey, "192.0.2.1")).status, 200);
});

test("a request beyond the share doesn't count, and says until when, and how to get a key", async () => {
  const before = (await ask(ownKey, "192.0.2.1")).remaining;
  const answer = await ask(pagesKey, "192.0.2.1");
  const { type, ceiling, message } = answer.error();
  assert.deepEqual([answer.status, type, ceiling], [429, "rate_limit_exceeded", "quota"]);
  assert.match(message, /your address .* per day; with a key of your own .* \/signup; retry in \d+ s$/);
  assert.equal(answer.reset % 86_400, 0);
  const untilMidnight = Number(answer.header("Retry-After"));
  assert.ok(untilMidnight > 11 * 3600 && untilMidnight <= 12 * 3600, `${untilMidnight} seconds after noon`);
  assert.equal(answer.header("X-RateLimit-Remaining"), "0");
  assert.equal((await ask(ownKey, "192.0.2.1")).remaining, before - 1);
});
