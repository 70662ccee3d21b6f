import { Builder } from "flatbuffers";
import { encodeRepeated, type RepeatedTexts } from "../encode.ts";
import type { Image } from "../image/image.ts";
import { blank, versionName } from "../snapshot/schema.ts";
import {
  type ExportScope,
  facilitiesInScope,
  proceduresInScope,
  rowStatuses,
  ScopeRows,
  statusOfRow,
  sumOver,
} from "./scope.ts";

/**
 * Writes rows as an Arrow IPC stream: the schema, a dictionary for each text column, record batches and the end marker.
 * The dictionaries of facilities and procedures have only texts in the scope. They have each text once, because pyarrow
 * and pandas treat different codes as different values.
 */

const batchRows = 128;
const maxPieceBytes = 16 * 2 ** 10;
const streamEnd = Uint8Array.of(255, 255, 255, 255, 0, 0, 0, 0);
const padding = new Uint8Array(8);
const nothing = padding.subarray(0, 0);
/** Number of columns that `Batch.write` makes between two empty pieces. */
const columnsAtOnce = 5;

interface Column {
  name: string;
  /** The column's texts; undefined for a column of numbers. */
  dictionary?: Dictionary;
  isFloat?: boolean;
  mayBeAbsent?: boolean;
  read: Reader;
}

/** Different texts in the order of their codes. */
interface Dictionary {
  texts: RepeatedTexts;
  /** The position of each text in `texts`, ascending. */
  used: Int32Array;
}

function dictionaryOf(values: string[]): Dictionary {
  const texts = encodeRepeated(values);
  return { texts, used: usedIn(texts, Int32Array.from(values.keys())) };
}

/** Returns the positions of the different texts at `positions`, ascending, without the empty text. O(all texts). */
function usedIn({ offsets, first }: RepeatedTexts, positions: Int32Array): Int32Array {
  const isUsed = new Uint8Array(first.length);
  for (const i of positions) if (offsets[i] < offsets[i + 1]) isUsed[first[i]] = 1;
  const used = new Int32Array(first.length);
  let length = 0;
  for (let i = 0; i < first.length; i++) if (isUsed[i] === 1) used[length++] = i;
  return used.slice(0, length);
}

