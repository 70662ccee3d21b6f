import { codedPoints } from "./scoring.ts";

/** Keeps the `wanted` documents with the most points. If points are equal, the first documents by name are kept. */
export class Best {
  readonly wanted: number;
  /** The sorted keys of the best documents so far, followed by the keys of newer documents. */
  readonly #keys: Float64Array;
  #length = 0;
  #worst = Number.POSITIVE_INFINITY;

  constructor(wanted: number) {
    this.wanted = wanted;
    this.#keys = new Float64Array(2 * wanted);
  }

  /** Tells whether `offer` would take a document. @param place rank by name */
  takes(points: number, place: number): boolean {
    return keyOf(points, place) < this.#worst;
  }

  offer(points: number, place: number): void {
    const key = keyOf(points, place);
    if (key >= this.#worst) return;
    this.#keys[this.#length++] = key;
    if (this.#length === this.#keys.length) this.#sort();
  }

  #sort(): Float64Array {
    const sorted = this.#keys.subarray(0, this.#length).sort();
    if (this.#length >= this.wanted) {
      this.#length = this.wanted;
      this.#worst = sorted[this.wanted - 1];
    }
    return sorted.subarray(0, this.#length);
  }

  /** Returns the documents from `offset` on, best first. `place` is the rank by name. */
  from(offset: number): { points: number; place: number }[] {
    return Array.from(this.#sort().subarray(offset), (key) => ({
      points: codedPoints - Math.floor(key / keyPlaces),
      place: key % keyPlaces,
    }));
  }
}

const keyPlaces = 2 ** 32;
const keyOf = (points: number, place: number) => (codedPoints - points) * keyPlaces + place;
