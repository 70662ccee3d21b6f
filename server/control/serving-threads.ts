import { setTimeout as delay } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import type { Pages } from "../part.ts";
import {
  type Access,
  type FromServe,
  gate,
  type Published,
  type ServeData,
  type ToServe,
  type WebFile,
} from "../shared/messages.ts";
import { safely, stackOf } from "../shared/safely.ts";

/** Starts, tells and stops the serving threads. */

/** Requests leave little behind: a larger young generation would only be memory that each thread takes. */
const maxYoungGenerationSizeMb = 8;
/** So long connections may go on when the server stops. */
const maxDrainMs = 5000;

/** What threads have to say while they serve. */
interface Reports {
  /** A thread ended that should not; once for each. */
  fail(reason: string): void;
  /** A request failed by our fault. */
  error(stack: string, requestId?: string): void;
  /** A request that the log may show. */
  access(access: Access): void;
}

class ServingThread {
  readonly #worker: Worker;
  readonly #waiting = new Map<FromServe["type"], () => void>();
  #mayEnd = false;
  readonly ended: Promise<void>;

  constructor(data: ServeData, pages: Pages | undefined, reports: Reports) {
    this.#worker = new Worker(new URL("../serving/thread.ts", import.meta.url), {
      workerData: data,
      resourceLimits: { maxYoungGenerationSizeMb },
    });
    const fail = (reason: string) => {
      if (!this.#mayEnd) reports.fail(reason);
      this.#mayEnd = true;
    };
    this.#worker.on("error", (error) => fail(error.message));
    const take = async (message: FromServe) => {
      if (message.type === "failed") fail(message.reason);
      else if (message.type === "error") reports.error(message.stack, message.requestId);
      else if (message.type === "access") reports.access(message.access);
      else if (message.type === "post")
        this.send({ type: "posted", id: message.id, reply: (await pages?.act(message.request)) ?? null });
      else this.#waiting.get(message.type)?.();
    };
    this.#worker.on(
      "message",
      safely(take, (error, message) => {
        reports.error(stackOf(error));
        // Whoever waits for it is told that it has failed.
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

  /** When the thread says so. */
  async waitFor(type: FromServe["type"]): Promise<void> {
    await new Promise<void>((resolve) => this.#waiting.set(type, resolve));
  }

  send(message: ToServe): void {
    if (message.type === "close") this.#mayEnd = true;
    this.#worker.postMessage(message);
  }
}

/** All serving threads, as the control thread sees them. They share a port. */
export class ServingThreads {
  readonly #threads: ServingThread[];
  readonly #listening: Promise<unknown>;
  #isListening = false;
  readonly #gate = new Int32Array(new SharedArrayBuffer(4));

  /**
   * @param traffic each thread's own
   * @param published what they serve at first
   */
  constructor(
    data: Omit<ServeData, "gate" | "traffic">,
    traffic: readonly SharedArrayBuffer[],
    published: Published,
    pages: Pages | undefined,
    reports: Reports,
  ) {
    let failStart = (_reason: string) => {};
    const failed = new Promise<never>((_, reject) => {
      failStart = (reason) => reject(new Error(`a serving thread can't start: ${reason}`));
    });
    const fail = (reason: string) => (this.#isListening ? reports.fail(reason) : failStart(reason));
    this.#threads = traffic.map(
      (block) =>
        new ServingThread({ ...data, traffic: block, gate: this.#gate.buffer }, pages, { ...reports, fail }),
    );
    const listening = this.#threads.map((thread) => thread.waitFor("listening"));
    this.#listening = Promise.race([failed, Promise.all(listening)]);
    if (pages !== undefined) this.showPages(pages.files());
    // By message: what a thread is started with stays in memory as long as the thread.
    for (const thread of this.#threads) thread.send({ type: "publish", published });
  }

  /** When all of them do. @throws Error when one of them can't be started */
  async listening(): Promise<void> {
    await this.#listening;
    this.#isListening = true;
  }

  /** Lets all of them answer, which they don't before, though they listen. */
  answer(): void {
    this.#leaveGate(gate.open);
  }

  /** @returns whether the threads waited there */
  #leaveGate(state: number): boolean {
    const waited = Atomics.compareExchange(this.#gate, 0, gate.shut, state) === gate.shut;
    Atomics.notify(this.#gate, 0);
    return waited;
  }

  /** Serves these images in every thread; done when no thread answers from another any more. */
  async publish(published: Published): Promise<void> {
    await this.#ask({ type: "publish", published }, "published");
  }

  /** Has every thread answer with these files of the pages from now on. */
  showPages(files: readonly WebFile[]): void {
    for (const thread of this.#threads) thread.send({ type: "pages", files });
  }

  /** Stops accepting, answers what is in flight, closes every thread's app and waits for the threads' ends; at any time. */
  async stop(): Promise<void> {
    if (!this.#leaveGate(gate.ending)) {
      await Promise.race([
        this.#ask({ type: "drain" }, "drained"),
        delay(maxDrainMs, undefined, { ref: false }),
      ]);
      // A thread that clients keep busy would hear nothing for long.
      Atomics.store(this.#gate, 0, gate.ending);
    }
    for (const thread of this.#threads) thread.send({ type: "close" });
    await Promise.all(this.#threads.map((thread) => thread.ended));
  }

  async #ask(message: ToServe, reply: FromServe["type"]): Promise<void> {
    await Promise.all(
      this.#threads.map((thread) => {
        const replied = thread.waitFor(reply);
        thread.send(message);
        // A thread that has failed answers nothing any more.
        return Promise.race([replied, thread.ended]);
      }),
    );
  }
}
