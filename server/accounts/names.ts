import { type Plan, planNames } from "../shared/plans.ts";
import { maxAccounts } from "./limits.ts";

/** Names and plans of accounts, per account slot, in shared memory. */

/** Maximum length of a name in characters, and in bytes too, because names are printable ASCII. */
export const maxNameLength = 64;
const cellBytes = 2 + maxNameLength;

/**
 * Holds a name and a plan for each account slot. A slot's cell has the plan's index, the name's length, and the name.
 */
export class AccountNames {
  readonly buffer: SharedArrayBuffer;
  readonly #bytes: Uint8Array;

  constructor(buffer = new SharedArrayBuffer(maxAccounts * cellBytes)) {
    this.buffer = buffer;
    this.#bytes = new Uint8Array(buffer);
  }

  put(slot: number, name: string, plan: Plan): void {
    const at = slot * cellBytes;
    const text = Buffer.from(name, "latin1");
    this.#bytes.set(text, at + 2);
    this.#bytes[at + 1] = text.length;
    this.#bytes[at] = planNames.indexOf(plan);
  }

  get(slot: number): { name: string; plan: Plan } {
    const at = slot * cellBytes;
    const text = this.#bytes.slice(at + 2, at + 2 + this.#bytes[at + 1]);
    return { name: Buffer.from(text).toString("latin1"), plan: planNames[this.#bytes[at]] };
  }
}
