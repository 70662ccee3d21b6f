import {
  arrange,
  blank,
  ccnPattern,
  DataError,
  type Facilities,
  maxCents,
  maxNameCharacters,
  maxSnapshotRows,
  type Procedures,
  type Provenance,
  procedureCodePattern,
  type SnapshotContent,
  shown,
  stateNames,
} from "../engine/index.ts";

/** The columns that are read, in the spelling of the 2023 release; files are matched in any case and order. */
const columnNames = {
  ccn: "Rndrng_Prvdr_CCN",
  facility: "Rndrng_Prvdr_Org_Name",
  city: "Rndrng_Prvdr_City",
  state: "Rndrng_Prvdr_State_Abrvtn",
  code: "APC_Cd",
  procedure: "APC_Desc",
  charge: "Avg_Tot_Sbmtd_Chrgs",
  allowed: "Avg_Mdcr_Alowd_Amt",
} as const;
type Column = keyof typeof columnNames;

/** Any of these, letters and digits only, marks the layout of 2011–2015. */
const oldLayoutNames = ["providerid", "averageestimatedsubmittedcharges", "averagetotalpayments"];

/** Longest name of a facility, city or procedure; CMS's have about 100. */

/** What a snapshot of a CMS release says of itself. */
export function cmsProvenance(
  dataYear: number,
  released: string | null,
  sourceUrl: string | null,
): Omit<Provenance, "revision"> {
  return {
    dataYear,
    title: "Medicare Outpatient Hospitals - by Provider and Service",
    publisher: "Centers for Medicare & Medicaid Services",
    sourceUrl,
    sourceSha256: null,
    released,
    caveat:
      `Averages per hospital and comprehensive APC for Original Medicare in calendar year ${dataYear}; ` +
      "submitted charges are list prices, not what patients pay. " +
      "CMS suppresses the amounts of rows with 10 or fewer services, which take no part in any figure.",
  };
}

const amountPattern = /^([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]{1,4}))?$/;

/**
 * Dollars in plain decimal text as cents, rounded once, half up. It works on the digits: 1.005 is 101 cents here,
 * though the nearest binary number lies below it.
 *
 * @returns `blank` for white space only, NaN for anything else that is not an amount of 0 or more. The result can be
 *   larger than `maxCents` and is inexact then.
 */
export function parseCents(text: string): number {
  const trimmed = text.trim();
  if (trimmed === "") return blank;
  const match = amountPattern.exec(trimmed);
  if (match === null) return Number.NaN;
  const [, whole, fraction = "", exponent = "0"] = match;
  const digits = whole + fraction;
  if (digits === "") return Number.NaN;
  // So many digits are whole cents, and the one after them alone decides the rounding.
  const centDigits = whole.length + Number(exponent) + 2;
  if (centDigits < 0) return 0;
  const padded = digits.padEnd(centDigits + 1, "0");
  return Number(padded.slice(0, centDigits)) + (padded[centDigits] >= "5" ? 1 : 0);
}

/** Integers of a column as they come in. The buffer doubles, so a row costs at most 8 bytes of it. */
class GrowingColumn {
  #values = new Int32Array(1024);
  length = 0;

  push(value: number): void {
    if (this.length === this.#values.length)
      this.#values = new Int32Array(this.#values.buffer.transfer(this.#values.byteLength * 2));
    this.#values[this.length++] = value;
  }

  values(): Int32Array {
    return this.#values.subarray(0, this.length);
  }
}

/** One release, row by row: a header first, then `add` for every row, then `finish` once. */
export class CmsTable {
  readonly #file: string;
  readonly #fields: number;
  readonly #at: Record<Column, number>;

  readonly #facilities: Facilities = { ccn: [], name: [], city: [], state: [] };
  readonly #procedures: Procedures = { code: [], name: [] };
  readonly #facilityIndex = new Map<string, number>();
  readonly #procedureIndex = new Map<string, number>();
  /** As first read, so that a row that repeats it needs no cleaning; and the line it came from. */
  readonly #facilityText: { name: string; city: string; line: number }[] = [];
  readonly #procedureText: { name: string; line: number }[] = [];

