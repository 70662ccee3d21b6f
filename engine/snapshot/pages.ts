import { constants, zstdDecompressSync } from "node:zlib";
import type { ColumnChunk } from "./footer.ts";
import { countOf, type Struct, structOf, ThriftReader } from "./thrift.ts";

/*
 * Page headers aren't trusted. A page may decompress to no more bytes than its header says, and a chunk to no more than
 * the footer says. Numbers of values are checked against the bytes or the row count. Only the encodings that snapshots
 * use are supported.
 */

const encodings =
  "PLAIN GROUP_VAR_INT PLAIN_DICTIONARY RLE BIT_PACKED DELTA_BINARY_PACKED DELTA_LENGTH_BYTE_ARRAY DELTA_BYTE_ARRAY RLE_DICTIONARY BYTE_STREAM_SPLIT".split(
    " ",
  );
const pageTypes = "DATA_PAGE INDEX_PAGE DICTIONARY_PAGE DATA_PAGE_V2".split(" ");
/** The largest zstd window is 8 MiB, which every decompressor should support (RFC 8878). */
const maxWindowLog = 23;
/** A dictionary may have 16 million values. */
const maxBitWidth = 24;
/** Weight of the last base-128 digit of a run length, which has at most five digits. */
const maxRunScale = 128 ** 4;

interface Page {
  isDictionary: boolean;
  values: number;
  encoding: string;
  bytes: Uint8Array;
}

function* pagesOf(file: Uint8Array, chunk: ColumnChunk): Generator<Page> {
  const bytes = file.subarray(chunk.start, chunk.start + chunk.length);
  let decodedLeft = chunk.decodedLength;
  let at = 0;
  while (at < bytes.length) {
    const reader = new ThriftReader(bytes, at);
    const header = reader.struct();
    const [decodedLength, length] = [countOf(header.get(2)), countOf(header.get(3))];
    decodedLeft -= reader.at - at + decodedLength;
    at = reader.at + length;
    if (at > bytes.length || decodedLeft < 0) throw new Error("a page larger than its chunk");
    const compressed = bytes.subarray(reader.at, at);
    const page = chunk.codec === "ZSTD" ? decompressed(compressed, decodedLength) : compressed;
    if (page.length !== decodedLength)
      throw new Error(`a page of ${page.length} bytes, not ${decodedLength}`);
    yield { ...valuesOf(header), bytes: page };
  }
}

function decompressed(bytes: Uint8Array, length: number): Uint8Array {
  return zstdDecompressSync(bytes, {
    // zlib fails if the output is longer than this limit, which must be at least 1.
    maxOutputLength: Math.max(1, length),
    chunkSize: Math.max(64, length),
    params: { [constants.ZSTD_d_windowLogMax]: maxWindowLog },
  });
}

function valuesOf(header: Struct): Omit<Page, "bytes"> {
  const type = pageTypes[countOf(header.get(1))];
  if (type !== "DATA_PAGE" && type !== "DICTIONARY_PAGE") throw new Error(`a page of type ${type}`);
  const isDictionary = type === "DICTIONARY_PAGE";
  const values = structOf(header.get(isDictionary ? 7 : 5));
  const encoding = encodings[countOf(values.get(2))] ?? "unknown";
  if (!isDictionary && encodings[countOf(values.get(3))] !== "RLE") throw new Error("levels that aren't RLE");
  return { isDictionary, values: countOf(values.get(1)), encoding };
}

/** Reads values of a type in Parquet's PLAIN encoding. */
export interface PlainType<Value> {
  /** Minimum bytes of a value. */
  minBytes: number;
  /** Passes `count` values, read from position `at`, to `take`. Returns the position after the values. */
  read(bytes: Uint8Array, at: number, count: number, take: (value: Value) => void): number;
}

export const plainInt32: PlainType<number> = {
  minBytes: 4,
  read(bytes, at, count, take) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    for (let i = 0; i < count; i++) take(view.getInt32(at + 4 * i, true));
    return at + 4 * count;
  },
};

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export const plainText: PlainType<string> = {
  minBytes: 4,
  read(bytes, at, count, take) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    let start = at;
    for (let i = 0; i < count; i++) {
      const end = start + 4 + view.getUint32(start, true);
      if (end > bytes.length) throw new Error("a text beyond its page");
      take(decoder.decode(bytes.subarray(start + 4, end)));
      start = end;
    }
    return start;
  },
};

export interface ColumnValues<Value> {
  /** The position in `values` of each row's value; −1 for null. */
  codes: Int32Array;
  /** Values may repeat if the dictionary has duplicates, or a page has plain values. */
  values: Value[];
}

