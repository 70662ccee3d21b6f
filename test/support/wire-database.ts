import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import type { PGlite } from "@electric-sql/pglite";

/** Lets clients of PostgreSQL's protocol use PostgreSQL as WebAssembly. All their connections are one session. */

const tlsRequest = 80_877_103;

/** @param code such as `28P01` */
function errorMessage(code: string): Buffer {
  const fields = Buffer.from(`SERROR\0C${code}\0Mrefused by the test\0\0`);
  const head = Buffer.from("E\0\0\0\0");
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}

const readyForQuery = Buffer.from("Z\0\0\0\x05I");

export class WireDatabase {
  readonly #database: PGlite;
  readonly #server = createServer((socket) => this.#serve(socket));
  readonly #open = new Set<Socket>();
  /** All chunks are run one after the other, because there is one session. */
  #turn: Promise<unknown> = Promise.resolve();
  /** Connections since the start, apart from requests for TLS. */
  connections = 0;
  /** While the database is away, it closes connections. */
  isAway = false;
  /** While the database is silent, it doesn't answer. */
  isSilent = false;
  /** The code with which a query is refused, by its text; undefined for none. A start has the text `user`. */
  refusal: (text: string) => string | undefined = () => undefined;

  private constructor(database: PGlite) {
    this.#database = database;
  }

  static async serve(database: PGlite): Promise<WireDatabase> {
    const wire = new WireDatabase(database);
    wire.#server.listen(0, "127.0.0.1");
    await once(wire.#server, "listening");
    return wire;
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${(this.#server.address() as AddressInfo).port}/postgres`;
  }

  #serve(socket: Socket): void {
    if (this.isAway) socket.destroy();
    this.#open.add(socket);
    socket.on("close", () => this.#open.delete(socket));
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      if (chunk.length === 8 && chunk.readInt32BE(4) === tlsRequest) {
        socket.write("N");
        return;
      }
      const isStart = chunk[0] === 0;
      if (isStart) this.connections++;
      const code = this.refusal(chunk.toString());
      if (code === undefined) this.#turn = this.#turn.then(() => this.#run(chunk, socket));
      else if (isStart) socket.end(errorMessage(code));
      else socket.write(Buffer.concat([errorMessage(code), readyForQuery]));
    });
  }

  async #run(chunk: Buffer, socket: Socket): Promise<void> {
    if (this.isSilent) return;
    const answer = await this.#database.execProtocolRaw(chunk);
    if (socket.writable) socket.write(answer);
  }

  cut(): void {
    for (const socket of this.#open) socket.destroy();
  }

  close(): void {
    this.cut();
    this.#server.close();
  }
}
