import assert from "node:assert/strict";
import { after, test } from "node:test";
import { stateCodes } from "../../engine/index.ts";
import { generateKey, hashKey } from "../../server/accounts/keys.ts";
import { Store } from "../../server/store/store.ts";
import { callDocumented } from "../support/documented.ts";
import {
  type Answer,
  Connection,
  createKey,
  datasetsFolder,
  pricesPath,
  rawRequest,
  requestText,
  startServer,
  suppressedProcedure,
  temporaryFolder,
  versions,
} from "../support/server.ts";
import { account } from "../support/state.ts";

// The core has to give all these answers without any part.
process.env.SERVER_PARTS = "none";

/** Tests the answers to every kind of mistake, which requests count, and the answers at an account's two ceilings. */

const stateDir = temporaryFolder();
const [revokedKey, expiredKey] = [generateKey(), generateKey()];
const store = Store.open(stateDir);
const now = new Date();
const { id } = store.accounts.create({ ...account, name: "past" }, now);
store.keys.revoke(store.keys.create(id, hashKey(revokedKey), revokedKey.slice(-4), null, now), now);
store.keys.create(id, hashKey(expiredKey), expiredKey.slice(-4), now.getTime() - 60_000, now);
store.close();
const quotaKeys = [createKey(stateDir, "quota", { burst: 10_000, quota: 5 }), createKey(stateDir, "quota")];
const burstKey = createKey(stateDir, "burst", { burst: 1, quota: 1000 });

const server = await startServer({ stateDir, datasetsDir: datasetsFolder() });
after(() => server.stop());

/** A text without a method is a GET, and `?query` is a query for prices. */
function target(request: string): string {
  const [, method = "GET", rest] = /^(?:([A-Za-z]+) )?(.*)$/s.exec(request) ?? [];
  return `${method} ${rest.startsWith("?") ? pricesPath : ""}${rest}`;
}

const send = (request: string, headers: Record<string, string | undefined> = {}) =>
  callDocumented(server, target(request), headers);

function nextMonths(): number[] {
  const date = new Date();
  return [-60_000, 0].map((shift) => {
    const shifted = new Date(date.getTime() + shift);
    return Date.UTC(shifted.getUTCFullYear(), shifted.getUTCMonth() + 1) / 1000;
  });
}

function checkError(answer: Answer, status: number, type: string): void {
  assert.equal(answer.status, status);
  assert.equal(answer.error().type, type);
  assert.equal(answer.header("Content-Type"), "application/json");
  assert.match(answer.header("X-RateLimit-Remaining") ?? "", /^\d+$/);
  assert.ok(nextMonths().includes(answer.reset), `${answer.reset} is the start of the next month`);
  assert.equal(answer.header("WWW-Authenticate"), status === 401 ? "Bearer" : undefined);
  assert.equal(answer.header("Allow"), status === 405 ? "GET, HEAD" : undefined);
  assert.equal(answer.header("Retry-After"), undefined);
  assert.match(answer.header("X-Request-Id") ?? "", /^[0-9a-f]{16}-[0-9a-z]+$/);
  assert.equal(answer.header("Cache-Control"), "no-store");
  for (const name of ["ETag", "Content-Encoding", "Connection"])
    assert.equal(answer.header(name), undefined, name);
  assert.doesNotMatch(answer.body.toString(), /(-z){32}-/, "more than 64 characters of input");
}

const p = "procedure=5072";
const supported = /unknown parameter .*; supported are procedure, state, limit$/;
const limitRange = /^limit is .*, expected a whole number from 1 to 50$/;
const leadingZero = /^limit is .*, expected a whole number from 1 to 50 without leading zeros$/;
const validStates = new RegExp(`expected one of ${stateCodes.join(", ")}$`);
const isRequired = /^the parameter procedure is required$/;
const percentEncoded = /isn't percent-encoded UTF-8$/;
const control = /control character/;
const twice = /^"\w+" is given twice, expected once$/;
const loaded = new RegExp(`loaded are ${versions.join(", ").replaceAll(".", "\\.")}$`);

