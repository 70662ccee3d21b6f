import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { routes } from "../../server/api/routes.ts";
import { serveHttp } from "../../server/serving/listener.ts";
import { type Post, type PostHandler, Posts } from "../../server/serving/posts.ts";
import type { Reply } from "../../server/serving/reply.ts";
import { RequestIds } from "../../server/serving/request-ids.ts";
import { Responder } from "../../server/serving/responder.ts";
import type { After } from "../../server/serving/streaming.ts";
import { WaitingAnswers } from "../../server/serving/waiting.ts";
import { Connections, maxWaitingBytes } from "../../server/shared/connections.ts";
import { ThreadTraffic, Traffic } from "../../server/shared/traffic.ts";
import { Connection, requestText, until } from "../support/connection.ts";

/** Tests posts over real connections to a listener in this process, with deadlines that the tests end. */

const reply = (status: string): Reply => ({
  status: Number.parseInt(status, 10),
  head: status,
  body: Buffer.from("{}"),
});

const taken: Post[] = [];
let answer: (post: Post) => Promise<Reply> = async () => reply("200 OK");
const handler: PostHandler = {
  clientOf: ({ forwardedFor }) => forwardedFor,
  reply(post) {
    taken.push(post);
    return answer(post);
  },
  busy: (who) => reply(who === "client" ? "429 Too Many Requests" : "503 Service Unavailable"),
  failed: () => reply("500 Internal Server Error"),
};

const deadlines = new Set<() => void>();
/** Deadlines of bodies that no handler reads. */
const unwantedDeadlines = new Set<() => void>();
const pendingBy = new Map([
  [10_000, deadlines],
  [5000, unwantedDeadlines],
]);
const laterByTest: After = (ms, callback) => {
  const pending = pendingBy.get(ms) ?? assert.fail(`${ms} ms`);
  pending.add(callback);
  return () => pending.delete(callback);
};

const [block] = new Traffic(routes, 1).buffers;
const traffic = new ThreadTraffic(block);
const connections = new Connections(10_000);
const responder = new Responder(
  traffic,
  () => false,
  () => reply("404 Not Found"),
  new RequestIds(),
  new WaitingAnswers(connections, maxWaitingBytes, () => {}),
  undefined,
  undefined,
  Math.random,
  () => new Date(),
  laterByTest,
);
const posts = new Posts(handler, responder, traffic, laterByTest);
const server = serveHttp(connections, [], responder, (error) => assert.fail(String(error)), {
  below: "/portal/",
  take: (res, req, route) => posts.take(res, req, route),
});
const api = `http://127.0.0.1:${server.listen("127.0.0.1", 0)}`;
after(() => server.close());

afterEach(async () => {
  await until("no post to be under way", () => deadlines.size === 0);
  answer = async () => reply("200 OK");
  taken.length = 0;
});

const head = (headers: Record<string, string>) => requestText("POST /portal/x", headers);
const chunked = { "Transfer-Encoding": "chunked" };
const asChunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;

async function open(...parts: string[]): Promise<Connection> {
  const connection = await Connection.open(api);
  await connection.send(...parts);
  return connection;
}

test("a short body may arrive in up to 15 chunks, and more close the connection", async () => {
  for (const [parts, isTaken] of [
    [15, true],
    [16, false],
    [10_000, false],
  ] as const) {
    taken.length = 0;
    const connection = await open(head(chunked) + asChunk("a").repeat(parts) + asChunk(""));
    if (isTaken) assert.equal((await connection.answer()).status, 200);
    assert.equal((await connection.rest()).length, 0);
    assert.deepEqual(
      taken.map(({ body }) => Buffer.from(body ?? []).toString()),
      isTaken ? ["a".repeat(parts)] : [],
    );
  }
});

test("a longer body may arrive in one more chunk for each 256 bytes", async () => {
  const part = "b".repeat(256);
  const connection = await open(head(chunked) + asChunk(part).repeat(64) + asChunk(""));
  assert.equal((await connection.answer()).status, 200);
  assert.equal(Buffer.from(taken[0].body ?? []).toString(), part.repeat(64));
});

test("a body that is too long is passed to the handler without its bytes", async () => {
  const connection = await open(head({ "Content-Length": "16385" }) + "c".repeat(16_385));
  await connection.answer();
  assert.equal(taken[0].body, undefined);
});

test("a client that doesn't send its body within 10 s is disconnected", async () => {
  const slow = [await open(head({ "Content-Length": "2" }), "{"), await open(head(chunked), asChunk("{"))];
  const quick = await open(head({ "Content-Length": "2" }), "{}");
  assert.equal((await quick.answer()).status, 200);
  await until("two deadlines", () => deadlines.size === 2);
  for (const close of deadlines) close();
  for (const connection of slow) assert.equal((await connection.rest()).length, 0);
  assert.equal(taken.length, 1);
});

test("the deadline ends when the body has arrived, however long the response takes", async () => {
  const { promise, resolve } = Promise.withResolvers<Reply>();
  answer = () => promise;
  const connection = await open(`${head({ "Content-Length": "2" })}{}`);
  await until("the post", () => taken.length === 1);
  assert.equal(deadlines.size, 0);
  resolve(reply("200 OK"));
  assert.equal((await connection.answer()).status, 200);
});

