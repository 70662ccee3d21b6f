import type { Told } from "../../server/parts/replicas/redis.ts";

/** What Redis has answered replicas in a simulation, added up beside its own sums: wrong with the first answer that is. */

/** Values before the first row, and of a row: see the ARGV of the shares' script. */
export const headLength = 9;
export const rowLength = 14;

interface Entry {
  used: Map<string, number>;
  granted: Map<string, number>;
  grantedInAll: number;
}

export class Ledger {
  /** Rows of answers. */
  entered = 0;
  /** The most by which all that is granted of a quota was over it, and by which a count that Redis knew was lower later. */
  overGranted = 0;
  lost = 0;
  readonly #most: (account: number) => number;
  readonly #entries = new Map<string, Entry>();

  /** @param most what may be granted in all */
  constructor(most: (account: number) => number) {
    this.#most = most;
  }

  enter(
    replica: string,
    months: readonly string[],
    values: readonly (string | number)[],
    [, , , , , , , , , rows]: Told,
  ): void {
    for (const [i, [used, granted]] of rows.entries()) {
      const [account, month, , , kind] = values.slice(headLength + i * rowLength);
      if (kind === "read") continue;
      this.entered++;
      const entry = this.#entryOf(`${account} ${months[Number(month) - 1]}`);
      entry.grantedInAll += granted - (entry.granted.get(replica) ?? 0);
      this.lost = Math.max(this.lost, (entry.used.get(replica) ?? 0) - used);
      entry.granted.set(replica, granted);
      entry.used.set(replica, used);
      this.overGranted = Math.max(this.overGranted, entry.grantedInAll - this.#most(Number(account)));
    }
  }

  #entryOf(name: string): Entry {
    const known = this.#entries.get(name);
    if (known !== undefined) return known;
    const made = { used: new Map<string, number>(), granted: new Map<string, number>(), grantedInAll: 0 };
    this.#entries.set(name, made);
    return made;
  }

  /** Redis has lost what it knew. */
  clear(): void {
    this.#entries.clear();
  }
}
