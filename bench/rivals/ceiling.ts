import * as uws from "uWebSockets.js";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { freePort } from "../../test/support/connection.ts";
import { readSettings } from "./rival.ts";

/** A server that does as little as possible. It sends the same headers and body for every request. */

const { headers, status, bodyFile, threads } = readSettings();
const body = readFileSync(bodyFile);

const head = Buffer.from([status, ...headers.map((header) => header.join(": "))].join("\r\n"));
let response: uws.HttpResponse;
let isStuck = false;

// One call writes status and headers as bytes, and no request makes a closure. Corking joins the writes of a response in
// one system call.
function send(): void {
  response.writeStatus(head);
  if (body.length === 0) response.endWithoutBody();
  else {
    // `end()` would crash the process if a client doesn't read or resets its connection.
    const [, done] = response.tryEnd(body, body.length);
    isStuck = !done;
  }
}

function listen(port: number): void {
  uws._cfg("silent");
  const app = uws.App();
  app.any("/*", (res) => {
    response = res;
    isStuck = false;
    res.cork(send);
    if (isStuck) res.close();
  });
  app.listen("127.0.0.1", port, (socket) => {
    if (!socket) throw new Error(`can't listen on port ${port}`);
  });
}

// Threads share the port, like the service's threads.
if (isMainThread) {
  const port = await freePort();
  listen(port);
  for (let i = 1; i < threads; i++) {
    const worker = new Worker(new URL(import.meta.url), { argv: process.argv.slice(2), workerData: port });
    await once(worker, "message");
  }
  console.log(`ready ${port}`);
} else {
  listen(Number(workerData));
  parentPort?.postMessage("listening");
}
