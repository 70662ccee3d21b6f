import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { inspect, isDeepStrictEqual } from "node:util";
import * as v from "valibot";

/** The longest wait of a test, in milliseconds. It says nothing about what is right: a busy machine is slow. */
export const maxWaitMs = 120_000;
const pollMs = 10;
/** A wait rests for so many times as long as its condition takes, because tests beside it need the CPU. */
const restFactor = 4;
const maxRestMs = 500;

/**
 * Calls a function until the result isn't undefined, null or false.
 * @param there what an error says was there instead
 */
export async function until<Result>(
  what: string,
  condition: () => Result | Promise<Result>,
  there: () => unknown = () => "",
): Promise<NonNullable<Exclude<Result, false>>> {
  const deadline = Date.now() + maxWaitMs;
  for (;;) {
    const begunMs = performance.now();
    const result = await condition();
    const restMs = restFactor * (performance.now() - begunMs);
    if (result !== undefined && result !== null && result !== false)
      return result as NonNullable<Exclude<Result, false>>;
    if (Date.now() > deadline) throw new Error(`waited ${maxWaitMs} ms in vain for ${what}${told(there())}`);
    await delay(Math.min(maxRestMs, Math.max(pollMs, restMs)));
  }
}

const told = (there: unknown) => (there === "" ? "" : `; there was ${inspect(there, { depth: 5 })}`);

/** Reads a value until it is deeply equal to the expected one. */
export async function becomes<Value>(
  what: string,
  read: () => Value | Promise<Value>,
  expected: NoInfer<Value>,
): Promise<void> {
  let value: Value | undefined;
  const isThere = async () => {
    value = await read();
    return isDeepStrictEqual(value, expected);
  };
  await until(`${what} to be ${inspect(expected, { depth: 5 })}`, isThere, () => value);
}

export async function listening(server: Server, host = "127.0.0.1"): Promise<number> {
  server.listen(0, host);
  await once(server, "listening");
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  return address.port;
}

