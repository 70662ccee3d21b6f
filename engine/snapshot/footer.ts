import { countOf, listOf, type Struct, structOf, ThriftReader } from "./thrift.ts";

/*
 * The footer (parquet-format 2) isn't trusted: its figures are checked against the file's size here, and against the
 * pages when the pages are read.
 */

export interface ParquetFooter {
  rows: number;
  columns: ColumnSchema[];
  groups: RowGroup[];
  metadata: Map<string, string>;
}

interface ColumnSchema {
  name: string;
  /** A Parquet type name, such as `INT32`. */
  type: string;
  isOptional: boolean;
}

export interface RowGroup {
  rows: number;
  /** One chunk for each column, in order. */
  chunks: ColumnChunk[];
}

export interface ColumnChunk {
  /** A Parquet codec name, such as `ZSTD`. */
  codec: string;
  /** Number of values, including nulls. */
  values: number;
  /** Position of the first page in the file. */
  start: number;
  /** Bytes of all pages in the file, including their headers. */
  length: number;
  /** Decompressed bytes of all pages, including their headers. */
  decodedLength: number;
}

/** Bytes of the magic number at the file's start. */
export const headBytes = 4;
/** Bytes of the footer's length and the magic number, at the file's end. */
export const tailBytes = 8;
/** Twice what all HCPCS codes of CMS's addendum take. */
const maxFooterBytes = 2 ** 19;
const magic = "PAR1";
const codecs = "UNCOMPRESSED SNAPPY GZIP LZO BROTLI LZ4 ZSTD LZ4_RAW".split(" ");
export const readableCodecs: readonly string[] = ["ZSTD", "UNCOMPRESSED"];
const types = "BOOLEAN INT32 INT64 INT96 FLOAT DOUBLE BYTE_ARRAY FIXED_LEN_BYTE_ARRAY".split(" ");

/** Finds the footer of a Parquet file. @throws Error with a short reason */
export function footerRange(size: number, head: Uint8Array, tail: Uint8Array) {
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString("latin1");
  if (size < headBytes + tailBytes || text(head) !== magic || text(tail.subarray(4)) !== magic)
    throw new Error("no PAR1 at both ends");
  const length = new DataView(tail.buffer, tail.byteOffset).getUint32(0, true);
  if (length > size - headBytes - tailBytes || length > maxFooterBytes)
    throw new Error(`a footer of ${length} bytes`);
  return { start: size - tailBytes - length, length };
}

/** Parses a footer. @param end position of the footer, where the pages must end @throws Error with a short reason */
export function parseFooter(bytes: Uint8Array, end: number): ParquetFooter {
  const footer = new ThriftReader(bytes).struct();
  const [root, ...columns] = listOf(footer.get(2)).map(structOf);
  if (root === undefined || countOf(root.get(5)) !== columns.length) throw new Error("nested columns");
  const metadata = new Map<string, string>();
  for (const pair of listOf(footer.get(5)).map(structOf)) {
    const [key, value] = [pair.get(1), pair.get(2)];
    if (typeof key === "string" && typeof value === "string") metadata.set(key, value);
  }
  return {
    rows: countOf(footer.get(3)),
    columns: columns.map(columnSchema),
    groups: listOf(footer.get(4)).map((value) => rowGroup(structOf(value), columns.length, end)),
    metadata,
  };
}

function columnSchema(column: Struct): ColumnSchema {
  const [name, repetition] = [column.get(4), column.get(3)];
  if (typeof name !== "string" || column.get(5)) throw new Error("nested columns");
  if (repetition !== 0 && repetition !== 1) throw new Error("a repeated column");
  return { name, type: types[countOf(column.get(1))] ?? "unknown", isOptional: repetition === 1 };
}

function rowGroup(group: Struct, columns: number, end: number): RowGroup {
  const chunks = listOf(group.get(1)).map((value) => columnChunk(structOf(value), end));
  if (chunks.length !== columns) throw new Error(`${chunks.length} chunks of ${columns} columns`);
  return { rows: countOf(group.get(3)), chunks };
}

function columnChunk(column: Struct, end: number): ColumnChunk {
  const data = structOf(column.get(3));
  if (column.has(1)) throw new Error("a chunk in another file");
  const [pages, dictionary] = [countOf(data.get(9)), data.get(11)];
  // Some writers set the dictionary's position to 0 if there is no dictionary.
  const start = typeof dictionary === "number" && dictionary > 0 ? Math.min(dictionary, pages) : pages;
  const length = countOf(data.get(7));
  if (start < headBytes || start + length > end) throw new Error("a chunk outside the file");
  return {
    codec: codecs[countOf(data.get(4))] ?? "unknown",
    values: countOf(data.get(5)),
    start,
    length,
    decodedLength: countOf(data.get(6)),
  };
}
