import { brotliCompressSync, gzipSync, constants as zlib } from "node:zlib";
import type { WebFile } from "../shared/messages.ts";

/** Content negotiation: content codings, conditional requests and ranges. */

export type Coding = "identity" | "br" | "gzip";

/** Maximum number of Accept-Encoding headers that a thread remembers. */
const maxRemembered = 10_000;
const remembered = new Map<string, Coding>();

/** Returns the best coding by an Accept-Encoding header (RFC 9110, 12.5.3). In a tie, `br` comes first, then `gzip`. */
export function codingOf(accepted: string): Coding {
  let coding = remembered.get(accepted);
  if (coding === undefined) {
    coding = preferred(accepted);
    if (remembered.size >= maxRemembered) remembered.clear();
    remembered.set(accepted, coding);
  }
  return coding;
}

function preferred(accepted: string): Coding {
  const weights = new Map<string, number>();
  for (const part of accepted.toLowerCase().split(",")) {
    const [name, ...parameters] = part.split(";").map((text) => text.trim());
    const weight = parameters.find((text) => text.startsWith("q="));
    const value = weight === undefined ? 1 : Number(weight.slice(2));
    if (name !== "") weights.set(name, Number.isFinite(value) ? value : 0);
  }
  const weightOf = (coding: Coding) => weights.get(coding) ?? weights.get("*") ?? 0;
  const identity = weights.get("identity") ?? 0;
  const best = weightOf("br") >= weightOf("gzip") ? "br" : "gzip";
  return weightOf(best) > 0 && weightOf(best) >= identity ? best : "identity";
}

/** Default compression levels. They are low, because the thread does nothing else while it compresses. */
const [brotliQuality, gzipLevel] = [3, 1];

/** @param quality the quality for brotli */
export function compress(
  body: Uint8Array,
  coding: Exclude<Coding, "identity">,
  quality = brotliQuality,
): Uint8Array<ArrayBuffer> {
  const params = { [zlib.BROTLI_PARAM_QUALITY]: quality, [zlib.BROTLI_PARAM_SIZE_HINT]: body.length };
  const coded =
    coding === "gzip" ? gzipSync(body, { level: gzipLevel }) : brotliCompressSync(body, { params });
  // The bytes are copied, because zlib returns a part of a buffer several times as large.
  return new Uint8Array(coded);
}

/** Whether an If-Match header is `*` or names the ETag (RFC 9110, 13.1.1, strong comparison). */
export function isNamed(condition: string, etag: string): boolean {
  return condition.trim() === "*" || condition.split(",").some((part) => part.trim() === etag);
}

/** Whether an If-None-Match header is `*` or names the ETag (RFC 9110, 13.1.2, weak comparison). */
export function matches(condition: string, etag: string): boolean {
  return condition === etag || isNamed(condition, etag) || isNamed(condition, `W/${etag}`);
}

/**
 * Chooses the form of a web file that a client prefers. The body is undefined if the client has the file already.
 * @param accepted the Accept-Encoding header
 * @param condition the If-None-Match header
 */
export function formOf(
  { head, bodies, etag }: WebFile,
  accepted: string,
  condition: string,
): { head: string; body: Uint8Array | undefined } {
  const coding = codingOf(accepted);
  const body = bodies[coding];
  return body === undefined
    ? codedForm({ head, body: bodies.identity, etag }, "identity", condition)
    : codedForm({ head, body, etag }, coding, condition);
}

/** Like `formOf`, for a body that is already in the given coding. */
export function codedForm(
  { head, body, etag }: Pick<WebFile, "head" | "etag"> & { body: Uint8Array },
  coding: Coding,
  condition: string,
): { head: string; body: Uint8Array | undefined } {
  const isCoded = coding !== "identity";
  const tag = isCoded ? `"${etag.slice(1, -1)}-${coding}"` : etag;
  const lines = `${head}\r\nETag: ${tag}`;
  if (condition !== "" && matches(condition, tag)) return { head: lines, body: undefined };
  return { head: isCoded ? `${lines}\r\nContent-Encoding: ${coding}` : lines, body };
}

/**
 * Reads a Range header (RFC 9110, 14.2). Returns the position of the first byte and the position after the last byte; null
 * if the range begins after the file's end, or is the last 0 bytes. Returns undefined if the whole file is to be sent,
 * because the header is empty, names several ranges, or isn't a valid range of bytes.
 */
export function rangeOf(header: string, size: number): [start: number, end: number] | null | undefined {
  const [, first, last] = /^bytes=\s*(\d*)-(\d*)\s*$/i.exec(header) ?? ["", "", ""];
  if (first === "" && last === "") return undefined;
  if (first === "") return Number(last) === 0 ? null : [Math.max(0, size - Number(last)), size];
  if (last !== "" && Number(last) < Number(first)) return undefined;
  if (Number(first) >= size) return null;
  return [Number(first), last === "" ? size : Math.min(size, Number(last) + 1)];
}
