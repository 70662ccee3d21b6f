import { deepStrictEqual } from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { parentPort, workerData } from "node:worker_threads";
import type { PricesBody } from "../support/oracle.ts";
import { seededRandom } from "../support/random.ts";

/** A thread that sends requests over many connections without a pause, and checks every answer byte by byte. */

export interface Served {
  /** Data versions for which requests must get an answer. */
  always: string[];
  /** Data versions for which requests must get 404 from now on. */
  never: string[];
  /** The data version that answers requests without a version; null while it may change. */
  current: string | null;
}

export interface LoadOptions {
  api: string;
  key: string;
  connections: number;
  queries: string[];
  seed: number;
}

export type ToLoad =
  /** The expected bodies of a version, one for each query. Sent before the version is served. */
  | { type: "expect"; version: string; bodies: PricesBody[] }
  | { type: "serve"; served: Served }
  | { type: "stop" };

export type FromLoad =
  /** The answer to `serve`: the given versions apply to all requests sent from now on. */
  { type: "serving" } | { type: "stopped"; answered: number; failed: number; failures: string[] };

const maxReportedFailures = 10;
const latin1 = "latin1";

if (parentPort === null) throw new Error("load.ts runs in a thread, started by a test");
const control = parentPort;
const send = (message: FromLoad) => control.postMessage(message);
const options: LoadOptions = workerData;
const random = seededRandom(options.seed);
const { hostname, port } = new URL(options.api);

const expected = new Map<string, PricesBody[]>();
/** Bodies that were found equal to the expected bodies, by version and query. */
const right = new Map<string, Buffer>();
let served: Served = { always: [], never: [], current: null };
let stopping = false;
let open = 0;
let answered = 0;
let failed = 0;
const failures: string[] = [];

function fail(what: string): void {
  failed++;
  if (failures.length < maxReportedFailures) failures.push(what);
}

interface Asked {
  query: number;
  version: string | null;
  served: Served;
}

function draw(): Asked {
  const query = random.int(options.queries.length);
  const kind = random.int(10);
  if (kind < 7) return { query, version: null, served };
  if (kind < 8) return { query, version: "2024", served };
  return { query, version: random.pick([...served.always, ...served.never.slice(-2)]), served };
}

function textOf({ query, version }: Asked): string {
  const base = version === null ? "" : `/versions/${version}`;
  return `GET /api/v1${base}/healthcare/prices${options.queries[query]} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${options.key}\r\n\r\n`;
}

function check(asked: Asked, status: string, body: Buffer): void {
  answered++;
  const isNamed = asked.version?.includes(".") ?? false;
  if (status === "404" && isNamed) {
    const name = String(asked.version);
    if (asked.served.always.includes(name) && served.always.includes(name))
      fail(`${name} is served, and it was not found`);
    return;
  }
  if (status !== "200") {
    fail(`${status} for ${textOf(asked)}`);
    return;
  }
  const [, version] = /"data_version":"([0-9.]+)"/.exec(body.toString(latin1)) ?? [];
  if (isNamed && version !== asked.version) fail(`${asked.version} was asked for, ${version} answered`);
  if (asked.served.never.includes(version)) fail(`${version} answered after its retirement`);
  if (!isNamed && asked.served === served && served.current !== null && version !== served.current)
    fail(`${version} answered where ${served.current} is current`);

  const key = `${version} ${asked.query}`;
  const known = right.get(key);
  if (known !== undefined) {
    if (!body.equals(known)) fail(`${key} was answered in different bytes`);
    return;
  }
  try {
    const { next, ...answer } = JSON.parse(body.toString());
    deepStrictEqual(answer, expected.get(version)?.[asked.query]);
    right.set(key, Buffer.from(body));
  } catch (error) {
    fail(`${key}: ${error instanceof Error ? error.message : error}`);
  }
}

function keepAsking(): void {
  const socket: Socket = connect(Number(port), hostname);
  socket.setNoDelay(true);
  open++;
  let asked = draw();
  let received: Buffer = Buffer.alloc(0);
  socket.on("connect", () => socket.write(textOf(asked)));
  socket.on("data", (bytes) => {
    received = received.length === 0 ? bytes : Buffer.concat([received, bytes]);
    const end = received.indexOf("\r\n\r\n");
    if (end < 0) return;
    const head = received.toString(latin1, 0, end);
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1]);
    const total = end + 4 + length;
    if (received.length < total) return;
    check(asked, head.slice(9, 12), received.subarray(end + 4, total));
    if (received.length !== total) fail(`${received.length - total} bytes too many`);
    received = Buffer.alloc(0);
    asked = draw();
    if (stopping) socket.end();
    else socket.write(textOf(asked));
  });
  socket.on("error", (error) => fail(`connection: ${error.message}`));
  socket.on("close", () => {
    if (!stopping) fail("a connection was closed");
    if (--open > 0) return;
    send({ type: "stopped", answered, failed, failures });
    control.close();
  });
}

control.on("message", (message: ToLoad) => {
  if (message.type === "expect") expected.set(message.version, message.bodies);
  else if (message.type === "serve") {
    const isFirst = open === 0;
    served = message.served;
    send({ type: "serving" });
    if (isFirst) for (let i = 0; i < options.connections; i++) keepAsking();
  } else stopping = true;
});
