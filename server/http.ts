import * as uws from "uWebSockets.js";
import { headerNames, type Reply, type RequestHead } from "./answer.ts";

const empty = new Uint8Array(0);
/** Longer answers are only sent as far as the socket takes them. */
const maxUncheckedAnswer = 8 * 2 ** 10;
/** What a connection is sent, on average, without a look at whether it is read. */
const uncheckedBytes = 64 * 2 ** 10;

/** The listening HTTP server of one thread. */
export interface HttpServer {
  /** Accepts no new connection, and closes each open one with its next answer. */
  drain(): void;
  /** Requests answered so far. */
  handled(): number;
  /** Answers that wait for their connections to take them. Small ones may wait in the HTTP server's own memory, uncounted. */
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
  answer: (request: RequestHead, method: string, hasBody: boolean) => Reply,
): HttpServer {
  let draining = false;
  let pending = 0;
  let handled = 0;
  // What `respond` sends: a closure for every request would cost more than these.
  let response: uws.HttpResponse;
  let reply: Reply;
  let isHead = false;

  function handle(res: uws.HttpResponse, req: uws.HttpRequest, method: string): void {
    handled++;
    const hasBody =
      req.getHeader(headerNames.contentLength) !== "" || req.getHeader(headerNames.transferEncoding) !== "";
    const connection = req.getHeader(headerNames.connection);
    response = res;
    isHead = method === "HEAD";
    reply = answer(req, method, hasBody);
    const closes = connection !== "" && /\bclose\b/i.test(connection);
    const { head, body } = reply;
    // Behind an answer without a body the HTTP server closes by itself.
    if (body !== undefined && (hasBody || (closes && !isHead))) respondLast(res, head, isHead ? empty : body);
    // Only the first of several requests in one segment comes corked; each part of an answer would be sent by itself.
    else res.cork(respond);
  }

  function respond(): void {
    const { head, body } = reply;
    // The status takes the headers along: a call for each costs more. It has to come first in any case.
    response.writeStatus(head);
    if (draining) response.writeHeader("Connection", "close");
    if (body !== undefined && !isHead) send(response, body, head.length);
    else {
      // Its own argument for the length would abort the process.
      if (body !== undefined) response.writeHeader("Content-Length", String(body.length));
      response.endWithoutBody();
    }
  }

  /**
   * Answers and closes the connection. A body may smuggle a second request in: while this one waits for its answer, the
   * parser closes the connection when it finds another behind it.
   */
  function respondLast(res: uws.HttpResponse, head: string | Uint8Array, body: Uint8Array): void {
    let aborted = false;
    // Both are valid until the next answer only.
    const keptHead = typeof head === "string" ? head : new Uint8Array(head);
    const keptBody = new Uint8Array(body);
    pending++;
    res.onAborted(() => {
      aborted = true;
      pending--;
    });
    setImmediate(() => {
      if (aborted) return;
      pending--;
      res.cork(() => {
        res.writeStatus(keptHead);
        res.end(keptBody, true);
      });
    });
  }

  /**
   * Sends what the socket takes now and the rest as it drains. `end()` costs less, but buffers what the socket doesn't
   * take, for any number of requests from a client that doesn't read. So it sends small answers only, which any socket
   * takes that is read from; and at random, each is tried instead as likely as it is long: whatever connections do,
   * one that isn't read from is found after `uncheckedBytes` on average. Answers without a body need no such look: the
   * HTTP server itself closes a connection that doesn't take them.
   */
  function send(res: uws.HttpResponse, body: Uint8Array, headLength: number): void {
    const bytes = headLength + body.length;
    if (bytes <= maxUncheckedAnswer && Math.random() * uncheckedBytes >= bytes && !draining) {
      res.end(body);
      return;
    }
    const [, done] = res.tryEnd(body, body.length);
    if (done) return;
    // What is left has to outlast the next answer.
    const kept = new Uint8Array(body);
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
  // An exception that left a handler would end the process.
  const guarded = (res: uws.HttpResponse, req: uws.HttpRequest, method: string) => {
    try {
      handle(res, req, method);
    } catch {
      try {
        res.close();
      } catch {
        // It was answered already.
      }
    }
  };
  app.get("/*", (res, req) => guarded(res, req, "GET"));
  app.any("/*", (res, req) => guarded(res, req, req.getCaseSensitiveMethod()));

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
