import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/**
 * Passes connections on, and everything comes late.
 * @param ms delay of each byte, each way @param port where it listens; 0 for any
 */
export async function delaying(to: number, ms: number, port = 0): Promise<{ port: number; close(): void }> {
  const sockets = new Set<Socket>();
  const pass = (from: Socket, other: Socket) => {
    sockets.add(from);
    from.on("data", (data) => setTimeout(() => other.write(data), ms));
    from.on("close", () => other.destroy());
    from.on("error", () => {});
  };
  const server = createServer((client) => {
    const database = connect(to, "127.0.0.1");
    client.setNoDelay();
    database.setNoDelay();
    pass(client, database);
    pass(database, client);
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
