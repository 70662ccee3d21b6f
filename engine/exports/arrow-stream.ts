import { encodeText, type TextColumn } from "../encode.ts";
import type { Image } from "../image/image.ts";
import { blank, versionName } from "../snapshot/schema.ts";
import { encodeFlatbuffer, type Node, pairs, scalar, table, text, vector } from "./flatbuffer.ts";
import {
  type ExportScope,
  facilitiesInScope,
  proceduresInScope,
  rowStatuses,
  rowsInScope,
  ScopeRows,
  statusOfRow,
} from "./scope.ts";

/**
 * Writes rows as an Arrow IPC stream: the schema, a dictionary for each text column, record batches and the end marker.
 * Dictionaries hold only texts of facilities and procedures in the scope, and are copied from the image in pieces.
 */

const batchRows = 128;
const maxPieceBytes = 16 * 2 ** 10;
const streamEnd = Uint8Array.of(255, 255, 255, 255, 0, 0, 0, 0);
const padding = new Uint8Array(8);
const nothing = padding.subarray(0, 0);
/** Columns of a batch that are written before the generator yields. */
const columnsAtOnce = 5;

interface Column {
  name: string;
  /** Texts by code; undefined for numbers. */
  dictionary?: Dictionary;
  isFloat?: boolean;
  mayBeAbsent?: boolean;
  /** Reads a column's values for some rows: dictionary codes, numbers or cents; `blank` where absent. */
  read: Reader;
}

interface Dictionary {
  texts: TextColumn;
  used: Int32Array;
}

function wholeDictionary(texts: string[]): Dictionary {
  return { texts: encodeText(texts), used: Int32Array.from(texts.keys()) };
}

/** Reads a column. Each kind of column has its own loop, because a call per value would be several times slower. */
type Reader = (rows: Int32Array, values: Int32Array) => void;

const readerOf =
  (numbers: Int32Array): Reader =>
  (rows, values) => {
    for (let i = 0; i < rows.length; i++) values[i] = numbers[rows[i]];
  };

const codeReaderOf =
  (positions: Int32Array, codes: Int32Array): Reader =>
  (rows, values) => {
    for (let i = 0; i < rows.length; i++) values[i] = codes[positions[rows[i]]];
  };

function columnsOf(image: Image, scope: ExportScope): Column[] {
  const { provenance } = image.description;
  const { facility, charge, allowed } = image;
  const facilities = facilitiesInScope(image, scope);
  const procedures = proceduresInScope(image, scope);
  const codes = codesOf(facilities, image.ccn.offsets.length - 1);
  const readFacility = codeReaderOf(facility, codes);
  const ofFacilities = (name: string, texts: TextColumn): Column => ({
    name,
    dictionary: { texts, used: facilities },
    read: readFacility,
  });
  const readProcedure = codeReaderOf(image.procedure, codesOf(procedures, image.procedures));
  const ofProcedures = (name: string, texts: TextColumn): Column => ({
    name,
    dictionary: { texts, used: procedures },
    read: readProcedure,
  });
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
  const perhaps = (name: string, texts: TextColumn): Column => {
    const { offsets } = texts;
    return {
      ...ofFacilities(name, texts),
      mayBeAbsent: true,
      read(rows, values) {
        for (let i = 0; i < rows.length; i++) {
          const f = facility[rows[i]];
          values[i] = offsets[f] === offsets[f + 1] ? blank : codes[f];
        }
      },
    };
  };
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
  const version = wholeDictionary([versionName(provenance)]);
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
    { name: "status", dictionary: wholeDictionary([...rowStatuses]), read: readStatus },
    ...further,
  ];
}