  readonly #facility = new GrowingColumn();
  readonly #procedure = new GrowingColumn();
  readonly #charge = new GrowingColumn();
  readonly #allowed = new GrowingColumn();
  readonly #line = new GrowingColumn();

  /**
   * @param file what to call the file in errors
   * @throws DataError if a column is missing or named twice, or the layout is that of 2011–2015
   */
  constructor(file: string, header: string[], line: number) {
    this.#file = file;
    this.#fields = header.length;
    this.#at = findColumns(header, `${file} line ${line}`);
  }

  get rows(): number {
    return this.#line.length;
  }

  /**
   * @param record all fields of the row
   * @param line where the record starts
   * @throws DataError naming line and column
   */
  add(record: string[], line: number): void {
    if (record.length !== this.#fields)
      throw new DataError(
        `${this.#file} line ${line}`,
        `${record.length} ${record.length === 1 ? "field" : "fields"}`,
        `${this.#fields} as in the header`,
      );
    if (this.rows === maxSnapshotRows)
      throw new DataError(`${this.#file} line ${line}`, "one row more", `at most ${maxSnapshotRows} rows`);
    this.#facility.push(this.#enterFacility(record, line));
    this.#procedure.push(this.#enterProcedure(record, line));
    this.#charge.push(this.#amount(record, "charge", line));
    this.#allowed.push(this.#amount(record, "allowed", line));
    this.#line.push(line);
  }

  /**
   * @returns the rows in snapshot order
   * @throws DataError if there are no rows, or two for one facility and procedure
   */
  finish(provenance: Provenance): SnapshotContent {
    if (this.rows === 0) throw new DataError(this.#file, "a header and no rows", "at least one row");
    const { content, order } = arrange({
      provenance,
      facilities: this.#facilities,
      procedures: this.#procedures,
      rows: {
        facility: this.#facility.values(),
        procedure: this.#procedure.values(),
        charge: this.#charge.values(),
        allowed: this.#allowed.values(),
      },
    });
    this.#refuseDuplicates(content, order);
    return content;
  }

  /** Equal keys stand side by side, in the order of the file. Of several pairs the first in the file is named. */
  #refuseDuplicates({ facilities, procedures, rows }: SnapshotContent, order: Uint32Array): void {
    let second = -1;
    for (let row = 1; row < order.length; row++) {
      const same =
        rows.facility[row] === rows.facility[row - 1] && rows.procedure[row] === rows.procedure[row - 1];
      if (same && (second === -1 || order[row] < order[second])) second = row;
    }
    if (second === -1) return;
    const lines = this.#line.values();
    const key = `${facilities.ccn[rows.facility[second]]} and ${procedures.code[rows.procedure[second]]}`;
    throw new DataError(
      `${this.#file} line ${lines[order[second]]}, columns ${columnNames.ccn} and ${columnNames.code}`,
      `${key} a second time`,
      `each pair once (it is on line ${lines[order[second - 1]]})`,
    );
  }

  #enterFacility(record: string[], line: number): number {
    const ccn = record[this.#at.ccn];
    const state = record[this.#at.state];
    const known = this.#facilityIndex.get(ccn);
    if (known !== undefined) {
      const text = this.#facilityText[known];
      if (
        text.name === record[this.#at.facility] &&
        text.city === record[this.#at.city] &&
        this.#facilities.state[known] === state
      )
        return known;
    }
    if (!ccnPattern.test(ccn)) this.#refuse(line, "ccn", shown(ccn), "six letters or digits");
    const name = this.#name(record, "facility", line);
    const city = this.#name(record, "city", line);
    if (!Object.hasOwn(stateNames, state))
      this.#refuse(line, "state", shown(state), "a known two-letter state code");

    if (known !== undefined) {
      const first = `as on line ${this.#facilityText[known].line}`;
      const differs = (column: Column, found: string, expected: string) => {
        if (found !== expected)
          this.#refuse(line, column, `${shown(found)} for ${ccn}`, `${shown(expected)} ${first}`);
      };
      differs("facility", name, this.#facilities.name[known]);
      differs("city", city, this.#facilities.city[known]);
      differs("state", state, this.#facilities.state[known]);
      return known;
    }
    const index = this.#facilities.ccn.length;
    this.#facilityIndex.set(ccn, index);
    this.#facilityText.push({ name: record[this.#at.facility], city: record[this.#at.city], line });
    this.#facilities.ccn.push(ccn);
    this.#facilities.name.push(name);
    this.#facilities.city.push(city);
    this.#facilities.state.push(state);
    return index;
  }

  #enterProcedure(record: string[], line: number): number {
    const code = record[this.#at.code];
    const known = this.#procedureIndex.get(code);
    if (known !== undefined && this.#procedureText[known].name === record[this.#at.procedure]) return known;
    if (!procedureCodePattern.test(code)) this.#refuse(line, "code", shown(code), "four digits");
    const name = this.#name(record, "procedure", line);
    if (known !== undefined) {
      const expected = this.#procedures.name[known];
      const first = `as on line ${this.#procedureText[known].line}`;
      if (name !== expected)
        this.#refuse(line, "procedure", `${shown(name)} for ${code}`, `${shown(expected)} ${first}`);
      return known;
    }
    const index = this.#procedures.code.length;
    this.#procedureIndex.set(code, index);
    this.#procedureText.push({ name: record[this.#at.procedure], line });
    this.#procedures.code.push(code);
    this.#procedures.name.push(name);
    return index;
  }

  /** A name as it is served: trimmed, runs of spaces folded to one, otherwise as written. */
  #name(record: string[], column: Column, line: number): string {
    const text = record[this.#at[column]];
    const control = /\p{Cc}/u.exec(text)?.[0].charCodeAt(0);
    if (control !== undefined) {
      const code = control.toString(16).toUpperCase().padStart(4, "0");
      this.#refuse(line, column, `the control character U+${code}`, "printable text");
    }
    const name = text.trim().replace(/ {2,}/g, " ");
    if (name === "") this.#refuse(line, column, "nothing", "a name");
    if (name.length > maxNameCharacters)
      this.#refuse(line, column, `${name.length} characters`, `at most ${maxNameCharacters}`);
    return name;
  }

  #amount(record: string[], column: Column, line: number): number {
    const text = record[this.#at[column]];
    const cents = parseCents(text);
    if (Number.isNaN(cents))
      this.#refuse(line, column, shown(text), "an amount in dollars such as 1234.56, or nothing");
    if (cents > maxCents) this.#refuse(line, column, shown(text), `at most ${(maxCents / 100).toFixed(2)}`);
    return cents;
  }

  #refuse(line: number, column: Column, found: string, expected: string): never {
    throw new DataError(`${this.#file} line ${line}, column ${columnNames[column]}`, found, expected);
  }
}

function findColumns(header: string[], subject: string): Record<Column, number> {
  const names = header.map((name) => name.trim().toLowerCase());
  const letters = names.map((name) => name.replace(/[^a-z0-9]/g, ""));
  if (oldLayoutNames.some((name) => letters.includes(name)))
    throw new DataError(
      subject,
      "the layout of the 2011–2015 files, which is not supported",
      `the layout of 2016 and later, with the columns ${columnNames.ccn} and ${columnNames.code}`,
    );
  const twice = names.findIndex((name, i) => name !== "" && names.indexOf(name) < i);
  if (twice !== -1)
    throw new DataError(subject, `column ${shown(header[twice].trim())} twice`, "each column once");

  const missing = Object.values(columnNames).filter((name) => !names.includes(name.toLowerCase()));
  if (missing.length > 0)
    throw new DataError(
      subject,
      `a header without ${missing.join(", ")}`,
      "the columns of the CMS file by Provider and Service",
    );
  const at = (column: Column) => names.indexOf(columnNames[column].toLowerCase());
  return {
    ccn: at("ccn"),
    facility: at("facility"),
    city: at("city"),
    state: at("state"),
    code: at("code"),
    procedure: at("procedure"),
    charge: at("charge"),
    allowed: at("allowed"),
  };
}
