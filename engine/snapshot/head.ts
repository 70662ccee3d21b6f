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

/** Bytes outside the heap: the table's columns, and working memory for sorting and encoding. */
const bytesPerRow = 108;
/** A row of the row group being read needs the codes of all text columns, the codes of one more column, and levels. */
const bytesPerGroupRow = 64;
/** Heap bytes per character of the codes' JSON. The worst case is an empty list, which has three characters. */
const bytesPerCodeCharacter = 32;
/** A procedure has summaries and details in the nation and in every state, and the positions of its groups. */
const bytesPerProcedure = 12_288;

/**
 * The size, footer and metadata of a snapshot file. The footer's figures are verified only when the whole file is read.
 */
export interface SnapshotHead {
  fileBytes: number;
  footer: ParquetFooter;
  metadata: v.InferOutput<typeof metadataSchema>;
}

/**
 * Finds the footer of a snapshot file. `head` has the file's first `headBytes` bytes and `tail` the last `tailBytes`
 * bytes, or fewer if the file is shorter.
 *
 * @throws DataError when the file is too large, damaged or not Parquet
 */
export function snapshotFooterRange(size: number, head: Uint8Array, tail: Uint8Array, subject: string) {
  if (size > maxSnapshotFileBytes)
    throw new DataError(`${subject}: size`, `${size} bytes`, `at most ${maxSnapshotFileBytes}`);
  if (Buffer.from(head).toString("latin1") !== "PAR1")
    throw new DataError(
      subject,
      size === 0 ? "an empty file" : "a file that isn't Parquet",
      "a Parquet snapshot",
    );
  return guarded(subject, "footer", () => footerRange(size, head, tail));
}

/**
 * Reads and checks the footer of a snapshot file, which begins at `start`.
 *
 * @throws DataError when it isn't the footer of a snapshot, or the snapshot is too large
 */
export function readSnapshotHead(bytes: Uint8Array, start: number, subject: string): SnapshotHead {
  const footer = guarded(subject, "footer", () => parseFooter(bytes, start));
  const metadata = checkedMetadata(footer, subject);
  checkColumns(footer, subject);
  checkSizes(footer, metadata.rows, metadata.priced_rows, subject);
  return { fileBytes: start + bytes.length + tailBytes, footer, metadata };
}

/** Reads and checks the footer of a whole file. @throws DataError when the file isn't a snapshot or is too large */
export function snapshotHead(file: Uint8Array, subject: string): SnapshotHead {
  const [head, tail] = [file.subarray(0, headBytes), file.subarray(-tailBytes)];
  const { start, length } = snapshotFooterRange(file.length, head, tail, subject);
  return readSnapshotHead(file.subarray(start, start + length), start, subject);
}

/** Upper bounds in bytes. `buffers` is the memory outside the heap, without the image. */
interface LoadNeed {
  buffers: number;
  heap: number;
}

/** Computes upper bounds of the memory that loading a snapshot takes. */
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
      // A decompressed page, and its copy while the page is checked.
      largest(groups.flatMap(({ chunks }) => chunks.map((chunk) => 2 * chunk.decodedLength))) +
      metadata.procedures * bytesPerProcedure,
    // A short string takes a few dozen heap bytes. Strings of earlier row groups may still be referenced.
    heap:
      6 * largest(textBytes) +
      2 * textBytes.reduce((sum, bytes) => sum + bytes, 0) +
      bytesPerCodeCharacter * (metadata.hcpcs_codes?.length ?? 0),
  };
}

/** Returns the result of `read`. @throws DataError when `read` throws any error */
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
  // A source URL may have credentials.
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
