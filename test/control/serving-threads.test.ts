import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { syncBuiltinESMExports } from "node:module";
import { basename } from "node:path";
import { type TestContext, test } from "node:test";
import threads from "node:worker_threads";
import { closers, log } from "../../server/control/running.ts";
import { ServingThreads, startServing } from "../../server/control/serving-threads.ts";
import type { Pages } from "../../server/part.ts";
import { Connections } from "../../server/shared/connections.ts";
import { type FromServe, gate, type PageThreadCode, type ThreadCode } from "../../server/shared/messages.ts";
import { readSettings } from "../../server/shared/settings.ts";
import { Traffic } from "../../server/shared/traffic.ts";

/** Tests the messages between the control thread and the other threads, with threads that only answer messages. */

type Message = { type: string; [part: string]: unknown };

/** What each kind of message is answered by. */
const answers: Record<string, FromServe["type"]> = {
  start: "listening",
  publish: "published",
  drain: "drained",
};

class FakeThread extends EventEmitter {
  readonly name: string;
  readonly options: threads.WorkerOptions;
  readonly messages: Message[] = [];
  readonly #tell: (name: string, type: string) => void;
  /** Kinds of messages that are left without an answer. */
  readonly silent: Set<string>;

  constructor(
    name: string,
    options: threads.WorkerOptions,
    tell: (name: string, type: string) => void,
    silent: Set<string>,
  ) {
    super();
    [this.name, this.options, this.#tell, this.silent] = [name, options, tell, silent];
  }

  postMessage(message: Message): void {
    this.messages.push(message);
    this.#tell(this.name, message.type);
    if (this.silent.has(message.type)) return;
    setImmediate(() => {
      if (message.type === "close") this.emit("exit", 0);
      else if (message.type === "pages" && this.name === "pages") this.emit("message", { type: "shown" });
      else if (message.type in answers) this.emit("message", { type: answers[message.type] });
    });
  }
}

function open(t: TestContext, { threads: count = 2, writes = true, environment = {} } = {}) {
  const made: FakeThread[] = [];
  const told: string[] = [];
  const silent = new Set<string>();
  const { Worker } = threads;
  class Made extends FakeThread {
    constructor(url: URL, options: threads.WorkerOptions) {
      const name = basename(url.pathname) === "page-thread.ts" ? "pages" : `serving ${made.length}`;
      super(name, options, (...words) => void told.push(words.join(": ")), silent);
      made.push(this);
    }
  }
  threads.Worker = Made as unknown as typeof Worker;
  syncBuiltinESMExports();
  const logged: unknown[][] = [];
  for (const level of ["error", "info", "fatal"] as const)
    t.mock.method(log, level, (...words: unknown[]) => logged.push([level, ...words]));
  const settings = readSettings({ THREADS: String(count), ...environment });
  assert.ok(!Array.isArray(settings));
  const part = {
    serving: new URL("file:///serving.ts"),
    ...(writes && { writing: new URL("file:///writing.ts") }),
  };
  const opened = new ServingThreads(settings, part);
  threads.Worker = Worker;
  syncBuiltinESMExports();
  return { opened, made, silent, logged, said: () => told.splice(0) };
}

const acted: unknown[] = [];
const pages: Pages = {
  files: () => [],
  async act(request) {
    acted.push(request);
    if (request.path === "/fails") throw new Error("no room");
    return { status: 200, body: { path: request.path } };
  },
};
const traffic = [new SharedArrayBuffer(8), new SharedArrayBuffer(16)];
const listen = ({ opened }: ReturnType<typeof open>, shown: Pages | null = pages) =>
  opened.listen({ port: 1 } as Parameters<typeof opened.listen>[0], traffic, [], shown ?? undefined);
const turn = () => new Promise(setImmediate);

test("the page thread gets files and versions before the serving threads, at a start and afterwards", async (t) => {
  const world = open(t);
  const { opened, made, said } = world;
  const codes = made.map(({ options }) => options.workerData as ThreadCode & PageThreadCode);
  assert.deepEqual(
    made.map(({ name }) => name),
    ["serving 0", "serving 1", "pages"],
  );
  assert.deepEqual(
    codes.map(({ pagesModule, writingModule, trustedProxies }) => [
      pagesModule,
      writingModule,
      trustedProxies,
    ]),
    [
      ["file:///serving.ts", undefined, 0],
      ["file:///serving.ts", undefined, 0],
      [undefined, "file:///writing.ts", undefined],
    ],
  );
  assert.equal(codes[2].ports.length, 2);
  for (const [i, { options }] of made.entries())
    assert.deepEqual(
      [options.transferList, options.resourceLimits],
      // A page leaves more garbage than an answer.
      i < 2
        ? [[codes[i].pagePort], { maxYoungGenerationSizeMb: 8 }]
        : [codes[2].ports, { maxYoungGenerationSizeMb: 16 }],
    );
  await opened.publish([]);
  await opened.showPages([]);
  assert.deepEqual(said(), [], "before the threads listen, nobody needs it");
  await listen(world);
  const each = (type: string) => [`serving 0: ${type}`, `serving 1: ${type}`];
  assert.deepEqual(said(), [
    ...["pages: pages", "pages: publish"],
    ...["serving 0: pages", "serving 0: start", "serving 1: pages", "serving 1: start"],
  ]);
  for (const i of [0, 1])
    assert.deepEqual(
      made[i].messages[1].data,
      { port: 1, traffic: traffic[i] },
      "each has a block of its own",
    );
  await opened.publish([]);
  assert.deepEqual(said(), ["pages: publish", ...each("publish")]);
  await opened.showPages([]);
  assert.deepEqual(said(), ["pages: pages", ...each("pages")]);
  opened.answerWaits(1, [{ slot: 3, count: 1, monthOrReason: 9 }]);
  assert.deepEqual(said(), ["serving 1: permits"]);
  assert.deepEqual(made[1].messages.at(-1)?.answers, [{ slot: 3, count: 1, monthOrReason: 9 }]);
  for (const { port1, port2 } of codes.flatMap(({ pagePort }) =>
    pagePort ? [{ port1: pagePort, port2: pagePort }] : [],
  )) {
    port1.close();
    port2.close();
  }
});

test("without pages there is no page thread, and the serving threads get no files", async (t) => {
  const world = open(t, { writes: false });
  await listen(world, null);
  assert.deepEqual(world.said(), ["serving 0: start", "serving 1: start"]);
  assert.equal((world.made[0].options.workerData as ThreadCode).pagePort, undefined);
  world.made[0].emit("message", { type: "post", id: 4, request: { path: "/a" } });
  await turn();
  assert.deepEqual(world.made[0].messages.at(-1), { type: "posted", id: 4, reply: null });
});

test("threads wait at the gate until they may answer; a stop drains them, and ends the page thread last", async (t) => {
  const world = open(t);
  const state = new Int32Array((world.made[0].options.workerData as ThreadCode).gate);
  await listen(world);
  assert.equal(state[0], gate.shut);
  world.opened.answer();
  assert.equal(state[0], gate.open);
  world.said();
  await world.opened.stop();
  assert.equal(state[0], gate.ending);
  assert.deepEqual(world.said(), [
    ...["serving 0: drain", "serving 1: drain", "serving 0: close", "serving 1: close"],
    "pages: close",
  ]);
  assert.deepEqual(world.logged, [], "ends that were asked for are no failures");

  const shut = open(t, { writes: false });
  await listen(shut);
  shut.said();
  await shut.opened.stop();
  assert.deepEqual(
    shut.said(),
    ["serving 0: close", "serving 1: close"],
    "nothing was answered, so nothing drains",
  );
});

test("requests in flight have 5 s at a stop", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.timers.reset();
    syncBuiltinESMExports();
  });
  const world = open(t, { writes: false });
  await listen(world);
  world.opened.answer();
  world.silent.add("drain");
  world.said();
  const stopped = world.opened.stop();
  t.mock.timers.tick(4999);
  await turn();
  assert.deepEqual(world.said(), ["serving 0: drain", "serving 1: drain"]);
  t.mock.timers.tick(1);
  await turn();
  await stopped;
  assert.deepEqual(world.said(), ["serving 0: close", "serving 1: close"]);
});

