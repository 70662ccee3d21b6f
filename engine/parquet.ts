import * as arrow from "apache-arrow";
import * as parquet from "parquet-wasm";
import * as v from "valibot";
import { validity } from "./arrow.ts";
import { DataError, shown } from "./errors.ts";
import { type ParquetFooter, readParquetFooter } from "./footer.ts";
import {
  amountColumns,
  blank,
  type Counts,
  ccnPattern,
  columnBytesAllowance,
  maxColumnBytesPerRow,
  maxImageRows,
  maxNameCharacters,
  maxSnapshotFileBytes,
  maxSnapshotRows,
  metadataSchema,
  procedureCodePattern,
  schemaVersion,
  stateNames,
  stringColumns,
} from "./schema.ts";
import {
  ascending,
  checksum,
  contentChecksum,
  countRows,
  type Facilities,
  type Procedures,
  type Rows,
  ranked,
  type Snapshot,
  type SnapshotContent,
} from "./snapshot.ts";

/** A snapshot as a Parquet file: zstd, dictionary-coded strings, `null` for blank amounts, metadata in the footer. */
export function encodeSnapshot(snapshot: Snapshot): Uint8Array {
  const { provenance, counts, facilities, procedures, rows } = snapshot;
  const table = new arrow.Table({
    ccn: dictionaryVector(rows.facility, facilities.ccn),
    facility: dictionaryVector(rows.facility, facilities.name),
    city: dictionaryVector(rows.facility, facilities.city),
    state: dictionaryVector(rows.facility, facilities.state),
    procedure_code: dictionaryVector(rows.procedure, procedures.code),
    procedure_name: dictionaryVector(rows.procedure, procedures.name),
    submitted_charge_cents: amountVector(rows.charge),
    medicare_allowed_cents: amountVector(rows.allowed),
  });
  const metadata: Record<string, string> = {
    schema_version: String(schemaVersion),
    data_year: String(provenance.dataYear),
    revision: String(provenance.revision),
    title: provenance.title,
    publisher: provenance.publisher,
    source_url: provenance.sourceUrl ?? "",
    released: provenance.released ?? "",
    caveat: provenance.caveat,
    rows: String(counts.rows),
    priced_rows: String(counts.pricedRows),
    suppressed_rows: String(counts.suppressedRows),
    incomplete_rows: String(counts.incompleteRows),
    facilities: String(counts.facilities),
    procedures: String(counts.procedures),
    sha256: snapshot.sha256,
    content_sha256: snapshot.contentSha256,
    ...(provenance.sourceSha256 === null ? {} : { source_sha256: provenance.sourceSha256 }),
  } satisfies v.InferInput<typeof metadataSchema>;
  const properties = new parquet.WriterPropertiesBuilder()
    .setCompression(parquet.Compression.ZSTD)
    .setStatisticsEnabled(parquet.EnabledStatistics.None)
    .setCreatedBy("healthcare-charge-query-service")
    .setKeyValueMetadata(new Map(Object.entries(metadata)))
    .build();
  return parquet.writeParquet(parquet.Table.fromIPCStream(arrow.tableToIPC(table, "stream")), properties);
}

/** Arrow's IPC writer drops a buffer that two columns share, so every column gets a copy of its own. */
function dictionaryVector(codes: Int32Array, values: string[]) {
  return arrow.makeVector(
    arrow.makeData({
      type: new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32()),
      length: codes.length,
      nullCount: 0,
      data: codes.slice(),
      dictionary: arrow.vectorFromArray(values, new arrow.Utf8()),
    }),
  );
}

function amountVector(amounts: Int32Array) {
  const { nullBitmap, nullCount } = validity(amounts);
  return arrow.makeVector(
    arrow.makeData({
      type: new arrow.Int32(),
      length: amounts.length,
      nullCount,
      nullBitmap,
      data: amounts.slice(),
    }),
  );
}

/**
 * Reads and verifies a snapshot file. The footer is read first, and nothing is decompressed that it says is too large.
 *
 * @param bytes the whole Parquet file
 * @param subject what to call it in errors, usually the file's name
 * @param onRows told how many rows are read so far, a row group at a time
 * @throws DataError whatever is wrong with it
 */