/** The port is outside the range from which the system assigns ports, so that no assignment takes it. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    const server = createServer().listen(port, "127.0.0.1");
    const isFree = await once(server, "listening").then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, "close");
    return port;
  }
}

export class Answer {
  readonly head: string;
  readonly status: number;
  /** Values by lower-case name. No header may occur twice. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;

  constructor(head: string, body: Buffer) {
    this.head = head;
    this.body = body;
    const [statusLine, ...lines] = head.split("\r\n");
    this.status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]);
    const headers = lines.map((line): [string, string] => {
      const [, name, value] = /^([^:\s]+): ?(.*)$/.exec(line) ?? assert.fail(`no header: ${line}`);
      return [name.toLowerCase(), value];
    });
    this.headers = new Map(headers);
    assert.equal(this.headers.size, headers.length, `a header comes twice: ${head}`);
  }

  header(name: string): string | undefined {
    return this.headers.get(name.toLowerCase());
  }

  get remaining(): number {
    return Number(this.header("X-RateLimit-Remaining"));
  }

  get reset(): number {
    return Number(this.header("X-RateLimit-Reset"));
  }

  json(): unknown {
    return JSON.parse(this.body.toString("utf8"));
  }

  error(): v.InferOutput<typeof errorSchema>["error"] {
    return v.parse(errorSchema, this.json()).error;
  }
}

const errorSchema = v.strictObject({
  error: v.strictObject({
    type: v.string(),
    message: v.string(),
    param: v.optional(v.string()),
    ceiling: v.optional(v.string()),
  }),
});

export class Connection {
  readonly #socket: Socket;
  #received: Buffer = Buffer.alloc(0);
  #isClosed = false;
  #saidClose = false;
  #waiting: (() => void)[] = [];

  static async open(api: string): Promise<Connection> {
    const { hostname, port } = new URL(api);
    const socket = connect(Number(port), hostname);
    socket.setNoDelay(true);
    await once(socket, "connect");
    return new Connection(socket);
  }

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (bytes) => {
      this.#received = Buffer.concat([this.#received, bytes]);
      this.#wake();
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#isClosed = true;
      this.#wake();
    });
  }

  /** A chunk is sent when the server has read the previous chunk, so that it has its own TCP segment. */
  async send(...chunks: (string | Uint8Array)[]): Promise<void> {
    for (const [i, chunk] of chunks.entries()) {
      if (i > 0) await this.allRead();
      this.#socket.write(chunk);
    }
  }

  async allRead(): Promise<void> {
    if (this.#socket.writableLength > 0 && !this.#isClosed) await once(this.#socket, "drain");
    await until("the server to read", () => (queues(this.#socket).request ?? 0) === 0);
  }

  /** Bytes that the server has sent and that no call of `answer` has returned. */
  get answeredBytes(): number {
    return queues(this.#socket).answers + this.#socket.readableLength + this.#received.length;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Whether an answer has said that it is the connection's last. */
  get saidClose(): boolean {
    return this.#saidClose;
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  cut(): void {
    // After the other end has shut down, `resetAndDestroy` would never close the socket.
    if (this.#socket.writable) this.#socket.resetAndDestroy();
    else this.#socket.destroy();
  }

  close(): void {
    this.#socket.destroy();
  }

  /** An answer without Content-Length ends with the connection. */
  async answer(method = "GET"): Promise<Answer> {
    await this.#until(() => this.#received.includes("\r\n\r\n"));
    const end = this.#received.indexOf("\r\n\r\n");
    const head = this.#received.subarray(0, end).toString("latin1");
    this.#saidClose ||= /^connection: close\r?$/im.test(head);
    const length = /^content-length: (\d+)\r?$/im.exec(head)?.[1];
    const bodyless = method === "HEAD" || /^HTTP\/1\.1 (?:204|304) /.test(head);
    if (!bodyless && length === undefined) {
      const rest = await this.rest();
      return new Answer(head, rest.subarray(end + 4));
    }
    const total = end + 4 + (bodyless ? 0 : Number(length));
    await this.#until(() => this.#received.length >= total);
    const body = this.#received.subarray(end + 4, total);
    this.#received = this.#received.subarray(total);
    return new Answer(head, body);
  }

  /** @returns the bytes received after the last answer read */
  async rest(): Promise<Buffer> {
    await this.#until(() => this.#isClosed);
    return this.#received;
  }

  async #until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      if (this.#isClosed)
        throw new Error(`closed after ${JSON.stringify(this.#received.toString("latin1"))}`);
      await new Promise<void>((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`no answer in ${maxWaitMs} ms`)), maxWaitMs);
        this.#waiting.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }
}

/**
 * Bytes that wait in the system: of requests that the server hasn't read, and of answers that the client hasn't read.
 * `request` is undefined if the server has closed the connection.
 */
function queues({ localPort, remotePort }: Socket): { request: number | undefined; answers: number } {
  const portOf = (address: string) => Number.parseInt(address.split(":")[1], 16);
  let request: number | undefined;
  let answers = 0;
  for (const line of readFileSync("/proc/net/tcp", "utf8").trim().split("\n").slice(1)) {
    const [, local, remote, , sizes] = line.trim().split(/\s+/);
    const [unsent, unread] = sizes.split(":").map((size) => Number.parseInt(size, 16));
    if (portOf(local) === remotePort && portOf(remote) === localPort) {
      request = unread;
      answers += unsent;
    } else if (portOf(local) === localPort && portOf(remote) === remotePort) answers += unread;
  }
  return { request, answers };
}

/** @param chunks each is its own TCP segment */
export async function rawRequest(api: string, ...chunks: (string | Uint8Array)[]): Promise<Answer> {
  const connection = await Connection.open(api);
  try {
    await connection.send(...chunks);
    return await connection.answer(/^HEAD /.test(String(chunks[0])) ? "HEAD" : "GET");
  } finally {
    // Thousands of closed connections that linger would prevent new connections.
    connection.cut();
  }
}

/** Replaces the parts of an answer's text that differ each time. */
export const settled = (text: string) =>
  text
    .replace(/X-RateLimit-Remaining: \d+/g, "X-RateLimit-Remaining: N")
    .replace(/X-Request-Id: [^\r]+/g, "X-Request-Id: I")
    .replace(/Date: [^\r]+/g, "Date: D");

/** Headers whose value is undefined are left out. */
export function requestText(request: string, headers: Record<string, string | undefined> = {}): string {
  const given = Object.entries({ Host: "localhost", ...headers });
  const lines = given.flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}\r\n`]));
  return `${request} HTTP/1.1\r\n${lines.join("")}\r\n`;
}
