import * as v from "valibot";
import { shownAddress } from "../address.ts";
import { DataError, reasonOf, shown } from "../errors.ts";
import { footerRange, type ParquetFooter, parseFooter, readableCodecs, tailBytes } from "./footer.ts";
import {
  columnBytesAllowance,
  maxColumnBytesPerRow,
  maxImageRows,
  maxSnapshotFileBytes,
  maxSnapshotRows,
  metadataSchema,
  snapshotColumns,
} from "./schema.ts";

/** Bytes of a row outside of the heap: its columns in the table, and what sorting and encoding them takes. */
const bytesPerRow = 108;
/** Of a row in the row group that is being read: the codes of the columns with texts and of one more, and levels. */
const bytesPerGroupRow = 64;
/** Of a procedure: its summaries over the nation and every state, and where its groups lie. */
const bytesPerProcedure = 8192;

/** What a snapshot file promises in its footer. Nothing of it is proved before the whole file is read. */
export interface SnapshotHead {
  /** Bytes of the whole file. */
  fileBytes: number;
  footer: ParquetFooter;
  metadata: v.InferOutput<typeof metadataSchema>;
}

/**
 * Where the footer of a snapshot file lies, so that it can be read before anything else.
 *
 * @param size of the file, in bytes
 * @param head its first `headBytes`, and `tail` its last `tailBytes`, or fewer where it has no more
 * @throws DataError when it is no Parquet file, or too large
 */
export function snapshotFooterRange(size: number, head: Uint8Array, tail: Uint8Array, subject: string) {
  if (size > maxSnapshotFileBytes)
    throw new DataError(`${subject}: size`, `${size} bytes`, `at most ${maxSnapshotFileBytes}`);
  if (Buffer.from(head).toString("latin1") !== "PAR1")
    throw new DataError(subject, size === 0 ? "an empty file" : "no Parquet file", "a Parquet snapshot");
  return guarded(subject, "footer", () => footerRange(size, head, tail));
}

/**
 * @param bytes the footer alone
 * @param start where it lies in the file
 * @throws DataError when it isn't that of a snapshot, or promises too much
 */
export function readSnapshotHead(bytes: Uint8Array, start: number, subject: string): SnapshotHead {
  const footer = guarded(subject, "footer", () => parseFooter(bytes, start));
  const metadata = checkedMetadata(footer, subject);
  checkColumns(footer, subject);
  checkSizes(footer, metadata.rows, metadata.priced_rows, subject);
  return { fileBytes: start + bytes.length + tailBytes, footer, metadata };
}

/** What loading a snapshot may take at most, in bytes, before it is known how long its texts are. */
interface LoadNeed {
  /** Outside of the JavaScript heap, to read it and to build its image, without the image. */
  buffers: number;
  /** On the heap, to read it. */
  heap: number;
}

export function loadNeed({ fileBytes, footer: { groups, columns }, metadata }: SnapshotHead): LoadNeed {
  const largest = (sizes: number[]) => sizes.reduce((a, b) => Math.max(a, b), 0);
  const textBytes = groups.map(({ chunks }) =>
    chunks.reduce((sum, { decodedLength }, i) => sum + (columns[i].type === "INT32" ? 0 : decodedLength), 0),
  );
  return {
    buffers:
      fileBytes +
      metadata.rows * bytesPerRow +
      largest(groups.map((group) => group.rows)) * bytesPerGroupRow +
      // A page decompressed, and once more while that is checked.
      largest(groups.flatMap(({ chunks }) => chunks.map((chunk) => 2 * chunk.decodedLength))) +
      metadata.procedures * bytesPerProcedure,
    // A text of a few bytes is a value of some dozen; what the groups before had may be kept.
    heap: 6 * largest(textBytes) + 2 * textBytes.reduce((sum, bytes) => sum + bytes, 0),
  };
}

/** Wraps what is thrown at a damaged file; its own few words tell an operator little, so they come last. */
export function guarded<T>(subject: string, part: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof DataError) throw error;
    const reason = reasonOf(error);
    throw new DataError(`${subject}: ${part}`, `damage (${reason.slice(0, 120)})`, "a readable snapshot");
  }
}

function checkedMetadata({ metadata }: ParquetFooter, subject: string) {
  const parsed = v.safeParse(metadataSchema, Object.fromEntries(metadata));
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  const key = v.getDotPath(issue) ?? "metadata";
  const found = metadata.get(key);
  // A source's address may hold a password.
  const inWords = key === "source_url" ? shownAddress : shown;
  const expected = issue.expected ?? issue.message;
  throw new DataError(
    `${subject}: metadata ${key}`,
    found === undefined ? "nothing" : inWords(found),
    expected,
  );
}

function checkColumns({ columns, groups }: ParquetFooter, subject: string): void {
  const found = columns.map(({ name, type }) => `${name}: ${type}`).join(", ");
  const expected = snapshotColumns
    .map(({ name, part }) => `${name}: ${part === "rows" ? "INT32" : "BYTE_ARRAY"}`)
    .join(", ");
  if (found !== expected) throw new DataError(`${subject}: columns`, found, expected);
  const other = groups.flatMap(({ chunks }) => chunks).find(({ codec }) => !readableCodecs.includes(codec));
  if (other !== undefined)
    throw new DataError(`${subject}: compression`, other.codec, readableCodecs.join(" or "));
}

function checkSizes(
  { groups, rows: footerRows }: ParquetFooter,
  rows: number,
  pricedRows: number,
  subject: string,
): void {
  if (rows > maxSnapshotRows)
    throw new DataError(`${subject}: rows`, String(rows), `at most ${maxSnapshotRows}`);
  const groupRows = groups.reduce((sum, group) => sum + group.rows, 0);
  for (const [place, found] of [
    ["the footer", footerRows],
    ["its row groups", groupRows],
  ])
    if (found !== rows)
      throw new DataError(`${subject}: rows in ${place}`, String(found), `${rows} as in its metadata`);
  if (pricedRows > maxImageRows)
    throw new DataError(
      `${subject}: priced rows`,
      String(pricedRows),
      `at most ${maxImageRows}, as an image has 4 GiB`,
    );
  const ceiling = columnBytesAllowance + rows * maxColumnBytesPerRow;
  const decodedBytes = groups
    .flatMap(({ chunks }) => chunks)
    .reduce((sum, { decodedLength }) => sum + decodedLength, 0);
  if (decodedBytes > ceiling)
    throw new DataError(
      `${subject}: decoded size`,
      `${decodedBytes} bytes`,
      `at most ${ceiling} for ${rows} rows`,
    );
}
