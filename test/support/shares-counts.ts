import type { Ceilings, Counts } from "../../server/parts/replicas/share.ts";

/** The counts of a replica in a simulation, in place of `Limits` in shared memory. */

export class VirtualCounts implements Counts {
  readonly #ceilings: readonly Ceilings[];
  readonly #months = new Map<number, { used: Int32Array; bound: Float64Array; isForQuota: Uint8Array }>();
  readonly #refused: Int32Array;
  /** Accounts whose counts or bounds were changed since they were last saved. */
  readonly changed = new Set<number>();

  constructor(ceilings: readonly Ceilings[]) {
    this.#ceilings = ceilings;
    this.#refused = new Int32Array(ceilings.length);
  }

  accounts(): Iterable<number> {
    return this.#ceilings.keys();
  }

  ceilings(account: number): Ceilings {
    return this.#ceilings[account];
  }

  of(month: number) {
    const known = this.#months.get(month);
    if (known) return known;
    const { length } = this.#ceilings;
    const made = {
      used: new Int32Array(length),
      bound: new Float64Array(length),
      isForQuota: new Uint8Array(length),
    };
    this.#months.set(month, made);
    return made;
  }

  used(account: number, month: number): number {
    return this.of(month).used[account];
  }

  refused(account: number): number {
    return this.#refused[account];
  }

  admitUpTo(account: number, month: number, count: number, reason: "burst" | "quota"): void {
    const of = this.of(month);
    of.bound[account] = count;
    this.changed.add(account);
    of.isForQuota[account] = reason === "quota" ? 1 : 0;
  }

  raise(account: number, month: number, by: number): void {
    this.of(month).used[account] += by;
    this.changed.add(account);
  }

  /** @returns requests left by the bound, or why it was refused */
  admit(account: number, month: number): number | "burst" | "quota" {
    const { used, bound, isForQuota } = this.of(month);
    if (used[account] < bound[account]) {
      this.changed.add(account);
      return bound[account] - ++used[account];
    }
    this.#refused[account]++;
    return isForQuota[account] ? "quota" : "burst";
  }
}
