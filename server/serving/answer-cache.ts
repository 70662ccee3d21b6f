import type { Answer } from "./reply.ts";

/** Keeps answers within a share of memory, and counts what is asked for. */

/** What the answers that are kept may take together. */
const maxBytes = 8 * 2 ** 20;
/** What an answer takes beside its body. */
const overheadBytes = 1024;
/** Compressed, JSON is less than a quarter of it. */
const bytesPerBodyByte = 1.5;

/**
 * Answers that a thread keeps, in two generations: a full young one becomes the old one, and of the old one before it
 * only what was asked for since is left.
 */
export class AnswerCache<Key extends string | number> {
  #young = new Map<Key, Answer>();
  #old = new Map<Key, Answer>();
  #youngBytes = 0;

  get(request: Key): Answer | undefined {
    const answer = this.#young.get(request);
    if (answer !== undefined || this.#old.size === 0) return answer;
    const old = this.#old.get(request);
    if (old !== undefined) this.keep(request, old);
    return old;
  }

  /** @param answer whose body is its own */
  keep(request: Key, answer: Answer): void {
    this.#young.set(request, answer);
    this.#youngBytes += bytesPerBodyByte * answer.bodyBytes + String(request).length + overheadBytes;
    if (this.#youngBytes <= maxBytes / 2) return;
    this.#old = this.#young;
    this.#young = new Map();
    this.#youngBytes = 0;
  }

  clear(): void {
    this.#young.clear();
    this.#old.clear();
    this.#youngBytes = 0;
  }
}

/** Requests whose asking is counted, each in the place that its hash gives. */
const places = 2 ** 14;

/** Counts how often requests are asked for. Others that are asked for in between may make it forget. */
export class AskCounter {
  readonly #hashes = new Int32Array(places);
  readonly #asks = new Uint32Array(places);

  /**
   * @param hash of the request; two of one hash are taken for the same, which only keeps them sooner
   * @returns how often it was asked for
   */
  count(hash: number): number {
    const place = (hash ^ (hash >>> 14)) & (places - 1);
    if (this.#hashes[place] !== hash) {
      this.#hashes[place] = hash;
      this.#asks[place] = 0;
    }
    return ++this.#asks[place];
  }

  clear(): void {
    this.#asks.fill(0);
  }
}
