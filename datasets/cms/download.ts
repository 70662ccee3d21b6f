import { closeSync, existsSync, openSync, rmSync } from "node:fs";
import type { IncomingHttpHeaders } from "node:http";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import { DataError, systemCode } from "../../engine/index.ts";
import { Part, receive, writeError } from "../download.ts";
import { identityOf, makeFolder } from "../folder.ts";
import { type Network, retried } from "./http.ts";

/** Downloads a file from CMS with retries. Only one process downloads a file at a time. */

/** Ten times the largest release. */
const maxFileBytes = 2 ** 30;
/** Maximum consecutive tries without progress. */
const maxTries = 6;
/** Disk space to keep free for the snapshot. */
const spareBytes = 2 ** 24;
/** Maximum wait for the lock on a download. While two processes compete for it, each holds it for microseconds only. */
const maxClaimMs = 100;
/** Content types that can't be CSV files, such as web pages. */
const foreignTypes =
  /^(text\/html|application\/(xhtml|json|xml|zip|gzip|pdf)|image\/|audio\/|video\/|multipart\/)/;

/** Receives the bytes downloaded so far, and the total if the server states it. */
export type ByteProgress = (bytes: number, totalBytes: number | undefined) => void;

interface Downloading extends Network {
  onProgress: ByteProgress;
  /** Throws if the content is wrong; the file is deleted then. */
  check(path: string): Promise<void>;
}

/**
 * Downloads a file, or resumes its download. The file is called `<path>.part` until it is complete, checked and flushed
 * to disk.
 *
 * @throws DataError when the file can't be downloaded or written, or its content is wrong; an interrupted part is kept
 */
export async function download(url: string, path: string, downloading: Downloading): Promise<void> {
  const { agents, onProgress, say, check } = downloading;
  const part = new Part(path);
  makeFolderOf(path);
  const giveUpClaim = claim(path);
  try {
    await retried(
      url,
      downloading,
      maxTries,
      (signal, alive) =>
        receive(url, part, {
          ...{ agents, signal, say, maxBytes: maxFileBytes, spareBytes },
          checkHead: (headers) => checkType(url, headers),
          onProgress(bytes, totalBytes) {
            alive();
            onProgress(bytes, totalBytes);
          },
        }),
      () => part.hasGained(),
    );
    await part.finish(path, () => check(part.path));
  } finally {
    giveUpClaim();
  }
}

function makeFolderOf(path: string): void {
  const folder = dirname(path);
  try {
    makeFolder(folder);
  } catch (error) {
    const code = systemCode(error);
    if (code === undefined) throw error;
    const expected = "one that can; --out names another";
    throw new DataError(folder, `a folder that can't be created (${code})`, expected);
  }
}

/**
 * Keeps two processes, even in different containers, from writing to the same part, by a lock on a file beside it. The
 * operating system releases the lock when the process ends. @returns a function that releases the lock
 */
function claim(path: string): () => void {
  const lock = `${path}.part.lock`;
  let database: Database.Database | undefined;
  try {
    // Created here, because SQLite wouldn't report the system's error.
    if (!existsSync(lock)) closeSync(openSync(lock, "a"));
    const identity = identityOf(lock);
    const claimed = new Database(lock, { timeout: maxClaimMs });
    database = claimed;
    // Nothing is written, so no journal file is needed.
    claimed.pragma("journal_mode = MEMORY");
    claimed.exec("BEGIN EXCLUSIVE");
    // The previous owner may have deleted the lock file meanwhile.
    if (identity === undefined || identityOf(lock) !== identity) throw claimedError(path);
    return () => {
      rmSync(lock, { force: true });
      claimed.close();
    };
  } catch (error) {
    database?.close();
    if (!(error instanceof Database.SqliteError)) throw writeError(lock, error);
    if (error.code === "SQLITE_BUSY") throw claimedError(path);
    throw new DataError(
      lock,
      `no lock (${error.message})`,
      "a file to be locked; --out names another folder",
    );
  }
}

function claimedError(path: string): DataError {
  return new DataError(path, "another process that downloads it", "one at a time");
}

function checkType(url: string, headers: IncomingHttpHeaders): void {
  const type = (headers["content-type"] ?? "").trim().toLowerCase();
  if (foreignTypes.test(type)) throw new DataError(url, `a file of type ${type}`, "text/csv");
}
