import * as v from "valibot";
import { DataError, jsonIn, shown } from "../errors.ts";
import type { BuildLimits } from "../image/build.ts";
import { decodedRows, readsOf } from "./columns.ts";
import { type RowGroup, rowGroups, type SnapshotHead, snapshotHead } from "./footer.ts";
import { checkColumns, tableOf } from "./rules.ts";
import {
  hcpcsPattern,
  type Metadata,
  maxNameCharacters,
  maxStatusCharacters,
  type StatedProvenance,
} from "./schema.ts";
import { type Snapshot, sealSnapshot } from "./snapshot.ts";
import type { TableParts } from "./table.ts";
import { flawIn } from "./texts.ts";

export interface DecodedSnapshot {
  snapshot: Snapshot;
  /** Whether the file has a checksum of its own. */
  isChecked: boolean;
  /** What an operator should know about the file, in sentences. */
  warnings: string[];
  /** What is left of `maxBytes` for building an image. */
  left: BuildLimits;
}

interface DecodeOptions {
  /** Maximum bytes of memory that decoding may take. If undefined, there is no limit. */
  maxBytes?: number;
  /**
   * The present month as `YYYY-MM`. A file of another tool must not state a later month of release. If undefined, the
   * month of release may be in the future.
   */
  month?: string;
  /** Called after each step with the number of rows read so far. */
  onRows?: (rows: number) => void;
}

/**
 * Reads and checks a snapshot file of any tool.
 *
 * @param path the file's path or name, for messages. If its last part is `<year>.<revision>.parquet`, this is the data
 * version, and the metadata must not contradict it. Otherwise the metadata must state the version.
 * @throws DataError when the file is damaged, its content is wrong, or it would take more than `maxBytes`
 */
export async function decodeSnapshot(
  file: Uint8Array,
  path: string,
  { maxBytes = Number.MAX_SAFE_INTEGER, month, onRows = () => {} }: DecodeOptions = {},
): Promise<DecodedSnapshot> {
  const head = await snapshotHead(file, path, month);
  const groups = rowGroups(head, path);
  const { columns, ignored } = await checkColumns(head, path);
  const rows = groups.reduce((sum, group) => sum + group.rows, 0);
  const need = bytesToDecode(file, head, groups, rows);
  if (need > maxBytes)
    throw new DataError(
      `${path}: memory needed for the load`,
      mebibytes(need),
      `at most ${mebibytes(maxBytes)}, the limit of a load`,
    );
  const maxHeap = (maxBytes - need) * heapShare;
  const steps = decodedRows(head.file, columns, groups, path, maxHeap / bytesPerCharacter);
  const table = await tableOf(steps, rows, path, maxHeap, onRows);
  const snapshot = sealSnapshot(table, provenanceOf(head), codesIn(head.metadata.hcpcs_codes, table, path));
  // Without a checksum, another tool may have kept what an import said about other rows.
  if (head.isChecked) checkPromises(snapshot, head.metadata, path);
  return {
    snapshot,
    isChecked: head.isChecked,
    warnings: warningsAbout(head, ignored),
    left: { heap: Math.floor(maxHeap), image: Math.floor(maxBytes - need - maxHeap) },
  };
}

/** Bytes per row of a table, with working memory for sorting and encoding. */
const bytesPerRow = 108;
/** Bytes per row of a step. A step's rows are twice in WebAssembly's memory, and once decoded. */
const bytesPerStepRow = 320;
/** Bytes of WebAssembly's memory before anything is decoded. */
const decoderBytes = 16 * 2 ** 20;
/** Heap bytes per character of the codes' JSON. The worst case is many empty lists, each of three characters: `[],`. */
const bytesPerCodeCharacter = 32;
/** Decoding leaves some memory. This share of it is for strings on the heap, and the rest is for the image. */
const heapShare = 0.25;
/** Heap bytes per character of a step's texts, including a share of the string and the map entry. */
const bytesPerCharacter = 8;

