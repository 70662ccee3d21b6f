import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { routes } from "../../server/api/routes.ts";
import { serveHttp } from "../../server/serving/listener.ts";
import type { Reply } from "../../server/serving/reply.ts";
import { RequestIds } from "../../server/serving/request-ids.ts";
import { Responder } from "../../server/serving/responder.ts";
import { WaitingAnswers } from "../../server/serving/waiting.ts";
import { Connections, maxWaitingBytes } from "../../server/shared/connections.ts";
import { ThreadTraffic, Traffic } from "../../server/shared/traffic.ts";
import { Connection, requestText, until } from "../support/connection.ts";

/** Tests answers that wait for slow clients, and the bound on their memory. */

const maxBytes = 1000 * 2 ** 10;
const streamBytes = 64 * 2 ** 10;
const largeBytes = 8 * 2 ** 20;

function open(max = maxBytes) {
  const connections = new Connections(10);
  const closed: string[] = [];
  let collected = 0;
  const waiting = new WaitingAnswers(connections, max, () => collected++);
  /** Closing a connection ends its answer, as in a server. */
  const client = (name: string) => {
    const response = {
      close() {
        closed.push(name);
        waiting.remove(response);
      },
    };
    return response;
  };
  return { connections, waiting, closed, client, collected: () => collected };
}

test("a body that never changes counts once, however many clients wait for it", () => {
  const { connections, waiting, closed, client } = open();
  const body = new Uint8Array(maxBytes);
  const clients = Array.from({ length: 6000 }, (_, i) => client(String(i)));
  for (const each of clients) waiting.add(each, body);
  assert.equal(connections.waitingBytes, maxBytes);
  for (const each of clients.slice(1)) waiting.remove(each);
  assert.equal(connections.waitingBytes, maxBytes);
  waiting.remove(clients[0]);
  assert.equal(connections.waitingBytes, 0);
  assert.deepEqual([closed, connections.cut], [[], 0]);
});

test("if too many bytes wait, the clients are disconnected that have read nothing for the longest time", () => {
  const { connections, waiting, closed, client } = open();
  const quarter = () => new Uint8Array(maxBytes / 4);
  const clients = ["a", "b", "c", "d"].map(client);
  for (const each of clients) waiting.add(each, quarter());
  assert.deepEqual(closed, []);
  waiting.note(clients[0], true);
  waiting.add(client("e"), new Uint8Array(maxBytes / 2));
  assert.deepEqual(closed, ["b", "c"]);
  assert.deepEqual([connections.waitingBytes, connections.cut], [maxBytes, 2]);
});

test("a stream counts with what it takes at most, and a stream that reads on is disconnected last", () => {
  const { connections, waiting, closed, client } = open(3 * streamBytes);
  const clients = ["a", "b", "c"].map(client);
  for (const each of clients) waiting.add(each, undefined);
  assert.equal(connections.waitingBytes, 3 * streamBytes);
  waiting.note(clients[0], true);
  waiting.add(client("d"), undefined);
  assert.deepEqual(closed, ["b"]);
});

test("of an account's streams, those whose clients are behind are disconnected first", () => {
  const { waiting, closed, client } = open(4 * streamBytes);
  const [fast, waits, ...slow] = ["fast", "waits", "slow 1", "slow 2"].map(client);
  waiting.add(fast, undefined, 1, false);
  waiting.add(waits, undefined, 1, false);
  for (const each of slow) waiting.add(each, undefined, 1);
  waiting.add(client("a"), undefined, 1, false);
  waiting.note(waits, false);
  waiting.add(client("b"), undefined, 1, false);
  assert.deepEqual(closed, ["slow 1", "slow 2"]);
  waiting.add(client("c"), undefined, 1, false);
  assert.deepEqual(closed, ["slow 1", "slow 2", "fast"], "where all read, the one whose turn is the oldest");
});

for (const isBehind of [true, false])
  test(`an account with many streams costs only itself (clients ${isBehind ? "behind" : "that read"})`, () => {
    const { connections, waiting, closed, client } = open(8 * streamBytes);
    waiting.add(client("other"), undefined, 2);
    waiting.add(client("a page"), new Uint8Array(10));
    for (let i = 0; i < 20; i++) waiting.add(client(`many ${i}`), undefined, 1, isBehind);
    waiting.add(client("another"), undefined, 3);
    waiting.add(client("another page"), new Uint8Array(streamBytes));
    assert.equal(closed.length, 16);
    assert.ok(closed.every((name) => name.startsWith("many")));
    assert.ok(connections.waitingBytes <= 8 * streamBytes);
  });

test("an answer that is larger than the bound is given up, and nothing stays counted", () => {
  const { connections, waiting, closed, client } = open();
  waiting.add(client("a"), new Uint8Array(maxBytes + 1));
  assert.deepEqual([closed, connections.waitingBytes], [["a"], 0]);
});

