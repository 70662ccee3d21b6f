import { hash } from "node:crypto";
import { brotliCompressSync, gzipSync, constants as zlib } from "node:zlib";
import { kept } from "../strip-cache.js";
import type { WebFile } from "./messages.ts";

/** Prepares a file for browsers: compressed, in shared memory. */

/** Bytes below which a file isn't compressed. */
const minCodedBytes = 1024;
/** Brotli's quality: the best one takes half a second longer and saves a twentieth. */
const brotliQuality = 7;

const security = [
  "X-Content-Type-Options: nosniff",
  "Referrer-Policy: same-origin",
  "Cross-Origin-Opener-Policy: same-origin",
];

/** Whether the path changes with the content, or stays. */
type Lifetime = "immutable" | "changing";

/** @param headers further header lines */
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
  const name = hash("sha256", body, "base64url");
  const file: WebFile = { path, head, bodies: { identity: shared(body) }, etag: `"${name.slice(0, 22)}"` };
  if (body.length < minCodedBytes) return file;
  for (const [coding, code] of codings) {
    const make = () => code(body);
    // A page carries another key after each start.
    file.bodies[coding] = shared(lifetime === "immutable" ? kept(`${name}.${coding}`, make) : make());
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
    [zlib.BROTLI_PARAM_SIZE_HINT]: body.length,
  };
  return brotliCompressSync(body, { params });
}

function shared(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
  copy.set(bytes);
  return copy;
}
