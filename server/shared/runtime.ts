import { performance } from "node:perf_hooks";
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** What a thread asks of the runtime: its clock, its garbage, its heap's limit, and HTTP. */

/** Node's `node:http`. An import would look at all that it exports, and so load what `fetch` consists of. */
export const http = process.getBuiltinModule("node:http");

const heapWatchMs = 250;
/** A thread whose heap is as full as this ends; at its limit the system would end the process, without a word. */
const maxHeapShare = 0.8;

/** Milliseconds of a clock that never steps, the same in every thread: each thread's own `performance.now()` starts at zero. */
export function steadyClock(): () => number {
  const offset = Number(process.hrtime.bigint()) / 1e6 - performance.now();
  return () => performance.now() + offset;
}

/** Collects this thread's garbage, so that the memory of a retired image is free at once and not at some later time. */
export function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
}

/** Thrown when a thread's heap is nearly full, so that the thread ends with a reason. */
export class OutOfMemory extends Error {}

/** Throws OutOfMemory, which nobody catches, when this thread's heap comes to its limit, whatever is collected. */
export function watchHeap(): void {
  const isFull = () => {
    const { used_heap_size, heap_size_limit } = getHeapStatistics();
    return used_heap_size > maxHeapShare * heap_size_limit;
  };
  const look = () => {
    if (!isFull()) return;
    collectGarbage();
    const limitMb = Math.round(getHeapStatistics().heap_size_limit / 2 ** 20);
    if (isFull())
      throw new OutOfMemory(`out of memory: ${maxHeapShare * 100} % of a heap of ${limitMb} MB are used`);
  };
  setInterval(look, heapWatchMs).unref();
}
