import assert from "node:assert/strict";
import { after, afterEach, beforeEach, test } from "node:test";
import { KeyTable } from "../../server/accounts/key-table.ts";
import { generateKey, hashKey } from "../../server/accounts/keys.ts";
import { burstExceeded, quotaExceeded } from "../../server/accounts/limits.ts";
import { AccountNames } from "../../server/accounts/names.ts";
import { databaseAway, PermitTable } from "../../server/accounts/permit-table.ts";
import { routes } from "../../server/api/routes.ts";
import { AccessLog } from "../../server/serving/access-log.ts";
import { withCors } from "../../server/serving/cors.ts";
import { serveHttp } from "../../server/serving/listener.ts";
import { maxWaiting, PermitQueue } from "../../server/serving/permit-queue.ts";
import type { Reply } from "../../server/serving/reply.ts";
import { RequestIds } from "../../server/serving/request-ids.ts";
import { Responder } from "../../server/serving/responder.ts";
import type { After } from "../../server/serving/streaming.ts";
import { WaitingAnswers } from "../../server/serving/waiting.ts";
import { Connections, maxWaitingBytes } from "../../server/shared/connections.ts";
import type { Access } from "../../server/shared/messages.ts";
import { monthOf, startOfMonth } from "../../server/shared/months.ts";
import { ThreadTraffic, Traffic } from "../../server/shared/traffic.ts";
import { serviceOf } from "../support/asking.ts";
import { type Answer, Connection, requestText, until } from "../support/connection.ts";
import { imageOf, versionsOf } from "../support/endpoint-oracle.ts";
import { type ShortRow, snapshotOf } from "../support/fixtures.ts";

/** Tests requests that wait for permits, over real connections to a listener in this process. */

const burst = 20;
const quota = 1000;
const month = monthOf(Date.now());
const table = new PermitTable();
const [keys, names] = [new KeyTable(), new AccountNames()];
const key = generateKey(Buffer.alloc(32, 5));
names.put(0, "acme", "free");

const rows = Array.from({ length: 40 }, (_, i): ShortRow => [String(i).padStart(6, "0"), "AL", "5072", i, i]);
let failure: Error | undefined;
const reported: unknown[] = [];
const service = serviceOf({
  keys,
  ceilings: table,
  names,
  versions: versionsOf(imageOf(snapshotOf(rows))),
  now: Date.now,
  steadyNow: () => {
    if (failure !== undefined) throw failure;
    return performance.now();
  },
  report: (error) => reported.push(error),
});

/** Deadlines by their milliseconds. */
const deadlines = new Map<number, Set<() => void>>();
const laterByTest: After = (ms, callback) => {
  const pending = deadlines.get(ms) ?? new Set();
  deadlines.set(ms, pending.add(callback));
  return () => pending.delete(callback);
};

let told = 0;
const queue = new PermitQueue(
  table,
  (waits) => {
    for (const { count } of waits) told += count;
  },
  laterByTest,
);
const accesses: Access[] = [];
const connections = new Connections(10_000);
const [block] = new Traffic(routes, 1).buffers;
const makeResponder = () =>
  new Responder(
    new ThreadTraffic(block),
    () => false,
    withCors(
      (request, path, method, hasBody) => service.answer(request, path, method, hasBody),
      ["https://a.org"],
    ),
    new RequestIds(),
    new WaitingAnswers(connections, maxWaitingBytes, () => {}),
    new AccessLog({
      ...{ perSecond: 1000, accounts: ["acme"], keys, names, trustedProxies: 0 },
      tell: (access) => accesses.push(access),
    }),
    {
      queue,
      answerAfterWait: (slot: number, monthOrReason: number, answer: () => Reply) =>
        service.answerAfterWait(slot, monthOrReason, answer),
    },
    // No answer without a body closes its connection at random.
    () => 1,
    () => new Date(),
    laterByTest,
  );

function serve(responder: Responder) {
  const server = serveHttp(connections, [], responder, (error) => assert.fail(String(error)));
  after(() => server.close());
  return `http://127.0.0.1:${server.listen("127.0.0.1", 0)}`;
}

