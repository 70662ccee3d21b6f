/** Detects that an answer's head may have been cut off. */

/*
 * uWebSockets.js buffers the answers to the requests of one TCP segment. The write that finds the buffer full flushes
 * it. If the socket takes only a part of the buffer, the library drops the write (AsyncSocket::uncork of v20.49, fixed
 * later). `tryEnd()` shows that a body was dropped. A dropped part of a head can't be detected, and nothing may be sent
 * after that head.
 */

/** Bytes of AsyncSocket's cork buffer. */
const bufferBytes = 16 * 2 ** 10;
/** Maximum bytes that the library adds to a head, which are the protocol, the date and the length. */
export const headOverheadBytes = 128;
const remembered = 64;
const withoutBody = 2 ** 32 - 1;

/** The sizes of a thread's last answers. All of them may have gone to one connection in one segment. */
export class RecentReplies {
  readonly #sizes = new Uint32Array(remembered);
  #last = 0;

  /** Notes the size of an answer. @param bodyBytes undefined if the answer has no body */
  add(headBytes: number, bodyBytes: number | undefined): void {
    this.#last = (this.#last + 1) & (remembered - 1);
    this.#sizes[this.#last] =
      bodyBytes === undefined ? withoutBody : headBytes + headOverheadBytes + bodyBytes;
  }

  /** Whether the buffer may have been full within the last head, or within an earlier answer without a body. */
  mayHaveCutHead(headBytes: number): boolean {
    let gathered = 0;
    for (let back = 1; back < remembered; back++) {
      const size = this.#sizes[(this.#last - back) & (remembered - 1)];
      if (size === withoutBody) return true;
      // The overhead is a maximum: fewer bytes may be in the buffer.
      gathered += size;
      if (gathered - back * headOverheadBytes > bufferBytes) return false;
      if (gathered + headBytes + headOverheadBytes > bufferBytes) return true;
    }
    return true;
  }
}
