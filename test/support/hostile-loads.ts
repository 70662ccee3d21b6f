import pino from "pino";
import { versionName } from "../../engine/index.ts";
import { Metrics } from "../../server/shared/metrics.ts";
import { loadFile } from "../../server/snapshots/loader.ts";
import { SnapshotFolder } from "../../server/snapshots/snapshots.ts";
import { Store } from "../../server/store/store.ts";
import { memoryBytes } from "./memory.ts";

/** Tests start this as a process, which loads a folder's snapshots like a server. */

export interface LoadsReport {
  served: string[];
  refused: [string, string][];
  /** Peak memory minus the memory at the start. */
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
  load: (wanted) => loadFile(wanted, { maxBytes: Number(ceilingBytes) }),
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
