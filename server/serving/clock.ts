import { constantError } from "../api/errors.ts";
import { monthOf, startOfMonth } from "../shared/months.ts";
import { errorReply, lastLines, type Reply } from "./reply.ts";

/** Reads the wall clock, and holds values that are the same for all requests of a UTC month. */

export class Month {
  /** The month's number by `monthOf`. */
  readonly number: number;
  readonly startMs: number;
  /** The first instant of the next month, in Unix milliseconds. */
  readonly endMs: number;
  readonly lastLines: string;
  readonly missingKey: Reply;
  /** Every invalid key gets this reply, so that a client can't tell why a key is invalid. */
  readonly invalidKey: Reply;

  constructor(nowMs: number) {
    this.number = monthOf(nowMs);
    this.startMs = startOfMonth(this.number);
    this.endMs = startOfMonth(this.number + 1);
    this.lastLines = lastLines(this.endMs);
    this.missingKey = this.#keyError("missing_api_key");
    this.invalidKey = this.#keyError("invalid_api_key");
  }

  includes(nowMs: number): boolean {
    return nowMs >= this.startMs && nowMs < this.endMs;
  }

  #keyError(type: "missing_api_key" | "invalid_api_key"): Reply {
    const { status, head, body } = errorReply(constantError(type), this.lastLines, 0);
    return { status, head: Buffer.from(head), body };
  }
}

/** Interval between readings of the wall clock. In between, the steady clock is used. */
const wallClockMs = 100;

/** The wall clock. It is read seldom, because reading it takes as long as looking up a key. */
export class WallClock {
  readonly #now: () => number;
  readonly #steadyNow: () => number;
  #readAt = Number.NEGATIVE_INFINITY;
  /** Milliseconds by which the wall clock is ahead of the steady clock. */
  #ahead = 0;

  /** @param steadyNow milliseconds of a clock that never jumps */
  constructor(now: () => number, steadyNow: () => number) {
    this.#now = now;
    this.#steadyNow = steadyNow;
  }

  /** Returns the wall clock's Unix milliseconds. @param steadyMs milliseconds of the steady clock */
  at(steadyMs: number): number {
    if (steadyMs - this.#readAt >= wallClockMs) {
      this.#readAt = steadyMs;
      this.#ahead = this.#now() - steadyMs;
    }
    return steadyMs + this.#ahead;
  }

  /** Returns the wall clock's Unix milliseconds. */
  now(): number {
    return this.at(this.#steadyNow());
  }
}
