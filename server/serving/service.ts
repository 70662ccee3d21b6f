import { hash } from "node:crypto";
import type { Image } from "../../engine/query.ts";
import type { UsageDays } from "../accounts/days.ts";
import type { UsageEvents } from "../accounts/events.ts";
import type { KeyTable } from "../accounts/key-table.ts";
import { burstExceeded, type Limits, leaseExceeded, quotaExceeded } from "../accounts/limits.ts";
import type { AccountNames } from "../accounts/names.ts";
import { eventTypeOf } from "../accounts/quota-events.ts";
import type { Usage, Versions } from "../api/endpoint.ts";
import { ApiError, constantError, type ReachedCeiling, withoutKeys } from "../api/errors.ts";
import { decodeTarget, keyedPaths, resolve, type Target } from "../api/routes.ts";
import { hashOf } from "../shared/hash.ts";
import { dayName, monthOf, startOfMonth } from "../shared/months.ts";
import { isoTime } from "../shared/time.ts";
import type { ThreadTraffic } from "../shared/traffic.ts";
import { AnswerCache, AskCounter } from "./answer-cache.ts";
import { Authenticator } from "./authenticator.ts";
import { RequestContext } from "./context.ts";
import { KeyedAnswers, tagOfKey, tagStart } from "./keyed-answers.ts";
import {
  Answer,
  errorReply,
  FileAnswer,
  headerNames,
  type Reply,
  type RequestHead,
  resetLines,
} from "./reply.ts";

/** Makes the checks of a request in their order, and replies to it. */

/** How long a reading of the wall clock serves; in between, the steady clock goes on from there. */
const wallClockMs = 100;
/** How often a request is asked for until its answer is kept. */
const asksToKeep = 2;
const dayMs = 86_400_000;
/** Room for an answer that isn't kept: an allocation for each would cost more than the answer. */
const scratchBytes = 64 * 2 ** 10;

/** What Cache-Control says on paths that follow the current data, and on those that name an exact data version. */
const current = "private, no-cache";
const immutable = "private, max-age=31536000, immutable";

const missingKey = constantError("missing_api_key");
/** One answer for malformed, unknown, revoked and expired: a client can't tell them apart. */
const invalidKey = constantError("invalid_api_key");
const internalError = constantError("internal_error");

/** What is the same for all requests of a UTC month. */
class Month {
  readonly number: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly resetLines: string;
  readonly usedUp: string;
  readonly missingKey: Reply;
  readonly invalidKey: Reply;

  constructor(nowMs: number) {
    this.number = monthOf(nowMs);
    this.startMs = startOfMonth(this.number);
    this.endMs = startOfMonth(this.number + 1);
    this.resetLines = resetLines(this.endMs);
    const end = new Date(this.endMs).toISOString().replace(".000", "");
    this.usedUp = `the account's requests per month are used up until ${end}`;
    this.missingKey = this.#refusal(missingKey);
    this.invalidKey = this.#refusal(invalidKey);
  }

  includes(nowMs: number): boolean {
    return nowMs >= this.startMs && nowMs < this.endMs;
  }

  /** As bytes, because it is sent as it is again and again. */
  #refusal(error: ApiError): Reply {
    const { status, head, body } = errorReply(error, this.resetLines, 0);
    return { status, head: Buffer.from(head), body };
  }
}

interface ServiceOptions {
  keys: KeyTable;
  limits: Limits;
  names: AccountNames;
  days: UsageDays;
  events: UsageEvents;
  versions: Versions;
  /** Unix milliseconds. */
  now: () => number;
  /** Milliseconds of a clock that never steps, the same in all threads. */
  steadyNow: () => number;
  /** Told of each request that is refused. */
  traffic: Pick<ThreadTraffic, "refused" | "unauthorized">;
  /** Told of what is answered with a 500. */
  report: (error: unknown) => void;
}

/** Answers requests, in one thread, from memory that all threads share. */
export class Service {
  readonly #options: Omit<ServiceOptions, "versions">;
  readonly #limits: Limits;
  readonly #steadyNow: () => number;
  readonly #authenticator: Authenticator;
  #versions: Versions;
  /** When the wall clock was read, by the steady one, and what it was ahead of it. */
  #wallReadAt = Number.NEGATIVE_INFINITY;
  #wallAhead = 0;
  #month = new Month(0);
  /** By path and query. */
  readonly #answers = new AnswerCache<string>();
  readonly #asks = new AskCounter();
  /** By path. */
  readonly #keyed = new Map<string, KeyedAnswers>();
  readonly #scratch = Buffer.alloc(scratchBytes);

