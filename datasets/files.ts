import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { DataError, systemCode } from "../engine/query.ts";

/**
 * Makes a folder and its parents unless they exist. Node's `recursive` option isn't used, because it never returns on a
 * file system such as /proc, which refuses new names.
 */
export function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  try {
    mkdirSync(folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
  }
}

export function sync(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Checks that a path is a regular file, because reading a FIFO may block for ever. @throws DataError */
export function checkRegular(path: string, expected: string): void {
  try {
    if (statSync(path).isFile()) return;
  } catch (error) {
    throw unreadable(path, expected, error);
  }
  throw new DataError(path, "something that isn't a regular file", expected);
}

/** @throws DataError when the path isn't a regular file or can't be read */
export function readRegular(path: string, expected: string): Buffer {
  checkRegular(path, expected);
  try {
    return readFileSync(path);
  } catch (error) {
    throw unreadable(path, expected, error);
  }
}

function unreadable(path: string, expected: string, error: unknown): unknown {
  const code = systemCode(error);
  return code === undefined ? error : new DataError(path, `no readable file (${code})`, expected);
}

/**
 * Returns the error to throw when a folder can't be written: a DataError for an error of the operating system,
 * otherwise the same error.
 * @param bytes the room that the new file needs, if it is known
 */
export function unwritable(folder: string, error: unknown, bytes?: number): unknown {
  const code = systemCode(error);
  if (code === "ENOSPC" || code === "EDQUOT") {
    const needed = bytes === undefined ? "room for the new files" : `${Math.ceil(bytes / 1024)} KiB of room`;
    const advice = "name a folder on another disk, or delete other files from this one";
    return new DataError(folder, `no room on its disk (${code})`, `${needed}: ${advice}`);
  }
  return code === undefined
    ? error
    : new DataError(folder, `a folder that can't be written (${code})`, "a folder that can be written");
}
