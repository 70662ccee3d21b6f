import { readFileSync, renameSync, rmSync, statfsSync, statSync } from "node:fs";
import { type FileHandle, open, writeFile } from "node:fs/promises";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { dirname } from "node:path";
import { DataError, systemCode } from "../engine/query.ts";
import { type Agents, Break, bodyOf, openAddress } from "./cms/http.ts";
import { sync } from "./folder.ts";

/** Downloads files. An interrupted download is resumed if the server still has the same file. */

/** Characters that may be sent in a request's headers. */
const headerText = /^[ -~\x80-\xff]+$/;

export interface Receiving {
  agents: Agents;
  signal: AbortSignal;
  /** The file's size, if known in advance. */
  expectedBytes?: number;
  maxBytes: number;
  /** Disk space to keep free. */
  spareBytes: number;
  /** Advice for the error message when the disk is full. */
  whereElse?: string;
  /** Throws if the headers show that it isn't the wanted file. */
  checkHead?: (headers: IncomingHttpHeaders) => void;
  /** Receives the bytes downloaded so far, the size if known, and the bytes received since the last call. */
  onProgress: (bytes: number, totalBytes: number | undefined, added: number) => void;
  /** Receives status lines for the user. */
  say?: (line: string) => void;
}

/** The server's headers for a partly downloaded file; empty strings for missing headers. */
interface PartState {
  etag: string;
  lastModified: string;
  totalBytes: number | null;
}

/**
 * Requests the missing bytes of a file once, and appends what it receives. The part is kept if the connection breaks,
 * and deleted if it can't be resumed.
 *
 * @throws Break when a retry may succeed, DataError when it won't
 */
export async function receive(url: string, part: Part, receiving: Receiving): Promise<void> {
  const { agents, signal, checkHead, onProgress, say } = receiving;
  const had = part.resume();
  if (had !== undefined && part.bytes === had.totalBytes) return;
  const headers: Record<string, string> =
    had === undefined ? {} : { range: `bytes=${part.bytes}-`, "if-range": validatorOf(had) };
  const response = await openAddress(url, headers, signal, agents);
  checkHead?.(response.headers);
  if (response.statusCode === 200) {
    const state = stateOf(url, response.headers, receiving);
    await part.dropUnless(() => part.begin(state));
  } else {
    checkRest(part, had, response);
  }
  const { totalBytes } = part;
  const maxBytes = totalBytes ?? receiving.maxBytes;
  if (totalBytes === undefined) say?.(`${url}: size unknown, at most ${maxBytes} bytes are taken`);
  else checkSpace(part, totalBytes, receiving);
  onProgress(part.bytes, totalBytes, 0);
  await part.append(async (write) => {
    for await (const chunk of bodyOf(url, response, signal)) {
      await part.dropUnless(() => {
        if (part.bytes + chunk.length <= maxBytes) return write(chunk);
        throw new DataError(url, `more than ${maxBytes} bytes`, "a file of that size at most");
      });
      onProgress(part.bytes, totalBytes, chunk.length);
    }
  });
  if (totalBytes !== undefined && part.bytes < totalBytes)
    throw new Break(`an end after ${part.bytes} of ${totalBytes} bytes`);
}

function stateOf(
  url: string,
  headers: IncomingHttpHeaders,
  { expectedBytes, maxBytes }: Receiving,
): PartState {
  const { etag = "", "last-modified": lastModified = "", "content-length": length = "" } = headers;
  const totalBytes = /^[0-9]{1,15}$/.test(length) ? Number(length) : (expectedBytes ?? null);
  if (totalBytes === 0) throw new DataError(url, "an empty file", "a file with content");
  if (totalBytes !== null && totalBytes > maxBytes)
    throw new DataError(url, `${totalBytes} bytes`, `at most ${maxBytes}`);
  if (expectedBytes !== undefined && totalBytes !== expectedBytes)
    throw new DataError(url, `${totalBytes} bytes`, `${expectedBytes}`);
  return { etag, lastModified, totalBytes };
}

