/** Keeps answers and pages up to a maximum of estimated memory, and counts price queries. */

interface Keepable {
  readonly bodyBytes: number;
}

const maxBytes = 8 * 2 ** 20;
/** Estimated memory of a kept answer without its body and its key. */
const overheadBytes = 1024;
/** Estimated memory per byte of an answer's body: the body, and two compressed forms of a quarter of the body each. */
const bytesPerBodyByte = 1.5;

/**
 * Keeps answers in two generations. When an old answer is requested, it becomes young. When the young generation is
 * full, it becomes the old generation, and the answers of the previous old generation are forgotten.
 */
export class AnswerCache<Key extends string | number, Answer extends Keepable> {
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

  /** Keeps an answer. Its body must not change afterwards. */
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

/** Number of counters. A query's number selects a counter. */
const places = 2 ** 14;

/** Counts the calls of `count` for each price query. A call for another query with the same counter starts anew. */
export class AskCounter {
  readonly #keys = new Int32Array(places);
  readonly #asks = new Uint32Array(places);

  count(key: number): number {
    const place = (key ^ (key >>> 14)) & (places - 1);
    if (this.#keys[place] !== key) {
      this.#keys[place] = key;
      this.#asks[place] = 0;
    }
    return ++this.#asks[place];
  }

  clear(): void {
    this.#asks.fill(0);
  }
}
