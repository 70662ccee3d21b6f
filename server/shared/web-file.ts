import { hash } from "node:crypto";
import { brotliCompressSync, gzipSync, constants as zlib } from "node:zlib";
import { kept } from "../strip-cache.js";
import type { WebFile } from "./messages.ts";

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
type Lifetime = "immutable" | "changing";

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
  const name = hash("sha256", body, "base64url");
  const file: WebFile = { path, head, bodies: { identity: shared(body) }, etag: `"${name.slice(0, 22)}"` };
  if (body.length < minCodedBytes) return file;
  for (const [coding, code] of codings) {
    const make = () => code(body);
    // A page has a key of its own with each start.
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
