import { readdirSync, readlinkSync } from "node:fs";
import { getPriority, setPriority } from "node:os";
import { basename } from "node:path";

/**
 * Lowers the priorities of threads that compete with serving threads for a core. Linux has a nice value for each thread.
 * A thread begins with that of the thread that made it, and without privileges no nice value can be lowered again.
 */

/** The system's ids of this process's threads; none where they can't be listed. */
export function threadIds(): readonly number[] {
  try {
    return readdirSync("/proc/self/task").map(Number);
  } catch {
    return [];
  }
}

/** The system's id of the calling thread in a list, which is empty where the id isn't known. */
export function ownThread(): readonly number[] {
  try {
    return [Number(basename(readlinkSync("/proc/thread-self")))];
  } catch {
    return [];
  }
}

/** Gives threads at least a nice value. */
export function stepBack(ids: readonly number[], nice: number): void {
  for (const id of ids)
    try {
      setPriority(id, Math.max(nice, getPriority(id)));
    } catch {
      // The thread has ended, or a sandbox forbids the call. Its work is more important than its priority.
    }
}
