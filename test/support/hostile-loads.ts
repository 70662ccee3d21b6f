import pino from "pino";
import { versionName } from "../../engine/index.ts";
import { Metrics } from "../../server/shared/metrics.ts";
import { Loads } from "../../server/snapshots/loads.ts";
import { SnapshotFolder } from "../../server/snapshots/snapshots.ts";
import { Store } from "../../server/store/store.ts";
import { memoryBytes } from "./memory.ts";

/** Loads a folder's snapshots like a server, and reports the memory taken. Tests start it as a process. */

export interface LoadsReport {
  served: string[];
  /** The refused files, each with the reason. */
  refused: [string, string][];
  /** The process's peak memory, minus its memory at the start. */
  takenBytes: number;
}

const [folder, stateDir, ceilingBytes] = process.argv.slice(2);
const refused: LoadsReport["refused"] = [];
const write = (line: string) => {
  const { file, reason } = JSON.parse(line);
  refused.push([file, reason]);
};
const snapshots = new SnapshotFolder(folder, {
  log: pino({ level: "error" }, { write }),
  metrics: new Metrics(),
  registry: Store.open(stateDir),
  guard: { fault: () => undefined, checkpoint: () => undefined },
  loads: new Loads(Number(ceilingBytes)),
  publish: async () => {},
});
const before = memoryBytes("VmRSS");
await snapshots.settle();
const report: LoadsReport = {
  served: snapshots.images().map(({ description }) => versionName(description.provenance)),
  refused,
  takenBytes: memoryBytes("VmHWM") - before,
};
process.stdout.write(JSON.stringify(report));
