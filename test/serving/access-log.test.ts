import assert from "node:assert/strict";
import { test } from "node:test";
import { KeyTable } from "../../server/accounts/key-table.ts";
import { generateKey, hashKey } from "../../server/accounts/keys.ts";
import { AccessLog, requestShown } from "../../server/serving/access-log.ts";
import type { HttpRequest, HttpResponse } from "../../server/serving/listener.ts";
import type { Access } from "../../server/shared/messages.ts";
import { smallTables } from "../support/tables.ts";

/** Tests which requests the access log has, and how it writes them. */

const key = generateKey(Buffer.alloc(32, 7));
const prices = "/api/v1/healthcare/prices";

for (const [method, path, query, shown] of [
  ["GET", prices, "procedure=5072&state=CA", `GET ${prices}?procedure=5072&state=CA`],
  ["GET", prices, "", `GET ${prices}?`],
  ["GET", prices, undefined, `GET ${prices}`],
  ["GET", prices, "secret=abc&procedure&x=", `GET ${prices}?secret=…&procedure&x=…`],
  ["GET", `${prices}/${key}`, `procedure=${key}`, `GET ${prices}/…?procedure=…`],
  ["GET", "/signup/Ab-12_cd", "token=abc", "GET /signup/…?token=…"],
  ["GET", "/signup", undefined, "GET /signup"],
  ["POST", "/portal/signup.confirm/a/b9", undefined, "POST /portal/signup.confirm/a/…"],
  ["POST", `/portal/${"a".repeat(24)}/${"a".repeat(25)}`, undefined, `POST /portal/${"a".repeat(24)}/…`],
  ["GET", "/portals/Ab-12", undefined, "GET /portals/Ab-12"],
  ["A".repeat(20), "/", undefined, `${"A".repeat(16)} /`],
  ["GET", "/a".repeat(1000), undefined, `GET ${"/a".repeat(1000)}`],
  ["GET", "/a".repeat(1001), undefined, `GET ${"/a".repeat(1000).slice(0, -1)}…`],
] as const)
  test(`the log shows ${method.slice(0, 4)} ${path.slice(0, 40)} ${query} without secrets`, () => {
    assert.equal(requestShown(method, path, query).replaceAll(/hcq_\S*?…/g, "…"), shown);
  });

/** What a request of uWebSockets.js has that the log reads. */
function requestOf(headers: Record<string, string>): HttpRequest {
  return {
    getHeader: (name: string) => headers[name] ?? "",
    forEach: (take: (name: string, value: string) => void) => {
      for (const [name, value] of Object.entries(headers)) take(name, value);
    },
  } as unknown as HttpRequest;
}
const response = { getRemoteAddressAsText: () => Buffer.from("192.0.2.7") } as unknown as HttpResponse;

const keys = new KeyTable();
keys.put({ id: 12, hash: hashKey(key), expires_at: 1, revoked_at: 1 }, 3);
const { names } = smallTables();
names.put(3, "acme", "free");

function logOf(accounts: readonly string[] | undefined, perSecond = 100, trustedProxies = 0) {
  const told: Access[] = [];
  const tell = (access: Access) => told.push(access);
  return { told, log: new AccessLog({ perSecond, accounts, keys, names, trustedProxies, tell }) };
}

test("a line of the log has the request's id, account, key, client, answer and time, and no secret", (t) => {
  let nowMs = 5000;
  t.mock.method(performance, "now", () => nowMs);
  const { told, log } = logOf(undefined, 100, 1);
  const caller = log.callerOf(
    response,
    requestOf({
      authorization: `Bearer ${key}`,
      "user-agent": `curl/8 é ${key}`,
      "x-forwarded-for": "a, 198.51.100.1",
    }),
    true,
  );
  nowMs += 3.45678;
  log.tell(caller ?? assert.fail(), "id-1", "GET /", 200, 77);
  const [{ userAgent, ...line }] = told;
  assert.deepEqual(line, {
    ...{ requestId: "id-1", account: "acme", keyId: 12, address: "198.51.100.1" },
    ...{ request: "GET /", status: 200, bytes: 77, ms: 3.457 },
  });
  assert.equal(userAgent, "curl/8 ? …");
  const words = "ab.".repeat(100);
  const clientOf = (agentLength: number, addressLength: number) =>
    log.callerOf(
      response,
      requestOf({
        "user-agent": words.slice(0, agentLength),
        "x-forwarded-for": words.slice(0, addressLength),
      }),
      true,
    );
  const [whole, cut] = [clientOf(200, 64), clientOf(201, 65)];
  assert.deepEqual([whole?.userAgent, whole?.address], [words.slice(0, 200), words.slice(0, 64)]);
  assert.deepEqual([cut?.userAgent, cut?.address], [`${words.slice(0, 199)}…`, `${words.slice(0, 63)}…`]);
});

test("without names of accounts, each timed request is logged; with them, only theirs, timed or not", () => {
  const theirs = requestOf({ authorization: `Bearer ${key}` });
  const others = [{}, { authorization: "Bearer x" }, { authorization: `Bearer ${generateKey()}` }].map(
    requestOf,
  );
  const isLogged = (log: AccessLog, request: HttpRequest, isTimed: boolean) =>
    log.callerOf(response, request, isTimed) !== undefined;
  const all = logOf(undefined).log;
  for (const request of [theirs, ...others])
    assert.deepEqual([isLogged(all, request, true), isLogged(all, request, false)], [true, false]);
  assert.deepEqual(Object.keys(all.callerOf(response, others[0], true) ?? {}), [
    "address",
    "userAgent",
    "beganMs",
  ]);
  assert.equal(all.callerOf(response, others[0], true)?.address, "192.0.2.7");
  const { log } = logOf(["other", "acme"]);
  for (const isTimed of [true, false]) {
    assert.ok(isLogged(log, theirs, isTimed));
    for (const request of others) assert.ok(!isLogged(log, request, isTimed));
  }
  assert.ok(!isLogged(logOf(["other"]).log, theirs, true));
});

test("beyond its number of requests in a second, the log leaves requests out", (t) => {
  let nowMs = 5000;
  t.mock.method(performance, "now", () => nowMs);
  const { log } = logOf(undefined, 2);
  const logged = () => log.callerOf(response, requestOf({}), true) !== undefined;
  assert.deepEqual([logged(), logged(), logged()], [true, true, false]);
  nowMs += 1000;
  assert.deepEqual([logged(), logged(), logged()], [true, true, false]);
});
