import { type Image, imageFormatVersion } from "../../engine/query.ts";
import { bearerKey, hashKey, isWellFormed, type KeyTable } from "../accounts/keys.ts";
import {
  burstExceeded,
  type Limits,
  monthOf,
  monthUnknown,
  quotaExceeded,
  startOfMonth,
} from "../accounts/limits.ts";
import type { Directory } from "../accounts/names.ts";
import type { Context, Endpoint, Usage, Versions } from "../api/endpoint.ts";
import { encodeUsual, prices } from "../api/endpoints.ts";
import { ApiError, errorBody, errorTypes } from "../api/errors.ts";
import { hashOf } from "../api/hash.ts";
import { readUsual } from "../api/price-key.ts";
import { decodeTarget, findVersion, resolve, type Target } from "../api/routes.ts";
import { Prepared } from "./answer-cache.ts";
import {
  Answer,
  contentType,
  digest,
  Head,
  headerNames,
  okLines,
  type Reply,
  type RequestHead,
  resetLines,
} from "./reply.ts";

/** A reply but for the headers that say what is left of the account's month. */
interface Content {
  /** Values come from this program and checked data only, because a line break in one would be another header. */
  lines: string;
  body: Uint8Array;
}

/** How long a reading of the wall clock serves; in between, the steady clock goes on from there. */
const wallClockMs = 100;
/** How often a request is asked for until its answer is kept. */
const asksToKeep = 2;
/** The same where an answer is made in a microsecond: garbage collection makes keeping dearer than that. */
const asksToKeepPlain = 64;
/** Authorization headers that a thread remembers, each in the place that some of its letters give. */
const rememberedKeys = 2 ** 13;

/** Room for an answer that isn't kept: an allocation for each would cost more than the answer. */
const scratchBytes = 64 * 2 ** 10;

const pricesPath = "/api/v1/healthcare/prices";
/** What Cache-Control says on paths that follow the current data, and on those that name an exact data version. */
const current = "private, no-cache";
const immutable = "private, max-age=31536000, immutable";
const hexDigits = Buffer.from("0123456789abcdef");

/** What one answer is made from. */
class RequestContext implements Context {
  readonly versions: Versions;
  readonly segment: string;
  readonly offset = 0;
  readonly scratch: Buffer;
  /** Whether the answer shows the account's state. */
  isLive = false;
  readonly #version: string | null;
  readonly #usage: () => Usage;
  #image: Image | undefined;

  constructor(
    versions: Versions,
    version: string | null,
    segment: string,
    scratch: Buffer,
    usage: () => Usage,
  ) {
    this.versions = versions;
    this.#version = version;
    this.segment = segment;
    this.scratch = scratch;
    this.#usage = usage;
  }

  /** Asked for after the parameters are checked: a bad one is answered before an unknown version. */
  get image(): Image {
    this.#image ??= findVersion(this.versions, this.#version);
    return this.#image;
  }

  usage(): Usage {
    this.isLive = true;
    return this.#usage();
  }
}

/** Answers requests, in one thread, from memory that all threads share. */
export class Service {
  readonly #keys: KeyTable;
  readonly #limits: Limits;
  readonly #directory: Directory;
  readonly #now: () => number;
  readonly #steadyNow: () => number;
  readonly #report: (error: unknown) => void;
  #versions: Versions;
  #month = 0;
  #monthStart = 0;
  #monthEnd = 0;
  /** When the wall clock was read, by the steady one, and what it was ahead of it. */
  #wallReadAt = Number.NEGATIVE_INFINITY;
  #wallAhead = 0;
  /** The lines that end a head, but for the number of requests left. */
  #resetLines = "";
  #missingKey: Reply = this.#constant(missingKey);
  #invalidKey: Reply = this.#constant(invalidKey);
  /** By path and query. */
  readonly #prepared = new Prepared<string>();
  /** By the number of a price query. */
  readonly #prices = new Prepared<number>();
  #headOfUsual: Head | undefined;
  #usualTagEnd = 0;
  readonly #scratch = Buffer.alloc(scratchBytes);
  readonly #knownKeys = new Array<{ authorization: string; entry: number } | undefined>(rememberedKeys);

  /**
   * @param now Unix milliseconds
   * @param steadyNow milliseconds of a clock that never steps, the same in all threads
   * @param report told of what is answered with a 500
   */
  constructor(options: {
    keys: KeyTable;
    limits: Limits;
    directory: Directory;
    versions: Versions;
    now: () => number;
    steadyNow: () => number;
    report: (error: unknown) => void;
  }) {
    this.#keys = options.keys;
    this.#limits = options.limits;
    this.#directory = options.directory;
    this.#versions = options.versions;
    this.#now = options.now;
    this.#steadyNow = options.steadyNow;
    this.#report = options.report;
  }

