import type { HttpResponse } from "./listener.ts";
import type { BodyStream, Taker } from "./reply.ts";

/** Streams bodies. The streams of a thread take turns, so that a large file doesn't hold up other answers. */

/** Bytes that the library buffers while a response is corked. Longer writes go to the socket directly. */
const corkBytes = 16 * 2 ** 10;
/** Chunks of a body to send in one iteration of the event loop while the thread is quiet. */
const quietChunks = 3;
const quietRounds = 64;

const empty = new Uint8Array(0);

/** An answer that isn't completely sent. */
export interface Wait {
  /** True once `end` was called, by the code or at the connection's end. */
  readonly isOver: boolean;
  end(): void;
}

/**
 * Wraps a callback. The wrapped callback does nothing once `wait` is over. If `work` throws before `wait` is over, the
 * connection is closed.
 * @returns a callback that returns false if `work` returns false, and otherwise true
 */
export function orClose<Args extends unknown[]>(
  res: HttpResponse,
  wait: Wait,
  work: (...args: Args) => unknown,
): (...args: Args) => boolean {
  return (...args) => {
    try {
      return wait.isOver || work(...args) !== false;
    } catch {
      if (!wait.isOver) res.close();
      return true;
    }
  };
}

/** Calls back after a time. @returns a function that cancels the call */
export type After = (ms: number, callback: () => void) => () => void;

export const afterTimeout: After = (ms, callback) => {
  const timer = setTimeout(callback, ms);
  return () => clearTimeout(timer);
};

/** Maximum chunks of a request's body, in addition to a chunk for each `bytesPerChunk` bytes. */
const maxChunks = 16;
/** Each chunk costs a call, so a body of 16 KiB in chunks of one byte would delay other requests. */
const bytesPerChunk = 256;

export const hasTooManyChunks = (chunks: number, bytes: number): boolean =>
  chunks > maxChunks + bytes / bytesPerChunk;

/** Limits for an unwanted body that is read before its request is answered. */
const maxUnwantedBytes = 16 * 2 ** 20;
const maxUnwantedMs = 5000;

/**
 * Reads a body that nobody wants. Calls `onEnd` at most once: at the body's end, after `maxUnwantedBytes` or too many
 * chunks, or after `maxUnwantedMs`.
 * @returns a function that cancels the deadline
 */
export function skipBody(res: HttpResponse, wait: Wait, after: After, onEnd: () => void): () => void {
  let [bytes, chunks, isEnough] = [0, 0, false];
  const take = (chunk: ArrayBuffer, isLast: boolean) => {
    bytes += chunk.byteLength;
    chunks++;
    const isTooMany = hasTooManyChunks(chunks, bytes);
    // Closes the connection, because each further chunk from the same read of the socket would cost a call.
    if (isEnough && isTooMany) res.close();
    if (isEnough) return;
    isEnough = isLast || isTooMany || bytes > maxUnwantedBytes;
    if (!isEnough) return;
    cancel();
    onEnd();
  };
  const cancel = after(
    maxUnwantedMs,
    orClose(res, wait, () => take(empty.buffer, true)),
  );
  res.onData(orClose(res, wait, take));
  return cancel;
}

/** Maximum bytes of exports that a thread makes for an account in a second, so that they hardly delay other answers. */
export const madeBytesPerSecond = 32 * 2 ** 20;
/** Minimum bytes that a chunk counts as, because searching for an export's rows takes time, too. */
const minTurnBytes = 2 ** 10;
/** An account may catch up on the bytes of this many milliseconds, because timers fire up to a few milliseconds late. */
const maxLateMs = 8;

interface Queue {
  readonly turns: (() => void)[];
  freeAtMs: number;
}

/**
 * Runs the waiting turns, one in each iteration of the event loop. The takers alternate, whatever the number of their
 * streams.
 */
export class Turns {
  /** The takers in the order of their turns. A queue without turns is kept at least until its taker is free. */
  readonly #queues = new Map<Taker, Queue>();
  readonly #handled: () => number;
  readonly #nowMs: () => number;
  readonly #onTurn: (tookMs: number) => void;
  readonly #after: After;
  #handledBefore = 0;
  #quietRounds = 0;
  /** Whether the next turn runs in the next iteration of the event loop, or is being run. */
  #isDue = false;
  /** Cancels the timer that runs while every waiting taker has used up its bytes. */
  #cancelTimer: () => void = () => {};

  /**
   * @param handled returns the number of requests handled so far
   * @param nowMs milliseconds of a steady clock
   * @param onTurn called after a turn with its milliseconds
   */
  constructor(
    handled: () => number,
    after: After = afterTimeout,
    nowMs = () => performance.now(),
    onTurn: (tookMs: number) => void = () => {},
  ) {
    this.#handled = handled;
    this.#after = after;
    this.#nowMs = nowMs;
    this.#onTurn = onTurn;
  }

  get isQuiet(): boolean {
    return this.#quietRounds >= quietRounds;
  }