export function decodeSnapshot(
  bytes: Uint8Array,
  subject: string,
  onRows?: (rows: number) => void,
): Snapshot {
  const footer = readFooter(bytes, subject);
  const metadata = checkedMetadata(footer, subject);
  checkSizes(footer, metadata.rows, metadata.priced_rows, subject);
  const content: SnapshotContent = {
    provenance: {
      dataYear: metadata.data_year,
      revision: metadata.revision,
      title: metadata.title,
      publisher: metadata.publisher,
      sourceUrl: metadata.source_url === "" ? null : metadata.source_url,
      released: metadata.released === "" ? null : metadata.released,
      caveat: metadata.caveat,
      sourceSha256: metadata.source_sha256 ?? null,
    },
    ...readColumns(bytes, footer, metadata.rows, subject, onRows),
  };
  checkKeys(content, subject);
  const counts = countRows(content);
  const promised: Counts = {
    rows: metadata.rows,
    pricedRows: metadata.priced_rows,
    suppressedRows: metadata.suppressed_rows,
    incompleteRows: metadata.incomplete_rows,
    facilities: metadata.facilities,
    procedures: metadata.procedures,
  };
  for (const name of Object.keys(promised) as (keyof Counts)[]) {
    if (counts[name] !== promised[name])
      throw new DataError(
        `${subject}: ${name}`,
        String(counts[name]),
        `${promised[name]} as in its metadata`,
      );
  }
  const sha256 = checksum(content, counts);
  const contentSha256 = contentChecksum(content, counts);
  const agree = (what: string, found: string, expected: string) => {
    if (found !== expected)
      throw new DataError(`${subject}: ${what}`, found, `${expected} as in its metadata`);
  };
  agree("checksum of the content", sha256, metadata.sha256);
  agree("checksum of the rows", contentSha256, metadata.content_sha256 ?? contentSha256);
  return { ...content, counts, sha256, contentSha256 };
}

/** Wraps what a library throws at a damaged file; its own words tell an operator little, so they come last. */
function guarded<T>(subject: string, part: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof DataError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new DataError(`${subject}: ${part}`, `damage (${reason.slice(0, 120)})`, "a readable snapshot");
  }
}

function readFooter(bytes: Uint8Array, subject: string): ParquetFooter {
  if (bytes.length > maxSnapshotFileBytes)
    throw new DataError(`${subject}: size`, `${bytes.length} bytes`, `at most ${maxSnapshotFileBytes}`);
  if (Buffer.from(bytes.subarray(0, 4)).toString("latin1") !== "PAR1")
    throw new DataError(
      subject,
      bytes.length === 0 ? "an empty file" : "no Parquet file",
      "a Parquet snapshot",
    );
  return guarded(subject, "footer", () => readParquetFooter(bytes));
}

function checkedMetadata({ metadata }: ParquetFooter, subject: string) {
  const parsed = v.safeParse(metadataSchema, Object.fromEntries(metadata));
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  const key = v.getDotPath(issue) ?? "metadata";
  const found = metadata.get(key);
  const expected = issue.expected ?? issue.message;
  throw new DataError(
    `${subject}: metadata ${key}`,
    found === undefined ? "nothing" : shown(found),
    expected,
  );
}

function checkSizes(
  { groupRows, rows: footerRows, decodedBytes }: ParquetFooter,
  rows: number,
  pricedRows: number,
  subject: string,
): void {
  if (rows > maxSnapshotRows)
    throw new DataError(`${subject}: rows`, String(rows), `at most ${maxSnapshotRows}`);
  const found = groupRows.reduce((sum, group) => sum + group, 0);
  if (footerRows !== rows || found !== rows)
    throw new DataError(`${subject}: rows in the footer`, String(footerRows), `${rows} as in its metadata`);
  if (pricedRows > maxImageRows)
    throw new DataError(
      `${subject}: priced rows`,
      String(pricedRows),
      `at most ${maxImageRows}, as an image has 4 GiB`,
    );
  const ceiling = columnBytesAllowance + rows * maxColumnBytesPerRow;
  if (decodedBytes > ceiling)
    throw new DataError(
      `${subject}: decoded size`,
      `${decodedBytes} bytes`,
      `at most ${ceiling} for ${rows} rows`,
    );
}

/** Reads one row group at a time, so that memory in WebAssembly stays that of the largest one. */
function readColumns(
  bytes: Uint8Array,
  footer: ParquetFooter,
  length: number,
  subject: string,
  onRows?: (rows: number) => void,
) {
  const rows: Rows = {
    facility: new Int32Array(length),
    procedure: new Int32Array(length),
    charge: new Int32Array(length),
    allowed: new Int32Array(length),
  };
  const facilities: Facilities = { ccn: [], name: [], city: [], state: [] };
  const procedures: Procedures = { code: [], name: [] };
  const procedureIndex = new Map<string, number>();
  let filled = 0;
  for (let group = 0; group < footer.groupRows.length; group++) {
    const batch = guarded(subject, `row group ${group + 1}`, () => readGroup(bytes, footer, group, subject));
    for (const [i, name] of amountColumns.entries())
      batch.amounts(name, i === 0 ? rows.charge : rows.allowed, filled);

    const [ccn, name, city, state, code, label] = stringColumns.map((column) => batch.strings(column));
    const known: number[] = [];
    let facility = facilities.ccn.length - 1;
    let previous = -1;
    for (let i = 0; i < batch.length; i++) {
      const sameFacility =
        previous >= 0 &&
        ccn.codes[i] === ccn.codes[previous] &&
        name.codes[i] === name.codes[previous] &&
        city.codes[i] === city.codes[previous] &&
        state.codes[i] === state.codes[previous];
      if (!sameFacility) {
        const next = [ccn, name, city, state].map((column) => column.values[column.codes[i]]);
        facility = enterFacility(facilities, next, subject);
      }
      previous = i;
      rows.facility[filled + i] = facility;

      const coded = code.codes[i];
      known[coded] ??= enterProcedure(
        procedures,
        procedureIndex,
        code.values[coded],
        label.values[label.codes[i]],
      );
      const procedure = known[coded];
      const described = label.values[label.codes[i]];
      if (described !== procedures.name[procedure])
        throw new DataError(
          `${subject}: name of procedure ${shown(code.values[coded])}`,
          shown(described),
          shown(procedures.name[procedure]),
        );
      rows.procedure[filled + i] = procedure;
    }
    filled += batch.length;
    onRows?.(filled);
  }
  const order = ascending(procedures.code);
  return {
    facilities,
    procedures: {
      code: order.map((i) => procedures.code[i]),
      name: order.map((i) => procedures.name[i]),
    },
    rows: { ...rows, procedure: ranked(rows.procedure, order) },
  };
}

