import { availableParallelism, totalmem } from "node:os";
import { Worker } from "node:worker_threads";
import { loadNeed, type SnapshotHead } from "../../engine/head.ts";
import type { BuildLimits } from "../../engine/load.ts";
import { DataError, SizeError } from "../../engine/query.ts";
import type { FromLoad, LoadedSnapshot, ToLoad } from "../shared/messages.ts";
import { safely } from "../shared/safely.ts";
import { type OpenFile, openFile } from "./folder.ts";

/** The loads of snapshot files: in threads that end afterwards, all within a share of the memory. */

const megabyte = 2 ** 20;
/** Of the machine's memory, or the container's: what all loads may take together. The rest is for what is served. */
const memoryShare = 0.5;
/** Of that, what is kept for small snapshots, so that they needn't wait for large ones. */
const smallShare = 0.25;
/** A snapshot of so many rows is small: loading it takes about a second. */
const maxSmallRows = 250_000;
/** After so long a load is given up. The largest snapshot takes less than two minutes on one core. */
const maxLoadMs = 600_000;
/** A load keeps two cores busy for its first second: its own thread, and V8's that compile what it does. */
const coresPerSmallLoad = 2;
/** A loader's heap before it reads anything. */
const minHeapBytes = 40 * megabyte;
/** What building usually takes beside what `loadNeed` says, with hardly a row and for each one. */
const minBuildBytes = 16 * megabyte;
const buildBytesPerRow = 384;
/** A load takes no less. */
const leastShare = minHeapBytes + minBuildBytes + megabyte;
/** Of that, what texts on the heap may take; the rest is for the image. */
const heapShare = 0.25;
/** How far V8's limit is beyond what a load's own limits allow: reaching it may end the process. */
const heapReserve = 2;
/** Of a thread's first load: as much may a further one take. */
const furtherShare = 1.25;
const maxYoungGenerationSizeMb = 8;

/** A load that is wanted. */
export interface Wanted {
  /** What to call it in errors. */
  name: string;
  path: string;
  /** Of the file whose head this is. */
  signature: string;
  arrivedMs: number;
  head: SnapshotHead;
  /** Told now and then how many rows are read. */
  onRows: (rows: number) => void;
}

interface Waiting {
  wanted: Wanted;
  isSmall: boolean;
  /** Memory that the load may take, in bytes. */
  share: number;
  resolve: (loaded: LoadedSnapshot | undefined) => void;
  reject: (error: unknown) => void;
}

/** Without what building takes. */
function leastBytes(head: SnapshotHead): number {
  const { buffers, heap } = loadNeed(head);
  return buffers + heap + minHeapBytes;
}

/** Memory of this machine, or of the container where that has less. */
function machineBytes(): number {
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
}

/** Runs loads, small snapshots and new files first, as far as cores and memory go. */
export class Loads {
  readonly #maxLarge = availableParallelism();
  readonly #maxSmall = Math.ceil(availableParallelism() / coresPerSmallLoad);
  readonly #maxBytes: number;
  readonly #deadlineMs: number;
  /** Newest file first. */
  readonly #waiting: Waiting[] = [];
  #running = { small: 0, large: 0 };
  #taken = { all: 0, large: 0 };

  /**
   * @param maxBytes memory for all loads together
   * @param deadlineMs after which a load is given up
   */
  constructor(maxBytes = machineBytes() * memoryShare, deadlineMs = maxLoadMs) {
    this.#maxBytes = maxBytes;
    this.#deadlineMs = deadlineMs;
  }

  /**
   * Loads a file when its turn comes.
   *
   * @returns its image and its bytes; undefined when the file isn't what it was any more
   * @throws DataError when the file is refused for what it holds
   * @throws Error of the system, when it may do better next time
   */
  async load(wanted: Wanted): Promise<LoadedSnapshot | undefined> {
    const { name, head } = wanted;
    const { rows } = head.metadata;
    const least = leastBytes(head);
    const usual = Math.max(least + minBuildBytes + rows * buildBytesPerRow, leastShare);
    if (least > this.#maxLargeBytes)
      throw new DataError(
        `${name}: memory to load it`,
        `${mebibytes(least)} MiB`,
        `at most ${mebibytes(this.#maxLargeBytes)} on this machine`,
      );
    try {
      return await this.#enqueue(wanted, Math.min(usual, this.#maxLargeBytes));
    } catch (error) {
      if (!(error instanceof SizeError) || usual >= this.#maxLargeBytes) throw error;
      // Unusually long names: once more with all that there is.
      return this.#enqueue(wanted, this.#maxLargeBytes);
    }
  }

  get #maxLargeBytes(): number {
    return this.#maxBytes * (1 - smallShare);
  }

  #enqueue(wanted: Wanted, share: number): Promise<LoadedSnapshot | undefined> {
    const isSmall = wanted.head.metadata.rows <= maxSmallRows && share <= this.#maxBytes * smallShare;
    return new Promise((resolve, reject) => {
      const place = this.#waiting.findIndex((other) => other.wanted.arrivedMs < wanted.arrivedMs);
      const waiting = { wanted, isSmall, share, resolve, reject };
      this.#waiting.splice(place < 0 ? this.#waiting.length : place, 0, waiting);
      this.#startNext();
    });
  }

