import { join } from "node:path";
import type { Logger } from "pino";
import { isSynthetic } from "../../datasets/sample/synthetic-mark.ts";
import type { SnapshotHead } from "../../engine/head.ts";
import { attachImage, DataError, type Image, reasonOf, shown, versionName } from "../../engine/query.ts";
import type { Published, SnapshotFile } from "../shared/messages.ts";
import type { Metrics } from "../shared/metrics.ts";
import { collectGarbage } from "../shared/runtime.ts";
import { isoTime } from "../shared/time.ts";
import type { Store } from "../store/store.ts";
import { type FileState, isMissing, listStates, openFile, readHead, stateOf } from "./folder.ts";
import type { Loads } from "./loads.ts";

/** Follows the snapshots' folder: loads what comes, retires what goes, refuses what is wrong. */

/** A file that changed less than this ago may still be written: what is wrong with it is not yet held against it. */
const settleMs = 1500;
/** What to do with a file whose number has been given to other content. */
const otherContent =
  "a number never means other content; import the rows again, which gives them the next number";
/** A load that takes longer than this says in the log how far it is. */
const progressMs = 2000;

/** Where it is kept what each version's number stands for. */
export type Registry = Pick<
  Store,
  "atomically" | "version" | "serveVersion" | "servedVersions" | "retireVersion"
>;

/** Knows whether the registry is still what was opened: otherwise what it says, and is told, is worth nothing. */
interface Guard {
  /** What has happened to it. */
  fault(): string | undefined;
  /** Brings what was entered to where no lost write-ahead log takes it; then as `fault`. */
  checkpoint(): string | undefined;
}

/** What a snapshot folder works with. */
export interface Surroundings {
  log: Logger;
  metrics: Metrics;
  registry: Registry;
  guard: Guard;
  loads: Pick<Loads, "load">;
  /** Whether synthetic versions are served beside real ones. */
  includeSample: boolean;
  /** Serves these versions; done when no answer comes from others any more. */
  publish: (published: Published) => Promise<void>;
}

function newestFirst(a: Image, b: Image): number {
  const [x, y] = [a.description.provenance, b.description.provenance];
  return y.dataYear - x.dataYear || y.revision - x.revision;
}

interface Served {
  image: Image;
  loadedAt: string;
  file: SnapshotFile;
}

/** An image that the registry can't be told of yet. */
interface Loaded {
  signature: string;
  image: Image;
  file: SnapshotFile;
}

/**
 * Keeps what is served in step with a folder: a new file is loaded and published, a deleted one retired, each as soon
 * as it itself is done.
 */
export class SnapshotFolder {
  readonly #folder: string;
  readonly #with: Surroundings;
  /** The signature of each file that was served or refused; a file is looked at again when it changes. */
  readonly #seen = new Map<string, string>();
  /** What the system said last of each file that it doesn't let us read or load, or enter into the registry. */
  readonly #troubles = new Map<string, string>();
  /** Files that are being looked at or loaded. */
  readonly #working = new Map<string, { done: Promise<void>; isSample: boolean }>();
  readonly #loaded = new Map<string, Loaded>();
  /** Why files were refused, and when. */
  readonly #refusals = new Map<string, { reason: string; at: string }>();
  readonly #served = new Map<string, Served>();
  /** Files of synthetic versions that aren't served because real ones are. */
  readonly #hidden = new Set<string>();
  /** The hidden versions that the last publication named. */
  #publishedHidden = "";
  /** The file of the last version, which stays when it is deleted. */
  #kept: string | undefined;
  #unreadable = false;
  #scanning: Promise<void> | undefined;
  /** Publications come one after the other. */
  #publishing: Promise<void> = Promise.resolve();
  #isSettling = false;
  /** Whether the last look left synthetic files for when it is known what becomes of the real ones. */
  #isDeferring = false;
  /** Whether the registry may have versions as served that aren't. */
  #isRegistryDue = true;
  #registryTrouble: string | undefined;
  /** Whether what is published is answered from, and so has to be in the registry. */
  #isServing = false;
  #isClosed = false;

  constructor(folder: string, surroundings: Surroundings) {
    this.#folder = folder;
    this.#with = surroundings;
  }

