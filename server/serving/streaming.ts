import type { HttpResponse } from "./listener.ts";
import type { BodyStream } from "./reply.ts";

/** Sends bodies that are made as they are sent: in turns that they share, so that whole files delay no other answer. */

/** What the library gathers of one cork; a longer write goes to the socket at once. */
const corkBytes = 16 * 2 ** 10;
/** Of a body, in one round of the event loop where no other request came for some rounds. */
const quietChunks = 3;
const quietRounds = 64;

const empty = new Uint8Array(0);

/** An answer that isn't sent yet. */
export interface Wait {
  /** Whether it was sent, or its connection is gone: then nothing may be asked of the response any more. */
  readonly isOver: boolean;
  end(): void;
}

/**
 * Wraps a callback that goes on with an answer. It isn't called any more when the answer is over; when it throws, the
 * connection is closed.
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

/** What is to be done bit by bit, one bit in each round of the event loop, whoever waits. */
export class Turns {
  readonly #waiting: (() => void)[] = [];
  readonly #handled: () => number;
  #handledBefore = 0;
  #quietRounds = 0;

  /** @param handled counts what else the thread does */
  constructor(handled: () => number) {
    this.#handled = handled;
  }

  /** Whether nothing else was done in the last rounds. */
  get isQuiet(): boolean {
    return this.#quietRounds >= quietRounds;
  }

  /** @param turn must not throw */
  wait(turn: () => void): void {
    if (this.#waiting.push(turn) === 1) setImmediate(this.#next);
  }

  readonly #next = () => {
    const handled = this.#handled();
    this.#quietRounds = handled === this.#handledBefore ? this.#quietRounds + 1 : 0;
    this.#handledBefore = handled;
    this.#waiting[0]();
    this.#waiting.shift();
    if (this.#waiting.length > 0) setImmediate(this.#next);
  };
}

/**
 * Sends a body behind a head that was written: a chunk in each turn, or a few where the thread has nothing else to do.
 *
 * @param wait ended when the library has it all
 * @param onChunk told of the bytes of each chunk when it is made
 * @param close closes the connection, when the socket has taken all; undefined where it goes on
 * @returns whether the socket hasn't taken all of the first chunk
 */
export function streamBody(
  res: HttpResponse,
  { length, source }: BodyStream,
  wait: Wait,
  turns: Turns,
  onChunk: (bytes: number) => void,
  close: (() => void) | undefined,
): boolean {
  // With a byte more to come than the head has said, the library doesn't go on with the connection.
  const total = close === undefined ? length : length + 1;
  if (close !== undefined) res.tryEnd(empty, length);
  let chunk: Uint8Array = empty;
  let start = 0;
  /** Whether the socket hasn't taken all of the chunk. */
  let isBehind = false;
  let isSent = false;
  const send = (offset: number) => {
    const [isTaken, finished] = res.tryEnd(chunk.subarray(offset - start), total);
    isBehind = !isTaken;
    isSent = isTaken && start + chunk.length === length;
    if (finished) wait.end();
    if (isSent) close?.();
  };
  const sendNext = () => {
    start += chunk.length;
    chunk = length - start > 2 * corkBytes ? nextOf(source) : restOf(source, length - start);
    onChunk(chunk.length);
    if (chunk.length > 0) send(start);
  };
  const isGoingOn = () => !isBehind && !isSent && !wait.isOver;
  const takeTurn = () => {
    try {
      let chunks = turns.isQuiet ? quietChunks : 1;
      do sendNext();
      while (--chunks > 0 && isGoingOn());
    } catch {
      // Cut short: the client sees that bytes are missing.
      res.close();
    }
    waitForTurn();
  };
  const waitForTurn = () => {
    // The library warns of each write that isn't made within a cork.
    if (isGoingOn()) turns.wait(orClose(res, wait, () => res.cork(takeTurn)));
  };
  const goOn = (offset: number) => {
    if (!isBehind) return true;
    send(offset);
    waitForTurn();
    return !isBehind;
  };
  res.onWritable(orClose(res, wait, goOn));
  takeTurn();
  return isBehind;
}

function nextOf(source: BodyStream["source"]): Uint8Array {
  const { value, done } = source.next();
  if (done) throw new Error("a body isn't as long as it said");
  return value;
}

/** All that is left, as one chunk: what is longer than the cork's buffer is counted until it is taken. Each is copied before the next. */
function restOf(source: BodyStream["source"], length: number): Uint8Array {
  const rest = Buffer.concat(Array.from(source, (chunk) => new Uint8Array(chunk)));
  if (rest.length !== length) throw new Error("a body isn't as long as it said");
  return rest;
}