const isStrong = (etag: string) => etag.startsWith('"');

/** The value of If-Range: a strong ETag, or else the date; empty if the server sent neither. */
function validatorOf({ etag, lastModified }: PartState): string {
  return isStrong(etag) ? etag : lastModified;
}

/**
 * Whether a response is for the same file. Some servers ignore If-Range and send the rest of a changed file. A response
 * with a strong ETag may lack the date (RFC 9110, 15.3.7).
 */
function isOfSameFile({ etag, lastModified }: PartState, headers: IncomingHttpHeaders): boolean {
  const { etag: newEtag = "", "last-modified": newDate = "" } = headers;
  if (newEtag !== etag) return false;
  return newDate === lastModified || (isStrong(etag) && [newDate, lastModified].includes(""));
}

/** @throws Break when the response doesn't continue the part, which is deleted then */
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

function checkSpace(
  part: Part,
  totalBytes: number,
  { spareBytes, whereElse = "--out names another folder" }: Receiving,
): void {
  const { bavail, bsize } = statfsSync(dirname(part.path));
  const needed = totalBytes - part.bytes + spareBytes;
  if (bavail * bsize >= needed) return;
  // A part with content is kept, to be resumed when there is space.
  if (part.bytes === 0) part.drop();
  throw new DataError(
    dirname(part.path),
    `no room (${bavail * bsize} bytes free)`,
    `at least ${needed} bytes; ${whereElse}`,
  );
}

/** Turns a system error of writing a file into a DataError. */
export function writeError(path: string, error: unknown): unknown {
  const code = systemCode(error);
  if (code === undefined) return error;
  const found = /^(ENOSPC|EDQUOT|EFBIG)$/.test(code) ? `no room for more (${code})` : `a refusal (${code})`;
  return new DataError(path, found, "a disk that can be written to, with room for the file");
}

/** A partly downloaded file, with the server's headers for it in a file beside it. */
export class Part {
  readonly path: string;
  readonly statePath: string;
  bytes = 0;
  totalBytes: number | undefined;
  #most = 0;
  #mostBefore = 0;

  constructor(path: string) {
    this.path = `${path}.part`;
    this.statePath = `${path}.part.json`;
  }

  /** Whether the part has grown beyond its largest size since the last call. */
  hasGained(): boolean {
    const hasGained = this.#most > this.#mostBefore;
    this.#mostBefore = this.#most;
    return hasGained;
  }

  /** Reads the existing part. @returns the server's headers for it; undefined if there is nothing to resume */
  resume(): PartState | undefined {
    try {
      const state: PartState = JSON.parse(readFileSync(this.statePath, "utf8"));
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
      // It is missing or damaged.
    }
    this.bytes = 0;
    return undefined;
  }

  async begin(state: PartState): Promise<void> {
    // In this order, so that content is never paired with the headers of another file.
    await (await open(this.path, "w")).close();
    await writeFile(this.statePath, JSON.stringify(state));
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

  /** Flushes the complete part to disk and gives it its final name. If `check` throws, the part is deleted. */
  async finish(path: string, check: () => Promise<void>): Promise<void> {
    await this.dropUnless(async () => {
      const { size } = statSync(this.path);
      if (size !== this.bytes)
        throw new DataError(
          this.path,
          `${size} bytes`,
          `the ${this.bytes} bytes that were downloaded; another process may be writing to this file`,
        );
      await check();
      sync(this.path);
      renameSync(this.path, path);
      sync(dirname(path));
      rmSync(this.statePath, { force: true });
    });
  }

  async dropUnless(work: () => void | Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.drop();
      throw writeError(this.path, error);
    }
  }

  drop(): void {
    this.bytes = 0;
    try {
      rmSync(this.statePath, { force: true });
      rmSync(this.path, { force: true });
    } catch {
      // Ignored: the error being thrown matters more.
    }
  }
}
