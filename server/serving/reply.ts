import type { FileBody } from "../api/endpoint.ts";
import { ApiError } from "../api/errors.ts";
import { type Coding, codingOf, compress, isNamed, matches, rangeOf } from "./negotiation.ts";

/** A request's query and headers. A request of the HTTP server can be read only until its handler returns. */
export interface RequestHead {
  /** The undecoded text after the `?`; undefined where there is no `?`. */
  getQuery(): string | undefined;
  /** The first header with a name, or the empty string. `headerName` makes the name. */
  getHeader(lowerCaseName: ArrayBuffer): string;
  /** Calls back with each header, its name in lower case. */
  forEach(take: (name: string, value: string) => void): void;
}

/** A copy of a request, for an answer that is made after the request's handler has returned. */
export class KeptRequest implements RequestHead {
  readonly #query: string | undefined;
  readonly #headers: [name: string, value: string][] = [];

  constructor(request: RequestHead) {
    this.#query = request.getQuery();
    request.forEach((name, value) => {
      this.#headers.push([name, value]);
    });
  }

  getQuery(): string | undefined {
    return this.#query;
  }

  getHeader(lowerCaseName: ArrayBuffer): string {
    const name = Buffer.from(lowerCaseName).toString("latin1");
    return this.#headers.find(([other]) => other === name)?.[1] ?? "";
  }

  forEach(take: (name: string, value: string) => void): void {
    for (const [name, value] of this.#headers) take(name, value);
  }
}

/**
 * Joins the values of all headers of a given name into one list (RFC 9110, 5.3). This is slow, because it reads every header as text.
 * @param name in lower case
 */
export function listIn(request: Pick<RequestHead, "forEach">, name: string): string {
  const lines: string[] = [];
  request.forEach((other, value) => {
    if (other === name) lines.push(value);
  });
  return lines.join(",");
}

/**
 * Chooses a request's coding. Further header lines are read only if the first line doesn't say enough. An empty first line
 * counts as no header, because `getHeader` returns the same for both.
 */
function codingFor(request: RequestHead): Coding {
  const first = request.getHeader(headerNames.acceptEncoding);
  if (first === "") return "identity";
  const coding = codingOf(first);
  // No other line has a better coding than `br` without a weight, which browsers send.
  return coding === "br" && !first.includes(";") ? coding : codingOf(listIn(request, "accept-encoding"));
}

/** Whether If-None-Match matches the ETag. Further header lines are read only if the first line doesn't match it. */
function isUnchanged(request: RequestHead, etag: string): boolean {
  const first = request.getHeader(headerNames.ifNoneMatch);
  return first !== "" && (matches(first, etag) || matches(listIn(request, "if-none-match"), etag));
}

/** Header names as ArrayBuffers. A string would be encoded for every request, and a view of a buffer would be slower. */
export const headerNames = {
  contentLength: headerName("content-length"),
  transferEncoding: headerName("transfer-encoding"),
  connection: headerName("connection"),
  authorization: headerName("authorization"),
  acceptEncoding: headerName("accept-encoding"),
  ifNoneMatch: headerName("if-none-match"),
  range: headerName("range"),
  ifRange: headerName("if-range"),
};

/** Makes a header's name in the form that `getHeader` takes. @param lowerCase the name in lower case */
export function headerName(lowerCase: string): ArrayBuffer {
  return new Uint8Array(Buffer.from(lowerCase)).buffer;
}

/** Slot of the account for which a body is made; undefined for bodies that are in memory. */
export type Taker = number | undefined;

/** A body that is sent in chunks. Call `source.return()` to stop early. */
export interface BodyStream {
  readonly length: number;
  readonly taker: Taker;
  /** The body's chunks. A chunk may be empty, and is valid until the next chunk is requested. */
  readonly source: Generator<Uint8Array, void>;
  /** The body, if it is kept in memory for this stream. */
  readonly kept?: Uint8Array;
}

/** A reply. Its head is valid until the next reply is made. */
export interface Reply {
  /** 0 if the request has to wait: for `later`, or for a permit of the account in the slot `waitsFor`. */
  status: number;
  /** The status and the headers, without Content-Length, Date, Connection and the last line break. */
  head: string | Uint8Array;
  /** The body; undefined if there is a stream, or no body, such as on a 304. */
  body: Uint8Array | undefined;
  /** Whether the next reply overwrites the body. Other bodies never change. */
  isOverwritten?: boolean;
  /** Length of the body that a 304 leaves out. */
  absentBytes?: number;
  stream?: BodyStream;
  waitsFor?: number;
  /** The reply, if it is made later. Never rejects. */
  later?: Promise<Reply>;
}

const json = "application/json";
/** A cache between the server and its clients must not give one caller's error to another. */
const errorLines = `Content-Type: ${json}\r\nCache-Control: no-store`;

/**
 * Makes the header lines about the account's limits. The caller appends the number of requests left.
 * @param resetMs Unix milliseconds
 */
export function lastLines(resetMs: number): string {
  return `\r\nX-RateLimit-Reset: ${Math.ceil(resetMs / 1000)}\r\nX-RateLimit-Remaining: `;
}

export function errorReply(error: ApiError, lastLines: string, remaining: number): Reply {
  const own = error.headers.map(({ name, value }) => `${name}: ${value}`);
  const lines = [error.status, errorLines, ...own].join("\r\n");
  return {
    status: Number.parseInt(error.status, 10),
    head: `${lines}${lastLines}${remaining}`,
    body: Buffer.from(JSON.stringify(error.body)),
  };
}

/** Makes the first lines of a 200's head, for a body of JSON. @param etag the ETag with its quotes */
export function okLines(etag: string, cacheControl: string): string {
  return `200 OK\r\n${validatorLines(etag, cacheControl)}`;
}

function validatorLines(etag: string, cacheControl: string, type = json): string {
  return `Content-Type: ${type}\r\nETag: ${etag}\r\nCache-Control: ${cacheControl}\r\nVary: Accept-Encoding, Authorization`;
}

/**
 * Makes the reply to a request for a file. Files aren't compressed. Conditions are checked in the order of RFC 9110,
 * 13.2.2: If-Match, If-None-Match, then If-Range and Range.
 * @param remaining requests left this month
 * @param mayBePart whether to obey a Range header, if the file has a signature
 */
export function fileReply(
  { tag, cacheControl, lastLines }: AnswerHead,
  { name, length, chunks, signature }: FileBody,
  type: string,
  request: RequestHead,
  slot: number,
  remaining: number,
  mayBePart: boolean,
): Reply {
  const etag = `"${tag}"`;
  const lines = validatorLines(etag, cacheControl, type);
  const end = `${lastLines}${remaining}`;
  const expected = listIn(request, "if-match");
  if (expected !== "" && !isNamed(expected, etag)) return errorReply(changedFile, lastLines, remaining);
  if (isUnchanged(request, etag))
    return { status: 304, head: `304 Not Modified\r\n${lines}${end}`, body: undefined, absentBytes: length };
  const unchanged = request.getHeader(headerNames.ifRange);
  const isRange = mayBePart && signature !== undefined && (unchanged === "" || unchanged === etag);
  const range = isRange ? rangeOf(request.getHeader(headerNames.range), length) : undefined;
  if (range === null) {
    const message = "the range is outside the file: Content-Range has its length";
    const error = new ApiError("range_not_satisfiable", message, { header: `bytes */${length}` });
    return errorReply(error, lastLines, remaining);
  }
  const [start, stop] = range ?? [0, length];
  const headers = [range === undefined ? "200 OK" : "206 Partial Content", lines];
  headers.push(`Content-Disposition: attachment; filename="${name}"`);
  if (signature !== undefined) headers.push("Accept-Ranges: bytes");
  if (range !== undefined) headers.push(`Content-Range: bytes ${start}-${stop - 1}/${length}`);
  return {
    status: range === undefined ? 200 : 206,
    head: headers.join("\r\n") + end,
    body: undefined,
    stream: {
      length: stop - start,
      source: chunks(start, stop),
      taker: signature === undefined ? slot : undefined,
    },
  };
}

const changedFile = new ApiError(
  "precondition_failed",
  "If-Match has no ETag of the file as it is now: start again without If-Match",
);

/** A head that ends in the number of requests left. */
export class Head {
  readonly #lines: string;
  readonly #byDigits: Uint8Array[] = [];

