import { utf8 } from "../encode.ts";

/**
 * Writes FlatBuffers, the format of Arrow's messages. Fields with default values are written too, so that lengths don't
 * depend on values.
 */

type Scalar = { size: 1 | 2 | 4 | 8; value: number };
export type Node =
  | { kind: "table"; fields: (Scalar | Node | undefined)[] }
  | { kind: "text"; text: string }
  | { kind: "vector"; items: Node[] }
  /** Structs of two 64-bit numbers each. */
  | { kind: "pairs"; pairs: (readonly [number, number])[] };

export const scalar = (size: Scalar["size"], value: number): Scalar => ({ size, value });
/** @param fields by slot; undefined for an unused slot */
export const table = (...fields: (Scalar | Node | undefined)[]): Node => ({ kind: "table", fields });
export const text = (of: string): Node => ({ kind: "text", text: of });
export const vector = (items: Node[]): Node => ({ kind: "vector", items });
export const pairs = (of: (readonly [number, number])[]): Node => ({ kind: "pairs", pairs: of });

/** Maximum bytes of a message. The longest one, the schema, needs slightly more than half. */
const maxBytes = 4096;

class Writer {
  readonly #bytes = new Uint8Array(maxBytes);
  readonly #view = new DataView(this.#bytes.buffer);
  /** The first four bytes are for the root's offset. */
  #at = 4;

  encode(root: Node): Uint8Array {
    this.#refer(0, root);
    this.#align(8);
    return this.#bytes.subarray(0, this.#at);
  }

  /** Appends a node, and writes its relative offset at `from`. */
  #refer(from: number, node: Node): void {
    const at = this.#place(node);
    this.#view.setUint32(from, at - from, true);
  }

  #place(node: Node): number {
    switch (node.kind) {
      case "table":
        return this.#placeTable(node.fields);
      case "text": {
        const bytes = utf8(node.text);
        const at = this.#placeLength(4, bytes.length);
        // A zero byte ends the text.
        this.#bytes.set(bytes, this.#take(bytes.length + 1));
        return at;
      }
      case "vector": {
        const at = this.#placeLength(4, node.items.length);
        const places = node.items.map(() => this.#take(4));
        for (const [i, item] of node.items.entries()) this.#refer(places[i], item);
        return at;
      }
      case "pairs": {
        const at = this.#placeLength(8, node.pairs.length);
        for (const pair of node.pairs)
          for (const value of pair) this.#view.setBigInt64(this.#take(8), BigInt(value), true);
        return at;
      }
    }
  }

  #placeLength(alignment: number, length: number): number {
    this.#align(alignment, 4);
    const at = this.#take(4);
    this.#view.setUint32(at, length, true);
    return at;
  }

  #placeTable(fields: (Scalar | Node | undefined)[]): number {
    this.#align(2);
    const directory = this.#take(4 + 2 * fields.length);
    this.#align(8, 4);
    const start = this.#take(4);
    this.#view.setInt32(start, start - directory, true);
    const sized = fields.flatMap((field, slot) => (field === undefined ? [] : [{ field, slot, at: 0 }]));
    const sizeOf = (field: Scalar | Node) => ("kind" in field ? 4 : field.size);
    // The widest fields come first, so all are aligned.
    sized.sort((a, b) => sizeOf(b.field) - sizeOf(a.field));
    for (const entry of sized) {
      entry.at = this.#take(sizeOf(entry.field));
      this.#view.setUint16(directory + 4 + 2 * entry.slot, entry.at - start, true);
    }
    this.#view.setUint16(directory, 4 + 2 * fields.length, true);
    this.#view.setUint16(directory + 2, this.#at - start, true);
    for (const { field, at } of sized) {
      if ("kind" in field) this.#refer(at, field);
      else if (field.size === 8) this.#view.setBigInt64(at, BigInt(field.value), true);
      else if (field.size === 4) this.#view.setInt32(at, field.value, true);
      else if (field.size === 2) this.#view.setInt16(at, field.value, true);
      else this.#view.setUint8(at, field.value);
    }
    return start;
  }

  /** Skips bytes until the position `ahead` bytes from here is a multiple of the alignment. */
  #align(alignment: number, ahead = 0): void {
    this.#take((alignment - ((this.#at + ahead) % alignment)) % alignment);
  }

  #take(length: number): number {
    const start = this.#at;
    this.#at += length;
    return start;
  }
}

/** The bytes of a FlatBuffer, padded to a multiple of 8. */
export const encodeFlatbuffer = (root: Node): Uint8Array => new Writer().encode(root);
