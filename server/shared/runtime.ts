import { performance } from "node:perf_hooks";
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { measureMemory, runInNewContext } from "node:vm";

/** A thread's access to the runtime: steady clock, garbage collection, heap limit, and `node:http`. */

/** Node's `node:http` without an import, which would also load everything that `fetch` needs. */
export const http = process.getBuiltinModule("node:http");

const heapWatchMs = 250;
/** Share of its limit at which a heap counts as full. At the limit, V8 might end the process without a log line. */
const maxHeapShare = 0.8;

/** Returns a steady clock in milliseconds that is the same in all threads, unlike `performance.now()`. */
export function steadyClock(): () => number {
  const offset = Number(process.hrtime.bigint()) / 1e6 - performance.now();
  return () => performance.now() + offset;
}

export function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/**
 * Begins to collect this thread's garbage in short steps between other work. Node has no function for this, but a
 * measurement of the memory needs a whole collection.
 */
export function collectGarbageSoon(): void {
  // Suppresses Node's warning that `measureMemory` may change.
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    void measureMemory({ execution: "eager" });
  } finally {
    process.emitWarning = emitWarning;
  }
}

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
}

export class OutOfMemory extends Error {}

/** Checks this thread's heap regularly. Throws an uncaught OutOfMemory if the heap is nearly full after a collection. */
export function watchHeap(): void {
  const isFull = () => {
    const { used_heap_size, heap_size_limit } = getHeapStatistics();
    return used_heap_size > maxHeapShare * heap_size_limit;
  };
  const look = () => {
    if (!isFull()) return;
    collectGarbage();
    const limitMb = Math.round(getHeapStatistics().heap_size_limit / 2 ** 20);
    if (!isFull()) return;
    // The checks stop, because V8 would end the process after several vain collections.
    clearInterval(timer);
    throw new OutOfMemory(`out of memory: ${maxHeapShare * 100} % of a heap of ${limitMb} MB are used`);
  };
  const timer = setInterval(look, heapWatchMs).unref();
}
