import * as v from "valibot";
import { shownAddress } from "../address.ts";
import { DataError, shown } from "../errors.ts";
import { checkedSha256, damaged, fileSha256Key } from "./integrity.ts";
import { footerStart, type OpenParquet, openParquet, tailBytes } from "./parquet-file.ts";
import {
  columnBytesAllowance,
  type Metadata,
  maxColumnBytesPerRow,
  maxMetadataCharacters,
  maxSnapshotFileBytes,
  maxSnapshotRows,
  metadataSchema,
  releasedExpected,
  type SnapshotColumn,
  snapshotColumns,
  snapshotNameExpected,
  type Version,
  versionIn,
} from "./schema.ts";
import { flawIn } from "./texts.ts";

/** Reads what a snapshot file says about itself, before any of its rows are decoded. */

export interface SnapshotHead {
  metadata: Metadata;
  version: Version;
  /** Whether the file has a correct checksum of its own. Without a checksum, not all damage is detected. */
  isChecked: boolean;
  file: OpenParquet;
}

/** Rows of a row group, and decompressed bytes of the snapshot's columns in it, as the footer declares them. */
export interface RowGroup {
  rows: number;
  bytes: number;
  /** Bytes of the columns `ccn` and `procedure_code`. */
  keyBytes: number;
}

const keyColumns: ReadonlySet<string> = new Set(["ccn", "procedure_code"] satisfies SnapshotColumn["name"][]);

const magic = "PAR1";
const encryptedMagic = "PARE";
/** Maximum bytes of a footer. A footer of 50 million rows has 1 MB, and all HCPCS codes of CMS's addendum have 0.25 MB. */
const maxFooterBytes = 2 ** 24;

/**
 * Checks a file's checksum and reads the metadata of its footer.
 *
 * @param subject the file's path or name; see `decodeSnapshot`
 * @param month the present month; see `decodeSnapshot`
 * @throws DataError when the file is damaged, too large, encrypted or not Parquet, or its metadata are wrong
 */
export async function snapshotHead(
  bytes: Uint8Array,
  subject: string,
  month?: string,
): Promise<SnapshotHead> {
  checkEnds(bytes, subject);
  const sha256 = checkedSha256(bytes, subject);
  const file = await openParquet(bytes, subject);
  const pairs = new Map([...file.metadata].filter(([, value]) => value !== ""));
  if (pairs.get(fileSha256Key) !== sha256 || (sha256 === undefined && pairs.has("schema_version")))
    throw damaged(subject, `no valid ${fileSha256Key}`);
  const metadata = checkedMetadata(pairs, subject);
  const version = versionOf(metadata, subject);
  const isChecked = sha256 !== undefined;
  // A server whose clock is behind must not refuse what `import` wrote.
  checkReleased(metadata, version, subject, isChecked ? undefined : month);
  return { metadata, version, isChecked, file };
}

const columnNames: ReadonlySet<string> = new Set(snapshotColumns.map(({ name }) => name));

/**
 * Returns the row groups that a file's footer declares. Only bytes of a snapshot's columns count.
 *
 * @throws DataError when the footer's numbers aren't within the limits, or can't be true
 */
