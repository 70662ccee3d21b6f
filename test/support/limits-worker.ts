import { parentPort, workerData } from "node:worker_threads";
import { burstExceeded, Limits } from "../../server/accounts/limits.ts";

/** A thread that makes one account's requests without a pause, beside others that do the same. */

export interface Hammering {
  limits: SharedArrayBuffer;
  slot: number;
  month: number;
  /** One word: the clock that all threads share, in milliseconds. A thread that is refused advances it. */
  clock: SharedArrayBuffer;
  /** Where the clock stops; a thread that is refused there is done. */
  endMs: number;
}

export interface Hammered {
  /** What was left after each admitted request. */
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
