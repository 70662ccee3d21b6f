import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
} from "node:fs";
import { type FileHandle, open, writeFile } from "node:fs/promises";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import { DataError, systemCode } from "../../engine/index.ts";
import { makeFolder, sync } from "../folder.ts";
import { identityOf } from "../state.ts";
import { Break, bodyOf, type Network, openAddress, retried } from "./http.ts";

/** Bytes of a release, at most: ten times the largest. */
const maxFileBytes = 2 ** 30;
/** In a row, without a byte more. */
const maxTries = 6;
/** Beside the file, for what it becomes. */
const spareBytes = 2 ** 24;
/** Two that want the same claim are in each other's way for microseconds. */
const maxClaimMs = 100;
/** What a server calls a page, or another kind of file. */
const foreignTypes =
  /^(text\/html|application\/(xhtml|json|xml|zip|gzip|pdf)|image\/|audio\/|video\/|multipart\/)/;

/** Values that may be sent in a request header. */
const headerText = /^[ -~\x80-\xff]+$/;

/** Bytes that are there, and all of them where the server says how many. */
export type ByteProgress = (bytes: number, totalBytes: number | undefined) => void;

interface Downloading extends Network {
  onProgress: ByteProgress;
  /** Throws if the file isn't a release. It is deleted then. */
  check(path: string): Promise<void>;
}

/** What the server said of a file of which a part is there: what tells it from a changed one, and its size. */
interface PartState {
  /** Empty where there is none. */
  etag: string;
  /** Empty where there is none. */
  lastModified: string;
  totalBytes: number | null;
}

/**
 * Downloads a file, or resumes its download. Until the file is complete, checked and on the disk, it is called
 * `<path>.part`.
 *
 * @throws DataError when it can't be downloaded, isn't a release, or can't be written; a partial download is kept
 */
export async function download(url: string, path: string, downloading: Downloading): Promise<void> {
  const part = new Part(path);
  makeFolderOf(path);
  const giveUpClaim = claim(path);
  try {
    await retried(
      url,
      downloading,
      maxTries,
      (signal, alive) => receive(url, part, downloading, signal, alive),
      () => part.hasGained(),
    );
    await dropping(part, async () => {
      part.checkSize();
      await downloading.check(part.path);
      part.finish(path);
    });
  } finally {
    giveUpClaim();
  }
}

/** Calls a function that works on a part, and deletes the part if it fails. */
async function dropping(part: Part, work: () => void | Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    part.drop();
    throw writeError(part.path, error);
  }
}

function makeFolderOf(path: string): void {
  const folder = dirname(path);
  try {
    makeFolder(folder);
  } catch (error) {
    const code = systemCode(error);
    if (code === undefined) throw error;
    const expected = "a folder that can be made; --out names another";
    throw new DataError(folder, `none, and a refusal to make it (${code})`, expected);
  }
}

/** The error for a file that can't be written. */
function writeError(path: string, error: unknown): unknown {
  const code = systemCode(error);
  if (code === undefined) return error;
  const found = /^(ENOSPC|EDQUOT|EFBIG)$/.test(code) ? `no room for more (${code})` : `a refusal (${code})`;
  return new DataError(path, found, "a disk that can be written to, with room for the file");
}

/**
 * Keeps two downloads of one file from writing to the same part, by whatever name and from whatever container they know
 * the folder: the lock is on a file there. The system ends it with its process.
 *
 * @returns what ends it sooner
 */
