import { randomUUID } from "node:crypto";
import type { AdmittedAlone, Store } from "../../store/store.ts";
import type { Asked, Granted, Taken } from "./permits.ts";

/** Grants permits while the database is away, from what this server last knew. */

export interface AloneOptions {
  store: Store;
  /** Returns an account's ceilings; undefined for a deleted account. */
  ceilingsOf(account: number): { burst: number; quota: number } | undefined;
  /** Returns the permits granted in a month to all servers, as last read; undefined if the number was never read. */
  usedOf(account: number, month: number): number | undefined;
}

interface Bucket {
  level: number;
  atMs: number;
}

/** One absence of the database. */
export class Alone {
  readonly #options: AloneOptions;
  /** When the database went away, in Unix milliseconds. */
  readonly since: number;
  readonly #fromMs: number;
  readonly #buckets = new Map<number, Bucket>();
  /** What was admitted, by month. */
  readonly #admitted: AdmittedAlone[];

  /**
   * @param earlier what isn't reported of this absence, before a restart
   * @param nowMs the steady clock
   */
  constructor(options: AloneOptions, since: number, earlier: AdmittedAlone[], nowMs: number) {
    this.#options = options;
    this.since = since;
    this.#admitted = earlier;
    this.#fromMs = nowMs;
  }

  /** Grants permits of a month as the database would, but from a bucket that was empty when the database went away. */
  take(asked: readonly Asked[], month: number, nowMs: number): Taken {
    return { month, grants: asked.flatMap((one) => this.#grant(one, month, nowMs) ?? []) };
  }

  #grant({ account, want, back, backMonth }: Asked, month: number, nowMs: number): Granted | undefined {
    const ceilings = this.#options.ceilingsOf(account);
    const known = this.#options.usedOf(account, month);
    if (ceilings === undefined || known === undefined) return undefined;
    const { burst, quota } = ceilings;
    const bucket = this.#buckets.get(account) ?? { level: 0, atMs: this.#fromMs };
    const level = Math.min(burst + 1, bucket.level + (burst * (nowMs - bucket.atMs)) / 1000);
    const returned = this.#admittedIn(backMonth);
    const countBefore = returned.used.get(account) ?? 0;
    if (back > 0) returned.used.set(account, Math.max(0, countBefore - back));
    const { used } = this.#admittedIn(month);
    const alone = used.get(account) ?? 0;
    const granted = Math.max(0, Math.min(want, Math.floor(level), quota - known - alone));
    if (granted > 0) used.set(account, alone + granted);
    this.#buckets.set(account, { level: level - granted, atMs: nowMs });
    const waitMs = Math.max(0, ((1 - level + granted) * 1000) / burst);
    return { account, granted, used: known + alone + granted, waitMs };
  }

  #admittedIn(month: number): AdmittedAlone {
    let admitted = this.#admitted.find((one) => one.month === month);
    if (admitted === undefined) {
      admitted = { id: randomUUID(), month, since: this.since, used: new Map() };
      this.#admitted.push(admitted);
    }
    return admitted;
  }

  /** Stores what was admitted, so that a restart keeps it and the absence's beginning. */
  save(): void {
    for (const admitted of this.#admitted) this.#options.store.away.save(admitted);
  }
}
