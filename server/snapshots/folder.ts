import { constants, readdirSync, type Stats } from "node:fs";
import { type FileHandle, lstat, open, readdir, stat } from "node:fs/promises";
import { basename } from "node:path";
import { DataError, maxSnapshotFileBytes, reasonOf, systemCode } from "../../engine/query.ts";

/** Reads the snapshots' folder. Reads regular files only, and never waits for a FIFO's writer. */

function isSnapshotName(name: string): boolean {
  return name.endsWith(".parquet") && !name.startsWith(".");
}

/**
 * Lists the names of the snapshot files in a folder, sorted. A missing folder has no files.
 * @throws DataError when the folder can't be read
 */
export function listSnapshots(folder: string): string[] {
  try {
    return readdirSync(folder).filter(isSnapshotName).sort();
  } catch (error) {
    if (isMissing(error)) return [];
    throw new DataError(`DATASETS_DIR ${folder}`, reasonOf(error), "a folder that can be read");
  }
}

export interface FileState {
  /** The file's device, inode and size in one text. A file that isn't regular has its kind instead of the size. */
  identity: string;
  /** `identity` and, for a regular file, the time of the last modification. */
  signature: string;
  /**
   * `signature` and, for a regular file, the time of the last change, including changes of permissions, links and times.
   */
  exact: string;
  /** The kind of file in words; undefined for a regular file. */
  otherThanFile: string | undefined;
}

/** Maximum reads of the folder. Some file systems list files that they then don't find. */
const maxLooks = 3;
/**
 * The state of a file that can't be found by its name, because the name isn't UTF-8. The file is refused later, because
 * the name states no data version.
 */
const unfindable: FileState = { identity: "", signature: "", exact: "", otherThanFile: undefined };

/**
 * Reads the state of each snapshot file in a folder, by name. A file that can't be read has the system's error instead.
 * If a file vanishes meanwhile, reads the folder again, because the whole folder may be vanishing.
 * @throws Error of the system
 */
export async function listStates(folder: string): Promise<Map<string, FileState | Error>> {
  for (let look = 1; ; look++) {
    const states = new Map<string, FileState | Error>();
    const names = (await readdir(folder)).filter(isSnapshotName);
    const found = await Promise.all(
      names.map((name) => stateOf(`${folder}/${name}`).catch((error: Error) => error)),
    );
    let vanished = 0;
    for (const [i, name] of names.entries()) {
      const state = found[i] ?? (name.includes("\ufffd") ? unfindable : undefined);
      if (state === undefined) vanished++;
      else states.set(name, state);
    }
    if (vanished === 0) return states;
    if (look < maxLooks) continue;
    await stat(folder);
    return states;
  }
}

/**
 * Returns the state of a file or of a link's target; undefined if the path doesn't exist.
 * @throws Error, for example when a link's target is missing
 */
export async function stateOf(path: string): Promise<FileState | undefined> {
  try {
    return fileState(await stat(path));
  } catch (error) {
    if (!isMissing(error)) throw error;
    if (await lstat(path).then(() => true, isNotMissing)) throw error;
    return undefined;
  }
}

export function isMissing(error: unknown): boolean {
  return systemCode(error) === "ENOENT";
}

const isNotMissing = (error: unknown) => !isMissing(error);

function fileState(stats: Stats): FileState {
  const otherThanFile = describeOther(stats);
  const identity = `${stats.dev} ${stats.ino} ${otherThanFile ?? stats.size}`;
  // The times of a folder change with its content, and those of a device with its use.
  if (otherThanFile !== undefined) return { identity, signature: identity, exact: identity, otherThanFile };
  const signature = `${identity} ${stats.mtimeMs}`;
  return { identity, signature, exact: `${signature} ${stats.ctimeMs}`, otherThanFile };
}

function describeOther(stats: Stats): string | undefined {
  if (stats.isFile()) return undefined;
  if (stats.isDirectory()) return "a folder";
  if (stats.isFIFO()) return "a FIFO";
  if (stats.isSocket()) return "a socket";
  return "a device";
}

export interface Wanted {
  /** The file's name in errors. */
  name: string;
  path: string;
  onRows: (rows: number) => void;
  /** Whether requests are answered during the load, and mustn't be delayed. */
  isBackground: boolean;
}

export interface OpenFile {
  handle: FileHandle;
  size: number;
}

/** Opens a regular file. @throws DataError when it isn't regular or is too large, Error of the system */
export async function openFile(path: string): Promise<OpenFile> {
  // With O_NONBLOCK, opening doesn't block even if the file has been replaced by a FIFO.
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = await handle.stat();
    const name = basename(path);
    const otherThanFile = describeOther(stats);
    if (otherThanFile !== undefined) throw new DataError(name, otherThanFile, "a regular file");
    if (stats.size > maxSnapshotFileBytes)
      throw new DataError(`${name}: size`, `${stats.size} bytes`, `at most ${maxSnapshotFileBytes}`);
    return { handle, size: stats.size };
  } catch (error) {
    await handle.close();
    throw error;
  }
}
