import { hash } from "node:crypto";
import { brotliCompressSync, gzipSync, constants as zlib } from "node:zlib";
import { type Image, imageFormatVersion } from "../engine/query.ts";
import type { Directory } from "./directory.ts";
import type { Context, Usage, Versions } from "./endpoint.ts";
import { ApiError, errorBody, errorTypes } from "./errors.ts";
import { bearerKey, hashKey, isWellFormed, type KeyTable } from "./keys.ts";
import { burstExceeded, type Limits, monthOf, quotaExceeded, startOfMonth } from "./limits.ts";
import { parseQuery } from "./query.ts";
import { findVersion, resolve, type Target } from "./routes.ts";

/** A request as the HTTP server gives it; valid during the call only. */
export interface RequestHead {
  getCaseSensitiveMethod(): string;
  /** The path, undecoded. */
  getUrl(): string;
  /** What stands behind the `?`, undecoded; undefined where there is no `?`. */
  getQuery(): string | undefined;
  /** The first header of that name, or the empty string. */
  getHeader(lowerCaseName: string): string;
}

/** A body with the headers that always go with it. */
interface Content {
  status: string;
  /**
   * The headers as they are sent, end to end, without the first one's name, `firstHeader`: one write costs less than
   * four. Values come from this program and checked data only, because a line break in one would be another header.
   */
  headerLines: string;
  /** Valid until the next answer; absent on a 304. */
  body: Uint8Array | undefined;
}

export interface Reply extends Content {
  /** Whole requests left in the account's month. */
  remaining: number;
  /** Unix seconds. */
  reset: number;
}

/** A 200 in the content codings that were asked for so far. */
interface Answer {
  tag: string;
  cacheControl: string;
  identity: Uint8Array;
  variants: Record<Coding, Variant | undefined>;
}

interface Variant extends Content {
  etag: string;
}

type Coding = "identity" | "br" | "gzip";

/** Smaller bodies are sent as they are. */
const minCompressedBytes = 1024;
/** A thread's prepared answers: bytes that they may take together, and what one takes beside its bodies. */
const maxPreparedBytes = 16 * 2 ** 20;
const preparedOverheadBytes = 1024;
/** Requests that a thread remembers to have been asked once. */
const maxAskedOnce = 4096;
/** Authorization headers and Accept-Encoding headers whose meaning a thread remembers. */
const maxRememberedHeaders = 10_000;

/** The status that need not be written: it is the default. */
export const ok = "200 OK";
/** The first header of every answer. */
export const firstHeader = "Content-Type";
const contentType = "application/json";

