import { availableParallelism, totalmem } from "node:os";
import type { Worker } from "node:worker_threads";
import { loadNeed, type SnapshotHead } from "../../engine/head.ts";
import type { BuildLimits } from "../../engine/load.ts";
import { DataError, SizeError } from "../../engine/query.ts";
import type { FromLoad, LoadedSnapshot, ToLoad } from "../shared/messages.ts";
import { safely } from "../shared/safely.ts";
import { type OpenFile, openFile } from "./folder.ts";
import { loaderThread } from "./loader-threads.ts";

/** Schedules the loads of snapshot files, in threads that end afterwards, within a share of the memory. */

const megabyte = 2 ** 20;
/** Share of the machine's or container's memory for all loads together. The rest is for the served snapshots. */
const memoryShare = 0.5;
/** Share of that memory for small snapshots, so that they don't wait for large ones. */
const smallShare = 0.25;
/** Rows of a small snapshot. Loading it takes about a second. */
const maxSmallRows = 250_000;
/** Maximum time of a load. The largest snapshot takes less than two minutes on one core. */
const maxLoadMs = 600_000;
/** Cores per small load: its first second keeps two busy, one of them with V8's compiler. */
const coresPerSmallLoad = 2;
/** Heap of a loader that has read nothing. */
const minHeapBytes = 40 * megabyte;
/** Memory that building usually takes beyond `loadNeed`: at least, and per row. */
const minBuildBytes = 16 * megabyte;
const buildBytesPerRow = 384;
const leastShare = minHeapBytes + minBuildBytes + megabyte;
/** Share of the free memory for strings on the heap; the rest is for the image. */
const heapShare = 0.25;
/** V8's heap limit as a multiple of a load's own limit, because reaching V8's may end the process. */
const heapReserve = 2;
/** How much memory a thread's next load may take, as a multiple of its first load's. */
const furtherShare = 1.25;

export interface Wanted {
  /** The file's name in errors. */
  name: string;
  path: string;
  /** The file's identity when its head was read. */
  signature: string;
  arrivedMs: number;
  head: SnapshotHead;
  /** Called regularly with the number of rows read so far. */
  onRows: (rows: number) => void;
}

interface Waiting {
  wanted: Wanted;
  isSmall: boolean;
  /** Memory for the load, in bytes. */
  share: number;
  resolve: (loaded: LoadedSnapshot | undefined) => void;
  reject: (error: unknown) => void;
}

/** Bytes that a load needs to decode the file, before the image is built. */
function leastBytes(head: SnapshotHead): number {
  const { buffers, heap } = loadNeed(head);
  return buffers + heap + minHeapBytes;
}

function machineBytes(): number {
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
}

/** Runs loads as far as cores and memory allow, small snapshots and new files first. */
export class Loads {
  readonly #maxLarge = availableParallelism();
  readonly #maxSmall = Math.ceil(availableParallelism() / coresPerSmallLoad);
  readonly #maxBytes: number;
  readonly #deadlineMs: number;
  /** Newest file first. */
  readonly #waiting: Waiting[] = [];
  #running = { small: 0, large: 0 };
  #taken = { all: 0, large: 0 };

  /** @param maxBytes memory for all loads together @param deadlineMs after which a load is given up */
  constructor(maxBytes = machineBytes() * memoryShare, deadlineMs = maxLoadMs) {
    this.#maxBytes = maxBytes;
    this.#deadlineMs = deadlineMs;
  }

  /** Loads a file when its turn comes; undefined when it has changed. @throws DataError about its content */
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
      // The estimate was too low, because names are unusually long: retry with all memory allowed.
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

  /** Takes the first load that fits, if it meets the condition. */
  #next(isAsked = (_: Waiting) => true): Waiting | undefined {
    const place = this.#waiting.findIndex((waiting) => this.#fits(waiting));
    return place >= 0 && isAsked(this.#waiting[place]) ? this.#waiting.splice(place, 1)[0] : undefined;
  }

  #fits({ isSmall, share }: Waiting): boolean {
    if (this.#taken.all + share > this.#maxBytes) return false;
    if (isSmall) return this.#running.small < this.#maxSmall;
    return this.#running.large < this.#maxLarge && this.#taken.large + share <= this.#maxLargeBytes;
  }

  /** Runs a load, and small ones that wait in the same thread, where compiled code halves their time. */
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
    // The memory stays reserved until the thread has ended.
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

/** How much more memory than the least a load may take. */
function limitsOf(head: SnapshotHead, share: number): BuildLimits {
  const free = share - leastBytes(head);
  return {
    heap: loadNeed(head).heap + Math.floor(free * heapShare),
    image: Math.floor(free * (1 - heapShare)),
  };
}

/** Starts a thread. If that fails, closes the file. */
async function startLoader(head: SnapshotHead, share: number, { handle }: OpenFile): Promise<Loader> {
  try {
    return new Loader(limitsOf(head, share).heap);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

class Loader {
  readonly #thread: Worker;
  readonly #ended: Promise<unknown>;
  /** Whether the thread can take another load. */
  isIdle = true;

  constructor(heap: number) {
    this.#thread = loaderThread(Math.ceil((heapReserve * (minHeapBytes + heap)) / megabyte));
    this.#ended = new Promise((resolve) => this.#thread.once("exit", resolve));
    this.#thread.once("exit", () => {
      this.isIdle = false;
    });
  }

  /** Loads a file, and closes it when the thread no longer reads it. @returns the image and the file's bytes */
  load({ name, head, onRows }: Wanted, { handle, size }: OpenFile, share: number, maxMs: number) {
    const thread = this.#thread;
    this.isIdle = false;
    return new Promise<LoadedSnapshot>((resolve, reject) => {
      const giveUp = () => {
        reject(new DataError(name, `no end of its load within ${maxMs} ms`, "a snapshot that can be loaded"));
        // Not awaited, because it may never end.
        void thread.terminate();
      };
      const timer = setTimeout(safely(giveUp, reject), maxMs);
      const over = () => {
        clearTimeout(timer);
        thread.removeAllListeners("message").off("error", onError).off("exit", onExit);
        void handle.close();
      };
      const onError = (error: Error) =>
        reject("code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY" ? tooLarge(name) : error);
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

  /** Waits until the thread has ended and its memory is free. */
  async end(): Promise<void> {
    if (this.isIdle) this.#thread.postMessage(null);
    await this.#ended;
  }
}

function tooLarge(name: string): SizeError {
  return new SizeError(`${name}: memory to load it`, "more than the loader's heap", "a snapshot that fits");
}

function failureOf({ cause, words }: Extract<FromLoad, { type: "failed" }>): Error {
  if (cause === "system") return new Error(words.join(": "));
  const [subject, found, expected] = words;
  return new (cause === "size" ? SizeError : DataError)(subject, found, expected);
}

function mebibytes(bytes: number): number {
  return Math.ceil(bytes / megabyte);
}
