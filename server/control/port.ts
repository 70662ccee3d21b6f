import { once } from "node:events";
import { createServer, type ListenOptions, type Server } from "node:net";
import { reasonOf } from "../../engine/query.ts";

/**
 * Claims a free port until this process ends. Otherwise a second server could share it unnoticed, because serving threads
 * share a port by SO_REUSEPORT.
 * @param port 0 for any free port
 * @throws Error when the port is taken or the address can't be listened on
 */
export async function claimPort(host: string, port: number): Promise<number> {
  // A given port is claimed before it is checked, because the check takes the port for a moment. The threads of another
  // server couldn't listen on the port in that moment.
  if (port !== 0 && !(await claim(host, port)))
    throw new Error(`can't listen on ${host} port ${port}: another server uses it`);
  for (;;) {
    const free = await findFree(host, port);
    if (port !== 0 || (await claim(host, free))) return free;
  }
}

/** Checks that nobody listens on a port, or finds a free port for 0. @throws Error when the port can't be used */
async function findFree(host: string, port: number): Promise<number> {
  const probe = createServer();
  try {
    await listening(probe, { host, port, exclusive: true });
  } catch (error) {
    throw new Error(`can't listen on ${host} port ${port}: ${reasonOf(error)}`);
  }
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  return typeof address === "object" && address !== null ? address.port : port;
}

/**
 * Claims a port by a socket in the abstract namespace (unix(7)). Such a socket has no file and one owner, and ends with
 * its process. Returns false if this fails, usually because another process has claimed the port.
 */
async function claim(host: string, port: number): Promise<boolean> {
  const mark = createServer().unref();
  try {
    await listening(mark, { path: `\0healthcare-charge-query-service ${host} port ${port}` });
    return true;
  } catch {
    return false;
  }
}

async function listening(server: Server, options: ListenOptions): Promise<void> {
  server.listen(options);
  await once(server, "listening");
}
