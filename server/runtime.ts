import { performance } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

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
