import { hash } from "node:crypto";
import { brotliCompressSync, gzipSync, constants as zlib } from "node:zlib";
import { type Image, imageFormatVersion } from "../engine/query.ts";
import type { Directory } from "./directory.ts";
import type { Context, Usage, Versions } from "./endpoint.ts";
import { ApiError, errorBody, errorTypes } from "./errors.ts";
import { bearerKey, hashKey, isWellFormed, type KeyTable } from "./keys.ts";
import { burstExceeded, type Limits, monthOf, quotaExceeded, startOfMonth } from "./limits.ts";
import { type Answer, type Coding, headOf, Prepared, type Variant } from "./prepared.ts";
import { findVersion, resolve, type Target } from "./routes.ts";

/** A request as the HTTP server gives it; valid during the call only. */
export interface RequestHead {
  /** The path, undecoded. */
  getUrl(): string;
  /** What stands behind the `?`, undecoded; undefined where there is no `?`. */
  getQuery(): string | undefined;
  /** The first header of that name, one of `headerNames`, or the empty string. */
  getHeader(lowerCaseName: Uint8Array): string;
}

/** The headers that are read. As strings, their names would be encoded again for every request. */
export const headerNames = {
  authorization: Buffer.from("authorization"),
  acceptEncoding: Buffer.from("accept-encoding"),
  ifNoneMatch: Buffer.from("if-none-match"),
};

/** An answer; valid until the next one. */
export interface Reply {
  /** The status and all headers but the length, without the last line break. */
  head: string | Uint8Array;
  /** Absent on a 304. */
  body: Uint8Array | undefined;
}

/** A reply but for the headers that say what is left of the account's month. */
interface Content {
  /** Values come from this program and checked data only, because a line break in one would be another header. */
  lines: string;
  body: Uint8Array | undefined;
}

/** Smaller bodies are sent as they are. */
const minCompressedBytes = 1024;
/** Authorization headers and Accept-Encoding headers whose meaning a thread remembers. */
const maxRememberedHeaders = 10_000;

const contentType = "Content-Type: application/json";

