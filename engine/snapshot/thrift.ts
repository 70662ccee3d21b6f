/*
 * Reads Thrift's compact protocol as far as Parquet uses it. The bytes aren't trusted: every length is checked against
 * the remaining bytes before memory is allocated.
 */

const maxDepth = 16;

/** Field id → value. */
export type Struct = Map<number, Value>;
export type Value = number | boolean | string | Value[] | Struct;

/** Returns a value that must be a list. @throws Error for any other value */
export function listOf(value: Value | undefined): Value[] {
  if (!Array.isArray(value)) throw new Error("a list is missing");
  return value;
}

/** Returns a value that must be a structure. @throws Error for any other value */
export function structOf(value: Value | undefined): Struct {
  if (!(value instanceof Map)) throw new Error("a structure is missing");
  return value;
}

/** Returns a value that must be a number from 0 up. @throws Error for any other value */
export function countOf(value: Value | undefined): number {
  if (typeof value !== "number" || value < 0) throw new Error("a count is missing");
  return value;
}

export class ThriftReader {
  readonly #bytes: Uint8Array;
  #at: number;

  constructor(bytes: Uint8Array, at = 0) {
    this.#bytes = bytes;
    this.#at = at;
  }

  /** The position after the bytes read so far. */
  get at(): number {
    return this.#at;
  }

  /** Reads a structure. @throws Error with a short reason when the bytes are damaged */
  struct(depth = 0): Struct {
    if (depth > maxDepth) throw new Error("structures too deep");
    const fields: Struct = new Map();
    let id = 0;
    for (;;) {
      const header = this.#byte();
      if (header === 0) return fields;
      id = header >> 4 === 0 ? this.#integer() : id + (header >> 4);
      const type = header & 15;
      // A boolean's value is encoded in its type: 1 is true, 2 is false.
      fields.set(id, type === 1 || type === 2 ? type === 1 : this.#value(type, depth));
    }
  }

  #value(type: number, depth: number): Value {
    switch (type) {
      case 1:
      case 2:
      case 3:
        return this.#byte();
      case 4:
      case 5:
      case 6:
        return this.#integer();
      case 7:
        this.#take(8);
        return 0;
      case 8:
        return Buffer.from(this.#take(this.#varint())).toString("utf8");
      case 9: {
        const header = this.#byte();
        const length = header >> 4 === 15 ? this.#varint() : header >> 4;
        // Every element takes at least one byte.
        if (length > this.#bytes.length - this.#at) throw new Error(`a list of ${length}`);
        return Array.from({ length }, () => this.#value(header & 15, depth + 1));
      }
      case 12:
        return this.struct(depth + 1);
      default:
        throw new Error(`a value of type ${type}`);
    }
  }

  #byte(): number {
    return this.#take(1)[0];
  }

  #take(length: number): Uint8Array {
    if (length > this.#bytes.length - this.#at) throw new Error("an early end");
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  #varint(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.#byte();
      value += (byte & 127) * scale;
      // A number could have any number of leading zeros.
      if (value > Number.MAX_SAFE_INTEGER || scale > 2 ** 64) throw new Error("a number beyond 2^53");
      if (byte < 128) return value;
    }
  }

  /** Zigzag encoding: 0, −1, 1, −2, … */
  #integer(): number {
    const coded = this.#varint();
    return coded % 2 === 0 ? coded / 2 : -(coded + 1) / 2;
  }
}
