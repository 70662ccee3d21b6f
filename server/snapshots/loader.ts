import { totalmem } from "node:os";
import { Worker } from "node:worker_threads";
import { DataError } from "../../engine/query.ts";
import type { FromLoad, LoadData, LoadedSnapshot } from "../shared/messages.ts";
import { safely } from "../shared/safely.ts";
import { type OpenFile, openFile, type Wanted } from "./folder.ts";

/**
 * Loads a snapshot file in a thread of its own. The thread ends after the load, which frees the memory that
 * WebAssembly took.
 */

const megabyte = 2 ** 20;
/** Share of the machine's or container's memory for a load. The rest is for snapshots that are served. */
const memoryShare = 0.5;
/** Maximum time of a load. A snapshot of ten million rows takes about a minute. */
const maxLoadMs = 600_000;
const maxYoungGenerationSizeMb = 8;
/** Memory of a thread that has read nothing yet. */
const threadBytes = 40 * megabyte;

export interface LoadLimits {
  /** Memory of a load. */
  maxBytes: number;
  maxMs: number;
}

function machineBytes(): number {
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
}

/**
 * Loads a file. Returns undefined if the file has changed.
 * @throws DataError when the file is at fault, Error of the system
 */
export async function loadFile(
  wanted: Wanted,
  { maxBytes = machineBytes() * memoryShare, maxMs = maxLoadMs }: Partial<LoadLimits> = {},
): Promise<LoadedSnapshot | undefined> {
  const file = await openFile(wanted.path, wanted.signature);
  if (file === undefined) return undefined;
  try {
    return await loadInThread(wanted, file, maxBytes, maxMs);
  } finally {
    await file.handle.close();
  }
}

/** Resolves or rejects when the thread has ended, or can't be waited for any longer. */
function loadInThread({ name, onRows }: Wanted, { handle, size }: OpenFile, maxBytes: number, maxMs: number) {
  const data: LoadData = { name, fd: handle.fd, size, maxBytes: Math.max(0, maxBytes - threadBytes) };
  const thread = new Worker(new URL("./load-thread.ts", import.meta.url), {
    workerData: data,
    // The thread refuses a snapshot before its heap is full. V8 would end the process.
    resourceLimits: { maxOldGenerationSizeMb: Math.ceil(maxBytes / megabyte), maxYoungGenerationSizeMb },
  });
  return new Promise<LoadedSnapshot>((resolve, reject) => {
    let result: LoadedSnapshot | undefined;
    let failure: Error = new Error("the loader ended without a result");
    const giveUp = () => {
      reject(new DataError(name, `no end of its load within ${maxMs} ms`, "a snapshot that can be loaded"));
      // The rejection doesn't wait for the thread's end, which may never come.
      void thread.terminate();
    };
    const timer = setTimeout(safely(giveUp, reject), maxMs);
    const take = (message: FromLoad) => {
      if (message.type === "progress") onRows(message.rows);
      else if (message.type === "loaded") {
        const { image, file, warnings } = message;
        result = { image, file, warnings };
      } else failure = failureOf(message);
    };
    const fail = (error: unknown) => {
      reject(error);
      void thread.terminate();
    };
    thread.on("message", safely(take, fail));
    thread.on("error", (error: Error) => {
      failure = "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY" ? tooLarge(name) : error;
    });
    thread.on("exit", () => {
      clearTimeout(timer);
      if (result === undefined) reject(failure);
      else resolve(result);
    });
  });
}

function tooLarge(name: string): DataError {
  return new DataError(
    `${name}: memory needed for the load`,
    "more than the loader's heap",
    "a snapshot that fits",
  );
}

function failureOf({ cause, words }: Extract<FromLoad, { type: "failed" }>): Error {
  if (cause === "system") return new Error(words.join(": "));
  const [subject, found, expected] = words;
  return new DataError(subject, found, expected);
}
