import assert from "node:assert/strict";
import { test } from "node:test";
import { footerRange, parseFooter } from "../../engine/snapshot/footer.ts";
import { type PlainType, plainInt32, plainText, readColumn } from "../../engine/snapshot/pages.ts";
import { ThriftReader } from "../../engine/snapshot/thrift.ts";
import {
  dictionaryPage,
  encoded,
  type Field,
  i32,
  i64,
  lengthOf,
  listed,
  type PageSpec,
  page,
  pageBytes,
  run,
  structure,
  text,
  varint,
  within,
} from "../support/parquet-file.ts";

/** Tests which files the Parquet reader accepts, up to its limits, and which files it refuses. */

interface Chunk {
  pages: PageSpec[];
  rows: number;
  isOptional?: boolean;
  codec?: string;
  /** The number of values that the footer claims. The default is the true number. */
  values?: number;
  lessDecoded?: number;
  cut?: number;
}

function read<Value>(chunk: Chunk, type: PlainType<Value>): (Value | null)[] {
  const { pages, rows, isOptional = false, codec = "ZSTD", values = rows } = chunk;
  const bytes = Uint8Array.from(pages.flatMap(pageBytes)).subarray(0, -(chunk.cut ?? 0) || undefined);
  const headers = pages.flatMap(pageBytes).length - pages.reduce((sum, each) => sum + each.bytes.length, 0);
  const decoded = headers + pages.reduce((sum, each) => sum + each.decodedLength, 0);
  const decodedLength = decoded - (chunk.lessDecoded ?? 0);
  const place = { codec, values, start: 0, length: bytes.length, decodedLength };
  const column = readColumn(bytes, place, rows, isOptional, type);
  return Array.from(column.codes, (code) => (code < 0 ? null : column.values[code]));
}

/** Each definition level is a run of length one. */
const levels = (...bits: number[]) => {
  const runs = bits.flatMap((bit) => run(1, bit));
  return [...lengthOf(runs.length), ...runs];
};
const plainTexts = (...values: string[]) =>
  values.flatMap((value) => [...lengthOf(Buffer.byteLength(value)), ...Buffer.from(value)]);
const uncompressed = (spec: PageSpec, bytes: number[]): PageSpec => ({
  ...spec,
  bytes: Uint8Array.from(bytes),
  decodedLength: bytes.length,
});
const numbers = (...values: number[]) => page(values.flatMap(lengthOf), values.length, 0);
const coded = (values: number, ...bytes: number[]) => page(bytes, values, 8);
const letters = dictionaryPage(["a", "b", "c"]);

test("values are read from plain pages, from dictionary pages and from a mix of both", () => {
  assert.deepEqual(read({ pages: [numbers(7, 7, 9), numbers(2)], rows: 4 }, plainInt32), [7, 7, 9, 2]);
  assert.deepEqual(read({ pages: [letters, coded(3, 2, ...run(2, 2), ...run(1, 0))], rows: 3 }, plainText), [
    "c",
    "c",
    "a",
  ]);
  // The dictionary is followed by plain values, as if it had grown too large. A plain value is also in the dictionary.
  const grown = [letters, coded(1, 2, ...run(1, 1)), page(plainTexts("c", "c", "é"), 3, 0)];
  assert.deepEqual(read({ pages: grown, rows: 4 }, plainText), ["b", "c", "c", "é"]);
});

test("values with definition level 0 are read as null", () => {
  const bytes = [...levels(1, 0, 1, 0), ...lengthOf(5), ...lengthOf(6)];
  assert.deepEqual(read({ pages: [page(bytes, 4, 0)], rows: 4, isOptional: true }, plainInt32), [
    5,
    null,
    6,
    null,
  ]);
  const none = page(levels(0, 0), 2, 8);
  assert.deepEqual(read({ pages: [letters, none], rows: 2, isOptional: true }, plainText), [null, null]);
});