const responder = makeResponder();
const api = serve(responder);

const setRevoked = (isRevoked: boolean) =>
  keys.put({ id: 1, hash: hashKey(key), expires_at: null, revoked_at: isRevoked ? 1 : null }, 0);

beforeEach(() => {
  setRevoked(false);
  table.month = month;
  table.configure(0, burst, quota);
  table.enter(0, month);
  table.count(0, 0);
  told = 0;
  accesses.length = 0;
});

afterEach(async () => {
  await until("no answer to be pending", () => responder.pending === 0);
  for (const pending of deadlines.values()) assert.equal(pending.size, 0);
  const waitingWord = 9;
  assert.equal(new Int32Array(table.buffer)[waitingWord], 0, "requests that wait");
  for (const each of [month - 1, month]) table.takeFailed(0, each);
});

const path = "/api/v1/healthcare/prices?procedure=5072";
const textOf = (request: string, headers: Record<string, string> = {}) =>
  requestText(request, { Authorization: `Bearer ${key}`, ...headers });
const grant = (count = 1, monthOrReason = month) => queue.take([{ slot: 0, count, monthOrReason }]);
const givenBack = (of = month) => table.takeFailed(0, of);

/** Sends a request, and waits until the control thread is told that it waits. */
async function begin(text: string, ...more: string[]): Promise<Connection> {
  const connection = await Connection.open(api);
  const before = told;
  await connection.send(text, ...more);
  await until("the request to wait", () => told > before || connection.isClosed);
  return connection;
}

/** The answer to a request that gets a permit at once. */
async function atOnce(text: string, method?: string): Promise<Answer> {
  table.add(0, 1, performance.now() + 10_000);
  const connection = await Connection.open(api);
  await connection.send(text);
  const answer = await connection.answer(method);
  connection.close();
  return answer;
}

async function later(text: string, method?: string, monthOrReason = month): Promise<Answer> {
  const connection = await begin(text);
  grant(1, monthOrReason);
  const answer = await connection.answer(method);
  connection.close();
  return answer;
}

const known = (answer: Answer) => ({
  status: answer.status,
  headers: Object.fromEntries(
    [...answer.headers].filter(([name]) => !["date", "x-request-id", "x-ratelimit-remaining"].includes(name)),
  ),
  body: answer.body.toString("latin1").replace(/"request_id":"[^"]*"/, ""),
});

const etagOf = async () => (await atOnce(textOf(`GET ${path}`))).header("ETag") ?? assert.fail();

for (const [what, request, headers] of [
  ["a GET", `GET ${path}`, {}],
  ["a HEAD", `HEAD ${path}`, {}],
  ["a compressed answer", `GET ${path}&limit=50`, { "Accept-Encoding": "br" }],
  ["an answer to a page of another origin", `GET ${path}`, { Origin: "https://a.org" }],
  ["an export", "GET /api/v1/export.csv?procedure=5072", {}],
  ["the head of an export", "HEAD /api/v1/export.csv?procedure=5072", {}],
  ["an unknown path", "GET /api/v1/nothing", {}],
  ["a wrong parameter", `GET ${path}&limit=x`, {}],
  ["a method that isn't allowed", `PUT ${path}`, {}],
  ["the HEAD of an error", "HEAD /api/v1/nothing", {}],
] as const)
  test(`${what} is the same after a wait`, async () => {
    const method = request.split(" ")[0];
    const expected = await atOnce(textOf(request, headers), method);
    const answer = await later(textOf(request, headers), method);
    assert.deepEqual(known(answer), known(expected));
    assert.equal(answer.remaining, quota);
    assert.equal(givenBack(), 0);
  });

test("answers to a HEAD and a GET that wait at the same time aren't mixed up", async () => {
  for (const methods of [
    ["HEAD", "GET"],
    ["GET", "HEAD"],
  ]) {
    const waiting: Connection[] = [];
    for (const method of methods) waiting.push(await begin(textOf(`${method} ${path}`)));
    grant(2);
    for (const [i, method] of methods.entries()) {
      const { body } = await waiting[i].answer(method);
      assert.equal(body.length > 0, method === "GET");
      assert.equal(waiting[i].answeredBytes, 0, "bytes after the answer");
      waiting[i].close();
    }
  }
});

