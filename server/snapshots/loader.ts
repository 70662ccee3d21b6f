import { totalmem } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { DataError } from "../../engine/query.ts";
import type { FailedLoad, FromLoad, LoadData, LoadedSnapshot } from "../shared/messages.ts";
import { stepBack, threadIds } from "../shared/priority.ts";
import { safely } from "../shared/safely.ts";
import { type OpenFile, openFile, type Wanted } from "./folder.ts";

/**
 * Loads snapshot files in a thread, one after the other. Only the thread's end frees its memory, so call `end` when no
 * file waits. The thread also ends after a load that may have left it unusable.
 */

const megabyte = 2 ** 20;
/** Share of the machine's or container's memory for a load. The rest is for snapshots that are served. */
export const memoryShare = 0.5;
export const maxLoadMs = 600_000;
/** Maximum wait for the end of a thread after a failed load. */
const maxEndMs = 1000;
const maxYoungGenerationSizeMb = 8;
/**
 * Nice value of a thread that loads while requests are answered. Even on a core that serving threads use all the time, it
 * leaves the load some time.
 */
const backgroundNice = 15;
/** Bytes of memory of a thread that hasn't read anything. */
const threadBytes = 40 * megabyte;

type EndOfLoad = Exclude<FromLoad, { type: "progress" }>;

export interface LoadLimits {
  maxBytes: number;
  maxMs: number;
}

export function defaultLimits(): LoadLimits {
  const bytes = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
  return { maxBytes: bytes * memoryShare, maxMs: maxLoadMs };
}

export class Loader {
  readonly #maxBytes: number;
  readonly #maxMs: number;
  #thread: Worker | undefined;
  #threadIds: readonly number[] = [];

  constructor(limits: Partial<LoadLimits> = {}) {
    const { maxBytes, maxMs } = { ...defaultLimits(), ...limits };
    this.#maxBytes = maxBytes;
    this.#maxMs = maxMs;
  }

  /**
   * Loads a file. Afterwards, load the next file or call `end`. If the file changes during the load, the result may be a
   * mixture.
   * @throws DataError when the file is at fault, another Error otherwise
   */
  async load(wanted: Wanted): Promise<LoadedSnapshot> {
    const file = await openFile(wanted.path);
    let isThreadFit = false;
    try {
      const result = await this.#loadOpen(wanted, file);
      isThreadFit = result.type === "loaded" || result.isThreadFit;
      if (result.type === "failed") throw errorOf(result);
      const { image, file: bytes, warnings } = result;
      return { image, file: bytes, warnings };
    } finally {
      // A thread that waits for a disk may never end.
      if (!isThreadFit) await Promise.race([this.end(), delay(maxEndMs, undefined, { ref: false })]);
      await file.handle.close();
    }
  }

  async end(): Promise<void> {
    const thread = this.#thread;
    this.#thread = undefined;
    await thread?.terminate();
  }

  #makeThread(): Worker {
    const others = threadIds();
    const thread = new Worker(new URL("./load-thread.ts", import.meta.url), {
      // The thread refuses a snapshot before its heap is full, because V8 might end the process when the heap is full.
      resourceLimits: {
        maxOldGenerationSizeMb: Math.ceil(this.#maxBytes / megabyte),
        maxYoungGenerationSizeMb,
      },
    });
    // Each load has its own listener. Without this one, an error between two loads would be uncaught.
    thread.on("error", () => {});
    this.#thread = thread;
    this.#threadIds = threadIds().filter((id) => !others.includes(id));
    return thread;
  }

  /** Resolves with the last message about a load: `loaded` or `failed`. @throws Error when neither comes */
  #loadOpen({ name, onRows, isBackground }: Wanted, { handle, size }: OpenFile): Promise<EndOfLoad> {
    const thread = this.#thread ?? this.#makeThread();
    // A new thread gets the nice value before it starts its work, because its start takes a third of the time of a small
    // load.
    if (isBackground) stepBack(this.#threadIds, backgroundNice);
    const maxBytes = Math.max(0, this.#maxBytes - threadBytes);
    return new Promise((resolve, reject) => {
      const late = () =>
        reject(
          new DataError(name, `no end of its load within ${this.#maxMs} ms`, "a snapshot that can be loaded"),
        );
      const timer = setTimeout(safely(late, reject), this.#maxMs);
      const over = () => {
        clearTimeout(timer);
        thread.off("message", onMessage).off("error", onError).off("exit", onExit);
      };
      const take = (message: FromLoad) => {
        if (message.type === "progress") return onRows(message.rows);
        over();
        resolve(message);
      };
      const onMessage = safely(take, reject);
      const onError = (error: Error) => {
        over();
        reject("code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY" ? tooLarge(name) : error);
      };
      const onExit = () => {
        over();
        reject(new Error("the loader ended without a result"));
      };
      thread.on("message", onMessage);
      thread.on("error", onError);
      thread.on("exit", onExit);
      const data: LoadData = { name, fd: handle.fd, size, maxBytes };
      thread.postMessage(data);
    });
  }
}

function tooLarge(name: string): DataError {
  return new DataError(
    `${name}: memory needed for the load`,
    "more than the loader's heap",
    "a snapshot that fits",
  );
}

function errorOf({ isRefused, words }: FailedLoad): Error {
  if (!isRefused) return new Error(words.join(": "));
  const [subject, found, expected] = words;
  return new DataError(subject, found, expected);
}