  /** Serves other data from the next request on. */
  publish(versions: Versions): void {
    this.#versions = versions;
    this.#forget();
  }

  /**
   * Makes the checks in their order: key, burst, quota, path, method, parameters, data. Never throws.
   *
   * @param hasBody whether the request announces a body, which no endpoint takes
   */
  answer(request: RequestHead, method: string, hasBody: boolean): Reply {
    const steadyMs = this.#steadyNow();
    if (steadyMs - this.#wallReadAt >= wallClockMs) {
      this.#wallReadAt = steadyMs;
      this.#wallAhead = this.#now() - steadyMs;
    }
    const now = steadyMs + this.#wallAhead;
    if (now < this.#monthStart || now >= this.#monthEnd) this.#enterMonth(now);
    const month = this.#month;
    let slot = noKey;
    let remaining = 0;
    try {
      slot = this.#authenticate(request.getHeader(headerNames.authorization), now);
      if (slot < 0) return slot === noKey ? this.#missingKey : this.#invalidKey;
      const admission = this.#limits.admit(slot, month, steadyMs);
      if (admission === burstExceeded)
        return refusal(secondUsedUp, now, now + this.#limits.burstWaitMs(slot, steadyMs));
      if (admission === quotaExceeded) return refusal(monthUsedUp, now, this.#monthEnd);
      if (admission === monthUnknown) return refusal(clockWasSet, now, now + 1000);
      remaining = admission;
      return this.#content(request, method, hasBody, slot, remaining);
    } catch (error) {
      if (error instanceof ApiError) return this.#reply(errorContent(error), remaining);
      this.#report(error);
      if (slot >= 0) {
        this.#limits.giveBack(slot, month);
        remaining = this.#limits.remaining(slot, month);
      }
      const hidden = new ApiError("internal_error", "the request failed; try again");
      return this.#reply(errorContent(hidden), remaining);
    }
  }

  #enterMonth(now: number): void {
    this.#month = monthOf(now);
    this.#monthStart = startOfMonth(this.#month);
    this.#monthEnd = startOfMonth(this.#month + 1);
    this.#resetLines = resetLines(this.#monthEnd);
    // Heads say when the month ends.
    this.#missingKey = this.#constant(missingKey);
    this.#invalidKey = this.#constant(invalidKey);
    this.#forget();
  }

  /** A refusal that is the same all month, as bytes. */
  #constant(content: Content): Reply {
    const { head, body } = this.#reply(content, 0);
    return { head: Buffer.from(head), body };
  }

  #forget(): void {
    this.#prepared.clear();
    this.#prices.clear();
    this.#headOfUsual = undefined;
  }

  #reply(content: Content, remaining: number): Reply {
    return replyOf(content, this.#resetLines, remaining);
  }

