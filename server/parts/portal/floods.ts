import { isIP, isIPv4, isIPv6 } from "node:net";

/** Bounds what is done for a client, an account and all of them, whoever asks how often. */

interface Bucket {
  tokens: number;
  atMs: number;
}

/** Token buckets by a name. Those that were used least recently are forgotten: they are full, or soon will be. */
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

  /** Takes a token. @returns 0, or the seconds until there is one */
  take(name: string, nowMs: number): number {
    const before = this.#buckets.get(name) ?? { tokens: this.#capacity, atMs: nowMs };
    // A clock that is set back fills nothing.
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

/** Proxies write addresses with ports too: `192.0.2.1:1234`, `[2001:db8::1]:1234`. */
const withPort = /^(?:\[([^\]]+)\](?::\d*)?|([\d.]+):\d*)$/;

/**
 * What counts as one client: an IPv4 address, in IPv6 form too, or the /64 of an IPv6 address. All that is no address is
 * one client together: else one that can change it would be many.
 */
export function clientOf(address: string): string {
  const [, inBrackets, beforePort] = withPort.exec(address) ?? [];
  const [plain] = (inBrackets ?? beforePort ?? address).split("%");
  if (isIP(plain) === 0) return "unknown";
  if (!isIPv6(plain)) return plain;
  // In this form there is no dotted part, and no letter is capital.
  const [before, after] = new URL(`http://[${plain}]`).hostname.slice(1, -1).split("::");
  const [head, tail] = [before, after ?? ""].map((part) => (part === "" ? [] : part.split(":")));
  const groups = [...head, ...Array<string>(8 - head.length - tail.length).fill("0"), ...tail];
  if (groups.slice(0, 5).every((group) => group === "0") && groups[5] === "ffff") {
    const bytes = groups.slice(6).flatMap((group) => {
      const word = Number.parseInt(group, 16);
      return [word >> 8, word & 255];
    });
    const mapped = bytes.join(".");
    if (isIPv4(mapped)) return mapped;
  }
  return `${groups.slice(0, 4).join(":")}::/64`;
}
