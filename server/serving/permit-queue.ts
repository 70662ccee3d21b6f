import { databaseAway, maxWaitMs, type PermitTable } from "../accounts/permit-table.ts";
import type { PermitAnswer, Wait } from "../shared/messages.ts";
import { type After, afterTimeout } from "./streaming.ts";

/** The requests of a serving thread that wait for permits. The control thread answers an account's requests in order. */

/** Maximum requests of a thread that the control thread hasn't answered yet. */
export const maxWaiting = 10_000;

interface Waiter {
  /** Undefined once the request waits no longer. */
  answer: ((monthOrReason: number) => void) | undefined;
  cancelDeadline: () => void;
}

export class PermitQueue {
  readonly #table: PermitTable;
  readonly #send: (waits: Wait[]) => void;
  readonly #after: After;
  readonly #soon: (work: () => void) => void;
  /** The requests that the control thread will answer, oldest first, by account slot. */
  readonly #waiters = new Map<number, Waiter[]>();
  #count = 0;
  /** Number of requests that the control thread hasn't been told of yet, by account slot. */
  readonly #untold = new Map<number, number>();

  /** @param send tells the control thread how many more requests wait, by account slot */
  constructor(
    table: PermitTable,
    send: (waits: Wait[]) => void,
    after = afterTimeout,
    soon: (work: () => void) => void = setImmediate,
  ) {
    this.#table = table;
    this.#send = send;
    this.#after = after;
    this.#soon = soon;
  }

  /**
   * Lets a request wait for a permit, at most `maxWaitMs`.
   * @param answer called at most once, perhaps before this method returns, with the permit's month, or a negative number
   *   that says why there is none; must not throw
   * @returns a function that ends the wait
   */
  wait(slot: number, answer: (monthOrReason: number) => void): () => void {
    if (this.#count >= maxWaiting) {
      answer(databaseAway);
      return () => {};
    }
    const leave = () => {
      if (waiter.answer === undefined) return;
      waiter.answer = undefined;
      waiter.cancelDeadline();
      this.#table.wait(slot, -1);
    };
    const waiter: Waiter = {
      answer,
      cancelDeadline: this.#after(maxWaitMs, () => {
        leave();
        answer(databaseAway);
      }),
    };
    const waiters = this.#waiters.get(slot);
    if (waiters === undefined) this.#waiters.set(slot, [waiter]);
    else waiters.push(waiter);
    this.#count++;
    this.#table.wait(slot, 1);
    // One message tells of all requests that begin to wait in an iteration of the event loop.
    if (this.#untold.size === 0) this.#soon(this.#tell);
    this.#untold.set(slot, (this.#untold.get(slot) ?? 0) + 1);
    return leave;
  }

  readonly #tell = () => {
    const waits = Array.from(this.#untold, ([slot, count]) => ({ slot, count }));
    this.#untold.clear();
    this.#send(waits);
  };

  /** Takes the control thread's answers. The permit of a request that waits no longer is given back. */
  take(answers: readonly PermitAnswer[]): void {
    for (const { slot, count, monthOrReason } of answers) {
      const waiters = this.#waiters.get(slot) ?? [];
      const answered = waiters.splice(0, count);
      if (waiters.length === 0) this.#waiters.delete(slot);
      this.#count -= answered.length;
      for (const waiter of answered) {
        const { answer } = waiter;
        if (answer === undefined) {
          if (monthOrReason >= 0) this.#table.giveBack(slot, monthOrReason);
          continue;
        }
        waiter.answer = undefined;
        waiter.cancelDeadline();
        this.#table.wait(slot, -1);
        answer(monthOrReason);
      }
    }
  }
}
