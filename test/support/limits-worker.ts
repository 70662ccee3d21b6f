import { parentPort, workerData } from "node:worker_threads";
import { burstExceeded, Limits } from "../../server/accounts/limits.ts";

/** Makes requests of an account without a pause. Tests run several such threads at the same time. */

export interface Hammering {
  limits: SharedArrayBuffer;
  slot: number;
  month: number;
  /**
   * Milliseconds of a clock that all threads share, as one 32-bit integer. A thread advances the clock by 1 when the
   * rate refuses a request.
   */
  clock: SharedArrayBuffer;
  /** A thread ends when the rate refuses a request at this time, or when anything else refuses a request. */
  endMs: number;
}

export interface Hammered {
  /** The remaining quota after each admitted request. */
  left: number[];
  refused: number;
}

if (parentPort === null) throw new Error("limits-worker.ts runs in a thread, started by a test");
const { limits: buffer, slot, month, clock, endMs }: Hammering = workerData;
const limits = new Limits(buffer);
const now = new Int32Array(clock);
const done: Hammered = { left: [], refused: 0 };

for (;;) {
  const ms = Atomics.load(now, 0);
  const answer = limits.admit(slot, month, ms);
  if (answer >= 0) {
    done.left.push(answer);
    continue;
  }
  done.refused++;
  if (answer !== burstExceeded || ms >= endMs) break;
  Atomics.compareExchange(now, 0, ms, ms + 1);
}
parentPort.postMessage(done);
