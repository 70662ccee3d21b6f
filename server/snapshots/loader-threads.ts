import { Worker } from "node:worker_threads";

/**
 * Makes the threads that load snapshots. A start makes the first loader thread before the control thread loads its own
 * modules. Loading modules takes equally long in both threads, so they are ready at about the same time.
 */

const maxYoungGenerationSizeMb = 8;
/** Heap limit of the early thread, enough for full-size snapshots. */
const earlyHeapMb = 512;

let early: Worker | undefined;

/** Makes a thread in advance. The first load for which the thread's heap is large enough uses the thread. */
export function makeEarly(): void {
  early = makeThread(earlyHeapMb);
  // If the process ends before its first load, it doesn't wait for the early thread.
  early.unref();
  early.once("exit", () => {
    early = undefined;
  });
}

/** Returns the early thread if it exists and its heap limit is large enough, otherwise a new thread with this limit. */
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
  // Each load has its own listeners. Without the empty listener, an error between two loads would end the process.
  thread.on("error", () => {});
  return thread;
}
