import { accountSlot, type KeyTable } from "../accounts/key-table.ts";
import { bearerKey, hashKey, isWellFormed } from "../accounts/keys.ts";
import type { KeyFault } from "../shared/traffic.ts";

/** Maximum number of Authorization headers remembered, one for each hash. */
const places = 2 ** 13;
/** Maximum letters of a header that is remembered. Longer headers only have more spaces before the key. */
const maxLetters = 100;

export interface VisitorsKey {
  slot: number;
}

export class Authenticator {
  readonly #keys: KeyTable;
  /** The last well-formed headers, by a hash of three letters. A Map would hash all letters, which takes longer. */
  readonly #remembered = new Array<{ authorization: string; entry: number } | undefined>(places);

  constructor(keys: KeyTable) {
    this.#keys = keys;
  }

  /**
   * Finds the key in an Authorization header. Returns the slot of the key's account, or the key's fault. For the visitors'
   * key, the slot is in an object, so that other keys need no additional check.
   * @param nowMs Unix milliseconds
   */
  slotOf(authorization: string, nowMs: number): number | KeyFault | VisitorsKey {
    const letters =
      authorization.charCodeAt(14) + 62 * authorization.charCodeAt(16) + 3844 * authorization.charCodeAt(18);
    const place = letters & (places - 1);
    let found = this.#remembered[place];
    if (found?.authorization !== authorization || this.#keys.isTaken(found.entry)) {
      const key = bearerKey(authorization);
      if (key === undefined) return "missing";
      if (!isWellFormed(key)) return "malformed";
      found = { authorization, entry: this.#keys.find(hashKey(key)) };
      if (authorization.length <= maxLetters) this.#remembered[place] = found;
    }
    if (found.entry < 0) return "unknown";
    const slot = this.#keys.slotOf(found.entry, nowMs);
    if (slot >= 0) return slot;
    return slot === -1 ? "inactive" : { slot: accountSlot(slot) };
  }
}
