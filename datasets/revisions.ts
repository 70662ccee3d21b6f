import { randomUUID } from "node:crypto";
import { existsSync, linkSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import {
  DataError,
  decodeSnapshot,
  maxRevision,
  minDataYear,
  type Snapshot,
  snapshotHead,
  systemCode,
  versionIn,
} from "../engine/index.ts";
import { makeFolder, readRegular, sync, unwritable } from "./files.ts";

/** A data version that a server has served. Its number can't be used for other content. */
export interface KnownVersion {
  version: string;
  /** The `sha256` of the snapshot, not of its file. */
  sha256: string;
}

/**
 * Writes the next revision of a year. The file is linked into place after it is flushed to disk, so readers never see a
 * partial file, and no file is replaced. The function is synchronous, so that no signal handler runs meanwhile.
 *
 * @param encode called again if another process takes the revision number first
 * @returns the path of the new file
 * @throws DataError when the folder can't be written, or the next revision would exceed `maxRevision`
 */
export function publishSnapshot(
  outDir: string,
  dataYear: number,
  known: readonly KnownVersion[],
  encode: (revision: number) => Uint8Array,
): string {
  writing(outDir, () => makeFolder(outDir));
  for (let taken = 0; ; ) {
    const names = [...namesIn(outDir), ...known.map(({ version }) => version)];
    const last = revisionsOf(dataYear, names).at(-1);
    const revision = 1 + (last?.revision ?? 0);
    // On some file systems, every new name counts as taken, so the loop would be endless.
    if (revision === taken)
      throw new DataError(
        outDir,
        "a name that is taken, although no such file exists",
        "a folder that can be written",
      );
    taken = revision;
    if (revision > maxRevision)
      throw new DataError(
        `${outDir}: next revision of ${dataYear}`,
        `${revision}, after ${last?.name}`,
        `at most ${maxRevision}: a file that is no snapshot can be moved away`,
      );
    const path = join(outDir, `${dataYear}.${revision}.parquet`);
    const bytes = encode(revision);
    if (writing(outDir, () => placeNew(outDir, path, bytes), bytes.length)) return path;
  }
}

/**
 * Finds the year's newest snapshot with the same rows, and with the same codes if `wanted` has codes. Returns undefined
 * if there is none. No server would serve a file that contradicts a known version, so such files are skipped.
 */
export async function findContent(
  outDir: string,
  dataYear: number,
  wanted: Pick<Snapshot, "contentSha256" | "codes">,
  known: readonly KnownVersion[],
): Promise<{ path: string; provenance: Snapshot["provenance"] } | undefined> {
  if (!existsSync(outDir)) return undefined;
  const served = new Map(known.map(({ version, sha256 }) => [version, sha256]));
  const pathOf = (revision: number) => join(outDir, `${dataYear}.${revision}.parquet`);
  for (const { revision } of revisionsOf(dataYear, namesIn(outDir)).toReversed()) {
    const [path, version] = [pathOf(revision), `${dataYear}.${revision}`];
    const snapshot = await snapshotWith(path, wanted.contentSha256);
    if (snapshot === undefined) continue;
    if (wanted.codes !== null && !isDeepStrictEqual(snapshot.codes, wanted.codes)) continue;
    if (snapshot.sha256 === (served.get(version) ?? snapshot.sha256))
      return { path, provenance: snapshot.provenance };
  }
  return undefined;
}

/** @throws DataError when the file can't be read or isn't a valid snapshot */
export async function snapshotIn(path: string): Promise<Snapshot> {
  return (await decodeSnapshot(readRegular(path, "a snapshot"), path)).snapshot;
}

async function snapshotWith(path: string, contentSha256: string): Promise<Snapshot | undefined> {
  try {
    const { metadata } = await snapshotHead(readRegular(path, "a snapshot"), path);
    const claimed = metadata.content_sha256;
    if (claimed !== undefined && claimed !== contentSha256) return undefined;
    const snapshot = await snapshotIn(path);
    return snapshot.contentSha256 === contentSha256 ? snapshot : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the path of the last revision in the latest data year up to `maxYear`, or undefined if there is none. */
export function newestSnapshot(outDir: string, maxYear: number): string | undefined {
  const names = existsSync(outDir) ? namesIn(outDir).filter((name) => versionIn(name) !== undefined) : [];
  for (let year = maxYear; year >= minDataYear; year--) {
    const last = revisionsOf(year, names).at(-1);
    if (last !== undefined) return join(outDir, last.name);
  }
  return undefined;
}

/** @throws DataError when the file can't be read or isn't a valid snapshot */
export async function isSyntheticFile(path: string): Promise<boolean> {
  return (await snapshotIn(path)).isSynthetic;
}

function namesIn(outDir: string): string[] {
  return writing(outDir, () => readdirSync(outDir));
}

/** Finds the revisions of a year, lowest first. @param names version and file names */
function revisionsOf(dataYear: number, names: string[]): { revision: number; name: string }[] {
  const found = names.flatMap((name) => {
    // Case is ignored, because on some file systems 2024.1.PARQUET is the same name.
    const [, year, revision] = /^([0-9]{4})\.([1-9][0-9]*)(?:\.parquet)?$/i.exec(name) ?? [];
    return Number(year) === dataYear ? [{ revision: Number(revision), name }] : [];
  });
  return found.sort((a, b) => a.revision - b.revision);
}

/** Writes a new file, so that it is either complete or absent. @returns false if the name is taken */
function placeNew(outDir: string, path: string, bytes: Uint8Array): boolean {
  const temporary = join(outDir, `.${randomUUID()}.tmp`);
  try {
    writeFileSync(temporary, bytes, { flag: "wx", flush: true });
    // Unlike a rename, a link fails if the name is taken.
    linkSync(temporary, path);
  } catch (error) {
    if (systemCode(error) === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(temporary, { force: true });
  }
  sync(outDir);
  return true;
}

function writing<T>(outDir: string, action: () => T, bytes?: number): T {
  try {
    return action();
  } catch (error) {
    throw unwritable(outDir, error, bytes);
  }
}
