import { crc32 } from "node:zlib";
import * as v from "valibot";
import { type Image, versionName } from "../engine/query.ts";

/** Where a page starts: opaque to clients, bound to one data version and its content. */
interface Cursor {
  version: string;
  /** The start of the data's checksum. */
  content: string;
  /** Which endpoint's list. */
  list: string;
  offset: number;
  /** The endpoint's parameters, as in a query. */
  values: Record<string, string>;
}

const format = 1;
const checkLength = 7;
const schema = v.strictTuple([
  v.literal(format),
  v.string(),
  v.string(),
  v.string(),
  v.pipe(v.number(), v.safeInteger(), v.minValue(1)),
  v.record(v.string(), v.string()),
]);

/** What a cursor calls the content of an image. */
export function contentOf(image: Image): string {
  return image.describe.sha256.slice(0, 8);
}

export function encodeCursor(image: Image, list: string, offset: number, values: Cursor["values"]): string {
  const version = versionName(image.describe.provenance);
  const fields: v.InferOutput<typeof schema> = [format, version, contentOf(image), list, offset, values];
  const bytes = Buffer.from(JSON.stringify(fields));
  return bytes.toString("base64url") + check(bytes);
}

/** @returns undefined when it isn't a cursor of ours, to the letter */
export function decodeCursor(cursor: string): Cursor | undefined {
  const bytes = Buffer.from(cursor.slice(0, -checkLength), "base64url");
  if (bytes.toString("base64url") + check(bytes) !== cursor) return undefined;
  let fields: unknown;
  try {
    fields = JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
  const parsed = v.safeParse(schema, fields);
  if (!parsed.success) return undefined;
  const [, version, content, list, offset, values] = parsed.output;
  return { version, content, list, offset, values };
}

function check(bytes: Buffer): string {
  return crc32(bytes).toString(36).padStart(checkLength, "0");
}
