import {
  buildImage,
  type Counts,
  decodeSnapshot,
  encodeSnapshot,
  partsOf,
  type Snapshot,
  sealSnapshot,
} from "../../engine/index.ts";
import type { KnownVersion } from "../publish/publish.ts";
import { findContent, publishSnapshot } from "../publish/publish.ts";
import type { StrayByte } from "./encoding.ts";
import { type ReleaseOptions, readRelease } from "./release.ts";

export interface ImportOptions extends ReleaseOptions {
  out: string;
  /** Whether to write rows that a snapshot of the year in the folder already has. */
  force: boolean;
}

interface Imported {
  path: string;
  /** Whether the file was written now. Otherwise a snapshot with the same rows was there. */
  isNew: boolean;
  /** Options that differ from the metadata of the snapshot that was there. */
  unwritten: string[];
  counts: Counts;
  states: number;
  stray: StrayByte | undefined;
  severalNames: number;
  absentColumns: string[];
}

/**
 * Imports a CMS release as the next snapshot of its year, unless one has its rows already.
 *
 * @throws DataError when the file isn't a sound release; nothing has been written then
 */
export async function importFile(options: ImportOptions, known: readonly KnownVersion[]): Promise<Imported> {
  const { file, year, out } = options;
  const { table, provenance, stray, severalNames, absentColumns } = await readRelease(options);
  const sealed = sealSnapshot(table, { ...provenance, revision: 1 });
  const there = options.force ? undefined : findContent(out, year, sealed.contentSha256, known);
  const written =
    there?.path ??
    publishSnapshot(out, year, known, (revision) =>
      loadable(sealSnapshot(table, { ...provenance, revision }), file),
    );
  return {
    path: written,
    isNew: there === undefined,
    unwritten: there === undefined ? [] : unwritten(options, there.provenance),
    counts: sealed.counts,
    states: new Set(partsOf(table).facilities.state).size,
    stray,
    severalNames,
    absentColumns,
  };
}

function unwritten({ released, sourceUrl }: ImportOptions, there: Snapshot["provenance"]): string[] {
  return [
    ...(released === null || released === there.released ? [] : ["--released"]),
    ...(sourceUrl === null || sourceUrl === there.sourceUrl ? [] : ["--source-url"]),
  ];
}

/** Encodes a snapshot. @throws DataError when a server would refuse it, mostly for its size */
function loadable(snapshot: Snapshot, file: string): Uint8Array {
  const bytes = encodeSnapshot(snapshot);
  buildImage(decodeSnapshot(bytes, `${file} as a snapshot`));
  return bytes;
}
