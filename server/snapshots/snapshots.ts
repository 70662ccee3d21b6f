import { join } from "node:path";
import type { Logger } from "pino";
import {
  attachImage,
  changesBetween,
  DataError,
  type Image,
  reasonOf,
  shown,
  snapshotNameExpected,
  systemCode,
  versionIn,
  versionName,
} from "../../engine/query.ts";
import type { LoadedSnapshot, Previous, PublishedVersion, SnapshotFile } from "../shared/messages.ts";
import type { Metrics } from "../shared/metrics.ts";
import { collectGarbageSoon } from "../shared/runtime.ts";
import { isoTime } from "../shared/time.ts";
import type { Store } from "../store/store.ts";
import { type FileState, isMissing, listStates, stateOf, type Wanted } from "./folder.ts";

/** Serves the snapshots in a folder: loads new files, retires deleted files, refuses bad files. */

const otherContent =
  "a version number never gets other content: import the rows again, so that they get the next number";
/** Interval of progress lines in the log during a long load. */
const progressMs = 2000;
/** A file that this process may not read is tried once in this many scans, because the reason may be outside the file. */
const scansToRetry = 120;

export interface Surroundings {
  log: Logger;
  metrics: Metrics;
  registry: Pick<Store, "atomically" | "versions">;
  /** Why the registry's files can't be used; undefined while they can be used. */
  fault(): string | undefined;
  /** Makes what was written to the registry durable. @throws Error */
  flush(): void;
  /** Loads a file. @throws DataError when the file is to be refused, another Error otherwise */
  load(wanted: Wanted): Promise<LoadedSnapshot>;
  /** Called when no file waits, or after `close`. */
  endLoads(): Promise<void>;
  /** Resolves when every serving thread has the versions. */
  publish(published: readonly PublishedVersion[]): Promise<void>;
}

interface Loaded {
  readonly name: string;
  readonly file: SnapshotFile;
  readonly image: Image;
  readonly loadedAt: string;
  isThere: boolean;
  /** Whether the version may be served. While requests are answered, the registry has every admitted version. */
  isAdmitted: boolean;
}

/** A file that is refused, or that can't be read, loaded or registered now. */
export interface FaultyFile {
  file: string;
  reason: string;
  /** Time of the refusal in ISO 8601; null for a file that isn't refused. */
  at: string | null;
  /** The data version that the file's name states; null if it states none. */
  version: string | null;
  /** Whether this version is served nevertheless, from an earlier load. */
  isServed: boolean;
  /** Whether this version was served before, and can't be now. */
  isLost: boolean;
}

interface Fault {
  readonly reason: string;
  /** Time of the refusal in ISO 8601; null for another error, after which the file is tried again. */
  readonly at: string | null;
}

export class SnapshotFolder {
  readonly #folder: string;
  readonly #with: Surroundings;
  /** The loaded snapshots by file name. `#served` says which of them are served. */
  readonly #loaded = new Map<string, Loaded>();
  /** The state of each file that was loaded, was refused, is being loaded, or may not be read by this process. */
  readonly #taken = new Map<string, FileState>();
  readonly #faults = new Map<string, Fault>();
  /** Why the system didn't find or show a listed file at the last scan, by file name. */
  #unreachable: ReadonlyMap<string, string> = new Map();
  /** When the last load of each file began, by `performance.now`. */
  readonly #lastLoads = new Map<string, number>();
  /** The files that changed during their last load. The result of the load was dropped. */
  readonly #dropped = new Set<string>();
  #waiting = new Map<string, FileState>();
  /** The file names of all versions in the registry at the last scan. */
  #known: ReadonlySet<string> = new Set();
  #loading: Promise<void> | undefined;
  #scanning: Promise<void> | undefined;
  #scans = 0;
  /** The versions that the serving threads have. */
  #published: readonly Loaded[] = [];
  #publishing: Promise<void> = Promise.resolve();
  /** The names of loaded synthetic versions that aren't served. */
  #hidden: readonly string[] = [];
  /** Whether requests are answered. If so, every served version has to be in the registry. */
  #isServing = false;
  #isClosed = false;
  /** Whether the log says that the last version's file is gone. */
  #isLastGone = false;
  /** The lost versions that the log has named. */
  #lost: readonly string[] = [];
  /** The last comparison of each image with a previous revision, and that revision's checksum. */
  readonly #previous = new WeakMap<Image, { sha256: string; changes: Previous }>();

