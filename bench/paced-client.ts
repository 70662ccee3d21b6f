import { strict as assert } from "node:assert";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { createInterface } from "node:readline";

/*
 * A client that sends requests at an even pace. If all connections wait for an answer, a request is sent late. But latency
 * counts from the time at which a request was due, so a pause of the server counts for all requests that were due during
 * the pause. A client that waits for each answer would count only one request on each connection.
 *
 * For each line of JSON with a `Pace` on standard input, it prints a line of JSON with a `Paced`.
 */

export interface Pace {
  port: number;
  key: string;
  target: string;
  perSecond: number;
  seconds: number;
  connections: number;
}

export interface Paced {
  requests: number;
  p50Us: number;
  p99Us: number;
  p999Us: number;
  longestUs: number;
}

/** A shorter wait isn't worth the system call. */
const minWaitMs = 0.02;
/** Maximum time to wait for answers after the pace's `seconds`. */
const maxLateMs = 30_000;

const cell = new Int32Array(new SharedArrayBuffer(4));

/** A connection with at most one request at a time. */
class Line {
  readonly #socket: Socket;
  readonly #text: Buffer;
  readonly #answered: (line: Line, dueMs: number) => void;
  #dueMs = 0;
  /** Bytes of the answer that are missing; negative before its length is known. */
  #missing = -1;

  constructor(pace: Pace, answered: (line: Line, dueMs: number) => void) {
    const { port, key, target } = pace;
    this.#text = Buffer.from(
      `GET ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\n\r\n`,
    );
    this.#answered = answered;
    const onread = {
      buffer: Buffer.alloc(2 ** 16),
      callback: (bytes: number, buffer: Uint8Array) => this.#take(Buffer.from(buffer.buffer, 0, bytes)),
    };
    this.#socket = connect({ host: "127.0.0.1", port, noDelay: true, onread });
  }

  async connected(): Promise<void> {
    await once(this.#socket, "connect");
  }

  send(dueMs: number): void {
    this.#dueMs = dueMs;
    this.#socket.write(this.#text);
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(bytes: Buffer): boolean {
    if (this.#missing < 0) {
      // The server sends a head in one piece.
      const head = bytes.indexOf("\r\n\r\n") + 4;
      const length = /^HTTP\/1\.1 200 .*^Content-Length: (\d+)/ims.exec(
        bytes.toString("latin1", 0, head),
      )?.[1];
      assert.ok(
        length !== undefined,
        `found ${bytes.toString("latin1", 0, 200)}, expected an answer with 200`,
      );
      this.#missing = head + Number(length);
    }
    this.#missing -= bytes.length;
    if (this.#missing > 0) return true;
    this.#missing = -1;
    this.#answered(this, this.#dueMs);
    return true;
  }
}

async function send(pace: Pace): Promise<Paced> {
  const total = Math.round(pace.perSecond * pace.seconds);
  const stepMs = 1000 / pace.perSecond;
  const latencies = new Float64Array(total);
  let answered = 0;
  const take = (line: Line, dueMs: number) => {
    latencies[answered++] = performance.now() - dueMs;
    free.push(line);
  };
  const lines = Array.from({ length: pace.connections }, () => new Line(pace, take));
  // All connections take turns, so that none is idle for so long that the server closes it.
  const free: Line[] = [...lines];
  await Promise.all(lines.map((line) => line.connected()));
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const startMs = performance.now();
  let sent = 0;
  const goOn = () => {
    let nowMs = performance.now();
    while (sent < total && startMs + sent * stepMs <= nowMs) {
      const line = free.shift();
      if (line === undefined) break;
      line.send(startMs + sent++ * stepMs);
    }
    if (answered === total) return resolve();
    nowMs = performance.now();
    const waitMs = startMs + sent * stepMs - nowMs;
    // Without this wait the process would take a whole core, and nothing else could run on the core.
    if (waitMs > minWaitMs) Atomics.wait(cell, 0, 0, Math.min(waitMs, stepMs) - minWaitMs);
    if (nowMs > startMs + pace.seconds * 1000 + maxLateMs)
      return reject(new Error(`${answered} of ${total} requests were answered, expected all`));
    setImmediate(goOn);
  };
  goOn();
  await promise.finally(() => {
    for (const line of lines) line.close();
  });
  latencies.sort();
  const us = (share: number) => 1000 * latencies[Math.min(total - 1, Math.floor(share * total))];
  return { requests: total, p50Us: us(0.5), p99Us: us(0.99), p999Us: us(0.999), longestUs: us(1) };
}

if (import.meta.filename === process.argv[1])
  for await (const line of createInterface({ input: process.stdin }))
    console.log(JSON.stringify(await send(JSON.parse(line))));
