import { randomBytes } from "node:crypto";
import type { Reply } from "./reply.ts";

const prefixBytes = 8;

/** Makes the request ids of a thread. An id is the thread's random prefix and a count. */
export class RequestIds {
  readonly #prefix: string;
  #count = 0;
  #announced: string | undefined;

  constructor(random: Buffer = randomBytes(prefixBytes)) {
    this.#prefix = random.toString("hex");
  }

  next(): string {
    const id = this.#announced ?? this.#made();
    this.#announced = undefined;
    return id;
  }

  /** Returns the id that `next` will return, for a request whose reply isn't made yet. */
  announce(): string {
    this.#announced ??= this.#made();
    return this.#announced;
  }

  #made(): string {
    return `${this.#prefix}-${(this.#count++).toString(36)}`;
  }
}

/** Adds the header X-Request-Id to a reply. A head of bytes is copied, because other replies use the same bytes. */
export function withRequestId(reply: Reply, id: string): Reply {
  const line = `\r\nX-Request-Id: ${id}`;
  const { head } = reply;
  if (typeof head === "string") return { ...reply, head: head + line };
  // `Buffer.concat` would take longer.
  const bytes = Buffer.allocUnsafe(head.length + line.length);
  bytes.set(head);
  bytes.write(line, head.length, "latin1");
  return { ...reply, head: bytes };
}