/** The length of what `arrowPieces` yields. O(rows). */
export function arrowBytes(image: Image, scope: ExportScope): number {
  const columns = columnsOf(image, scope);
  const rows = rowsInScope(image, scope);
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
 * Yields the stream of a scope's rows in pieces. A piece is valid until the next one is requested. Empty pieces let the
 * caller do other work while rows are scanned or a batch is filled.
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

/** The dictionary code of each used position. Entries of other positions are undefined. */
function codesOf(used: Int32Array, count: number): Int32Array {
  const codes = new Int32Array(count);
  for (let code = 0; code < used.length; code++) codes[used[code]] = code;
  return codes;
}

/** The offsets of a dictionary's texts, padded to a multiple of 8 bytes, in pieces. */
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
  // Offsets have 4 bytes each, so an even number of them fills a multiple of 8.
  if (used.length % 2 === 0) piece[filled++] = 0;
  yield new Uint8Array(piece.buffer, 0, filled * 4);
}

/** The bytes of a dictionary's texts, padded to a multiple of 8, in pieces. */
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

/** Writes batches of a fixed number of rows, all into the same memory. */
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

  /** Yields an empty piece after every few columns, then the whole batch: its header contains the null counts. */
  *write(rows: Int32Array): Generator<Uint8Array, void> {
    if (this.#out === undefined) {
      this.#out = new Uint8Array(this.length);
      this.#out.set(this.#head);
    }
    const out = this.#out;
    const view = new DataView(out.buffer);
    const values = new Int32Array(rows.length);
    let at = this.#head.length;
    // The message ends with two numbers per column (length, null count), a padded length, and two buffers per column.
    let absentAt = at - this.#columns.length * 3 * 16;
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
      [this.#validity(column), this.#data(column)].map((length) => {
        const extent = [at, length] as const;
        at += length;
        return extent;
      }),
    );
    const nodes = this.#columns.map(() => [this.#count, 0] as const);
    return message(messageTypes.recordBatch, recordBatch(this.#count, nodes, extents), this.#body);
  }
}

/** Message types in Arrow's `Message.fbs`. */
const messageTypes = { schema: 1, dictionaryBatch: 2, recordBatch: 3 };
const metadataVersion = 4;
/** Data types in Arrow's `Schema.fbs`. */
const types = { int: 2, float: 3, utf8: 5 };
const double = 2;

const int32 = () => table(scalar(4, 32), scalar(1, 1));

function message(type: number, header: Node, bodyBytes: number): Uint8Array {
  const content = encodeFlatbuffer(
    table(scalar(2, metadataVersion), scalar(1, type), header, scalar(8, bodyBytes)),
  );
  const bytes = new Uint8Array(8 + content.length);
  new DataView(bytes.buffer).setInt32(0, -1, true);
  new DataView(bytes.buffer).setInt32(4, content.length, true);
  bytes.set(content, 8);
  return bytes;
}

function schemaMessage(columns: readonly Column[]): Uint8Array {
  const fields = columns.map(({ name, dictionary, isFloat, mayBeAbsent }, id) => {
    const type = dictionary ? types.utf8 : isFloat ? types.float : types.int;
    const ofType = dictionary ? table() : isFloat ? table(scalar(2, double)) : int32();
    const encoding = dictionary && table(scalar(8, id), int32(), scalar(1, 0));
    return table(text(name), scalar(1, mayBeAbsent ? 1 : 0), scalar(1, type), ofType, encoding, vector([]));
  });
  return message(messageTypes.schema, table(scalar(2, 0), vector(fields)), 0);
}

function dictionaryMessage(id: number, { count, offsets, texts }: DictionaryBytes): Uint8Array {
  const start = padded(offsets);
  const extents = [
    [0, 0],
    [0, offsets],
    [start, texts],
  ] as const;
  const batch = recordBatch(count, [[count, 0]], [...extents]);
  const header = table(scalar(8, id), batch, scalar(1, 0));
  return message(messageTypes.dictionaryBatch, header, start + padded(texts));
}

function recordBatch(
  count: number,
  nodes: (readonly [number, number])[],
  buffers: (readonly [number, number])[],
): Node {
  return table(scalar(8, count), pairs(nodes), pairs(buffers));
}
