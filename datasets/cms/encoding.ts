/** A byte that isn't UTF-8, with its position in a text file. Lines, and the bytes of a line, are counted from 1. */
export interface StrayByte {
  line: number;
  byte: number;
  value: number;
}

/**
 * Matches a line end, a multi-byte UTF-8 character (Unicode, table 3-7), or another byte beyond ASCII. The text must be
 * decoded as Latin-1, so that each character is one byte.
 */
const marks =
  /(\r\n?|\n)|[\xc2-\xdf][\x80-\xbf]|(?:\xe0[\xa0-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]|\xed[\x80-\x9f])[\x80-\xbf]|(?:\xf0[\x90-\xbf]|[\xf1-\xf3][\x80-\xbf]|\xf4[\x80-\x8f])[\x80-\xbf]{2}|[\x80-\xff]/g;
/** Matches a CR, or up to three bytes of a multi-byte character, at the end of a chunk. */
const incomplete = /(?:\r|[\xc2-\xf4][\x80-\xbf]{0,2})$/;

/**
 * Counts the lines of a text file, and finds the first byte that isn't UTF-8. Call `push` for every chunk, then
 * `finish` once. O(bytes).
 */
export class TextScan {
  bytes = 0;
  /** The number, from 1, of the line after the last line end. */
  line = 1;
  stray: StrayByte | undefined;
  multibyteLine: number | undefined;
  isTerminated = false;
  #lineStart = 0;
  #rest = "";

  push(chunk: Buffer): void {
    const text = this.#rest + chunk.toString("latin1");
    const end = text.length - (incomplete.exec(text)?.[0].length ?? 0);
    this.#scan(text.slice(0, end));
    this.#rest = text.slice(end);
  }

  finish(): void {
    this.#scan(this.#rest);
    this.#rest = "";
  }

  #scan(text: string): void {
    for (const { 0: mark, 1: lineEnd, index } of text.matchAll(marks)) {
      const at = this.bytes + index;
      if (lineEnd !== undefined) {
        this.line++;
        this.#lineStart = at + mark.length;
      } else if (mark.length > 1) this.multibyteLine ??= this.line;
      else this.stray ??= { line: this.line, byte: at - this.#lineStart + 1, value: mark.charCodeAt(0) };
    }
    this.bytes += text.length;
    if (text !== "") this.isTerminated = /[\r\n]$/.test(text);
  }
}
