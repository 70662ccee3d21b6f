import assert from "node:assert/strict";
import { headerNames, type Reply, type RequestHead } from "../server/answer.ts";
import type { Service } from "../server/service.ts";

/** Asks a service without an HTTP server. */

/** A reply as a client reads it. */
export interface Told {
  status: number;
  remaining: number;
  reset: number;
  /** As it was sent; undefined where the header is absent. */
  retryAfter: string | undefined;
  etag: string | undefined;
  body: string;
}

/** GET with a key and no other header. @param query undefined where the target has no `?` */
export function ask(service: Service, key: string, path: string, query: () => string | undefined): Told {
  const request: RequestHead = {
    getUrl: () => path,
    getQuery: query,
    getHeader: (name) => (name === headerNames.authorization ? `Bearer ${key}` : ""),
  };
  return read(service.answer(request, "GET", false));
}

function read({ head, body }: Reply): Told {
  const [status, ...lines] = Buffer.from(head).toString("latin1").split("\r\n");
  const headers = new Map(lines.map((line) => line.split(": ", 2) as [string, string]));
  assert.equal(headers.size, lines.length, `a header twice: ${lines.join("; ")}`);
  return {
    status: Number.parseInt(status, 10),
    remaining: Number(headers.get("X-RateLimit-Remaining")),
    reset: Number(headers.get("X-RateLimit-Reset")),
    retryAfter: headers.get("Retry-After"),
    etag: headers.get("ETag"),
    body: Buffer.from(body ?? []).toString("utf8"),
  };
}
