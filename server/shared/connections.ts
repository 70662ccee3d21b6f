import { readFileSync } from "node:fs";
import { DataError } from "../../engine/query.ts";

/**
 * Counts open connections, and the bytes of waiting answers, over all threads. Refuses connections beyond a
 * maximum.
 */

/** Maximum file descriptors kept for uses other than clients and threads, such as the state, snapshots and webhooks. */
export const reservedDescriptors = 256;
export const descriptorsPerThread = 16;
const defaultMaxDescriptors = 1024;
/** Minimum file descriptors in addition to those of the threads, for the modules, a load and a few clients. */
const minDescriptors = 64;
const [openWord, refusedWord, waitingWord, cutWord] = [0, 1, 2, 3];
/** Maximum bytes of answers that wait for slow clients or for their turn, in all threads. */
export const maxWaitingBytes = 64 * 2 ** 20;

export class Connections {
  readonly buffer: SharedArrayBuffer;
  readonly max: number;
  readonly #words: Int32Array;

  constructor(max: number, buffer = new SharedArrayBuffer(16)) {
    this.max = max;
    this.buffer = buffer;
    this.#words = new Int32Array(buffer);
  }

  /** Number of open connections, including refused connections that aren't closed yet. */
  get open(): number {
    return Atomics.load(this.#words, openWord);
  }

  /** Number of connections refused since the start, modulo 2^32. */
  get refused(): number {
    return Atomics.load(this.#words, refusedWord) >>> 0;
  }

  get waitingBytes(): number {
    return Atomics.load(this.#words, waitingWord);
  }

  /** Number of connections closed since the start because too many bytes waited, modulo 2^32. */
  get cut(): number {
    return Atomics.load(this.#words, cutWord) >>> 0;
  }

  /** @param bytes negative for bytes that wait no longer */
  wait(bytes: number): void {
    Atomics.add(this.#words, waitingWord, bytes);
  }

  cutSlow(): void {
    Atomics.add(this.#words, cutWord, 1);
  }

  /**
   * Counts a new connection. The caller closes a refused connection, and calls `leave` for it, too.
   * @returns false if the connection is refused
   */
  enter(): boolean {
    if (Atomics.add(this.#words, openWord, 1) < this.max) return true;
    Atomics.add(this.#words, refusedWord, 1);
    return false;
  }

  leave(): void {
    Atomics.sub(this.#words, openWord, 1);
  }
}

/**
 * Computes how many clients may be connected, from the process's limit of open files (getrlimit(2)).
 * @throws DataError when the limit is too low for the threads
 */
export function maxConnections(threads: number): number {
  const [, soft] = /^Max open files +(\d+|unlimited)/m.exec(readLimits()) ?? [];
  const descriptors = soft === "unlimited" ? Number.MAX_SAFE_INTEGER : Number(soft ?? defaultMaxDescriptors);
  const least = minDescriptors + threads * descriptorsPerThread;
  if (descriptors < least)
    throw new DataError(
      `THREADS=${threads}`,
      `a limit of ${descriptors} open files`,
      `at least ${least}: raise it, for example by ulimit -n 1024 or by LimitNOFILE in a systemd unit, or set fewer THREADS`,
    );
  const reserved = Math.min(reservedDescriptors, descriptors >> 2) + threads * descriptorsPerThread;
  return Math.max(1, Math.min(2 ** 30, descriptors - reserved));
}

function readLimits(): string {
  try {
    return readFileSync("/proc/self/limits", "utf8");
  } catch {
    return "";
  }
}
