import { type Image, imageFormatVersion } from "../../engine/query.ts";
import type { Keyed } from "../api/endpoint.ts";
import { AnswerCache, AskCounter } from "./answer-cache.ts";
import { Answer, Head, headerNames, okLines, type Reply, type RequestHead } from "./reply.ts";

/** Replies to the common queries of an endpoint, which are one number each. */

/**
 * How often a query is asked for until its answer is kept: an answer is made in a microsecond, and keeping one costs more.
 * With 2 a request cost 1.16 times as much CPU under a uniform load, and 1.18 times under a Zipf mix.
 */
const asksToKeep = 64;
/** The same where it is compressed. */
const asksToKeepCoded = 2;
const hexDigits = Buffer.from("0123456789abcdef");
const tagDigits = 8;

/** The text of the ETag of an answer to a key: as long for all keys, so that it can be changed in place. */
export function tagOfKey(image: Image, key: number): string {
  return `${tagStart(image)}${key.toString(16).padStart(tagDigits, "0")}`;
}

/** What the ETags of a data version begin with. */
export function tagStart(image: Image): string {
  return `${image.description.sha256.slice(0, 16)}-${imageFormatVersion}-`;
}

/** Answers to the common queries of one endpoint, from the current data, as long as that and the month stay the same. */
export class KeyedAnswers {
  readonly #keyed: Keyed;
  readonly #image: Image;
  readonly #scratch: Buffer;
  readonly #cacheControl: string;
  readonly #resetLines: string;
  readonly #kept = new AnswerCache<number>();
  readonly #asks = new AskCounter();
  /** One for all answers that aren't kept. */
  readonly #head: Head;
  readonly #tagEnd: number;

  constructor(keyed: Keyed, image: Image, scratch: Buffer, cacheControl: string, resetLines: string) {
    this.#keyed = keyed;
    this.#image = image;
    this.#scratch = scratch;
    this.#cacheControl = cacheControl;
    this.#resetLines = resetLines;
    const lines = okLines(`"${tagOfKey(image, 0)}"`, cacheControl);
    this.#head = new Head(lines + resetLines);
    this.#tagEnd = lines.indexOf('"\r\n');
  }

  /** @returns undefined for a query that isn't a common one */
  reply(request: RequestHead, query: string, remaining: number): Reply | undefined {
    const key = this.#keyed.read(this.#image, query);
    if (key < 0) return undefined;
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept.replyTo(request, remaining);
    const body = this.#keyed.answer(this.#image, key, this.#scratch);
    const asked = this.#asks.count(key);
    const isPlain =
      request.getHeader(headerNames.acceptEncoding) === "" &&
      request.getHeader(headerNames.ifNoneMatch) === "";
    if (isPlain && asked < asksToKeep) return { status: 200, head: this.#headOf(key, remaining), body };
    const head = {
      tag: tagOfKey(this.#image, key),
      cacheControl: this.#cacheControl,
      resetLines: this.#resetLines,
    };
    if (asked < asksToKeepCoded) return Answer.borrowed(head, body).replyTo(request, remaining);
    const answer = Answer.keptCopy(head, body);
    this.#kept.keep(key, answer);
    return answer.replyTo(request, remaining);
  }

  /** Its ETag is changed in place: a head that is put together is encoded again for each request. */
  #headOf(key: number, remaining: number): Uint8Array {
    const head = this.#head.with(remaining);
    for (let at = this.#tagEnd - 1, rest = key; at >= this.#tagEnd - tagDigits; at--, rest >>>= 4)
      head[at] = hexDigits[rest & 15];
    return head;
  }
}
