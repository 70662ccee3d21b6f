/** Tells whether an answer's head may have been cut off. */

/*
 * uWebSockets.js gathers the answers to one segment's requests in a buffer, which the write that finds it full flushes.
 * Where the socket takes only part of it, because it is reset or its client doesn't read, the library drops that write
 * (AsyncSocket::uncork of v20.49, mended later). A dropped body shows: `tryEnd()` says that none of it was taken. A
 * dropped part of a head doesn't, and nothing may be sent behind it.
 */

/** AsyncSocket's cork buffer. */
const bufferBytes = 16 * 2 ** 10;
/** What a head is sent with beside what it says itself: the protocol, the date, the length, and some to spare. */
export const headOverheadBytes = 128;
/** As many answers as are looked back at. */
const remembered = 64;
const withoutBody = 2 ** 32 - 1;

/** The sizes of a thread's last answers, whichever of them went to one connection in one segment. */
export class RecentReplies {
  readonly #sizes = new Uint32Array(remembered);
  #last = 0;

  /** @param bodyBytes undefined where there is none */
  add(headBytes: number, bodyBytes: number | undefined): void {
    this.#last = (this.#last + 1) & (remembered - 1);
    this.#sizes[this.#last] =
      bodyBytes === undefined ? withoutBody : headBytes + headOverheadBytes + bodyBytes;
  }

  /** Whether the buffer may have been full within the last answer's head, or within an answer that was all head. */
  mayHaveCutHead(headBytes: number): boolean {
    let gathered = 0;
    for (let back = 1; back < remembered; back++) {
      const size = this.#sizes[(this.#last - back) & (remembered - 1)];
      if (size === withoutBody) return true;
      // The overhead is the most that it can be: less of it may be gathered.
      gathered += size;
      if (gathered - back * headOverheadBytes > bufferBytes) return false;
      if (gathered + headBytes + headOverheadBytes > bufferBytes) return true;
    }
    return true;
  }
}
