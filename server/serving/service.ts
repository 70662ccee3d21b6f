import type { ShareRefusal } from "../accounts/address-shares.ts";
import type { KeyTable } from "../accounts/key-table.ts";
import { mustWait, PermitTable } from "../accounts/permit-table.ts";
import type { Versions } from "../api/endpoint.ts";
import { ApiError, constantError, withoutKeys } from "../api/errors.ts";
import { resolve } from "../api/routes.ts";
import { startOfMonth } from "../shared/months.ts";
import type { ThreadTraffic } from "../shared/traffic.ts";
import { Answers } from "./answers.ts";
import { Authenticator } from "./authenticator.ts";
import { ceilingReply, shareReply } from "./ceiling-errors.ts";
import { WallClock } from "./clock.ts";
import { Month } from "./month.ts";
import { errorReply, headerNames, type Reply, type RequestHead } from "./reply.ts";
import { type UsageTables, usageOf } from "./usage.ts";

interface ServiceOptions extends UsageTables {
  keys: KeyTable;
  versions: Versions;
  now: () => number;
  /** Returns milliseconds of a steady clock that all threads share. */
  steadyNow: () => number;
  /**
   * Counts a request with the visitors' key against the share of its client's address. Undefined if there are no shares.
   * @returns undefined for an admitted request
   */
  takeShare?:
    | ((request: RequestHead, nowMs: number, steadyMs: number) => ShareRefusal | undefined)
    | undefined;
  traffic: Pick<ThreadTraffic, "refused" | "unauthorized">;
  report: (error: unknown) => void;
}

export class Service {
  #options: Omit<ServiceOptions, "versions">;
  #authenticator: Authenticator;
  readonly #answers: Answers;
  readonly #clock: WallClock;
  #permits: PermitTable | undefined;
  #month = new Month(0);
  /** The permit or refusal for which the present request has waited; undefined if it hasn't waited. */
  #outcome: Outcome | undefined;

  constructor({ versions, ...options }: ServiceOptions) {
    // The options are kept without the versions, so that the first versions can be freed.
    this.#options = options;
    this.#authenticator = new Authenticator(options.keys);
    this.#permits = permitsIn(options);
    this.#clock = new WallClock(options.now, options.steadyNow);
    const usage = (slot: number) => usageOf(this.#options, slot, this.#month, this.#clock.now());
    this.#answers = new Answers(versions, usage);
  }

  useAccounts(accounts: Pick<ServiceOptions, "keys" | "ceilings">): void {
    this.#options = { ...this.#options, ...accounts };
    this.#authenticator = new Authenticator(accounts.keys);
    this.#permits = permitsIn(accounts);
  }

  publish(versions: Versions): void {
    this.#answers.publish(versions);
  }

  /** Answers a request that has no account. Checks no key and no ceilings. @throws ApiError */
  read(path: string, query: string): object {
    return this.#answers.read(path, query);
  }

  /**
   * Answers a request. Checks the key, the address's share of the visitors' key, burst, quota, path, method, parameters
   * and data, in this order.
   * @param path undecoded
   */
  answer(request: RequestHead, path: string, method: string, hasBody: boolean): Reply {
    const { ceilings, traffic } = this.#options;
    let slot = -1;
    let remaining = -1;
    try {
      const steadyMs = this.#options.steadyNow();
      const nowMs = this.#clock.at(steadyMs);
      // A permit belongs to the month of the database's clock. This server's clock may differ.
      if (this.#permits !== undefined) this.#enterMonthOf(this.#outcome?.month ?? this.#permits.month);
      else if (!this.#month.includes(nowMs)) this.#enterMonth(nowMs);
      const month = this.#month;

      const found = this.#authenticator.slotOf(request.getHeader(headerNames.authorization), nowMs);
      if (typeof found === "number") slot = found;
      else if (typeof found === "string") {
        traffic.unauthorized(found);
        return found === "missing" ? month.missingKey : month.invalidKey;
      } else {
        slot = found.slot;
        // A request that has waited for a permit was counted against the share before the wait.
        const refusal =
          this.#outcome === undefined ? this.#options.takeShare?.(request, nowMs, steadyMs) : undefined;
        if (refusal !== undefined) return shareReply(refusal, slot, nowMs, traffic);
      }
      remaining =
        this.#outcome === undefined
          ? ceilings.admit(slot, month.number, steadyMs)
          : this.#take(this.#outcome, slot);
      if (remaining === mustWait) return { status: 0, head: "", body: undefined, waitsFor: slot };
      if (remaining < 0) return ceilingReply(remaining, ceilings, slot, month, nowMs, steadyMs, traffic);
      if ((method !== "GET" && method !== "HEAD") || hasBody) throw methodError(path, method);
      return this.#answers.reply(request, path, method, slot, remaining);
    } catch (error) {
      const { lastLines } = this.#month;
      if (error instanceof ApiError) return errorReply(error, lastLines, remaining);
      this.#options.report(error);
      return errorReply(internalError, lastLines, remaining < 0 ? 0 : this.#giveBack(slot));
    }
  }

  /**
   * Answers a request that has waited for a permit. Gives the permit back if the request doesn't use it.
   * @param slot the account for which the request has waited
   * @param monthOrReason the permit's month, or the negative number that says why there is no permit
   * @param answer calls `this.answer` for the request
   */
  answerAfterWait(slot: number, monthOrReason: number, answer: () => Reply): Reply {
    const month = monthOrReason < 0 ? undefined : monthOrReason;
    const outcome = { month, reason: Math.min(0, monthOrReason), isUsed: false };
    this.#outcome = outcome;
    try {
      return answer();
    } finally {
      this.#outcome = undefined;
      if (month !== undefined && !outcome.isUsed) this.#options.ceilings.giveBack(slot, month);
    }
  }

  /** @returns the requests left, or a negative number that says why the request is refused */
  #take(outcome: Outcome, slot: number): number {
    if (outcome.month === undefined) return outcome.reason;
    outcome.isUsed = true;
    return this.#options.ceilings.remaining(slot, outcome.month);
  }

  #enterMonthOf(month: number): void {
    if (this.#month.number !== month) this.#enterMonth(startOfMonth(month));
  }

  #enterMonth(nowMs: number): void {
    this.#month = new Month(nowMs);
    this.#answers.enterMonth(this.#month.lastLines);
  }

  #giveBack(slot: number): number {
    const { ceilings } = this.#options;
    ceilings.giveBack(slot, this.#month.number);
    return ceilings.remaining(slot, this.#month.number);
  }
}

const permitsIn = ({ ceilings }: Pick<ServiceOptions, "ceilings">) =>
  ceilings instanceof PermitTable ? ceilings : undefined;

interface Outcome {
  month: number | undefined;
  reason: number;
  isUsed: boolean;
}

const internalError = constantError("internal_error");

/** Returns the error for another method, or for a GET or HEAD with a body. @throws ApiError when the path is unknown */
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
