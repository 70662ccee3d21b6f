import { closeSync, existsSync, openSync, rmSync } from "node:fs";
import type { IncomingHttpHeaders } from "node:http";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import { DataError, systemCode } from "../../engine/index.ts";
import { Part, receive, writeError } from "../download.ts";
import { identityOf, makeFolder } from "../folder.ts";
import { type Network, retried } from "./http.ts";

/** Downloads one of CMS's files, with retries, and by one process at a time. */

/** Ten times the largest release. */
const maxFileBytes = 2 ** 30;
/** In a row, without a further byte. */
const maxTries = 6;
/** Room left on the disk for the snapshot that the file becomes. */
const spareBytes = 2 ** 24;
/** Wait for a claim: two processes that want the same one hold it for microseconds. */
const maxClaimMs = 100;
/** Content types of web pages and of other kinds of files. */
const foreignTypes =
  /^(text\/html|application\/(xhtml|json|xml|zip|gzip|pdf)|image\/|audio\/|video\/|multipart\/)/;

/** Receives the bytes that are there, and the size where the server says it. */
export type ByteProgress = (bytes: number, totalBytes: number | undefined) => void;

interface Downloading extends Network {
  onProgress: ByteProgress;
  /** Throws where the content isn't what it should be; the file isn't kept then. */
  check(path: string): Promise<void>;
}

/**
 * Downloads a file, or the rest of one. It gets its name when it is complete, checked and on the disk; until then it is
 * called `<path>.part`.
 *
 * @throws DataError when it can't be downloaded or written, or isn't what it should be; an interrupted part is kept
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
 * Keeps two processes from writing to the same part, also in different containers: the lock is on a file beside the part,
 * and the operating system drops it with its process. @returns what releases it
 */
function claim(path: string): () => void {
  const lock = `${path}.part.lock`;
  let database: Database.Database | undefined;
  try {
    // SQLite wouldn't pass on the system's error.
    if (!existsSync(lock)) closeSync(openSync(lock, "a"));
    const identity = identityOf(lock);
    const claimed = new Database(lock, { timeout: maxClaimMs });
    database = claimed;
    // Nothing is written, so no journal file is needed.
    claimed.pragma("journal_mode = MEMORY");
    claimed.exec("BEGIN EXCLUSIVE");
    // Its owner may have been deleting it just then.
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
