import { createServer, type Server } from "node:http";

/** The operator's listener: `/livez` while the process runs, `/readyz` while it serves. No keys; not for the public. */
export function opsServer(isReady: () => boolean): Server {
  return createServer((request, response) => {
    const path = request.url?.split("?", 1)[0];
    const [status, text] =
      path === "/livez"
        ? [200, "ok"]
        : path !== "/readyz"
          ? [404, "not found"]
          : isReady()
            ? [200, "ready"]
            : [503, "not ready"];
    response.writeHead(status, { "Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store" });
    response.end(`${text}\n`);
  });
}
