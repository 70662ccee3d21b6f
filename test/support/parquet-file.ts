import { zstdCompressSync } from "node:zlib";
import * as parquet from "parquet-wasm";
import { type Snapshot, snapshotColumns } from "../../engine/index.ts";
import { arrow } from "../../engine/snapshot/arrow.ts";
import { type Column, columnsOf } from "./fixtures.ts";

/** Makes Parquet files that aren't snapshots, with any columns, or written byte by byte with wrong numbers. */

export type Field = [id: number, type: number, bytes: number[]];

export function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return [...bytes, rest];
}

export const i32 = (id: number, value: number): Field => [
  id,
  5,
  varint(value < 0 ? -2 * value - 1 : 2 * value),
];
export const i64 = (id: number, value: number): Field => [id, 6, varint(2 * value)];
export const encoded = (text: string) => [...varint(Buffer.byteLength(text)), ...Buffer.from(text)];
export const text = (id: number, value: string): Field => [id, 8, encoded(value)];
export const listed = (id: number, type: number, items: number[][]): Field => [
  id,
  9,
  [
    ...(items.length < 15 ? [items.length * 16 + type] : [240 + type, ...varint(items.length)]),
    ...items.flat(),
  ],
];
export const within = (id: number, ...fields: Field[]): Field => [id, 12, structure(...fields)];

/** @param fields in ascending order of ids */
export function structure(...fields: Field[]): number[] {
  let last = 0;
  const bytes = fields.flatMap(([id, type, value]) => {
    const header = (id - last) * 16 + type;
    last = id;
    return [header, ...value];
  });
  return [...bytes, 0];
}

/** The numbers are those that the page header claims. */
export interface PageSpec {
  dictionary?: boolean;
  /** 0 is DATA_PAGE, 2 is DICTIONARY_PAGE. The default is the page's true type. */
  type?: number;
  /** 0 is PLAIN, 8 is RLE_DICTIONARY. */
  encoding: number;
  /** The default is 3, RLE. */
  levelEncoding?: number;
  values: number;
  /** Compressed content. */
  bytes: Uint8Array;
  decodedLength: number;
}

/** The numbers are those that the footer claims. */
export interface ChunkSpec {
  pages: PageSpec[];
  values: number;
  moreDecoded?: number;
}

export interface FileSpec {
  rows: number;
  /** The number of rows that the row group claims. The default is the true number. */
  groupRows?: number;
  chunks: Map<string, ChunkSpec>;
  metadata: Map<string, string>;
}

export function page(bytes: Uint8Array | number[], values: number, encoding: number): PageSpec {
  const content = Uint8Array.from(bytes);
  return { encoding, values, bytes: zstdCompressSync(content), decodedLength: content.length };
}

export function dictionaryPage(values: string[]): PageSpec {
  const bytes = values.flatMap((value) => [...lengthOf(Buffer.byteLength(value)), ...Buffer.from(value)]);
  return { ...page(bytes, values.length, 0), dictionary: true };
}

export function lengthOf(value: number): number[] {
  return [...Buffer.from(Uint32Array.of(value).buffer)];
}

/** Equal positions in a dictionary of up to 256 values. */
export function run(length: number, code: number): number[] {
  return [...varint(2 * length), code];
}

export function isNumber(column: string): boolean {
  return snapshotColumns.some(({ name, part }) => name === column && part === "rows");
}

/** The file has one row group and no wrong claims. The snapshot must have all values. */
export function specOf(snapshot: Snapshot, metadata: Map<string, string>): FileSpec {
  const { rows } = snapshot.counts;
  const chunks = columnsOf(snapshot).map(({ name, values }): [string, ChunkSpec] => [
    name,
    { values: rows, pages: pagesOf(values) },
  ]);
  return { rows, chunks: new Map(chunks), metadata };
}

function pagesOf(values: Column["values"]): PageSpec[] {
  if (typeof values[0] === "number") {
    const bytes = values.flatMap((value) => lengthOf(Number(value)));
    return [page(bytes, values.length, 0)];
  }
  const distinct = [...new Set(values)];
  const codes = values.flatMap((value) => run(1, distinct.indexOf(value)));
  return [dictionaryPage(distinct.map(String)), page([8, ...codes], values.length, 8)];
}

export function pageBytes(spec: PageSpec): number[] {
  const { dictionary = false, type = dictionary ? 2 : 0, levelEncoding = 3 } = spec;
  const { encoding, values, bytes, decodedLength } = spec;
  const of = dictionary
    ? within(7, i32(1, values), i32(2, encoding))
    : within(5, i32(1, values), i32(2, encoding), i32(3, levelEncoding), i32(4, 3));
  return [...structure(i32(1, type), i32(2, decodedLength), i32(3, bytes.length), of), ...bytes];
}

export function fileOfSpec({ rows, groupRows = rows, chunks, metadata }: FileSpec): Uint8Array {
  const body: Buffer[] = [Buffer.from("PAR1")];
  let at = 4;
  const columns: number[][] = [];
  const schema = [structure(text(4, "schema"), i32(5, chunks.size))];
  for (const [name, { pages, values, moreDecoded = 0 }] of chunks) {
    const type = isNumber(name) ? 1 : 6;
    const bytes = Buffer.concat(pages.map((page) => Buffer.from(pageBytes(page))));
    const saved = pages.reduce((sum, page) => sum + page.decodedLength - page.bytes.length, 0);
    const data = i64(9, at + (pages[0].dictionary ? pageBytes(pages[0]).length : 0));
    columns.push(
      structure(
        i64(2, at),
        within(
          3,
          i32(1, type),
          listed(2, 5, [varint(0)]),
          listed(3, 8, [encoded(name)]),
          i32(4, 6),
          i64(5, values),
          i64(6, Math.max(0, bytes.length + saved + moreDecoded)),
          i64(7, bytes.length),
          data,
          ...(pages[0].dictionary ? [i64(11, at)] : []),
        ),
      ),
    );
    schema.push(structure(i32(1, type), i32(3, 0), text(4, name), ...(type === 6 ? [i32(6, 0)] : [])));
    body.push(bytes);
    at += bytes.length;
  }
  const pairs = [...metadata].map(([key, value]) => structure(text(1, key), text(2, value)));
  const footer = structure(
    i32(1, 1),
    listed(2, 12, schema),
    i64(3, rows),
    listed(4, 12, [structure(listed(1, 12, columns), i64(2, at), i64(3, groupRows))]),
    listed(5, 12, pairs),
  );
  return Buffer.concat([
    ...body,
    Buffer.from(footer),
    Buffer.from(lengthOf(footer.length)),
    Buffer.from("PAR1"),
  ]);
}

/** Columns and metadata may be wrong for a snapshot. */
export function fileOf(columns: Column[], metadata: Map<string, string>): Uint8Array {
  const vectors = columns.map(({ name, type, values }) => [name, arrow.vectorFromArray(values, type)]);
  const stream = arrow.tableToIPC(new arrow.Table(Object.fromEntries(vectors)), "stream");
  const properties = new parquet.WriterPropertiesBuilder().setKeyValueMetadata(metadata).build();
  return parquet.writeParquet(parquet.Table.fromIPCStream(stream), properties);
}
