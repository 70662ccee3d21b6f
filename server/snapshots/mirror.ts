import { link, lstat, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "pino";
import * as v from "valibot";
import { type IndexEntry, newestFirst, sha256Of, snapshotIndex } from "../../datasets/snapshot-index.ts";
import { DataError, reasonOf, shown } from "../../engine/query.ts";
import { isMissing } from "./folder.ts";

/** Fetches the snapshots that an index elsewhere names into the snapshots' folder, and takes out those that it names no more. */

export interface MirrorOptions {
  /** The index's. */
  url: string;
  /** The snapshots'. */
  folder: string;
  log: Logger;
  /** In so long at least `leastBytes` have to come. */
  stallMs?: number;
}

const maxIndexBytes = 1 << 20;
/** Slower ones are given up, so that they don't keep others waiting; what has come stays. */
const leastBytes = 64 << 10;
const defaultStallMs = 15_000;
/** Pauses before a file is tried again, which double. */
const firstPauseMs = 1000;
const maxPauseMs = 300_000;
const endOfPart = ".part";

interface Failure {
  reason: string;
  pauseMs: number;
  againMs: number;
}

export class Mirror {
  readonly #options: MirrorOptions;
  /** In it lies again, as a second link, what was fetched: anything else in the snapshots' folder is the operator's. */
  readonly #fetched: string;
  readonly #stopping = new AbortController();
  /** By version. */
  readonly #failures = new Map<string, Failure>();
  /** Files that are as the index says, by version, and what each was when it was compared. */
  readonly #compared = new Map<string, string>();
  /** What came last of a file by its SHA-256: its ETag there. */
  readonly #validators = new Map<string, string>();
  #index: IndexEntry[] = [];
  #etag: string | undefined;
  #indexTrouble: string | undefined;
  #polling: Promise<void> | undefined;
  /** When the folder had all that the index named; before it had it first, when the process began. */
  #syncedMs = 0;

  constructor(options: MirrorOptions) {
    this.#options = options;
    this.#fetched = join(options.folder, ".fetched");
  }

  /**
   * Looks at the index, and fetches what isn't here. A call during another one is that one. Never rejects.
   *
   * @param steadyMs by a clock that never steps: a file that couldn't be fetched is tried again after a pause
   */
  poll(steadyMs: number): Promise<void> {
    this.#polling ??= this.#poll(steadyMs).finally(() => {
      this.#polling = undefined;
    });
    return this.#polling;
  }

  /** Since the look after which all was here that the index names; since the process began, where it never was. */
  syncAgeMs(steadyMs: number): number {
    return steadyMs - this.#syncedMs;
  }

  /** Gives up what is under way; what has come of it stays for the next start. */
  async close(): Promise<void> {
    this.#stopping.abort(new Error("stopped"));
    await this.#polling;
  }

  async #poll(steadyMs: number): Promise<void> {
    try {
      await mkdir(this.#fetched, { recursive: true });
      await this.#readIndex();
      this.#indexTrouble = undefined;
    } catch (error) {
      const reason = reasonOf(error);
      if (this.#stopping.signal.aborted) return;
      // What is here is served on.
      if (reason !== this.#indexTrouble)
        this.#options.log.error({ reason }, "the index of snapshots can't be read");
      this.#indexTrouble = reason;
      return;
    }
    for (const entry of this.#index) {
      if (this.#stopping.signal.aborted) return;
      const failure = this.#failures.get(entry.version);
      if (failure !== undefined && steadyMs < failure.againMs) continue;
      try {
        await this.#bring(entry);
        this.#failures.delete(entry.version);
      } catch (error) {
        this.#note(entry, reasonOf(error), failure, steadyMs);
      }
    }
    try {
      await this.#takeOut();
      if (this.#failures.size === 0) this.#syncedMs = steadyMs;
    } catch (error) {
      this.#options.log.error(
        { reason: reasonOf(error) },
        "snapshots that the index names no more can't be taken out",
      );
    }
  }

  #note({ version }: IndexEntry, reason: string, before: Failure | undefined, steadyMs: number): void {
    if (this.#stopping.signal.aborted) return;
    if (reason !== before?.reason)
      this.#options.log.error({ version, reason }, "a snapshot can't be fetched yet: it is tried again");
    const pauseMs = Math.min(maxPauseMs, before === undefined ? firstPauseMs : 2 * before.pauseMs);
    this.#failures.set(version, { reason, pauseMs, againMs: steadyMs + pauseMs });
  }

  async #readIndex(): Promise<void> {
    const { url } = this.#options;
    const { signal, progress, done } = this.#watch();
    try {
      const headers = { "Accept-Encoding": "identity", ...(this.#etag && { "If-None-Match": this.#etag }) };
      const response = await fetch(url, { headers, signal });
      if (response.status === 304 && this.#etag !== undefined) return;
      if (response.status !== 200) throw new DataError(url, `the status ${response.status}`, "200");
      const chunks: Uint8Array[] = [];
      let bytes = 0;
      for await (const chunk of response.body ?? []) {
        bytes += chunk.length;
        progress(chunk.length);
        if (bytes > maxIndexBytes) throw new DataError(url, "more", `at most ${maxIndexBytes} bytes`);
        chunks.push(chunk);
      }
      this.#index = indexIn(Buffer.concat(chunks).toString(), url).toSorted(newestFirst);
      this.#etag = response.headers.get("etag") ?? undefined;
    } catch (error) {
      throw explained(error, url);
    } finally {
      done();
    }
  }

  /** Sees to it that a version is in the folder. @throws Error when it isn't, or what is there is something else */
  async #bring(entry: IndexEntry): Promise<void> {
    const { version, bytes, sha256 } = entry;
    const path = join(this.#options.folder, nameOf(version));
    if ((await identityOf(path)) !== undefined) return this.#compare(entry, path);
    const fetched = join(this.#fetched, nameOf(version));
    const part = join(this.#fetched, `${sha256}${endOfPart}`);
    if ((await identityOf(fetched)) === undefined || (await sha256Of(fetched)) !== sha256) {
      await this.#fetch(entry, part);
      const found = await sha256Of(part);
      if (found !== sha256) {
        await rm(part);
        throw new DataError(`${version}: SHA-256 of ${bytes} bytes that were fetched`, found, sha256);
      }
      await rename(part, fetched);
    }
    try {
      // A link, unlike a rename, never takes the place of what the operator puts there meanwhile.
      await link(fetched, path);
    } catch (error) {
      if (!isTaken(error)) throw error;
      return this.#compare(entry, path);
    }
    this.#options.log.info({ version, bytes }, "snapshot fetched");
  }

  /** @throws DataError when a file is another one than the index says: it stays, as it may be the operator's */
  async #compare({ version, sha256 }: IndexEntry, path: string): Promise<void> {
    const { ino, mtimeMs, size } = await stat(path);
    const state = `${sha256} ${ino} ${mtimeMs} ${size}`;
    if (this.#compared.get(version) === state) return;
    const found = await sha256Of(path);
    if (found !== sha256)
      throw new DataError(
        `${version}.parquet: SHA-256`,
        found,
        `${sha256}, as the index says: what is here stays, and is served as far as it is sound`,
      );
    this.#compared.set(version, state);
  }

  /** Fetches what is missing of a file; what has come stays when the connection fails. */
  async #fetch({ version, file, bytes, sha256 }: IndexEntry, part: string): Promise<void> {
    const handle = await open(part, "a");
    const { signal, progress, done } = this.#watch();
    const url = new URL(file, this.#options.url).href;
    try {
      let { size } = await handle.stat();
      if (size === bytes) return;
      // Of what came before a restart no validator is known: that it belongs together is seen by its SHA-256.
      const validator = this.#validators.get(sha256);
      const resuming = size > 0 && { Range: `bytes=${size}-`, ...(validator && { "If-Range": validator }) };
      const response = await fetch(url, { headers: { "Accept-Encoding": "identity", ...resuming }, signal });
      const range = response.headers.get("content-range") ?? "none";
      if (response.status === 200) {
        await handle.truncate();
        size = 0;
      } else if (response.status === 416 || (response.status === 206 && !isRest(range, size, bytes))) {
        await rm(part);
        throw new DataError(url, `the status ${response.status}, range ${range}`, `${size} to ${bytes}`);
      } else if (response.status !== 206) throw new DataError(url, `the status ${response.status}`, "200");
      const etag = response.headers.get("etag");
      if (etag?.startsWith('"')) this.#validators.set(sha256, etag);
      else this.#validators.delete(sha256);
      for await (const chunk of response.body ?? []) {
        progress(chunk.length);
        size += chunk.length;
        if (size > bytes) {
          await rm(part);
          throw new DataError(url, "more", `the ${bytes} bytes of ${version}`);
        }
        await handle.appendFile(chunk);
      }
      if (size < bytes) throw new DataError(url, `its end after ${size} bytes`, `the ${bytes} of ${version}`);
      await handle.sync();
    } catch (error) {
      throw explained(error, url);
    } finally {
      done();
      await handle.close();
    }
  }

  /** Deletes what was fetched of versions that the index names no more, with its link in the snapshots' folder. */
  async #takeOut(): Promise<void> {
    const names = this.#index.flatMap(({ version, sha256 }) => [nameOf(version), sha256 + endOfPart]);
    for (const name of (await readdir(this.#fetched)).filter((name) => !names.includes(name))) {
      const [fetched, path] = [join(this.#fetched, name), join(this.#options.folder, name)];
      const [ours, served] = await Promise.all([fetched, path].map((file) => identityOf(file)));
      if (served !== undefined && served === ours) {
        await rm(path);
        this.#options.log.info({ file: name }, "snapshot taken out: the index names it no more");
      }
      await rm(fetched);
    }
    const versions = new Set(this.#index.map(({ version }) => version));
    for (const known of [this.#failures, this.#compared])
      for (const version of known.keys()) if (!versions.has(version)) known.delete(version);
  }

  /** Ends what makes too little progress, or goes on when this is closed. */
  #watch() {
    const { stallMs = defaultStallMs } = this.#options;
    const stalled = new AbortController();
    let came = 0;
    const timer = setInterval(() => {
      if (came < leastBytes)
        stalled.abort(new Error(`${came} bytes came in ${stallMs / 1000} s, expected ${leastBytes}`));
      came = 0;
    }, stallMs);
    return {
      signal: AbortSignal.any([this.#stopping.signal, stalled.signal]),
      progress(bytes: number) {
        came += bytes;
      },
      /** Lets go of the connection, too, when not all of an answer was read. */
      done() {
        clearInterval(timer);
        stalled.abort();
      },
    };
  }
}

const nameOf = (version: string) => `${version}.parquet`;

/** Whether a range goes from so many bytes to the end of so many. */
function isRest(range: string, from: number, bytes: number): boolean {
  return [`${bytes}`, "*"].some((all) => range === `bytes ${from}-${bytes - 1}/${all}`);
}

async function identityOf(path: string): Promise<string | undefined> {
  try {
    const { dev, ino } = await lstat(path);
    return `${dev}:${ino}`;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function isTaken(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EEXIST";
}

/** @throws DataError when a text isn't an index */
function indexIn(text: string, url: string): IndexEntry[] {
  const result = v.safeParse(snapshotIndex, jsonOf(text));
  if (result.success) return result.output;
  const [issue] = result.issues;
  const where = v.getDotPath(issue);
  throw new DataError(where === null ? url : `${url}: ${where}`, shown(issue.received), issue.message);
}

/** Undefined for what is no JSON. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What `fetch` throws hides its reason in its cause. */
function explained(error: unknown, url: string): Error {
  if (error instanceof DataError || !(error instanceof Error)) return new Error(reasonOf(error));
  return new Error(`${url}: ${reasonOf(error.cause ?? error)}`);
}
