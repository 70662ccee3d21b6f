import { type Image, versionName } from "../../engine/query.ts";
import { basePath } from "./endpoint.ts";

/** The start of a list's page, in a data version with a certain content. Opaque to clients. */
interface Cursor {
  version: string;
  /** The first digits of the data's checksum. */
  content: string;
  list: string;
  offset: number;
  query: string;
}

export const pagesPath = `${basePath}/pages/`;
const pattern = /^(\d+\.\d+)~([0-9a-f]{8})~([a-z]+)~([1-9]\d{0,14})~([\w.*+%&=-]*)$/;
const checkBytes = 4;

export function contentOf(image: Image): string {
  return image.description.sha256.slice(0, 8);
}

const maxBytes = 4096;
const bytes = new Uint8Array(maxBytes + 2);
const path = Buffer.alloc(pagesPath.length + Math.ceil(maxBytes / 3) * 4);
path.write(pagesPath, "latin1");

/**
 * Length and checksum of the text that all cursors of the last used image and list begin with. `of` is the image's
 * description, because the image itself would stay in memory after it is retired.
 */
let start: { of: Image["description"]; list: string; length: number; check: number } | undefined;

function startOf(image: Image, list: string): { length: number; check: number } {
  if (start?.of === image.description && start.list === list) return start;
  const text = `${versionName(image.description.provenance)}~${contentOf(image)}~${list}~`;
  start = { of: image.description, list, length: text.length, check: write(text, 0) };
  return start;
}

/**
 * Makes the path of a page, byte by byte, because strings would take longer. Returns ASCII that is valid until the next
 * call.
 * @param query percent-encoded: ASCII without `~`
 * @throws RangeError when the cursor is too long
 */
export function pathOfPage(image: Image, list: string, offset: number, query: string): Buffer {
  const { length, check } = startOf(image, list);
  const rest = `${offset}~${query}`;
  const textEnd = length + rest.length;
  const end = textEnd + checkBytes;
  if (end > maxBytes) throw new RangeError(`a cursor has ${end} bytes, expected at most ${maxBytes}`);
  const whole = write(rest, length, check);
  for (let i = 0; i < checkBytes; i++) bytes[textEnd + i] = whole >>> (8 * i);
  return path.subarray(0, writeBase64(end));
}

/** Writes text into `bytes`. @returns the checksum of the text, continued from the checksum `before` */
function write(text: string, at: number, before?: number): number {
  for (let i = 0; i < text.length; i++) bytes[at + i] = text.charCodeAt(i);
  return hashOf(text, before);
}

const digits = Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");

/**
 * Writes the first `length` bytes of `bytes` into `path`, as base64url without padding (RFC 4648, 5).
 * @returns the position after the text
 */
function writeBase64(length: number): number {
  let at = pagesPath.length;
  // The bytes after the text are cleared, because the spare bits of the last letter must be zero.
  bytes[length] = 0;
  bytes[length + 1] = 0;
  for (let i = 0; i < length; i += 3) {
    const three = (bytes[i] << 16) | (bytes[i + 1] << 8) | bytes[i + 2];
    path[at] = digits[three >>> 18];
    path[at + 1] = digits[(three >>> 12) & 63];
    path[at + 2] = digits[(three >>> 6) & 63];
    path[at + 3] = digits[three & 63];
    at += 4;
  }
  return pagesPath.length + Math.ceil((length * 4) / 3);
}

/** Returns undefined for a text that isn't a valid cursor. */
export function decodeCursor(cursor: string): Cursor | undefined {
  const decoded = Buffer.from(cursor, "base64url");
  if (decoded.length < checkBytes || decoded.toString("base64url") !== cursor) return undefined;
  const text = decoded.toString("latin1", 0, decoded.length - checkBytes);
  const found = pattern.exec(text);
  if (found === null || hashOf(text) !== decoded.readInt32LE(text.length)) return undefined;
  const [, version, content, list, offset, query] = found;
  return { version, content, list, offset: Number(offset), query };
}

const seed = 0x811c9dc5;
const prime = 0x01000193;

/** Computes a text's 32-bit FNV-1a hash, continued from a previous hash. A change of one character always changes it. */
function hashOf(text: string, before = seed): number {
  let hash = before;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), prime);
  return hash;
}
