import { headerName, listIn, type Reply, type RequestHead } from "./reply.ts";
import type { Respond } from "./responder.ts";

/** Allows pages of other origins to read the API's answers (CORS). */

const originHeader = headerName("origin");
const preflightHeader = headerName("access-control-request-method");

/** The documented headers that browsers would hide from a script of another origin. */
const exposed =
  "Accept-Ranges, Allow, Content-Disposition, Content-Encoding, Content-Range, ETag, Retry-After, Vary, WWW-Authenticate, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id";
/**
 * Request headers that scripts may want to set. The answer to a preflight also allows up to `maxAskedNames` headers
 * that the preflight asks for, because tracing tools add headers of their own.
 */
const readHeaders = ["Authorization", "If-Match", "If-None-Match", "If-Range", "Range"];
/** A header's name (RFC 9110, 5.1), of at most 64 characters. */
const namePattern = /^[\w!#$%&'*+.^`|~-]{1,64}$/;
const maxAskedNames = 32;

/**
 * Answers preflights of allowed origins, without key and quota. Adds the CORS headers to other replies to pages of
 * these origins.
 * @param origins the allowed origins; `*` for all
 */
export function withCors(respond: Respond, origins: readonly string[]): Respond {
  const isAllowed = (origin: string) => origins.includes("*") || origins.includes(origin);
  return (request, path, method, hasBody) => {
    const origin = request.getHeader(originHeader);
    const isFromPage = origin !== "" && isAllowed(origin);
    if (method === "OPTIONS" && isFromPage && request.getHeader(preflightHeader) !== "")
      return preflight(origin, request);
    const reply = respond(request, path, method, hasBody);
    const head = varied(reply);
    if (!isFromPage) return { ...reply, head };
    return { ...reply, head: `${head}\r\n${allowing(origin)}\r\nAccess-Control-Expose-Headers: ${exposed}` };
  };
}

/** Adds Origin to Vary, because a reply without CORS headers depends on the origin, too. */
function varied({ head }: Reply): string {
  const text = typeof head === "string" ? head : Buffer.from(head).toString("latin1");
  return text.includes("\r\nVary: ")
    ? text.replace("\r\nVary: ", "\r\nVary: Origin, ")
    : `${text}\r\nVary: Origin`;
}

function allowing(origin: string): string {
  return `Access-Control-Allow-Origin: ${origin}`;
}

function preflight(origin: string, request: RequestHead): Reply {
  const asked = listIn(request, "access-control-request-headers").split(",");
  const names = asked.map((name) => name.trim()).filter((name) => namePattern.test(name));
  const lines = [
    "204 No Content",
    allowing(origin),
    "Access-Control-Allow-Methods: GET, HEAD",
    `Access-Control-Allow-Headers: ${[...readHeaders, ...names.slice(0, maxAskedNames)].join(", ")}`,
    "Access-Control-Max-Age: 86400",
    "Vary: Origin",
  ];
  return { status: 204, head: lines.join("\r\n"), body: undefined };
}
