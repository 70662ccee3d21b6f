import { once } from "node:events";
import { createServer, type ListenOptions, type Server } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { reasonOf } from "../../engine/query.ts";

/** Finds the port that the serving threads share, and prevents other servers from using it. */

/** Maximum wait for another server that is starting on the same port. */
const maxTurnMs = 10_000;
const turnStepMs = 20;

/**
 * Finds the port that threads can share, and listens on it. Serving threads share a port by SO_REUSEPORT. Two servers
 * would share it too, each getting half of the other's requests. So servers first check, one at a time, that the port
 * is free.
 * @param port 0 for any that is free
 * @param listen resolves when the threads listen
 * @throws Error when the port is taken or the address can't be listened on
 */
export async function listenAlone<Result>(
  host: string,
  port: number,
  listen: (port: number) => Promise<Result>,
): Promise<Result> {
  for (;;) {
    // Checking a port takes it for a moment, in which another server's threads couldn't listen, so servers check a
    // given port one after the other.
    const free = port === 0 ? await findFree(host, 0) : port;
    const turn = await takeTurn(free);
    try {
      if ((await findFree(host, free, port === 0)) === free) return await listen(free);
    } finally {
      await close(turn);
    }
  }
}

/** Checks that a port can be listened on. @throws Error when it is taken */
export async function checkPort(host: string, port: number): Promise<void> {
  if (port === 0) return;
  const turn = await takeTurn(port);
  try {
    await findFree(host, port);
  } finally {
    await close(turn);
  }
}

/** A port that nobody listens on now; 0 where `orNone` is set and there is none. */
async function findFree(host: string, port: number, orNone = false): Promise<number> {
  const probe = createServer();
  try {
    await listening(probe, { host, port, exclusive: true });
  } catch (error) {
    if (orNone) return 0;
    throw new Error(`can't listen on ${host} port ${port}: ${reasonOf(error)}`);
  }
  const address = probe.address();
  await close(probe);
  return typeof address === "object" && address !== null ? address.port : port;
}

/** Waits until no other server is starting on a port. The system ends a turn with its process. */
async function takeTurn(port: number): Promise<Server> {
  for (let waitedMs = 0; ; waitedMs += turnStepMs) {
    const turn = createServer();
    try {
      // A socket in the abstract namespace (unix(7)) has no file, and one owner at a time.
      await listening(turn, { path: `\0healthcare-charge-query-service port ${port}` });
      return turn;
    } catch (error) {
      if (waitedMs >= maxTurnMs)
        throw new Error(
          `another server has been starting on port ${port} for ${maxTurnMs} ms: ${reasonOf(error)}`,
        );
    }
    await delay(turnStepMs);
  }
}

async function listening(server: Server, options: ListenOptions): Promise<void> {
  server.listen(options);
  await once(server, "listening");
}

async function close(server: Server): Promise<void> {
  server.close();
  await once(server, "close");
}