/** Computes the bytes of memory that decoding takes, without strings, if the footer's figures are right. */
function bytesToDecode(
  file: Uint8Array,
  { metadata }: SnapshotHead,
  groups: readonly RowGroup[],
  rows: number,
): number {
  const largest = readsOf(groups).reduce((most, read) => Math.max(most, read.rows), 0);
  return (
    // The decoder copies the parts of the file that it reads.
    2 * file.length +
    decoderBytes +
    rows * bytesPerRow +
    largest * bytesPerStepRow +
    bytesPerCodeCharacter * (metadata.hcpcs_codes?.length ?? 0)
  );
}

function mebibytes(bytes: number): string {
  return `${Math.ceil(bytes / 2 ** 20)} MiB`;
}

function provenanceOf({ metadata, version }: SnapshotHead): StatedProvenance {
  return {
    ...version,
    title: metadata.title ?? null,
    publisher: metadata.publisher ?? null,
    caveat: metadata.caveat ?? null,
    sourceUrl: metadata.source_url ?? null,
    released: metadata.released ?? null,
    sourceSha256: metadata.source_sha256 ?? null,
    ...(metadata.totals && { totals: metadata.totals }),
  };
}

function warningsAbout({ isChecked }: SnapshotHead, ignored: string[]): string[] {
  return [
    ...(isChecked ? [] : ["the file has no file_sha256, so damage to it can't be seen"]),
    ...(ignored.length === 0
      ? []
      : [`columns that are ignored, but that /export.parquet hands out: ${namesOf(ignored)}`]),
  ];
}

const maxNamed = 10;

function namesOf(names: readonly string[]): string {
  const more = names.length > maxNamed ? ` and ${names.length - maxNamed} more` : "";
  return names.slice(0, maxNamed).map(shownBare).join(", ") + more;
}

const shownBare = (name: string) => (/^\w{1,64}$/.test(name) ? name : shown(name));

function checkPromises({ counts, sha256, contentSha256 }: Snapshot, metadata: Metadata, path: string): void {
  const promises = [
    ["rows", counts.rows],
    ["priced_rows", counts.pricedRows],
    ["suppressed_rows", counts.suppressedRows],
    ["incomplete_rows", counts.incompleteRows],
    ["facilities", counts.facilities],
    ["procedures", counts.procedures],
    ["sha256", sha256],
    ["content_sha256", contentSha256],
  ] as const;
  for (const [key, found] of promises)
    if (metadata[key] !== undefined && metadata[key] !== found)
      throw new DataError(
        `${path}: ${key} of the rows`,
        String(found),
        `${metadata[key]} as in its metadata`,
      );
}

const codesExpected = 'a list of codes, each as ["27447","5115","J1","a description"]';
const codesSchema = v.array(v.strictTuple([v.string(), v.string(), v.string(), v.string()]));

/** Reads the HCPCS codes of the metadata. The codes must ascend and belong to procedures of the table. */
function codesIn(text: string | undefined, table: TableParts, path: string): Snapshot["codes"] {
  if (text === undefined) return null;
  const part = `${path}: metadata hcpcs_codes`;
  const list = jsonIn(text, part, codesExpected);
  const parsed = v.safeParse(codesSchema, list, { abortEarly: true });
  if (!parsed.success) {
    const at = Number(parsed.issues[0].path?.[0].key);
    throw Array.isArray(list)
      ? new DataError(`${part}, entry ${at + 1}`, shown(JSON.stringify(list[at])), codesExpected)
      : new DataError(part, shown(text), codesExpected);
  }
  const procedures = new Set(table.procedures.code);
  return parsed.output.map(([code, procedure, status, description], i) => {
    const refuse = (found: string, expected: string) =>
      new DataError(`${part}, entry ${i + 1}`, found, expected);
    if (!hcpcsPattern.test(code)) throw refuse(shown(code), "a code such as 27447 or G0105");
    if (i > 0 && code <= parsed.output[i - 1][0])
      throw refuse(`${code} after ${parsed.output[i - 1][0]}`, "each code once, ascending");
    if (!procedures.has(procedure))
      throw refuse(
        `code ${code} of the procedure ${shown(procedure)}`,
        "codes of procedures in the snapshot",
      );
    for (const [text, most] of [
      [status, maxStatusCharacters],
      [description, maxNameCharacters],
    ] as const) {
      const flaw = flawIn(text, most);
      if (flaw !== undefined) throw refuse(`${flaw.found} at code ${code}`, flaw.expected);
    }
    return { code, procedure, status, description };
  });
}
