import type { SharesScript } from "./redis.ts";

/** A server's leases and shares of an account. */

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
  /** Requests that this server admitted in a month, including earlier processes. */
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
  /** The part of the count that earlier processes reported under other names. */
  base: number;
  /** The count up to which Redis has granted requests. */
  granted: number;
  /** This server's count and grant as of the last answer. */
  told: { used: number; granted: number } | undefined;
  /** Requests that other servers counted, as far as known. */
  others: number;
  isTight: boolean;
  /** A copy of Redis' record, to restore it if Redis loses it. */
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
  /** Whether requests were refused because of the rate since the last call. */
  isShort: boolean;
  /** Incoming requests per second. */
  demand: number;
  lookedMs: number;
  usedMs: number;
  /** When a request was last refused for lack of a lease, if none was admitted since. */
  dryMs: number;
  /** Whether Redis may have a share for this server. */
  isListed: boolean;
  /** Whether this server has proposed to set the account at rest since its last use. */
  isProposed: boolean;
}

export interface Shard {
  index: number;
  /** This server's name in the shard, and how often it rejoined after it was declared gone. */
  server: string;
  rejoined: number;
  sequence: number;
  /** The incarnation of Redis that has all reports, and the one to which they are being sent. */
  life: number;
  nextLife: number;
  /** Number of servers known before that. */
  knew: number;
  toSay: Set<Share>;
  read: number;
  hasReadAll: boolean;
  members: number;
  /** This server's part of all accounts. */
  part: number;
  /** Fill level of the bucket of an unused account at rest, for a rate of 1. */
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
  /** Number of the current round. Answers to earlier rounds are ignored. */
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
  /** Whether the known rest of the quota may be used while Redis is away. */
  isFreeWithoutRedis: boolean;
  /** Number of servers known to the previous process; 0 if there was none. */
  knew: number;
  /** Milliseconds of a steady clock. */
  clock: () => number;
}

/** Requests of an account that a server may admit without a lease; must equal the function in `shares.lua`. */
export function creditOf({ burst, quota }: Ceilings, part: number): number {
  if (part <= 0) return 0;
  return Math.min(Math.floor((quota * part) / 4), Math.max(1, Math.floor(burst * part + 1e-6)));
}

export const hasSomething = ({ told, base, copy }: MonthShare) =>
  told !== undefined || base > 0 || copy !== undefined;
