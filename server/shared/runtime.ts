import { performance } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** A thread's access to the runtime: steady clock, garbage collection, and `node:http`. */

/** Node's `node:http`. An import would also load everything that `fetch` needs. */
export const http = process.getBuiltinModule("node:http");

/** Milliseconds of a steady clock that all threads share; `performance.now()` starts at zero in each thread. */
export function steadyClock(): () => number {
  const offset = Number(process.hrtime.bigint()) / 1e6 - performance.now();
  return () => performance.now() + offset;
}

/** Collects this thread's garbage, so that a retired image's memory is free at once. */
export function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
}
