import { hundredthsLength, type TextColumn, utf8, writeHundredths } from "../encode.ts";
import { type Image, textAt } from "../image/image.ts";
import { blank, snapshotColumns, versionName } from "../snapshot/schema.ts";
import { type ExportScope, rowStatuses, ScopeRows, statusOfRow, sumOver } from "./scope.ts";

/** Writes CSV by RFC 4180. A procedure's fields are encoded once, and a facility's fields once for its consecutive rows. */

/**
 * A piece ends with the line that reaches this many bytes, or earlier. Sending a piece costs as much as making some
 * kilobytes, and making a piece of this size takes some 50 µs.
 */
const pieceBytes = 15 * 2 ** 10;
/** A line has five texts of up to 500 characters, and a character has up to three bytes. */
const maxLineBytes = 10 * 2 ** 10;
/** Below this length, a loop copies bytes faster than `set`. */
const minSetBytes = 40;
const [quote, comma, carriageReturn, lineFeed] = utf8('",\r\n');
const lineEnd = utf8("\r\n");

const firstColumns =
  "data_year,data_version,ccn,facility,city,state,code,procedure,submitted_charge,medicare_allowed,status";
/** Amounts in an export are in dollars, so the names lose the ending `_cents`. */
const furtherColumns = snapshotColumns
  .slice(snapshotColumns.findIndex(({ name }) => name === "street"))
  .map(({ name }) => name.replace(/_cents$/, ""));
const header = utf8(`${[firstColumns, ...furtherColumns].join(",")}\r\n`);

const statusBytes = rowStatuses.map(utf8);

/**
 * Yields a header and the lines of a scope's rows in pieces. A piece is valid until the next piece is requested, and
 * may be empty.
 */
export function* csvPieces(image: Image, scope: ExportScope): Generator<Uint8Array, void> {
  const lines = new RowLines(image);
  const found = new ScopeRows(image, scope);
  const out = new Uint8Array(pieceBytes + maxLineBytes);
  out.set(header);
  let at = header.length;
  while (!found.isOver) {
    const row = found.next();
    if (row >= 0) {
      lines.enter(row);
      at = lines.write(out, at, row);
    }
    if (row < 0 || at >= pieceBytes) {
      yield out.subarray(0, at);
      at = 0;
    }
  }
  yield out.subarray(0, at);
}

/** Returns a function that computes the length of a row's line in bytes. Rows in ascending order are fastest. */
export function csvLengths(image: Image): (row: number) => number {
  const lines = new RowLines(image);
  return (row) => {
    lines.enter(row);
    return lines.length(row);
  };
}

/** Computes how many bytes `csvPieces` yields in total. O(procedures), or O(1) for one procedure. */
export function csvBytes(image: Image, scope: ExportScope): number {
  return header.length + sumOver(image, scope, image.csvBytes);
}

class RowLines {
  readonly #image: Image;
  readonly #source: Uint8Array;
  readonly #procedures: Uint8Array[] = [];
  #facility = -1;
  #head: Uint8Array = new Uint8Array();
  #address: Uint8Array = new Uint8Array();
  #procedure: Uint8Array = new Uint8Array();

  constructor(image: Image) {
    this.#image = image;
    const { provenance } = image.description;
    this.#source = utf8(`${provenance.dataYear},${versionName(provenance)},`);
  }

  enter(row: number): void {
    const image = this.#image;
    const facility = image.facility[row];
    if (facility !== this.#facility) {
      this.#facility = facility;
      this.#head = fields(this.#source, facility, [image.ccn, image.facilityName, image.city, image.state]);
      this.#address = fields(utf8(","), facility, [
        image.street,
        image.zip,
        image.ruralUrbanCode,
        image.ruralUrbanDescription,
      ]);
    }
    const procedure = image.procedure[row];
    this.#procedures[procedure] ??= fields(utf8(""), procedure, [image.code, image.procedureName]);
    this.#procedure = this.#procedures[procedure];
  }

  /** Returns the length in bytes of a row's line. Call `enter` first. */
  length(row: number): number {
    const image = this.#image;
    const [charge, allowed] = [image.charge[row], image.allowed[row]];
    const status = statusOfRow(charge, allowed);
    const amounts = status === 0 ? hundredthsLength(charge) + hundredthsLength(allowed) : 0;
    const first = this.#head.length + this.#procedure.length + amounts + 2 + statusBytes[status].length;
    const further =
      countLength(image.services[row]) +
      countLength(image.beneficiaries[row]) +
      (image.payment[row] === blank ? 0 : hundredthsLength(image.payment[row])) +
      countLength(image.outlierServices[row]) +
      (image.outlierAmount[row] === blank ? 0 : hundredthsLength(image.outlierAmount[row]));
    return first + this.#address.length + further + 4 + lineEnd.length;
  }

  write(out: Uint8Array, start: number, row: number): number {
    const image = this.#image;
    const [charge, allowed] = [image.charge[row], image.allowed[row]];
    const status = statusOfRow(charge, allowed);
    let at = copy(out, start, this.#head);
    at = copy(out, at, this.#procedure);
    if (status === 0) at = writeHundredths(out, at, charge);
    out[at++] = comma;
    if (status === 0) at = writeHundredths(out, at, allowed);
    out[at++] = comma;
    at = copy(out, at, statusBytes[status]);
    at = copy(out, at, this.#address);
    at = writeCount(out, at, image.services[row]);
    out[at++] = comma;
    at = writeCount(out, at, image.beneficiaries[row]);
    out[at++] = comma;
    if (image.payment[row] !== blank) at = writeHundredths(out, at, image.payment[row]);
    out[at++] = comma;
    at = writeCount(out, at, image.outlierServices[row]);
    out[at++] = comma;
    if (image.outlierAmount[row] !== blank) at = writeHundredths(out, at, image.outlierAmount[row]);
    return copy(out, at, lineEnd);
  }
}

const countLength = (count: number) => (count === blank ? 0 : hundredthsLength(100 * count));

function writeCount(out: Uint8Array, at: number, count: number): number {
  // `writeHundredths` writes whole numbers without a point.
  return count === blank ? at : writeHundredths(out, at, 100 * count);
}

function copy(out: Uint8Array, at: number, bytes: Uint8Array): number {
  if (bytes.length >= minSetBytes) out.set(bytes, at);
  else for (let i = 0; i < bytes.length; i++) out[at + i] = bytes[i];
  return at + bytes.length;
}

/** Fields are written here first, because their length isn't known in advance. */
const draft = new Uint8Array(maxLineBytes);

function fields(start: Uint8Array, i: number, columns: readonly TextColumn[]): Uint8Array {
  let at = copy(draft, 0, start);
  for (const column of columns) {
    at = writeField(draft, at, column, i);
    draft[at++] = comma;
  }
  return draft.slice(0, at);
}

function writeField(out: Uint8Array, start: number, column: TextColumn, i: number): number {
  const { bytes, offsets } = column;
  let at = start;
  let isPlain = true;
  for (let from = offsets[i]; from < offsets[i + 1]; from++) {
    const byte = bytes[from];
    out[at++] = byte;
    isPlain &&= byte !== quote && byte !== comma && byte !== carriageReturn && byte !== lineFeed;
  }
  if (isPlain) return at;
  const quoted = utf8(`"${textAt(column, i).replaceAll('"', '""')}"`);
  out.set(quoted, start);
  return start + quoted.length;
}
