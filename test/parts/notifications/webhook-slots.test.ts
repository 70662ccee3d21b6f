import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createSocket } from "node:dgram";
import { Resolver } from "node:dns/promises";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { resolve } from "node:path";
import { type TestContext, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { promisify } from "node:util";
import { webhookSender } from "../../../server/parts/notifications/webhooks.ts";
import { Store } from "../../../server/store/store.ts";
import { listening, maxWaitMs, until } from "../../support/connection.ts";
import { answersOf, later, now, Receiver, World } from "../../support/quota-events.ts";
import { keepingStripped } from "../../support/server.ts";

/** Tests faulty receivers. Every try has to end, and no try for another account may wait long. */

const { maxUnderWay: maxTriesUnderWay, minTryMs } = webhookSender(Store.inMemory(), {
  allowLoopback: true,
});
const maxRetriesUnderWay = maxTriesUnderWay / 2;

/** Writes a text again and again, as fast as the other end reads. */
function flood(socket: Socket, text: string): void {
  while (socket.writable && socket.write(text.repeat(100)));
  socket.once("drain", () => flood(socket, text));
}

function drip(socket: Socket, text: string): void {
  const timer = setInterval(() => socket.write(text), 20);
  socket.once("close", () => clearInterval(timer));
}

const head = "HTTP/1.1 200 OK\r\n";
const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n`;
const switching = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n";
const hints = "HTTP/1.1 103 Early Hints\r\n\r\n";
const goOn = "HTTP/1.1 100 Continue\r\n\r\n";
type Receivers = Record<string, [answer: string, react: (socket: Socket) => void]>;

/** Receivers that make a try fail. */
const sick: Receivers = {
  "switches protocols": ["101", (socket) => socket.write(switching)],
  "switches protocols and goes on": ["101", (socket) => flood(socket, switching)],
  "switches protocols and resets": [
    "101",
    (socket) => socket.write(switching, () => socket.resetAndDestroy()),
  ],
  "closes before it answers": ["socket hang up", (socket) => socket.end()],
  "closes within the head": ["socket hang up", (socket) => socket.end(head)],
  resets: ["read ECONNRESET", (socket) => socket.resetAndDestroy()],
  "is silent after the head": ["200", (socket) => socket.write(`${head}Content-Length: 9\r\n\r\n`)],
  "sends a body without an end": [
    "200",
    (socket) => socket.write(chunked, () => flood(socket, "1\r\nx\r\n")),
  ],
  "sends a head without an end": [
    "Parse Error: Header overflow",
    (socket) => socket.write(head, () => flood(socket, "x: y\r\n")),
  ],
  "sends 103 without an end": ["more than 10 1xx answers", (socket) => flood(socket, hints)],
  "sends 100 without an end": ["more than 10 1xx answers", (socket) => flood(socket, goOn)],
  "speaks no HTTP": ["Parse Error: Expected HTTP/, RTSP/ or ICE/", (socket) => socket.write("220 ready\r\n")],
};

/** Receivers that keep a try in flight until the server aborts it. */
const stuck: Receivers = {
  "takes the post and never answers": ["", () => {}],
  "is silent within the head": ["", (socket) => socket.write(head)],
  "sends a head slowly": ["", (socket) => socket.write(head, () => drip(socket, "x"))],
  "is silent after an informational answer": ["", (socket) => socket.write(hints)],
};

/** @returns the port, and the set of open connections */
async function listen(t: TestContext, react: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => {});
    socket.once("data", () => react(socket));
  });
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { port: await listening(server), sockets };
}

test("a webhook attempt ends and closes its connection for each kind of faulty receiver", {
  timeout: maxWaitMs,
}, async (t) => {
  const servers = await Promise.all(Object.values(sick).map(([, react]) => listen(t, react)));
  const urls = servers.map(({ port }) => `http://127.0.0.1:${port}/`);
  const answers = await answersOf(t, urls, { allowLoopback: true });
  const expected = Object.entries(sick).map(([what, [answer]]) => [what, answer]);
  assert.deepEqual(
    expected.map(([what], i) => [what, answers[i]]),
    expected,
  );
  await until("all connections to be closed", () => servers.every(({ sockets }) => sockets.size === 0));
});

