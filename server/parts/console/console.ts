import type { ServerResponse } from "node:http";
import type { OpsPages } from "../../part.ts";
import type { WebFile } from "../../shared/messages.ts";
import { headOf, pageOf, readAssets } from "../../shared/web-assets.ts";
import type { History } from "./history.ts";
import type { State } from "./state.ts";

/** Serves the operator's console: a page, and a stream of its data. */

const streamPath = "/console/stream";
const maxViewers = 16;
/** A viewer with more unread bytes is disconnected. */
const maxUnreadBytes = 4 * 2 ** 20;
const stateShare = 1 / 20;
const minStateMs = 2000;

export class OperatorConsole implements OpsPages {
  readonly streamPath = streamPath;
  readonly #history: History;
  readonly #state: () => State;
  readonly #viewers = new Set<ServerResponse>();
  #files: ReadonlyMap<string, WebFile> | undefined;
  #stateText = "";
  #nextStateMs = 0;

  constructor(history: History, state: () => State) {
    this.#history = history;
    this.#state = state;
  }

  /** Reads the files at the first call. @throws Error when a file can't be read */
  loadFiles(): ReadonlyMap<string, WebFile> {
    this.#files ??= new Map(filesOf().map((file) => [file.path, file]));
    return this.#files;
  }

  file(path: string): WebFile | undefined {
    return this.loadFiles().get(path);
  }

  /**
   * Sends server-sent events: first all kept samples and the state, then each new sample and each changed state. Replies
   * with status 503 if there are `maxViewers` already.
   */
  stream(response: ServerResponse): void {
    if (this.#viewers.size >= maxViewers) {
      response.writeHead(503, {
        "Content-Type": "text/plain; charset=utf-8",
        "Retry-After": "10",
        Connection: "close",
      });
      response.end(`${maxViewers} consoles are open already\n`);
      return;
    }
    if (this.#stateText === "") this.#lookAtState();
    response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
    this.#viewers.add(response);
    response.on("close", () => this.#viewers.delete(response));
    const { samples, minutes } = this.#history;
    response.write(event("history", JSON.stringify({ samples, minutes })) + event("state", this.#stateText));
  }

  /** Call this every second. */
  tick(steadyMs: number, unixMs: number): void {
    const sample = this.#history.take(steadyMs, unixMs);
    if (this.#viewers.size === 0) {
      this.#stateText = "";
      return;
    }
    let text = event("sample", JSON.stringify(sample));
    const minute = this.#history.minutes.at(-1);
    if (minute?.at === sample.at) text += event("minute", JSON.stringify(minute));
    if (steadyMs >= this.#nextStateMs) {
      const before = this.#stateText;
      const took = this.#lookAtState();
      this.#nextStateMs = steadyMs + Math.max(minStateMs, took / stateShare);
      if (this.#stateText !== before) text += event("state", this.#stateText);
    }
    for (const viewer of this.#viewers) {
      if (viewer.writableLength > maxUnreadBytes) viewer.destroy();
      else viewer.write(text);
    }
  }

  #lookAtState(): number {
    const begun = performance.now();
    this.#stateText = JSON.stringify(this.#state());
    return performance.now() - begun;
  }
}

function filesOf(): WebFile[] {
  const assets = readAssets("/console/", "parts/console");
  const { file } = pageOf(assets, "/", {
    head: headOf("Console", "The state of the service."),
    body: [
      '<body><div id="app"></div><noscript>The console needs JavaScript; /metrics has the numbers as text.</noscript></body>',
    ],
    style: "console.css",
    script: "console.ts",
    settings: { stream: streamPath },
  });
  return [file, ...assets.files];
}

function event(name: string, data: string): string {
  return `event: ${name}\ndata: ${data}\n\n`;
}
