import { randomUUID } from "node:crypto";
import { existsSync, linkSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import {
  DataError,
  decodeSnapshot,
  minDataYear,
  type Snapshot,
  snapshotHead,
  systemCode,
  versionName,
} from "../../engine/index.ts";
import { makeFolder, sync } from "../folder.ts";
import { isSynthetic } from "../sample/synthetic-mark.ts";

/** A data version that a server has served. Its version number can't be used for other content. */
export interface KnownVersion {
  version: string;
  sha256: string;
}

/** The highest revision that a snapshot's metadata can carry. */
const maxRevision = 9999;

/**
 * Writes the next revision of a year into a folder, which is made if it doesn't exist. The file is linked into place
 * after it is flushed to disk. So readers never see a partial file, and no file is ever replaced. The function is
 * synchronous, so that no signal handler runs meanwhile.
 *
 * @param encode encodes the snapshot with a revision number; called again if another process takes that number first
 * @returns the path of the new file
 * @throws DataError when the folder can't be written, or all revisions of the year are used; leaves no file then
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
    // On some file systems every name seems to be taken. This check prevents an endless loop.
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
    if (writing(outDir, () => placeNew(outDir, path, bytes))) return path;
  }
}

/**
 * Finds the newest snapshot of a year in a folder with the same rows, and with the same codes if `wanted` has any.
 * Files that contradict a known version are skipped, because no server would serve such a file. @returns undefined if
 * there is no such snapshot
 */
export function findContent(
  outDir: string,
  dataYear: number,
  wanted: Pick<Snapshot, "contentSha256" | "codes">,
  known: readonly KnownVersion[],
): { path: string; provenance: Snapshot["provenance"] } | undefined {
  if (!existsSync(outDir)) return undefined;
  const served = new Map(known.map(({ version, sha256 }) => [version, sha256]));
  const pathOf = (revision: number) => join(outDir, `${dataYear}.${revision}.parquet`);
  for (const { revision } of revisionsOf(dataYear, namesIn(outDir)).toReversed()) {
    const [path, version] = [pathOf(revision), `${dataYear}.${revision}`];
    const snapshot = snapshotWith(path, version, wanted.contentSha256);
    if (snapshot === undefined) continue;
    if (wanted.codes !== null && !isDeepStrictEqual(snapshot.codes, wanted.codes)) continue;
    if (snapshot.sha256 === (served.get(version) ?? snapshot.sha256))
      return { path, provenance: snapshot.provenance };
  }
  return undefined;
}

function snapshotWith(path: string, version: string, contentSha256: string): Snapshot | undefined {
  try {
    if (!statSync(path).isFile()) return undefined;
    const bytes = readFileSync(path);
    const claimed = snapshotHead(bytes, path).metadata.content_sha256;
    if (claimed !== undefined && claimed !== contentSha256) return undefined;
    // The whole file is decoded, because its rows may be damaged even if the footer is intact.
    const snapshot = decodeSnapshot(bytes, path);
    const isIt = snapshot.contentSha256 === contentSha256 && versionName(snapshot.provenance) === version;
    return isIt ? snapshot : undefined;
  } catch {
    // An unreadable file doesn't match.
    return undefined;
  }
}

/**
 * The path of a folder's newest snapshot: the last revision of the latest data year up to `maxYear`. Undefined if there
 * is none.
 */
export function newestSnapshot(outDir: string, maxYear: number): string | undefined {
  const names = existsSync(outDir) ? namesIn(outDir) : [];
  for (let year = maxYear; year >= minDataYear; year--) {
    const last = revisionsOf(year, names).at(-1);
    if (last !== undefined) return join(outDir, last.name);
  }
  return undefined;
}

/** Whether a file's metadata say that it is a synthetic snapshot; false if the file can't be read. */
export function isSyntheticFile(path: string): boolean {
  try {
    return isSynthetic(snapshotHead(readFileSync(path), path).metadata);
  } catch {
    return false;
  }
}

function namesIn(outDir: string): string[] {
  return writing(outDir, () => readdirSync(outDir));
}

/** The revisions of a year in a list of version and file names, lowest first. */
function revisionsOf(dataYear: number, names: string[]): { revision: number; name: string }[] {
  const found = names.flatMap((name) => {
    // Case is ignored, because on some file systems 2024.1.PARQUET is the same name.
    const [, year, revision] = /^([0-9]{4})\.([1-9][0-9]*)(?:\.parquet)?$/i.exec(name) ?? [];
    return Number(year) === dataYear ? [{ revision: Number(revision), name }] : [];
  });
  return found.sort((a, b) => a.revision - b.revision);
}

/** Writes a new file, complete or not at all. @returns false if the name is taken */
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

function writing<T>(outDir: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    const code = systemCode(error);
    if (code === undefined) throw error;
    throw new DataError(outDir, `a folder that can't be written (${code})`, "a folder that can be written");
  }
}