  constructor(lines: string) {
    this.#lines = lines;
  }

  /** Returns bytes that are valid until the next call. They change in place, because encoding a new text costs more. */
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
      // `| 0` keeps `rest` an integer, because integers divide faster. The counts are below 2^31.
      const next = (rest / 10) | 0;
      head[at] = 48 + rest - 10 * next;
      rest = next;
    }
    return head;
  }

  once(remaining: number): string {
    return `${this.#lines}${remaining}`;
  }
}

interface Variant {
  etag: string;
  body: Uint8Array;
  head: Head;
}

const minCompressedBytes = 1024;

/** The parts of an answer's head that don't depend on the content coding. */
interface AnswerHead {
  /** Text of a strong ETag, without quotes. It has no commas, because commas separate the ETags of an If-None-Match. */
  tag: string;
  cacheControl: string;
  lastLines: string;
}

/** An answer with status 200, in each content coding that was asked for so far. */
export class Answer {
  readonly #head: AnswerHead;
  readonly #body: Uint8Array;
  readonly #isKept: boolean;
  readonly #variants: Record<Coding, Variant | undefined> = {
    identity: undefined,
    br: undefined,
    gzip: undefined,
  };

  /** @param body JSON that the next answer may overwrite; copied if the answer is kept */
  constructor(head: AnswerHead, body: Uint8Array, isKept: boolean) {
    this.#head = head;
    this.#body = isKept ? new Uint8Array(body) : body;
    this.#isKept = isKept;
  }

  get bodyBytes(): number {
    return this.#body.length;
  }

  replyTo(request: RequestHead, remaining: number): Reply {
    const isSmall = this.#body.length <= minCompressedBytes;
    const variant = this.#variantOf(isSmall ? "identity" : codingFor(request));
    if (isUnchanged(request, variant.etag)) {
      const { cacheControl, lastLines } = this.#head;
      const lines = `304 Not Modified\r\n${validatorLines(variant.etag, cacheControl)}${lastLines}`;
      const absentBytes = variant.body.length;
      return { status: 304, head: `${lines}${remaining}`, body: undefined, absentBytes };
    }
    const head = this.#isKept ? variant.head.with(remaining) : variant.head.once(remaining);
    const isOverwritten = !this.#isKept && variant.body === this.#body;
    return { status: 200, head, body: variant.body, isOverwritten };
  }

  #variantOf(coding: Coding): Variant {
    let variant = this.#variants[coding];
    if (variant === undefined) {
      const isWhole = coding === "identity";
      const etag = isWhole ? `"${this.#head.tag}"` : `"${this.#head.tag}-${coding}"`;
      const body = isWhole ? this.#body : compress(this.#body, coding);
      const encoding = isWhole ? "" : `\r\nContent-Encoding: ${coding}`;
      const { cacheControl, lastLines } = this.#head;
      variant = { etag, body, head: new Head(`${okLines(etag, cacheControl)}${encoding}${lastLines}`) };
      this.#variants[coding] = variant;
    }
    return variant;
  }
}
