import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** A proxy between servers and a Redis. It can delay, hold or cut connections. */

export class RedisProxy {
  /** Milliseconds in each direction. */
  delayMs = 0;
  /** Whether to cut the connection instead of passing on the next answer, after Redis has executed the command. */
  losesAnswer = false;
  readonly #path: string;
  readonly #server = createServer((client) => this.#pass(client));
  readonly #sockets = new Set<Socket>();
  #isHolding = false;
  #held: (() => void)[] = [];

  constructor(path: string) {
    this.#path = path;
  }

  /** @returns the proxy's URL */
  async listen(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const address = this.#server.address();
    if (typeof address !== "object" || address === null) throw new Error("the proxy has no port");
    return `redis://127.0.0.1:${address.port}`;
  }

  /** Nothing passes until `release`. */
  hold(): void {
    this.#isHolding = true;
  }

  release(): void {
    this.#isHolding = false;
    for (const send of this.#held.splice(0)) send();
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #pass(client: Socket): void {
    const redis = connect(this.#path);
    for (const [from, to] of [
      [client, redis],
      [redis, client],
    ]) {
      this.#sockets.add(from);
      from.setNoDelay(true);
      from.on("error", () => {});
      from.on("close", () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      // Each chunk waits for the previous chunk, so that delays don't change the chunks' order.
      let sent = Promise.resolve();
      from.on("data", (bytes) => {
        if (this.losesAnswer && from === redis) {
          this.losesAnswer = false;
          client.destroy();
          return;
        }
        const send = () => void to.write(bytes);
        const { delayMs } = this;
        const arrival = delayMs > 0 ? new Promise((resolve) => setTimeout(resolve, delayMs)) : undefined;
        sent = sent.then(() => arrival).then(() => void (this.#isHolding ? this.#held.push(send) : send()));
      });
    }
  }
}
