import { hash } from "node:crypto";
import { brotliCompressSync, gzipSync, constants as zlib } from "node:zlib";
import type { WebFile } from "../shared/messages.ts";

/** Makes a file ready to be sent to browsers: in memory that threads share, in each content coding. */

/** Smaller ones are sent as they are. */
const minCodedBytes = 1024;
/** Half of a second of the best compression would make these files a twentieth smaller. */
const brotliQuality = 7;

const security = [
  "X-Content-Type-Options: nosniff",
  "Referrer-Policy: same-origin",
  "Cross-Origin-Opener-Policy: same-origin",
];

/** Whether a path names the content, or what is there changes. */
export type Lifetime = "immutable" | "changing";

/** @param headers more lines of the head */
export function webFile(
  path: string,
  type: string,
  content: string | Uint8Array,
  lifetime: Lifetime,
  headers: readonly string[] = [],
): WebFile {
  const body = Buffer.from(content);
  const cacheControl = lifetime === "immutable" ? "public, max-age=31536000, immutable" : "no-cache";
  const head = [
    `Content-Type: ${type}`,
    `Cache-Control: ${cacheControl}`,
    "Vary: Accept-Encoding",
    ...security,
    ...headers,
  ].join("\r\n");
  const etag = `"${hash("sha256", body, "base64url").slice(0, 22)}"`;
  const file: WebFile = { path, head, bodies: { identity: shared(body) }, etag };
  if (body.length < minCodedBytes) return file;
  const params = {
    [zlib.BROTLI_PARAM_QUALITY]: brotliQuality,
    [zlib.BROTLI_PARAM_SIZE_HINT]: body.length,
  };
  file.bodies.br = shared(brotliCompressSync(body, { params }));
  file.bodies.gzip = shared(gzipSync(body));
  return file;
}

function shared(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
  copy.set(bytes);
  return copy;
}