type Case = [request: string, status: number, type: string, param: string | undefined, message: RegExp];
const long = "-z".repeat(750);
const mistakes: Case[] = [
  ["GET /api/v1/healthcare/prices", 400, "missing_parameter", "procedure", isRequired],
  [`?${p}&offset=5`, 400, "invalid_parameter", "offset", supported],
  [`?${p}&limit=5&limit=5`, 400, "invalid_parameter", "limit", twice],
  ["?procedure=%zz", 400, "invalid_parameter", "procedure", percentEncoded],
  ["?procedure=5072%0A", 400, "invalid_parameter", "procedure", control],
  [`?${p}&limit=51`, 400, "invalid_parameter", "limit", limitRange],
  [`?${p}&limit=025`, 400, "invalid_parameter", "limit", leadingZero],
  [`?${p}&state=`, 400, "invalid_parameter", "state", validStates],

  ["?procedure=9999", 404, "not_found", undefined, /^there is no procedure "9999" in data version 2024\.3$/],
  [
    `?procedure=${suppressedProcedure}`,
    404,
    "not_found",
    undefined,
    /^no prices .*: the only row is suppressed$/,
  ],
  [`?${p}&state=md`, 404, "not_found", undefined, /no prices .* in MD .*all-payer/],
  [`/api/v1/versions/2024.03/healthcare/prices?${p}`, 404, "not_found", undefined, loaded],

  ["/api/v1/healthcare/facilities/%zz", 400, "invalid_parameter", "ccn", percentEncoded],
  ["/api/v1/pages/%7F", 400, "invalid_parameter", "cursor", control],
  [`/api/v1/pages/${long}`, 400, "invalid_parameter", "cursor", /is no cursor/],
  [`/api/v1/versions/2023.1%/healthcare/prices?${p}`, 400, "invalid_parameter", "version", percentEncoded],
  ["/api/v1/versions/%zz/healthcare/facilities/%zz", 400, "invalid_parameter", "version", percentEncoded],
  [`/api/v1/healthcare/facilities/${long}`, 404, "not_found", undefined, /no facility/],
  [`/api/v1/versions/${long}/healthcare/prices?${p}`, 404, "not_found", undefined, loaded],
  ["/api/v1/healthcare/facilities/000001%2F", 404, "not_found", undefined, /"000001\/"/],
  ["/api/v1/healthcare/facilities/00000+", 404, "not_found", undefined, /"00000\+"/],
  ["/api/v1/healthcare/facilities/%2530%30001", 404, "not_found", undefined, /"%300001"/],
  [`/api/v1/versions/%2E%2E/healthcare/prices?${p}`, 404, "not_found", undefined, loaded],

  ["/", 404, "unknown_endpoint", undefined, /^there is no endpoint at "\/"$/],
  ["/api/v1x", 404, "unknown_endpoint", undefined, /no endpoint at "\/api\/v1x"/],
  [`/api/v1/healthcare/prices/?${p}`, 404, "unknown_endpoint", undefined, /no endpoint/],
  [`/api/v1/healthcare/price%73?${p}`, 404, "unknown_endpoint", undefined, /no endpoint/],
  [`/api/v1/versions%2F2023.1/healthcare/prices?${p}`, 404, "unknown_endpoint", undefined, /no endpoint/],
  [`/${long}`, 404, "unknown_endpoint", undefined, /no endpoint/],
  [`/api/v1/versions//healthcare/prices?${p}`, 404, "unknown_endpoint", undefined, /no endpoint/],
  ["/api/v1/versions/2023.1/versions/2023.1/healthcare/prices", 404, "unknown_endpoint", undefined, /no end/],

  [`POST ?${p}`, 405, "method_not_allowed", undefined, /method POST isn't allowed, only GET and HEAD$/],
  [`get ?${p}`, 405, "method_not_allowed", undefined, /get/],
  [`${"X".repeat(300)} ?${p}`, 405, "method_not_allowed", undefined, /method X{1,64} isn't/],

  // These requests have two mistakes. The path is checked first, then the method, the parameters and the data.
  ["POST /nothing?x=%zz", 404, "unknown_endpoint", undefined, /no endpoint/],
  ["POST /api/v1/healthcare/facilities/%zz", 405, "method_not_allowed", undefined, /POST/],
  ["?procedure=9999&bad=1", 400, "invalid_parameter", "bad", supported],
  ["/api/v1/versions/2022.1/healthcare/prices", 400, "missing_parameter", "procedure", isRequired],
];

for (const [request, status, type, param, message] of mistakes)
  test(`${request.slice(0, 100)} gives ${status} ${type} and counts against the quota`, async () => {
    const before = (await send(`?${p}`)).remaining;
    const answer = await send(request);
    checkError(answer, status, type);
    assert.equal(answer.error().param, param);
    assert.match(answer.error().message, message);
    assert.equal(answer.remaining, before - 1);
  });

test("bytes that are no UTF-8 give invalid_parameter", async () => {
  const headers = { Authorization: `Bearer ${server.key}` };
  for (const request of ["?procedure=\xff\xfe", "/api/v1/healthcare/facilities/\xff\xfe"]) {
    const text = requestText(target(request), headers);
    const answer = await rawRequest(server.api, Buffer.from(text, "latin1"));
    checkError(answer, 400, "invalid_parameter");
    assert.match(answer.error().message, percentEncoded);
  }
});

for (const [what, authorization] of [
  ["no Authorization", undefined],
  ["an empty one", ""],
  ["Basic authentication", "Basic dXNlcjpwYXNz"],
  ["a bare key", server.key],
  ["a scheme that starts like Bearer", `Bearers ${server.key}`],
])
  test(`a request gets missing_api_key for its Authorization header: ${what}`, async () => {
    const answer = await send(`?${p}`, { Authorization: authorization });
    checkError(answer, 401, "missing_api_key");
    assert.equal(answer.remaining, 0);
    assert.match(answer.error().message, /Authorization: Bearer <API key>/);
    assert.equal(answer.error().param, undefined);
  });

const flipped = `${server.key.slice(0, -1)}${server.key.endsWith("0") ? "1" : "0"}`;
const wrongKeys = Object.entries({
  malformed: "secret",
  "with a wrong checksum": flipped,
  unknown: generateKey(),
  revoked: revokedKey,
  expired: expiredKey,
  "in lower case": server.key.toLowerCase(),
  "followed by more": `${server.key} ${server.key}`,
  "cut short": server.key.slice(0, -1),
  enormous: "x".repeat(3000),
  "not ASCII": "hcq_ключ",
});
for (const [what, key] of wrongKeys)
  test(`a key that is ${what} gets the same invalid_api_key error, which doesn't repeat it`, async () => {
    const answer = await send(`?${p}`, { Authorization: `Bearer ${key}` });
    checkError(answer, 401, "invalid_api_key");
    assert.equal(answer.remaining, 0);
    assert.equal(
      answer.body.toString(),
      '{"error":{"type":"invalid_api_key","message":"the API key isn\'t valid"}}',
    );
  });

test("the key is checked before path, method and parameters, and unauthorized requests don't count", async () => {
  const before = (await send(`?${p}`)).remaining;
  for (const request of ["/nothing", `POST ?${p}`, "?bad=1", "?procedure=9999", "OPTIONS /"])
    for (const [authorization, type] of [
      [undefined, "missing_api_key"],
      [`Bearer ${generateKey()}`, "invalid_api_key"],
    ])
      checkError(await send(request, { Authorization: authorization }), 401, String(type));
  assert.equal((await send(`?${p}`)).remaining, before - 1);
});

test("304, HEAD and error responses count against the quota", async () => {
  const first = await send(`?${p}`);
  for (const [i, [request, headers, status]] of (
    [
      [`?${p}`, { "If-None-Match": first.header("ETag") }, 304],
      [`HEAD ?${p}`, {}, 200],
      ["HEAD ?limit=0", {}, 400],
      ["POST ?", { "Content-Length": "0" }, 405],
    ] as const
  ).entries()) {
    const answer = await send(request, headers);
    assert.deepEqual([answer.status, answer.remaining], [status, first.remaining - 1 - i], request);
  }
});

test("the usage is told anew to every request, which counts itself", async () => {
  const used: number[] = [];
  for (let i = 0; i < 4; i++) {
    const { status, body } = await send("GET /api/v1/usage");
    assert.equal(status, 200);
    used.push(JSON.parse(body.toString()).quota.used);
  }
  assert.deepEqual(
    used,
    used.map((_, i) => used[0] + i),
  );
});

function checkRefused(answer: Answer, ceiling: string, message: RegExp): void {
  assert.equal(answer.status, 429);
  const { type, ceiling: reached, message: said } = answer.error();
  assert.deepEqual([type, reached], ["rate_limit_exceeded", ceiling]);
  assert.match(said, message);
  assert.equal(answer.header("Content-Type"), "application/json");
  assert.equal(answer.header("X-RateLimit-Remaining"), "0");
  assert.equal(answer.header("Cache-Control"), "no-store");
  assert.match(answer.header("Retry-After") ?? "", /^[1-9]\d*$/);
}

test("an account's keys share its quota, and once it is used up every request gets 429", async () => {
  const asked: [request: string, status: number][] = [
    [`?${p}`, 200],
    ["GET /api/v1/healthcare/prices", 400],
    ["GET /nothing", 404],
    [`POST ?${p}`, 405],
    [`HEAD ?${p}`, 200],
  ];
  const bearer = (i: number) => ({ Authorization: `Bearer ${quotaKeys[i % 2]}` });
  for (const [i, [request, status]] of asked.entries()) {
    const answer = await send(request, bearer(i));
    assert.deepEqual([answer.status, answer.remaining], [status, 4 - i]);
  }
  for (const [i, [request]] of asked.entries()) {
    const answer = await send(request, bearer(i));
    if (request.startsWith("HEAD")) assert.deepEqual([answer.status, answer.body.length], [429, 0]);
    else checkRefused(answer, "quota", /per month/);
    assert.ok(nextMonths().includes(answer.reset));
    const wait = answer.reset - Date.now() / 1000 - Number(answer.header("Retry-After"));
    assert.ok(Math.abs(wait) < 60, `${wait} s`);
  }
});

test("a request beyond the rate limit gets 429 with a Retry-After of one second", async () => {
  const connection = await Connection.open(server.api);
  const text = requestText(target(`?${p}`), { Authorization: `Bearer ${burstKey}` });
  const before = Date.now() / 1000;
  // No time passes between requests in the same segment.
  await connection.send(text + text);
  assert.equal((await connection.answer()).status, 200);
  const refused = await connection.answer();
  const after = Date.now() / 1000;
  checkRefused(refused, "burst", /per second/);
  assert.equal(refused.header("Retry-After"), "1");
  assert.ok(refused.reset > before - 1 && refused.reset <= after + 2, `${refused.reset} after ${before}`);
  connection.close();
});

test("a percent-encoded cursor gives the same page", async () => {
  const { next } = (await send(`?${p}`)).json() as { next: string };
  const cursor = next.slice(next.lastIndexOf("/") + 1);
  const escaped = cursor.replaceAll(/./g, (letter) => `%${letter.charCodeAt(0).toString(16)}`);
  const answer = await send(`/api/v1/pages/${escaped}`);
  assert.equal(answer.status, 200);
  assert.deepEqual(answer.json(), (await send(next)).json());
});