  constructor({ versions, ...options }: ServiceOptions) {
    // Without the versions: the first ones would be held for ever.
    this.#options = options;
    this.#limits = options.limits;
    this.#steadyNow = options.steadyNow;
    this.#authenticator = new Authenticator(options.keys);
    this.#versions = versions;
  }

  /** Serves other data from the next request on. */
  publish(versions: Versions): void {
    this.#versions = versions;
    this.#forget();
  }

  /**
   * Makes the checks in their order: key, burst, quota, path, method, parameters, data. What fails by our fault is a
   * 500.
   *
   * @param path undecoded
   * @param hasBody whether the request announces a body, which no endpoint takes
   */
  answer(request: RequestHead, path: string, method: string, hasBody: boolean): Reply {
    let slot = -1;
    let remaining = -1;
    try {
      const steadyMs = this.#steadyNow();
      const nowMs = this.#wallClock(steadyMs);
      if (!this.#month.includes(nowMs)) this.#enterMonth(nowMs);
      const month = this.#month;

      const found = this.#authenticator.slotOf(request.getHeader(headerNames.authorization), nowMs);
      if (typeof found === "string") {
        this.#options.traffic.unauthorized(found);
        return found === "missing" ? month.missingKey : month.invalidKey;
      }
      slot = found;
      remaining = this.#limits.admit(slot, month.number, steadyMs);
      if (remaining < 0) return this.#refuse(remaining, slot, nowMs, steadyMs);
      return this.#reply(request, path, method, hasBody, slot, remaining);
    } catch (error) {
      const { resetLines } = this.#month;
      if (error instanceof ApiError) return errorReply(error, resetLines, remaining);
      this.#options.report(error);
      return errorReply(internalError, resetLines, remaining < 0 ? 0 : this.#giveBack(slot));
    }
  }

  #wallClock(steadyMs: number): number {
    if (steadyMs - this.#wallReadAt >= wallClockMs) {
      this.#wallReadAt = steadyMs;
      this.#wallAhead = this.#options.now() - steadyMs;
    }
    return steadyMs + this.#wallAhead;
  }

  #enterMonth(nowMs: number): void {
    this.#month = new Month(nowMs);
    // Heads say when the month ends.
    this.#forget();
  }

