import { createServer, type Server } from "node:http";
import type { Metrics } from "../shared/metrics.ts";

/** Answers the operator: whether the process lives, whether it serves, and its metrics. */

const maxConnections = 64;

/**
 * The operator's listener: `/livez` while the process runs, `/readyz` while it serves, `/metrics` for Prometheus.
 * No keys; not for the public.
 */
export function opsServer(isReady: () => boolean, metrics: Metrics): Server {
  const server = createServer(async (request, response) => {
    const reply = (status: number, text: string, type = "text/plain; charset=utf-8") => {
      response.writeHead(status, { "Content-Type": type, "Cache-Control": "no-store" });
      response.end(text);
    };
    switch (request.url?.split("?", 1)[0]) {
      case "/livez":
        return reply(200, "ok\n");
      case "/readyz":
        return isReady() ? reply(200, "ready\n") : reply(503, "not ready\n");
      case "/metrics":
        return reply(200, await metrics.text(), metrics.contentType);
      default:
        return reply(404, "not found: there are /livez, /readyz and /metrics\n");
    }
  });
  // Of the descriptors that are kept back from clients.
  server.maxConnections = maxConnections;
  return server;
}
