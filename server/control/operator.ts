import { once } from "node:events";
import { reasonOf } from "../../engine/query.ts";
import type { OpsPages } from "../part.ts";
import type { Settings } from "../shared/settings.ts";
import { opsServer } from "./ops.ts";
import { closers, log, metrics } from "./running.ts";
import type { Health } from "./state.ts";

/** Starts the operator's listener, before everything else. */

export interface Operator {
  port: number;
  /** Undefined until the server is ready. */
  pages: OpsPages | undefined;
}

export async function listenOps(settings: Settings, health: Health): Promise<Operator> {
  const { OPS_HOST: host, OPS_PORT: port, OPS_ALLOWED_HOSTS: allowedHosts = [] } = settings;
  const operator: Operator = { port, pages: undefined };
  const server = opsServer({
    isReady: () => health.isFit,
    metrics,
    pages: () => operator.pages,
    allowedHosts,
  });
  closers.push(() => {
    server.close();
    server.closeAllConnections();
  });
  server.listen(port, host);
  try {
    await once(server, "listening");
  } catch (error) {
    throw new Error(`can't listen on ${host} port ${port} (ops): ${reasonOf(error)}`);
  }
  // For example when too many files are open to accept a connection.
  server.on("error", (error) => log.error({ reason: reasonOf(error) }, "the operator's listener failed"));
  const address = server.address();
  if (typeof address === "object" && address !== null) operator.port = address.port;
  return operator;
}
