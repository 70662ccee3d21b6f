/*
 * The footer of a Parquet file, as far as it has to be known before anything else of the file is read. The readers at
 * hand trust it: a list's length is allocated as it stands there, so that 33 hostile bytes can cost gigabytes.
 * Here every length is held against the bytes that are left. Thrift compact protocol, parquet-format 2.
 */

export interface ParquetFooter {
  rows: number;
  /** Rows of each row group. */
  groupRows: number[];
  /** Of all columns together, without their compression. */
  decodedBytes: number;
  metadata: Map<string, string>;
}

/** Far above the footer of the largest snapshot. */
const maxFooterBytes = 2 ** 18;
const maxDepth = 16;
const magic = "PAR1";

type Struct = Map<number, Value>;
type Value = number | boolean | string | Value[] | Struct;

/**
 * @param bytes the whole file
 * @throws Error, in its own few words, when it is no footer of a Parquet file
 */
export function readParquetFooter(bytes: Uint8Array): ParquetFooter {
  const text = (start: number, end: number) => Buffer.from(bytes.subarray(start, end)).toString("latin1");
  if (bytes.length < 12 || text(0, 4) !== magic || text(bytes.length - 4, bytes.length) !== magic)
    throw new Error("no PAR1 at both ends");
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(bytes.length - 8, true);
  if (length > bytes.length - 12 || length > maxFooterBytes) throw new Error(`a footer of ${length} bytes`);
  const end = bytes.length - 8;
  const footer = new ThriftReader(bytes.subarray(end - length, end)).struct(0);

  const groups = list(footer.get(4)).map(struct);
  let decodedBytes = 0;
  for (const group of groups)
    for (const column of list(group.get(1))) decodedBytes += count(struct(struct(column).get(3)).get(6));
  const metadata = new Map<string, string>();
  for (const pair of list(footer.get(5)).map(struct)) {
    const [key, value] = [pair.get(1), pair.get(2)];
    if (typeof key === "string" && typeof value === "string") metadata.set(key, value);
  }
  return {
    rows: count(footer.get(3)),
    groupRows: groups.map((group) => count(group.get(3))),
    decodedBytes,
    metadata,
  };
}

function list(value: Value | undefined): Value[] {
  if (!Array.isArray(value)) throw new Error("a list is missing");
  return value;
}

function struct(value: Value | undefined): Struct {
  if (!(value instanceof Map)) throw new Error("a structure is missing");
  return value;
}

function count(value: Value | undefined): number {
  if (typeof value !== "number" || value < 0) throw new Error("a count is missing");
  return value;
}

class ThriftReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  struct(depth: number): Struct {
    if (depth > maxDepth) throw new Error("structures too deep");
    const fields: Struct = new Map();
    let id = 0;
    for (;;) {
      const header = this.#byte();
      if (header === 0) return fields;
      id = header >> 4 === 0 ? this.#integer() : id + (header >> 4);
      const type = header & 15;
      // A boolean field's value is its type.
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
        // Every element takes a byte at least.
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
      if (value > Number.MAX_SAFE_INTEGER) throw new Error("a number beyond 2^53");
      if (byte < 128) return value;
    }
  }

  /** Zigzag: 0, −1, 1, −2, … */
  #integer(): number {
    const coded = this.#varint();
    return coded % 2 === 0 ? coded / 2 : -(coded + 1) / 2;
  }
}
