import { link, mkdir, open, readdir, rename, rm, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "pino";
import { bodyOf, directAgents, openAddress, readText } from "../../datasets/cms/http.ts";
import { type IndexEntry, indexIn, newestFirst, sha256Of } from "../../datasets/publish/snapshot-index.ts";
import { identityOf } from "../../datasets/state.ts";
import { DataError, reasonOf, systemCode } from "../../engine/query.ts";
import { safely } from "../shared/safely.ts";

/** Fetches the snapshots that an index elsewhere names into the snapshots' folder, and takes out those that it names no more. */

export interface MirrorOptions {
  /** The index's. */
  url: string;
  /** The snapshots'. */
  folder: string;
  log: Logger;
  /** In so long at least `leastBytes` have to come. */
  stallMs?: number;
  /** After so long no further file is begun before the index is looked at again. */
  roundMs?: number;
}

const maxIndexBytes = 1 << 20;
/** Slower ones are given up, so that they don't keep others waiting; what has come stays. */
const leastBytes = 64 << 10;
const defaultStallMs = 15_000;
const defaultRoundMs = 10_000;
/** What a file leaves free on its disk. */
const spareBytes = 64 << 20;
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
  #looking: Promise<boolean> | undefined;
  #working: Promise<void> | undefined;
  /** What is fetched now, and what ends that. */
  #underWay: { entry: IndexEntry; ending: AbortController } | undefined;
  /** When the folder had all that the index named; before it had it first, when the process began. */
  #syncedMs = 0;

  constructor(options: MirrorOptions) {
    this.#options = options;
    this.#fetched = join(options.folder, ".fetched");
  }

  /**
   * Looks at the index, and fetches what isn't here. While files are fetched a further call looks at the index alone,
   * and gives up a file that it names no more, then waits for the rest. Never rejects.
   *
   * @param steadyMs by a clock that never steps: a file that couldn't be fetched is tried again after a pause
   */
  async poll(steadyMs: number): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    if (!(await this.#looking)) return;
    if (this.#underWay !== undefined && !this.#names(this.#underWay.entry))
      this.#underWay.ending.abort(new Error("the index names it no more"));
    this.#working ??= this.#work(steadyMs).finally(() => {
      this.#working = undefined;
    });
    return this.#working;
  }

  /** Since the look after which all was here that the index names; since the process began, where it never was. */
  syncAgeMs(steadyMs: number): number {
    return steadyMs - this.#syncedMs;
  }

  /** Gives up what is under way; what has come of it stays for the next start. */
  async close(): Promise<void> {
    this.#stopping.abort(new Error("stopped"));
    await Promise.all([this.#looking, this.#working]);
  }

  /** @returns whether there is an index to go by */
  async #look(): Promise<boolean> {
    try {
      await mkdir(this.#fetched, { recursive: true });
      await this.#readIndex();
      this.#indexTrouble = undefined;
      return true;
    } catch (error) {
      const reason = reasonOf(error);
      if (this.#stopping.signal.aborted) return false;
      // What is here is served on.
      if (reason !== this.#indexTrouble)
        this.#options.log.error({ reason }, "the index of snapshots can't be read");
      this.#indexTrouble = reason;
      return false;
    }
  }

  #names(entry: IndexEntry): boolean {
    const named = this.#index.find(({ version }) => version === entry.version);
    return JSON.stringify(named) === JSON.stringify(entry);
  }

  async #work(steadyMs: number): Promise<void> {
    const isAllTried = await this.#bringAll(steadyMs);
    if (this.#stopping.signal.aborted) return;
    try {
      await this.#takeOut();
      if (isAllTried && !this.#index.some(({ version }) => this.#failures.has(version)))
        this.#syncedMs = steadyMs;
    } catch (error) {
      this.#options.log.error(
        { reason: reasonOf(error) },
        "snapshots that the index names no more can't be taken out",
      );
    }
  }

  /** Brings what isn't here, as much as comes in a round: what failed least often first, so that nothing waits for what never comes. @returns whether the round got to the end */
  async #bringAll(steadyMs: number): Promise<boolean> {
    const start = performance.now();
    const { log, roundMs = defaultRoundMs } = this.#options;
    const pauseOf = ({ version }: IndexEntry) => this.#failures.get(version)?.pauseMs ?? 0;
    const entries = this.#index.toSorted((a, b) => pauseOf(a) - pauseOf(b) || newestFirst(a, b));
    const told: { version: string; reason: string }[] = [];
    let isAllTried = true;
    for (const entry of entries) {
      if (!this.#names(entry)) continue;
      const { version } = entry;
      const before = this.#failures.get(version);
      if (before !== undefined && steadyMs < before.againMs) continue;
      try {
        await this.#bring(entry);
        this.#failures.delete(version);
      } catch (error) {
        if (this.#stopping.signal.aborted) return false;
        if (!this.#names(entry)) continue;
        const reason = reasonOf(error);
        if (reason !== before?.reason) told.push({ version, reason });
        const pauseMs = Math.min(maxPauseMs, before === undefined ? firstPauseMs : 2 * before.pauseMs);
        this.#failures.set(version, { reason, pauseMs, againMs: steadyMs + pauseMs });
      }
      // After one was tried, so that each round brings something.
      if (performance.now() - start >= roundMs && entry !== entries.at(-1)) {
        isAllTried = false;
        break;
      }
    }
    const [first, ...others] = told;
    const more = others.length > 0 && { others: others.length };
    if (first !== undefined)
      log.error({ ...first, ...more }, "a snapshot can't be fetched yet: it is tried again");
    return isAllTried;
  }

  async #readIndex(): Promise<void> {
    const { url } = this.#options;
    const { signal, progress, done } = this.#watch();
    try {
      const known = this.#etag === undefined ? {} : { "if-none-match": this.#etag };
      const response = await openAddress(url, known, signal, directAgents);
      if (response.statusCode === 304) return;
      const text = await readText(url, bodyOf(url, response, signal), maxIndexBytes, progress);
      this.#index = indexIn(text, url);
      this.#etag = response.headers.etag;
    } catch (error) {
      throw about(url, error);
    } finally {
      done();
    }
  }

  /** Sees to it that a version is in the folder. @throws Error when it isn't, or what is there is something else */
  async #bring(entry: IndexEntry): Promise<void> {
    const { version, bytes, sha256 } = entry;
    const path = join(this.#options.folder, nameOf(version));
    if (identityOf(path) !== undefined) return this.#compare(entry, path);
    const fetched = join(this.#fetched, nameOf(version));
    const part = join(this.#fetched, `${sha256}${endOfPart}`);
    if (identityOf(fetched) === undefined || (await sha256Of(fetched)) !== sha256) {
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
      if (systemCode(error) !== "EEXIST") throw error;
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
  async #fetch(entry: IndexEntry, part: string): Promise<void> {
    const { version, file, bytes, sha256 } = entry;
    const handle = await open(part, "a");
    let { size } = await handle.stat();
    const ending = new AbortController();
    this.#underWay = { entry, ending };
    const { signal, progress, done } = this.#watch(ending.signal);
    const url = new URL(file, this.#options.url).href;
    try {
      if (size === bytes) return;
      await this.#checkSpace(version, bytes - size);
      // Of what came before a restart no validator is known: that it belongs together is seen by its SHA-256.
      const validator = this.#validators.get(sha256);
      const rest = size > 0 && { range: `bytes=${size}-`, ...(validator && { "if-range": validator }) };
      const response = await openAddress(url, { ...rest }, signal, directAgents);
      const { etag, "content-range": range = "none" } = response.headers;
      if (response.statusCode === 200) {
        await handle.truncate();
        size = 0;
      } else if (response.statusCode === 416 || !isRest(range, size, bytes)) {
        await rm(part);
        throw new DataError(url, `the status ${response.statusCode}, range ${range}`, `${size} to ${bytes}`);
      }
      if (etag?.startsWith('"')) this.#validators.set(sha256, etag);
      else this.#validators.delete(sha256);
      for await (const chunk of bodyOf(url, response, signal)) {
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
      if (size === 0) await rm(part, { force: true });
      throw about(url, error);
    } finally {
      done();
      this.#underWay = undefined;
      await handle.close();
    }
  }

  async #checkSpace(version: string, bytes: number): Promise<void> {
    const { folder } = this.#options;
    const { bavail, bsize } = await statfs(folder);
    const needed = bytes + spareBytes;
    if (bavail * bsize >= needed) return;
    const found = `no room for ${version} (${bavail * bsize} bytes free)`;
    throw new DataError(`DATASETS_DIR ${folder}`, found, `at least ${needed}`);
  }

  /** Deletes what was fetched of versions that the index names no more, with its link in the snapshots' folder. */
  async #takeOut(): Promise<void> {
    const names = this.#index.flatMap(({ version, sha256 }) => [nameOf(version), sha256 + endOfPart]);
    for (const name of (await readdir(this.#fetched)).filter((name) => !names.includes(name))) {
      const [fetched, path] = [join(this.#fetched, name), join(this.#options.folder, name)];
      const [ours, served] = [identityOf(fetched), identityOf(path)];
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
  #watch(...endings: AbortSignal[]) {
    const { stallMs = defaultStallMs } = this.#options;
    const stalled = new AbortController();
    let came = 0;
    const look = () => {
      if (came < leastBytes)
        stalled.abort(new Error(`${came} bytes came in ${stallMs / 1000} s, expected ${leastBytes}`));
      came = 0;
    };
    const timer = setInterval(
      safely(look, (error) => stalled.abort(error)),
      stallMs,
    );
    return {
      signal: AbortSignal.any([this.#stopping.signal, stalled.signal, ...endings]),
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

/** Says what a fault is about, unless it does so itself. */
function about(url: string, error: unknown): Error {
  return error instanceof DataError ? error : new Error(`${url}: ${reasonOf(error)}`);
}
