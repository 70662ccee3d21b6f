import { once } from "node:events";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { isIP, type Socket } from "node:net";
import { reasonOf } from "../../engine/query.ts";
import type { OpsPages } from "../part.ts";
import { formOf } from "../serving/negotiation.ts";
import type { WebFile } from "../shared/messages.ts";
import type { Metrics } from "../shared/metrics.ts";
import { http } from "../shared/runtime.ts";
import { safely } from "../shared/safely.ts";
import type { Settings } from "../shared/settings.ts";
import { closers, log, metrics } from "./running.ts";
import type { Health } from "./state.ts";

/** Serves liveness, readiness, metrics and a part's pages to the operator. It needs no key, so it mustn't be public. */

const maxConnections = 128;
/** Maximum time for a request to arrive. Without it, slow clients could take all connections. */
const maxRequestMs = 2000;
const keepAliveMs = 5000;
/** Maximum pipelined requests that wait on a connection. A client that sends more is disconnected. */
const maxWaitingRequests = 16;

interface OpsOptions {
  isReady(): boolean;
  lostVersions(): string[];
  metrics: Pick<Metrics, "text" | "contentType">;
  pages(): OpsPages | undefined;
  /** Host names that requests may use besides localhost and IP addresses. */
  allowedHosts: readonly string[];
}

type Answer = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

export function opsServer(options: OpsOptions): Server {
  const times = {
    headersTimeout: maxRequestMs,
    requestTimeout: maxRequestMs,
    keepAliveTimeout: keepAliveMs,
    connectionsCheckingInterval: maxRequestMs / 4,
  };
  const answer: Answer = (request, response) => answerRequest(options, request, response);
  const server = http.createServer(times, oneAtATime(answer));
  // The connections are limited, because they use file descriptors that are reserved for the server itself.
  server.maxConnections = maxConnections;
  return server;
}

export interface Operator {
  port: number;
  /** A part's pages, such as the console; undefined until the server is ready. */
  pages: OpsPages | undefined;
}

/**
 * Starts the operator's listener. The result's `port` is the port in use, even if OPS_PORT is 0.
 * @throws Error when the address can't be listened on
 */
export async function listenOps(settings: Settings, health: Health): Promise<Operator> {
  const { OPS_HOST: host, OPS_PORT: port, OPS_ALLOWED_HOSTS: allowedHosts = [] } = settings;
  const operator: Operator = { port, pages: undefined };
  const server = opsServer({
    isReady: () => health.isFit,
    lostVersions: () => health.lostVersions(),
    ...{ metrics, pages: () => operator.pages, allowedHosts },
  });
  closers.push(() => {
    server.close();
    server.closeAllConnections();
  });
  server.listen(port, host);
  try {
    await once(server, "listening");
  } catch (error) {
    throw new Error(`can't listen on ${host} port ${port} (ops): ${reasonOf(error)}`);
  }
  // An error is, for example, a connection that can't be accepted because too many files are open.
  server.on("error", (error) =>
    log.error({ reason: reasonOf(error) }, "error on the operator's listener; the listener still answers"),
  );
  const address = server.address();
  if (typeof address === "object" && address !== null) operator.port = address.port;
  return operator;
}

/** Answers a connection's requests one at a time, because answering them together would block the thread. */
function oneAtATime(answer: Answer): (request: IncomingMessage, response: ServerResponse) => void {
  const queues = new WeakMap<Socket, [IncomingMessage, ServerResponse][]>();
  return safely(async (request, response) => {
    const { socket } = request;
    const queue = queues.get(socket) ?? [];
    if (socket.destroyed || queue.push([request, response]) > 1 + maxWaitingRequests) {
      socket.destroy();
      return;
    }
    if (queue.length > 1) return;
    queues.set(socket, queue);
    for (; queue.length > 0 && !socket.destroyed; queue.shift()) {
      const [next, itsResponse] = queue[0];
      const closed = new Promise((resolve) => itsResponse.once("close", resolve));
      await answer(next, itsResponse).catch((error) => fail(error, next, itsResponse));
      await closed;
    }
    queues.delete(socket);
  }, fail);
}

function fail(error: unknown, { url }: IncomingMessage, response: ServerResponse): void {
  log.error(
    { path: url?.split("?", 1)[0], reason: reasonOf(error) },
    "a request to the operator's listener failed",
  );
  if (response.headersSent) response.destroy();
  else reply(response, 500, "the server failed to answer: its log says why\n");
}

async function answerRequest(
  { isReady, lostVersions, metrics, pages, allowedHosts }: OpsOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const refused = refusalOf(request, allowedHosts);
  if (refused !== undefined) return reply(response, 403, `${refused}\n`);
  if (request.method !== "GET" && request.method !== "HEAD") {
    response.setHeader("Allow", "GET, HEAD");
    return reply(response, 405, "only GET and HEAD are allowed\n");
  }
  const path = request.url?.split("?", 1)[0] ?? "";
  if (path === "/livez") return reply(response, 200, "ok\n");
  if (path === "/readyz") {
    const lines = lostVersions().map(
      (version) => `data version ${version} isn't served, though it was before and its file is there\n`,
    );
    return isReady()
      ? reply(response, 200, `ready\n${lines.join("")}`)
      : reply(response, 503, `not ready\n${lines.join("")}`);
  }
  if (path === "/metrics") return reply(response, 200, await metrics.text(), metrics.contentType);
  const shown = pages();
  if (shown === undefined) return reply(response, 503, "starting\n");
  if (path === shown.streamPath)
    return request.method === "HEAD" ? reply(response, 200, "", "text/event-stream") : shown.stream(response);
  const file = shown.file(path);
  return file === undefined
    ? reply(response, 404, "not found: there are /, /livez, /readyz and /metrics\n")
    : sendFile(request, response, file);
}

function reply(
  response: ServerResponse,
  status: number,
  text: string,
  type = "text/plain; charset=utf-8",
): void {
  const body = Buffer.from(text);
  response.writeHead(status, {
    "Content-Type": type,
    "Content-Length": body.length,
    "Cache-Control": "no-store",
  });
  response.end(body);
}

/**
 * Returns why a request is refused; undefined if it isn't. A host in the Host header must be allowed, because another
 * site can give its host name this server's address (DNS rebinding). A page of another site may only link to this server.
 */
function refusalOf({ headers }: IncomingMessage, allowedHosts: readonly string[]): string | undefined {
  const { host, origin } = headers;
  if (host === undefined) return undefined;
  const name = host
    .replace(/:\d+$/, "")
    .replace(/^\[(.*)\]$/, "$1")
    .toLowerCase();
  if (name !== "localhost" && isIP(name) === 0 && !allowedHosts.includes(name))
    return `the host ${name} isn't allowed here: name it in OPS_ALLOWED_HOSTS`;
  if (origin !== undefined && origin.replace(/^https?:\/\//, "") !== host.toLowerCase())
    return `pages of ${origin} may not send requests here`;
  // Following a link is allowed, because the page with the link doesn't get the answer.
  const isForeign = headers["sec-fetch-site"] === "cross-site" && headers["sec-fetch-mode"] !== "navigate";
  return isForeign ? "pages of other sites may not send requests here" : undefined;
}

function sendFile({ method, headers }: IncomingMessage, response: ServerResponse, file: WebFile): void {
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
