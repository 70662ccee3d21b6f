import { Worker } from "node:worker_threads";

/**
 * Makes the threads that load snapshots. A start makes the first loader thread before the control thread loads its own
 * modules. Loading takes equally long in both, so the two threads are ready at about the same time.
 */

const maxYoungGenerationSizeMb = 8;
/** Heap limit of the early thread, enough for full-size snapshots. */
const earlyHeapMb = 512;

let early: Worker | undefined;

/** Makes a thread in advance, for the first load for which its heap is large enough. */
export function makeEarly(): void {
  early = makeThread(earlyHeapMb);
  // If the process ends before its first load, it doesn't wait for this thread.
  early.unref();
  early.once("exit", () => {
    early = undefined;
  });
}

/** A thread whose heap may take this much: the early one, if it is there and large enough. */
export function loaderThread(heapMb: number): Worker {
  if (early === undefined || heapMb > earlyHeapMb) return makeThread(heapMb);
  const found = early;
  early = undefined;
  found.ref();
  return found;
}

function makeThread(maxOldGenerationSizeMb: number): Worker {
  const thread = new Worker(new URL("./load-thread.ts", import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb, maxYoungGenerationSizeMb },
  });
  // Each load has its own listeners. Without this one, an error between loads would end the process.
  thread.on("error", () => {});
  return thread;
}
