import { readdirSync, renameSync, rmSync, statfsSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import type { IncomingHttpHeaders } from "node:http";
import { dirname, join } from "node:path";
import { DataError, systemCode } from "../engine/query.ts";
import { makeFolder, sync } from "./files.ts";
import { bodyOf, openAddress, type Patience, retried, type Try } from "./http.ts";

export const spareBytes = 2 ** 24;
/** Advice for the error message when the folder can't be written to, or the disk is full. */
const whereElse = "--out names another folder";

export interface Download extends Patience {
  maxBytes: number;
  /** Throws if the headers don't belong to the wanted file. */
  checkHead?(headers: IncomingHttpHeaders): void;
  /** Receives the bytes downloaded so far in this try, and the size if known. */
  onProgress?(bytes: number, totalBytes: number | undefined): void;
  /** Throws if the content of the complete file is wrong. */
  check(path: string): Promise<void>;
}

/**
 * Downloads a file. The file is called `<path>.<process id>.part` until it is complete, checked and flushed to disk. A
 * process may download only one file at a time into a folder.
 *
 * @throws DataError when downloading or writing fails, or the content is wrong
 */
export async function download(url: string, path: string, wanted: Download): Promise<void> {
  const folder = dirname(path);
  const part = `${path}.${process.pid}.part`;
  try {
    makeFolder(folder);
    deleteStaleParts(folder);
    const bytes = await retried(url, wanted, (currentTry) => receive(url, part, wanted, currentTry));
    const { size } = statSync(part);
    // Processes in different containers may have the same id and write to the same file.
    if (size !== bytes) throw new DataError(part, `${size} bytes`, `the ${bytes} that were downloaded`);
    await wanted.check(part);
    sync(part);
    renameSync(part, path);
    sync(folder);
  } catch (error) {
    throw writeError(part, error);
  } finally {
    deletePart(part);
  }
}

/**
 * Deletes a folder's unfinished downloads, except those of other processes that still run. A file with this process's
 * id was left by an earlier process.
 */
function deleteStaleParts(folder: string): void {
  for (const name of readdirSync(folder)) {
    const [, pid] = /\.([0-9]+)\.part$/.exec(name) ?? [];
    if (pid !== undefined && (Number(pid) === process.pid || !isRunning(Number(pid))))
      deletePart(join(folder, name));
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM means that the process runs, but belongs to another user.
    return systemCode(error) === "EPERM";
  }
}

function deletePart(part: string): void {
  try {
    rmSync(part, { force: true });
  } catch {
    // The error of the download matters more.
  }
}

/** Returns the number of bytes received. @throws Break when a retry may succeed */
async function receive(url: string, part: string, wanted: Download, currentTry: Try): Promise<number> {
  const response = await openAddress(url, currentTry);
  wanted.checkHead?.(response.headers);
  const totalBytes = sizeIn(url, response.headers, wanted.maxBytes);
  const maxBytes = totalBytes ?? wanted.maxBytes;
  if (totalBytes === undefined) wanted.say(`${url}: size unknown, at most ${maxBytes} bytes are taken`);
  else checkSpace(dirname(part), totalBytes);
  const file = await open(part, "w");
  try {
    let bytes = 0;
    wanted.onProgress?.(bytes, totalBytes);
    for await (const chunk of bodyOf(url, response, currentTry)) {
      bytes += chunk.length;
      if (bytes > maxBytes)
        throw new DataError(url, `more than ${maxBytes} bytes`, "a file of that size at most");
      await file.appendFile(chunk);
      wanted.onProgress?.(bytes, totalBytes);
    }
    return bytes;
  } finally {
    await file.close();
  }
}

/**
 * Returns the file's size, or undefined without a Content-Length of at most 15 digits.
 *
 * @throws DataError when the size is 0 or above `maxBytes`
 */
function sizeIn(url: string, headers: IncomingHttpHeaders, maxBytes: number): number | undefined {
  const { "content-length": length = "" } = headers;
  const bytes = /^[0-9]{1,15}$/.test(length) ? Number(length) : undefined;
  if (bytes === 0) throw new DataError(url, "an empty file", "a file with content");
  if (bytes !== undefined && bytes > maxBytes)
    throw new DataError(url, `${bytes} bytes`, `at most ${maxBytes}`);
  return bytes;
}

function checkSpace(folder: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(folder);
  const needed = bytes + spareBytes;
  if (bavail * bsize < needed)
    throw new DataError(
      folder,
      `no room (${bavail * bsize} bytes free)`,
      `at least ${needed} bytes; ${whereElse}`,
    );
}

function writeError(part: string, error: unknown): unknown {
  const code = systemCode(error);
  if (code === undefined) return error;
  const found = /^(ENOSPC|EDQUOT|EFBIG)$/.test(code) ? `no room for more (${code})` : `a refusal (${code})`;
  return new DataError(part, found, `a disk that can be written to, with room for the file; ${whereElse}`);
}
