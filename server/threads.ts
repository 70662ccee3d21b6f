import { Worker } from "node:worker_threads";
import type { FromServe, Published, ServeData, ToServe } from "./messages.ts";

/** Requests leave little behind: a larger young generation would only be memory that each thread takes. */
const maxYoungGenerationSizeMb = 8;

class ServingThread {
  readonly #worker: Worker;
  readonly #waiting = new Map<FromServe["type"], () => void>();
  readonly ended: Promise<void>;

  constructor(data: ServeData, onFailure: (reason: string) => void, onError: (stack: string) => void) {
    this.#worker = new Worker(new URL("./serve.ts", import.meta.url), {
      workerData: data,
      resourceLimits: { maxYoungGenerationSizeMb },
    });
    this.#worker.on("error", (error) => onFailure(error.message));
    this.#worker.on("message", (message: FromServe) => {
      if (message.type === "failed") onFailure(message.reason);
      else if (message.type === "error") onError(message.stack);
      else this.#waiting.get(message.type)?.();
    });
    this.ended = new Promise((resolve) => this.#worker.once("exit", () => resolve()));
  }

  /** When the thread says so. */
  async hears(type: FromServe["type"]): Promise<void> {
    await new Promise<void>((resolve) => this.#waiting.set(type, resolve));
  }

  send(message: ToServe): void {
    this.#worker.postMessage(message);
  }
}

/** All serving threads, as the control thread sees them. */
export class ServingThreads {
  readonly #threads: ServingThread[];

  /**
   * Starts threads that share a port.
   *
   * @param images what they serve at first
   * @param onFailure told when a thread ends that should not
   * @param onError told of each request that failed by our fault
   * @throws Error when one of them can't be started
   */
  static async start(
    count: number,
    data: ServeData,
    images: Published,
    onFailure: (reason: string) => void,
    onError: (stack: string) => void,
  ): Promise<ServingThreads> {
    let fail = (_reason: string) => {};
    const failed = new Promise<never>((_, reject) => {
      fail = (reason) => reject(new Error(`a serving thread can't start: ${reason}`));
    });
    let started = false;
    const threads = Array.from(
      { length: count },
      () => new ServingThread(data, (reason) => (started ? onFailure(reason) : fail(reason)), onError),
    );
    try {
      // By message: what a thread is started with stays in memory as long as the thread.
      for (const thread of threads) thread.send({ type: "publish", images });
      await Promise.race([failed, Promise.all(threads.map((thread) => thread.hears("listening")))]);
    } catch (error) {
      for (const thread of threads) thread.send({ type: "close" });
      await Promise.all(threads.map((thread) => thread.ended));
      throw error;
    }
    started = true;
    return new ServingThreads(threads);
  }

  private constructor(threads: ServingThread[]) {
    this.#threads = threads;
  }

  /** Serves these images in every thread; done when no thread answers from another any more. */
  async publish(images: Published): Promise<void> {
    await this.#ask({ type: "publish", images }, "published");
  }

  /** Stops accepting, answers what is in flight, closes every thread's app and waits for the threads' ends. */
  async stop(): Promise<void> {
    await this.#ask({ type: "drain" }, "drained");
    for (const thread of this.#threads) thread.send({ type: "close" });
    await Promise.all(this.#threads.map((thread) => thread.ended));
  }

  async #ask(message: ToServe, answer: FromServe["type"]): Promise<void> {
    await Promise.all(
      this.#threads.map((thread) => {
        const heard = thread.hears(answer);
        thread.send(message);
        // A thread that has failed answers nothing any more.
        return Promise.race([heard, thread.ended]);
      }),
    );
  }
}
