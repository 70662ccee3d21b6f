import type { MessagePort } from "node:worker_threads";
import type { WantedPage, WritingResult, WrittenPage } from "./pages-part.ts";

/**
 * Carries serving threads' orders for pages to the page thread, and the written pages back. A page that isn't written is
 * sent without numbers, so that no page waits long.
 */

/** Maximum pages of a serving thread that the page thread hasn't written yet. */
export const maxOrdered = 32;
/** Maximum milliseconds that a page waits for its turn. A page whose turn comes later isn't written. */
export const maxTurnMs = 1000;

interface Order extends WantedPage {
  id: number;
  orderedMs: number;
}

interface Delivery extends WritingResult {
  id: number;
}

export class PageOrders {
  readonly #port: MessagePort;
  readonly #steadyNow: () => number;
  readonly #waiting = new Map<number, (result: WritingResult) => void>();
  #lastId = 0;
  #isClosed = false;

  /** @param steadyNow milliseconds of a steady clock that all threads share */
  constructor(port: MessagePort, steadyNow: () => number) {
    this.#port = port;
    this.#steadyNow = steadyNow;
    port.on("message", ({ id, ...result }: Delivery) => {
      this.#waiting.get(id)?.(result);
      this.#waiting.delete(id);
    });
    // When the page thread ends, the server stops. Without this, the stop would wait for the ordered pages.
    port.on("close", () => {
      this.#isClosed = true;
      for (const resolve of this.#waiting.values()) resolve({ page: undefined, cpuMs: 0 });
      this.#waiting.clear();
    });
    // Orders don't keep a thread from ending.
    port.unref();
  }

  /** Orders a page. Returns undefined if too many are ordered, or the page thread has ended. */
  write(wanted: WantedPage): Promise<WritingResult> | undefined {
    if (this.#isClosed || this.#waiting.size >= maxOrdered) return undefined;
    const id = ++this.#lastId;
    const order: Order = { ...wanted, id, orderedMs: this.#steadyNow() };
    this.#port.postMessage(order);
    return new Promise((resolve) => this.#waiting.set(id, resolve));
  }
}

/** Writes the pages that serving threads order, one after the other, in the page thread. */
export class PageWriter {
  readonly #write: (wanted: WantedPage) => WrittenPage;
  readonly #report: (error: unknown) => void;
  readonly #steadyNow: () => number;
  readonly #cpuMs: () => number;

  /**
   * @param report called with the errors of `write`
   * @param steadyNow milliseconds of a steady clock that all threads share
   * @param cpuMs returns milliseconds of CPU time that this thread has used
   */
  constructor(
    write: (wanted: WantedPage) => WrittenPage,
    report: (error: unknown) => void,
    steadyNow: () => number,
    cpuMs: () => number,
  ) {
    this.#write = write;
    this.#report = report;
    this.#steadyNow = steadyNow;
    this.#cpuMs = cpuMs;
  }

  takeFrom(port: MessagePort): void {
    port.on("message", ({ id, orderedMs, ...wanted }: Order) => {
      const begunMs = this.#cpuMs();
      const page = this.isLate(orderedMs) ? undefined : this.#writeOrReport(wanted);
      const delivery: Delivery = { id, page, cpuMs: this.#cpuMs() - begunMs };
      port.postMessage(delivery, page === undefined ? [] : [page.body.buffer]);
    });
  }

  isLate(orderedMs: number): boolean {
    return this.#steadyNow() - orderedMs > maxTurnMs;
  }

  #writeOrReport(wanted: WantedPage): WrittenPage | undefined {
    try {
      return this.#write(wanted);
    } catch (error) {
      this.#report(error);
      return undefined;
    }
  }
}
