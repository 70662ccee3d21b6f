import { buildImage, decodeSnapshot, encodeSnapshot, partsOf, sealSnapshot } from "../../engine/index.ts";
import { findContent, type KnownVersion, publishSnapshot } from "../publish/publish.ts";
import { type ReleaseOptions, readRelease } from "./release.ts";

export interface ImportOptions extends ReleaseOptions {
  out: string;
  /** Whether to write rows that a snapshot of the year in the folder already has. */
  force: boolean;
}

/**
 * Imports a CMS release as the next snapshot of its year, unless one has its rows already.
 *
 * @throws DataError when the file isn't a sound release; nothing has been written then
 */
export async function importFile(options: ImportOptions, known: readonly KnownVersion[]) {
  const { file, year, out, released, sourceUrl } = options;
  const { table, provenance, ...said } = await readRelease(options);
  const sealed = sealSnapshot(table, { ...provenance, revision: 1 });
  const there = options.force ? undefined : findContent(out, year, sealed.contentSha256, known);
  const written = () =>
    publishSnapshot(out, year, known, (revision) => {
      const bytes = encodeSnapshot(sealSnapshot(table, { ...provenance, revision }));
      // A server would refuse what fails here, mostly for its size.
      buildImage(decodeSnapshot(bytes, `${file} as a snapshot`));
      return bytes;
    });
  return {
    ...said,
    path: there?.path ?? written(),
    /** Whether the file was written now. Otherwise a snapshot with the same rows was there. */
    isNew: there === undefined,
    /** Options that differ from the metadata of the snapshot that was there. */
    unwritten: [
      ...(there && released !== null && released !== there.provenance.released ? ["--released"] : []),
      ...(there && sourceUrl !== null && sourceUrl !== there.provenance.sourceUrl ? ["--source-url"] : []),
    ],
    counts: sealed.counts,
    states: new Set(partsOf(table).facilities.state).size,
  };
}