test("bit-packed numbers of every width up to 24 bits are read", () => {
  for (let width = 1; width <= 24; width++) {
    const entries = Array.from({ length: Math.min(2 ** width, 4096) }, (_, i) => i);
    const values = Array.from({ length: 21 }, (_, i) => entries.length - 1 - ((i * 37) % entries.length));
    const bits = values.flatMap((value) => Array.from({ length: width }, (_, bit) => (value >> bit) & 1));
    const packed = Array.from({ length: 3 * width }, (_, i) =>
      bits.slice(8 * i, 8 * i + 8).reduce((byte, bit, at) => byte + bit * 2 ** at, 0),
    );
    const pages = [
      { ...numbers(...entries), dictionary: true },
      // The first coded page has three groups of eight values, of which 21 are used. The second page has a group and a
      // run.
      coded(21, width, ...varint(2 * 3 + 1), ...packed),
      coded(9, width, 3, ...packed.slice(0, width), ...varint(2), ...lengthOf(0)),
    ];
    const expected = [...values, ...values.slice(0, 8), 0];
    assert.deepEqual(read({ pages, rows: 30 }, plainInt32), expected, `${width} bits`);
  }
});

const zeros = (length: number) => new Uint8Array(length);
const one = numbers(1);
type Fault = [string, string | RegExp, PlainType<unknown>, PageSpec[], Partial<Chunk>?];
const uncompressedOne = { ...uncompressed(one, lengthOf(1)), decodedLength: 3 };
const faults: Fault[] = [
  ["other values than rows", "2 values in 1 rows", plainInt32, [one], { values: 2 }],
  ["fewer values than rows", "1 values in 2 rows", plainInt32, [one], { rows: 2 }],
  ["more values than rows", "more than 1 values", plainInt32, [one, one]],
  ["a page cut off", "a page larger than its chunk", plainInt32, [one], { cut: 1 }],
  ["more bytes than the footer says", "a page larger than its chunk", plainInt32, [one], { lessDecoded: 1 }],
  [
    "fewer bytes than its header says",
    "a page of 4 bytes, not 5",
    plainInt32,
    [{ ...one, decodedLength: 5 }],
  ],
  ["more bytes than its header says", /larger than 3 bytes/, plainInt32, [{ ...one, decodedLength: 3 }]],
  [
    "more bytes than its header says, uncompressed",
    "a page of 4 bytes, not 3",
    plainInt32,
    [uncompressedOne],
    { codec: "UNCOMPRESSED" },
  ],
  ["a newer type", "a page of type DATA_PAGE_V2", plainInt32, [{ ...one, type: 3 }]],
  ["levels that are packed", "levels that aren't RLE", plainInt32, [{ ...one, levelEncoding: 4 }]],
  ["values in another encoding", "encoding DELTA_BINARY_PACKED", plainInt32, [{ ...one, encoding: 5 }]],
  ["fewer bytes than values", "2 values in 7 bytes", plainInt32, [page(zeros(7), 2, 0)], { rows: 2 }],
  ["a text beyond it", "a text beyond its page", plainText, [page([...lengthOf(2), 65], 1, 0)]],
  ["bytes that are no text", /not valid/, plainText, [page([...lengthOf(1), 0xff], 1, 0)]],
  ["a second dictionary", "a second dictionary", plainText, [letters, letters, coded(1, 2, ...run(1, 0))]],
  [
    "a value beyond the dictionary",
    "a value beyond the dictionary",
    plainText,
    [letters, coded(1, 2, ...run(1, 3))],
  ],
  ["numbers of 25 bits", "numbers of 25 bits", plainText, [letters, coded(1, 25, ...run(1, 0), 0, 0, 0)]],
  [
    "a number wider than it says",
    "a number of more than 2 bits",
    plainText,
    [letters, coded(1, 2, ...run(1, 4))],
  ],
  [
    "fewer packed numbers than values",
    "an early end of a page",
    plainText,
    [letters, coded(8, 2, 3, 0)],
    { rows: 8 },
  ],
  [
    "one byte less than its many packed numbers take",
    "an early end of a page",
    plainText,
    [letters, coded(160, 2, 41, ...zeros(39))],
    { rows: 160 },
  ],
  [
    "a run that doesn't end",
    "a run that doesn't end",
    plainText,
    [letters, coded(1, 2, ...Array(6).fill(0x80), 1, 0)],
  ],
  [
    "levels beyond it",
    "levels beyond their page",
    plainInt32,
    [page([...lengthOf(3), 2, 1], 1, 0)],
    { isOptional: true },
  ],
];