test("posts, errors, logged requests and waits of a thread are passed on", async (t) => {
  const world = open(t, { writes: false, environment: { ACCESS_LOG: "2" } });
  const { opened, made, logged } = world;
  const waits: unknown[] = [];
  opened.onWait = (thread, given) => waits.push([thread, given]);
  await listen(world);
  const send = async (message: Message, from = 1) => {
    made[from].emit("message", message);
    await turn();
  };
  const replies = () =>
    made[1].messages.filter(({ type }) => type === "posted").map(({ id, reply }) => [id, reply]);
  await send({ type: "post", id: 7, request: { path: "/a" } });
  await send({ type: "post", id: 8, request: { path: "/fails" } });
  assert.deepEqual(replies(), [
    [7, { status: 200, body: { path: "/a" } }],
    [8, null],
  ]);
  const [[level, { stack }, what]] = logged.splice(0) as [string, { stack: string }, string][];
  assert.deepEqual([level, what], ["error", "request failed"]);
  assert.match(stack, /^Error: no room\n/);
  await send({ type: "error", stack: "a stack", requestId: "id" });
  for (let i = 0; i < 3; i++) await send({ type: "access", access: { request: `GET /${i}` } }, i % 2);
  await send({ type: "wait", waits: [{ slot: 3, count: 1 }] });
  assert.deepEqual(logged, [
    ["error", { stack: "a stack", requestId: "id" }, "request failed"],
    ["info", { request: "GET /0" }, "request"],
    ["info", { request: "GET /1" }, "request"],
  ]);
  assert.deepEqual(waits, [[1, [{ slot: 3, count: 1 }]]]);
});