/** Room for an answer that isn't kept: an allocation for each would cost more than the answer. */
const scratchBytes = 64 * 2 ** 10;

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
  /** The lines that end a head, but for the number of requests left. */
  #resetLines = "";
  readonly #prepared = new Prepared();
  readonly #scratch = Buffer.alloc(scratchBytes);
  readonly #entries = new Map<string, number>();
  readonly #codings = new Map<string, Coding>();

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
    this.#prepared.clear();
  }

  /**
   * Makes the checks in their order: key, burst, quota, path, method, parameters, data. Never throws.
   *
   * @param hasBody whether the request announces a body, which no endpoint takes
   */
  answer(request: RequestHead, method: string, hasBody: boolean): Reply {
    const now = this.#now();
    if (now < this.#monthStart || now >= this.#monthEnd) this.#enterMonth(now);
    const month = this.#month;
    let slot = noKey;
    let remaining = 0;
    try {
      slot = this.#authenticate(request.getHeader(headerNames.authorization), now);
      if (slot < 0) return this.#reply(slot === noKey ? missingKey : invalidKey, 0);
      const steadyMs = this.#steadyNow();
      const admission = this.#limits.admit(slot, month, steadyMs);
      if (admission === burstExceeded)
        return refusal("requests per second", now, now + this.#limits.burstWaitMs(slot, steadyMs));
      if (admission === quotaExceeded) return refusal("requests per month", now, this.#monthEnd);
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
    // Kept heads say when the month ends.
    this.#prepared.clear();
  }

  #reply({ lines, body }: Content, remaining: number): Reply {
    return { head: `${lines}${this.#resetLines}${remaining}`, body };
  }

  /** The account slot of a request's key, or which error it is. */
  #authenticate(authorization: string, now: number): number {
    const known = this.#entries.get(authorization);
    if (known !== undefined) return this.#keys.slotOf(known, now / 1000);
    const key = bearerKey(authorization);
    if (key === undefined) return noKey;
    const entry = isWellFormed(key) ? this.#keys.find(hashKey(key)) : -1;
    if (entry < 0) return badKey;
    remember(this.#entries, authorization, entry);
    return this.#keys.slotOf(entry, now / 1000);
  }

  #content(request: RequestHead, method: string, hasBody: boolean, slot: number, remaining: number): Reply {
    const path = request.getUrl();
    const query = request.getQuery() ?? "";
    const isRead = (method === "GET" || method === "HEAD") && !hasBody;
    const answer =
      (isRead && this.#prepared.get(path, query)) ||
      this.#prepare(resolve(path), path, query, method, hasBody, slot);
    const coding = this.#coding(request.getHeader(headerNames.acceptEncoding), answer);
    const variant = answer[coding] ?? this.#encode(answer, coding);
    const condition = request.getHeader(headerNames.ifNoneMatch);
    if (condition !== "" && matches(condition, variant.etag)) {
      const lines = `304 Not Modified\r\n${headersOf(variant.etag, answer.cacheControl)}`;
      return this.#reply({ lines, body: undefined }, remaining);
    }
    const head = answer.isKept ? headOf(variant, remaining) : `${variant.lines}${remaining}`;
    return { head, body: variant.body };
  }

  #prepare(
    target: Target,
    path: string,
    query: string,
    method: string,
    hasBody: boolean,
    slot: number,
  ): Answer {
    if (method !== "GET" && method !== "HEAD")
      throw new ApiError(
        "method_not_allowed",
        `the method ${method.slice(0, 16)} isn't allowed, only GET and HEAD`,
      );
    if (hasBody)
      throw new ApiError(
        "invalid_parameter",
        "a request has no body: send no Content-Length or Transfer-Encoding",
      );
    const { endpoint, version, segment } = target;
    const versions = this.#versions;
    const context = new RequestContext(versions, version, segment, this.#scratch, () => this.#usage(slot));
    const body = endpoint.answer(context, query);
    const isExact = endpoint.kind === "page" || (version !== null && versions.byName.has(version));
    const answer: Answer = {
      tag:
        endpoint.kind === "versioned"
          ? entityTag(context.image, `${endpoint.path}${segment}?${query}`)
          : digest(body),
      cacheControl: isExact ? "private, max-age=31536000, immutable" : "private, no-cache",
      body,
      isKept: false,
      identity: undefined,
      br: undefined,
      gzip: undefined,
    };
    // What shows the account's state is another answer every time.
    if (!context.isLive) this.#prepared.offer(path, query, answer);
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

  #encode(answer: Answer, coding: Coding): Variant {
    const isCoded = coding !== "identity";
    const etag = isCoded ? `"${answer.tag}-${coding}"` : `"${answer.tag}"`;
    const headers = headersOf(etag, answer.cacheControl);
    const variant = {
      etag,
      lines: `200 OK\r\n${headers}${isCoded ? `\r\nContent-Encoding: ${coding}` : ""}${this.#resetLines}`,
      body: compress(answer.body, coding),
      heads: [],
    };
    answer[coding] = variant;
    if (isCoded && answer.isKept) this.#prepared.spend(variant.body.length);
    return variant;
  }

  #coding(accepted: string, answer: Answer): Coding {
    if (accepted === "" || answer.body.length <= minCompressedBytes) return "identity";
    const known = this.#codings.get(accepted);
    if (known !== undefined) return known;
    const coding = preferredCoding(accepted);
    remember(this.#codings, accepted, coding);
    return coding;
  }
}

/** A strong ETag's text, without commas, which part ETags in If-None-Match. The same request on the same data gives the same bytes, so it need not be made from them. */
function entityTag(image: Image, request: string): string {
  const name = /^[!#-+\--~]{0,80}$/.test(request) ? request : digest(request);
  return `${image.describe.sha256.slice(0, 16)}-${imageFormatVersion}-${name}`;
}

function digest(content: string | Uint8Array): string {
  return hash("sha256", content, "base64url");
}

function remember<Value>(map: Map<string, Value>, header: string, value: Value): void {
  if (map.size >= maxRememberedHeaders) map.clear();
  map.set(header, value);
}

function headersOf(etag: string, cacheControl: string): string {
  return `${contentType}\r\nETag: ${etag}\r\nCache-Control: ${cacheControl}\r\nVary: Accept-Encoding, Authorization`;
}

/** @param resetMs Unix milliseconds */
function resetLines(resetMs: number): string {
  return `\r\nX-RateLimit-Reset: ${Math.ceil(resetMs / 1000)}\r\nX-RateLimit-Remaining: `;
}

function refusal(ceiling: string, nowMs: number, nextMs: number): Reply {
  const seconds = Math.max(1, Math.ceil((nextMs - nowMs) / 1000));
  const error = new ApiError(
    "rate_limit_exceeded",
    `the account's ${ceiling} are used up; retry in ${seconds} s`,
  );
  const { lines, body } = errorContent(error, `Retry-After: ${seconds}`);
  return { head: `${lines}${resetLines(nextMs)}0`, body };
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

function compress(body: Uint8Array, coding: Coding): Uint8Array {
  if (coding === "identity") return body;
  if (coding === "gzip") return gzipSync(body, { level: 6 });
  const params = { [zlib.BROTLI_PARAM_QUALITY]: 5, [zlib.BROTLI_PARAM_SIZE_HINT]: body.length };
  return brotliCompressSync(body, { params });
}

/** The best of `br`, `gzip` and `identity` by an Accept-Encoding header (RFC 9110, 12.5.3); `br` among equals. */
function preferredCoding(accepted: string): Coding {
  const weights = new Map<string, number>();
  for (const part of accepted.toLowerCase().split(",")) {
    const [name, ...parameters] = part.split(";").map((text) => text.trim());
    const weight = parameters.find((text) => text.startsWith("q="));
    const value = weight === undefined ? 1 : Number(weight.slice(2));
    if (name !== "") weights.set(name, Number.isFinite(value) ? value : 0);
  }
  const weightOf = (coding: Coding) => weights.get(coding) ?? weights.get("*") ?? 0;
  const identity = weights.get("identity") ?? 0;
  const best = weightOf("br") >= weightOf("gzip") ? "br" : "gzip";
  return weightOf(best) > 0 && weightOf(best) >= identity ? best : "identity";
}

/** Whether an If-None-Match header names the ETag (RFC 9110, 13.1.2, weak comparison). */
export function matches(condition: string, etag: string): boolean {
  if (condition === etag || condition.trim() === "*") return true;
  return condition.split(",").some((part) => part.trim().replace(/^W\//, "") === etag);
}