for (const [name, message, type, pages, others] of faults)
  test(`a Parquet column is rejected for a page with ${name}`, () => {
    const expected = typeof message === "string" ? { message } : message;
    assert.throws(() => read({ pages, rows: 1, ...others }, type), expected);
  });

test("numbers of 24 bits and run lengths of five bytes are read", () => {
  assert.deepEqual(read({ pages: [letters, coded(1, 24, ...run(1, 1), 0, 0)], rows: 1 }, plainText), ["b"]);
  const long = [0xfe, 0xff, 0xff, 0xff, 0x0f, 2];
  assert.deepEqual(read({ pages: [letters, coded(2, 2, ...long)], rows: 2 }, plainText), ["c", "c"]);
});

test("a page is decompressed with a window of up to 8 MiB and rejected with a larger one", () => {
  const frame = (windowLog: number) => {
    const bytes = Buffer.alloc(10);
    bytes.writeUInt32LE(0xfd2fb528);
    bytes[5] = (windowLog - 10) << 3;
    bytes.writeUInt32LE(1 | (1 << 1) | (4 << 3), 6);
    return bytes;
  };
  const chunk = (windowLog: number) => ({ pages: [{ ...one, bytes: frame(windowLog) }], rows: 1 });
  assert.deepEqual(read(chunk(23), plainInt32), [0]);
  assert.throws(() => read(chunk(24), plainInt32), /window|memory/i);
});

/** The unchanged footer describes a column with a single chunk of 100 bytes at offset 4. */
interface FooterParts {
  root?: Field[];
  column?: Field[];
  chunk?: Field[];
  data?: Field[];
  group?: Field[];
  chunks?: number[][];
}

const data: Field[] = [i32(4, 6), i64(5, 3), i64(6, 200), i64(7, 100), i64(9, 4)];
function footerOf(parts: FooterParts): Uint8Array {
  const { root = [text(4, "schema"), i32(5, 1)], column = [i32(1, 6), i32(3, 0), text(4, "ccn")] } = parts;
  const { chunk = [within(3, ...(parts.data ?? data))] } = parts;
  const { chunks = [structure(...chunk)] } = parts;
  const { group = [listed(1, 12, chunks), i64(2, 100), i64(3, 3)] } = parts;
  return Uint8Array.from(
    structure(
      listed(2, 12, [structure(...root), structure(...column)]),
      i64(3, 3),
      listed(4, 12, [structure(...group)]),
      listed(5, 12, [structure(text(1, "key"), text(2, "value"))]),
    ),
  );
}
const parse = (parts: FooterParts) => parseFooter(footerOf(parts), 104);
const withData = (...changed: Field[]): FooterParts => ({
  data: [...data.filter(([id]) => changed.every(([other]) => other !== id)), ...changed].sort(
    ([a], [b]) => a - b,
  ),
});

test("a footer's columns, row groups and metadata are read", () => {
  const chunk = { codec: "ZSTD", values: 3, start: 4, length: 100, decodedLength: 200 };
  const footer = {
    rows: 3,
    columns: [{ name: "ccn", type: "BYTE_ARRAY", isOptional: false }],
    groups: [{ rows: 3, chunks: [chunk] }],
    metadata: new Map([["key", "value"]]),
  };
  assert.deepEqual(parse({}), footer);
  const start = (parts: FooterParts) => parse(parts).groups[0].chunks[0].start;
  assert.equal(start(withData(i64(7, 90), i64(9, 14))), 14);
  assert.equal(start(withData(i64(7, 90), i64(9, 14), i64(11, 6))), 6, "a dictionary before the pages");
  assert.equal(start(withData(i64(7, 90), i64(9, 14), i64(11, 0))), 14, "0 for no dictionary");
  const optional = parse({ column: [i32(1, 99), i32(3, 1), text(4, "ccn")] });
  assert.deepEqual(optional.columns, [{ name: "ccn", type: "unknown", isOptional: true }]);
});