  #startNext(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) void this.#run(next);
  }

  /** Takes the first load that fits, if it is one that is asked for. */
  #next(isAsked = (_: Waiting) => true): Waiting | undefined {
    const place = this.#waiting.findIndex((waiting) => this.#fits(waiting));
    return place >= 0 && isAsked(this.#waiting[place]) ? this.#waiting.splice(place, 1)[0] : undefined;
  }

  #fits({ isSmall, share }: Waiting): boolean {
    if (this.#taken.all + share > this.#maxBytes) return false;
    if (isSmall) return this.#running.small < this.#maxSmall;
    return this.#running.large < this.#maxLarge && this.#taken.large + share <= this.#maxLargeBytes;
  }

  /**
   * Runs a load, and in the same thread those behind it that are alike: a thread that has its code compiled takes half
   * the time. Long ones gain nothing by that, and their memory is given back sooner.
   */
  async #run(first: Waiting): Promise<void> {
    const { isSmall, share } = first;
    const isAlike = (waiting: Waiting) =>
      isShort(waiting) && waiting.isSmall === isSmall && waiting.share <= furtherShare * share;
    let loader: Loader | undefined;
    let next: Waiting | undefined = first;
    while (next !== undefined) {
      const { wanted, share, resolve, reject } = next;
      this.#running[isSmall ? "small" : "large"]++;
      this.#take(isSmall, share);
      try {
        const file = await openFile(wanted.path, wanted.signature);
        if (file !== undefined && loader?.isIdle !== true)
          loader = await startLoader(wanted.head, share, file);
        resolve(file && (await loader?.load(wanted, file, share, this.#deadlineMs)));
      } catch (error) {
        reject(error);
      }
      this.#running[isSmall ? "small" : "large"]--;
      this.#take(isSmall, -share);
      next = isShort(first) && loader?.isIdle === true ? this.#next(isAlike) : undefined;
    }
    // A thread that was given up may keep its memory for longer than its place.
    this.#take(isSmall, share);
    this.#startNext();
    await loader?.end();
    this.#take(isSmall, -share);
    this.#startNext();
  }

  #take(isSmall: boolean, bytes: number): void {
    this.#taken.all += bytes;
    if (!isSmall) this.#taken.large += bytes;
  }
}

function isShort({ wanted }: Waiting): boolean {
  return wanted.head.metadata.rows <= maxSmallRows;
}

/** What a load may take beside what it takes at least. */
function limitsOf(head: SnapshotHead, share: number): BuildLimits {
  const free = share - leastBytes(head);
  return {
    heap: loadNeed(head).heap + Math.floor(free * heapShare),
    image: Math.floor(free * (1 - heapShare)),
  };
}

/** Starts a thread; where that fails, the file that it is for is closed. */
async function startLoader(head: SnapshotHead, share: number, { handle }: OpenFile): Promise<Loader> {
  try {
    return new Loader(limitsOf(head, share).heap);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** A loader thread. */
class Loader {
  readonly #thread: Worker;
  readonly #ended: Promise<unknown>;
  /** Whether it has done what it was asked for, and may be asked for more. */
  isIdle = true;

  constructor(heap: number) {
    const resourceLimits = {
      maxOldGenerationSizeMb: Math.ceil((heapReserve * (minHeapBytes + heap)) / megabyte),
      maxYoungGenerationSizeMb,
    };
    this.#thread = new Worker(new URL("./load-thread.ts", import.meta.url), { resourceLimits });
    // Each load has listeners of its own; what nobody listens to would end the process.
    this.#thread.on("error", () => {});
    this.#ended = new Promise((resolve) => this.#thread.once("exit", resolve));
    this.#thread.once("exit", () => {
      this.isIdle = false;
    });
  }

  /** @returns the image and the file's bytes, when they are there; the file is closed when the thread doesn't read it any more */
  load({ name, head, onRows }: Wanted, { handle, size }: OpenFile, share: number, maxMs: number) {
    const thread = this.#thread;
    this.isIdle = false;
    return new Promise<LoadedSnapshot>((resolve, reject) => {
      const giveUp = () => {
        reject(new DataError(name, `no end of its load within ${maxMs} ms`, "a snapshot that can be loaded"));
        // Not waited for: it may never come to an end.
        void thread.terminate();
      };
      const timer = setTimeout(safely(giveUp, reject), maxMs);
      const over = () => {
        clearTimeout(timer);
        thread.removeAllListeners("message").off("error", onError).off("exit", onExit);
        void handle.close();
      };
      const onError = (error: Error) => reject(isOutOfMemory(error) ? tooLarge(name) : error);
      const onExit = () => {
        over();
        reject(new Error("the loader ended without a result"));
      };
      const take = (message: FromLoad) => {
        if (message.type === "progress") return onRows(message.rows);
        over();
        this.isIdle = true;
        if (message.type === "loaded") resolve({ image: message.image, file: message.file });
        else reject(failureOf(message));
      };
      const fail = (error: unknown) => {
        reject(error);
        void thread.terminate();
      };
      thread.on("message", safely(take, fail));
      thread.on("error", onError);
      thread.on("exit", onExit);
      const data: ToLoad = { name, fd: handle.fd, size, limits: limitsOf(head, share) };
      thread.postMessage(data);
    });
  }

  /** Waits until the thread is gone, which gives its memory back. */
  async end(): Promise<void> {
    if (this.isIdle) this.#thread.postMessage(null);
    await this.#ended;
  }
}

function isOutOfMemory(error: Error): boolean {
  return "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
}

function tooLarge(name: string): SizeError {
  return new SizeError(`${name}: memory to load it`, "no end", "a heap of the usual size");
}

/** The error that a loader has reported. */
function failureOf({ cause, words }: Extract<FromLoad, { type: "failed" }>): Error {
  if (cause === "system") return new Error(words.join(": "));
  const [subject, found, expected] = words;
  return new (cause === "size" ? SizeError : DataError)(subject, found, expected);
}

function mebibytes(bytes: number): number {
  return Math.ceil(bytes / megabyte);
}