function readGroup(bytes: Uint8Array, footer: ParquetFooter, group: number, subject: string) {
  const length = footer.groupRows[group];
  const read = parquet.readParquet(bytes, { rowGroups: [group], batchSize: Math.max(1, length) });
  const table = arrow.tableFromIPC(read.intoIPCStream());
  const found = table.schema.fields.map((field) => `${field.name}: ${field.type}`).join(", ");
  const expected = [
    ...stringColumns.map((name) => `${name}: Dictionary<Int32, Utf8>`),
    ...amountColumns.map((name) => `${name}: Int32`),
  ].join(", ");
  if (found !== expected) throw new DataError(`${subject}: columns`, found, expected);
  if (table.numRows !== length || table.batches.length !== (length === 0 ? 0 : 1))
    throw new DataError(`${subject}: rows in row group ${group + 1}`, String(table.numRows), String(length));

  const column = (name: string) => {
    const data = table.getChild(name)?.data[0];
    if (data === undefined) throw new DataError(`${subject}: column ${name}`, "nothing", "values");
    return data;
  };
  return {
    length,
    /** Codes into the distinct values of a string column, each decoded once. */
    strings(name: string): { codes: Int32Array; values: string[] } {
      const data = column(name);
      if (data.nullCount > 0) throw new DataError(`${subject}: column ${name}`, "an absent value", "text");
      const bytes = data.dictionary?.byteLength ?? 0;
      if (bytes > columnBytesAllowance + length * maxColumnBytesPerRow)
        throw new DataError(`${subject}: column ${name}`, `${bytes} bytes`, `fewer for ${length} rows`);
      const values = Array.from(data.dictionary ?? [], String);
      const long = values.find((value) => value.length > maxNameCharacters);
      if (long !== undefined)
        throw new DataError(
          `${subject}: column ${name}`,
          `${long.length} characters`,
          `at most ${maxNameCharacters}`,
        );
      return { codes: data.values, values };
    },
    amounts(name: string, into: Int32Array, offset: number): void {
      const data = column(name);
      const amounts: Int32Array = data.values;
      for (let i = 0; i < length; i++) {
        if (data.nullCount > 0 && !data.getValid(i)) into[offset + i] = blank;
        else if (amounts[i] >= 0) into[offset + i] = amounts[i];
        else throw new DataError(`${subject}: ${name}`, String(amounts[i]), "no negative amount");
      }
    },
  };
}

function enterFacility(facilities: Facilities, [ccn, name, city, state]: string[], subject: string): number {
  const last = facilities.ccn.length - 1;
  if (last >= 0 && facilities.ccn[last] === ccn) {
    const known = [facilities.name[last], facilities.city[last], facilities.state[last]];
    if (known[0] !== name || known[1] !== city || known[2] !== state)
      throw new DataError(
        `${subject}: facility ${ccn}`,
        shown([name, city, state].join(", ")),
        shown(known.join(", ")),
      );
    return last;
  }
  if (last >= 0 && ccn < facilities.ccn[last])
    throw new DataError(`${subject}: order of CCNs`, shown(ccn), `one after ${facilities.ccn[last]}`);
  if (!ccnPattern.test(ccn)) throw new DataError(`${subject}: CCN`, shown(ccn), "six letters or digits");
  if (!Object.hasOwn(stateNames, state))
    throw new DataError(`${subject}: state of ${ccn}`, shown(state), "a known state code");
  facilities.ccn.push(ccn);
  facilities.name.push(name);
  facilities.city.push(city);
  facilities.state.push(state);
  return last + 1;
}

function enterProcedure(
  procedures: Procedures,
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

function checkKeys({ facilities, procedures, rows }: SnapshotContent, subject: string): void {
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
