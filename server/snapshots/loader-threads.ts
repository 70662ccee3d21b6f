import { Worker } from "node:worker_threads";

/**
 * Makes the threads that load snapshots. The first thread is made before the control thread loads its modules. The two
 * threads take equally long to load their modules, so they are ready at about the same time.
 */

const maxYoungGenerationSizeMb = 8;
/** Enough for full-size snapshots. */
const earlyHeapMb = 512;

let early: Worker | undefined;

/** Makes a thread in advance. The first load that fits into the thread's heap uses the thread. */
export function makeEarly(): void {
  early = makeThread(earlyHeapMb);
  // If the process ends before its first load, it doesn't wait for the early thread.
  early.unref();
  early.once("exit", () => {
    early = undefined;
  });
}

/** Returns the early thread if its heap limit is large enough, otherwise a new thread. */
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
  // Each load has its own listeners. Without this listener, an error between two loads would end the process.
  thread.on("error", () => {});
  return thread;
}