test("a 304 is the same after a wait", async () => {
  const headers = { "If-None-Match": await etagOf() };
  const expected = await atOnce(textOf(`GET ${path}`, headers));
  const answer = await later(textOf(`GET ${path}`, headers));
  assert.equal(answer.status, 304);
  assert.deepEqual(known(answer), known(expected));
});

test("the connection stays open after a wait, and is used again", async () => {
  const connection = await begin(textOf(`GET ${path}`));
  grant();
  assert.equal((await connection.answer()).status, 200);
  for (const request of [`HEAD ${path}`, `GET ${path}`]) {
    const before = told;
    await connection.send(textOf(request));
    await until("the next request to wait", () => told > before);
    grant();
    assert.equal((await connection.answer(request.split(" ")[0])).status, 200);
  }
  assert.equal(connection.isClosed, false);
  connection.close();
});

for (const value of ["close", "TE, close"])
  for (const method of ["GET", "HEAD"])
    test(`a ${method} with Connection: ${value} is the same after a wait, and the connection is closed`, async () => {
      const text = textOf(`${method} ${path}`, { Connection: value });
      const expected = await atOnce(text, method);
      const connection = await begin(text);
      grant();
      const answer = await connection.answer(method);
      assert.equal(answer.status, 200);
      assert.deepEqual(known(answer), known(expected));
      assert.equal((await connection.rest()).length, 0);
    });

test("a request with a body waits when the body was read, and its connection is closed", async () => {
  const connection = await Connection.open(api);
  await connection.send(textOf(`POST ${path}`, { "Content-Length": "4" }), "ab");
  await until("the body to be awaited", () => deadlines.get(5000)?.size === 1);
  assert.equal(told, 0);
  await connection.send("cd");
  await until("the request to wait", () => told === 1);
  grant();
  const answer = await connection.answer();
  assert.equal(answer.status, 405);
  await connection.send(textOf(`GET ${path}`));
  assert.equal((await connection.rest()).length, 0);
  assert.equal(told, 1, "the connection takes no further request");
  // The request is counted like others that are refused for their method.
  assert.equal(givenBack(), 0);
});

test("a request that is aborted while it waits gives its permit back", async () => {
  const connection = await begin(textOf(`GET ${path}`));
  connection.cut();
  await until("the server to see it", () => responder.pending === 0);
  grant();
  assert.equal(givenBack(), 1);
  assert.equal(accesses.length, 0);
});

test("a request that is aborted within its body asks for no permit", async () => {
  const connection = await Connection.open(api);
  await connection.send(textOf(`POST ${path}`, { "Content-Length": "4" }), "ab");
  await until("the body to be awaited", () => deadlines.get(5000)?.size === 1);
  connection.cut();
  await until("the server to see it", () => responder.pending === 0);
  assert.equal(told, 0);
});

test("a key that is revoked during the wait gets 401, and the permit goes back to its month", async () => {
  const connection = await begin(textOf(`GET ${path}`));
  setRevoked(true);
  grant(1, month - 1);
  assert.equal((await connection.answer()).status, 401);
  assert.deepEqual([givenBack(month - 1), givenBack()], [1, 0]);
  connection.close();
});

test("an error of the server after a wait gives the permit back once", async () => {
  const connection = await begin(textOf(`GET ${path}`));
  failure = new Error("a fault");
  grant();
  assert.equal((await connection.answer()).status, 500);
  failure = undefined;
  assert.equal(givenBack(), 1);
  assert.equal(reported.length, 1);
  connection.close();
});

test("refusals after a wait are those that are given at once", async () => {
  const burst = await later(textOf(`GET ${path}`), "GET", burstExceeded);
  assert.deepEqual([burst.status, burst.error().ceiling, burst.header("Retry-After")], [429, "burst", "1"]);
  const used = await later(textOf(`GET ${path}`), "GET", quotaExceeded);
  assert.deepEqual([used.status, used.error().ceiling, used.remaining], [429, "quota", 0]);
  assert.equal(used.reset, startOfMonth(month + 1) / 1000);
  const away = await later(textOf(`GET ${path}`), "GET", databaseAway);
  assert.deepEqual([away.status, away.header("Retry-After")], [503, "1"]);
  assert.ok(away.remaining > 0);
  assert.equal(givenBack(), 0);
});