  constructor(folder: string, surroundings: Surroundings) {
    this.#folder = folder;
    this.#with = surroundings;
  }

  /** Returns the served images, newest version first. */
  images(): Image[] {
    return this.#served.map(({ image }) => image);
  }

  /** Returns the served versions, newest first. */
  published(): PublishedVersion[] {
    return this.#served.map(({ image, loadedAt, file }) => ({
      ...{ image: image.buffer, loadedAt, file },
      previous: this.#previousOf(image),
    }));
  }

  /**
   * The versions that are served, newest first. Synthetic versions aren't served beside a real one. A version without its
   * file is served only if no admitted version has its file.
   */
  get #served(): Loaded[] {
    const admitted = this.#admitted;
    const there = admitted.filter(({ isThere }) => isThere);
    const hasReal = this.#hasReal;
    return (there.length === 0 ? admitted : there)
      .filter((loaded) => !hasReal || isReal(loaded))
      .sort((a, b) => newestFirst(a.name, b.name));
  }

  get #admitted(): Loaded[] {
    return [...this.#loaded.values()].filter(({ isAdmitted }) => isAdmitted);
  }

  get #hasReal(): boolean {
    return this.#admitted.some((loaded) => loaded.isThere && isReal(loaded));
  }

  refused(): FaultyFile[] {
    const faults = new Map(this.#faults);
    for (const [file, reason] of this.#unreachable) faults.set(file, { reason, at: null });
    const served = new Set(this.#served.map(({ name }) => name));
    return Array.from(faults, ([file, { reason, at }]) => ({
      ...{ file, reason, at },
      version: versionIn(file) === undefined ? null : versionOf(file),
      isServed: served.has(file),
      isLost: this.#known.has(file) && !this.#loaded.has(file),
    }));
  }

  /** Returns the data versions that were served before and can't be now, though their files are there. */
  lost(faulty: readonly FaultyFile[] = this.refused()): string[] {
    return faulty.filter(({ isLost }) => isLost).map(({ file }) => versionOf(file));
  }

  /** Compares a version with its previous revision, once for each pair. Returns null if that revision isn't served. */
  #previousOf(image: Image): Previous | null {
    const { provenance } = image.description;
    const version = versionName({ ...provenance, revision: provenance.revision - 1 });
    const previous = this.#served.find(({ name }) => name === fileOf(version))?.image;
    if (previous === undefined) return null;
    const { sha256 } = previous.description;
    const known = this.#previous.get(image);
    if (known?.sha256 === sha256) return known.changes;
    const changes = { data_version: version, ...changesBetween(previous, image) };
    this.#previous.set(image, { sha256, changes });
    return changes;
  }

  /**
   * Retires deleted files, and starts to load new and changed files. During a scan, only waits for that scan.
   * @param names the files that may be loaded; undefined for all
   * @throws Error, for example when the folder can't be listed
   */
  scan(names?: ReadonlySet<string>): Promise<void> {
    this.#scanning ??= this.#scan(names).finally(() => {
      this.#scanning = undefined;
    });
    return this.#scanning;
  }

  /** Whether any file changed during its last load, so that the result was dropped. The next scan loads it again. */
  get hasDropped(): boolean {
    return this.#dropped.size > 0;
  }

  /** Scans the folder, and waits for the loads. @param names the files that may be loaded; undefined for all */
  async settle(names?: ReadonlySet<string>): Promise<void> {
    await this.scan(names);
    await this.#loading;
  }

  /**
   * Enters the served versions into the registry. Nothing is entered before, so a failed start leaves no trace of
   * versions that it never served.
   * @throws Error when the registry can't be written or was replaced
   */
  beginServing(): void {
    const served = this.#served;
    this.#register(served);
    this.#isServing = true;
    // Other versions are registered when they are served.
    for (const loaded of this.#loaded.values()) loaded.isAdmitted = served.includes(loaded);
    this.#tellHidden();
    this.#tellChanges(served);
  }

  close(): void {
    this.#isClosed = true;
  }

  async #scan(names?: ReadonlySet<string>): Promise<void> {
    if (this.#isClosed) return;
    this.#scans++;
    const states = await listStates(this.#folder);
    // Nothing is published or retired while the registry's files can't be used. The fault is logged elsewhere.
    if (this.#isServing && this.#with.fault() !== undefined) return;
    for (const notes of [this.#taken, this.#faults, this.#lastLoads, this.#dropped])
      for (const name of notes.keys()) if (!states.has(name)) notes.delete(name);
    this.#retire(states);
    this.#waiting = new Map();
    this.#known = new Set(this.#with.registry.versions.all().map(({ version }) => fileOf(version)));
    const unreachable = new Map<string, string>();
    for (const [name, state] of states) {
      if (state instanceof Error) unreachable.set(name, reasonOf(state));
      else if ((names?.has(name) ?? true) && this.#mayTake(name, state)) this.#waiting.set(name, state);
    }
    for (const [name, reason] of unreachable)
      if (this.#unreachable.get(name) !== reason) this.#tellRetry(name, reason);
    this.#unreachable = unreachable;
    await this.#publish();
    this.#tellFaults();
    this.#loading ??= this.#loadAll().finally(() => {
      this.#loading = undefined;
    });
  }

  #mayTake(name: string, state: FileState): boolean {
    const taken = this.#taken.get(name);
    const fault = this.#faults.get(name);
    if (fault === undefined) return taken?.signature !== state.signature;
    // A repaired file may have its old modification time.
    if (taken?.exact !== state.exact) return true;
    return fault.at === null && this.#scans % scansToRetry === 0;
  }

  /**
   * Loads the waiting files one after the other: versions of the registry first, then the newest version first. A file
   * that was loaded before comes last, so that a file that changes again and again doesn't hold up others.
   */
  async #loadAll(): Promise<void> {
    while (this.#waiting.size > 0 && !this.#isClosed) {
      const [[name, state]] = [...this.#waiting].sort(([a], [b]) => this.#inTurn(a, b));
      this.#waiting.delete(name);
      this.#taken.set(name, state);
      this.#lastLoads.set(name, performance.now());
      try {
        await this.#load(name, state);
      } catch (error) {
        if (error instanceof DataError) this.#refuse(name, error.message);
        else {
          if (!/^(EACCES|EPERM)$/.test(systemCode(error) ?? "")) this.#taken.delete(name);
          this.#report(name, error);
        }
      }
    }
    await this.#with.endLoads();
    this.#tellFaults();
  }

  #inTurn(a: string, b: string): number {
    const [x, y] = [a, b].map((name) => this.#lastLoads.get(name) ?? 0);
    return x - y || Number(this.#known.has(b)) - Number(this.#known.has(a)) || newestFirst(a, b);
  }

  /** @throws DataError when the file is refused, another Error otherwise */
  async #load(name: string, state: FileState): Promise<void> {
    const { log, load } = this.#with;
    const { otherThanFile } = state;
    const wasDropped = this.#dropped.delete(name);
    if (versionIn(name) === undefined)
      throw new DataError("name of a snapshot", shown(name), snapshotNameExpected);
    if (otherThanFile !== undefined) throw new DataError(name, otherThanFile, "a regular file");
    const started = performance.now();
    let reported = started;
    const onRows = (rows: number) => {
      if (performance.now() - reported < progressMs) return;
      reported = performance.now();
      log.info({ file: name, rows }, "loading snapshot");
    };
    const wanted = { name, path: this.#pathOf(name), onRows, isBackground: this.#isServing };
    const result = await load(wanted).catch((error: Error) => error);
    const isOutdated = await this.#isOutdated(name, state, result);
    if (this.#isClosed) return;
    if (isOutdated) {
      this.#taken.delete(name);
      this.#dropped.add(name);
      if (wasDropped) this.#report(name, new Error("it changes while it is loaded"));
      return;
    }
    if (result instanceof Error) throw result;
    const image = attachImage(result.image);
    const { sha256, counts } = image.description;
    const before = this.#loaded.get(name);
    const known = before?.image.description.sha256;
    if (before?.isAdmitted && known !== sha256)
      throw new DataError(
        `${name}: checksum, while other content is loaded as version ${versionOf(name)}`,
        sha256,
        `${known}, because ${otherContent}`,
      );
    this.#faults.delete(name);
    // If the same content was loaded before, its downloads get the new file from now on.
    const loaded = {
      ...(before !== undefined && known === sha256
        ? before
        : { name, image, loadedAt: new Date().toISOString(), isAdmitted: false }),
      ...{ file: result.file, isThere: true },
    };
    this.#loaded.set(name, loaded);
    this.#admit(loaded);
    if (!this.#loaded.has(name)) return;
    if (before === undefined)
      log.info({ file: name, ms: Math.round(performance.now() - started), ...counts }, "snapshot loaded");
    for (const warning of result.warnings) log.warn({ file: name, warning }, "snapshot with a warning");
    await this.#publish();
  }

  #pathOf(name: string): string {
    return join(this.#folder, name);
  }

  /**
   * Whether to drop a load's result, because the file was deleted, replaced or changed after the scan. What was read may
   * be a mixture, unless the file's own checksum is right.
   */
  async #isOutdated(name: string, before: FileState, result: LoadedSnapshot | Error): Promise<boolean> {
    const now = await stateOf(this.#pathOf(name)).catch(() => undefined);
    const part = result instanceof Error ? "exact" : result.file.isChecked ? "identity" : "signature";
    return now?.[part] !== before[part];
  }

  /**
   * Admits a loaded version, and enters it into the registry if requests are answered. Refuses other content than the
   * registry has for the version. A synthetic version isn't admitted beside a real one.
   */
  #admit(loaded: Loaded): void {
    if (loaded.isAdmitted) return;
    const { name, image } = loaded;
    const { sha256 } = image.description;
    try {
      const known = this.#with.registry.versions.byName(versionOf(name));
      if (known !== undefined && known.sha256 !== sha256)
        throw new DataError(
          `${name}: checksum, while other content was served as version ${versionOf(name)} from ${isoTime(known.first_served)}`,
          sha256,
          `${known.sha256}, because ${otherContent}`,
        );
      if (this.#hasReal && !isReal(loaded)) return;
      if (this.#isServing) this.#register([loaded]);
      loaded.isAdmitted = true;
      this.#faults.delete(name);
    } catch (error) {
      if (error instanceof DataError) {
        this.#loaded.delete(name);
        this.#refuse(name, error.message);
      } else this.#report(name, error);
    }
  }

  /**
   * Enters versions into the registry, before any answer comes from them. A start with known versions writes nothing,
   * because the disk may be full.
   * @throws Error that isn't a DataError, so that no snapshot is refused
   */
  #register(versions: readonly Loaded[]): void {
    const { registry, flush } = this.#with;
    const unknown = versions
      .map(({ image }) => image.description)
      .filter(({ provenance }) => registry.versions.byName(versionName(provenance)) === undefined);
    if (unknown.length === 0 && !this.#isServing) return;
    registry.atomically(() => {
      for (const { provenance, sha256, contentSha256 } of unknown)
        registry.versions.serve(versionName(provenance), sha256, contentSha256, new Date());
    });
    flush();
  }

  /**
   * Forgets the snapshots without files, and admits others that may be served now. If no admitted version has its file
   * any more, keeps the newest served version.
   */
  #retire(states: ReadonlyMap<string, FileState | Error>): void {
    const served = this.#served;
    for (const loaded of this.#loaded.values()) {
      const state = states.get(loaded.name);
      loaded.isThere = state !== undefined && !isMissing(state);
    }
    for (const loaded of this.#loaded.values()) if (loaded.isThere) this.#admit(loaded);
    const kept = this.#admitted.some(({ isThere }) => isThere) ? undefined : served.at(0);
    if (kept !== undefined && !this.#isLastGone)
      this.#with.log.error(
        { file: kept.name },
        "the last data version is still served, though its file is gone",
      );
    this.#isLastGone = kept !== undefined;
    for (const loaded of this.#loaded.values())
      if (!loaded.isThere && loaded !== kept) {
        this.#loaded.delete(loaded.name);
        this.#taken.delete(loaded.name);
      }
  }

  #publish(): Promise<void> {
    this.#publishing = this.#publishing.catch(() => {}).then(() => this.#publishChanges());
    return this.#publishing;
  }

  async #publishChanges(): Promise<void> {
    if (!this.#isServing) return;
    const [before, now] = [this.#published, this.#served];
    this.#tellHidden();
    if (now.length === before.length && now.every((loaded, i) => loaded === before[i])) return;
    await this.#with.publish(this.published());
    this.#tellChanges(now);
  }

  #tellChanges(now: readonly Loaded[]): void {
    const { log, metrics } = this.#with;
    const before = this.#published;
    this.#published = now;
    const missingIn = (others: readonly Loaded[]) => (one: Loaded) =>
      !others.some(({ name }) => name === one.name);
    const retired = before.filter(missingIn(now));
    const current = now.length === 0 ? undefined : versionOf(now[0].name);
    for (const [change, versions] of Object.entries({ published: now.filter(missingIn(before)), retired }))
      for (const { name } of versions) {
        metrics.snapshotChanges.inc({ change });
        log.info({ version: versionOf(name), current }, `data version ${change}`);
      }
    metrics.snapshotRows.reset();
    for (const { name, image } of now)
      metrics.snapshotRows.set({ version: versionOf(name) }, image.description.counts.rows);
    if (retired.length > 0) collectGarbageSoon();
  }

  #tellHidden(): void {
    const hidden = this.#hasReal
      ? [...this.#loaded.values()].filter((loaded) => !isReal(loaded)).map(({ name }) => name)
      : [];
    const versions = hidden.filter((name) => !this.#hidden.includes(name)).map(versionOf);
    this.#hidden = hidden;
    if (versions.length > 0)
      this.#with.log.warn(
        { versions: versions.sort() },
        "synthetic data versions aren't served beside real ones",
      );
  }

  #refuse(name: string, reason: string): void {
    if (this.#isClosed) return;
    this.#faults.set(name, { reason, at: new Date().toISOString() });
    this.#with.metrics.snapshotsRefused.inc();
    const serving = this.#served.map(({ name }) => versionOf(name));
    this.#with.log.error({ file: name, reason, serving }, "snapshot refused");
  }

  /** Records an error after which the file is tried again, and logs it once. */
  #report(name: string, error: unknown): void {
    if (this.#isClosed) return;
    const reason = reasonOf(error);
    const known = this.#faults.get(name);
    this.#faults.set(name, { reason, at: null });
    if (known?.reason !== reason || known.at !== null) this.#tellRetry(name, reason);
  }

  #tellRetry(name: string, reason: string): void {
    this.#with.log.error({ file: name, reason }, "snapshot can't be read or served yet; retrying");
  }

  #tellFaults(): void {
    const { log, metrics } = this.#with;
    const faulty = this.refused();
    metrics.snapshotsUnreadable.set(faulty.filter(({ at }) => at === null).length);
    const lost = this.lost(faulty);
    metrics.snapshotsLost.set(lost.length);
    const versions = lost.filter((version) => !this.#lost.includes(version));
    this.#lost = lost;
    if (versions.length > 0)
      log.error(
        { versions },
        "data versions that were served before aren't served now, though their files are there",
      );
  }
}

const isReal = ({ image }: Loaded) => !image.description.isSynthetic;

const versionOf = (name: string) => name.replace(/\.parquet$/, "");
export const fileOf = (version: string) => `${version}.parquet`;

/** Compares the names of snapshots. Names that state no version come last. */
function newestFirst(a: string, b: string): number {
  const [x, y] = [a, b].map((name) => versionIn(name) ?? { dataYear: 0, revision: 0 });
  return y.dataYear - x.dataYear || y.revision - x.revision || (a < b ? -1 : 1);
}