const footers: [name: string, parts: FooterParts, message: string][] = [
  ["more columns than the root says", { root: [text(4, "schema"), i32(5, 0)] }, "nested columns"],
  ["a column of columns", { column: [i32(1, 6), i32(3, 0), text(4, "ccn"), i32(5, 1)] }, "nested columns"],
  ["a column without a name", { column: [i32(1, 6), i32(3, 0)] }, "nested columns"],
  ["a repeated column", { column: [i32(1, 6), i32(3, 2), text(4, "ccn")] }, "a repeated column"],
  ["a row group without chunks", { chunks: [] }, "0 chunks of 1 columns"],
  ["a chunk in another file", { chunk: [text(1, "other"), within(3, ...data)] }, "a chunk in another file"],
  ["a chunk before the pages", withData(i64(9, 3)), "a chunk outside the file"],
  ["a chunk beyond the pages", withData(i64(7, 101)), "a chunk outside the file"],
  ["a negative length", withData([7, 6, [1]]), "a count is missing"],
  [
    "a row group without rows",
    { group: [listed(1, 12, [structure(within(3, ...data))])] },
    "a count is missing",
  ],
];

for (const [name, parts, message] of footers)
  test(`a footer with ${name} is refused`, () => {
    assert.throws(() => parse(parts), { message });
  });

test("a footer larger than its file or 512 KiB is rejected", () => {
  const head = Buffer.from("PAR1");
  const tail = (length: number) => Buffer.from([...lengthOf(length), ...head]);
  const range = (size: number, length: number) => footerRange(size, head, tail(length));
  const [most, tooMany] = [2 ** 19, 2 ** 19 + 1];
  assert.deepEqual(range(12, 0), { start: 4, length: 0 });
  assert.deepEqual(range(112, 100), { start: 4, length: 100 });
  assert.throws(() => range(112, 101), { message: "a footer of 101 bytes" });
  assert.deepEqual(range(2 ** 21, most), { start: 2 ** 21 - 8 - most, length: most });
  assert.throws(() => range(2 ** 21, tooMany), { message: `a footer of ${tooMany} bytes` });
  assert.throws(() => range(11, 0), { message: "no PAR1 at both ends" });
});

test("Thrift values are read, and truncated, too large and too deeply nested ones are rejected", () => {
  const first = (...bytes: number[]) => new ThriftReader(Uint8Array.from(bytes)).struct().get(1);
  const field = (type: number, ...bytes: number[]) => first(16 + type, ...bytes, 0);
  assert.deepEqual([field(1), field(2)], [true, false]);
  assert.deepEqual(
    [0, 1, 2, 3, 4].map((coded) => field(5, coded)),
    [0, -1, 1, -2, 2],
  );
  assert.equal(field(6, ...varint(2 ** 53 - 2)), 2 ** 52 - 1);
  assert.throws(() => field(6, ...varint(2 ** 53)), { message: "a number beyond 2^53" });
  assert.equal(field(7, ...zeros(8)), 0);
  assert.equal(field(8, ...encoded("naïve")), "naïve");
  assert.deepEqual(field(9, 0x35, 2, 4, 6), [1, 2, 3]);
  assert.deepEqual(field(9, 0xf5, 16, ...Array(16).fill(2)), Array(16).fill(1));
  for (const byte of [1, 2, 3]) assert.deepEqual(field(9, 0x20 + byte, 7, 8), [7, 8]);
  assert.throws(() => field(9, 0x35, 2), { message: "a list of 3" });
  assert.throws(() => field(8, 0xff, 0x7f, 65), { message: "an early end" });
  assert.throws(() => field(13), { message: "a value of type 13" });
  assert.throws(() => field(8, ...Array(200).fill(0x80)), { message: "a number beyond 2^53" });
  assert.throws(() => parseFooter(Uint8Array.of(0), 104), { message: "a list is missing" });
  // A field's id that is more than 15 above the previous id is encoded as a varint.
  assert.deepEqual(
    new ThriftReader(Uint8Array.of(0x15, 2, 0x05, 40, 4, 0x15, 6, 0)).struct(),
    new Map([
      [1, 1],
      [20, 2],
      [21, 3],
    ]),
  );
  const nested = (depth: number) => [...Array(depth).fill(0x1c), ...Array(depth).fill(0)];
  assert.ok(first(...nested(16), 0));
  assert.throws(() => first(...nested(17), 0), { message: "structures too deep" });
  const reader = new ThriftReader(Uint8Array.of(9, 9, 0x15, 2, 0, 9), 2);
  reader.struct();
  assert.equal(reader.at, 5);
});
