import type { Pages } from "../part.ts";
import type { Connections } from "../shared/connections.ts";
import type { ServeData } from "../shared/messages.ts";
import { PerSecond } from "../shared/per-second.ts";
import type { Settings } from "../shared/settings.ts";
import type { Traffic } from "../shared/traffic.ts";
import type { SnapshotFolder } from "../snapshots/snapshots.ts";
import { listenAlone } from "./port.ts";
import { closers, end, log, throwIfStopping, unlessStopping } from "./running.ts";
import { ServingThreads } from "./serving-threads.ts";

/** Starts the serving threads on one port. */

/** The shared memory by which requests are answered. */
type Tables = Pick<ServeData, "keys" | "limits" | "areLimitsShared" | "names" | "days" | "events">;

/** The pages of a part: what serves them in serving threads, and their files. */
interface PagesOfPart {
  pages: Pages | undefined;
  pagesModule: string | undefined;
}

export async function startServing(
  settings: Settings,
  tables: Tables,
  snapshots: SnapshotFolder,
  { pages, pagesModule }: PagesOfPart,
  connections: Connections,
  traffic: Traffic,
): Promise<{ threads: ServingThreads; port: number }> {
  const accessLines = new PerSecond(settings.ACCESS_LOG);
  const reports = {
    fail(reason: string) {
      log.fatal({ reason }, "a serving thread failed");
      void end(1);
    },
    error: (stack: string, requestId?: string) => log.error({ stack, requestId }, "request failed"),
    access(access: object) {
      // Each thread alone may report as many.
      if (accessLines.pass(performance.now())) log.info(access, "request");
    },
  };
  const listen = async (port: number) => {
    throwIfStopping();
    const data = {
      ...tables,
      host: settings.HOST,
      port,
      connections: connections.buffer,
      maxConnections: connections.max,
      trustedProxies: settings.TRUSTED_PROXIES,
      corsOrigins: settings.CORS_ORIGINS ?? [],
      accessLog: settings.ACCESS_LOG,
      accessLogAccounts: settings.ACCESS_LOG_ACCOUNTS,
      pagesModule,
    };
    // Read here, because what the functions above capture stays in memory as long as they do.
    const threads = new ServingThreads(data, traffic.buffers, snapshots.published(), pages, reports);
    closers.push(() => threads.stop());
    await unlessStopping(threads.listening());
    // After everything that can fail, and before the first answer.
    snapshots.beginServing();
    threads.answer();
    return { threads, port };
  };
  return unlessStopping(listenAlone(settings.HOST, settings.PORT, listen));
}