  #forget(): void {
    this.#answers.clear();
    this.#asks.clear();
    this.#keyed.clear();
  }

  /** @param why what `Limits.admit` returned */
  #refuse(why: number, slot: number, nowMs: number, steadyMs: number): Reply {
    const { traffic } = this.#options;
    if (why === burstExceeded) {
      traffic.refused("burst");
      const waitMs = this.#limits.burstWaitMs(slot, steadyMs);
      // Without a wait it isn't the bucket: the part of the burst that this server has is used up.
      return refusal("burst", secondUsedUp, nowMs, nowMs + (waitMs > 0 ? waitMs : 1000));
    }
    if (why === quotaExceeded) {
      traffic.refused("quota");
      return refusal("quota", this.#month.usedUp, nowMs, this.#month.endMs);
    }
    if (why === leaseExceeded) {
      traffic.refused("early");
      return refusal("lease", restIsElsewhere, nowMs, nowMs + 1000);
    }
    traffic.refused("clock");
    // As with a lease: there may be some of the quota left, which this server can't give out yet.
    return refusal("lease", clockWasSet, nowMs, nowMs + 1000);
  }

  /** The reply to a request that was admitted. @throws ApiError when it is an error */
  #reply(
    request: RequestHead,
    path: string,
    method: string,
    hasBody: boolean,
    slot: number,
    remaining: number,
  ): Reply {
    const query = request.getQuery() ?? "";
    if ((method !== "GET" && method !== "HEAD") || hasBody) throw unreadable(path, method);
    const reply = this.#keyedAnswers(path)?.reply(request, query, remaining);
    if (reply !== undefined) return reply;
    const asked = `${path}?${query}`;
    const answer = this.#answers.get(asked) ?? this.#make(path, query, asked, slot);
    return answer instanceof FileAnswer
      ? answer.replyTo(request, remaining, method === "GET")
      : answer.replyTo(request, remaining);
  }

  #keyedAnswers(path: string): KeyedAnswers | undefined {
    const answers = this.#keyed.get(path);
    if (answers !== undefined) return answers;
    const keyed = keyedPaths.get(path);
    if (keyed === undefined) return undefined;
    const made = new KeyedAnswers(
      keyed,
      this.#versions.images[0],
      this.#scratch,
      current,
      this.#month.resetLines,
    );
    this.#keyed.set(path, made);
    return made;
  }

  #make(path: string, query: string, asked: string, slot: number): Answer | FileAnswer {
    const target = decodeTarget(resolve(path));
    const context = new RequestContext(this.#versions, target, this.#scratch, () => this.#usage(slot));
    const body = target.endpoint.answer(context, query);
    const isFile = !(body instanceof Uint8Array);
    const isTagged = isFile || target.endpoint.kind === "versioned";
    const of = isFile && body.signature !== undefined ? `${query} ${body.signature}` : query;
    const head = {
      tag: isTagged ? requestTag(context.image, target, of) : digest(body),
      cacheControl: isImmutable(this.#versions, target) ? immutable : current,
      resetLines: this.#month.resetLines,
    };
    if (isFile) return new FileAnswer(head, body, target.endpoint.fileType ?? "");
    // What shows the account's state is another answer every time.
    if (context.isLive || this.#asks.count(hashOf(asked)) < asksToKeep) return Answer.borrowed(head, body);
    const answer = Answer.keptCopy(head, body);
    this.#answers.keep(asked, answer);
    return answer;
  }

  /** An admitted request that failed by our fault doesn't count. @returns requests left of the month */
  #giveBack(slot: number): number {
    const { number } = this.#month;
    this.#limits.giveBack(slot, number);
    return this.#limits.remaining(slot, number);
  }

  #usage(slot: number): Usage {
    const month = this.#month.number;
    const { name, plan } = this.#options.names.get(slot);
    const { burst, quota } = this.#limits.ceilings(slot);
    const used = (this.#limits.used(slot, month) ?? 0) + this.#limits.usedByOthers(slot, month);
    const todayMs = Math.min(this.#wallClock(this.#steadyNow()), this.#month.endMs - 1);
    const today = new Date(todayMs).getUTCDate();
    const days = this.#options.days.of(slot, month, today, used);
    const iso = (start: number) => new Date(startOfMonth(start)).toISOString();
    return {
      account: name,
      plan,
      period: { start: iso(month), end: iso(month + 1) },
      quota: { limit: quota, used, remaining: Math.max(0, quota - used) },
      burst: { limit: burst },
      days: days.map((used, i) => ({ date: dayName(startOfMonth(month) + i * dayMs), used })),
      events: this.#options.events.of(slot, month).map(({ threshold, created_at }) => ({
        type: eventTypeOf(threshold),
        threshold,
        at: isoTime(created_at),
      })),
    };
  }
}

/** The error of a request that doesn't just read. */
function unreadable(path: string, method: string): ApiError {
  // An unknown path comes first.
  resolve(path);
  return method === "GET" || method === "HEAD"
    ? new ApiError("invalid_parameter", "a request has no body: send no Content-Length or Transfer-Encoding")
    : new ApiError(
        "method_not_allowed",
        `the method ${withoutKeys(method.slice(0, 16))} isn't allowed, only GET and HEAD`,
      );
}

const secondUsedUp = "the account's requests per second are used up";
/** Other servers hold it, or it isn't known where it is. */
const restIsElsewhere =
  "of what is left of the account's requests per month this server holds none at the moment, and asks the other servers for it";
/** For the moments until the control thread has read what was used in another month. */
const clockWasSet =
  "this server's clock was set, and the account's requests of the month are being looked up";

function refusal(ceiling: ReachedCeiling, reason: string, nowMs: number, nextMs: number): Reply {
  const seconds = Math.max(1, Math.ceil((nextMs - nowMs) / 1000));
  const message = `${reason}; retry in ${seconds} s`;
  const error = new ApiError("rate_limit_exceeded", message, { ceiling, header: seconds });
  return errorReply(error, resetLines(nextMs), 0);
}

function isImmutable({ byName }: Versions, { endpoint, version }: Target): boolean {
  return endpoint.kind === "page" || (version !== null && byName.has(version));
}

/** The same request on the same data gives the same bytes, so an ETag need not be made from them. */
function requestTag(image: Image, { endpoint, segment }: Target, query: string): string {
  const key = endpoint.keyed?.read(image, query) ?? -1;
  if (key >= 0) return tagOfKey(image, key);
  const request = `${endpoint.path}${segment}?${query}`;
  const isShort = /^[!#-+\--~]{0,80}$/.test(request);
  return `${tagStart(image)}${isShort ? request : digest(request)}`;
}

function digest(content: string | Uint8Array): string {
  return hash("sha256", content, "base64url");
}
