import { createHash } from "node:crypto";
import { DataError } from "../errors.ts";

/*
 * A file's own checksum. It is checked before anything is parsed, so a file with a checksum is refused if it is damaged
 * anywhere. This includes parts that only readers of `/export.parquet` read.
 *
 * The footer's metadata have the entry `file_sha256`. Its value is the SHA-256 of the file with zeros in place of the
 * value. The entry is found by its bytes: the key and the value's length as the footer encodes them.
 */

export const fileSha256Key = "file_sha256";
const digits = 64;
/** The value of `file_sha256` while the file is hashed. */
export const unsetSha256 = "0".repeat(digits);
/** Before a text, Thrift's compact protocol has this byte and the text's length. */
const textField = 0x18;
const mark = Buffer.concat([
  Buffer.of(textField, fileSha256Key.length),
  Buffer.from(fileSha256Key),
  Buffer.of(textField, digits),
]);

/**
 * Replaces the zeros of `file_sha256` in a new file by the checksum.
 *
 * @throws DataError when another text of the file looks like the entry
 */
export function sealFile(file: Uint8Array): void {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.length);
  const at = bytes.indexOf(mark) + mark.length;
  if (bytes.indexOf(mark, at) >= 0 || bytes.toString("latin1", at, at + digits) !== unsetSha256)
    throw new DataError(fileSha256Key, "its bytes in another text", "texts without control characters");
  bytes.write(sha256With(bytes, at, unsetSha256), at, "latin1");
}

/**
 * Checks the checksum of a file. Returns it, or undefined if the file has none. The caller must still compare it with
 * the metadata, because the bytes may belong to another text.
 *
 * @throws DataError when the file differs from its checksum
 */
export function checkedSha256(file: Uint8Array, subject: string): string | undefined {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.length);
  // The footer is at the file's end, and few texts follow the entry.
  const found = bytes.lastIndexOf(mark);
  if (found < 0) return undefined;
  const at = found + mark.length;
  const stated = bytes.toString("latin1", at, at + digits);
  if (sha256With(bytes, at, unsetSha256) !== stated)
    throw damaged(subject, "other content than its checksum says");
  return stated;
}

export function damaged(subject: string, found: string): DataError {
  return new DataError(
    subject,
    `${found} (it is damaged, or another tool has rewritten it)`,
    "the file as it was written; another tool has to leave out the metadata file_sha256 and schema_version",
  );
}

function sha256With(bytes: Buffer, at: number, value: string): string {
  const hash = createHash("sha256").update(bytes.subarray(0, at)).update(value, "latin1");
  return hash.update(bytes.subarray(at + digits)).digest("hex");
}