test("a request counts in its permit's month, whatever this server's clock says", async () => {
  const before = await later(textOf(`GET ${path}`), "GET", month - 1);
  assert.deepEqual([before.status, before.reset], [200, startOfMonth(month) / 1000]);
  table.month = month - 1;
  const refused = await later(textOf(`GET ${path}`), "GET", quotaExceeded);
  assert.deepEqual([refused.status, refused.header("Retry-After")], [429, "1"]);
});

test("a request that isn't answered in 400 ms gets 503", async () => {
  const connection = await begin(textOf(`GET ${path}`));
  for (const end of deadlines.get(400) ?? []) end();
  const answer = await connection.answer();
  assert.deepEqual([answer.status, answer.error().type], [503, "service_unavailable"]);
  grant();
  assert.equal(givenBack(), 1);
  connection.close();
});

test("more than R + 1 requests of an account get 429 at once, and those that wait are answered", async () => {
  const waiting: Connection[] = [];
  for (let i = 0; i < burst + 1; i++) waiting.push(await begin(textOf(`GET ${path}`)));
  const refused = await Connection.open(api);
  await refused.send(textOf(`GET ${path}`));
  assert.deepEqual([(await refused.answer()).status, told], [429, burst + 1]);
  grant(burst + 1);
  for (const connection of [...waiting, refused]) {
    if (connection !== refused) assert.equal((await connection.answer()).status, 200);
    connection.close();
  }
});

test("more than 10,000 requests of a thread get 503 at once", async () => {
  table.configure(1, 1_000_000, 1);
  for (let i = 0; i < maxWaiting; i++) queue.wait(1, () => {});
  const connection = await Connection.open(api);
  await connection.send(textOf(`GET ${path}`));
  assert.equal((await connection.answer()).status, 503);
  queue.take([{ slot: 1, count: maxWaiting, monthOrReason: burstExceeded }]);
  connection.close();
});

for (const segments of [1, 2])
  test(`a request that is pipelined behind a waiting one in ${segments} segments closes the connection`, async () => {
    const text = textOf(`GET ${path}`);
    const connection = await begin(...(segments === 1 ? ([text + text] as const) : ([text] as const)));
    if (segments === 2) await connection.send(text);
    assert.equal((await connection.rest()).length, 0);
    await until("the server to see it", () => responder.pending === 0);
    grant(told);
    assert.equal(givenBack(), told);
  });

test("the access log has a request that waited once, with its id and without its key", async () => {
  const connection = await begin(textOf(`GET ${path}`, { "User-Agent": "tests" }));
  assert.equal(accesses.length, 0);
  grant();
  const answer = await connection.answer();
  const [{ ms, requestId, ...access }] = accesses;
  assert.equal(accesses.length, 1);
  assert.ok(ms >= 0 && requestId !== "");
  assert.deepEqual(access, {
    ...{ account: "acme", keyId: 1, address: "127.0.0.1", userAgent: "tests" },
    ...{ request: `GET ${path}`, status: 200, bytes: answer.body.length },
  });
  connection.close();
});

test("at a stop, a waiting request counts as unfinished, and its answer closes the connection", async () => {
  const draining = makeResponder();
  const other = serve(draining);
  for (const [method, monthOrReason, status] of [
    ["GET", month, 200],
    ["HEAD", month, 200],
    ["GET", burstExceeded, 429],
  ] as const) {
    const connection = await Connection.open(other);
    const before = told;
    await connection.send(textOf(`${method} ${path}`));
    await until("the request to wait", () => told > before);
    draining.drain();
    assert.equal(draining.pending, 1);
    grant(1, monthOrReason);
    const answer = await connection.answer(method);
    assert.deepEqual([answer.status, answer.header("Connection")], [status, "close"]);
    assert.equal(draining.pending, 0);
    connection.close();
  }
});
