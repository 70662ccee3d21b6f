import * as v from "valibot";
import { DataError, jsonIn, shown } from "../errors.ts";
import type { ParquetFooter, RowGroup } from "./footer.ts";
import { guarded, snapshotHead } from "./head.ts";
import { type ColumnValues, type PlainType, plainInt32, plainText, readColumn } from "./pages.ts";
import {
  blank,
  byField,
  ccnPattern,
  type FacilityField,
  facilityFields,
  hcpcsPattern,
  maxNameCharacters,
  maxStatusCharacters,
  measureFields,
  procedureCodePattern,
  ruralUrbanCodePattern,
  snapshotColumns,
  stateNames,
  zipPattern,
} from "./schema.ts";
import { type Snapshot, sealSnapshot } from "./snapshot.ts";
import { ascending, makeTable, partsOf, ranked, type SnapshotTable, type TableParts } from "./table.ts";

/**
 * Reads and verifies a snapshot file, one column of a row group at a time, so that memory stays within `loadNeed`.
 *
 * @param onRows called after each row group with the number of rows read so far
 * @throws DataError when the file isn't a sound snapshot
 */
export function decodeSnapshot(file: Uint8Array, subject: string, onRows?: (rows: number) => void): Snapshot {
  const { footer, metadata } = snapshotHead(file, subject);
  const table = readTable(file, footer, metadata.rows, subject, onRows);
  const provenance = {
    dataYear: metadata.data_year,
    revision: metadata.revision,
    title: metadata.title,
    publisher: metadata.publisher,
    sourceUrl: metadata.source_url === "" ? null : metadata.source_url,
    released: metadata.released === "" ? null : metadata.released,
    caveat: metadata.caveat,
    sourceSha256: metadata.source_sha256 ?? null,
  };
  const snapshot = sealSnapshot(table, provenance, codesIn(metadata.hcpcs_codes, table, subject));
  const { counts, sha256, contentSha256 } = snapshot;
  const agree = (what: string, found: string | number, expected: string | number) => {
    if (found !== expected)
      throw new DataError(`${subject}: ${what}`, String(found), `${expected} as in its metadata`);
  };
  agree("rows", counts.rows, metadata.rows);
  agree("pricedRows", counts.pricedRows, metadata.priced_rows);
  agree("suppressedRows", counts.suppressedRows, metadata.suppressed_rows);
  agree("incompleteRows", counts.incompleteRows, metadata.incomplete_rows);
  agree("facilities", counts.facilities, metadata.facilities);
  agree("procedures", counts.procedures, metadata.procedures);
  agree("checksum of the content", sha256, metadata.sha256);
  agree("checksum of the rows", contentSha256, metadata.content_sha256 ?? contentSha256);
  return snapshot;
}

const codesSchema = v.array(
  v.strictTuple([
    v.pipe(v.string(), v.regex(hcpcsPattern)),
    v.pipe(v.string(), v.regex(procedureCodePattern)),
    v.pipe(v.string(), v.maxLength(maxStatusCharacters)),
    v.pipe(v.string(), v.maxLength(maxNameCharacters)),
  ]),
);

/** The codes must ascend and belong to procedures of the table. */
function codesIn(text: string | undefined, table: SnapshotTable, subject: string): Snapshot["codes"] {
  if (text === undefined) return null;
  const part = `${subject}: metadata hcpcs_codes`;
  const parsed = v.safeParse(codesSchema, jsonIn(text, part, "a list of codes"), { abortEarly: true });
  if (!parsed.success)
    throw new DataError(part, `a fault at ${v.getDotPath(parsed.issues[0])}`, "a list of codes");
  const procedures = new Set(partsOf(table).procedures.code);
  return parsed.output.map(([code, procedure, status, description], i) => {
    if (i > 0 && code <= parsed.output[i - 1][0])
      throw new DataError(part, `${code} after ${parsed.output[i - 1][0]}`, "each code once, ascending");
    if (!procedures.has(procedure))
      throw new DataError(
        part,
        `code ${code} of the procedure ${procedure}`,
        "codes of procedures in the snapshot",
      );
    return { code, procedure, status, description };
  });
}

function readTable(
  file: Uint8Array,
  footer: ParquetFooter,
  length: number,
  subject: string,
  onRows?: (rows: number) => void,
): SnapshotTable {
  const rows: TableParts["rows"] = {
    facility: new Int32Array(length),
    procedure: new Int32Array(length),
    ...byField(measureFields, () => new Int32Array(length)),
  };
  const facilities: TableParts["facilities"] = byField(facilityFields, () => []);
  const procedures: TableParts["procedures"] = { code: [], name: [] };
  const procedureIndex = new Map<string, number>();
  let filled = 0;
  for (const group of footer.groups) {
    const { texts, numbers } = groupReader(file, footer, group, subject);
    const described = snapshotColumns.flatMap(({ part, field, name }) =>
      part === "facilities" ? [{ field, ...texts(name, !isRequired(field)) }] : [],
    );
    const code = texts("procedure_code", false);
    const label = texts("procedure_name", false);
    for (const { part, field, name } of snapshotColumns)
      if (part === "rows") numbers(name, rows[field].subarray(filled));

    const known: number[] = [];
    let facility = facilities.ccn.length - 1;
    for (let i = 0; i < group.rows; i++) {
      if (i === 0 || differs(described, i)) {
        const next = byField(facilityFields, () => "");
        for (const { field, codes, values } of described) next[field] = codes[i] < 0 ? "" : values[codes[i]];
        facility = enterFacility(facilities, next, subject);
      }
      rows.facility[filled + i] = facility;

      const coded = code.codes[i];
      known[coded] ??= enterProcedure(
        procedures,
        procedureIndex,
        code.values[coded],
        label.values[label.codes[i]],
      );
      const procedure = known[coded];
      const name = label.values[label.codes[i]];
      if (name !== procedures.name[procedure])
        throw new DataError(
          `${subject}: name of procedure ${shown(code.values[coded])}`,
          shown(name),
          shown(procedures.name[procedure]),
        );
      rows.procedure[filled + i] = procedure;
    }
    filled += group.rows;
    onRows?.(filled);
  }
  const order = ascending(procedures.code);
  const parts = {
    facilities,
    procedures: {
      code: order.map((i) => procedures.code[i]),
      name: order.map((i) => procedures.name[i]),
    },
    rows: { ...rows, procedure: ranked(rows.procedure, order) },
  };
  checkKeys(parts, subject);
  return makeTable(parts);
}

