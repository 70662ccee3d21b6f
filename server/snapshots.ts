import { readdirSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import type { Logger } from "pino";
import { attachImage, DataError, type Image, versionName } from "../engine/query.ts";
import type { FromLoad, LoadData, Published } from "./messages.ts";
import type { Metrics } from "./metrics.ts";
import { collectGarbage } from "./runtime.ts";

/** JavaScript heap of a loader thread; a file that needs more is refused. */
const maxLoaderHeapMb = 2048;
/** A file that changed less than this ago may still be written: what is wrong with it is not yet held against it. */
const settleMs = 1500;
/** A load that takes longer than this says in the log how far it is. */
const progressMs = 2000;

/**
 * The snapshot files in a folder; none where there is no such folder.
 *
 * @throws DataError when the folder can't be read
 */
export function listSnapshots(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith(".parquet") && !name.startsWith("."))
      .sort();
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw new DataError(`DATASETS_DIR ${folder}`, String(error), "a folder that can be read");
  }
}

/**
 * Loads a snapshot file in a thread of its own, which ends afterwards.
 *
 * @throws DataError when the file is refused, whatever the reason
 */
export async function loadSnapshot(
  file: string,
  onRows: (rows: number) => void = () => {},
  heapMb = maxLoaderHeapMb,
): Promise<SharedArrayBuffer> {
  const workerData: LoadData = { file };
  const thread = new Worker(new URL("./load.ts", import.meta.url), {
    workerData,
    resourceLimits: { maxOldGenerationSizeMb: heapMb },
  });
  return new Promise((resolve, reject) => {
    const refuse = (reason: string) => reject(new DataError(file, reason, "a snapshot that can be loaded"));
    thread.on("message", (message: FromLoad) => {
      if (message.type === "progress") onRows(message.rows);
      else if (message.type === "loaded") resolve(message.image);
      else reject(new Error(message.reason));
    });
    thread.once("error", (error) => refuse(error.message));
    thread.once("exit", () => refuse("an end of its thread without a result"));
  });
}

function newestFirst(a: Image, b: Image): number {
  const [x, y] = [a.describe.provenance, b.describe.provenance];
  return y.dataYear - x.dataYear || y.revision - x.revision;
}

/** Keeps what is served in step with a folder: a new file is loaded and published, a deleted one retired. */
export class SnapshotFolder {
  readonly #folder: string;
  readonly #log: Logger;
  readonly #metrics: Metrics;
  readonly #publish: (images: Published) => Promise<void>;
  /** The state of each file that was loaded or refused; a file is looked at again when it changes. */
  readonly #seen = new Map<string, string>();
  readonly #served = new Map<string, { image: Image; loadedAt: string }>();
  /** The file of the last version, which stays when it is deleted. */
  #kept: string | undefined;
  #unreadable = false;
  #scanning: Promise<boolean> | undefined;
  #settling = false;

  /** @param publish serves these images, newest version first; done when no answer comes from others any more */
  constructor(folder: string, log: Logger, metrics: Metrics, publish: (images: Published) => Promise<void>) {
    this.#folder = folder;
    this.#log = log;
    this.#metrics = metrics;
    this.#publish = publish;
  }

  /** What is served, newest version first. */
  images(): Image[] {
    return [...this.#served.values()].map(({ image }) => image).sort(newestFirst);
  }

  published(): Published {
    return [...this.#served.values()]
      .sort((a, b) => newestFirst(a.image, b.image))
      .map(({ image, loadedAt }) => ({ image: image.buffer, loadedAt }));
  }

  /**
   * Looks at the folder once. A call during another one is that one.
   *
   * @returns whether a file may still be being written, so that another look is due
   */
  scan(): Promise<boolean> {
    this.#scanning ??= this.#scan().finally(() => {
      this.#scanning = undefined;
    });
    return this.#scanning;
  }

