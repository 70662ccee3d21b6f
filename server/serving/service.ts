import type { KeyTable } from "../accounts/key-table.ts";
import type { Versions } from "../api/endpoint.ts";
import { ApiError, constantError, withoutKeys } from "../api/errors.ts";
import { resolve } from "../api/routes.ts";
import type { ThreadTraffic } from "../shared/traffic.ts";
import { Answers } from "./answers.ts";
import { Authenticator } from "./authenticator.ts";
import { ceilingReply } from "./ceiling-errors.ts";
import { Month, WallClock } from "./clock.ts";
import { errorReply, headerNames, type Reply, type RequestHead } from "./reply.ts";
import { type UsageTables, usageOf } from "./usage.ts";

/** Checks requests, and replies to them. */

interface ServiceOptions extends UsageTables {
  keys: KeyTable;
  versions: Versions;
  /** Returns Unix milliseconds. */
  now: () => number;
  /** Returns milliseconds of a clock that never jumps and is the same in all threads. */
  steadyNow: () => number;
  traffic: Pick<ThreadTraffic, "refused" | "unauthorized">;
  /** Logs the cause of a 500. */
  report: (error: unknown) => void;
}

export class Service {
  readonly #options: Omit<ServiceOptions, "versions">;
  readonly #authenticator: Authenticator;
  readonly #answers: Answers;
  readonly #clock: WallClock;
  #month = new Month(0);

  constructor({ versions, ...options }: ServiceOptions) {
    // The options are kept without the versions, so that the first versions can be freed.
    this.#options = options;
    this.#authenticator = new Authenticator(options.keys);
    this.#clock = new WallClock(options.now, options.steadyNow);
    this.#answers = new Answers(versions, (slot) => usageOf(options, slot, this.#month, this.#clock.now()));
  }

  publish(versions: Versions): void {
    this.#answers.publish(versions);
  }

  /** Answers a request of the pages' code. No key is needed and no ceiling applies. @throws ApiError */
  read(path: string, query: string): unknown {
    return this.#answers.read(path, query);
  }

  /**
   * Answers a request. Checks key, burst, quota, path, method, parameters and data, in this order.
   * @param path undecoded
   */
  answer(request: RequestHead, path: string, method: string, hasBody: boolean): Reply {
    const { limits, traffic } = this.#options;
    let slot = -1;
    let remaining = -1;
    try {
      const steadyMs = this.#options.steadyNow();
      const nowMs = this.#clock.at(steadyMs);
      if (!this.#month.includes(nowMs)) this.#enterMonth(nowMs);
      const month = this.#month;

      const found = this.#authenticator.slotOf(request.getHeader(headerNames.authorization), nowMs);
      if (typeof found === "string") {
        traffic.unauthorized(found);
        return found === "missing" ? month.missingKey : month.invalidKey;
      }
      slot = found;
      remaining = limits.admit(slot, month.number, steadyMs);
      if (remaining < 0) return ceilingReply(remaining, limits, slot, month, nowMs, steadyMs, traffic);
      if ((method !== "GET" && method !== "HEAD") || hasBody) throw methodError(path, method);
      return this.#answers.reply(request, path, method, slot, remaining);
    } catch (error) {
      const { resetLines } = this.#month;
      if (error instanceof ApiError) return errorReply(error, resetLines, remaining);
      this.#options.report(error);
      return errorReply(internalError, resetLines, remaining < 0 ? 0 : this.#giveBack(slot));
    }
  }

  #enterMonth(nowMs: number): void {
    this.#month = new Month(nowMs);
    this.#answers.enterMonth(this.#month.resetLines);
  }

  /** Uncounts an admitted request that failed with a server error. @returns requests left this month */
  #giveBack(slot: number): number {
    const { limits } = this.#options;
    limits.giveBack(slot, this.#month.number);
    return limits.remaining(slot, this.#month.number);
  }
}

const internalError = constantError("internal_error");

/** The error of a request that isn't a plain GET or HEAD. Throws the error of an unknown path instead. */
function methodError(path: string, method: string): ApiError {
  resolve(path);
  return method === "GET" || method === "HEAD"
    ? new ApiError(
        "invalid_parameter",
        "a GET or HEAD request can't have a body: send no Content-Length or Transfer-Encoding",
      )
    : new ApiError(
        "method_not_allowed",
        `the method ${withoutKeys(method.slice(0, 16))} isn't allowed, only GET and HEAD`,
      );
}
