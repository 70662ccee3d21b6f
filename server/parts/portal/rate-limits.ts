import { isIP, isIPv6 } from "node:net";
import { ApiError } from "../../api/errors.ts";

/** Limits how often clients, accounts and all visitors together may make requests. */

export function tooMany(message: string, seconds: number): ApiError {
  return new ApiError("rate_limit_exceeded", `${message}; retry in ${seconds} s`, { header: seconds });
}

interface Bucket {
  tokens: number;
  atMs: number;
}

/** Limits requests by token buckets with names. If there are too many buckets, the least recently used is forgotten. */
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

/** Matches the forms that some proxies write: `192.0.2.1:1234`, `[2001:db8::1]:1234` or `[2001:db8::1]`. */
const withPort = /^(?:\[([^\]]+)\](?::\d*)?|([\d.]+):\d*)$/;

/**
 * Makes the name for counting a client's requests: an IPv4 address, even if mapped into IPv6, or the /64 of an IPv6
 * address. All other texts have the same name, because a sender could become many clients by changing the text.
 */
export function clientOf(address: string): string {
  const [, inBrackets, beforePort] = withPort.exec(address) ?? [];
  const [plain] = (inBrackets ?? beforePort ?? address).split("%");
  if (isIP(plain) === 0) return "unknown";
  if (!isIPv6(plain)) return plain;
  // `URL` writes an address in lower case and without dotted parts.
  const written = new URL(`http://[${plain}]`).hostname.slice(1, -1);
  const [, ...mapped] = /^::ffff:(\w+):(\w+)$/.exec(written) ?? [];
  if (mapped.length > 0) {
    const words = mapped.map((group) => Number.parseInt(group, 16));
    return words.flatMap((word) => [word >> 8, word & 255]).join(".");
  }
  const [head, tail = []] = written.split("::").map((part) => (part === "" ? [] : part.split(":")));
  const groups = [...head, ...Array<string>(8 - head.length - tail.length).fill("0"), ...tail];
  return `${groups.slice(0, 4).join(":")}::/64`;
}
