import { randomUUID } from "node:crypto";
import type { AdmittedAlone, Store } from "../../store/store.ts";
import type { Asked, Granted, Taken } from "./permits.ts";

/** Grants permits while the database is away, from what this server last knew. */

export interface AloneOptions {
  store: Store;
  /** Returns an account's ceilings; undefined for a deleted account. */
  ceilingsOf(account: number): { burst: number; quota: number } | undefined;
  /** Returns the permits granted in a month to all servers, as last known; undefined if unknown. */
  usedOf(account: number, month: number): number | undefined;
}

interface Bucket {
  level: number;
  atMs: number;
}

/** One outage of the database. */
export class Alone {
  readonly #options: AloneOptions;
  /** Milliseconds from this outage's start to `#fromMs`, by the wall clock; 0 unless it began before a restart. */
  readonly #beforeMs: number;
  /** When this process found the database away, by the steady clock. */
  readonly #fromMs: number;
  readonly #buckets = new Map<number, Bucket>();
  /** What was admitted before a restart or in an earlier outage. It isn't changed, because it may be reported already. */
  readonly #earlier: readonly AdmittedAlone[];
  /** What this process has admitted in this outage, by month. */
  readonly #admitted = new Map<number, Omit<AdmittedAlone, "since">>();

  /** @param month the month of the requests, by `monthOf` @param wallMs Unix milliseconds @param nowMs the steady clock */
  constructor(options: AloneOptions, month: number, wallMs: number, nowMs: number) {
    this.#options = options;
    this.#earlier = options.store.away.all();
    // After a restart, the same outage goes on.
    const since = this.#earlier.find((one) => one.since > 0)?.since ?? wallMs;
    // A start in the future was stored by a clock that was ahead. Then the outage counts from now.
    this.#beforeMs = Math.max(0, wallMs - since);
    this.#fromMs = nowMs;
    this.#admittedIn(month);
  }

  awayMs(nowMs: number): number {
    return this.#beforeMs + nowMs - this.#fromMs;
  }

  /**
   * Grants permits of a month from each account's bucket, within its quota. A bucket holds up to `burst` tokens, and was
   * empty when this process found the database away.
   */
  take(asked: readonly Asked[], month: number, nowMs: number): Taken {
    return { month, grants: asked.flatMap((one) => this.#grant(one, month, nowMs) ?? []) };
  }

  #grant({ account, want, back, backMonth }: Asked, month: number, nowMs: number): Granted | undefined {
    const ceilings = this.#options.ceilingsOf(account);
    const known = this.#options.usedOf(account, month);
    if (ceilings === undefined || known === undefined) return undefined;
    const { burst, quota } = ceilings;
    const bucket = this.#buckets.get(account) ?? { level: 0, atMs: this.#fromMs };
    const level = Math.min(burst, bucket.level + (burst * (nowMs - bucket.atMs)) / 1000);
    if (back !== 0) this.#count(account, backMonth, -back);
    const before = this.#earlier
      .filter((one) => one.month === month)
      .reduce((sum, { used }) => sum + (used.get(account) ?? 0), known);
    const used = before + this.#count(account, month, 0);
    const granted = Math.max(0, Math.min(want, Math.floor(level), quota - used));
    this.#count(account, month, granted);
    this.#buckets.set(account, { level: level - granted, atMs: nowMs });
    const waitMs = Math.max(0, ((1 - level + granted) * 1000) / burst);
    return { account, granted, used: used + granted, waitMs };
  }

  /** Adds to an account's count. The count is negative if more permits were given back than were granted in this outage. */
  #count(account: number, month: number, more: number): number {
    const { used } = this.#admittedIn(month);
    const count = (used.get(account) ?? 0) + more;
    if (more !== 0) used.set(account, count);
    return count;
  }

  #admittedIn(month: number): Omit<AdmittedAlone, "since"> {
    let admitted = this.#admitted.get(month);
    if (admitted === undefined) {
      admitted = { id: randomUUID(), month, used: new Map() };
      this.#admitted.set(month, admitted);
    }
    return admitted;
  }

  /** Stores what was admitted, and when the outage began, so that a restart keeps both. */
  save(wallMs: number, nowMs: number): void {
    const since = Math.round(wallMs - this.awayMs(nowMs));
    for (const admitted of this.#admitted.values()) this.#options.store.away.save({ ...admitted, since });
  }
}