test("an answer that doesn't wait, or waits no longer, changes no count", () => {
  const { connections, waiting, client } = open();
  const [one, other] = [client("a"), client("b")];
  waiting.add(one, new Uint8Array(7));
  waiting.note(other, true);
  waiting.remove(other);
  waiting.remove(one);
  waiting.remove(one);
  assert.equal(connections.waitingBytes, 0);
});

test("the threads' bytes are counted together", () => {
  const connections = new Connections(10);
  const threads = [1, 2].map(() => new WaitingAnswers(connections, maxBytes, () => {}));
  for (const waiting of threads) waiting.add({ close() {} }, new Uint8Array(5));
  assert.equal(new Connections(10, connections.buffer).waitingBytes, 10);
});

test("garbage is collected once when nothing waits any more, if much has waited", async () => {
  const { waiting, client, collected } = open(2 * largeBytes);
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const [one, other] = [client("a"), client("b")];
  waiting.add(one, new Uint8Array(largeBytes));
  waiting.add(other, new Uint8Array(1));
  waiting.remove(one);
  await turn();
  assert.equal(collected(), 0);
  waiting.remove(other);
  await turn();
  assert.equal(collected(), 1);
  waiting.add(one, new Uint8Array(1));
  waiting.remove(one);
  await turn();
  assert.equal(collected(), 1);
});

for (const [what, part] of [
  ["a body", () => ({ body: Buffer.from("{}") })],
  [
    "a stream",
    () => {
      const bytes = [Buffer.from("{}")][Symbol.iterator]();
      const source = (function* () {
        yield* bytes;
      })();
      return { body: undefined, stream: { length: 2, source, taker: undefined } };
    },
  ],
] as const)
  test(`answers with ${what} are whole even if the socket takes only a part of a head, unless a request follows`, async (t) => {
    const head = `200 OK\r\nX-Long: ${"h".repeat(15_000)}`;
    const connections = new Connections(10);
    const [block] = new Traffic(routes, 1).buffers;
    const responder = new Responder(
      new ThreadTraffic(block),
      () => false,
      (): Reply => ({ status: 200, head, ...part() }),
      new RequestIds(),
      new WaitingAnswers(connections, maxWaitingBytes, () => {}),
    );
    const report = (error: unknown) => assert.fail(String(error));
    const server = serveHttp(connections, [], responder, report);
    const port = server.listen("127.0.0.1", 0);
    t.after(() => server.close());
    for (const follows of [false, true]) {
      const connection = await Connection.open(`http://127.0.0.1:${port}`);
      connection.pause();
      let asked = 0;
      const ask = async () => {
        const before = responder.handled;
        await connection.send(requestText("GET /"));
        for (let turns = 0; responder.handled === before; turns++) {
          assert.ok(turns < 10_000, "the connection is open");
          await nextTurn();
        }
        asked++;
      };
      while (responder.pending === 0) await ask();
      if (follows) {
        await connection.send(requestText("GET /"));
        await until("the end", () => responder.pending === 0);
        connection.close();
        continue;
      }
      connection.resume();
      for (let i = 0; i < asked; i++) {
        const answer = await connection.answer();
        assert.equal(answer.header("X-Long")?.length, 15_000);
        assert.equal(answer.body.toString(), "{}");
      }
      await connection.send(requestText("GET /"));
      assert.equal((await connection.answer()).status, 200);
      connection.close();
    }
  });

test("heads of answers without a body close connections at random, which bounds the heads that wait for a client", async (t) => {
  const body = Buffer.from("{}");
  const none = (function* (): Generator<Uint8Array> {})();
  const replies = {
    body: { body },
    stream: { body: undefined, stream: { length: body.length, source: none, taker: undefined } },
  };
  for (const [what, part] of Object.entries(replies)) {
    const connections = new Connections(10);
    const [block] = new Traffic(routes, 1).buffers;
    let drawn = 1;
    const responder = new Responder(
      new ThreadTraffic(block),
      () => false,
      (): Reply => ({ status: 200, head: "200 OK", ...part }),
      new RequestIds(),
      new WaitingAnswers(connections, maxWaitingBytes, () => {}),
      ...([undefined, undefined] as const),
      () => drawn,
    );
    const server = serveHttp(connections, [], responder, (error) => assert.fail(String(error)));
    const port = server.listen("127.0.0.1", 0);
    t.after(() => server.close());
    const connection = await Connection.open(`http://127.0.0.1:${port}`);
    for (const said of [undefined, "close"]) {
      await connection.send(requestText("HEAD /"));
      const answer = await connection.answer("HEAD");
      assert.deepEqual([answer.header("Content-Length"), answer.header("Connection")], ["2", said], what);
      drawn = 0;
    }
    assert.equal((await connection.rest()).length, 0, what);
  }
});
