/** A position in a text file. Lines and bytes of a line count from 1. */
export interface StrayByte {
  line: number;
  byte: number;
  value: number;
}

/** Ranges of the second byte of UTF-8 sequences, by first bytes that restrict it (Unicode, table 3-7). */
const secondBytes: Readonly<Record<number, readonly [least: number, most: number]>> = {
  224: [0xa0, 0xbf],
  237: [0x80, 0x9f],
  240: [0x90, 0xbf],
  244: [0x80, 0x8f],
};
const anySecondByte = [0x80, 0xbf] as const;

/** The number of bytes that follow the first byte of a UTF-8 sequence; 0 for ASCII and for invalid first bytes. */
function followers(first: number): number {
  if (first < 0xc2 || first > 0xf4) return 0;
  return first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
}

/** Counts the lines of a text file and finds bytes that aren't UTF-8. O(bytes). */
export class TextScan {
  bytes = 0;
  line = 1;
  stray: StrayByte | undefined;
  /** The line of the first multi-byte UTF-8 character. */
  multibyteLine: number | undefined;
  #lineStart = 0;
  #previous = 0;
  /** An incomplete character: its first byte, that byte's position, and the number of bytes still missing. */
  #first = 0;
  #firstAt = 0;
  #left = 0;
  #least = 0;
  #most = 0;

  push(chunk: Uint8Array): void {
    for (const byte of chunk) {
      const at = this.bytes++;
      if (this.#left > 0) {
        if (byte >= this.#least && byte <= this.#most) {
          [this.#least, this.#most] = anySecondByte;
          if (--this.#left === 0) this.multibyteLine ??= this.line;
          this.#previous = byte;
          continue;
        }
        this.finish();
      }
      if (byte === 10 || byte === 13) {
        if (byte === 13 || this.#previous !== 13) this.line++;
        this.#lineStart = this.bytes;
      } else if (byte >= 128) {
        this.#first = byte;
        this.#firstAt = at;
        this.#left = followers(byte);
        [this.#least, this.#most] = secondBytes[byte] ?? anySecondByte;
        if (this.#left === 0) this.#straying();
      }
      this.#previous = byte;
    }
  }

  finish(): void {
    if (this.#left > 0) this.#straying();
    this.#left = 0;
  }

  get isTerminated(): boolean {
    return this.#previous === 10 || this.#previous === 13;
  }

  #straying(): void {
    this.stray ??= { line: this.line, byte: this.#firstAt - this.#lineStart + 1, value: this.#first };
  }
}
