import { setTimeout as delay } from "node:timers/promises";
import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import type { Pages, PartRun } from "../part.ts";
import { type Connections, maxWaitingBytes } from "../shared/connections.ts";
import {
  type Access,
  type FromServe,
  gate,
  type PageThreadCode,
  type PermitAnswer,
  type PortalReply,
  type PortalRequest,
  type PublishedVersion,
  type ServeData,
  type ThreadCode,
  type ToPageThread,
  type ToServe,
  type Wait,
  type WebFile,
} from "../shared/messages.ts";
import { PerSecond } from "../shared/per-second.ts";
import { safely, stackOf } from "../shared/safely.ts";
import type { Settings } from "../shared/settings.ts";
import type { Traffic } from "../shared/traffic.ts";
import type { SnapshotFolder } from "../snapshots/snapshots.ts";
import { claimPort } from "./port.ts";
import { closers, end, log, unlessStopping } from "./running.ts";

/**
 * Maximum MB of V8's young generation. With 8 MB, the page thread's collections would copy a page's objects several
 * times.
 */
const [servingYoungGenerationMb, pageYoungGenerationMb] = [8, 16];
const servingUrl = new URL("../serving/thread.ts", import.meta.url);
const pageUrl = new URL("../serving/page-thread.ts", import.meta.url);
/** Maximum time for requests in flight when the server stops. */
export const maxDrainMs = 5000;

interface Owner {
  /** Called at most once for each thread, when the thread fails or ends unexpectedly. */
  fail(reason: string): void;
  /** Replies to a POST. Null if no part has pages. */
  act(request: PortalRequest): Promise<PortalReply | null>;
  logAccess(access: Access): void;
  wait(waits: readonly Wait[]): void;
}

function logError(stack: string, requestId?: string): void {
  log.error({ stack, requestId }, "request failed");
}

class Thread {
  readonly #worker: Worker;
  readonly #waiting = new Map<FromServe["type"], () => void>();
  #mayEnd = false;
  readonly ended: Promise<void>;

  /** @param ports the ports in `code`, which are transferred to the thread */
  constructor(
    url: URL,
    code: ThreadCode | PageThreadCode,
    ports: readonly MessagePort[],
    owner: Owner,
    maxYoungGenerationSizeMb: number,
  ) {
    this.#worker = new Worker(url, {
      workerData: code,
      transferList: [...ports],
      resourceLimits: { maxYoungGenerationSizeMb },
    });
    const fail = (reason: string) => {
      if (!this.#mayEnd) owner.fail(reason);
      this.#mayEnd = true;
    };
    this.#worker.on("error", (error) => fail(error.message));
    const take = async (message: FromServe) => {
      if (message.type === "failed") fail(message.reason);
      else if (message.type === "error") logError(message.stack, message.requestId);
      else if (message.type === "access") owner.logAccess(message.access);
      else if (message.type === "wait") owner.wait(message.waits);
      else if (message.type === "post")
        this.send({ type: "posted", id: message.id, reply: await owner.act(message.request) });
      else this.#waiting.get(message.type)?.();
    };
    this.#worker.on(
      "message",
      safely(take, (error, message) => {
        logError(stackOf(error));
        // A failed post gets a reply, too, because the thread waits for a reply.
        if (message.type === "post") this.send({ type: "posted", id: message.id, reply: null });
      }),
    );
    this.ended = new Promise((resolve) =>
      this.#worker.once("exit", (code) => {
        fail(`it ended with exit code ${code}`);
        resolve();
      }),
    );
  }

  async waitFor(type: FromServe["type"]): Promise<void> {
    await new Promise<void>((resolve) => this.#waiting.set(type, resolve));
  }

  send(message: ToServe): void {
    if (message.type === "close") this.#mayEnd = true;
    this.#worker.postMessage(message);
  }
}

export class ServingThreads {
  readonly #threads: Thread[];
  /** Undefined if no part writes pages with numbers. */
  readonly #pageThread: Thread | undefined;
  /** Rejects when a thread can't start. */
  readonly #failed = Promise.withResolvers<never>();
  readonly #accessLines: PerSecond;
  #pages: Pages | undefined;
  #isListening = false;
  readonly #gate = new Int32Array(new SharedArrayBuffer(4));
  onWait: (thread: number, waits: readonly Wait[]) => void = () => {};

  constructor(settings: Settings, part: Pick<PartRun, "serving" | "writing"> | undefined) {
    this.#accessLines = new PerSecond(settings.ACCESS_LOG);
    // The promise is awaited later. Until then, a rejection mustn't be reported as unhandled.
    this.#failed.promise.catch(() => {});
    const ownerOf = (thread: number): Owner => ({
      act: async (request) => (await this.#pages?.act(request)) ?? null,
      fail: (reason) => this.#fail("a serving thread", reason),
      logAccess: (access) => {
        if (this.#accessLines.pass(performance.now())) log.info(access, "request");
      },
      wait: (waits) => this.onWait(thread, waits),
    });
    const channels = Array.from({ length: settings.THREADS }, () =>
      part?.writing === undefined ? undefined : new MessageChannel(),
    );
    const code = {
      gate: this.#gate.buffer,
      trustedProxies: settings.TRUSTED_PROXIES,
      pagesModule: part?.serving?.href,
    };
    this.#threads = channels.map((channel, i) => {
      const pagePort = channel?.port1;
      const servingPorts = pagePort ? [pagePort] : [];
      return new Thread(
        servingUrl,
        { ...code, pagePort },
        servingPorts,
        ownerOf(i),
        servingYoungGenerationMb,
      );
    });
    if (part?.writing === undefined) return;
    const ports = channels.flatMap((channel) => channel?.port2 ?? []);
    const owner: Owner = {
      fail: (reason) => this.#fail("the page thread", reason),
      act: async () => null,
      logAccess() {},
      wait() {},
    };
    const pageCode = { writingModule: part.writing.href, ports };
    this.#pageThread = new Thread(pageUrl, pageCode, ports, owner, pageYoungGenerationMb);
  }

