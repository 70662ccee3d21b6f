import {
  arrangeTable,
  blank,
  byField,
  ccnPattern,
  DataError,
  maxCents,
  maxCount,
  maxSnapshotRows,
  measureFields,
  type Provenance,
  procedureCodePattern,
  ruralUrbanCodePattern,
  shown,
  standardCaveat,
  stateNames,
  type TableParts,
  zipPattern,
} from "../../engine/index.ts";
import { columnNames, plain, requiredNames } from "./columns.ts";
import { isRounded, isTotal, orCode, orCount, orPlainNumber, orState } from "./hints.ts";
import { cleanName, Spellings } from "./names.ts";
import { suspicionsAbout } from "./plausibility.ts";

type Column = keyof typeof columnNames;
const amountColumns = ["charge", "allowed", "payment", "outlierAmount"] as const;
const countColumns = ["services", "beneficiaries", "outlierServices"] as const;
const addressColumns = ["street", "zip", "ruralUrbanCode", "ruralUrbanDescription"] as const;

/** A file with one of these columns, and without an allowed amount, has the layout of 2011–2015. */
const oldLayoutNames = ["providerid", "averageestimatedsubmittedcharges", "averagetotalpayments"];

/**
 * Describes the source of a CMS release. If the number of `facilities` is too low for a whole release, the caveat says so.
 */
export function cmsProvenance(
  dataYear: number,
  released: string | null,
  sourceUrl: string | null,
  sourceSha256: string,
  facilities: number,
): Omit<Provenance, "revision"> {
  return {
    dataYear,
    title: "Medicare Outpatient Hospitals - by Provider and Service",
    publisher: "Centers for Medicare & Medicaid Services",
    sourceUrl,
    sourceSha256,
    released,
    caveat: standardCaveat(dataYear, facilities),
  };
}

const amountPattern = /^([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]{1,4}))?$/;

/**
 * Parses dollars into cents, rounded half up. Rounding works on the decimal digits, because the floating-point value of
 * 1.005 is less than 1.005.
 *
 * @returns `blank` for nothing but white space; NaN for text that isn't a non-negative amount
 */
export function parseCents(text: string): number {
  const trimmed = text.trim();
  if (trimmed === "") return blank;
  const match = amountPattern.exec(trimmed);
  if (match === null) return Number.NaN;
  const [, whole, fraction = "", exponent = "0"] = match;
  const digits = whole + fraction;
  if (digits === "") return Number.NaN;
  // The digit after the cents decides the rounding.
  const centDigits = whole.length + Number(exponent) + 2;
  if (centDigits < 0) return 0;
  const padded = digits.padEnd(centDigits + 1, "0");
  return Number(padded.slice(0, centDigits)) + (padded[centDigits] >= "5" ? 1 : 0);
}

/** Spreadsheets may add zeros after a decimal point. */
const countPattern = /^([0-9]+)(?:\.0*)?$/;

/** Builds the table of a release. Call `add` for every row, then `finish` once. */
export class CmsTable {
  readonly #file: string;
  readonly #fields: number;
  readonly #named: number;
  readonly #at: Record<Column, number>;
  /** Number of fields of every row. It may differ from the header's only by unnamed columns at the end. */
  #width: number;

  readonly #ccns: string[] = [];
  readonly #names = new Spellings();
  readonly #cities = new Spellings();
  readonly #addresses = byField(addressColumns, () => new Spellings());
  readonly #states: { state: string; line: number }[] = [];
  readonly #procedures: TableParts["procedures"] = { code: [], name: [] };
  /** Positions by CCN. A CCN is a key both in upper case and as spelled in the file. */
  readonly #facilityIndex = new Map<string, number>();
  readonly #procedureIndex = new Map<string, number>();
  /** The first spelling of each procedure's name, with its line. A repetition of this spelling isn't cleaned again. */
  readonly #procedureText: { name: string; line: number }[] = [];

  readonly #facility: number[] = [];
  readonly #procedure: number[] = [];
  readonly #measures = byField(measureFields, (): number[] => []);
  readonly #line: number[] = [];

