import { join } from "node:path";
import type { Logger } from "pino";
import {
  attachImage,
  changesBetween,
  DataError,
  type Image,
  maxSnapshotFileBytes,
  reasonOf,
  shown,
  versionIn,
  versionName,
} from "../../engine/query.ts";
import type { Previous, PublishedVersion, SnapshotFile } from "../shared/messages.ts";
import type { Metrics } from "../shared/metrics.ts";
import { collectGarbage } from "../shared/runtime.ts";
import { isoTime } from "../shared/time.ts";
import type { StateGuard } from "../store/state-files.ts";
import type { Store } from "../store/store.ts";
import { type FileState, isMissing, listStates, stateOf } from "./folder.ts";
import type { Loads } from "./loads.ts";

/** Serves the snapshots in a folder: loads new files, retires deleted files, refuses bad files. */

/** A file that changed less than this time ago may be incomplete, so it isn't refused yet. */
const settleMs = 1500;
const otherContent =
  "a version number never gets other content: import the rows again, so that they get the next number";
/** Interval of progress lines in the log during a long load. */
const progressMs = 2000;

type Registry = Pick<Store, "atomically" | "versions" | "loggedFrames" | "checkpoint">;

export interface Surroundings {
  log: Logger;
  metrics: Metrics;
  registry: Registry;
  /** Watches the registry's files, so that a database that was replaced is neither read nor written. */
  guard: Pick<StateGuard, "fault" | "checkpoint">;
  loads: Pick<Loads, "load">;
  /** Resolves when every serving thread has the versions. */
  publish: (published: readonly PublishedVersion[]) => Promise<void>;
}

function newestFirst(a: Image, b: Image): number {
  const [x, y] = [a.description.provenance, b.description.provenance];
  return y.dataYear - x.dataYear || y.revision - x.revision;
}

interface Loaded {
  image: Image;
  file: SnapshotFile;
  signature: string;
}

interface Refusal {
  reason: string;
  at: string;
}

interface Served {
  is: "served";
  image: Image;
  file: SnapshotFile;
  loadedAt: string;
  /** The file's signature; undefined while the file is missing. */
  signature: string | undefined;
  /** The reason why a newer file of this name is refused. The older file's content is still served. */
  refusal: Refusal | undefined;
}

/** The decision about a file. It is made again when the file's signature changes. */
type Decision =
  | { is: "none"; signature?: undefined }
  | Served
  | { is: "refused"; signature: string; refusal: Refusal }
  /** A synthetic version that isn't served because real versions are served. */
  | { is: "hidden"; signature: string | undefined };

type Work =
  | { is: "none" }
  | { is: "loading"; done: Promise<void> }
  /** A loaded snapshot whose version couldn't be registered. The registration is tried again. */
  | { is: "loaded"; loaded: Loaded };

interface Entry {
  readonly name: string;
  decision: Decision;
  work: Work;
  /** The last system error while reading, loading or registering the file. */
  error: string | undefined;
}

const none = { is: "none" } as const;

export class SnapshotFolder {
  readonly #folder: string;
  readonly #with: Surroundings;
  readonly #files = new Map<string, Entry>();
  /** The name of the deleted file whose version is still served, because the files of all versions are missing. */
  #kept: string | undefined;
  #scanning: Promise<void> | undefined;
  /** The last publication. Publications run one after the other. */
  #publishing: Promise<void> = Promise.resolve();
  #isSettling = false;
  /** Whether requests are answered. If so, every published version has to be in the registry. */
  #isServing = false;
  #isClosed = false;
  /** The last comparison of each image with the previous revision, and the previous revision's checksum. */
  readonly #previous = new WeakMap<Image, { sha256: string; changes: Previous }>();

  constructor(folder: string, surroundings: Surroundings) {
    this.#folder = folder;
    this.#with = surroundings;
  }

  /** Returns the served images, newest version first. */
  images(): Image[] {
    return this.#served.map(({ decision }) => decision.image);
  }

