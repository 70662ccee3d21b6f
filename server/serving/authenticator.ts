import type { KeyTable } from "../accounts/key-table.ts";
import { bearerKey, hashKey, isWellFormed } from "../accounts/keys.ts";

/** Finds the account of a request's key. */

/** What is returned in place of an account's slot. */
export const noKey = -1;
export const badKey = -2;

/** Authorization headers that are remembered, each in the place that some of its letters give. */
const places = 2 ** 13;

export class Authenticator {
  readonly #keys: KeyTable;
  /**
   * The letters of a random key give as good a place as a hash of all of them: a Map, which reads them all, takes 0.15 µs
   * more for each request.
   */
  readonly #remembered = new Array<{ authorization: string; entry: number } | undefined>(places);

  constructor(keys: KeyTable) {
    this.#keys = keys;
  }

  /** @returns the account's slot, `noKey`, or `badKey` for one that is malformed, unknown, revoked or expired */
  slotOf(authorization: string, nowMs: number): number {
    const letters =
      authorization.charCodeAt(14) + 62 * authorization.charCodeAt(16) + 3844 * authorization.charCodeAt(18);
    const place = letters & (places - 1);
    let known = this.#remembered[place];
    if (known === undefined || known.authorization !== authorization) {
      const key = bearerKey(authorization);
      if (key === undefined) return noKey;
      const entry = isWellFormed(key) ? this.#keys.find(hashKey(key)) : -1;
      if (entry < 0) return badKey;
      known = { authorization, entry };
      this.#remembered[place] = known;
    }
    const slot = this.#keys.slotOf(known.entry, nowMs / 1000);
    return slot < 0 ? badKey : slot;
  }
}
