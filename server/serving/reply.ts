import { hash } from "node:crypto";
import { brotliCompressSync, gzipSync, constants as zlib } from "node:zlib";

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
  contentLength: Buffer.from("content-length"),
  transferEncoding: Buffer.from("transfer-encoding"),
  connection: Buffer.from("connection"),
  authorization: Buffer.from("authorization"),
  acceptEncoding: Buffer.from("accept-encoding"),
  ifNoneMatch: Buffer.from("if-none-match"),
};

/** What is sent; valid until the next one. */
export interface Reply {
  /** The status and all headers but the length, without the last line break. */
  head: string | Uint8Array;
  /** Absent on a 304. */
  body: Uint8Array | undefined;
}

type Coding = "identity" | "br" | "gzip";

/** A body as it is sent in one content coding. */
interface Variant {
  etag: string;
  body: Uint8Array;
  head: Head;
}

/** Smaller bodies are sent as they are. */
const minCompressedBytes = 1024;
/** What an answer takes beside its bodies. */
const overheadBytes = 1024;
/** Accept-Encoding headers whose meaning a thread remembers. */
const maxRememberedHeaders = 10_000;

export const contentType = "Content-Type: application/json";

/** The status and the headers of a 200 up to those of the ceilings. */
export function okLines(etag: string, cacheControl: string): string {
  return `200 OK\r\n${headersOf(etag, cacheControl)}`;
}

function headersOf(etag: string, cacheControl: string): string {
  return `${contentType}\r\nETag: ${etag}\r\nCache-Control: ${cacheControl}\r\nVary: Accept-Encoding, Authorization`;
}

/** The bytes of a head that ends in the number of requests left. */
export class Head {
  readonly #lines: string;
  readonly #byDigits: Uint8Array[] = [];

  constructor(lines: string) {
    this.#lines = lines;
  }

  /** Changed in place, so it holds until the next call: put together, it would be encoded every time. */
  with(remaining: number): Uint8Array {
    let digits = 1;
    for (let bound = 10; bound <= remaining; bound *= 10) digits++;
    let head = this.#byDigits[digits];
    if (head === undefined) {
      head = Buffer.from(this.#lines + "0".repeat(digits));
      this.#byDigits[digits] = head;
    }
    let rest = remaining;
    for (let at = head.length - 1; digits > 0; digits--, at--) {
      // Counts are below 2^31, and whole numbers divide faster.
      const next = (rest / 10) | 0;
      head[at] = 48 + rest - 10 * next;
      rest = next;
    }
    return head;
  }

  /** The same, put together for one use. */
  once(remaining: number): string {
    return `${this.#lines}${remaining}`;
  }
}

/** A 200, in the content codings that were asked for so far. */
export class Answer {
  readonly #tag: string;
  readonly #cacheControl: string;
  readonly #resetLines: string;
  #body: Uint8Array;
  #isKept = false;
  readonly #variants: Record<Coding, Variant | undefined> = {
    identity: undefined,
    br: undefined,
    gzip: undefined,
  };

  /**
   * @param tag the text of a strong ETag, without commas, which part ETags in If-None-Match
   * @param resetLines from `resetLines`
   * @param body JSON
   */
  constructor(tag: string, cacheControl: string, resetLines: string, body: Uint8Array) {
    this.#tag = tag;
    this.#cacheControl = cacheControl;
    this.#resetLines = resetLines;
    this.#body = body;
  }

  /** Copies the body, which may lie in memory that the next answer is written to. @returns bytes that it takes from now on, or a little less */
  keep(): number {
    if (!this.#isKept) this.#body = new Uint8Array(this.#body);
    this.#isKept = true;
    // Compressed, JSON is less than a quarter of it.
    return 1.5 * this.#body.length + overheadBytes;
  }

  reply(request: RequestHead, remaining: number): Reply {
    const coding = this.#coding(request.getHeader(headerNames.acceptEncoding));
    const variant = this.#variants[coding] ?? this.#encode(coding);
    const condition = request.getHeader(headerNames.ifNoneMatch);
    if (condition !== "" && matches(condition, variant.etag)) {
      const lines = `304 Not Modified\r\n${headersOf(variant.etag, this.#cacheControl)}${this.#resetLines}`;
      return { head: `${lines}${remaining}`, body: undefined };
    }
    const head = this.#isKept ? variant.head.with(remaining) : variant.head.once(remaining);
    return { head, body: variant.body };
  }

  #coding(accepted: string): Coding {
    if (accepted === "" || this.#body.length <= minCompressedBytes) return "identity";
    let coding = codings.get(accepted);
    if (coding === undefined) {
      coding = preferredCoding(accepted);
      if (codings.size >= maxRememberedHeaders) codings.clear();
      codings.set(accepted, coding);
    }
    return coding;
  }

  #encode(coding: Coding): Variant {
    const isCoded = coding !== "identity";
    const etag = isCoded ? `"${this.#tag}-${coding}"` : `"${this.#tag}"`;
    const encoding = isCoded ? `\r\nContent-Encoding: ${coding}` : "";
    const head = new Head(`${okLines(etag, this.#cacheControl)}${encoding}${this.#resetLines}`);
    const variant = { etag, body: isCoded ? compress(this.#body, coding) : this.#body, head };
    this.#variants[coding] = variant;
    return variant;
  }
}

/**
 * The lines that end a head, but for the number of requests left.
 *
 * @param resetMs Unix milliseconds
 */
export function resetLines(resetMs: number): string {
  return `\r\nX-RateLimit-Reset: ${Math.ceil(resetMs / 1000)}\r\nX-RateLimit-Remaining: `;
}

export function digest(content: string | Uint8Array): string {
  return hash("sha256", content, "base64url");
}

function compress(body: Uint8Array, coding: Exclude<Coding, "identity">): Uint8Array {
  const params = { [zlib.BROTLI_PARAM_QUALITY]: 5, [zlib.BROTLI_PARAM_SIZE_HINT]: body.length };
  const coded = coding === "gzip" ? gzipSync(body, { level: 6 }) : brotliCompressSync(body, { params });
  // A copy: it comes as a part of a buffer several times as large.
  return new Uint8Array(coded);
}

const codings = new Map<string, Coding>();

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
