/** What a simulation has planned: events by time, and at one time in the order they were planned in. */

export class Queue {
  readonly #heap: { ms: number; order: number; work: () => void | Promise<void> }[] = [];
  #order = 0;

  push(ms: number, work: () => void | Promise<void>): void {
    const heap = this.#heap;
    const event = { ms, order: this.#order++, work };
    let at = heap.length;
    heap.push(event);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(event, heap[parent])) break;
      heap[at] = heap[parent];
      at = parent;
    }
    heap[at] = event;
  }

  /** The next event up to a time. */
  pop(untilMs: number) {
    const heap = this.#heap;
    if (heap.length === 0 || heap[0].ms > untilMs) return undefined;
    const first = heap[0];
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1], heap[child])) child++;
      if (!isBefore(heap[child], last)) break;
      heap[at] = heap[child];
      at = child;
    }
    heap[at] = last;
    return first;
  }
}

function isBefore(a: { ms: number; order: number }, b: { ms: number; order: number }): boolean {
  return a.ms < b.ms || (a.ms === b.ms && a.order < b.order);
}