/** Reads a column of a row group. @throws Error with a short reason when the pages contradict the footer */
export function readColumn<Value>(
  file: Uint8Array,
  chunk: ColumnChunk,
  rows: number,
  isOptional: boolean,
  type: PlainType<Value>,
): ColumnValues<Value> {
  if (chunk.values !== rows) throw new Error(`${chunk.values} values in ${rows} rows`);
  const codes = new Int32Array(rows);
  const values: Value[] = [];
  let dictionary = 0;
  let filled = 0;
  for (const page of pagesOf(file, chunk)) {
    const { bytes } = page;
    if (page.isDictionary) {
      if (filled > 0 || dictionary > 0) throw new Error("a second dictionary");
      plainly(page, 0, page.values, type, (value) => values.push(value));
      dictionary = values.length;
      continue;
    }
    if (page.values > rows - filled) throw new Error(`more than ${rows} values`);
    const into = codes.subarray(filled, filled + page.values);
    filled += page.values;
    let at = 0;
    let present = into.length;
    if (isOptional) {
      at = 4 + lengthAt(bytes);
      if (at > bytes.length) throw new Error("levels beyond their page");
      readHybrid(bytes.subarray(4, at), 1, into, into.length);
      present = 0;
      for (let i = 0; i < into.length; i++) present += into[i];
    }
    const dense = present === into.length ? into : new Int32Array(present);
    if (page.encoding === "RLE_DICTIONARY" || page.encoding === "PLAIN_DICTIONARY") {
      if (present > 0) readHybrid(bytes.subarray(at + 1), bytes[at], dense, present);
      for (let i = 0; i < present; i++)
        if (dense[i] >= dictionary) throw new Error("a value beyond the dictionary");
    } else {
      let next = 0;
      plainly(page, at, present, type, (value) => {
        // Rows are ordered by CCN, so a facility's values repeat in consecutive rows.
        if (values.length === dictionary || value !== values[values.length - 1]) values.push(value);
        dense[next++] = values.length - 1;
      });
    }
    if (dense !== into) spread(dense, into);
  }
  if (filled !== rows) throw new Error(`${filled} values in ${rows} rows`);
  return { codes, values };
}

/** Replaces a level of 1 by the next code, and a level of 0 by −1. */
function spread(dense: Int32Array, levels: Int32Array): void {
  let next = 0;
  for (let i = 0; i < levels.length; i++) levels[i] = levels[i] === 1 ? dense[next++] : -1;
}

function plainly<Value>(
  { encoding, bytes }: Page,
  at: number,
  count: number,
  type: PlainType<Value>,
  take: (value: Value) => void,
): void {
  if (encoding !== "PLAIN" && encoding !== "PLAIN_DICTIONARY") throw new Error(`encoding ${encoding}`);
  if (count * type.minBytes > bytes.length - at) throw new Error(`${count} values in ${bytes.length} bytes`);
  type.read(bytes, at, count, take);
}

function lengthAt(bytes: Uint8Array): number {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length).getUint32(0, true);
}

/** Parquet's RLE/bit-packing hybrid encoding. Integers beyond `count` are padding. */
function readHybrid(bytes: Uint8Array, width: number, into: Int32Array, count: number): void {
  if (width > maxBitWidth) throw new Error(`numbers of ${width} bits`);
  const mask = 2 ** width - 1;
  let at = 0;
  let filled = 0;
  const byte = () => {
    if (at >= bytes.length) throw new Error("an early end of a page");
    return bytes[at++];
  };
  while (filled < count) {
    let header = 0;
    for (let scale = 1; ; scale *= 128) {
      const next = byte();
      header += (next & 127) * scale;
      if (next < 128) break;
      if (scale === maxRunScale) throw new Error("a run that doesn't end");
    }
    if (header % 2 === 0) {
      let value = 0;
      for (let shift = 0; shift < width; shift += 8) value |= byte() << shift;
      if (value > mask) throw new Error(`a number of more than ${width} bits`);
      const end = Math.min(count, filled + header / 2);
      into.fill(value, filled, end);
      filled = end;
      continue;
    }
    const packed = Math.min(count - filled, 8 * ((header - 1) / 2));
    const start = at;
    if (Math.ceil((packed * width) / 8) > bytes.length - start) throw new Error("an early end of a page");
    for (let i = 0; i < packed; i++) {
      const bit = i * width;
      const from = start + (bit >>> 3);
      // A number of up to 24 bits, at any bit offset, lies within four bytes. Bytes beyond the end read as 0.
      const word = bytes[from] | (bytes[from + 1] << 8) | (bytes[from + 2] << 16) | (bytes[from + 3] << 24);
      into[filled++] = (word >>> (bit & 7)) & mask;
    }
    at = start + (8 * ((header - 1) / 2) * width) / 8;
  }
}
