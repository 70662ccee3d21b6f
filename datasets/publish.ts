import { randomUUID } from "node:crypto";
import { closeSync, fsyncSync, linkSync, openSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DataError, encodeSnapshot, type Snapshot } from "../engine/index.ts";
import { makeFolder } from "./folder.ts";

/** The highest revision that a snapshot's metadata can carry. */
const maxRevision = 9999;

/**
 * Writes the next revision of a year into a folder: beside, synced, then linked into place, so that a reader sees
 * the whole file or none and an existing file is never replaced. It runs without a pause for other code, so a signal
 * that the process handles can't come in between.
 *
 * @param outDir made if it doesn't exist
 * @param build makes the snapshot of that revision; called again if another process takes the revision meanwhile
 * @returns the path of the new file, `<outDir>/<year>.<revision>.parquet`
 * @throws DataError when the folder can't be written, or a year has no revision left; no file is left behind then
 */
export function publishSnapshot(
  outDir: string,
  dataYear: number,
  build: (revision: number) => Snapshot,
): string {
  writing(outDir, () => makeFolder(outDir));
  for (let taken = 0; ; ) {
    const revision = writing(outDir, () => nextRevision(outDir, dataYear));
    // Some folders say of any name that it is taken.
    if (revision === taken)
      throw new DataError(outDir, "a name that is taken and not there", "a folder that can be written");
    taken = revision;
    if (revision > maxRevision)
      throw new DataError(
        `${outDir}: next revision of ${dataYear}`,
        String(revision),
        `at most ${maxRevision}`,
      );
    const path = join(outDir, `${dataYear}.${revision}.parquet`);
    const bytes = encodeSnapshot(build(revision));
    if (writing(outDir, () => placeNew(outDir, path, bytes))) return path;
  }
}

function nextRevision(outDir: string, dataYear: number): number {
  let highest = 0;
  for (const name of readdirSync(outDir)) {
    // In any case: some file systems take 2024.1.PARQUET for the same name.
    const [, year, revision] = /^([0-9]{4})\.([1-9][0-9]*)\.parquet$/i.exec(name) ?? [];
    if (Number(year) === dataYear) highest = Math.max(highest, Number(revision));
  }
  return highest + 1;
}

/** @returns false if there is a file of that name already */
function placeNew(outDir: string, path: string, bytes: Uint8Array): boolean {
  const temporary = join(outDir, `.${randomUUID()}.tmp`);
  try {
    writeFileSync(temporary, bytes, { flag: "wx", flush: true });
    // A link, unlike a rename, fails where the name is taken.
    linkSync(temporary, path);
  } catch (error) {
    if (systemCode(error) === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(temporary, { force: true });
  }
  const folder = openSync(outDir, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
  return true;
}

function writing<T>(outDir: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    const code = systemCode(error);
    if (code === undefined) throw error;
    throw new DataError(outDir, `a refusal to write (${code})`, "a folder that can be written");
  }
}

/** The code of an operating system's error, such as ENOENT; undefined for anything else. */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error && "syscall" in error && "code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}
