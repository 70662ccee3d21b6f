import { link, mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "pino";
import { deleteStaleParts, download } from "../../datasets/download.ts";
import { identityOf } from "../../datasets/folder.ts";
import { openAddress, type Patience, readText, retried, systemClock } from "../../datasets/http.ts";
import { type IndexEntry, indexIn, newestFirst, sha256Of } from "../../datasets/publish/snapshot-index.ts";
import { DataError, reasonOf, systemCode } from "../../engine/query.ts";

/** Mirrors the snapshots of a remote index into the snapshots' folder. */

interface MirrorOptions {
  url: string;
  folder: string;
  log: Logger;
  /** Interval in milliseconds in which at least `leastBytes` must arrive. */
  stallMs?: number;
}

const maxIndexBytes = 1 << 20;
/** Minimum bytes of a download in `stallMs`. A slower download is aborted, so that other downloads don't wait. */
const leastBytes = 64 << 10;
const defaultStallMs = 15_000;
/** Disk space that a download leaves free. */
const spareBytes = 64 << 20;
/** Pause before a failed file is tried again. The pause doubles with each failure. */
const firstPauseMs = 1000;
const maxPauseMs = 300_000;

interface Failure {
  reason: string;
  pauseMs: number;
  againMs: number;
}

export class Mirror {
  readonly #options: MirrorOptions;
  /** A folder with a second hard link to each fetched file. The operator's files have no such link. */
  readonly #fetched: string;
  readonly #stopping = new AbortController();
  readonly #failures = new Map<string, Failure>();
  /** The state of each file when its SHA-256 last matched the index, by version. */
  readonly #compared = new Map<string, string>();
  #index: IndexEntry[] = [];
  #etag: string | undefined;
  /** The reason why the last attempt to read the index failed. */
  #indexFault: string | undefined;
  #working: Promise<void> | undefined;
  /** When the folder last had all files of the index; initially the start of the process. */
  #syncedMs = 0;

  constructor(options: MirrorOptions) {
    this.#options = options;
    this.#fetched = join(options.folder, ".fetched");
  }

  /**
   * Reads the index, fetches missing files, and removes fetched files that the index no longer names. If a poll is
   * running, a call waits for that poll. Never rejects. @param steadyMs a monotonic time
   */
  poll(steadyMs: number): Promise<void> {
    this.#working ??= this.#poll(steadyMs).finally(() => {
      this.#working = undefined;
    });
    return this.#working;
  }

  /** Returns the milliseconds since the folder last had all files of the index; at first, since the process started. */
  syncAgeMs(steadyMs: number): number {
    return steadyMs - this.#syncedMs;
  }

  /** Aborts the current download, and waits until the running poll ends. */
  async close(): Promise<void> {
    this.#stopping.abort(new Error("stopped"));
    await this.#working;
  }

  async #poll(steadyMs: number): Promise<void> {
    const { log } = this.#options;
    const { signal } = this.#stopping;
    try {
      await mkdir(this.#fetched, { recursive: true });
      await this.#readIndex();
      this.#indexFault = undefined;
    } catch (error) {
      const reason = reasonOf(error);
      if (!signal.aborted && reason !== this.#indexFault)
        log.error({ reason }, "the index of snapshots can't be read");
      this.#indexFault = reason;
      return;
    }
    for (const entry of this.#index.toSorted(newestFirst))
      if (!signal.aborted) await this.#tryToBring(entry, steadyMs);
    if (signal.aborted) return;
    try {
      await this.#takeOut();
      if (this.#failures.size === 0) this.#syncedMs = steadyMs;
    } catch (error) {
      log.error({ reason: reasonOf(error) }, "snapshots that are no longer in the index can't be removed");
    }
  }

  /** Puts a version into the folder, unless an attempt failed recently. Logs a failure if its reason is new. */
  async #tryToBring(entry: IndexEntry, steadyMs: number): Promise<void> {
    const { version } = entry;
    const before = this.#failures.get(version);
    if (before !== undefined && steadyMs < before.againMs) return;
    try {
      await this.#bring(entry);
      this.#failures.delete(version);
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      const reason = reasonOf(error);
      if (reason !== before?.reason)
        this.#options.log.error({ version, reason }, "a snapshot can't be fetched yet; retrying");
      const pauseMs = Math.min(maxPauseMs, before === undefined ? firstPauseMs : 2 * before.pauseMs);
      this.#failures.set(version, { reason, pauseMs, againMs: steadyMs + pauseMs });
    }
  }

  async #readIndex(): Promise<void> {
    const { url } = this.#options;
    const known = this.#etag === undefined ? {} : { "if-none-match": this.#etag };
    await retried(url, this.#patience(), async (attempt) => {
      const response = await openAddress(url, known, attempt);
      if (response.statusCode === 304) return;
      this.#index = indexIn(await readText(url, response, maxIndexBytes, attempt), url);
      this.#etag = response.headers.etag;
    });
  }

  /** Puts a version into the folder. @throws Error on failure, or when a file with other content has its name */
  async #bring(entry: IndexEntry): Promise<void> {
    const { version, bytes, sha256 } = entry;
    const path = join(this.#options.folder, nameOf(version));
    if (identityOf(path) !== undefined) return this.#compare(entry, path);
    const fetched = join(this.#fetched, nameOf(version));
    if (identityOf(fetched) === undefined || (await sha256Of(fetched)) !== sha256)
      await this.#fetch(entry, fetched);
    try {
      // A link, unlike a rename, never replaces a file that the operator has put there in the meantime.
      await link(fetched, path);
    } catch (error) {
      if (systemCode(error) !== "EEXIST") throw error;
      return this.#compare(entry, path);
    }
    this.#options.log.info({ version, bytes }, "snapshot fetched");
  }

  /** A wrong file isn't deleted, because it may be the operator's. @throws DataError when the file is wrong */
  async #compare({ version, sha256 }: IndexEntry, path: string): Promise<void> {
    const { ino, mtimeMs, size } = await stat(path);
    const state = `${sha256} ${ino} ${mtimeMs} ${size}`;
    if (this.#compared.get(version) === state) return;
    const found = await sha256Of(path);
    if (found !== sha256)
      throw new DataError(
        `${version}.parquet: SHA-256`,
        found,
        `${sha256}, as the index says: the server keeps this file; delete it to download the index's file`,
      );
    this.#compared.set(version, state);
  }

  async #fetch({ version, file, bytes, sha256 }: IndexEntry, path: string): Promise<void> {
    await download(new URL(file, this.#options.url).href, path, {
      ...this.#patience(),
      ...{ expectedBytes: bytes, maxBytes: bytes, spareBytes },
      whereElse: "DATASETS_DIR may name another folder",
      async check(part) {
        const found = await sha256Of(part);
        if (found !== sha256)
          throw new DataError(`${version}: SHA-256 of ${bytes} bytes that were fetched`, found, sha256);
      },
    });
  }

  /** Deletes fetched files that the index doesn't name any more, and their links in the snapshots' folder. */
  async #takeOut(): Promise<void> {
    deleteStaleParts(this.#fetched);
    const names = this.#index.map(({ version }) => nameOf(version));
    for (const name of await readdir(this.#fetched)) {
      // A file that ends in `.part` belongs to another process that mirrors into the same folder.
      if (names.includes(name) || name.endsWith(".part")) continue;
      const [fetched, path] = [join(this.#fetched, name), join(this.#options.folder, name)];
      const [ours, served] = [identityOf(fetched), identityOf(path)];
      if (served !== undefined && served === ours) {
        await rm(path);
        this.#options.log.info({ file: name }, "snapshot removed: it is no longer in the index");
      }
      await rm(fetched);
    }
    const versions = new Set(this.#index.map(({ version }) => version));
    for (const known of [this.#failures, this.#compared])
      for (const version of known.keys()) if (!versions.has(version)) known.delete(version);
  }

  /** The limits of a download. It isn't retried within a poll, because the next poll tries again. */
  #patience(): Patience {
    const { stallMs = defaultStallMs } = this.#options;
    const stopping = this.#stopping.signal;
    return { clock: systemClock, say() {}, maxTries: 1, stallMs, leastBytes, stopping };
  }
}

const nameOf = (version: string) => `${version}.parquet`;