test("an attempt ends at its deadline during the DNS lookup, the TLS handshake or the response", {
  timeout: maxWaitMs,
}, async (t) => {
  const queries = await silenceNames(t);
  const servers = await Promise.all(Object.values(stuck).map(([, react]) => listen(t, react)));
  const urls = servers.map(({ port }) => `http://127.0.0.1:${port}/`);
  const [{ port }] = servers;
  const all = [...urls, `https://127.0.0.1:${port}/`, `https://hooks.example.com:${port}/`];
  const answers = await answersOf(t, all, { allowLoopback: true, maxMs: 300 });
  assert.deepEqual(answers, Array(all.length).fill("no answer in 300 ms"));
  assert.equal(queries(), 2);
  await until("all connections to be closed", () => servers.every(({ sockets }) => sockets.size === 0));
});

/** Replaces the name server by a silent server. @returns a function that counts the queries */
async function silenceNames(t: TestContext): Promise<() => number> {
  let queries = 0;
  const server = createSocket("udp4", () => queries++);
  server.bind(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  // `resolve4` is the first query for a name.
  const ask: (host: string) => Promise<string[]> = Resolver.prototype.resolve4;
  t.mock.method(Resolver.prototype, "resolve4", function (this: Resolver, host: string) {
    this.setServers([`127.0.0.1:${server.address().port}`]);
    return ask.call(this, host);
  });
  return () => queries;
}

async function silentReceiver(t: TestContext) {
  const [world, receiver] = [new World(t), await Receiver.open()];
  receiver.answer = undefined;
  return {
    world,
    receiver,
    posted: () => receiver.posts.map(({ headers }) => String(headers["webhook-id"])),
  };
}

test("an account's next event is posted when its previous one is done", async (t) => {
  const { world, receiver, posted } = await silentReceiver(t);
  const ids = world.due("a", receiver.url(), { count: 3 });
  for (const total of [1, 2, 3]) {
    const delivering = [now, later(1000)].map((at) => world.deliver(at));
    await until("the posts", () => receiver.held.length > 0 && posted().length === total);
    for (const response of receiver.held.splice(0)) response.end();
    await Promise.all(delivering);
  }
  assert.deepEqual(posted(), ids);
  assert.ok(world.store.events.list().every(({ state }) => state === "delivered"));
});

test("retries use at most half of the slots, and each account gets one slot for first attempts", async (t) => {
  const { world, receiver, posted } = await silentReceiver(t);
  const each = (count: number, what: string, options: { count?: number; tries?: number }) =>
    world.operator.atomically(() => {
      for (let i = 0; i < count; i++) world.due(`${what} ${i}`, receiver.url(), options);
    });
  const count = (what: string) => posted().filter((id) => id.startsWith(what)).length;
  each(maxRetriesUnderWay + maxTriesUnderWay, "retry", { tries: 1 });
  const delivering = [world.deliver(now)];
  await until("the retries", () => posted().length === maxRetriesUnderWay);
  const room = maxTriesUnderWay - maxRetriesUnderWay;
  each(room, "first", { count: 2 });
  delivering.push(world.deliver(now));
  await until("the first tries", () => posted().length === maxTriesUnderWay);
  delivering.push(world.deliver(later(minTryMs - 1)));
  assert.deepEqual([count("retry"), count("first")], [maxRetriesUnderWay, room]);
  assert.equal(posted().filter((id) => /^first .* 0$/.test(id)).length, room, "one of each account");
  for (const response of receiver.held.splice(0)) response.end();
  await Promise.all(delivering);
  assert.equal(posted().length, maxTriesUnderWay);
});

for (const [what, accounts, hasFailed] of [
  ["300 accounts whose receivers hang", 300, false],
  ["400 accounts whose receivers have hung before", 400, true],
] as const)
  test(`${what} delay other accounts' first attempts by less than a second`, async (t) => {
    const { world, receiver: silent } = await silentReceiver(t);
    const receiver = await Receiver.open();
    world.operator.atomically(() => {
      for (let i = 0; i < accounts; i++) {
        const [id] = world.due(`slow ${i}`, silent.url(), { count: 3 });
        const [delivery] = world.operator.events.deliveries(id);
        if (hasFailed) world.operator.events.updateDelivery({ ...delivery, tries: 1 });
      }
    });
    // The outbox calls `byId` when a try starts.
    const asked = t.mock.method(world.store.accounts, "byId");
    const delivering: Promise<void>[] = [];
    const waiting = new Map<number, number>();
    const delays: number[] = [];
    for (let ms = 0; ms < 5000; ms += 250) {
      delivering.push(world.deliver(later(ms)));
      for (const { arguments: args } of asked.mock.calls) {
        const since = waiting.get(args[0]);
        if (since !== undefined) delays.push(ms - since);
        waiting.delete(args[0]);
      }
      await turn();
      asked.mock.resetCalls();
      world.due(`other ${ms}`, receiver.url());
      waiting.set(world.store.accounts.byName(`other ${ms}`)?.id ?? 0, ms);
    }
    for (const since of waiting.values()) assert.ok(since > 4000, "it waits still");
    assert.ok(Math.max(...delays) < 1000, `delays: ${delays} ms`);
    await until("the others' posts", () => receiver.posts.length === delays.length);
    world.webhooks.stop();
    await Promise.all(delivering);
  });

test("an attempt is cut off after 500 ms if a first attempt waits, and is retried later", async (t) => {
  const { world, receiver } = await silentReceiver(t);
  world.operator.atomically(() => {
    for (let i = 0; i < maxTriesUnderWay; i++) world.due(`slow ${i}`, receiver.url());
  });
  const state = (tries: number) => world.store.events.list().filter((event) => event.tries === tries);
  const delivering = [world.deliver(now)];
  world.due("a", receiver.url());
  delivering.push(world.deliver(later(minTryMs - 1)));
  await turn();
  assert.equal(state(1).length, 0);
  delivering.push(world.deliver(later(minTryMs)));
  await turn();
  const [cut, ...others] = state(1);
  assert.deepEqual(
    [cut.name.slice(0, 4), cut.state, cut.next_try_at, cut.last_answer, others.length],
    [
      "slow",
      "pending",
      later(10_000).getTime(),
      "aborted after 500 ms without an answer, because other deliveries were waiting",
      0,
    ],
  );
  await until("the waiting one's post", () =>
    receiver.posts.some(({ headers }) => String(headers["webhook-id"]).startsWith("a ")),
  );
  // All slots are taken, and all tries have run for longer than the minimum. But no first try waits for a slot.
  delivering.push(world.deliver(later(5000)), world.deliver(later(10_000)));
  await turn();
  assert.equal(state(1).length, 1);
  world.webhooks.stop();
  await Promise.all(delivering);
});

test("an attempt times out after 15 seconds, and one aborted by a stop isn't recorded", {
  timeout: maxWaitMs,
}, async (t) => {
  const { world, receiver } = await silentReceiver(t);
  const timers = t.mock.method(globalThis, "setTimeout");
  const [id] = world.due("a", receiver.url());
  const before = world.delivery(id);
  const delivering = world.deliver(now);
  await until("the post", () => receiver.held.length === 1);
  assert.ok(timers.mock.calls.some(({ arguments: [, ms] }) => ms === 15_000));
  world.webhooks.stop();
  const write = t.mock.method(world.store.events, "updateDelivery");
  await delivering;
  assert.deepEqual([world.delivery(id), write.mock.callCount()], [before, 0]);
  await until("the connection to be closed", () => receiver.held[0].destroyed);
});

test("an aborted or answered attempt leaves nothing that keeps the process alive", async (t) => {
  const { port } = await listen(t, () => {});
  const receiver = await Receiver.open();
  const names = createSocket("udp4").bind(0, "127.0.0.1");
  await once(names, "listening");
  t.after(() => names.close());
  const script = `
    import { Resolver } from "node:dns/promises";
    import { post } from ${JSON.stringify(resolve(import.meta.dirname, "../../../server/parts/notifications/post.ts"))};
    const ask = Resolver.prototype.resolve4;
    Resolver.prototype.resolve4 = function (host) {
      this.setServers(["127.0.0.1:${names.address().port}"]);
      return ask.call(this, host);
    };
    const controller = new AbortController();
    const tried = ["http://127.0.0.1:${port}/", "https://hooks.example.com/", "${receiver.url()}"].map((url) =>
      post(url, Buffer.from("x"), {}, { allowLoopback: true }, controller.signal).catch(({ message }) => message));
    await tried[2];
    controller.abort(new Error("given up"));
    console.log(JSON.stringify(await Promise.all(tried)));
    // The timer doesn't keep the process alive, so it prints only if something else does.
    setTimeout(() => console.log("still running"), 10_000).unref();`;
  const args = [...keepingStripped, "--input-type=module-typescript", "--no-warnings", "--eval", script];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: maxWaitMs });
  assert.equal(stdout, '["given up","given up",200]\n');
});
