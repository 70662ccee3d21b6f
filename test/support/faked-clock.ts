import { chmodSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { temporaryFolder } from "./folders.ts";

/** A wall clock of other processes, which tests set by libfaketime. Steady clocks aren't changed. */

const libraries = "/usr/lib";
const library = readdirSync(libraries)
  .map((folder) => path.join(libraries, folder, "faketime/libfaketime.so.1"))
  .find((file) => {
    try {
      return readdirSync(path.dirname(file)).length > 0;
    } catch {
      return false;
    }
  });

export class FakedClock {
  readonly #file: string;
  /** Milliseconds by which the clock is ahead of this process's. */
  aheadMs = 0;

  constructor(aheadMs = 0) {
    const folder = temporaryFolder();
    // PostgreSQL runs as another user.
    chmodSync(folder, 0o755);
    this.#file = path.join(folder, "clock");
    this.set(aheadMs);
  }

  /** The environment of processes with this clock. */
  get env(): Record<string, string> {
    if (library === undefined) throw new Error("found no libfaketime, expected Debian's package faketime");
    return {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_NO_CACHE: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
      NO_FAKE_STAT: "1",
    };
  }

  set(aheadMs: number): void {
    this.aheadMs = aheadMs;
    const seconds = Math.round(aheadMs / 1000);
    writeFileSync(this.#file, `${seconds < 0 ? "" : "+"}${seconds}\n`, { mode: 0o644 });
  }

  nowMs(): number {
    return Date.now() + this.aheadMs;
  }
}
