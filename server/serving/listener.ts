import * as uws from "uWebSockets.js";
import { routeOf } from "../api/routes.ts";
import type { Connections } from "../shared/connections.ts";

declare module "uWebSockets.js" {
  /** Sets an option of the library. `silent` removes the response header that names the library. */
  export function _cfg(option: "silent"): void;
}

export type HttpRequest = uws.HttpRequest;
export type HttpResponse = uws.HttpResponse;

export interface HttpServer {
  /**
   * Begins to listen. The threads share a port by SO_REUSEPORT.
   * @param port 0 for any free port
   * @returns the port
   * @throws Error when the address can't be listened on
   */
  listen(host: string, port: number): number;
  stopListening(): void;
  /** Stops listening, and cuts every connection. */
  close(): void;
}

interface Answerer {
  answer(res: HttpResponse, req: HttpRequest, path: string, method: string, route: number): void;
}

interface Posts {
  below: string;
  take(res: HttpResponse, req: HttpRequest, route: number): void;
}

/**
 * @param paths registered as exact routes. For other paths the library creates a string for each request.
 * @param report called with each error of a handler; the connection is then closed, unless the request was answered
 */
export function serveHttp(
  connections: Connections,
  paths: Iterable<string>,
  answerer: Answerer,
  report: (error: unknown) => void,
  posts?: Posts,
): HttpServer {
  uws._cfg("silent");
  const app = uws.App();
  // A connection beyond the limit is accepted and immediately closed. If it were left in the system's queue, the thread
  // would try to accept it again and again.
  const onChange = (res: HttpResponse, change: number) => {
    if (change < 0) connections.leave();
    else if (!connections.enter()) res.close();
  };
  app.filter(onChange);
  const answer = (
    res: HttpResponse,
    req: HttpRequest,
    path: string,
    method: string,
    route = routeOf(path),
  ) => {
    try {
      answerer.answer(res, req, path, method, route);
    } catch (error) {
      report(error);
      closeAfterAll(res);
    }
  };
  if (posts !== undefined) {
    const route = routeOf(posts.below);
    app.post(`${posts.below}*`, (res, req) => {
      try {
        posts.take(res, req, route);
      } catch (error) {
        report(error);
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
  return {
    listen(host, port) {
      app.listen(host, port, (listening) => {
        socket = listening;
      });
      if (!socket) throw new Error(`can't listen on ${host} port ${port}`);
      // The library's types don't say that a listening socket is a socket.
      return uws.us_socket_local_port(socket as unknown as uws.us_socket);
    },
    stopListening() {
      if (socket) uws.us_listen_socket_close(socket);
    },
    close() {
      app.close();
    },
  };
}

/** Closes the connection of a request whose handler threw. Never throws, because an exception would end the process. */
function closeAfterAll(res: HttpResponse): void {
  try {
    res.close();
  } catch {
    // `close` throws if the request was answered already.
  }
}
