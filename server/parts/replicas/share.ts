import type { SharesScript } from "./redis.ts";

/** What a server knows of its leases and shares, and what it tells Redis of them. */

export const never = Number.NEGATIVE_INFINITY;

export interface Ceilings {
  /** Requests per second. */
  burst: number;
  /** Requests per month. */
  quota: number;
}

/** The counts by which requests are admitted. */
export interface Counts {
  accounts(): Iterable<number>;
  ceilings(account: number): Ceilings;
  /** Requests that this server admitted in a month, in all its processes. */
  used(account: number, month: number): number;
  /** Requests refused by `admitUpTo` since the start. */
  refused(account: number): number;
  /**
   * Sets the bound of a month: requests are admitted while fewer than `count` were.
   * @param reason why others are refused
   * @param left the quota minus other servers' counts
   */
  admitUpTo(account: number, month: number, count: number, reason: "burst" | "quota", left: number): void;
}

export interface MonthShare {
  month: number;
  name: string;
  /** The count that Redis has under other names than this process's: that of earlier processes. */
  base: number;
  /** The count up to which Redis has granted requests. */
  granted: number;
  /** This server's count and what it was granted, as of the last answer. */
  told: { used: number; granted: number } | undefined;
  /** Requests that other servers counted, as far as known. */
  others: number;
  isTight: boolean;
  /** Redis' record, which a Redis that has lost it is given back. */
  copy: string | undefined;
  copiedMs: number;
}

export interface Share {
  account: number;
  months: MonthShare[];
  /** Requests that the rate allows now. */
  level: number;
  levelMs: number;
  isActive: boolean;
  /** Requests per second while active, in force up to a time. */
  rate: number;
  untilMs: number;
  counted: number;
  refused: number;
  /** Whether requests were refused for want of the rate since the last call. */
  isShort: boolean;
  /** Requests per second that come. */
  demand: number;
  lookedMs: number;
  usedMs: number;
  /** When a request was last refused for want of a lease, if none was admitted since. */
  dryMs: number;
  /** Whether Redis may have a share for this server. */
  isListed: boolean;
  /** Whether it was proposed to be at rest since it was used. */
  isProposed: boolean;
}

export interface Shard {
  index: number;
  /** This server's name in the shard, and how often it joined again after it was taken for gone. */
  server: string;
  rejoined: number;
  sequence: number;
  /** The life of Redis in which all was said, and the one in which it is being said. */
  life: number;
  nextLife: number;
  /** Servers that this one knew before that. */
  knew: number;
  toSay: Set<Share>;
  read: number;
  hasReadAll: boolean;
  members: number;
  /** This server's part of all accounts. */
  part: number;
  /** What an account at rest that wasn't used has in its bucket, of a rate of 1. */
  rested: number;
  restedMs: number;
  joinedMs: number;
  shares: Map<number, Share>;
  /** Accounts that are in use, or hold something. */
  live: Set<Share>;
  askedMs: number;
  /** When the last round was made, and when something was sent last. */
  lookedMs: number;
  sentMs: number;
  /** Rounds so far: answers to earlier ones count as lost. */
  round: number;
  isUnderWay: boolean;
  isLearning: boolean;
  /** When the last answered call was sent. */
  contactMs: number;
  tripMs: number;
  checkedMs: number;
  wasAway: boolean;
  proposedMs: number;
}

export interface MonthRow {
  used: number;
  granted: number;
  wanted: number;
  base?: number;
  copy?: string;
  fresh?: true;
}
export interface Row {
  id: number;
  burst: number;
  quota: number;
  months: Record<string, MonthRow>;
  demand?: number;
  share?: number;
  asks?: true;
  rests?: true;
}
export interface Told {
  stale?: number;
  gone?: true;
  life: number;
  learning: number;
  members: number;
  part: number;
  changes: { name: string; on: boolean }[];
  read: number;
  isComplete: boolean;
  rows: {
    active?: true;
    share?: number;
    months: Record<string, { granted: number; total: number; tight?: true; copy?: string }>;
  }[];
}

export interface SharesOptions {
  /** The server's name among all; each process has another one. */
  server: string;
  shards: number;
  counts: Counts;
  script: SharesScript;
  /** Whether the known rest of the quota is admitted while Redis is away. */
  isFreeWithoutRedis: boolean;
  /** Servers as of the last process; 0 before the first one. */
  knew: number;
  /** Milliseconds of a steady clock. */
  clock: () => number;
}

/** Requests that a server may admit of an account without a lease; the same in `shares.lua`. */
export function creditOf({ burst, quota }: Ceilings, part: number): number {
  if (part <= 0) return 0;
  return Math.min(Math.floor((quota * part) / 4), Math.max(1, Math.floor(burst * part + 1e-6)));
}

export const hasSomething = ({ told, base, copy }: MonthShare) =>
  told !== undefined || base > 0 || copy !== undefined;