  #fail(thread: string, reason: string): void {
    if (this.#isListening) {
      log.fatal({ reason }, `${thread} failed`);
      void end(1);
    } else this.#failed.reject(new Error(`${thread} can't start: ${reason}`));
  }

  /**
   * Lets all serving threads begin to listen, and resolves when they do and the page thread is ready.
   * @param traffic one block per serving thread
   * @throws Error when a thread can't start
   */
  async listen(
    data: Omit<ServeData, "traffic">,
    traffic: readonly SharedArrayBuffer[],
    published: readonly PublishedVersion[],
    pages: Pages | undefined,
  ): Promise<void> {
    this.#pages = pages;
    const listening = this.#threads.map((thread) => thread.waitFor("listening"));
    const pageThread = this.#pageThread;
    if (pageThread !== undefined && pages !== undefined) {
      listening.push(pageThread.waitFor("published"));
      pageThread.send({ type: "pages", files: pages.files() });
      pageThread.send({ type: "publish", published });
    }
    for (const [i, thread] of this.#threads.entries()) {
      if (pages !== undefined) thread.send({ type: "pages", files: pages.files() });
      thread.send({ type: "start", data: { ...data, traffic: traffic[i] }, published });
    }
    await Promise.race([this.#failed.promise, Promise.all(listening)]);
    this.#isListening = true;
  }

  /** Lets the threads answer. Before this call they only listen. */
  answer(): void {
    this.#leaveGate(gate.open);
  }

  /** Ends the threads' wait at the gate. @returns whether the gate was shut */
  #leaveGate(state: number): boolean {
    const waited = Atomics.compareExchange(this.#gate, 0, gate.shut, state) === gate.shut;
    Atomics.notify(this.#gate, 0);
    return waited;
  }

  answerWaits(thread: number, answers: readonly PermitAnswer[]): void {
    this.#threads[thread].send({ type: "permits", answers });
  }

  /**
   * Passes the served versions to all threads. Resolves when all threads make new answers from them. Does nothing before
   * the threads listen. The page thread comes first, so that no serving thread keeps a page written from older images
   * than its own.
   */
  async publish(published: readonly PublishedVersion[]): Promise<void> {
    if (!this.#isListening) return;
    await this.#askPageThread({ type: "publish", published }, "published");
    await ask(this.#threads, { type: "publish", published }, "published");
  }

  /**
   * Replaces the pages' files in all threads, first in the page thread, as in `publish`. Does nothing before the threads
   * listen.
   */
  async showPages(files: readonly WebFile[]): Promise<void> {
    if (!this.#isListening) return;
    await this.#askPageThread({ type: "pages", files }, "shown");
    for (const thread of this.#threads) thread.send({ type: "pages", files });
  }

  async #askPageThread(message: ToPageThread, reply: FromServe["type"]): Promise<void> {
    if (this.#pageThread !== undefined) await ask([this.#pageThread], message, reply);
  }

  /** Stops listening, answers the requests in flight for at most `maxDrainMs`, and waits for the threads' end. */
  async stop(): Promise<void> {
    if (!this.#leaveGate(gate.ending)) {
      await Promise.race([
        ask(this.#threads, { type: "drain" }, "drained"),
        delay(maxDrainMs, undefined, { ref: false }),
      ]);
      // The gate tells the threads to end, in addition to a message, because a busy thread reads no messages.
      Atomics.store(this.#gate, 0, gate.ending);
    }
    for (const thread of this.#threads) thread.send({ type: "close" });
    await Promise.all(this.#threads.map((thread) => thread.ended));
    // The page thread comes last, because the requests in flight need it.
    this.#pageThread?.send({ type: "close" });
    await this.#pageThread?.ended;
  }
}

async function ask(threads: readonly Thread[], message: ToServe, reply: FromServe["type"]): Promise<void> {
  await Promise.all(
    threads.map((thread) => {
      const replied = thread.waitFor(reply);
      thread.send(message);
      // A thread that has failed never replies.
      return Promise.race([replied, thread.ended]);
    }),
  );
}

type Tables = Pick<ServeData, "keys" | "ceilings" | "areShared" | "names" | "days" | "events" | "shares">;

/** Begins to serve on PORT. Returns the port, which the system chooses if PORT is 0. */
export async function startServing(
  settings: Settings,
  threads: ServingThreads,
  tables: Tables,
  snapshots: SnapshotFolder,
  pages: Pages | undefined,
  connections: Connections,
  traffic: Traffic,
): Promise<number> {
  // Only a port that the system chooses is claimed here. A given port was claimed before the state was made.
  const port = settings.PORT === 0 ? await unlessStopping(claimPort(settings.HOST, 0)) : settings.PORT;
  const data = {
    ...tables,
    host: settings.HOST,
    port,
    connections: connections.buffer,
    maxConnections: connections.max,
    maxWaitingBytes: Math.floor(maxWaitingBytes / settings.THREADS),
    corsOrigins: settings.CORS_ORIGINS ?? [],
    accessLog: settings.ACCESS_LOG,
    accessLogAccounts: settings.ACCESS_LOG_ACCOUNTS,
  };
  closers.push(() => threads.stop());
  await unlessStopping(threads.listen(data, traffic.buffers, snapshots.published(), pages));
  // The registry is written before the first answer, but late, so that few failed starts change it.
  snapshots.beginServing();
  threads.answer();
  return port;
}
