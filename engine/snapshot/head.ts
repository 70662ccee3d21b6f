import * as v from "valibot";
import { shownAddress } from "../address.ts";
import { DataError, reasonOf, shown } from "../errors.ts";
import {
  footerRange,
  headBytes,
  type ParquetFooter,
  parseFooter,
  readableCodecs,
  tailBytes,
} from "./footer.ts";
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
/** Bytes of a row of the row group that is being read: codes of the text columns and one more column, and levels. */
const bytesPerGroupRow = 64;
/** Bytes of the heap for a character of the codes in the metadata: of three of them, an empty list. */
const bytesPerCodeCharacter = 32;
/** Bytes of a procedure: its summaries over the nation and every state, and the positions of its groups. */
const bytesPerProcedure = 8192;

/** The footer of a snapshot file. Its figures aren't trusted before the whole file is read. */
export interface SnapshotHead {
  fileBytes: number;
  footer: ParquetFooter;
  metadata: v.InferOutput<typeof metadataSchema>;
}

/**
 * Finds the footer of a snapshot file, which is read before the rest.
 *
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
 * Reads and checks a snapshot file's footer, which begins at `start`.
 *
 * @throws DataError when it isn't a snapshot's, or says that the file is too large
 */
export function readSnapshotHead(bytes: Uint8Array, start: number, subject: string): SnapshotHead {
  const footer = guarded(subject, "footer", () => parseFooter(bytes, start));
  const metadata = checkedMetadata(footer, subject);
  checkColumns(footer, subject);
  checkSizes(footer, metadata.rows, metadata.priced_rows, subject);
  return { fileBytes: start + bytes.length + tailBytes, footer, metadata };
}

/** The footer of a whole file, checked like `readSnapshotHead`. */
export function snapshotHead(file: Uint8Array, subject: string): SnapshotHead {
  const [head, tail] = [file.subarray(0, headBytes), file.subarray(-tailBytes)];
  const { start, length } = snapshotFooterRange(file.length, head, tail, subject);
  return readSnapshotHead(file.subarray(start, start + length), start, subject);
}

/** Upper bounds of the memory for loading a snapshot, as the footer tells: bytes without the image, and of the heap. */
interface LoadNeed {
  buffers: number;
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
      // A decompressed page, and its copy while it is checked.
      largest(groups.flatMap(({ chunks }) => chunks.map((chunk) => 2 * chunk.decodedLength))) +
      metadata.procedures * bytesPerProcedure,
    // A short string takes some dozen bytes on the heap. Strings of earlier row groups may be kept.
    heap:
      6 * largest(textBytes) +
      2 * textBytes.reduce((sum, bytes) => sum + bytes, 0) +
      bytesPerCodeCharacter * (metadata.hcpcs_codes?.length ?? 0),
  };
}

/** Calls a function that reads part of a file, and wraps its errors as DataError. */
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
  // A source URL may contain a password.
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
