import { hash } from "node:crypto";
import { type Image, imageFormatVersion } from "../../engine/query.ts";
import { Context, FileBody, type Keyed, type Versions } from "../api/endpoint.ts";
import { constantError } from "../api/errors.ts";
import type { Usage } from "../api/responses.ts";
import { decodeTarget, keyedPaths, resolve, type Target } from "../api/routes.ts";
import { findVersion } from "../api/years.ts";
import { AnswerCache, AskCounter } from "./answer-cache.ts";
import { Answer, fileReply, Head, headerNames, okLines, type Reply, type RequestHead } from "./reply.ts";

/** Makes the answers to admitted requests, and keeps frequent answers. */

/**
 * Number of requests without Accept-Encoding and If-None-Match for a price query until its answer is kept. For such a
 * request, making the answer costs less than keeping it. If a request has one of these headers, its answer is kept at once.
 */
const keyedAsksToKeep = 64;
/** Bytes of the buffer in which answers are made. A new buffer for each answer would cost more than the answer. */
const scratchBytes = 64 * 2 ** 10;

/** Cache-Control for answers that may change. */
const current = "private, no-cache";
/** Cache-Control for answers from exact data versions, which the request names. */
const immutable = "private, max-age=31536000, immutable";

const hexDigits = Buffer.from("0123456789abcdef");
const tagDigits = 8;

export class Answers {
  readonly #usage: (slot: number) => Usage;
  readonly #scratch = Buffer.alloc(scratchBytes);
  /** Kept answers, by the query's number, or by path and query if the query isn't read as a number. */
  readonly #kept = new AnswerCache<number | string, Answer>();
  readonly #asks = new AskCounter();
  #versions: Versions;
  #lastLines = "";
  #keyedHead: Head | undefined;
  /** The position of the ETag's closing quote in `#keyedHead`. */
  #tagEnd = 0;

  constructor(versions: Versions, usage: (slot: number) => Usage) {
    this.#versions = versions;
    this.#usage = usage;
  }

  publish(versions: Versions): void {
    this.#versions = versions;
    this.#forget();
  }

  /** Sets the header lines with the month's end for all further replies, and forgets the kept answers. */
  enterMonth(lastLines: string): void {
    this.#lastLines = lastLines;
    this.#forget();
  }

  #forget(): void {
    this.#kept.clear();
    this.#asks.clear();
    this.#keyedHead = undefined;
  }

  /** Answers a request that has no account. @param path undecoded @throws ApiError */
  read(path: string, query: string): object {
    const target = decodeTarget(resolve(path));
    const context = this.#contextOf(target, () => {
      throw constantError("missing_api_key");
    });
    const answer = target.endpoint.value(context, query);
    if (answer instanceof Uint8Array || answer instanceof FileBody)
      throw new Error(`${path} answers with bytes, expected an object`);
    return answer;
  }

  /** Answers an admitted request. @param path undecoded @param remaining requests left this month @throws ApiError */
  reply(request: RequestHead, path: string, method: string, slot: number, remaining: number): Reply {
    const query = request.getQuery() ?? "";
    const keyed = keyedPaths.get(path);
    const key = keyed === undefined ? -1 : keyed.read(this.#versions.images[0], query);
    if (keyed !== undefined && key >= 0) return this.#replyToKey(keyed, key, request, remaining);
    const asked = `${path}?${query}`;
    const kept = this.#kept.get(asked);
    if (kept !== undefined) return kept.replyTo(request, remaining);
    const target = decodeTarget(resolve(path));
    const context = this.#contextOf(target, () => this.#usage(slot));
    const body = target.endpoint.answer(context, query);
    const isFile = !(body instanceof Uint8Array);
    const isTagged = isFile || target.endpoint.kind === "versioned";
    // A snapshot with the same content may be compressed anew. So its file has the ETag of its bytes, and isn't
    // immutable.
    const signature = isFile ? body.signature : undefined;
    const isFixed = signature === undefined && (context.isPinned ?? isImmutable(this.#versions, target));
    const head = {
      tag: signature ?? (isTagged ? requestTag(context.image, target, query) : digest(body)),
      cacheControl: isFixed ? immutable : current,
      lastLines: this.#lastLines,
    };
    if (isFile) {
      const type = target.endpoint.fileType ?? "";
      return fileReply(head, body, type, request, slot, remaining, method === "GET");
    }
    // An answer with the account's state isn't kept, because it may differ with every request.
    const isKept = !context.isLive;
    const answer = new Answer(head, body, isKept);
    if (isKept) this.#kept.keep(asked, answer);
    return answer.replyTo(request, remaining);
  }

  #contextOf({ segment, version }: Target, usage: () => Usage): Context {
    const versions = this.#versions;
    return new Context(versions, segment, this.#scratch, usage, () => findVersion(versions, version));
  }

  #replyToKey(keyed: Keyed, key: number, request: RequestHead, remaining: number): Reply {
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept.replyTo(request, remaining);
    const image = this.#versions.images[0];
    const body = keyed.answer(image, key, this.#scratch);
    const isPlain =
      request.getHeader(headerNames.acceptEncoding) === "" &&
      request.getHeader(headerNames.ifNoneMatch) === "";
    if (isPlain && this.#asks.count(key) < keyedAsksToKeep)
      return { status: 200, head: this.#headOf(image, key, remaining), body, isOverwritten: true };
    const head = { tag: tagOfKey(image, key), cacheControl: current, lastLines: this.#lastLines };
    const answer = new Answer(head, body, true);
    this.#kept.keep(key, answer);
    return answer.replyTo(request, remaining);
  }

  /**
   * Makes the head of an answer that isn't kept. The ETag is changed in place, because encoding a new text for each
   * request would cost more.
   */
  #headOf(image: Image, key: number, remaining: number): Uint8Array {
    if (this.#keyedHead === undefined) {
      const lines = okLines(`"${tagOfKey(image, 0)}"`, current);
      this.#keyedHead = new Head(lines + this.#lastLines);
      this.#tagEnd = lines.indexOf('"\r\n');
    }
    const head = this.#keyedHead.with(remaining);
    for (let at = this.#tagEnd - 1, rest = key; at >= this.#tagEnd - tagDigits; at--, rest >>>= 4)
      head[at] = hexDigits[rest & 15];
    return head;
  }
}

function isImmutable({ byName }: Versions, { endpoint, version }: Target): boolean {
  return endpoint.kind === "page" || (version !== null && byName.has(version));
}

/** Returns the ETag's text, made from the request and the data version. */
function requestTag(image: Image, { endpoint, segment }: Target, query: string): string {
  const key = endpoint.keyed?.read(image, query) ?? -1;
  if (key >= 0) return tagOfKey(image, key);
  const request = `${endpoint.path}${segment}?${query}`;
  const isShort = /^[!#-+\--~]{0,80}$/.test(request);
  return `${tagStart(image)}${isShort ? request : digest(request)}`;
}

/**
 * Returns the ETag's text for a query that is read as a number. Its length is constant, so that it can be changed in
 * place.
 */
function tagOfKey(image: Image, key: number): string {
  return `${tagStart(image)}${key.toString(16).padStart(tagDigits, "0")}`;
}

function tagStart(image: Image): string {
  return `${image.description.sha256.slice(0, 16)}-${imageFormatVersion}-`;
}

function digest(content: string | Uint8Array): string {
  return hash("sha256", content, "base64url");
}
