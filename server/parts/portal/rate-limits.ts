import { ApiError } from "../../api/errors.ts";

/** Limits requests by token buckets. */

export function tooMany(message: string, seconds: number): ApiError {
  return new ApiError("rate_limit_exceeded", `${message}; retry in ${seconds} s`, { header: seconds });
}

interface Bucket {
  tokens: number;
  atMs: number;
}

/** If there are too many buckets, the least recently used is forgotten. */
export class Buckets {
  readonly #capacity: number;
  readonly #perSecond: number;
  readonly #maxBuckets: number;
  readonly #buckets = new Map<string, Bucket>();

  constructor(capacity: number, perSecond: number, maxBuckets: number) {
    this.#capacity = capacity;
    this.#perSecond = perSecond;
    this.#maxBuckets = maxBuckets;
  }

  /** Takes a token. Returns 0, or the seconds until the next token if the bucket is empty. */
  take(name: string, nowMs: number): number {
    const before = this.#buckets.get(name) ?? { tokens: this.#capacity, atMs: nowMs };
    // The difference is negative if the clock was set back.
    const filled = (Math.max(0, nowMs - before.atMs) / 1000) * this.#perSecond;
    const tokens = Math.min(this.#capacity, before.tokens + filled);
    const isTaken = tokens >= 1;
    this.#buckets.delete(name);
    this.#buckets.set(name, { tokens: isTaken ? tokens - 1 : tokens, atMs: nowMs });
    const [oldest] = this.#buckets.keys();
    if (this.#buckets.size > this.#maxBuckets) this.#buckets.delete(oldest);
    return isTaken ? 0 : Math.ceil((1 - tokens) / this.#perSecond);
  }
}
