import { randomBytes } from "node:crypto";
import { chmodSync, rmSync, statfsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { DataError, systemCode } from "../../engine/query.ts";

/**
 * Keeps a reserve of room on the state's disk. Even reading the state needs room for SQLite's -shm file. If the disk is
 * full, the reserve is deleted to get this room.
 */

/**
 * The reserve's size in bytes, and the minimum free room for a server to be ready. Half of it is for the -shm file, the
 * rest for counts.
 */
export const reserveBytes = 64 * 1024;
/** Bytes of room that a new state needs for its database, its reserve, and the first counts. */
export const newStateBytes = 512 * 1024;

export const reserveFile = (folder: string) => join(folder, "server.reserve");

export class NoRoom extends DataError {
  /** @param place the file or folder that needs room @param isNew whether it is a new state, which needs more room */
  constructor(place: string, isNew = false) {
    const kibibytes = (isNew ? newStateBytes : reserveBytes) / 1024;
    super(
      place,
      "no room on its disk",
      `at least ${kibibytes} KiB of room: delete other files from the disk, or move STATE_DIR to another disk`,
    );
  }
}

export function noRoomFor(file: string, bytes: number): DataError {
  return new DataError(
    `file ${file}`,
    "no room on its disk",
    `${Math.ceil(bytes / 1024)} KiB of room: name a file on another disk, or delete other files from this one`,
  );
}

export function isNoRoom(error: unknown): boolean {
  if (error instanceof Database.SqliteError) return /^SQLITE_(FULL|IOERR_SHMSIZE)$/.test(error.code);
  return error instanceof NoRoom || /^(ENOSPC|EDQUOT)$/.test(systemCode(error) ?? "");
}

/** Returns the free room on a folder's disk in bytes; infinity on file systems that don't know their size. */
function freeBytes(folder: string): number {
  const { blocks, bfree, bavail, bsize } = statfsSync(folder);
  if (blocks === 0) return Number.POSITIVE_INFINITY;
  return (process.getuid?.() === 0 ? bfree : bavail) * bsize;
}

/** @param place the file or folder to be made @throws NoRoom when less than `newStateBytes` is free */
export function checkRoomForNew(folder: string, place: string): void {
  if (freeBytes(folder) < newStateBytes) throw new NoRoom(place, true);
}

/**
 * Makes the reserve of a state folder, unless it exists in full.
 * @throws NoRoom when less than `reserveBytes` is free, even if the reserve exists; an error of the system
 */
export function keepReserve(folder: string): void {
  if (freeBytes(folder) < reserveBytes) throw new NoRoom(`STATE_DIR ${folder}`);
  const file = reserveFile(folder);
  if (statSync(file, { throwIfNoEntry: false })?.size === reserveBytes) return;
  rmSync(file, { force: true });
  // The reserve has random bytes, because some file systems don't store zeros.
  try {
    writeFileSync(file, randomBytes(reserveBytes), { mode: 0o600 });
    chmodSync(file, 0o600);
  } catch (error) {
    // A part of a reserve would take room from the counts.
    rmSync(file, { force: true });
    throw error;
  }
}

const spent = new Set<string>();

/**
 * Runs work that needs little room. If the disk is full, deletes the reserve and runs the work again. Makes the reserve
 * again at the end of the process, if there is room then.
 */
export function withReserve<Result>(folder: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    const file = reserveFile(folder);
    if (!isNoRoom(error) || statSync(file, { throwIfNoEntry: false }) === undefined) throw error;
    rmSync(file, { force: true });
    if (spent.size === 0) process.once("exit", keepSpent);
    spent.add(folder);
    return work();
  }
}

function keepSpent(): void {
  for (const folder of spent)
    try {
      keepReserve(folder);
    } catch {
      // The next server makes the reserve when there is room.
    }
}
