import type { Data, DataType, Field, Table } from "apache-arrow";
import { DataError } from "../errors.ts";
import { arrow } from "./arrow.ts";
import { rowsPerGroup } from "./encode.ts";
import type { RowGroup } from "./footer.ts";
import { type OpenParquet, refusalOf } from "./parquet-file.ts";
import { blank, maxCount, type SnapshotColumn } from "./schema.ts";

/**
 * Decodes the columns of a Parquet file, whichever tool wrote it: texts become codes of distinct texts, and whole
 * numbers of any width become 32-bit integers. What the values must be is in `rules.ts`.
 */

/** A column of texts: for each row the position of its text, or `blank`. No text occurs twice, and none is empty. */
export interface Texts {
  codes: Int32Array;
  values: string[];
}

export interface DecodedRows {
  start: number;
  length: number;
  /** @throws DataError when the column can't be decoded, or the texts exceed the limit */
  texts(name: SnapshotColumn["name"]): Texts;
  /**
   * Fills an array with a column's numbers. An absent number is `blank`.
   *
   * @throws DataError when a value isn't a whole number in range
   */
  numbers(name: SnapshotColumn["name"], into: Int32Array): void;
}

/**
 * Groups the row groups of a file for reading: neighbouring small row groups are read together, up to `rowsPerGroup`
 * rows.
 *
 * @returns for each read, the positions of its row groups and their total number of rows
 */
export function readsOf(groups: readonly RowGroup[]): { rowGroups: number[]; rows: number }[] {
  const reads: { rowGroups: number[]; rows: number }[] = [];
  for (const [i, { rows }] of groups.entries()) {
    const last = reads.at(-1);
    if (last === undefined || last.rows + rows > rowsPerGroup) reads.push({ rowGroups: [i], rows });
    else {
      last.rowGroups.push(i);
      last.rows += rows;
    }
  }
  return reads;
}

/**
 * Decodes columns of a file step by step. Only one step's rows are in memory at a time.
 *
 * @param maxTextCharacters maximum characters of the distinct texts of one step, counting one more for each text
 * @throws DataError when the rows can't be read
 */
export async function* decodedRows(
  file: OpenParquet,
  columns: string[],
  groups: readonly RowGroup[],
  subject: string,
  maxTextCharacters: number,
): AsyncGenerator<DecodedRows> {
  let start = 0;
  for (const { rowGroups, rows } of readsOf(groups)) {
    if (rows === 0) continue;
    const table = await file.read(columns, rowGroups, rows, `rows from ${start + 1} on`);
    if (table.numRows !== rows)
      throw new DataError(`${subject}: rows`, `${table.numRows} of a row group`, `${rows} as in its footer`);
    yield rowsOf(table, start, subject, maxTextCharacters);
    start += rows;
  }
}

function rowsOf(table: Table, start: number, subject: string, maxTextCharacters: number): DecodedRows {
  const length = table.numRows;
  let left = maxTextCharacters;
  const spend = (characters: number) => {
    left -= characters;
    if (left < 0)
      throw new DataError(
        `${subject}: texts of ${length} rows`,
        `more than ${maxTextCharacters} characters`,
        "distinct texts that fit into the memory of a load",
      );
  };
  return {
    start,
    length,
    texts(name) {
      const { codeOf, values } = distinctTexts(spend);
      const codes = new Int32Array(length).fill(blank);
      let at = 0;
      for (const data of table.getChild(name)?.data ?? []) {
        try {
          codes.set(codesOf(data, codeOf), at);
        } catch (error) {
          throw refusalOf(error, `${subject}: column ${name}`);
        }
        at += data.length;
      }
      return { codes, values };
    },
    numbers(name, into) {
      const column = table.getChild(name);
      if (column === null) {
        into.fill(blank, 0, length);
        return;
      }
      let at = 0;
      for (const data of column.data) {
        const wrong = copyNumbers(data, into.subarray(at, at + data.length));
        if (wrong >= 0)
          throw new DataError(
            `${subject}: row ${start + at + wrong + 1}, column ${name}`,
            String(column.get(at + wrong)),
            `a whole number from 0 to ${maxCount}, or no value`,
          );
        at += data.length;
      }
    },
  };
}