  async #scan(): Promise<boolean> {
    this.#settling = false;
    const states = this.#list();
    if (states === undefined) return false;
    const loaded = await this.#loadChanged(states);
    const retired = this.#retire(states);
    for (const name of this.#seen.keys()) if (!states.has(name)) this.#seen.delete(name);
    if (loaded.length === 0 && retired.length === 0) return this.#settling;

    const images = this.images();
    await this.#publish(this.published());
    const current = versionName(images[0].describe.provenance);
    for (const [change, versions] of [
      ["published", loaded],
      ["retired", retired],
    ] as const)
      for (const version of versions) {
        this.#metrics.snapshotChanges.inc({ change });
        this.#log.info({ version, current }, `data version ${change}`);
      }
    this.#metrics.snapshotRows.reset();
    for (const { describe } of images)
      this.#metrics.snapshotRows.set({ version: versionName(describe.provenance) }, describe.counts.rows);
    if (retired.length > 0) collectGarbage();
    return this.#settling;
  }

  /** Each snapshot file with its state; undefined when the folder can't be read: then nothing changes. */
  #list(): Map<string, FileState> | undefined {
    try {
      const states = new Map<string, FileState>();
      // Without a folder nothing is known of the files: that's not the same as none being there.
      statSync(this.#folder);
      for (const name of listSnapshots(this.#folder)) {
        const state = stateOf(join(this.#folder, name));
        if (state !== undefined) states.set(name, state);
      }
      this.#unreadable = false;
      return states;
    } catch (error) {
      if (!this.#unreadable) this.#log.error({ reason: reasonOf(error) }, "snapshots can't be listed");
      this.#unreadable = true;
      return undefined;
    }
  }

  /** Loads new and changed files, as many at a time as there are cores. @returns the versions that came */
  async #loadChanged(states: Map<string, FileState>): Promise<string[]> {
    const versions: string[] = [];
    const changed = [...states].filter(([name, state]) => this.#seen.get(name) !== state.signature).values();
    const work = async () => {
      for (const [name, state] of changed) {
        const version = await this.#load(name, state);
        if (version !== undefined) versions.push(version);
      }
    };
    await Promise.all(Array.from({ length: availableParallelism() }, work));
    return versions;
  }

  async #load(name: string, state: FileState): Promise<string | undefined> {
    const file = join(this.#folder, name);
    const started = performance.now();
    let reported = started;
    const onRows = (rows: number) => {
      if (performance.now() - reported < progressMs) return;
      reported = performance.now();
      this.#log.info({ file: name, rows }, "loading snapshot");
    };
    try {
      const image = attachImage(await loadSnapshot(file, onRows));
      const { counts, provenance, sha256 } = image.describe;
      const known = this.#served.get(name)?.image;
      if (known !== undefined && known.describe.sha256 !== sha256)
        throw new DataError(`${name}: content of a version that is loaded`, sha256, known.describe.sha256);
      this.#seen.set(name, state.signature);
      if (known !== undefined) return undefined;
      this.#served.set(name, { image, loadedAt: new Date().toISOString() });
      this.#log.info(
        { file: name, ms: Math.round(performance.now() - started), ...counts },
        "snapshot loaded",
      );
      return versionName(provenance);
    } catch (error) {
      // Perhaps it is still being written: then it is tried again, until it rests.
      const now = stateOf(file);
      if (now?.signature !== state.signature || Math.abs(Date.now() - now.changedMs) < settleMs) {
        this.#settling = true;
        return undefined;
      }
      this.#seen.set(name, state.signature);
      this.#metrics.snapshotsRefused.inc();
      const serving = this.images().map((image) => versionName(image.describe.provenance));
      this.#log.error({ file: name, reason: reasonOf(error), serving }, "snapshot refused");
      return undefined;
    }
  }

  /** Takes out the versions whose files are gone. @returns those versions */
  #retire(states: Map<string, FileState>): string[] {
    const gone = [...this.#served.keys()].filter((name) => !states.has(name));
    if (gone.length > 0 && gone.length === this.#served.size) {
      const [current] = this.images();
      const kept = `${versionName(current.describe.provenance)}.parquet`;
      gone.splice(gone.indexOf(kept), 1);
      if (this.#kept !== kept)
        this.#log.error({ file: kept }, "the last data version stays, though its file is gone");
      this.#kept = kept;
    } else this.#kept = undefined;
    for (const name of gone) this.#served.delete(name);
    return gone.map((name) => name.replace(/\.parquet$/, ""));
  }
}

interface FileState {
  /** Changes whenever the file does. */
  signature: string;
  changedMs: number;
}

function stateOf(file: string): FileState | undefined {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  return { signature: `${stat.ino} ${stat.size} ${stat.mtimeMs}`, changedMs: stat.mtimeMs };
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
