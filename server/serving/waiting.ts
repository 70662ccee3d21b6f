import type { Connections } from "../shared/connections.ts";

/** Bounds the memory of answers whose clients read slowly. */

/** Estimated bytes of a streamed answer: its chunk, and what its next chunks are made from. */
const streamBytes = 64 * 2 ** 10;
/** Bytes whose garbage is collected at once when no answer waits any more. An idle thread would keep it. */
const minGarbageBytes = 8 * 2 ** 20;

interface Response {
  close(): unknown;
}

interface Waiting {
  /** Undefined for a stream. */
  body: Uint8Array | undefined;
  /** Whether the client reads too slowly. Otherwise the answer waits for its turn. */
  isBehind: boolean;
}

/** The answers of a thread that aren't completely sent. */
export class WaitingAnswers {
  readonly #connections: Connections;
  readonly #maxBytes: number;
  /** First comes the answer whose last progress is the oldest. */
  readonly #answers = new Map<Response, Waiting>();
  /** Number of answers that share a body. The body's bytes count once. */
  readonly #users = new Map<Uint8Array, number>();
  readonly #collectGarbage: () => void;
  #bytes = 0;
  /** Most bytes since no answer waited. */
  #peakBytes = 0;

  /**
   * @param connections counts the bytes of all threads
   * @param maxBytes maximum bytes of this thread's answers
   * @param collectGarbage frees the memory of answers that wait no longer
   */
  constructor(connections: Connections, maxBytes: number, collectGarbage: () => void) {
    this.#connections = connections;
    this.#maxBytes = maxBytes;
    this.#collectGarbage = collectGarbage;
  }

  /**
   * Adds an answer. If there are too many bytes then, closes the connections whose clients have taken nothing for the
   * longest time, and counts them. If all clients read fast enough, the new answer's connection is closed.
   * @param body undefined for a stream
   */
  add(res: Response, body: Uint8Array | undefined, isBehind = true): void {
    this.#answers.set(res, { body, isBehind });
    if (body === undefined) this.#count(streamBytes);
    else {
      const users = this.#users.get(body) ?? 0;
      this.#users.set(body, users + 1);
      if (users === 0) this.#count(body.length);
    }
    for (const [oldest, { isBehind }] of this.#answers) {
      if (this.#bytes <= this.#maxBytes) return;
      if (isBehind) this.#cut(oldest);
    }
    if (this.#bytes > this.#maxBytes) this.#cut(res);
  }

  #cut(res: Response): void {
    this.#connections.cutSlow();
    res.close();
    this.remove(res);
  }

  /** Notes that the socket has taken a part of an answer. @param isBehind whether it didn't take all that it was given */
  note(res: Response, isBehind: boolean): void {
    const waiting = this.#answers.get(res);
    if (waiting === undefined) return;
    this.#answers.delete(res);
    this.#answers.set(res, { body: waiting.body, isBehind });
  }

  /** Removes an answer that was sent, or whose connection was closed. Does nothing for other answers. */
  remove(res: Response): void {
    const waiting = this.#answers.get(res);
    if (waiting === undefined) return;
    const { body } = waiting;
    this.#answers.delete(res);
    if (body === undefined) this.#count(-streamBytes);
    else {
      const users = (this.#users.get(body) ?? 0) - 1;
      if (users > 0) this.#users.set(body, users);
      else {
        this.#users.delete(body);
        this.#count(-body.length);
      }
    }
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.#connections.wait(bytes);
    this.#peakBytes = Math.max(this.#peakBytes, this.#bytes);
    if (this.#bytes > 0) return;
    if (this.#peakBytes >= minGarbageBytes) setImmediate(this.#collectGarbage);
    this.#peakBytes = 0;
  }
}