  /** Returns the served versions, newest first. */
  published(): PublishedVersion[] {
    return this.#served.map(({ decision: { image, loadedAt, file } }) => ({
      ...{ image: image.buffer, loadedAt, file },
      previous: this.#previousOf(image),
    }));
  }

  /** Compares a version with the previous revision, once for each pair. Null if the previous revision isn't served. */
  #previousOf(image: Image): Previous | null {
    const { provenance } = image.description;
    const version = versionName({ ...provenance, revision: provenance.revision - 1 });
    const { decision } = this.#files.get(`${version}.parquet`) ?? {};
    if (decision?.is !== "served") return null;
    const { sha256 } = decision.image.description;
    const known = this.#previous.get(image);
    if (known?.sha256 === sha256) return known.changes;
    const changes = { data_version: version, ...changesBetween(decision.image, image) };
    this.#previous.set(image, { sha256, changes });
    return changes;
  }

  get #entries(): Entry[] {
    return [...this.#files.values()];
  }

  get #served(): (Entry & { decision: Served })[] {
    return this.#entries.filter(isServed).sort((a, b) => newestFirst(a.decision.image, b.decision.image));
  }

  get #loads(): Extract<Work, { is: "loading" }>[] {
    return this.#entries.flatMap(({ work }) => (work.is === "loading" ? work : []));
  }

  /**
   * Lists refused files, and files that can't be read, loaded or registered now. `at` is the time of a refusal in ISO
   * 8601; null for a file that isn't refused.
   */
  refused(): { file: string; reason: string; at: string | null }[] {
    const unreadable = this.#entries.flatMap(({ name, error }) =>
      error === undefined ? [] : { file: name, reason: error, at: null },
    );
    const refused = this.#entries.flatMap(({ name, decision }) =>
      "refusal" in decision && decision.refusal !== undefined ? { file: name, ...decision.refusal } : [],
    );
    return [...unreadable, ...refused];
  }

  /**
   * Retires deleted files, and starts to load new files. A call during a scan waits for that scan. @throws Error of the
   * system when the folder can't be listed; then nothing changes
   */
  scan(): Promise<void> {
    this.#scanning ??= this.#scan().finally(() => {
      this.#scanning = undefined;
    });
    return this.#scanning;
  }

  /** Scans until no load is running. @returns whether a file may be incomplete, because it is still being written */
  async settle(): Promise<boolean> {
    this.#isSettling = false;
    await this.scan();
    for (let work = this.#loads; work.length > 0; work = this.#loads)
      await Promise.all(work.map(({ done }) => done));
    return this.#isSettling;
  }

  /**
   * Enters the published versions into the registry. Nothing is written before this call, so a failed start leaves no
   * trace of versions that it never served. @throws Error when the registry can't be written or was replaced
   */
  beginServing(): void {
    this.#register(this.images());
    this.#isServing = true;
  }

  close(): void {
    this.#isClosed = true;
  }

  async #scan(): Promise<void> {
    if (this.#isClosed) return;
    const states = await listStates(this.#folder);
    // Nothing is published or retired while the registry's files can't be used. The fault is logged elsewhere.
    if (this.#isServing && this.#with.guard.fault() !== undefined) return;
    for (const entry of this.#entries) if (!states.has(entry.name)) this.#forgetFile(entry);
    await this.#retire(states);
    // The newest file is taken first, so that it doesn't wait for older files.
    const arrivedMs = (state: FileState | Error) => (state instanceof Error ? 0 : state.arrivedMs);
    for (const [name, state] of [...states].sort(([, a], [, b]) => arrivedMs(b) - arrivedMs(a))) {
      if (this.#isClosed) return;
      if (this.#files.get(name)?.work.is === "loading") continue;
      if (state instanceof Error) this.#report(name, state);
      else if (this.#isDecided(name, state.signature)) this.#entry(name).error = undefined;
      else await this.#take(name, state);
    }
    this.#with.metrics.snapshotsUnreadable.set(
      this.#entries.filter(({ error }) => error !== undefined).length,
    );
  }

  #entry(name: string): Entry {
    const entry = this.#files.get(name) ?? { name, decision: none, work: none, error: undefined };
    this.#files.set(name, entry);
    return entry;
  }

  /** Forgets a deleted file, but keeps its served version and a running load. */
  #forgetFile(entry: Entry): void {
    const { decision, work } = entry;
    entry.error = undefined;
    if (work.is === "loaded") entry.work = none;
    entry.decision =
      decision.is === "served" ? { ...decision, signature: undefined, refusal: undefined } : none;
    if (entry.decision.is === "none" && entry.work.is === "none") this.#files.delete(entry.name);
  }

  #isDecided(name: string, signature: string): boolean {
    return this.#files.get(name)?.decision.signature === signature;
  }

  /** Starts to load a file, or serves a loaded file. */
  async #take(name: string, state: FileState): Promise<void> {
    const entry = this.#entry(name);
    try {
      if (entry.work.is === "loaded" && entry.work.loaded.signature === state.signature) {
        await this.#serve(name, entry.work.loaded);
        entry.work = none;
        return;
      }
      checkFile(name, state);
      entry.work = { is: "loading", done: this.#load(entry, state) };
    } catch (error) {
      await this.#fail(name, state, error);
      if (this.#isDecided(name, state.signature)) entry.work = none;
    }
  }

  /** @throws DataError when the version's number belongs to other content */
  #checkPromise(name: string, version: string, sha256: string): void {
    const { decision } = this.#entry(name);
    const loaded = decision.is === "served" ? decision.image.description.sha256 : undefined;
    if (loaded !== undefined && loaded !== sha256)
      throw new DataError(
        `${name}: checksum, while other content is loaded as version ${version}`,
        sha256,
        `${loaded}, because ${otherContent}`,
      );
    const known = this.#consult((registry) => registry.versions.byName(version));
    if (known !== undefined && known.sha256 !== sha256)
      throw new DataError(
        `${name}: checksum, while other content was served as version ${version} from ${isoTime(known.first_served)}`,
        sha256,
        `${known.sha256}, because ${otherContent}`,
      );
  }

  /** A version that can't be registered stays loaded. */
  async #load(entry: Entry, state: FileState): Promise<void> {
    const { name } = entry;
    const { log, loads } = this.#with;
    const started = performance.now();
    let reported = started;
    const onRows = (rows: number) => {
      if (performance.now() - reported < progressMs) return;
      reported = performance.now();
      log.info({ file: name, rows }, "loading snapshot");
    };
    let loaded: Loaded | undefined;
    const { signature, arrivedMs, size } = state;
    try {
      const path = join(this.#folder, name);
      const result = await loads.load({ name, path, signature, arrivedMs, size, onRows });
      if (result === undefined) this.#lookAgain();
      else {
        const image = attachImage(result.image);
        const ms = Math.round(performance.now() - started);
        if (!isServed(entry)) log.info({ file: name, ms, ...image.description.counts }, "snapshot loaded");
        for (const warning of result.warnings) log.warn({ file: name, warning }, "snapshot with a warning");
        loaded = { signature, image, file: result.file };
        await this.#serve(name, loaded);
      }
    } catch (error) {
      await this.#fail(name, state, error);
    }
    entry.work = loaded === undefined || this.#isDecided(name, signature) ? none : { is: "loaded", loaded };
  }

  /** Enters versions into the registry. Call it before any answer comes from these versions. @throws Error */
  #register(images: Image[]): void {
    this.#consult((registry) => {
      registry.atomically(() => {
        for (const { provenance, sha256, contentSha256 } of images.map(({ description }) => description))
          registry.versions.serve(versionName(provenance), sha256, contentSha256, new Date());
      });
      const fault = this.#with.guard.checkpoint(registry);
      if (fault !== undefined) throw new Error(fault);
    });
  }

  /** Runs `work` on the registry. All failures are plain errors, not DataErrors, so that no snapshot is refused. */
  #consult<Result>(work: (registry: Registry) => Result): Result {
    const { guard, registry } = this.#with;
    try {
      const fault = guard.fault();
      if (fault !== undefined) throw new Error(fault);
      return work(registry);
    } catch (error) {
      throw new Error(`the registry of data versions: ${reasonOf(error)}`);
    }
  }

  /** Publishes a version, or hides a synthetic version if a real version is served. */
  async #serve(name: string, { signature, image, file }: Loaded): Promise<void> {
    if (this.#isClosed) return;
    const { provenance, sha256, isSynthetic } = image.description;
    const version = versionName(provenance);
    const entry = this.#entry(name);
    this.#checkPromise(name, version, sha256);
    if (isSynthetic && this.#hasReal) return this.#hide([entry], signature);
    if (this.#isServing) this.#register([image]);
    const before = isServed(entry) ? entry.decision : undefined;
    const served = before ?? { is: "served", image, loadedAt: new Date().toISOString() };
    entry.decision = { ...served, signature, file, refusal: undefined };
    entry.error = undefined;
    const hidden = this.#hideServed();
    // A version that was served before isn't logged as published again. Its downloads get the new file from now on.
    await this.#publish(before === undefined ? [version] : [], hidden);
    if (hidden.length > 0) collectGarbage();
  }

  /** Whether a real version is served and its file still exists. */
  get #hasReal(): boolean {
    return this.#entries.some(
      (entry) =>
        isServed(entry) && entry.name !== this.#kept && !entry.decision.image.description.isSynthetic,
    );
  }

  /** Hides the served synthetic versions if a real version is served. @returns the names of their files */
  #hideServed(): string[] {
    if (!this.#hasReal) return [];
    const samples = this.#served.filter(({ decision }) => decision.image.description.isSynthetic);
    this.#hide(samples);
    return samples.map(({ name }) => name);
  }

  /** @param signature the signature of a file that wasn't served before */
  #hide(entries: Entry[], signature?: string): void {
    if (entries.length === 0) return;
    for (const entry of entries) {
      entry.decision = { is: "hidden", signature: signature ?? entry.decision.signature };
      entry.error = undefined;
    }
    this.#with.log.warn(
      { versions: entries.map(({ name }) => versionOf(name)).sort() },
      "synthetic data versions aren't served beside real ones",
    );
  }

  /** @param published names of the new versions @param retired file names of the retired versions */
  #publish(published: string[], retired: string[]): Promise<void> {
    const { log, metrics, publish } = this.#with;
    this.#publishing = this.#publishing
      .catch(() => {})
      .then(async () => {
        const images = this.images();
        await publish(this.published());
        const current = versionName(images[0].description.provenance);
        for (const [change, versions] of Object.entries({ published, retired: retired.map(versionOf) }))
          for (const version of versions) {
            metrics.snapshotChanges.inc({ change });
            log.info({ version, current }, `data version ${change}`);
          }
        metrics.snapshotRows.reset();
        for (const { description } of images)
          metrics.snapshotRows.set({ version: versionName(description.provenance) }, description.counts.rows);
      });
    return this.#publishing;
  }

  /** Refuses a file because of its content. After a system error, the next scan tries the file again. */
  async #fail(name: string, state: FileState, error: unknown): Promise<void> {
    if (this.#isClosed) return;
    if (!(error instanceof DataError)) return this.#report(name, error);
    // The file may be incomplete, so it is tried again until it no longer changes.
    const now = await stateOf(join(this.#folder, name)).catch(() => undefined);
    if (now?.signature !== state.signature || Math.abs(Date.now() - now.changedMs) < settleMs)
      return this.#lookAgain();
    const entry = this.#entry(name);
    const refusal = { reason: error.message, at: new Date().toISOString() };
    const { signature } = state;
    entry.error = undefined;
    entry.decision =
      entry.decision.is === "served"
        ? { ...entry.decision, signature, refusal }
        : { is: "refused", signature, refusal };
    this.#with.metrics.snapshotsRefused.inc();
    const serving = this.images().map((image) => versionName(image.description.provenance));
    this.#with.log.error({ file: name, reason: error.message, serving }, "snapshot refused");
  }

  #report(name: string, error: unknown): void {
    const reason = reasonOf(error);
    const entry = this.#entry(name);
    if (entry.error === reason) return;
    entry.error = reason;
    this.#with.log.error({ file: name, reason }, "snapshot can't be read or served yet; retrying");
  }

  #lookAgain(): void {
    this.#isSettling = true;
  }

  /**
   * Retires the versions whose files are missing. If all files are missing, the newest version is still served. If no
   * real version with a file is left, hidden synthetic files are loaded again.
   */
  async #retire(states: Map<string, FileState | Error>): Promise<void> {
    const served = this.#served;
    const gone = served.filter(({ name }) => isGone(states.get(name))).map(({ name }) => name);
    if (gone.length > 0 && gone.length === served.length) {
      const [{ name: kept }] = served;
      gone.splice(gone.indexOf(kept), 1);
      if (this.#kept !== kept)
        this.#with.log.error(
          { file: kept },
          "the last data version is still served, though its file is gone",
        );
      this.#kept = kept;
    } else this.#kept = undefined;
    for (const name of gone) this.#entry(name).decision = none;
    if (!this.#hasReal)
      for (const entry of this.#entries) if (entry.decision.is === "hidden") entry.decision = none;
    const retired = [...gone, ...this.#hideServed()];
    if (retired.length === 0) return;
    await this.#publish([], retired);
    collectGarbage();
  }
}

/** @throws DataError when a file's name states no version, or it isn't a regular file, or too large */
function checkFile(name: string, { otherThanFile, size }: FileState): void {
  if (versionIn(name) === undefined)
    throw new DataError("name of a snapshot", shown(name), "<year>.<revision>.parquet");
  if (otherThanFile !== undefined) throw new DataError(name, otherThanFile, "a regular file");
  if (size > maxSnapshotFileBytes)
    throw new DataError(`${name}: size`, `${size} bytes`, `at most ${maxSnapshotFileBytes}`);
}

function isServed(entry: Entry): entry is Entry & { decision: Served } {
  return entry.decision.is === "served";
}

function isGone(state: FileState | Error | undefined): boolean {
  return state === undefined || isMissing(state);
}

function versionOf(name: string): string {
  return name.replace(/\.parquet$/, "");
}
