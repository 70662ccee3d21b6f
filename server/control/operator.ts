import { once } from "node:events";
import { reasonOf } from "../../engine/query.ts";
import { OperatorConsole } from "../parts/console/console.ts";
import { History } from "../parts/console/history.ts";
import { stateOf } from "../parts/console/state.ts";
import type { Connections } from "../shared/connections.ts";
import { safely } from "../shared/safely.ts";
import type { Settings } from "../shared/settings.ts";
import type { Traffic } from "../shared/traffic.ts";
import type { SnapshotFolder } from "../snapshots/snapshots.ts";
import type { Store } from "../store/store.ts";
import { opsServer } from "./ops.ts";
import { closers, log, metrics, repeat } from "./running.ts";
import type { Health } from "./state.ts";

/** What the operator can see while the server runs: the ops listener from the first moment on, the console once it serves. */

/** Of the console's history. */
const sampleMs = 1000;

interface Operator {
  port: number;
  /** Absent until there is something to show. */
  console: OperatorConsole | undefined;
}

export async function listenOps(settings: Settings, health: Health): Promise<Operator> {
  const operator: Operator = { port: settings.opsPort, console: undefined };
  const server = opsServer({
    isReady: () => health.isFit,
    metrics,
    console: () => operator.console,
    allowedHosts: settings.opsAllowedHosts,
  });
  closers.push(() => {
    server.close();
    server.closeAllConnections();
  });
  server.listen(settings.opsPort, settings.opsHost);
  try {
    await once(server, "listening");
  } catch (error) {
    throw new Error(`can't listen on ${settings.opsHost} port ${settings.opsPort} (ops): ${reasonOf(error)}`);
  }
  // A connection that can't be accepted, because there are too many open files, is such an error.
  server.on("error", (error) => log.error({ reason: reasonOf(error) }, "the operator's listener failed"));
  const address = server.address();
  if (typeof address === "object" && address !== null) operator.port = address.port;
  return operator;
}

export function openConsole(
  operator: Operator,
  { threads }: Settings,
  health: Health,
  store: Store,
  snapshots: SnapshotFolder,
  connections: Connections,
  traffic: Traffic,
): void {
  const startedAt = new Date().toISOString();
  const usage = () => ({ connections: connections.open, memory: process.memoryUsage.rss() });
  const history = new History(traffic, usage, performance.now());
  const server = () => ({
    node: process.version,
    threads,
    started_at: startedAt,
    ready: health.isFit,
    fault: health.fault ?? null,
  });
  const shown = new OperatorConsole(history, () => stateOf(server(), snapshots, store, new Date()));
  operator.console = shown;
  // After the ready line, which must not wait for it, and before anything can happen to the files.
  setImmediate(
    safely(
      () => shown.loadFiles(),
      (error) => log.error({ reason: reasonOf(error) }, "the console's files can't be read"),
    ),
  );
  repeat("looking at what is served", sampleMs, () => shown.tick(performance.now(), Date.now()));
}