/** Room for an answer that isn't kept: an allocation for each would cost more than the answer. */
const scratchBytes = 64 * 2 ** 10;

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
  readonly #prepared = new Map<string, Answer>();
  readonly #askedOnce = new Set<string>();
  readonly #scratch = new Uint8Array(scratchBytes);
  #preparedBytes = 0;
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
    this.#preparedBytes = 0;
    this.#askedOnce.clear();
  }

  /**
   * Makes the checks in their order: key, burst, quota, path, method, parameters, data. Never throws.
   *
   * @param hasBody whether the request announces a body, which no endpoint takes
   */
  answer(request: RequestHead, hasBody: boolean): Reply {
    const now = this.#now();
    if (now < this.#monthStart || now >= this.#monthEnd) this.#enterMonth(now);
    const month = this.#month;
    const reset = this.#monthEnd / 1000;
    let slot = noKey;
    let remaining = 0;
    try {
      slot = this.#authenticate(request.getHeader("authorization"), now);
      if (slot < 0) return reply(slot === noKey ? missingKey : invalidKey, 0, reset);
      const steadyMs = this.#steadyNow();
      const admission = this.#limits.admit(slot, month, steadyMs);
      if (admission === burstExceeded)
        return refusal("requests per second", now, now + this.#limits.burstWaitMs(slot, steadyMs));
      if (admission === quotaExceeded) return refusal("requests per month", now, reset * 1000);
      remaining = admission;
      return reply(this.#content(request, hasBody, slot), remaining, reset);
    } catch (error) {
      if (error instanceof ApiError) return reply(errorContent(error), remaining, reset);
      this.#report(error);
      if (slot >= 0) {
        this.#limits.giveBack(slot, month);
        remaining = this.#limits.remaining(slot, month);
      }
      return reply(
        errorContent(new ApiError("internal_error", "the request failed; try again")),
        remaining,
        reset,
      );
    }
  }

  #enterMonth(now: number): void {
    this.#month = monthOf(now);
    this.#monthStart = startOfMonth(this.#month);
    this.#monthEnd = startOfMonth(this.#month + 1);
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

  #content(request: RequestHead, hasBody: boolean, slot: number): Content {
    const path = request.getUrl();
    const query = request.getQuery() ?? "";
    const method = request.getCaseSensitiveMethod();
    const isRead = (method === "GET" || method === "HEAD") && !hasBody;
    const key = `${path}?${query}`;
    const answer =
      (isRead && this.#prepared.get(key)) || this.#prepare(resolve(path), key, query, method, hasBody, slot);
    const coding = this.#coding(request.getHeader("accept-encoding"), answer);
    const variant = answer.variants[coding] ?? this.#encode(answer, coding);
    const condition = request.getHeader("if-none-match");
    if (condition === "" || !matches(condition, variant.etag)) return variant;
    const headerLines = headersOf(variant.etag, answer.cacheControl);
    return { status: "304 Not Modified", headerLines, body: undefined };
  }

  #prepare(
    target: Target,
    key: string,
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
    let image: Image | undefined;
    let live = false;
    const context: Context = {
      versions,
      segment,
      offset: 0,
      scratch: this.#scratch,
      // Asked for after the parameters are checked: a bad one is answered before an unknown version.
      get image() {
        image ??= findVersion(versions, version);
        return image;
      },
      usage: () => {
        live = true;
        return this.#usage(slot);
      },
    };
    const body = endpoint.answer(context, parseQuery(query));
    const exact = endpoint.kind === "page" || (version !== null && versions.byName.has(version));
    const answer: Answer = {
      tag:
        endpoint.kind === "versioned"
          ? entityTag(context.image, `${endpoint.path}${segment}?${query}`)
          : digest(body),
      cacheControl: exact ? "private, max-age=31536000, immutable" : "private, no-cache",
      identity: body,
      variants: { identity: undefined, br: undefined, gzip: undefined },
    };
    // What shows the account's state is another answer every time.
    if (!live) this.#keep(key, answer);
    return answer;
  }

  /** Keeps an answer that is asked for a second time: of those asked once, keeping costs more than preparing. */
  #keep(key: string, answer: Answer): void {
    if (!this.#askedOnce.delete(key)) {
      if (this.#askedOnce.size >= maxAskedOnce) this.#askedOnce.clear();
      this.#askedOnce.add(key);
      return;
    }
    answer.identity = answer.identity.slice();
    this.#spend(answer.identity.length + key.length + preparedOverheadBytes);
    this.#prepared.set(key, answer);
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
    const lines = headersOf(etag, answer.cacheControl);
    const variant = {
      status: ok,
      headerLines: isCoded ? `${lines}\r\nContent-Encoding: ${coding}` : lines,
      body: compress(answer.identity, coding),
      etag,
    };
    if (isCoded) this.#spend(variant.body.length);
    answer.variants[coding] = variant;
    return variant;
  }

  /** Makes room by forgetting the oldest answers: those that are asked for come back. */
  #spend(bytes: number): void {
    this.#preparedBytes += bytes;
    for (const [key, answer] of this.#prepared) {
      if (this.#preparedBytes <= maxPreparedBytes) return;
      this.#prepared.delete(key);
      const bodies = Object.values(answer.variants).filter((variant) => variant?.body !== answer.identity);
      const coded = bodies.reduce((sum, variant) => sum + (variant?.body?.length ?? 0), 0);
      this.#preparedBytes -= answer.identity.length + key.length + preparedOverheadBytes + coded;
    }
  }

  #coding(accepted: string, answer: Answer): Coding {
    if (accepted === "" || answer.identity.length <= minCompressedBytes) return "identity";
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

function reply({ status, headerLines, body }: Content, remaining: number, reset: number): Reply {
  return { status, headerLines, body, remaining, reset };
}

function refusal(ceiling: string, nowMs: number, nextMs: number): Reply {
  const seconds = Math.max(1, Math.ceil((nextMs - nowMs) / 1000));
  const error = new ApiError(
    "rate_limit_exceeded",
    `the account's ${ceiling} are used up; retry in ${seconds} s`,
  );
  return reply(errorContent(error, `Retry-After: ${seconds}`), 0, Math.ceil(nextMs / 1000));
}

function errorContent(error: ApiError, ...headers: string[]): Content {
  const status = errorTypes[error.type];
  if (error.type === "method_not_allowed") headers.push("Allow: GET, HEAD");
  if (status.startsWith("401")) headers.push("WWW-Authenticate: Bearer");
  return { status, headerLines: [contentType, ...headers].join("\r\n"), body: Buffer.from(errorBody(error)) };
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
