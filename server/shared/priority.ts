import { readdirSync, readlinkSync } from "node:fs";
import { getPriority, setPriority } from "node:os";
import { basename } from "node:path";

/**
 * Lowers the priorities of threads that compete with serving threads for a core. On Linux each thread has a nice value,
 * which it inherits from the thread that made it. Without privileges, a nice value can't be lowered again.
 */

export function threadIds(): readonly number[] {
  try {
    return readdirSync("/proc/self/task").map(Number);
  } catch {
    return [];
  }
}

/** Returns the system's id of the calling thread in a list; an empty list if the id isn't known. */
export function ownThread(): readonly number[] {
  try {
    return [Number(basename(readlinkSync("/proc/thread-self")))];
  } catch {
    return [];
  }
}

/** Raises the nice values of threads to `nice`. Higher values stay. */
export function stepBack(ids: readonly number[], nice: number): void {
  for (const id of ids)
    try {
      setPriority(id, Math.max(nice, getPriority(id)));
    } catch {
      // The thread has ended, or a sandbox forbids the call. Its work is more important than its priority.
    }
}
