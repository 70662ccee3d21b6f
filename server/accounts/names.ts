import { maxAccounts } from "../shared/plans.ts";

/** Names and plans of accounts, per account slot, in shared memory. */

/** Names are printable ASCII, so a character is a byte. */
export const maxNameLength = 64;
/** Imports refuse longer names of plans, but accept names that this release doesn't know. */
export const maxPlanLength = 32;
const planAt = 1 + maxNameLength;
const cellBytes = planAt + 1 + maxPlanLength;

/** A slot's cell has the name and the plan, each after a byte with its length. */
export class AccountNames {
  readonly buffer: SharedArrayBuffer;
  readonly #bytes: Uint8Array;

  constructor(buffer = new SharedArrayBuffer(maxAccounts * cellBytes)) {
    this.buffer = buffer;
    this.#bytes = new Uint8Array(buffer);
  }

  put(slot: number, name: string, plan: string): void {
    this.#putText(slot * cellBytes, name);
    this.#putText(slot * cellBytes + planAt, plan);
  }

  get(slot: number): { name: string; plan: string } {
    const at = slot * cellBytes;
    return { name: this.#textAt(at), plan: this.#textAt(at + planAt) };
  }

  #putText(at: number, text: string): void {
    this.#bytes.set(Buffer.from(text, "latin1"), at + 1);
    this.#bytes[at] = text.length;
  }

  #textAt(at: number): string {
    return Buffer.from(this.#bytes.slice(at + 1, at + 1 + this.#bytes[at])).toString("latin1");
  }
}
