import type { Table } from "apache-arrow";
import type { ParquetFile } from "parquet-wasm";
import { DataError, DecoderError, reasonOf } from "../errors.ts";
import { arrow, parquetLibrary } from "./arrow.ts";

/**
 * Opens and reads Parquet files with the library parquet-wasm. Its function `readParquet` ignores `columns`, so this
 * module uses its asynchronous `ParquetFile`, which reads no other column and needn't copy the whole file.
 */

/** A leaf of the file's schema in one row group, as the footer declares it. */
export interface ColumnChunk {
  /** The column's name, and below it the names of the parts of a nested column. */
  path: string[];
  /** Bytes after decompression. */
  bytes: number;
  /** Whether the column is compressed by LZO, which the library knows but can't read. */
  isLzo: boolean;
}

export interface OpenParquet {
  metadata: Map<string, string>;
  groups: { rows: number; columns: ColumnChunk[] }[];
  /**
   * Reads some columns of some row groups into an Arrow table.
   *
   * @param rows the number of rows to read; 0 to get the columns' types alone
   * @param part what is read, for errors
   * @throws DataError when a column can't be read, or what is read can't be decoded
   */
  read(columns: string[], rowGroups: number[], rows: number, part: string): Promise<Table>;
}

/**
 * Cause of a failure to read the footer. The library fails in the same way for damage and for Arrow types that it can't
 * read.
 */
const footerCause =
  "a type of Arrow that the decoder can't read, such as integers of 128 bits or run-end encoding, or damage";
/** Cause of a failure to read rows. A column that is encrypted with the footer's key looks like a damaged column. */
const rowsCause = "damage or encryption";
const codecsExpected =
  "no compression, or snappy, gzip, brotli, lz4 or zstd: write the file again with one of them";

/** Opens a file and reads its footer. @throws DataError when the footer can't be decoded */
export async function openParquet(bytes: Uint8Array, subject: string): Promise<OpenParquet> {
  const open = async () => {
    const file = await parquetLibrary().ParquetFile.fromFile(new BytesBlob(bytes));
    return { file, metadata: new Map(file.schema().metadata()), groups: groupsOf(file) };
  };
  const { file, ...footer } = await orTrap(open).catch((error: unknown) => {
    throw unknownCodec(error, subject) ?? refusalOf(error, `${subject}: footer`, footerCause);
  });
  const isEncrypted = encryption(bytes.subarray(footerStart(bytes)));
  const read: OpenParquet["read"] = async (columns, rowGroups, rows, part) => {
    for (const name of columns) {
      const refuse = (found: string, expected: string) =>
        new DataError(`${subject}: column ${name}`, found, expected);
      if (isEncrypted(name))
        throw refuse("encryption", "a column that isn't encrypted: write the file again without encryption");
      if (
        rowGroups.some((i) => footer.groups[i].columns.some(({ path, isLzo }) => isLzo && path[0] === name))
      )
        throw refuse("compression by LZO", codecsExpected);
    }
    const decode = async () => {
      const table = await file.read({ columns, rowGroups, limit: rows, batchSize: Math.max(1, rows) });
      return arrow.tableFromIPC(table.intoIPCStream());
    };
    return orTrap(decode).catch((error: unknown) => {
      throw refusalOf(error, `${subject}: ${part}`, rowsCause);
    });
  };
  return { ...footer, read };
}

function groupsOf(file: ParquetFile): OpenParquet["groups"] {
  const { LZO } = parquetLibrary().Compression;
  return file
    .metadata()
    .rowGroups()
    .map((group) => ({
      rows: group.numRows(),
      columns: group.columns().map((column) => ({
        path: column.columnPath(),
        bytes: column.uncompressedSize(),
        isLzo: column.compression() === LZO,
      })),
    }));
}

/** Bytes of the footer's length and the magic number, at the file's end. */
export const tailBytes = 8;

export function footerStart(file: Uint8Array): number {
  const end = file.length - tailBytes;
  return end - new DataView(file.buffer, file.byteOffset).getUint32(end, true);
}

/**
 * If a column has a key of its own, these bytes precede its name in Thrift's compact protocol. They stand for the
 * second kind of key, and for a list of one text.
 */
const columnKey = Buffer.of(0x2c, 0x19, 0x18);

/**
 * Returns a function that tells whether a column is encrypted with a key of its own. A file with such a column may have
 * a plain footer, which can be read. The library doesn't support encryption, so the marks of encryption are found by
 * their bytes.
 */
function encryption(footer: Uint8Array): (column: string) => boolean {
  const known = new Map<string, boolean>();
  return (column) => {
    const name = Buffer.from(column);
    const isMarked =
      known.get(column) ??
      Buffer.from(footer.buffer, footer.byteOffset, footer.length).includes(
        Buffer.concat([columnKey, Buffer.of(name.length), name]),
      );
    known.set(column, isMarked);
    return isMarked;
  };
}

/** Converts the library's error about an unknown codec in any column to a DataError; undefined for other errors. */
function unknownCodec(error: unknown, subject: string): DataError | undefined {
  const [, codec] = /Unexpected CompressionCodec (-?\d+)/.exec(reasonOf(error)) ?? [];
  if (codec === undefined) return undefined;
  const found = `a column with the unknown compression codec ${codec}, or damage`;
  return new DataError(`${subject}: footer`, found, codecsExpected);
}

/**
 * Converts any error of the decoder to a DataError.
 *
 * @param cause the likely cause of a failure inside WebAssembly, whose own message says nothing
 */
export function refusalOf(error: unknown, subject: string, cause = "damage"): DataError {
  if (error instanceof DataError) return error;
  const expected = "a readable Parquet file";
  return isTrap(error)
    ? new DecoderError(subject, `${cause} (the decoder failed)`, expected)
    : new DataError(subject, `damage (${reasonOf(error).slice(0, 120)})`, expected);
}

/** Tells whether WebAssembly stopped in the middle: by a trap, or because its stack or memory is exhausted. */
function isTrap(error: unknown): boolean {
  return error instanceof Error && /^(RuntimeError|RangeError)$/.test(error.name);
}

/** One function per running call of `orTrap`; it rejects that call. */
const onTrap = new Set<(error: unknown) => void>();

/**
 * Runs work of the library and returns its result. Damage in a page may make WebAssembly trap in a microtask. Then the
 * library's promise never settles, and the error would end the process. So while the library works, an error in a
 * microtask of this thread rejects the work.
 */
async function orTrap<T>(work: () => Promise<T>): Promise<T> {
  const { promise: trapped, reject } = Promise.withResolvers<never>();
  if (onTrap.size === 0) globalThis.queueMicrotask = watchedMicrotask;
  onTrap.add(reject);
  try {
    return await Promise.race([work(), trapped]);
  } finally {
    onTrap.delete(reject);
    if (onTrap.size === 0) globalThis.queueMicrotask = plainMicrotask;
  }
}

const plainMicrotask = globalThis.queueMicrotask;

function watchedMicrotask(task: () => void): void {
  plainMicrotask(() => {
    try {
      task();
    } catch (error) {
      for (const reject of onTrap) reject(error);
    }
  });
}

/** A blob over bytes that are already in memory. Node's own blobs would copy all bytes. */
class BytesBlob extends Blob {
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    super([]);
    this.#bytes = bytes;
    Object.defineProperty(this, "size", { value: bytes.length });
  }

  override slice(start?: number, end?: number): Blob {
    return new Blob([Uint8Array.from(this.#bytes.subarray(start, end))]);
  }
}
