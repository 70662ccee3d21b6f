import { hash } from "node:crypto";
import { brotliCompressSync, gzipSync, constants as zlib } from "node:zlib";
import { kept } from "../strip-cache.js";
import type { WebFile } from "./messages.ts";

/** Makes web files in shared memory, with their compressed forms. */

const minCodedBytes = 1024;
/** The best quality would take a second longer for all files together, and make them 7 % smaller. */
const brotliQuality = 7;
const maxWindowBits = zlib.BROTLI_DEFAULT_WINDOW;

const security = [
  "X-Content-Type-Options: nosniff",
  "Referrer-Policy: same-origin",
  "Cross-Origin-Opener-Policy: same-origin",
];

/** @param lifetime whether the content of the path ever changes @param headers further header lines */
export function webFile(
  path: string,
  type: string,
  content: string | Uint8Array,
  lifetime: "immutable" | "changing",
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
  const name = hash("sha256", body, "base64url");
  const file: WebFile = { path, head, bodies: { identity: shared(body) }, etag: `"${name.slice(0, 22)}"` };
  if (body.length < minCodedBytes) return file;
  for (const [coding, code] of codings) {
    const make = () => code(body);
    // The content of pages may change with each start, so a cache of them would only fill the disk.
    file.bodies[coding] = shared(type.startsWith("text/html") ? make() : kept(`${name}.${coding}`, make));
  }
  return file;
}

const codings = [
  ["br", brotli],
  ["gzip", (body: Buffer) => gzipSync(body)],
] as const;

function brotli(body: Buffer): Buffer {
  const params = {
    [zlib.BROTLI_PARAM_QUALITY]: brotliQuality,
    // The window is no larger than the file needs. The usual window of 4 MB takes most of a small file's time.
    [zlib.BROTLI_PARAM_LGWIN]: Math.min(maxWindowBits, Math.ceil(Math.log2(body.length))),
    [zlib.BROTLI_PARAM_SIZE_HINT]: body.length,
  };
  return brotliCompressSync(body, { params });
}

function shared(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
  copy.set(bytes);
  return copy;
}