const isRequired = (field: FacilityField) => ["ccn", "name", "city", "state"].includes(field);

function differs(columns: readonly ColumnValues<string>[], row: number): boolean {
  for (const { codes } of columns) if (codes[row] !== codes[row - 1]) return true;
  return false;
}

function groupReader(file: Uint8Array, { columns, groups }: ParquetFooter, group: RowGroup, subject: string) {
  const ofGroup = groups.length > 1 ? ` of row group ${groups.indexOf(group) + 1}` : "";
  const read = <Value>(name: string, type: PlainType<Value>) => {
    const at = columns.findIndex((column) => column.name === name);
    return guarded(subject, `column ${name}${ofGroup}`, () =>
      readColumn(file, group.chunks[at], group.rows, columns[at].isOptional, type),
    );
  };
  return {
    texts(name: string, mayBeAbsent: boolean): ColumnValues<string> {
      const column = read(name, plainText);
      if (!mayBeAbsent && column.codes.includes(-1))
        throw new DataError(`${subject}: column ${name}`, "an absent value", "text");
      const long = column.values.find(({ length }) => length > maxNameCharacters)?.length;
      if (long !== undefined)
        throw new DataError(
          `${subject}: column ${name}`,
          `${long} characters`,
          `at most ${maxNameCharacters}`,
        );
      return column;
    },
    numbers(name: string, into: Int32Array): void {
      const { codes, values } = read(name, plainInt32);
      const negative = values.find((value) => value < 0);
      if (negative !== undefined)
        throw new DataError(`${subject}: ${name}`, String(negative), "no negative number");
      for (let i = 0; i < codes.length; i++) into[i] = codes[i] < 0 ? blank : values[codes[i]];
    },
  };
}

const facilityPatterns: [field: FacilityField, what: string, pattern: RegExp, expected: string][] = [
  ["zip", "ZIP code", zipPattern, "five digits"],
  ["ruralUrbanCode", "RUCA code", ruralUrbanCodePattern, "a code such as 1 or 4.1"],
];

function enterFacility(
  facilities: TableParts["facilities"],
  next: Record<FacilityField, string>,
  subject: string,
): number {
  const { ccn, state } = next;
  const last = facilities.ccn.length - 1;
  if (last >= 0 && facilities.ccn[last] === ccn) {
    for (const { name, part, field } of snapshotColumns)
      if (part === "facilities" && next[field] !== facilities[field][last])
        throw new DataError(
          `${subject}: ${name} of ${ccn}`,
          shown(next[field]),
          shown(facilities[field][last]),
        );
    return last;
  }
  if (last >= 0 && ccn < facilities.ccn[last])
    throw new DataError(`${subject}: order of CCNs`, shown(ccn), `a CCN after ${facilities.ccn[last]}`);
  if (!ccnPattern.test(ccn)) throw new DataError(`${subject}: CCN`, shown(ccn), "six letters or digits");
  if (!Object.hasOwn(stateNames, state))
    throw new DataError(`${subject}: state of ${ccn}`, shown(state), "a known state code");
  for (const [field, what, pattern, expected] of facilityPatterns)
    if (next[field] !== "" && !pattern.test(next[field]))
      throw new DataError(`${subject}: ${what} of ${ccn}`, shown(next[field]), expected);
  for (const field of facilityFields) facilities[field].push(next[field]);
  return last + 1;
}

function enterProcedure(
  procedures: TableParts["procedures"],
  index: Map<string, number>,
  code: string,
  name: string,
): number {
  const known = index.get(code);
  if (known !== undefined) return known;
  index.set(code, procedures.code.length);
  procedures.code.push(code);
  procedures.name.push(name);
  return procedures.code.length - 1;
}

function checkKeys({ facilities, procedures, rows }: TableParts, subject: string): void {
  for (const code of procedures.code)
    if (!procedureCodePattern.test(code))
      throw new DataError(`${subject}: procedure code`, shown(code), "four digits");
  for (let row = 1; row < rows.facility.length; row++) {
    if (rows.facility[row] !== rows.facility[row - 1] || rows.procedure[row] > rows.procedure[row - 1])
      continue;
    const key = `${facilities.ccn[rows.facility[row]]} and ${procedures.code[rows.procedure[row]]}`;
    throw new DataError(
      `${subject}: rows`,
      `${key} twice or out of order`,
      "each CCN and procedure once, in order",
    );
  }
}
