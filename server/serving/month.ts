import { constantError } from "../api/errors.ts";
import { monthOf, startOfMonth } from "../shared/months.ts";
import { errorReply, type Reply, resetLines } from "./reply.ts";

/** Holds what is the same for all requests of a UTC month. */

export class Month {
  readonly number: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly resetLines: string;
  readonly missingKey: Reply;
  /** One reply for malformed, unknown, revoked and expired keys: a client can't tell them apart. */
  readonly invalidKey: Reply;

  constructor(nowMs: number) {
    this.number = monthOf(nowMs);
    this.startMs = startOfMonth(this.number);
    this.endMs = startOfMonth(this.number + 1);
    this.resetLines = resetLines(this.endMs);
    this.missingKey = this.#keyError("missing_api_key");
    this.invalidKey = this.#keyError("invalid_api_key");
  }

  includes(nowMs: number): boolean {
    return nowMs >= this.startMs && nowMs < this.endMs;
  }

  /** As bytes, because it is sent again and again. */
  #keyError(type: "missing_api_key" | "invalid_api_key"): Reply {
    const { status, head, body } = errorReply(constantError(type), this.resetLines, 0);
    return { status, head: Buffer.from(head), body };
  }
}
