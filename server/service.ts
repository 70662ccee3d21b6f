import { hash } from "node:crypto";
import { brotliCompressSync, gzipSync, constants as zlib } from "node:zlib";
import { type Image, imageFormatVersion } from "../engine/index.ts";
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

/** Bytes with the headers that always go with them. */
interface Content {
  status: string;
  headers: readonly (readonly [name: string, value: string])[];
  /** Absent on a 304. */
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
  contents: Map<Coding, { full: Content; notModified: Content; etag: string }>;
}

type Coding = "identity" | "br" | "gzip";

/** Smaller bodies are sent as they are. */
const minCompressedBytes = 1024;
/** A thread's prepared answers: bytes that they may take together, and what one takes beside its bodies. */
const maxPreparedBytes = 16 * 2 ** 20;
const preparedOverheadBytes = 1024;
/** Authorization headers and Accept-Encoding headers whose meaning a thread remembers. */
const maxRememberedHeaders = 10_000;

const contentType = ["Content-Type", "application/json"] as const;

/** Answers requests, in one thread, from memory that all threads share. */
export class Service {
  readonly #keys: KeyTable;
  readonly #limits: Limits;
  readonly #directory: Directory;
  readonly #now: () => number;
  readonly #steadyNow: () => number;
  readonly #report: (error: unknown) => void;
  #versions: Versions;
  readonly #prepared = new Map<string, Answer>();
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
  }

  /**
   * Makes the checks in their order: key, burst, quota, path, method, parameters, data. Never throws.
   *
   * @param hasBody whether the request announces a body, which no endpoint takes
   */
  answer(request: RequestHead, hasBody: boolean): Reply {
    const now = this.#now();
    const month = monthOf(now);
    const reset = Math.floor(startOfMonth(month + 1) / 1000);
    let slot = -1;
    let remaining = 0;
    try {
      slot = this.#authenticate(request.getHeader("authorization"), now);
      const steadyMs = this.#steadyNow();
      const admission = this.#limits.admit(slot, month, steadyMs);
      if (admission === burstExceeded)
        return refusal("requests per second", now, now + this.#limits.burstWaitMs(slot, steadyMs));
      if (admission === quotaExceeded) return refusal("requests per month", now, reset * 1000);
      remaining = admission;
      return { ...this.#content(request, hasBody, slot, month), remaining, reset };
    } catch (error) {
      if (error instanceof ApiError) return { ...errorContent(error), remaining, reset };
      this.#report(error);
      if (slot >= 0) {
        this.#limits.giveBack(slot, month);
        remaining = this.#limits.remaining(slot, month);
      }
      return {
        ...errorContent(new ApiError("internal_error", "the request failed; try again")),
        remaining,
        reset,
      };
    }
  }

  #authenticate(authorization: string, now: number): number {
    const known = this.#entries.get(authorization);
    const entry = known ?? this.#findEntry(authorization);
    const slot = entry < 0 ? -1 : this.#keys.slotOf(entry, now / 1000);
    // One answer for malformed, unknown, revoked and expired: a client can't tell them apart.
    if (slot < 0) throw new ApiError("invalid_api_key", "the API key isn't valid");
    if (known === undefined) remember(this.#entries, authorization, entry);
    return slot;
  }

  #findEntry(authorization: string): number {
    const key = bearerKey(authorization);
    if (key === undefined)
      throw new ApiError(
        "missing_api_key",
        'an API key is required: send the header "Authorization: Bearer <API key>"',
      );
    return isWellFormed(key) ? this.#keys.find(hashKey(key)) : -1;
  }

  #content(request: RequestHead, hasBody: boolean, slot: number, month: number): Content {
    const path = request.getUrl();
    const target = resolve(path);
    const method = request.getCaseSensitiveMethod();
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
    const answer = this.#prepare(path, target, request.getQuery() ?? "", () => this.#usage(slot, month));
    const coding = this.#coding(request.getHeader("accept-encoding"), answer);
    const { full, notModified, etag } = answer.contents.get(coding) ?? this.#encode(answer, coding);
    const condition = request.getHeader("if-none-match");
    return condition !== "" && matches(condition, etag) ? notModified : full;
  }

  #prepare(path: string, target: Target, query: string, usage: () => Usage): Answer {
    const key = `${path}?${query}`;
    const known = this.#prepared.get(key);
    if (known !== undefined) return known;
    const { endpoint, version, segment } = target;
    const versions = this.#versions;
    const image = findVersion(versions, version);
    let live = false;
    const context: Context = {
      versions,
      image,
      segment,
      offset: 0,
      usage() {
        live = true;
        return usage();
      },
    };
    const body = endpoint.answer(context, parseQuery(query));
    const exact = endpoint.kind === "page" || (version !== null && versions.byName.has(version));
    const answer: Answer = {
      tag:
        endpoint.kind === "versioned"
          ? entityTag(image, `${endpoint.path}${segment}?${query}`)
          : digest(body),
      cacheControl: exact ? "private, max-age=31536000, immutable" : "private, no-cache",
      identity: body,
      contents: new Map(),
    };
    // What shows the account's state is another answer every time.
    if (live) return answer;
    this.#spend(body.length + key.length + preparedOverheadBytes);
    this.#prepared.set(key, answer);
    return answer;
  }

  #usage(slot: number, month: number): Usage {
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

  #encode(answer: Answer, coding: Coding) {
    const etag = `"${answer.tag}${coding === "identity" ? "" : `-${coding}`}"`;
    const body = compress(answer.identity, coding);
    const headers: Content["headers"] = [
      contentType,
      ["ETag", etag],
      ["Cache-Control", answer.cacheControl],
      ["Vary", "Accept-Encoding, Authorization"],
    ];
    const content = {
      etag,
      full: {
        status: "200 OK",
        headers: coding === "identity" ? headers : [...headers, ["Content-Encoding", coding] as const],
        body,
      },
      notModified: { status: "304 Not Modified", headers, body: undefined },
    };
    if (coding !== "identity") this.#spend(body.length);
    answer.contents.set(coding, content);
    return content;
  }

  /** Makes room by forgetting all prepared answers: each is cheap to prepare anew. */
  #spend(bytes: number): void {
    if (this.#preparedBytes + bytes > maxPreparedBytes) {
      this.#prepared.clear();
      this.#preparedBytes = 0;
    }
    this.#preparedBytes += bytes;
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

