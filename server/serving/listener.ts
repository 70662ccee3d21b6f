import * as uws from "uWebSockets.js";
import { routeOf } from "../api/routes.ts";
import type { Connections } from "../shared/connections.ts";
import type { ThreadTraffic } from "../shared/traffic.ts";
import { type Posts, takePost } from "./posts.ts";
import type { Responder } from "./responder.ts";

/** Listens for HTTP requests, and hands each to what answers it. */

declare module "uWebSockets.js" {
  /** Sets what no call of its own is there for. `silent` leaves out the header that names the library. */
  export function _cfg(option: "silent"): void;
}

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
 * Listens, and has every request answered within the call. Ports are shared by SO_REUSEPORT.
 *
 * @param paths which the library's router finds, so that they needn't be made strings for every request
 * @throws Error when the address can't be listened on
 */
export function serveHttp(
  host: string,
  port: number,
  connections: Connections,
  traffic: ThreadTraffic,
  paths: Iterable<string>,
  responder: Responder,
  posts?: Posts,
): HttpServer {
  uws._cfg("silent");
  const app = uws.App();
  // A connection beyond the limit is closed at once: waiting in the queue of the system, it would keep the thread busy
  // accepting it in vain.
  const onChange = (res: uws.HttpResponse, change: number) => {
    if (change < 0) connections.leave();
    else if (!connections.enter()) res.close();
  };
  app.filter(onChange);
  const answer = (
    res: uws.HttpResponse,
    req: uws.HttpRequest,
    path: string,
    method: string,
    route = routeOf(path),
  ) => {
    try {
      responder.answer(res, req, path, method, route);
    } catch {
      closeAfterAll(res);
    }
  };
  if (posts !== undefined) {
    const route = routeOf(posts.below);
    app.post(`${posts.below}*`, (res, req) => {
      try {
        takePost(res, req, route, posts.reply, responder, traffic);
      } catch {
        closeAfterAll(res);
      }
    });
  }
  for (const path of paths) {
    const route = routeOf(path);
    app.get(path, (res, req) => answer(res, req, path, "GET", route));
  }
  app.get("/*", (res, req) => answer(res, req, req.getUrl(), "GET"));
  app.any("/*", (res, req) => answer(res, req, req.getUrl(), req.getCaseSensitiveMethod()));

  let socket: uws.us_listen_socket | false = false;
  app.listen(host, port, (listening) => {
    socket = listening;
  });
  if (!socket) throw new Error(`can't listen on ${host} port ${port}`);
  const listenSocket: uws.us_listen_socket = socket;
  return {
    drain() {
      responder.drain();
      uws.us_listen_socket_close(listenSocket);
    },
    handled: () => responder.handled,
    pending: () => responder.pending,
    close() {
      app.close();
    },
  };
}

/** For requests whose handler throws: an exception that left it would end the process. */
function closeAfterAll(res: uws.HttpResponse): void {
  try {
    res.close();
  } catch {
    // It was answered already.
  }
}