  /** @throws DataError if a required column is missing, a name occurs twice, or the layout is that of 2011–2015 */
  constructor(file: string, header: string[], line: number) {
    this.#file = file;
    this.#fields = header.length;
    this.#named = 1 + header.findLastIndex((name) => name.trim() !== "");
    this.#width = header.length;
    this.#at = findColumns(header, `${file} line ${line}`);
  }

  get rows(): number {
    return this.#line.length;
  }

  /**
   * @param line where the record starts
   * @throws DataError naming the line, and the column of a wrong value
   */
  add(record: string[], line: number): void {
    if (!this.#facilityIndex.has(record[this.#at.ccn])) this.#refuseTotal(record, line);
    this.#checkFields(record, line);
    if (this.rows === maxSnapshotRows)
      throw new DataError(`${this.#file} line ${line}`, "one row more", `at most ${maxSnapshotRows} rows`);
    this.#facility.push(this.#enterFacility(record, line));
    this.#procedure.push(this.#enterProcedure(record, line));
    for (const column of amountColumns) this.#measures[column].push(this.#amount(record, column, line));
    for (const column of countColumns) this.#measures[column].push(this.#count(record, column, line));
    this.#line.push(line);
  }

  /**
   * Makes the table, with rows in snapshot order. `severalNames` counts facilities with several names, cities or
   * addresses.
   *
   * @throws DataError if there is no row, no row is priced, or two rows have the same facility and procedure
   */
  finish(): { table: TableParts; severalNames: number; warnings: string[] } {
    if (this.rows === 0) throw new DataError(this.#file, "a header and no rows", "at least one row");
    const facility = Int32Array.from(this.#facility);
    const rowsOf = new Int32Array(this.#ccns.length);
    for (const position of facility) rowsOf[position]++;
    const facilities: TableParts["facilities"] = {
      ccn: this.#ccns,
      name: this.#names.commonest(rowsOf),
      city: this.#cities.commonest(rowsOf),
      state: this.#states.map(({ state }) => state),
      ...byField(addressColumns, (column) => this.#addresses[column].commonest(rowsOf)),
    };
    const { table, order } = arrangeTable({
      facilities,
      procedures: this.#procedures,
      rows: {
        facility,
        procedure: Int32Array.from(this.#procedure),
        ...byField(measureFields, (field) => Int32Array.from(this.#measures[field])),
      },
    });
    this.#refuseDuplicates(order);
    const { charge, allowed } = table.rows;
    if (!charge.some((cents, row) => cents > 0 && allowed[row] > 0))
      throw new DataError(
        this.#file,
        `no priced row among ${charge.length}`,
        `at least one with both ${columnNames.charge} and ${columnNames.allowed} above 0`,
      );
    const spellings = [this.#names, this.#cities, ...Object.values(this.#addresses)];
    return {
      table,
      severalNames: new Set(spellings.flatMap(({ several }) => several)).size,
      warnings: suspicionsAbout(table),
    };
  }

  get absentColumns(): string[] {
    const columns = Object.keys(columnNames) as Column[];
    return columns.filter((column) => this.#at[column] < 0).map((column) => columnNames[column]);
  }

  /** Refuses a row of totals. A pivot table has such rows between its other rows or at its end. */
  #refuseTotal(record: string[], line: number): void {
    const ccn = record[this.#at.ccn]?.trim() ?? "";
    const first = record.findIndex((field) => field.trim() !== "");
    // "Totals" has the form of a CCN.
    if ((ccnPattern.test(ccn) && !isTotal(ccn)) || !isTotal(record[first].trim())) return;
    throw new DataError(
      `${this.#file} line ${line}, field ${first + 1}`,
      `${shown(record[first])}, which begins a row of totals`,
      "rows of a facility and a procedure only; delete this row",
    );
  }

  /** Checks the number of fields. Unnamed columns at the end must be empty. */
  #checkFields(record: string[], line: number): void {
    let filled = record.length;
    while (filled > this.#named && record[filled - 1].trim() === "") filled--;
    if (this.rows === 0 && record.length >= this.#named && filled <= this.#named) this.#width = record.length;
    if (record.length !== this.#width)
      throw new DataError(
        `${this.#file} line ${line}`,
        `${record.length} ${record.length === 1 ? "field" : "fields"}`,
        `${this.#width} as in the ${this.#width === this.#fields ? "header" : "first row"}; ${this.#adviceOnFields(record)}`,
      );
    if (filled > this.#named)
      throw new DataError(
        `${this.#file} line ${line}, field ${filled}`,
        shown(record[filled - 1]),
        "nothing in a column without a name",
      );
  }

  #adviceOnFields(record: string[]): string {
    if (record.filter((field) => field.trim() !== "").length === 1)
      return "delete the line if it is a title or a note";
    return record.length > this.#width
      ? "put a text that has a comma in quotes, and delete fields that belong to no column"
      : "take the row from CMS's file; a line break may have cut it, or a field is missing";
  }

  /**
   * Refuses rows with the same facility and procedure. The error names the first duplicate in the file.
   *
   * @param order positions of the rows; duplicates are side by side, in the order of the file
   */
  #refuseDuplicates(order: Uint32Array): void {
    const [facility, procedure] = [this.#facility, this.#procedure];
    let second = -1;
    for (let row = 1; row < order.length; row++) {
      const [one, other] = [order[row], order[row - 1]];
      const same = facility[one] === facility[other] && procedure[one] === procedure[other];
      if (same && (second === -1 || order[row] < order[second])) second = row;
    }
    if (second === -1) return;
    const lines = this.#line;
    const key = `${this.#ccns[facility[order[second]]]} and ${this.#procedures.code[procedure[order[second]]]}`;
    throw new DataError(
      `${this.#file} line ${lines[order[second]]}, columns ${columnNames.ccn} and ${columnNames.code}`,
      `${key} a second time`,
      `each pair once (it is on line ${lines[order[second - 1]]})`,
    );
  }

  #enterFacility(record: string[], line: number): number {
    const facility = this.#facilityOf(record, line);
    this.#names.enter(facility, record[this.#at.facility], (text) => this.#name(text, "facility", line));
    this.#cities.enter(facility, record[this.#at.city], (text) => this.#name(text, "city", line));
    for (const column of addressColumns)
      this.#addresses[column].enter(facility, this.#cell(record, column), (text) =>
        this.#addressPart(text, column, line),
      );
    const text = record[this.#at.state];
    const known = this.#states[facility];
    if (text === known?.state) return facility;
    const state = text.trim().toUpperCase();
    if (!Object.hasOwn(stateNames, state))
      this.#refuse(line, "state", shown(text), orState("a known two-letter state code", text.trim()));
    if (known === undefined) this.#states.push({ state, line });
    else if (state !== known.state)
      this.#refuse(
        line,
        "state",
        `${shown(text)} for ${this.#ccns[facility]}`,
        `${shown(known.state)} as on line ${known.line}`,
      );
    return facility;
  }

  #facilityOf(record: string[], line: number): number {
    const text = record[this.#at.ccn];
    const known = this.#facilityIndex.get(text);
    if (known !== undefined) return known;
    const ccn = text.trim().toUpperCase();
    if (!ccnPattern.test(ccn))
      this.#refuse(line, "ccn", shown(text), orCode("six letters or digits", ccn, 6));
    const facility = this.#facilityIndex.get(ccn) ?? this.#ccns.push(ccn) - 1;
    this.#facilityIndex.set(ccn, facility).set(text, facility);
    return facility;
  }

  #enterProcedure(record: string[], line: number): number {
    const code = record[this.#at.code].trim();
    const known = this.#procedureIndex.get(code);
    if (known !== undefined && this.#procedureText[known].name === record[this.#at.procedure]) return known;
    if (!procedureCodePattern.test(code))
      this.#refuse(line, "code", shown(code), orCode("four digits", code, 4));
    const name = this.#name(record[this.#at.procedure], "procedure", line);
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

  #name(text: string, column: Column, line: number): string {
    const name = cleanName(text);
    if (typeof name !== "string") this.#refuse(line, column, name.found, name.expected);
    return name;
  }

  #cell(record: string[], column: Column): string {
    return this.#at[column] < 0 ? "" : record[this.#at[column]];
  }

  #addressPart(text: string, column: (typeof addressColumns)[number], line: number): string {
    const trimmed = text.trim();
    if (trimmed === "") return "";
    if (column === "zip") {
      if (!zipPattern.test(trimmed))
        this.#refuse(line, column, shown(text), orCode("five digits, or nothing", trimmed, 5, true));
      return trimmed;
    }
    if (column === "ruralUrbanCode") {
      const code = trimmed.replace(/\.0$/, "");
      if (!ruralUrbanCodePattern.test(code))
        this.#refuse(
          line,
          column,
          shown(text),
          orCode("a RUCA code such as 1 or 4.1, or nothing", trimmed, 1, true),
        );
      return code;
    }
    // Addresses may contain line breaks.
    return this.#name(trimmed.replace(/[\t\r\n ]+/g, " "), column, line);
  }

  #count(record: string[], column: Column, line: number): number {
    const text = this.#cell(record, column);
    const trimmed = text.trim();
    if (trimmed === "") return blank;
    const count = Number(countPattern.exec(trimmed)?.[1] ?? Number.NaN);
    if (Number.isNaN(count))
      this.#refuse(line, column, shown(text), orCount("a whole number such as 41, or nothing", trimmed));
    if (count > maxCount) this.#refuse(line, column, shown(text), `at most ${maxCount}`);
    return count;
  }

  #amount(record: string[], column: Column, line: number): number {
    const text = this.#cell(record, column);
    const cents = parseCents(text);
    if (Number.isNaN(cents) || isRounded(text.trim()))
      this.#refuse(
        line,
        column,
        shown(text),
        orPlainNumber("an amount in dollars such as 1234.56, or nothing", text.trim()),
      );
    if (cents > maxCents) this.#refuse(line, column, shown(text), `at most ${(maxCents / 100).toFixed(2)}`);
    return cents;
  }

  #refuse(line: number, column: Column, found: string, expected: string): never {
    throw new DataError(`${this.#file} line ${line}, column ${columnNames[column]}`, found, expected);
  }
}

const maxNamed = 5;

function adviceOnHeader(header: string[], missing: string[]): string {
  if (missing.length === Object.keys(requiredNames).length) return "; this line may not be the header";
  const known = Object.values(columnNames).map(plain);
  const others = header.filter((name) => name.trim() !== "" && !known.includes(plain(name)));
  if (others.length === 0) return "; take CMS's file, because a column was deleted";
  const named = others.slice(0, maxNamed).map((name) => shown(name.trim()));
  return `; if a column was renamed, give it its name back (CMS doesn't use ${named.join(", ")}${others.length > maxNamed ? ", …" : ""})`;
}

/** Returns the position of each column, or −1 for a missing optional column. */
function findColumns(header: string[], subject: string): Record<Column, number> {
  const names = header.map(plain);
  const missing = Object.values(requiredNames).filter((name) => !names.includes(plain(name)));
  const isOld = missing.length > 0 && oldLayoutNames.some((name) => names.includes(name));
  if (isOld && !names.some((name) => /allowed|alowd/.test(name)))
    throw new DataError(
      subject,
      "the layout of the 2011–2015 files, which is not supported",
      `the layout of 2016 and later, with the columns ${columnNames.ccn} and ${columnNames.code}`,
    );
  const twice = names.findIndex((name, i) => name !== "" && names.indexOf(name) < i);
  if (twice !== -1)
    throw new DataError(subject, `column ${shown(header[twice].trim())} twice`, "each column once");

  if (missing.length > 0)
    throw new DataError(
      subject,
      `a header without ${missing.join(", ")}`,
      `the columns of the CMS file by Provider and Service${isOld ? ", as CMS publishes it now; rename older ones" : adviceOnHeader(header, missing)}`,
    );
  const columns = Object.keys(columnNames) as Column[];
  return byField(columns, (column) => names.indexOf(plain(columnNames[column])));
}
