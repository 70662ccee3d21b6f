import { parentPort, workerData } from "node:worker_threads";
import { attachImage, versionName } from "../engine/index.ts";
import { Directory } from "./directory.ts";
import type { Versions } from "./endpoint.ts";
import { type HttpServer, serveHttp } from "./http.ts";
import { KeyTable } from "./keys.ts";
import { Limits } from "./limits.ts";
import type { FromServe, Published, ServeData, ToServe } from "./messages.ts";
import { collectGarbage, steadyClock } from "./runtime.ts";
import { Service } from "./service.ts";

/** A serving thread: its own HTTP server on the shared port, over images that all threads share. */

/** A draining thread is done when no answer was asked for or was on its way for this long. */
const quietMs = 200;
const maxDrainMs = 5000;
const drainStepMs = 50;

if (parentPort === null) throw new Error("serve.ts runs in a thread, started by main.ts");
const control = parentPort;
const send = (message: FromServe) => control.postMessage(message);

function versionsOf(published: Published): Versions {
  const images = published.map(({ image }) => attachImage(image));
  const names = images.map((image) => versionName(image.describe.provenance));
  return {
    images,
    byName: new Map(images.map((image, i) => [names[i], image])),
    loadedAt: new Map(published.map(({ loadedAt }, i) => [names[i], loadedAt])),
  };
}

const data: ServeData = workerData;
const service = new Service({
  keys: new KeyTable(data.keys),
  limits: new Limits(data.limits),
  directory: new Directory(data.directory),
  versions: versionsOf(data.images),
  now: Date.now,
  steadyNow: steadyClock(),
  report: (error) =>
    send({ type: "error", stack: error instanceof Error ? String(error.stack) : String(error) }),
});

/** Ends when the connections have been quiet for a while, or at the latest after `maxDrainMs`. */
function drain(server: HttpServer): void {
  server.drain();
  let handled = server.handled();
  let quiet = 0;
  let waited = 0;
  const timer = setInterval(() => {
    waited += drainStepMs;
    const busy = server.pending() > 0 || server.handled() !== handled;
    handled = server.handled();
    quiet = busy ? 0 : quiet + drainStepMs;
    if (quiet < quietMs && waited < maxDrainMs) return;
    clearInterval(timer);
    send({ type: "drained" });
  }, drainStepMs);
}

try {
  const server = serveHttp(data.host, data.port, (request, hasBody) => service.answer(request, hasBody));
  control.on("message", (message: ToServe) => {
    if (message.type === "publish") {
      service.publish(versionsOf(message.images));
      send({ type: "published" });
      setImmediate(collectGarbage);
    } else if (message.type === "drain") drain(server);
    else {
      // The app has to be closed in its own thread, and the thread has to end by itself: all else aborts the process.
      server.close();
      control.close();
    }
  });
  send({ type: "listening" });
} catch (error) {
  send({ type: "failed", reason: error instanceof Error ? error.message : String(error) });
  control.close();
}