function claim(path: string): () => void {
  const lock = `${path}.part.lock`;
  let database: Database.Database | undefined;
  try {
    // Not left to SQLite, which doesn't tell what the system says.
    if (!existsSync(lock)) closeSync(openSync(lock, "a"));
    const identity = identityOf(lock);
    const claimed = new Database(lock, { timeout: maxClaimMs });
    database = claimed;
    // No file for a journal: nothing is written.
    claimed.pragma("journal_mode = MEMORY");
    claimed.exec("BEGIN EXCLUSIVE");
    // It may be one that its owner was just taking away.
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

/** One attempt: requests the missing bytes and writes what arrives. */
async function receive(
  url: string,
  part: Part,
  { agents, onProgress, say }: Downloading,
  signal: AbortSignal,
  alive: () => void,
): Promise<void> {
  const had = part.resume();
  if (had !== undefined && part.bytes === had.totalBytes) return;
  const headers: Record<string, string> =
    had === undefined ? {} : { range: `bytes=${part.bytes}-`, "if-range": validatorOf(had) };
  const response = await openAddress(url, headers, signal, agents);
  alive();
  checkType(url, response.headers);
  if (response.statusCode === 200) {
    const state = stateOf(url, response.headers);
    await dropping(part, () => part.begin(state));
  } else {
    checkRest(part, had, response);
  }
  const { totalBytes } = part;
  if (totalBytes === undefined) say(`${url}: size unknown, at most ${maxFileBytes} bytes are taken`);
  else checkSpace(part, totalBytes);
  onProgress(part.bytes, totalBytes);
  const maxBytes = totalBytes ?? maxFileBytes;
  await part.append(async (write) => {
    for await (const chunk of bodyOf(url, response, signal)) {
      alive();
      await dropping(part, () => {
        if (part.bytes + chunk.length <= maxBytes) return write(chunk);
        throw new DataError(url, `more than ${maxBytes} bytes`, "a file of that size at most");
      });
      onProgress(part.bytes, totalBytes);
    }
  });
  if (totalBytes !== undefined && part.bytes < totalBytes)
    throw new Break(`an end after ${part.bytes} of ${totalBytes} bytes`);
}

function checkType(url: string, headers: IncomingHttpHeaders): void {
  const type = (headers["content-type"] ?? "").trim().toLowerCase();
  if (foreignTypes.test(type)) throw new DataError(url, `a file of type ${type}`, "text/csv");
}

function stateOf(url: string, headers: IncomingHttpHeaders): PartState {
  const { etag = "", "last-modified": lastModified = "", "content-length": length = "" } = headers;
  const totalBytes = /^[0-9]{1,15}$/.test(length) ? Number(length) : null;
  if (totalBytes === 0) throw new DataError(url, "an empty file", "a CSV file");
  if (totalBytes !== null && totalBytes > maxFileBytes)
    throw new DataError(url, `${totalBytes} bytes`, `at most ${maxFileBytes}`);
  return { etag, lastModified, totalBytes };
}

const isStrong = (etag: string) => etag.startsWith('"');

/** The value of If-Range: a strong ETag, or else a date; empty if there is neither. */
function validatorOf({ etag, lastModified }: PartState): string {
  return isStrong(etag) ? etag : lastModified;
}

/**
 * Whether a response is of the same file. Some servers also send the rest of a changed file. Beside a strong ETag the
 * date may be missing (RFC 9110, 15.3.7).
 */
function isOfSameFile({ etag, lastModified }: PartState, headers: IncomingHttpHeaders): boolean {
  const { etag: newEtag = "", "last-modified": newDate = "" } = headers;
  if (newEtag !== etag) return false;
  return newDate === lastModified || (isStrong(etag) && [newDate, lastModified].includes(""));
}

/** @throws Break when the answer isn't the rest of the part, which is deleted then */
function checkRest(part: Part, had: PartState | undefined, { statusCode, headers }: IncomingMessage): void {
  const { "content-range": range = "" } = headers;
  const [, start, total] = /^bytes ([0-9]+)-[0-9]+\/([0-9]+)$/.exec(range) ?? [];
  if (
    had !== undefined &&
    statusCode === 206 &&
    Number(start) === part.bytes &&
    Number(total) === (had.totalBytes ?? Number(total)) &&
    isOfSameFile(had, headers)
  )
    return;
  part.drop();
  throw new Break(statusCode === 416 ? "no rest of what is there" : "another part than was asked for");
}

function checkSpace(part: Part, totalBytes: number): void {
  const { bavail, bsize } = statfsSync(dirname(part.path));
  const needed = totalBytes - part.bytes + spareBytes;
  if (bavail * bsize >= needed) return;
  // What has come before may be gone on with once there is room.
  if (part.bytes === 0) part.drop();
  throw new DataError(
    dirname(part.path),
    `no room (${bavail * bsize} bytes free)`,
    `at least ${needed} bytes; --out names another folder`,
  );
}

/** A partial download, and beside it the validators that the server sent. */
class Part {
  readonly path: string;
  readonly #statePath: string;
  bytes = 0;
  totalBytes: number | undefined;
  /** The largest size so far. */
  #most = 0;
  #mostBefore = 0;

  constructor(path: string) {
    this.path = `${path}.part`;
    this.#statePath = `${path}.part.json`;
  }

  /** Whether the part has grown beyond its largest size since the last call. */
  hasGained(): boolean {
    const hasGained = this.#most > this.#mostBefore;
    this.#mostBefore = this.#most;
    return hasGained;
  }

  /** What was said of the part that is there; undefined where there is none to go on with. */
  resume(): PartState | undefined {
    try {
      const state: PartState = JSON.parse(readFileSync(this.#statePath, "utf8"));
      const { size } = statSync(this.path);
      if (
        typeof state.etag === "string" &&
        typeof state.lastModified === "string" &&
        headerText.test(validatorOf(state)) &&
        size > 0 &&
        size <= (state.totalBytes ?? size)
      ) {
        this.bytes = size;
        this.totalBytes = state.totalBytes ?? undefined;
        return state;
      }
    } catch {
      // Nothing there, or nothing that can be read.
    }
    this.bytes = 0;
    return undefined;
  }

  /** Starts again from the beginning. */
  async begin(state: PartState): Promise<void> {
    // In this order: no part is ever taken for one of another state.
    await (await open(this.path, "w")).close();
    await writeFile(this.#statePath, JSON.stringify(state));
    this.bytes = 0;
    this.totalBytes = state.totalBytes ?? undefined;
  }

  async append(work: (write: (chunk: Uint8Array) => Promise<void>) => Promise<void>): Promise<void> {
    let handle: FileHandle | undefined;
    try {
      handle = await open(this.path, "a");
      const file = handle;
      await work(async (chunk) => {
        await file.appendFile(chunk);
        this.bytes += chunk.length;
        this.#most = Math.max(this.#most, this.bytes);
      });
    } catch (error) {
      throw writeError(this.path, error);
    } finally {
      await handle?.close();
    }
  }

  /** @throws DataError when there is something else than what has come */
  checkSize(): void {
    const { size } = statSync(this.path);
    if (size !== this.bytes)
      throw new DataError(
        this.path,
        `${size} bytes`,
        `the ${this.bytes} that came, and nobody else to write to it`,
      );
  }

  /** Renames the complete file. */
  finish(path: string): void {
    sync(this.path);
    renameSync(this.path, path);
    sync(dirname(path));
    rmSync(this.#statePath, { force: true });
  }

  drop(): void {
    this.bytes = 0;
    try {
      rmSync(this.#statePath, { force: true });
      rmSync(this.path, { force: true });
    } catch {
      // What made it worthless is said, and matters more.
    }
  }
}
