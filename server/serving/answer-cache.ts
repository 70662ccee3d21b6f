import type { Answer } from "./reply.ts";

/** What the answers of one `Prepared` may take together. */
const maxBytes = 8 * 2 ** 20;
/** Requests whose asking is counted, each in the place that its hash gives. */
const counters = 2 ** 14;

/**
 * Answers that a thread keeps, in two generations: a full young one becomes the old one, and of the old one before it
 * only what was asked for since is left.
 */
export class Prepared<Key> {
  #young = new Map<Key, Answer>();
  #old = new Map<Key, Answer>();
  #youngBytes = 0;
  readonly #hashes = new Int32Array(counters);
  readonly #asks = new Uint32Array(counters);

  get(key: Key): Answer | undefined {
    const answer = this.#young.get(key);
    if (answer !== undefined || this.#old.size === 0) return answer;
    const old = this.#old.get(key);
    if (old !== undefined) this.keep(key, old);
    return old;
  }

  /**
   * Counts that a request was asked for, so that its answer is kept when that costs less than making it again. Others
   * that are asked for in between may make it forget.
   *
   * @param hash of the key; two keys of one hash are taken for the same, which only keeps them sooner
   * @returns how often it was asked for
   */
  count(hash: number): number {
    const place = (hash ^ (hash >>> 14)) & (counters - 1);
    if (this.#hashes[place] !== hash) {
      this.#hashes[place] = hash;
      this.#asks[place] = 0;
    }
    return ++this.#asks[place];
  }

  keep(key: Key, answer: Answer): void {
    this.#young.set(key, answer);
    this.#youngBytes += answer.keep() + String(key).length;
    if (this.#youngBytes <= maxBytes / 2) return;
    this.#old = this.#young;
    this.#young = new Map();
    this.#youngBytes = 0;
  }

  clear(): void {
    this.#young.clear();
    this.#old.clear();
    this.#youngBytes = 0;
    this.#asks.fill(0);
  }
}
