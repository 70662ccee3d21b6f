import { DataError, shown } from "../errors.ts";
import { type DecodedRows, isReadable, type Texts, typeName } from "./columns.ts";
import type { SnapshotHead } from "./footer.ts";
import type { OpenParquet } from "./parquet-file.ts";
import {
  blank,
  byField,
  ccnPattern,
  type FacilityField,
  measureFields,
  type ProcedureField,
  procedureCodePattern,
  requiredColumns,
  requiredTexts,
  ruralUrbanCodePattern,
  type SnapshotColumn,
  snapshotColumns,
  stateNames,
  zipPattern,
} from "./schema.ts";
import { arrangeTable, type TableParts } from "./table.ts";
import { flawIn } from "./texts.ts";

/** Checks the columns and rows of a snapshot file, whichever tool wrote it. Rows are numbered from 1 in messages. */

/**
 * Checks the columns of a file that has rows. Of columns that aren't a snapshot's, only the names are read.
 *
 * @returns the names of the columns to read, and of those that are ignored
 * @throws DataError when a required column is missing, or a snapshot's column occurs twice, has another type or can't
 * be read
 */
export async function checkColumns(
  { file }: Pick<SnapshotHead, "file">,
  subject: string,
): Promise<{ columns: string[]; ignored: string[] }> {
  const ours = new Set<string>(snapshotColumns.map(({ name }) => name));
  const names = namesIn(file);
  for (const { name } of snapshotColumns) {
    const count = names.filter((candidate) => candidate === name).length;
    if (count === 0 && requiredColumns.has(name))
      throw new DataError(
        `${subject}: column ${name}`,
        `none among ${shown(likeFirst(names, name, ours).join(", "))}`,
        "a column of this name",
      );
    if (count > 1) throw new DataError(`${subject}: column ${name}`, "two of this name", "one");
  }
  const columns = names.filter((name) => ours.has(name));
  const { fields } = (await file.read(columns, [0], 0, "columns")).schema;
  for (const { name, part } of snapshotColumns) {
    const field = fields.find((candidate) => candidate.name === name);
    if (field !== undefined && !isReadable(field, part === "rows" ? "number" : "text"))
      throw new DataError(
        `${subject}: column ${name}`,
        `values of the type ${typeName(field)}`,
        part === "rows" ? "integers of any width" : "text",
      );
  }
  return { columns, ignored: names.filter((name) => !ours.has(name)) };
}

/** Lists the names of a file's columns. A nested column has several leaves, one after the other. */
function namesIn({ groups }: OpenParquet): string[] {
  const paths = groups[0].columns.map(({ path }) => path);
  return paths.flatMap(([name], i) =>
    i > 0 && paths[i].length > 1 && paths[i - 1].length > 1 && paths[i - 1][0] === name ? [] : [name],
  );
}

/**
 * Sorts names: first those that differ from `wanted` only in case or punctuation, then others that aren't `known`, then
 * the rest.
 */
function likeFirst(names: string[], wanted: string, known: ReadonlySet<string>): string[] {
  const letters = (name: string) => name.toLowerCase().replace(/[^a-z0-9]/g, "");
  const rank = (name: string) => (known.has(name) ? 2 : letters(name) === letters(wanted) ? 0 : 1);
  return names.toSorted((a, b) => rank(a) - rank(b));
}

type Column<Field> = { name: SnapshotColumn["name"]; field: Field };
const facilityColumns = snapshotColumns.filter((column) => column.part === "facilities");
const procedureColumns = snapshotColumns.filter((column) => column.part === "procedures");
const measureColumns = snapshotColumns.filter((column) => column.part === "rows");

/**
 * Enters the rows of a file into a table, sorted by CCN and procedure code.
 *
 * @param length the number of rows
 * @param maxHeap maximum heap bytes of the facilities' texts, and separately of the procedures' texts
 * @param onRows called after each step with the number of rows read so far
 * @throws DataError when a value is wrong, a pair of facility and procedure occurs twice, or the texts exceed the limit
 */
export async function tableOf(
  steps: AsyncIterable<DecodedRows>,
  length: number,
  subject: string,
  maxHeap: number,
  onRows: (rows: number) => void,
): Promise<TableParts> {
  const rows: TableParts["rows"] = {
    facility: new Int32Array(length),
    procedure: new Int32Array(length),
    ...byField(measureFields, () => new Int32Array(length)),
  };
  const facilities = new Entities<FacilityField>(facilityColumns, subject, maxHeap);
  const procedures = new Entities<ProcedureField>(procedureColumns, subject, maxHeap);
  let end = 0;
  for await (const step of steps) {
    end = step.start + step.length;
    facilities.enter(step, rows.facility.subarray(step.start, end));
    procedures.enter(step, rows.procedure.subarray(step.start, end));
    for (const { name, field } of measureColumns) step.numbers(name, rows[field].subarray(step.start, end));
    onRows(end);
    // With more rows than pairs of a facility and a procedure, a pair occurs twice. The check below finds it.
    if (end > facilities.count * procedures.count) break;
  }
  const { table, order } = arrangeTable({
    facilities: facilities.texts,
    procedures: procedures.texts,
    rows: byField(["facility", "procedure", ...measureFields], (field) => rows[field].subarray(0, end)),
  });
  checkPairs(table, order, subject);
  return table;
}