  /** What is served, newest version first. */
  images(): Image[] {
    return [...this.#served.values()].map(({ image }) => image).sort(newestFirst);
  }

  published(): Published {
    const versions = [...this.#served.values()]
      .sort((a, b) => newestFirst(a.image, b.image))
      .map(({ image, loadedAt, file }) => ({ image: image.buffer, loadedAt, file }));
    return { versions, hidden: this.#hiddenVersions };
  }

  get #hiddenVersions(): string[] {
    return Array.from(this.#hidden, versionOf).sort();
  }

  /** Files that are refused, and since when, or that can't be read now, and why. */
  refused(): { file: string; reason: string; at: string | null }[] {
    const troubles = [...this.#troubles].map(([file, reason]) => ({ file, reason, at: null }));
    return [...troubles, ...[...this.#refusals].map(([file, refusal]) => ({ file, ...refusal }))];
  }

  /**
   * Looks at the folder once: retires what is gone, and starts to load what is new. A call during another one is that
   * one.
   */
  scan(): Promise<void> {
    this.#scanning ??= this.#scan().finally(() => {
      this.#scanning = undefined;
    });
    return this.#scanning;
  }

  /**
   * Looks at the folder, and waits until everything in it is published or refused.
   *
   * @returns whether a file may still be being written, so that another look is due
   */
  async settle(): Promise<boolean> {
    this.#isSettling = false;
    do {
      await this.scan();
      while (this.#working.size > 0)
        await Promise.all(Array.from(this.#working.values(), ({ done }) => done));
    } while (this.#isDeferring);
    return this.#isSettling;
  }

  /**
   * Enters what is published so far into the registry; from now on, each version before it is published. Before that
   * nothing is written, so that a start that fails leaves no trace of versions that it never served.
   *
   * @throws Error when the registry can't be written or isn't what was opened
   */
  beginServing(): void {
    this.#register(this.images());
    this.#isServing = true;
    this.#publishedHidden = this.#hiddenVersions.join();
  }

  /** From now on nothing is published and nothing written. */
  close(): void {
    this.#isClosed = true;
  }

  async #scan(): Promise<void> {
    this.#isDeferring = false;
    if (this.#isClosed) return;
    const states = await this.#list();
    // What is served goes on; the server's log says so.
    if (states === undefined || (this.#isServing && this.#with.guard.fault() !== undefined)) return;
    for (const names of [this.#seen, this.#troubles, this.#loaded, this.#refusals, this.#hidden])
      for (const name of names.keys()) if (!states.has(name)) names.delete(name);
    await this.#retire(states);
    const due = [...states].filter(([name, state]) => this.#isDue(name, state));
    // What came last first: it isn't to wait for what may have lain there for long.
    const arrivedMs = (state: FileState | Error) => (state instanceof Error ? 0 : state.arrivedMs);
    due.sort(([, a], [, b]) => arrivedMs(b) - arrivedMs(a));
    for (const [name, state] of states)
      if (!(state instanceof Error) && this.#seen.get(name) === state.signature) this.#troubles.delete(name);
    for (const [name, state] of due) {
      if (this.#isClosed) return;
      if (state instanceof Error) this.#report(name, state);
      else await this.#take(name, state);
    }
    this.#with.metrics.snapshotsUnreadable.set(this.#troubles.size);
    if (this.#isServing && this.#hiddenVersions.join() !== this.#publishedHidden) await this.#publish([], []);
    if (this.#isServing && this.#isRegistryDue) this.#writeRetired();
  }

  #isDue(name: string, state: FileState | Error): boolean {
    return !this.#working.has(name) && (state instanceof Error || this.#seen.get(name) !== state.signature);
  }

  /** Each snapshot file with its state; undefined when the folder can't be read: then nothing changes. */
  async #list(): Promise<Map<string, FileState | Error> | undefined> {
    try {
      const states = await listStates(this.#folder);
      this.#unreadable = false;
      return states;
    } catch (error) {
      if (!this.#unreadable) this.#with.log.error({ reason: reasonOf(error) }, "snapshots can't be listed");
      this.#unreadable = true;
      return undefined;
    }
  }

  /** Looks at what a file says of itself, and starts its load when that is what a snapshot says. */
  async #take(name: string, state: FileState): Promise<void> {
    try {
      const loaded = this.#loaded.get(name);
      if (loaded?.signature === state.signature) return await this.#serve(name, loaded);
      const head = await this.#readHead(name, state);
      if (head === undefined) return this.#lookAgain();
      const isSample = this.#isSample(head.metadata);
      if (isSample && this.#hasReal) return this.#hide([name], state.signature);
      if (isSample && [...this.#working.values()].some((work) => !work.isSample)) {
        this.#isDeferring = true;
        return;
      }
      const done = this.#load(name, state, head).finally(() => this.#working.delete(name));
      this.#working.set(name, { done, isSample });
    } catch (error) {
      await this.#fail(name, state, error);
    }
  }

  async #readHead(name: string, { signature, otherThanFile }: FileState): Promise<SnapshotHead | undefined> {
    if (!/^[0-9]{4}\.[1-9][0-9]*\.parquet$/.test(name))
      throw new DataError("name of a snapshot", shown(name), "<year>.<revision>.parquet");
    if (otherThanFile !== undefined) throw new DataError(name, otherThanFile, "a regular file");
    const file = await openFile(join(this.#folder, name), signature);
    if (file === undefined) return undefined;
    try {
      const head = await readHead(file, name);
      const { data_year, revision, sha256 } = head.metadata;
      this.#checkPromise(name, `${data_year}.${revision}`, sha256);
      return head;
    } finally {
      await file.handle.close();
    }
  }

  /** @throws DataError when a file isn't named by its version, or its number has been given to other content */
  #checkPromise(name: string, version: string, sha256: string): void {
    if (name !== `${version}.parquet`)
      throw new DataError(`${name}: data version in its metadata`, version, name.replace(/\.parquet$/, ""));
    const loaded = this.#served.get(name)?.image.description.sha256;
    if (loaded !== undefined && loaded !== sha256)
      throw new DataError(
        `${name}: content of a version that is loaded`,
        sha256,
        `${loaded}: ${otherContent}`,
      );
    const known = this.#consult((registry) => registry.version(version));
    if (known !== undefined && known.sha256 !== sha256)
      throw new DataError(
        `${name}: content of a version that was served since ${isoTime(known.first_served)}`,
        sha256,
        `${known.sha256}: ${otherContent}`,
      );
  }

  async #load(name: string, state: FileState, head: SnapshotHead): Promise<void> {
    const { log, loads } = this.#with;
    const started = performance.now();
    let reported = started;
    const onRows = (rows: number) => {
      if (performance.now() - reported < progressMs) return;
      reported = performance.now();
      log.info({ file: name, rows }, "loading snapshot");
    };
    try {
      const { signature, arrivedMs } = state;
      const path = join(this.#folder, name);
      const loaded = await loads.load({ name, path, signature, arrivedMs, head, onRows });
      if (loaded === undefined) return this.#lookAgain();
      const image = attachImage(loaded.image);
      const ms = Math.round(performance.now() - started);
      if (!this.#served.has(name))
        log.info({ file: name, ms, ...image.description.counts }, "snapshot loaded");
      await this.#serve(name, { signature, image, file: loaded.file });
    } catch (error) {
      await this.#fail(name, state, error);
    }
  }

  /**
   * Enters versions into the registry, before anything is answered from them.
   *
   * @throws Error when they may still be lost
   */
  #register(images: Image[]): void {
    this.#consult((registry) => {
      registry.atomically(() => {
        for (const { provenance, sha256, contentSha256 } of images.map(({ description }) => description))
          registry.serveVersion(versionName(provenance), sha256, contentSha256, new Date());
      });
      const fault = this.#with.guard.checkpoint();
      if (fault !== undefined) throw new Error(fault);
    });
  }

  /** Works with the registry, while it is what was opened. What is wrong with it is held against no file. */
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

  /** Enters a version into the registry, and then publishes it. */
  async #serve(name: string, loaded: Loaded): Promise<void> {
    if (this.#isClosed) return;
    const { signature, image, file } = loaded;
    const { provenance, sha256 } = image.description;
    const version = versionName(provenance);
    if (this.#isSample(provenance) && this.#hasReal) return this.#hide([name], signature);
    this.#loaded.set(name, loaded);
    this.#checkPromise(name, version, sha256);
    if (this.#isServing) this.#register([image]);
    this.#loaded.delete(name);
    this.#troubles.delete(name);
    this.#refusals.delete(name);
    this.#seen.set(name, signature);
    const served = this.#served.get(name);
    this.#served.set(
      name,
      served ? { ...served, file } : { image, loadedAt: new Date().toISOString(), file },
    );
    // The same content in another file is nothing new, but it is the file from now on.
    const hidden = this.#hideServed();
    await this.#publish(served === undefined ? [version] : [], hidden);
    if (hidden.length > 0) collectGarbage();
  }

  /** Whether a real version is served that has its file still. */
  get #hasReal(): boolean {
    return [...this.#served].some(
      ([name, { image }]) => name !== this.#kept && !isSynthetic(image.description.provenance),
    );
  }

  /** Whether a version is one that real ones hide. */
  #isSample(version: { publisher: string }): boolean {
    return !this.#with.includeSample && isSynthetic(version);
  }

  /** Takes out the versions that are to be hidden now. @returns their files */
  #hideServed(): string[] {
    if (!this.#hasReal) return [];
    const names = [...this.#served]
      .filter(([, { image }]) => this.#isSample(image.description.provenance))
      .map(([name]) => name);
    for (const name of names) this.#served.delete(name);
    this.#hide(names);
    return names;
  }

  /** @param signature of a file that wasn't served before */
  #hide(names: string[], signature?: string): void {
    if (names.length === 0) return;
    for (const name of names) {
      this.#hidden.add(name);
      this.#loaded.delete(name);
      this.#troubles.delete(name);
      this.#refusals.delete(name);
      if (signature !== undefined) this.#seen.set(name, signature);
    }
    this.#isRegistryDue = true;
    this.#with.log.warn(
      { versions: names.map(versionOf).sort() },
      "synthetic data versions are hidden beside real ones; INCLUDE_SAMPLE=true serves them",
    );
  }

  /** Hands out what is served now, and says which versions that changes; of those that are retired, by their files. */
  #publish(published: string[], retired: string[]): Promise<void> {
    const { log, metrics, publish } = this.#with;
    this.#publishing = this.#publishing
      .catch(() => {})
      .then(async () => {
        const images = this.images();
        const toServe = this.published();
        this.#publishedHidden = toServe.hidden.join();
        await publish(toServe);
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

  /** Refuses a file for what it holds; what the system refused is tried again with the next look. */
  async #fail(name: string, state: FileState, error: unknown): Promise<void> {
    if (this.#isClosed) return;
    if (!(error instanceof DataError)) return this.#report(name, error);
    // Perhaps it is still being written: then it is tried again, until it rests.
    const now = await stateOf(join(this.#folder, name)).catch(() => undefined);
    if (now?.signature !== state.signature || Math.abs(Date.now() - now.changedMs) < settleMs)
      return this.#lookAgain();
    this.#loaded.delete(name);
    this.#hidden.delete(name);
    this.#troubles.delete(name);
    this.#seen.set(name, state.signature);
    this.#refusals.set(name, { reason: error.message, at: new Date().toISOString() });
    this.#isRegistryDue = true;
    this.#with.metrics.snapshotsRefused.inc();
    const serving = this.images().map((image) => versionName(image.description.provenance));
    this.#with.log.error({ file: name, reason: error.message, serving }, "snapshot refused");
  }

  #report(name: string, error: unknown): void {
    const reason = reasonOf(error);
    if (this.#troubles.get(name) === reason) return;
    this.#troubles.set(name, reason);
    this.#with.log.error({ file: name, reason }, "snapshot can't be read or served yet: it is tried again");
  }

  #lookAgain(): void {
    this.#isSettling = true;
  }

  /** Takes out the versions whose files are gone. */
  async #retire(states: Map<string, FileState | Error>): Promise<void> {
    const gone = [...this.#served.keys()].filter((name) => isGone(states.get(name)));
    if (gone.length > 0 && gone.length === this.#served.size) {
      const [current] = this.images();
      const kept = `${versionName(current.description.provenance)}.parquet`;
      gone.splice(gone.indexOf(kept), 1);
      if (this.#kept !== kept)
        this.#with.log.error({ file: kept }, "the last data version stays, though its file is gone");
      this.#kept = kept;
    } else this.#kept = undefined;
    for (const name of gone) {
      this.#served.delete(name);
      this.#seen.delete(name);
    }
    if (!this.#hasReal) {
      for (const name of this.#hidden) this.#seen.delete(name);
      this.#hidden.clear();
    }
    const retired = [...gone, ...this.#hideServed()];
    if (retired.length === 0) return;
    await this.#publish([], retired);
    this.#isRegistryDue = true;
    collectGarbage();
  }

  /** Tells the registry which versions are served no more: those that were retired, now or while no server ran. */
  #writeRetired(): void {
    try {
      this.#consult((registry) => {
        for (const version of registry.servedVersions()) {
          const name = `${version}.parquet`;
          if (!this.#served.has(name) && !this.#working.has(name))
            registry.retireVersion(version, new Date());
        }
      });
      this.#isRegistryDue = this.#working.size > 0;
      this.#registryTrouble = undefined;
    } catch (error) {
      const reason = reasonOf(error);
      if (this.#registryTrouble !== reason)
        this.#with.log.error({ reason }, "retired data versions can't be registered yet");
      this.#registryTrouble = reason;
    }
  }
}

/** A link that leads nowhere is as good as gone. */
function isGone(state: FileState | Error | undefined): boolean {
  return state === undefined || isMissing(state);
}

function versionOf(name: string): string {
  return name.replace(/\.parquet$/, "");
}