/** Collects distinct texts. The code of an empty text is `blank`. */
function distinctTexts(spend: (characters: number) => void) {
  const known = new Map([["", blank]]);
  const values: string[] = [];
  const codeOf = (text: string) => {
    let code = known.get(text);
    if (code === undefined) {
      spend(text.length + 1);
      code = values.push(text) - 1;
      known.set(text, code);
    }
    return code;
  };
  return { codeOf, values };
}

/** Returns the codes of a piece of a column. Each text of a dictionary is decoded once. */
function codesOf(data: Data, codeOf: (text: string) => number): Int32Array {
  const { type, length } = data;
  const codes = new Int32Array(length).fill(blank);
  if (arrow.DataType.isNull(type)) return codes;
  const isPresent = presenceOf(data);
  if (arrow.DataType.isDictionary(type)) {
    const entries = (data.dictionary?.data ?? []).flatMap((piece) => [...codesOf(piece, codeOf)]);
    const { words, width } = wordsOf(data.values);
    for (let i = 0; i < length; i++) if (isPresent(i)) codes[i] = entries[words[width * i]];
  } else if (arrow.DataType.isUtf8View(type)) {
    const texts = new arrow.Vector([data]);
    for (let i = 0; i < length; i++) if (isPresent(i)) codes[i] = codeOf(texts.get(i));
  } else {
    const { buffer, byteOffset, byteLength }: Uint8Array = data.values;
    const bytes = Buffer.from(buffer, byteOffset, byteLength);
    const { words, width } = wordsOf(data.valueOffsets);
    for (let i = 0; i < length; i++)
      if (isPresent(i)) codes[i] = codeOf(bytes.toString("utf8", words[width * i], words[width * (i + 1)]));
  }
  return codes;
}

/** Copies a piece of a column. @returns the position of the first value that is out of range; −1 if there is none */
function copyNumbers(data: Data, into: Int32Array): number {
  into.fill(blank);
  if (arrow.DataType.isNull(data.type)) return -1;
  const isPresent = presenceOf(data);
  const { words, width } = wordsOf(
    data.values,
    arrow.DataType.isDecimal(data.type) ? data.length : undefined,
  );
  for (let i = 0; i < into.length; i++) {
    if (!isPresent(i)) continue;
    const value = words[width * i];
    if (value < 0 || value > maxCount) return i;
    // A wide integer in range has zeros in all words but the lowest.
    for (let word = 1; word < width; word++) if (words[width * i + word] !== 0) return i;
    into[i] = value;
  }
  return -1;
}

function presenceOf({ nullBitmap, offset }: Data): (i: number) => boolean {
  if (nullBitmap === undefined || nullBitmap.length === 0) return () => true;
  return (i) => (nullBitmap[(offset + i) >> 3] & (1 << ((offset + i) & 7))) !== 0;
}

type Narrow = Int8Array | Int16Array | Int32Array | Uint8Array | Uint16Array | Uint32Array;

/**
 * Splits integers of any width into words. An integer of up to 32 bits is one word. A wider integer becomes words of
 * 32 bits, the lowest word first. `width` is the number of words of a value.
 *
 * @param count the number of values, if several elements of the array are one value
 */
function wordsOf(values: Narrow | BigInt64Array | BigUint64Array, count = values.length) {
  const isWide = values instanceof BigInt64Array || values instanceof BigUint64Array;
  const words: Narrow =
    isWide || count !== values.length
      ? new Int32Array(values.buffer, values.byteOffset, values.byteLength / 4)
      : values;
  return { words, width: words.length / Math.max(1, isWide ? values.length : count) };
}

export function isReadable({ type }: Field, kind: "text" | "number"): boolean {
  return arrow.DataType.isNull(type) || (kind === "text" ? isText(type) : isWhole(type));
}

const maxTypeCharacters = 64;

/** Names a column's type for errors: a decimal as in SQL, another type as in Arrow. Cuts it to `maxTypeCharacters`. */
export function typeName({ type }: Field): string {
  const name = arrow.DataType.isDecimal(type) ? `DECIMAL(${type.precision},${type.scale})` : String(type);
  return name.length > maxTypeCharacters ? `${name.slice(0, maxTypeCharacters - 1)}…` : name;
}

function isText(type: DataType): boolean {
  const { DataType: of } = arrow;
  if (of.isDictionary(type)) return isText(type.dictionary);
  return of.isUtf8(type) || of.isLargeUtf8(type) || of.isUtf8View(type);
}

function isWhole(type: DataType): boolean {
  return arrow.DataType.isInt(type) || (arrow.DataType.isDecimal(type) && type.scale === 0);
}
