import type { Connections } from "../shared/connections.ts";
import type { Taker } from "./reply.ts";

/** Bounds the memory of answers to slow clients. */

/** Estimated bytes of a streamed answer: its chunk, and what its next chunks are made from. */
export const streamBytes = 64 * 2 ** 10;
/**
 * If at least this many bytes of answers have waited together, garbage is collected when no answer waits any more. An
 * idle thread would keep the garbage.
 */
const minGarbageBytes = 8 * 2 ** 20;

interface Response {
  close(): unknown;
}

interface Waiting {
  body: Uint8Array | undefined;
  /** Slot of the account that a streamed answer is for; undefined for bodies in memory. */
  taker: Taker;
  /** Whether the client reads too slowly. Otherwise the answer waits for its turn. */
  isBehind: boolean;
}

export class WaitingAnswers {
  readonly #connections: Connections;
  readonly #maxBytes: number;
  /** The answers in the order of their last progress, oldest first. */
  readonly #answers = new Map<Response, Waiting>();
  /** Number of answers that share a body. The body's bytes count once. */
  readonly #users = new Map<Uint8Array, number>();
  readonly #bytesOf = new Map<Taker, number>();
  readonly #collectGarbage: () => void;
  #bytes = 0;
  /** Maximum of `#bytes` since the last time that no answer waited. */
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
   * Adds an answer. While there are too many bytes, closes connections of the taker with the most bytes. So an account's
   * exports don't close connections of takers with fewer bytes. Slow clients' connections are closed first, in the order
   * of their last progress.
   * @param body undefined for a stream
   */
  add(res: Response, body: Uint8Array | undefined, taker: Taker = undefined, isBehind = true): void {
    this.#answers.set(res, { body, taker, isBehind });
    if (body === undefined) this.#count(taker, streamBytes);
    else {
      const users = this.#users.get(body) ?? 0;
      this.#users.set(body, users + 1);
      if (users === 0) this.#count(taker, body.length);
    }
    while (this.#bytes > this.#maxBytes) {
      const cut = this.#nextToCut();
      this.#connections.cutSlow();
      cut.close();
      this.remove(cut);
    }
  }

  #nextToCut(): Response {
    let [heaviest, most] = [undefined as Taker, 0];
    for (const [taker, bytes] of this.#bytesOf) if (bytes > most) [heaviest, most] = [taker, bytes];
    let first: Response | undefined;
    for (const [res, { taker, isBehind }] of this.#answers) {
      if (taker !== heaviest) continue;
      if (isBehind) return res;
      first ??= res;
    }
    if (first === undefined) throw new Error(`${most} bytes wait, expected an answer`);
    return first;
  }

  /**
   * Records that the socket has taken a part of an answer.
   * @param isBehind whether the socket didn't take all bytes that it was given
   */
  note(res: Response, isBehind: boolean): void {
    const waiting = this.#answers.get(res);
    if (waiting === undefined) return;
    this.#answers.delete(res);
    this.#answers.set(res, { ...waiting, isBehind });
  }

  /** Removes an answer that was sent, or whose connection was closed. Does nothing for other answers. */
  remove(res: Response): void {
    const waiting = this.#answers.get(res);
    if (waiting === undefined) return;
    const { body, taker } = waiting;
    this.#answers.delete(res);
    if (body === undefined) this.#count(taker, -streamBytes);
    else {
      const users = (this.#users.get(body) ?? 0) - 1;
      if (users > 0) this.#users.set(body, users);
      else {
        this.#users.delete(body);
        this.#count(taker, -body.length);
      }
    }
  }

  #count(taker: Taker, bytes: number): void {
    const ofTaker = (this.#bytesOf.get(taker) ?? 0) + bytes;
    if (ofTaker > 0) this.#bytesOf.set(taker, ofTaker);
    else this.#bytesOf.delete(taker);
    this.#bytes += bytes;
    this.#connections.wait(bytes);
    this.#peakBytes = Math.max(this.#peakBytes, this.#bytes);
    if (this.#bytes > 0) return;
    if (this.#peakBytes >= minGarbageBytes) setImmediate(this.#collectGarbage);
    this.#peakBytes = 0;
  }
}