const textRules: Partial<
  Record<SnapshotColumn["name"], [isRight: (text: string) => boolean, expected: string]>
> = {
  ccn: [(text) => ccnPattern.test(text), "six digits or capital letters"],
  state: [(text) => Object.hasOwn(stateNames, text), "a state's code, such as CA"],
  procedure_code: [(text) => procedureCodePattern.test(text), "four digits"],
  zip: [(text) => zipPattern.test(text), "five digits"],
  rural_urban_code: [(text) => ruralUrbanCodePattern.test(text), "a code such as 1 or 4.1"],
};

function flawOf(column: SnapshotColumn["name"], text: string) {
  const rule = textRules[column];
  if (rule === undefined || text === "") return flawIn(text);
  const [isRight, expected] = rule;
  return isRight(text) ? undefined : { found: shown(text), expected };
}

/** Estimates of the heap bytes of a text without its characters, and of a character. */
const [bytesPerText, bytesPerCharacter] = [32, 2];

/** The facilities or procedures of a file, in the order in which they occur. Their first column is the key. */
class Entities<Field extends string> {
  readonly texts: Record<Field, string[]>;
  readonly #columns: readonly Column<Field>[];
  readonly #subject: string;
  readonly #positions = new Map<string, number>();
  readonly #firstRows: number[] = [];
  readonly #maxHeap: number;
  #heap = 0;

  constructor(columns: readonly Column<Field>[], subject: string, maxHeap: number) {
    this.texts = byField(
      columns.map(({ field }) => field),
      () => [],
    );
    this.#columns = columns;
    this.#subject = subject;
    this.#maxHeap = maxHeap;
  }

  get count(): number {
    return this.#firstRows.length;
  }

  /** @param into receives the position of each row's facility or procedure */
  enter(step: DecodedRows, into: Int32Array): void {
    const columns = this.#columns.map((column) => ({ ...column, ...step.texts(column.name) }));
    for (const { name, codes } of columns) {
      const row = requiredTexts.has(name) ? codes.indexOf(blank) : -1;
      if (row >= 0) throw this.#wrong(step.start + row, name, "no value", "text");
    }
    const [key] = columns;
    const firstOf = new Int32Array(key.values.length).fill(-1);
    const positions = new Int32Array(key.values.length);
    for (let row = 0; row < step.length; row++) {
      const code = key.codes[row];
      if (firstOf[code] < 0) {
        firstOf[code] = row;
        positions[code] = this.#positionOf(columns, row, step.start);
      }
      into[row] = positions[code];
    }
    for (const column of columns)
      for (let row = 0; row < step.length; row++) {
        const first = firstOf[key.codes[row]];
        if (column.codes[row] !== column.codes[first]) throw this.#other(column, row, into[row], step.start);
      }
  }

  #positionOf(columns: readonly (Column<Field> & Texts)[], row: number, start: number): number {
    const key = columns[0].values[columns[0].codes[row]];
    const known = this.#positions.get(key);
    if (known !== undefined) {
      for (const column of columns)
        if (textAt(column, row) !== this.texts[column.field][known])
          throw this.#other(column, row, known, start);
      return known;
    }
    for (const column of columns) {
      const text = textAt(column, row);
      const flaw = flawOf(column.name, text);
      if (flaw !== undefined) throw this.#wrong(start + row, column.name, flaw.found, flaw.expected);
      this.texts[column.field].push(text);
      this.#heap += bytesPerText + bytesPerCharacter * text.length;
    }
    if (this.#heap > this.#maxHeap)
      throw new DataError(
        `${this.#subject}: texts of facilities and procedures`,
        `${this.#heap} bytes or more`,
        `at most ${this.#maxHeap}`,
      );
    this.#positions.set(key, this.#firstRows.length);
    return this.#firstRows.push(start + row) - 1;
  }

  #wrong(row: number, column: string, found: string, expected: string): DataError {
    return new DataError(`${this.#subject}: row ${row + 1}, column ${column}`, found, expected);
  }

  #other(column: Column<Field> & Texts, row: number, position: number, start: number): DataError {
    const [{ name, field }] = this.#columns;
    const before = this.texts[column.field][position];
    return this.#wrong(
      start + row,
      column.name,
      named(textAt(column, row)),
      `${named(before)} as in row ${this.#firstRows[position] + 1}, which has the same ${name} ${this.texts[field][position]}`,
    );
  }
}

const textAt = ({ codes, values }: Texts, row: number) => (codes[row] < 0 ? "" : values[codes[row]]);
const named = (text: string) => (text === "" ? "no value" : shown(text));

/**
 * Checks that no two rows have the same facility and procedure. The rows are sorted.
 *
 * @param order the row of the file for each row of the table
 */
function checkPairs(table: TableParts, order: Uint32Array, subject: string): void {
  const { facilities, procedures, rows } = table;
  for (let row = 1; row < rows.facility.length; row++) {
    if (rows.facility[row] !== rows.facility[row - 1] || rows.procedure[row] !== rows.procedure[row - 1])
      continue;
    const [ccn, code] = [facilities.ccn[rows.facility[row]], procedures.code[rows.procedure[row]]];
    throw new DataError(
      `${subject}: row ${order[row] + 1}, columns ccn and procedure_code`,
      `${ccn} and ${code}, as in row ${order[row - 1] + 1}`,
      "each pair in one row",
    );
  }
}