test("a start fails with the reason of the first thread that can't start, however that is told", async (t) => {
  for (const [fail, expected] of [
    [
      (thread) => thread.emit("message", { type: "failed", reason: "the port is taken" }),
      "a serving thread can't start: the port is taken",
    ],
    [(thread) => thread.emit("error", new Error("a fault")), "a serving thread can't start: a fault"],
    [(thread) => thread.emit("exit", 3), "a serving thread can't start: it ended with exit code 3"],
    [(_, pageThread) => pageThread.emit("exit", 4), "the page thread can't start: it ended with exit code 4"],
  ] as [(thread: FakeThread, pageThread: FakeThread) => void, string][]) {
    const world = open(t);
    world.silent.add("start");
    const listening = listen(world);
    fail(world.made[1], world.made[2]);
    world.made[1].emit("exit", 9);
    await assert.rejects(listening, { message: expected });
    for (const { options } of world.made)
      for (const port of options.transferList ?? []) if ("close" in port) port.close();
  }
});

test("serving begins with what the settings say, and the registry is written after the threads listen and before they answer", async (t) => {
  const world = open(t, {
    writes: false,
    environment: { PORT: "8123", HOST: "127.0.0.2", CORS_ORIGINS: "*" },
  });
  const state = new Int32Array((world.made[0].options.workerData as ThreadCode).gate);
  const settings = readSettings({ PORT: "8123", HOST: "127.0.0.2", THREADS: "2", CORS_ORIGINS: "*" });
  assert.ok(!Array.isArray(settings));
  const steps: unknown[] = [];
  const snapshots = {
    published: () => [],
    beginServing: () => steps.push([world.said(), state[0] === gate.shut]),
  };
  const [connections, counts] = [new Connections(99), new Traffic([], 2)];
  const before = closers.length;
  const port = await startServing(
    settings,
    world.opened,
    { areShared: true } as Parameters<typeof startServing>[2],
    snapshots as unknown as Parameters<typeof startServing>[3],
    undefined,
    connections,
    counts,
  );
  assert.deepEqual([port, state[0]], [8123, gate.open]);
  assert.deepEqual(steps, [[["serving 0: start", "serving 1: start"], true]]);
  assert.deepEqual(world.made[1].messages[0].data, {
    ...{ areShared: true, host: "127.0.0.2", port: 8123, traffic: counts.buffers[1] },
    ...{ connections: connections.buffer, maxConnections: 99, maxWaitingBytes: 32 * 2 ** 20 },
    ...{ corsOrigins: ["*"], accessLog: 0, accessLogAccounts: undefined },
  });
  assert.equal(closers.length, before + 1);
  await closers.pop()?.();
  assert.ok(
    world.said().includes("serving 1: drain"),
    "the last shutdown step to be registered stops the threads",
  );
});