/** A strong ETag's text. The same request on the same data gives the same bytes, so it need not be made from them. */
function entityTag(image: Image, request: string): string {
  const name = /^[!#-~]{0,80}$/.test(request) ? request : digest(request);
  return `${image.describe.sha256.slice(0, 16)}-${imageFormatVersion}-${name}`;
}

function digest(content: string | Uint8Array): string {
  return hash("sha256", content, "base64url");
}

function remember<Value>(map: Map<string, Value>, header: string, value: Value): void {
  if (map.size >= maxRememberedHeaders) map.clear();
  map.set(header, value);
}

function refusal(ceiling: string, nowMs: number, nextMs: number): Reply {
  const seconds = Math.max(1, Math.ceil((nextMs - nowMs) / 1000));
  const error = new ApiError(
    "rate_limit_exceeded",
    `the account's ${ceiling} are used up; retry in ${seconds} s`,
  );
  const { status, headers, body } = errorContent(error);
  return {
    status,
    headers: [...headers, ["Retry-After", String(seconds)]],
    body,
    remaining: 0,
    reset: Math.ceil(nextMs / 1000),
  };
}

function errorContent(error: ApiError): Content {
  const status = errorTypes[error.type];
  const headers: (readonly [string, string])[] = [contentType];
  if (error.type === "method_not_allowed") headers.push(["Allow", "GET, HEAD"]);
  if (status.startsWith("401")) headers.push(["WWW-Authenticate", "Bearer"]);
  return { status, headers, body: Buffer.from(errorBody(error)) };
}

function compress(body: Uint8Array, coding: Coding): Uint8Array {
  if (coding === "identity") return body;
  if (coding === "gzip") return gzipSync(body, { level: 6 });
  const params = { [zlib.BROTLI_PARAM_QUALITY]: 5, [zlib.BROTLI_PARAM_SIZE_HINT]: body.length };
  return brotliCompressSync(body, { params });
}

/** The best of `br`, `gzip` and `identity` by an Accept-Encoding header (RFC 9110, 12.5.3); `br` among equals. */
export function preferredCoding(accepted: string): Coding {
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
