import { crc32 } from "node:zlib";
import { type Image, versionName } from "../engine/query.ts";

/** Where a page starts: opaque to clients, bound to one data version and its content. */
interface Cursor {
  version: string;
  /** The start of the data's checksum. */
  content: string;
  /** Which endpoint's list. */
  list: string;
  offset: number;
  /** The endpoint's parameters, as in a request. */
  query: string;
}

const checkBytes = 4;
const pattern = /^(\d+\.\d+)~([0-9a-f]{8})~([a-z]+)~([1-9]\d{0,14})~([\w.*+%&=-]*)$/;

/** What a cursor calls the content of an image. */
export function contentOf(image: Image): string {
  return image.describe.sha256.slice(0, 8);
}

/** @param query percent-encoded, so that it is ASCII and has no `~` */
export function encodeCursor(image: Image, list: string, offset: number, query: string): string {
  const version = versionName(image.describe.provenance);
  const text = `${version}~${contentOf(image)}~${list}~${offset}~${query}`;
  const bytes = Buffer.allocUnsafe(text.length + checkBytes);
  bytes.write(text, "latin1");
  bytes.writeUInt32LE(crc32(text), text.length);
  return bytes.toString("base64url");
}

/** @returns undefined when it isn't a cursor of ours, to the letter */
export function decodeCursor(cursor: string): Cursor | undefined {
  const bytes = Buffer.from(cursor, "base64url");
  if (bytes.length < checkBytes || bytes.toString("base64url") !== cursor) return undefined;
  const text = bytes.toString("latin1", 0, bytes.length - checkBytes);
  const found = pattern.exec(text);
  if (found === null || crc32(text) !== bytes.readUInt32LE(text.length)) return undefined;
  const [, version, content, list, offset, query] = found;
  return { version, content, list, offset: Number(offset), query };
}
