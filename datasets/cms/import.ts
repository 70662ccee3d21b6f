import { isDeepStrictEqual } from "node:util";
import {
  buildImage,
  DataError,
  decodeSnapshot,
  encodeSnapshot,
  type HcpcsCode,
  sealSnapshot,
  type TableParts,
} from "../../engine/index.ts";
import { findContent, type KnownVersion, newestSnapshot, publishSnapshot } from "../revisions.ts";
import { contradictedCodes, readAddendum } from "./addendum.ts";
import { suspectGrowth } from "./plausibility.ts";
import { type ReleaseOptions, readRelease } from "./release.ts";
import { compareTotals, readTotals } from "./totals.ts";

export interface ImportOptions extends ReleaseOptions {
  out: string;
  /** Path of an OPPS Addendum B, which assigns HCPCS codes to APCs; null to add no codes. */
  codesFile: string | null;
  /** Path of CMS's totals by nation and state, with which the release is compared; null for no comparison. */
  totalsFile: string | null;
  force: boolean;
}

/**
 * Writes the next snapshot of the year. Without `force`, nothing is written if `findContent` finds a snapshot.
 *
 * @throws DataError when a file is unreadable or invalid, or the folder can't be written
 */
export async function importFile(options: ImportOptions, known: readonly KnownVersion[]) {
  const { file, year, out, released, sourceUrl, codesFile, totalsFile } = options;
  const { table, ...release } = await readRelease(options);
  const compared =
    totalsFile === null ? undefined : compareTotals(table, await readTotals(totalsFile), totalsFile);
  const provenance = { ...release.provenance, ...(compared && { totals: compared.found }) };
  const included = codesFile === null ? null : await codesOf(codesFile, table, year);
  const codes = included?.codes ?? null;
  const sealed = sealSnapshot(table, { ...provenance, revision: 1 }, codes);
  const before = newestSnapshot(out, year);
  const warnings = [
    ...release.warnings,
    ...(compared?.warnings ?? []),
    ...(before === undefined ? [] : await suspectGrowth(table, before)),
    ...(included?.warnings ?? []),
  ];
  const there = options.force ? undefined : await findContent(out, year, sealed, known);
  const encode = (revision: number) =>
    encodeSnapshot(sealSnapshot(table, { ...provenance, revision }, codes));
  if (there === undefined) {
    // Decoding or building fails if the snapshot is too large for a server.
    const { snapshot } = await decodeSnapshot(encode(1), `${file} as a snapshot`);
    buildImage(snapshot);
  }
  return {
    ...release,
    warnings,
    path: there?.path ?? publishSnapshot(out, year, known, encode),
    isNew: there === undefined,
    /** Names of options that were ignored, although their values differ from the metadata of the existing snapshot. */
    unwritten: [
      ...(there && released !== null && released !== there.provenance.released ? ["--released"] : []),
      ...(there && sourceUrl !== null && sourceUrl !== there.provenance.sourceUrl ? ["--source-url"] : []),
      ...(there && compared && !isDeepStrictEqual(compared.found, there.provenance.totals)
        ? ["--totals"]
        : []),
    ],
    totals: compared?.found,
    counts: sealed.counts,
    states: new Set(table.facilities.state).size,
    codes: codes?.length ?? null,
  };
}

async function codesOf(
  file: string,
  table: TableParts,
  year: number,
): Promise<{ codes: HcpcsCode[]; warnings: string[] }> {
  const addendum = await readAddendum(file);
  const procedures = table.procedures.code;
  const codes = addendum.codes.filter(({ procedure }) => procedures.includes(procedure));
  if (codes.length === 0)
    throw new DataError(file, "no code of the release's procedure groups", `an OPPS Addendum B of ${year}`);
  const withCodes = new Set(codes.map(({ procedure }) => procedure));
  const without = procedures.filter((code) => !withCodes.has(code));
  const contradicted = contradictedCodes(addendum);
  return {
    codes,
    warnings: [
      ...(addendum.year === undefined || addendum.year === String(year)
        ? []
        : [`${file} is of ${addendum.year}, the release of ${year}; groups change from year to year`]),
      ...(without.length === 0 ? [] : [`${file} has no code of ${without.join(", ")}`]),
      ...(contradicted.length === 0
        ? []
        : [`${file} contradicts the codes beside this program's plain words: ${contradicted.join("; ")}`]),
    ],
  };
}