  /** The account slot of a request's key, or which error it is. */
  #authenticate(authorization: string, now: number): number {
    // Keys are random: three of their letters give a place, and a look-up by hash would read all of them.
    const letters =
      authorization.charCodeAt(14) + 62 * authorization.charCodeAt(16) + 3844 * authorization.charCodeAt(18);
    const place = letters & (rememberedKeys - 1);
    const known = this.#knownKeys[place];
    if (known !== undefined && known.authorization === authorization)
      return this.#keys.slotOf(known.entry, now / 1000);
    const key = bearerKey(authorization);
    if (key === undefined) return noKey;
    const entry = isWellFormed(key) ? this.#keys.find(hashKey(key)) : -1;
    if (entry < 0) return badKey;
    this.#knownKeys[place] = { authorization, entry };
    return this.#keys.slotOf(entry, now / 1000);
  }

  #content(request: RequestHead, method: string, hasBody: boolean, slot: number, remaining: number): Reply {
    const path = request.getUrl();
    const query = request.getQuery() ?? "";
    if ((method !== "GET" && method !== "HEAD") || hasBody) throw unreadable(path, method);
    if (path === pricesPath) {
      const usual = readUsual(this.#versions.images[0], query);
      if (usual >= 0) return this.#usualPrices(request, usual, query, remaining);
    }
    const key = `${path}?${query}`;
    const answer = this.#prepared.get(key) ?? this.#prepare(decodeTarget(resolve(path)), key, query, slot);
    return answer.reply(request, remaining);
  }

  #usualPrices(request: RequestHead, usual: number, query: string, remaining: number): Reply {
    const kept = this.#prices.get(usual);
    if (kept !== undefined) return kept.reply(request, remaining);
    const image = this.#versions.images[0];
    const body = encodeUsual(image, usual, query, this.#scratch);
    const asked = this.#prices.count(usual);
    const isPlain =
      request.getHeader(headerNames.acceptEncoding) === "" &&
      request.getHeader(headerNames.ifNoneMatch) === "";
    if (isPlain && asked < asksToKeepPlain) return { head: this.#usualHead(usual, remaining), body };
    const answer = new Answer(usualTag(image, usual), current, this.#resetLines, body);
    if (isPlain || asked >= asksToKeep) this.#prices.keep(usual, answer);
    return answer.reply(request, remaining);
  }

  /** One head for all answers that aren't kept: its ETag is changed in place. */
  #usualHead(usual: number, remaining: number): Uint8Array {
    if (this.#headOfUsual === undefined) {
      const lines = okLines(`"${usualTag(this.#versions.images[0], 0)}"`, current);
      this.#headOfUsual = new Head(lines + this.#resetLines);
      this.#usualTagEnd = lines.indexOf('"\r\n');
    }
    const head = this.#headOfUsual.with(remaining);
    for (let at = this.#usualTagEnd - 1, rest = usual; at >= this.#usualTagEnd - usualDigits; at--) {
      head[at] = hexDigits[rest & 15];
      rest >>>= 4;
    }
    return head;
  }

  #prepare({ endpoint, version, segment }: Target, key: string, query: string, slot: number): Answer {
    const versions = this.#versions;
    const context = new RequestContext(versions, version, segment, this.#scratch, () => this.#usage(slot));
    const body = endpoint.answer(context, query);
    const isExact = endpoint.kind === "page" || (version !== null && versions.byName.has(version));
    const tag =
      endpoint.kind === "versioned" ? entityTag(context.image, endpoint, segment, query) : digest(body);
    const answer = new Answer(tag, isExact ? immutable : current, this.#resetLines, body);
    // What shows the account's state is another answer every time.
    if (!context.isLive && this.#prepared.count(hashOf(key)) >= asksToKeep) this.#prepared.keep(key, answer);
    return answer;
  }

  #usage(slot: number): Usage {
    const month = this.#month;
    const { name, plan } = this.#directory.get(slot);
    const { burst, quota } = this.#limits.ceilings(slot);
    const used = this.#limits.used(slot, month) ?? 0;
    const iso = (start: number) => new Date(startOfMonth(start)).toISOString();
    return {
      account: name,
      plan,
      period: { start: iso(month), end: iso(month + 1) },
      quota: { limit: quota, used, remaining: Math.max(0, quota - used) },
      burst: { limit: burst },
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
        `the method ${method.slice(0, 16)} isn't allowed, only GET and HEAD`,
      );
}

/** The same request on the same data gives the same bytes, so an ETag need not be made from them. */
function entityTag(image: Image, endpoint: Endpoint, segment: string, query: string): string {
  const usual = endpoint === prices ? readUsual(image, query) : -1;
  if (usual >= 0) return usualTag(image, usual);
  const request = `${endpoint.path}${segment}?${query}`;
  return `${tagStart(image)}${/^[!#-+\--~]{0,80}$/.test(request) ? request : digest(request)}`;
}

const usualDigits = 8;

/** The ETag of a price query in its usual form: as long for all, so that it can be changed in place. */
function usualTag(image: Image, usual: number): string {
  return `${tagStart(image)}prices-${usual.toString(16).padStart(usualDigits, "0")}`;
}

function tagStart(image: Image): string {
  return `${image.description.sha256.slice(0, 16)}-${imageFormatVersion}-`;
}

const secondUsedUp = "the account's requests per second are used up";
const monthUsedUp = "the account's requests per month are used up";
/** For the moments until the control thread has read what was used in another month. */
const clockWasSet =
  "this server's clock was set, and the account's requests of the month are being looked up";

function refusal(reason: string, nowMs: number, nextMs: number): Reply {
  const seconds = Math.max(1, Math.ceil((nextMs - nowMs) / 1000));
  const error = new ApiError("rate_limit_exceeded", `${reason}; retry in ${seconds} s`);
  return replyOf(errorContent(error, `Retry-After: ${seconds}`), resetLines(nextMs), 0);
}

function replyOf({ lines, body }: Content, resetLines: string, remaining: number): Reply {
  return { head: `${lines}${resetLines}${remaining}`, body };
}

function errorContent(error: ApiError, ...headers: string[]): Content {
  const status = errorTypes[error.type];
  if (error.type === "method_not_allowed") headers.push("Allow: GET, HEAD");
  if (status.startsWith("401")) headers.push("WWW-Authenticate: Bearer");
  return { lines: [status, contentType, ...headers].join("\r\n"), body: Buffer.from(errorBody(error)) };
}

/** What `#authenticate` returns in place of a slot. */
const badKey = -1;
const noKey = -2;
const missingKey = errorContent(
  new ApiError(
    "missing_api_key",
    'an API key is required: send the header "Authorization: Bearer <API key>"',
  ),
);
/** One answer for malformed, unknown, revoked and expired: a client can't tell them apart. */
const invalidKey = errorContent(new ApiError("invalid_api_key", "the API key isn't valid"));
