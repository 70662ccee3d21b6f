/** Answers that a thread keeps, so that asking again costs a look-up. */

export type Coding = "identity" | "br" | "gzip";

/** A 200 as it is sent in one content coding. */
export interface Variant {
  etag: string;
  /** What the head says up to the requests left. */
  lines: string;
  body: Uint8Array;
  /** Heads by their number of digits; only what is kept has them. */
  heads: Uint8Array[];
}

/** A 200 in the content codings that were asked for so far. */
export interface Answer {
  tag: string;
  cacheControl: string;
  body: Uint8Array;
  isKept: boolean;
  identity: Variant | undefined;
  br: Variant | undefined;
  gzip: Variant | undefined;
}

/** Path → query → answer: two look-ups cost less than one of a string put together. */
type Generation = Map<string, Map<string, Answer>>;

/** What kept answers may take together, and what one takes beside its bodies. */
const maxBytes = 16 * 2 ** 20;
const overheadBytes = 1024;
/** Requests that a thread remembers to have been asked once, by a hash of their query. */
const maxAskedOnce = 2 ** 14;

/**
 * Keeps answers in two generations: a full young one becomes the old one, and of the old one before it only what was
 * asked for since is left. Of requests asked once, keeping the answer costs more than making it.
 */
export class Prepared {
  #young: Generation = new Map();
  #old: Generation = new Map();
  #youngBytes = 0;
  readonly #askedOnce = new Int32Array(maxAskedOnce);

  get(path: string, query: string): Answer | undefined {
    const answer = this.#young.get(path)?.get(query);
    if (answer !== undefined) return answer;
    const old = this.#old.get(path)?.get(query);
    if (old !== undefined) this.#add(path, query, old);
    return old;
  }

  /** Keeps an answer that is asked for a second time, with a copy of its body. */
  offer(path: string, query: string, answer: Answer): void {
    if (!this.#wasAsked(query)) return;
    answer.body = new Uint8Array(answer.body);
    answer.isKept = true;
    this.#add(path, query, answer);
  }

  /** Counts bytes that a kept answer has grown by. */
  spend(bytes: number): void {
    this.#youngBytes += bytes;
    if (this.#youngBytes <= maxBytes / 2) return;
    this.#old = this.#young;
    this.#young = new Map();
    this.#youngBytes = 0;
  }

  clear(): void {
    this.#young.clear();
    this.#old.clear();
    this.#youngBytes = 0;
    this.#askedOnce.fill(0);
  }

  #add(path: string, query: string, answer: Answer): void {
    let queries = this.#young.get(path);
    if (queries === undefined) {
      queries = new Map();
      this.#young.set(path, queries);
    }
    queries.set(query, answer);
    const { body, br, gzip } = answer;
    const coded = (br?.body.length ?? 0) + (gzip?.body.length ?? 0);
    this.spend(body.length + coded + path.length + query.length + overheadBytes);
  }

  /** Two queries of one hash are taken for the same: then the second is kept at once. */
  #wasAsked(query: string): boolean {
    let hash = 1;
    for (let i = 0; i < query.length; i++) hash = Math.imul(hash ^ query.charCodeAt(i), 0x01000193);
    const place = (hash ^ (hash >>> 15)) & (maxAskedOnce - 1);
    if (this.#askedOnce[place] === hash) return true;
    this.#askedOnce[place] = hash;
    return false;
  }
}

/**
 * A kept variant's head with this many requests left. Its bytes are changed in place and hold until the next one is
 * asked for: a string would be put together and encoded every time.
 */
export function headOf(variant: Variant, remaining: number): Uint8Array {
  let digits = 1;
  for (let bound = 10; bound <= remaining; bound *= 10) digits++;
  let head = variant.heads[digits];
  if (head === undefined) {
    head = Buffer.from(variant.lines + "0".repeat(digits));
    variant.heads[digits] = head;
  }
  let rest = remaining;
  for (let at = head.length - 1; digits > 0; digits--, at--) {
    const next = Math.floor(rest / 10);
    head[at] = 48 + rest - 10 * next;
    rest = next;
  }
  return head;
}
