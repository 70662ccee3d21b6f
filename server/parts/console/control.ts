import { reasonOf } from "../../../engine/query.ts";
import type { Core, RunningPart } from "../../part.ts";
import { safely } from "../../shared/safely.ts";
import { OperatorConsole } from "./console.ts";
import { History } from "./history.ts";
import { stateOf } from "./state.ts";

/** Runs the operator's console in the control thread. */

const sampleMs = 1000;

export async function startConsole(core: Core): Promise<RunningPart> {
  const { settings, store, snapshots, accounts, connections, traffic, log } = core;
  const startedAt = new Date().toISOString();
  const refusedBy = () => {
    const counts = Array.from(accounts.names(), ([slot, name]) => [name, traffic.refusedOf(slot)] as const);
    return new Map(counts.filter(([, count]) => count > 0));
  };
  const usage = () => ({ connections: connections.open, memory: process.memoryUsage.rss() });
  const history = new History(traffic, usage, refusedBy, performance.now());
  const server = () => ({
    node: process.version,
    threads: settings.THREADS,
    started_at: startedAt,
    datasets: settings.DATASETS_DIR,
    ready: core.isReady(),
    fault: core.fault() ?? null,
  });
  const shown = new OperatorConsole(history, () => stateOf(server(), snapshots, store, new Date()));
  return {
    opsPages: shown,
    begin() {
      // The files are read before the ready line, because an update may change them later. Reading them also blocks this
      // thread for so long that the first requests might not get permits in time.
      safely(
        () => shown.loadFiles(),
        (error) => log.error({ reason: reasonOf(error) }, "the console's files can't be read"),
      )();
      core.repeat("sampling what is served", sampleMs, () => shown.tick(performance.now(), Date.now()));
    },
  };
}