test("a client may have 32 concurrent posts, and other clients' posts are still accepted", async () => {
  const begin = (client: string) => open(head({ "Content-Length": "2", "X-Forwarded-For": client }));
  const begun = await Promise.all(Array.from({ length: 32 }, () => begin("a")));
  await until("all to be under way", () => deadlines.size === 32);
  // A refused post is answered when its body has arrived, or is late.
  const [refused, late] = [await begin("a"), await begin("a")];
  await until("both bodies to be awaited", () => unwantedDeadlines.size === 2);
  await refused.send("{}");
  assert.equal((await refused.answer()).status, 429);
  assert.equal((await refused.rest()).length, 0);
  for (const end of unwantedDeadlines) end();
  assert.equal((await late.answer()).status, 429);
  const other = await open(`${head({ "Content-Length": "2", "X-Forwarded-For": "b" })}{}`);
  assert.equal((await other.answer()).status, 200);
  // Each request that ends makes room for another, whether it is answered or cut off.
  begun[0].close();
  await begun[1].send("{}");
  assert.equal((await begun[1].answer()).status, 200);
  await until("two to be over", () => deadlines.size === 30);
  const next = await open(`${head({ "Content-Length": "2", "X-Forwarded-For": "a" })}{}`);
  assert.equal((await next.answer()).status, 200);
  for (const connection of begun) connection.close();
});

test("all clients together may have 512 concurrent posts", async () => {
  const begun = await Promise.all(
    Array.from({ length: 512 }, (_, i) =>
      open(head({ "Content-Length": "2", "X-Forwarded-For": `client ${i}` })),
    ),
  );
  await until("all to be under way", () => deadlines.size === 512);
  const refused = await open(`${head({ "Content-Length": "2", "X-Forwarded-For": "another" })}{}`);
  assert.equal((await refused.answer()).status, 503);
  for (const connection of begun) connection.close();
});

test("a post whose handler fails gets 500", async () => {
  answer = () => Promise.reject(new Error("the control thread is gone"));
  const connection = await open(`${head({ "Content-Length": "2" })}{}`);
  assert.equal((await connection.answer()).status, 500);
});

test("a client that disconnects before its response does no harm", async () => {
  const { promise, resolve } = Promise.withResolvers<Reply>();
  answer = () => promise;
  const connection = await open(`${head({ "Content-Length": "2" })}{}`);
  await until("the post", () => taken.length === 1);
  connection.close();
  await until("the server to see it", () => responder.pending === 0);
  resolve(reply("200 OK"));
  answer = async () => reply("200 OK");
  assert.equal((await (await open(head({ "Content-Length": "0" }))).answer()).status, 200);
});

test("an unwanted body is read before its request is answered, up to 16 MiB", async () => {
  for (const [headers, framed] of [
    [{ "Content-Length": "20000000" }, (text: string) => text],
    [chunked, asChunk],
  ] as const) {
    const connection = await open(requestText("POST /elsewhere", headers));
    await until("the request", () => unwantedDeadlines.size === 1);
    const half = framed("d".repeat(2 ** 23));
    await connection.send(half);
    // The answer to another request shows that the first part has been read.
    assert.equal((await (await open(requestText("GET /elsewhere", {}))).answer()).status, 404);
    assert.equal(unwantedDeadlines.size, 1);
    await connection.send(half, framed("d"));
    assert.equal((await connection.answer()).status, 404);
    assert.equal(unwantedDeadlines.size, 0);
  }
  const whole = await open(requestText("POST /elsewhere", { "Content-Length": "2" }), "{}");
  assert.equal((await whole.answer()).status, 404);
  assert.equal((await whole.rest()).length, 0);
});

test("an unwanted body in too many small chunks is answered early, and in one segment it closes the connection", async () => {
  for (const [chunks, isAnswered] of [
    [15, true],
    [17, true],
    [18, false],
    [10_000, false],
  ] as const) {
    const connection = await open(requestText("POST /elsewhere", chunked) + asChunk("e").repeat(chunks));
    if (chunks === 15) await connection.send(asChunk(""));
    if (isAnswered) assert.equal((await connection.answer()).status, 404, `${chunks} chunks`);
    assert.equal((await connection.rest()).length, 0);
    assert.equal(unwantedDeadlines.size, 0);
  }
});

test("a request whose unwanted body doesn't arrive within 5 s is answered", async () => {
  const connection = await open(requestText("POST /elsewhere", { "Content-Length": "2" }), "{");
  await until("the request", () => unwantedDeadlines.size === 1);
  for (const end of unwantedDeadlines) end();
  assert.equal((await connection.answer()).status, 404);
  assert.equal((await connection.rest()).length, 0);
  assert.equal(unwantedDeadlines.size, 0);
});

test("a client that disconnects within an unwanted body does no harm", async () => {
  const connection = await open(requestText("POST /elsewhere", { "Content-Length": "2" }), "{");
  await until("the request", () => unwantedDeadlines.size === 1);
  connection.cut();
  await until("its end", () => unwantedDeadlines.size === 0);
  assert.equal(responder.pending, 0);
});