/** Returns the code of the text at a position, or `blank` for the empty text. O(log used). */
function codeOf({ texts: { offsets, first }, used }: Dictionary, i: number): number {
  if (offsets[i] === offsets[i + 1]) return blank;
  let [low, high] = [0, used.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (used[middle] < first[i]) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Each kind of column has its own loop, because a call per value would be several times slower. */
type Reader = (rows: Int32Array, values: Int32Array) => void;

const readerOf =
  (numbers: Int32Array): Reader =>
  (rows, values) => {
    for (let i = 0; i < rows.length; i++) values[i] = numbers[rows[i]];
  };

/** Consecutive rows often have the same facility or procedure, so the code of the previous position is kept. */
function codeReaderOf(positions: Int32Array, dictionary: Dictionary): Reader {
  let [last, code] = [-1, 0];
  return (rows, values) => {
    for (let i = 0; i < rows.length; i++) {
      const position = positions[rows[i]];
      if (position !== last) {
        last = position;
        code = codeOf(dictionary, position);
      }
      values[i] = code;
    }
  };
}

function columnsOf(image: Image, scope: ExportScope): Column[] {
  const { provenance } = image.description;
  const { charge, allowed } = image;
  const texts = (name: string, texts: RepeatedTexts, positions: Int32Array, inScope: Int32Array): Column => {
    const dictionary = { texts, used: usedIn(texts, inScope) };
    return { name, dictionary, read: codeReaderOf(positions, dictionary) };
  };
  const facilities = facilitiesInScope(image, scope);
  const ofFacilities = (name: string, column: RepeatedTexts) =>
    texts(name, column, image.facility, facilities);
  const procedures = proceduresInScope(image, scope);
  const ofProcedures = (name: string, column: RepeatedTexts) =>
    texts(name, column, image.procedure, procedures);
  const readStatus: Reader = (rows, values) => {
    for (let i = 0; i < rows.length; i++) values[i] = statusOfRow(charge[rows[i]], allowed[rows[i]]);
  };
  const readPriced = (cents: Int32Array): Reader => {
    const read = readerOf(cents);
    return (rows, values) => {
      read(rows, values);
      for (let i = 0; i < rows.length; i++)
        if (statusOfRow(charge[rows[i]], allowed[rows[i]]) !== 0) values[i] = blank;
    };
  };
  const perhaps = (name: string, column: RepeatedTexts): Column => ({
    ...ofFacilities(name, column),
    mayBeAbsent: true,
  });
  const count = (name: string, numbers: Int32Array): Column => ({
    name,
    mayBeAbsent: true,
    read: readerOf(numbers),
  });
  const dollars = (name: string, read: Reader): Column => ({ name, isFloat: true, mayBeAbsent: true, read });
  const further: Column[] = [
    perhaps("street", image.street),
    perhaps("zip", image.zip),
    perhaps("rural_urban_code", image.ruralUrbanCode),
    perhaps("rural_urban_description", image.ruralUrbanDescription),
    count("services", image.services),
    count("beneficiaries", image.beneficiaries),
    dollars("medicare_payment", readerOf(image.payment)),
    count("outlier_services", image.outlierServices),
    dollars("outlier_amount", readerOf(image.outlierAmount)),
  ];
  const version = dictionaryOf([versionName(provenance)]);
  return [
    { name: "data_year", read: (_, values) => values.fill(provenance.dataYear) },
    { name: "data_version", dictionary: version, read: (_, values) => values.fill(0) },
    ofFacilities("ccn", image.ccn),
    ofFacilities("facility", image.facilityName),
    ofFacilities("city", image.city),
    ofFacilities("state", image.state),
    ofProcedures("code", image.code),
    ofProcedures("procedure", image.procedureName),
    dollars("submitted_charge", readPriced(charge)),
    dollars("medicare_allowed", readPriced(allowed)),
    { name: "status", dictionary: dictionaryOf([...rowStatuses]), read: readStatus },
    ...further,
  ];
}

/** Computes how many bytes `arrowPieces` yields in total. O(rows) for one procedure, else O(facilities). */
export function arrowBytes(image: Image, scope: ExportScope): number {
  const columns = columnsOf(image, scope);
  const rows = sumOver(image, scope, image.groupRows);
  let length = schemaMessage(columns).length + streamEnd.length;
  for (const [id, { dictionary }] of columns.entries())
    if (dictionary !== undefined) {
      const bytes = dictionaryBytes(dictionary);
      length += dictionaryMessage(id, bytes).length + padded(bytes.offsets) + padded(bytes.texts);
    }
  const lengthOf = (count: number) => new Batch(columns, count).length;
  length += Math.floor(rows / batchRows) * lengthOf(batchRows);
  return rows % batchRows === 0 ? length : length + lengthOf(rows % batchRows);
}

/**
 * Yields the Arrow stream of a scope's rows in pieces. A piece is valid until the next piece is requested. Empty pieces
 * let the caller do other work.
 */
export function* arrowPieces(image: Image, scope: ExportScope): Generator<Uint8Array, void> {
  const columns = columnsOf(image, scope);
  yield schemaMessage(columns);
  for (const [id, { dictionary }] of columns.entries()) {
    if (dictionary === undefined) continue;
    yield dictionaryMessage(id, dictionaryBytes(dictionary));
    yield* offsetPieces(dictionary);
    yield* textPieces(dictionary);
  }
  const found = new ScopeRows(image, scope);
  const rows = new Int32Array(batchRows);
  const full = new Batch(columns, batchRows);
  let filled = 0;
  while (!found.isOver) {
    const row = found.next();
    if (row < 0) {
      yield nothing;
      continue;
    }
    rows[filled++] = row;
    if (filled < batchRows) continue;
    yield* full.write(rows);
    filled = 0;
  }
  if (filled > 0) yield* new Batch(columns, filled).write(rows.subarray(0, filled));
  yield streamEnd;
}

function* offsetPieces({ texts: { offsets }, used }: Dictionary): Generator<Uint8Array, void> {
  const piece = new Int32Array(maxPieceBytes / 4);
  let filled = 1;
  let end = 0;
  for (const i of used) {
    end += offsets[i + 1] - offsets[i];
    piece[filled++] = end;
    if (filled < piece.length) continue;
    yield new Uint8Array(piece.buffer);
    filled = 0;
  }
  // An offset has 4 bytes, so an odd number of offsets needs padding to a multiple of 8 bytes.
  if (used.length % 2 === 0) piece[filled++] = 0;
  yield new Uint8Array(piece.buffer, 0, filled * 4);
}

/** Yields the bytes of a dictionary's texts in pieces, padded to a multiple of 8. */
function* textPieces({ texts: { offsets, bytes }, used }: Dictionary): Generator<Uint8Array, void> {
  const piece = new Uint8Array(maxPieceBytes);
  let filled = 0;
  let written = 0;
  for (const i of used) {
    const length = offsets[i + 1] - offsets[i];
    if (filled + length > piece.length) {
      yield piece.subarray(0, filled);
      filled = 0;
    }
    piece.set(bytes.subarray(offsets[i], offsets[i + 1]), filled);
    filled += length;
    written += length;
  }
  yield piece.subarray(0, filled);
  yield padding.subarray(0, padded(written) - written);
}

const padded = (length: number) => Math.ceil(length / 8) * 8;

interface DictionaryBytes {
  count: number;
  offsets: number;
  texts: number;
}

function dictionaryBytes({ texts: { offsets }, used }: Dictionary): DictionaryBytes {
  let texts = 0;
  for (const i of used) texts += offsets[i + 1] - offsets[i];
  return { count: used.length, offsets: 4 * (used.length + 1), texts };
}

/** Writes record batches with the same number of rows, all into the same memory. */
class Batch {
  readonly #columns: readonly Column[];
  readonly #count: number;
  readonly #head: Uint8Array;
  readonly #body: number;
  #out: Uint8Array | undefined;

  constructor(columns: readonly Column[], count: number) {
    this.#columns = columns;
    this.#count = count;
    this.#body = columns.reduce((sum, column) => sum + this.#validity(column) + this.#data(column), 0);
    this.#head = this.#message();
  }

  get length(): number {
    return this.#head.length + this.#body;
  }

  /** Yields the batch as one piece, because the null counts are in the header at its start. Empty pieces come before it. */
  *write(rows: Int32Array): Generator<Uint8Array, void> {
    if (this.#out === undefined) {
      this.#out = new Uint8Array(this.length);
      this.#out.set(this.#head);
    }
    const out = this.#out;
    const view = new DataView(out.buffer);
    const values = new Int32Array(rows.length);
    let at = this.#head.length;
    // The message ends with each column's length and null count.
    let absentAt = at - this.#columns.length * 16 + 8;
    for (const [i, column] of this.#columns.entries()) {
      if (i % columnsAtOnce === columnsAtOnce - 1) yield nothing;
      const validity = out.subarray(at, at + this.#validity(column)).fill(0);
      at += validity.length;
      column.read(rows, values);
      let blanks = 0;
      if (column.mayBeAbsent)
        for (let i = 0; i < values.length; i++) {
          if (values[i] !== blank) validity[i >> 3] |= 1 << (i & 7);
          else {
            blanks++;
            values[i] = 0;
          }
        }
      if (column.isFloat) {
        const dollars = new Float64Array(out.buffer, at, values.length);
        for (let i = 0; i < values.length; i++) dollars[i] = values[i] / 100;
      } else new Int32Array(out.buffer, at, values.length).set(values);
      at += this.#data(column);
      view.setInt32(absentAt, blanks, true);
      absentAt += 16;
    }
    yield out;
  }

  #validity({ mayBeAbsent }: Column): number {
    return mayBeAbsent ? padded(Math.ceil(this.#count / 8)) : 0;
  }

  #data({ isFloat }: Column): number {
    return padded(this.#count * (isFloat ? 8 : 4));
  }

  #message(): Uint8Array {
    let at = 0;
    const extents = this.#columns.flatMap((column) =>
      [this.#validity(column), this.#data(column)].map((length): Pair => {
        at += length;
        return [at - length, length];
      }),
    );
    const nodes = this.#columns.map((): Pair => [this.#count, 0]);
    return message(messageTypes.recordBatch, this.#body, (builder) =>
      recordBatch(builder, this.#count, nodes, extents),
    );
  }
}

/*
 * The messages are FlatBuffers, with a table's fields in the order of Arrow's `Message.fbs` and `Schema.fbs`. A
 * FlatBuffer is written from its end to its start, so a part is written before the part that refers to it.
 */

const messageTypes = { schema: 1, dictionaryBatch: 2, recordBatch: 3 };
const metadataVersion = 4;
const types = { int: 2, float: 3, utf8: 5 };
const double = 2;

/** Two 64-bit numbers: a node's length and null count, or a buffer's offset and length. */
type Pair = readonly [number, number];

/** A scalar with its size in bytes, or the place of a part. A scalar 0 and the place 0 are left out. */
type Field = readonly [size: 1 | 2 | 4 | 8, value: number] | number;

function table(builder: Builder, ...fields: Field[]): number {
  builder.startObject(fields.length);
  for (const [slot, field] of fields.entries()) {
    const [size, value] = typeof field === "number" ? [0, field] : field;
    if (size === 0) builder.addFieldOffset(slot, value, 0);
    else if (size === 1) builder.addFieldInt8(slot, value, 0);
    else if (size === 2) builder.addFieldInt16(slot, value, 0);
    else if (size === 4) builder.addFieldInt32(slot, value, 0);
    else builder.addFieldInt64(slot, BigInt(value), 0n);
  }
  return builder.endObject();
}

function list(builder: Builder, places: number[]): number {
  builder.startVector(4, places.length, 4);
  for (const place of places.toReversed()) builder.addOffset(place);
  return builder.endVector();
}

/** @param headerOf writes the header and returns the header's place */
function message(type: number, bodyBytes: number, headerOf: (builder: Builder) => number): Uint8Array {
  const builder = new Builder();
  builder.finish(table(builder, [2, metadataVersion], [1, type], headerOf(builder), [8, bodyBytes]));
  const content = builder.asUint8Array();
  const bytes = new Uint8Array(8 + padded(content.length));
  const view = new DataView(bytes.buffer);
  view.setInt32(0, -1, true);
  view.setInt32(4, bytes.length - 8, true);
  bytes.set(content, 8);
  return bytes;
}

function schemaMessage(columns: readonly Column[]): Uint8Array {
  return message(messageTypes.schema, 0, (builder) => {
    const int32 = () => table(builder, [4, 32], [1, 1]);
    const fields = columns.map(({ name, dictionary, isFloat, mayBeAbsent }, id) => {
      const type = dictionary ? types.utf8 : isFloat ? types.float : types.int;
      const ofType = dictionary ? table(builder) : isFloat ? table(builder, [2, double]) : int32();
      const encoding = dictionary === undefined ? 0 : table(builder, [8, id], int32());
      const [text, children] = [builder.createString(name), list(builder, [])];
      return table(builder, text, [1, mayBeAbsent ? 1 : 0], [1, type], ofType, encoding, children);
    });
    return table(builder, [2, 0], list(builder, fields));
  });
}

function dictionaryMessage(id: number, { count, offsets, texts }: DictionaryBytes): Uint8Array {
  const start = padded(offsets);
  const extents: Pair[] = [
    [0, 0],
    [0, offsets],
    [start, texts],
  ];
  return message(messageTypes.dictionaryBatch, start + padded(texts), (builder) =>
    table(builder, [8, id], recordBatch(builder, count, [[count, 0]], extents)),
  );
}

function recordBatch(builder: Builder, count: number, nodes: Pair[], buffers: Pair[]): number {
  // FlatBuffers are written from end to start, so the nodes, which are written first, end the message.
  const [nodesAt, buffersAt] = [nodes, buffers].map((pairs) => {
    builder.startVector(16, pairs.length, 8);
    for (const value of pairs.flat().reverse()) builder.addInt64(BigInt(value));
    return builder.endVector();
  });
  return table(builder, [8, count], nodesAt, buffersAt);
}
