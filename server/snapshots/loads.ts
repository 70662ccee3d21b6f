import { totalmem } from "node:os";
import type { Worker } from "node:worker_threads";
import { DataError, SizeError } from "../../engine/query.ts";
import type { FromLoad, LoadedSnapshot, ToLoad } from "../shared/messages.ts";
import { safely } from "../shared/safely.ts";
import { type OpenFile, openFile } from "./folder.ts";
import { loaderThread } from "./loader-threads.ts";

/** Schedules the loads of snapshot files within a share of the memory. The loading threads end when no file waits. */

const megabyte = 2 ** 20;
/** Share of the machine's or container's memory for all loads together. The rest is for snapshots that are served. */
const memoryShare = 0.5;
/** Share of the memory for all loads that is kept for small snapshots, so that they don't wait for large snapshots. */
const smallShare = 0.25;
/** Maximum memory for small snapshots, which never need more. */
const maxSmallBytes = 384 * megabyte;
/** Maximum bytes of a small snapshot's file, which has some 250,000 rows. Loading it takes one to two seconds. */
const maxSmallFileBytes = 3 * megabyte;
/** Maximum time of a load. A snapshot of ten million rows takes about a minute. */
const maxLoadMs = 600_000;
/** Heap of a loader thread that has read nothing yet. */
const minHeapBytes = 40 * megabyte;
/** Share of a load's memory for strings on the heap. */
const heapShare = 0.25;
/** V8's heap limit as a multiple of a load's own limit, because reaching V8's limit may end the process. */
const heapReserve = 2;

export interface Wanted {
  /** The file's name in errors. */
  name: string;
  path: string;
  /** The file's identity when it was seen. */
  signature: string;
  arrivedMs: number;
  size: number;
  /** Called with the number of rows that are read so far. */
  onRows: (rows: number) => void;
}

function machineBytes(): number {
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
}

/** Loads at most one small and one large snapshot at a time. */
export class Loads {
  readonly #small: Lane;
  readonly #large: Lane;

  /** @param maxBytes memory for all loads together */
  constructor(maxBytes = machineBytes() * memoryShare, deadlineMs = maxLoadMs) {
    this.#small = new Lane(Math.min(maxBytes * smallShare, maxSmallBytes), deadlineMs);
    this.#large = new Lane(maxBytes * (1 - smallShare), deadlineMs);
  }

  /**
   * Loads a file when its turn comes. Returns undefined if the file has changed.
   * @throws DataError when the file is at fault
   */
  async load(wanted: Wanted): Promise<LoadedSnapshot | undefined> {
    if (wanted.size > maxSmallFileBytes) return this.#large.load(wanted);
    try {
      return await this.#small.load(wanted);
    } catch (error) {
      // The file decodes to much more than its size suggests.
      if (error instanceof SizeError) return this.#large.load(wanted);
      throw error;
    }
  }
}

interface Waiting {
  wanted: Wanted;
  resolve: (loaded: LoadedSnapshot | undefined) => void;
  reject: (error: unknown) => void;
}

/** Loads one file after the other, the newest first. Each load may use all memory of the lane. */
class Lane {
  readonly #bytes: number;
  readonly #deadlineMs: number;
  readonly #waiting: Waiting[] = [];
  #isRunning = false;

  constructor(bytes: number, deadlineMs: number) {
    this.#bytes = bytes;
    this.#deadlineMs = deadlineMs;
  }

  load(wanted: Wanted): Promise<LoadedSnapshot | undefined> {
    return new Promise((resolve, reject) => {
      const place = this.#waiting.findIndex((other) => other.wanted.arrivedMs < wanted.arrivedMs);
      this.#waiting.splice(place < 0 ? this.#waiting.length : place, 0, { wanted, resolve, reject });
      if (!this.#isRunning) void this.#run();
    });
  }

  /** Runs the waiting loads, if possible in one thread: once its code is compiled, a load takes half the time. */
  async #run(): Promise<void> {
    this.#isRunning = true;
    let loader: Loader | undefined;
    while (this.#waiting.length > 0) {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
        const { wanted, resolve, reject } = next;
        try {
          if (loader?.isIdle !== true) {
            await loader?.end();
            loader = new Loader(this.#bytes);
          }
          const file = await openFile(wanted.path, wanted.signature);
          resolve(file && (await loader.load(wanted, file, this.#deadlineMs)));
        } catch (error) {
          reject(error);
        }
      }
      // The thread's end is awaited, because its memory is free only then.
      await loader?.end();
      loader = undefined;
    }
    this.#isRunning = false;
  }
}

class Loader {
  readonly #thread: Worker;
  readonly #ended: Promise<unknown>;
  readonly #bytes: number;
  #isIdle = true;

  /** @param bytes memory of each of its loads */
  constructor(bytes: number) {
    this.#bytes = bytes;
    this.#thread = loaderThread(Math.ceil((heapReserve * (minHeapBytes + bytes * heapShare)) / megabyte));
    this.#ended = new Promise((resolve) => this.#thread.once("exit", resolve));
    this.#thread.once("exit", () => {
      this.#isIdle = false;
    });
  }

  get isIdle(): boolean {
    return this.#isIdle;
  }

  /** Closes the file when the thread no longer reads it. @returns the image and the file's bytes */
  load({ name, onRows }: Wanted, { handle, size }: OpenFile, maxMs: number) {
    const thread = this.#thread;
    this.#isIdle = false;
    return new Promise<LoadedSnapshot>((resolve, reject) => {
      const giveUp = () => {
        reject(new DataError(name, `no end of its load within ${maxMs} ms`, "a snapshot that can be loaded"));
        // The rejection doesn't wait for the thread's end, which may never come.
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
        if (message.type === "loaded") {
          this.#isIdle = true;
          const { image, file, warnings } = message;
          resolve({ image, file, warnings });
        } else {
          this.#isIdle = !message.isLast;
          reject(failureOf(message));
        }
      };
      const fail = (error: unknown) => {
        reject(error);
        void thread.terminate();
      };
      thread.on("message", safely(take, fail));
      thread.on("error", onError);
      thread.on("exit", onExit);
      const maxBytes = Math.max(0, this.#bytes - minHeapBytes);
      const data: ToLoad = { name, fd: handle.fd, size, maxBytes };
      thread.postMessage(data);
    });
  }

  async end(): Promise<void> {
    if (this.#isIdle) this.#thread.postMessage(null);
    await this.#ended;
  }
}

function tooLarge(name: string): SizeError {
  return new SizeError(
    `${name}: memory needed for the load`,
    "more than the loader's heap",
    "a snapshot that fits",
  );
}

function failureOf({ cause, words }: Extract<FromLoad, { type: "failed" }>): Error {
  if (cause === "system") return new Error(words.join(": "));
  const [subject, found, expected] = words;
  return new (cause === "size" ? SizeError : DataError)(subject, found, expected);
}
