import { constantError } from "../api/errors.ts";
import { monthOf, startOfMonth } from "../shared/months.ts";
import { errorReply, lastLines, type Reply } from "./reply.ts";

/** What all requests of a UTC month have in common. */

export class Month {
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