  isFree(taker: Taker): boolean {
    return (this.#queues.get(taker)?.freeAtMs ?? 0) <= this.#nowMs();
  }

  /** Queues a turn behind the taker's other turns. @param turn must not throw */
  wait(taker: Taker, turn: () => void): void {
    this.#queueOf(taker).turns.push(turn);
    if (this.#isDue) return;
    // This taker may be free now, while the other takers wait for the timer.
    this.#cancelTimer();
    this.#isDue = true;
    setImmediate(this.#next);
  }

  made(taker: Taker, bytes: number): void {
    if (taker === undefined) return;
    const queue = this.#queueOf(taker);
    const fromMs = Math.max(queue.freeAtMs, this.#nowMs() - maxLateMs);
    queue.freeAtMs = fromMs + (Math.max(bytes, minTurnBytes) / madeBytesPerSecond) * 1000;
  }

  #queueOf(taker: Taker): Queue {
    let queue = this.#queues.get(taker);
    if (queue === undefined) {
      queue = { turns: [], freeAtMs: Number.NEGATIVE_INFINITY };
      this.#queues.set(taker, queue);
    }
    return queue;
  }

  readonly #next = () => {
    this.#isDue = true;
    const handled = this.#handled();
    this.#quietRounds = handled === this.#handledBefore ? this.#quietRounds + 1 : 0;
    this.#handledBefore = handled;
    const nowMs = this.#nowMs();
    for (const [taker, queue] of this.#queues) {
      if (queue.freeAtMs > nowMs) continue;
      const turn = queue.turns.shift();
      this.#queues.delete(taker);
      if (turn === undefined) continue;
      this.#queues.set(taker, queue);
      turn();
      this.#onTurn(this.#nowMs() - nowMs);
      break;
    }
    this.#schedule();
  };

  #schedule(): void {
    let waitMs = Number.POSITIVE_INFINITY;
    const nowMs = this.#nowMs();
    for (const { turns, freeAtMs } of this.#queues.values())
      if (turns.length > 0) waitMs = Math.min(waitMs, freeAtMs - nowMs);
    this.#isDue = waitMs <= 0;
    if (this.#isDue) setImmediate(this.#next);
    else if (waitMs !== Number.POSITIVE_INFINITY) this.#cancelTimer = this.#after(waitMs, this.#next);
  }
}

/**
 * Streams a body after its head was written: one chunk in each turn, or a few chunks while the thread is quiet.
 *
 * @param wait ended by `close`; without `close`, ended when the library has the whole body
 * @param onChunk called with the length of a chunk before the chunk is sent
 * @param onSent called after bytes were given to the socket; `isBehind` is whether the socket didn't take all of them
 * @param close called when the socket has taken the whole body; ends `wait` and closes the connection. Undefined if the
 *   connection stays open
 * @returns whether the socket has taken the whole body in the first turn, is behind after this turn, or neither
 */
export function streamBody(
  res: HttpResponse,
  { length, source, taker }: BodyStream,
  wait: Wait,
  turns: Turns,
  onChunk: (bytes: number) => void,
  onSent: (isBehind: boolean) => void,
  close: (() => void) | undefined,
): "sent" | "behind" | "going on" {
  // If the connection is to be closed, the library is told to expect one byte more than the head announced, so that it
  // handles no further request on the connection.
  const total = close === undefined ? length : length + 1;
  if (close !== undefined) res.tryEnd(empty, length);
  let chunk: Uint8Array = empty;
  let start = 0;
  let isBehind = false;
  let isSent = false;
  const send = (offset: number) => {
    const [isTaken, finished] = res.tryEnd(chunk.subarray(offset - start), total);
    isBehind = !isTaken;
    isSent = isTaken && start + chunk.length === length;
    onSent(isBehind);
    if (finished) wait.end();
    if (isSent) close?.();
  };
  const sendNext = () => {
    start += chunk.length;
    chunk = length - start > 2 * corkBytes ? nextOf(source) : restOf(source, length - start);
    onChunk(chunk.length);
    turns.made(taker, chunk.length);
    if (chunk.length > 0) send(start);
  };
  const isGoingOn = () => !isBehind && !isSent && !wait.isOver;
  const takeTurn = () => {
    try {
      let chunks = turns.isQuiet ? quietChunks : 1;
      do sendNext();
      while (--chunks > 0 && isGoingOn());
    } catch {
      // Closing the connection shows the client that bytes are missing.
      res.close();
    }
    waitForTurn();
  };
  // The write is corked, because the library warns about each write outside a cork.
  const turn = orClose(res, wait, () => res.cork(takeTurn));
  const waitForTurn = () => {
    if (isGoingOn()) turns.wait(taker, turn);
  };
  const goOn = (offset: number) => {
    if (!isBehind) return true;
    send(offset);
    waitForTurn();
    return !isBehind;
  };
  res.onWritable(orClose(res, wait, goOn));
  takeTurn();
  if (isSent) return "sent";
  return isBehind ? "behind" : "going on";
}

function nextOf(source: BodyStream["source"]): Uint8Array {
  const { value, done } = source.next();
  if (done) throw new Error("a body isn't as long as it said");
  return value;
}

/** Returns the rest of the body as one chunk. Each chunk is copied before the next chunk is made. */
function restOf(source: BodyStream["source"], length: number): Uint8Array {
  const rest = Buffer.concat(Array.from(source, (chunk) => new Uint8Array(chunk)));
  if (rest.length !== length) throw new Error("a body isn't as long as it said");
  return rest;
}
