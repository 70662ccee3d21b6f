import * as uws from "uWebSockets.js";
import { firstHeader, ok, type Reply, type RequestHead } from "./service.ts";

/** The listening HTTP server of one thread. */
export interface HttpServer {
  /** Accepts no new connection, and closes each open one with its next answer. */
  drain(): void;
  /** Requests answered so far. */
  handled(): number;
  /** Answers that are still on their way to slow readers. */
  pending(): number;
  /** Cuts every connection. */
  close(): void;
}

/**
 * Listens, and answers every request with what `answer` returns, within the call. Ports are shared by SO_REUSEPORT.
 *
 * @param answer must not throw
 * @throws Error when the address can't be listened on
 */
export function serveHttp(
  host: string,
  port: number,
  answer: (request: RequestHead, hasBody: boolean) => Reply,
): HttpServer {
  let draining = false;
  let pending = 0;
  let handled = 0;

  function handle(res: uws.HttpResponse, req: uws.HttpRequest): void {
    handled++;
    const hasBody = req.getHeader("content-length") !== "" || req.getHeader("transfer-encoding") !== "";
    const isLast = hasBody || /\bclose\b/i.test(req.getHeader("connection"));
    const isHead = req.getCaseSensitiveMethod() === "HEAD";
    const reply = answer(req, hasBody);
    if (isLast) respondLast(res, reply, isHead);
    // Only the first of several requests in one segment comes corked; each part of an answer would be sent by itself.
    else res.cork(() => respond(res, reply, isHead));
  }

  function writeHead(res: uws.HttpResponse, reply: Reply): void {
    // The status has to come first: a later one is ignored.
    if (reply.status !== ok) res.writeStatus(reply.status);
    res.writeHeader(firstHeader, reply.headerLines);
    res.writeHeader("X-RateLimit-Remaining", `${reply.remaining}\r\nX-RateLimit-Reset: ${reply.reset}`);
  }

  function respond(res: uws.HttpResponse, reply: Reply, isHead: boolean): void {
    writeHead(res, reply);
    if (draining) res.writeHeader("Connection", "close");
    const { body } = reply;
    if (body !== undefined && !isHead) send(res, body);
    else {
      // Its own argument for the length would abort the process.
      if (body !== undefined) res.writeHeader("Content-Length", String(body.length));
      res.endWithoutBody();
    }
  }

  /**
   * Answers and closes the connection. A body may smuggle a second request in: while this one waits for its answer, the
   * parser closes the connection when it finds another behind it.
   */
  function respondLast(res: uws.HttpResponse, reply: Reply, isHead: boolean): void {
    let aborted = false;
    const body = reply.body?.slice();
    pending++;
    res.onAborted(() => {
      aborted = true;
      pending--;
    });
    setImmediate(() => {
      if (aborted) return;
      pending--;
      res.cork(() => {
        writeHead(res, reply);
        if (body !== undefined && !isHead) res.end(body, true);
        else res.endWithoutBody(body?.length ?? 0, true);
      });
    });
  }

  /** Sends what the socket takes now and the rest as it drains; `end()` would buffer it all, for any number of requests. */
  function send(res: uws.HttpResponse, body: Uint8Array): void {
    const [, done] = res.tryEnd(body, body.length);
    if (done) return;
    // What is left has to outlast the next answer.
    const kept = body.slice();
    pending++;
    res.onAborted(() => {
      pending--;
    });
    res.onWritable((offset) => {
      const [ok, finished] = res.tryEnd(kept.subarray(offset), kept.length);
      if (finished) pending--;
      return ok;
    });
  }

  const app = uws.App();
  app.any("/*", (res, req) => {
    // An exception that left a handler would end the process.
    try {
      handle(res, req);
    } catch {
      try {
        res.close();
      } catch {
        // It was answered already.
      }
    }
  });

  let socket: uws.us_listen_socket | false = false;
  app.listen(host, port, (listening) => {
    socket = listening;
  });
  if (!socket) throw new Error(`can't listen on ${host} port ${port}`);
  const listenSocket: uws.us_listen_socket = socket;
  return {
    drain() {
      draining = true;
      uws.us_listen_socket_close(listenSocket);
    },
    handled: () => handled,
    pending: () => pending,
    close() {
      app.close();
    },
  };
}
