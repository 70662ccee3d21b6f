/** Writes numbers and texts as bytes. Amounts have the same digits as `JSON.stringify(cents / 100)`. */

const zero = 48;
const point = 46;

export function hundredthsLength(value: number): number {
  let length = 1;
  for (let limit = 1000; value >= limit; limit *= 10) length++;
  return value % 100 === 0 ? length : value % 10 === 0 ? length + 2 : length + 3;
}

/** Writes a number given in hundredths as JSON: 218894 → `2188.94`. @returns the position after the number */
export function writeHundredths(out: Uint8Array, start: number, value: number): number {
  const end = start + hundredthsLength(value);
  const fraction = value % 100;
  let whole = (value - fraction) / 100;
  let at = end;
  if (fraction !== 0) {
    const second = fraction % 10;
    if (second !== 0) out[--at] = zero + second;
    out[--at] = zero + (fraction - second) / 10;
    out[--at] = point;
  }
  while (at > start) {
    const digit = whole % 10;
    out[--at] = zero + digit;
    whole = (whole - digit) / 10;
  }
  return end;
}

const encoder = new TextEncoder();

export function utf8(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(text);
}

/** Returns the JSON of a non-empty object with one more field, cut off before that field's value. */
export function jsonUpTo(field: string, object: Record<string, string>): string {
  return `${JSON.stringify(object).slice(0, -1)},"${field}":`;
}

/** Concatenated strings and their offsets, in the layout of an Arrow Utf8 column. */
export interface TextColumn {
  /** The start of each string, followed by the end of the last string. */
  offsets: Int32Array;
  bytes: Buffer;
}

export function encodeText(values: readonly string[]): TextColumn {
  const offsets = new Int32Array(values.length + 1);
  const { buffer, byteOffset, length } = utf8(values.join(""));
  let end = 0;
  for (let i = 0; i < values.length; i++) {
    end += Buffer.byteLength(values[i]);
    offsets[i + 1] = end;
  }
  return { offsets, bytes: Buffer.from(buffer, byteOffset, length) };
}

export interface RepeatedTexts extends TextColumn {
  /** For each string, the position of the first equal string. */
  first: Int32Array;
}

export function encodeRepeated(values: string[]): RepeatedTexts {
  const firstOf = new Map<string, number>();
  const first = Int32Array.from(values, (value, i) => {
    const found = firstOf.get(value);
    if (found === undefined) firstOf.set(value, i);
    return found ?? i;
  });
  return { ...encodeText(values), first };
}
