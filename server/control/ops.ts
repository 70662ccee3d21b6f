import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { isIP } from "node:net";
import { type OperatorConsole, streamPath } from "../console/console.ts";
import { formOf } from "../serving/negotiation.ts";
import type { WebFile } from "../shared/messages.ts";
import type { Metrics } from "../shared/metrics.ts";
import { http } from "../shared/runtime.ts";

/** Answers the operator: whether the process lives, whether it serves, its metrics, and the console. */

const maxConnections = 128;
/** A connection on which no request comes whole in this time is closed: so many of them could take all places. */
const maxRequestMs = 2000;
const restsMs = 5000;

/**
 * The operator's listener: `/livez` while the process runs, `/readyz` while it serves, `/metrics` for Prometheus, and
 * the console at `/`. No keys; not for the public.
 *
 * @param operatorConsole absent until there is something to show
 * @param allowedHosts names by which browsers may ask for the console, beside localhost and IP addresses
 */
export function opsServer(
  isReady: () => boolean,
  metrics: Metrics,
  operatorConsole: () => OperatorConsole | undefined,
  allowedHosts: readonly string[],
): Server {
  const times = {
    headersTimeout: maxRequestMs,
    requestTimeout: maxRequestMs,
    keepAliveTimeout: restsMs,
    connectionsCheckingInterval: maxRequestMs / 4,
  };
  const server = http.createServer(times, async (request, response) => {
    const reply = (status: number, text: string, type = "text/plain; charset=utf-8") => {
      response.writeHead(status, { "Content-Type": type, "Cache-Control": "no-store" });
      response.end(text);
    };
    const path = request.url?.split("?", 1)[0] ?? "";
    switch (path) {
      case "/livez":
        return reply(200, "ok\n");
      case "/readyz":
        return isReady() ? reply(200, "ready\n") : reply(503, "not ready\n");
      case "/metrics":
        return reply(200, await metrics.text(), metrics.contentType);
    }
    if (path !== "/" && !path.startsWith("/console/"))
      return reply(404, "not found: there are /, /livez, /readyz and /metrics\n");
    if (request.method !== "GET" && request.method !== "HEAD")
      return reply(405, "only GET and HEAD are allowed\n");
    const stranger = strangerOf(request, allowedHosts);
    if (stranger !== undefined)
      return reply(403, `the host ${stranger} isn't allowed here: name it in OPS_ALLOWED_HOSTS\n`);
    const shown = operatorConsole();
    if (shown === undefined) return reply(503, "starting\n");
    if (path === streamPath)
      return request.method === "HEAD" ? reply(200, "", "text/event-stream") : shown.stream(response);
    const file = shown.file(path);
    return file === undefined ? reply(404, "not found\n") : send(request, response, file);
  });
  // Of the descriptors that are kept back from clients.
  server.maxConnections = maxConnections;
  return server;
}

/**
 * The host that a request is for, or that of a page elsewhere that sent it, if it isn't allowed: a page may have a name
 * of its own that leads here. An IP address can't be such a name.
 */
function strangerOf({ headers }: IncomingMessage, allowedHosts: readonly string[]): string | undefined {
  const { host = "", origin } = headers;
  const name = host
    .replace(/:\d+$/, "")
    .replace(/^\[(.*)\]$/, "$1")
    .toLowerCase();
  if (name !== "localhost" && isIP(name) === 0 && !allowedHosts.includes(name)) return name;
  if (origin !== undefined && origin.replace(/^https?:\/\//, "") !== host.toLowerCase()) return origin;
  // A link that somebody follows is none of another page's requests.
  const isForeign = headers["sec-fetch-site"] === "cross-site" && headers["sec-fetch-mode"] !== "navigate";
  return isForeign ? "of another page" : undefined;
}

function send({ method, headers }: IncomingMessage, response: ServerResponse, file: WebFile): void {
  const accepted = headers["accept-encoding"]?.toString() ?? "";
  const { head, body } = formOf(file, accepted, headers["if-none-match"] ?? "");
  for (const line of head.split("\r\n")) {
    const [name] = line.split(": ", 1);
    response.setHeader(name, line.slice(name.length + 2));
  }
  if (body === undefined) {
    response.writeHead(304).end();
    return;
  }
  response.writeHead(200, { "Content-Length": body.length });
  response.end(method === "HEAD" ? undefined : body);
}