export function rowGroups({ file }: Pick<SnapshotHead, "file">, subject: string): RowGroup[] {
  const groups = file.groups.map((group): RowGroup => {
    const bytesOf = (names: ReadonlySet<string>) =>
      group.columns.reduce((sum, { path, bytes }) => sum + (names.has(path[0]) ? bytes : 0), 0);
    return { rows: group.rows, bytes: bytesOf(columnNames), keyBytes: bytesOf(keyColumns) };
  });
  const total = (key: keyof RowGroup) => groups.reduce((sum, group) => sum + group[key], 0);
  const [rows, bytes, keyBytes] = [total("rows"), total("bytes"), total("keyBytes")];
  if (!groups.every((group) => group.rows >= 0 && group.bytes >= 0) || Number.isNaN(rows + bytes))
    throw new DataError(
      `${subject}: footer`,
      "a negative number of rows or bytes",
      "the numbers of its row groups",
    );
  if (rows === 0) throw new DataError(`${subject}: rows`, "none", "at least one");
  if (rows > maxSnapshotRows)
    throw new DataError(`${subject}: rows`, String(rows), `at most ${maxSnapshotRows}`);
  const ceiling = columnBytesAllowance + rows * maxColumnBytesPerRow;
  if (bytes > ceiling)
    throw new DataError(`${subject}: decoded size`, `${bytes} bytes`, `at most ${ceiling} for ${rows} rows`);
  // From one row of a group to the next, at least one of the two columns changes. Every encoding needs a bit or more
  // for a change.
  if (keyBytes * 8 < rows - groups.length)
    throw new DataError(
      `${subject}: columns ccn and procedure_code`,
      `${keyBytes} bytes for ${rows} rows`,
      "each pair in one row, which takes at least a bit per row",
    );
  return groups;
}

function checkEnds(file: Uint8Array, subject: string): void {
  const { length } = file;
  const textAt = (start: number) =>
    Buffer.from(file.subarray(start, start + magic.length)).toString("latin1");
  if (length > maxSnapshotFileBytes)
    throw new DataError(`${subject}: size`, `${length} bytes`, `at most ${maxSnapshotFileBytes}`);
  if (textAt(0) === encryptedMagic)
    throw new DataError(subject, "an encrypted Parquet file", "a Parquet snapshot without encryption");
  if (length === 0 || textAt(0) !== magic)
    throw new DataError(
      subject,
      length === 0 ? "an empty file" : "a file that isn't Parquet",
      "a Parquet snapshot",
    );
  if (length < magic.length + tailBytes || textAt(length - magic.length) !== magic)
    throw new DataError(subject, "a file that is cut off or damaged", `${magic} at its end`);
  const start = footerStart(file);
  if (start < magic.length || length - start > maxFooterBytes)
    throw new DataError(
      `${subject}: footer`,
      `${length - start - tailBytes} bytes`,
      `at most ${Math.min(length, maxFooterBytes) - tailBytes - magic.length}`,
    );
}

function checkedMetadata(pairs: Map<string, string>, subject: string): Metadata {
  const parsed = v.safeParse(metadataSchema, Object.fromEntries(pairs));
  if (!parsed.success) {
    const [issue] = parsed.issues;
    const key = v.getDotPath(issue) ?? "";
    // A source URL may have credentials.
    const inWords = key === "source_url" ? shownAddress : shown;
    throw new DataError(`${subject}: metadata ${key}`, inWords(pairs.get(key) ?? ""), issue.message);
  }
  for (const key of ["title", "publisher", "caveat"] as const) {
    const flaw = flawIn(parsed.output[key] ?? "", maxMetadataCharacters);
    if (flaw !== undefined) throw new DataError(`${subject}: metadata ${key}`, flaw.found, flaw.expected);
  }
  return parsed.output;
}

function checkReleased(
  { released }: Metadata,
  { dataYear }: Version,
  subject: string,
  month: string | undefined,
): void {
  if (released === undefined) return;
  const expected = releasedExpected(released, dataYear, month);
  if (expected !== undefined) throw new DataError(`${subject}: metadata released`, shown(released), expected);
}

/** @throws DataError when name and metadata state different versions, or none */
function versionOf({ data_year, revision }: Metadata, subject: string): Version {
  const named = versionIn(subject);
  const agreed = (key: string, stated: number | undefined, expected: number | undefined): number => {
    if (stated !== undefined && expected !== undefined && stated !== expected)
      throw new DataError(
        `${subject}: metadata ${key}`,
        String(stated),
        `${expected}, as in the file's name`,
      );
    const value = expected ?? stated;
    if (value !== undefined) return value;
    throw new DataError(`${subject}: name`, "no data version", snapshotNameExpected);
  };
  return {
    dataYear: agreed("data_year", data_year, named?.dataYear),
    revision: agreed("revision", revision, named?.revision),
  };
}
