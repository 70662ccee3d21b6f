import { setTimeout as delay } from "node:timers/promises";
import { DataError } from "../../engine/query.ts";
import type { PublishedVersion } from "../shared/messages.ts";
import type { Settings } from "../shared/settings.ts";
import { listSnapshots } from "../snapshots/folder.ts";
import { loadFile } from "../snapshots/loader.ts";
import type { Mirror } from "../snapshots/mirror.ts";
import { SnapshotFolder } from "../snapshots/snapshots.ts";
import { registryOf } from "../store/registry.ts";
import { closers, log, metrics, repeat, stdout, unlessStopping } from "./running.ts";
import type { State } from "./state.ts";

/** Loads the snapshots in the folder. An empty folder is filled first, by fetching or with a sample. */

/** Interval between reads of the index. */
const mirrorMs = 10_000;
/** Interval between reads of the index while no snapshot can be served. */
const firstMirrorMs = 1000;
const sampleYears = [2023, 2024];

/** Checks that there is or will be a snapshot to serve. @throws DataError when there is none */
export function checkSnapshots({
  DATASETS_DIR: datasetsDir,
  DATASETS_URL: datasetsUrl,
  isDefaultDatasetsDir,
}: Settings): void {
  if (isDefaultDatasetsDir || datasetsUrl !== undefined || listSnapshots(datasetsDir).length > 0) return;
  throw new DataError(
    `DATASETS_DIR ${datasetsDir}`,
    "no snapshots",
    "at least one <year>.<revision>.parquet",
  );
}

/**
 * Loads the snapshots of DATASETS_DIR. If no snapshot can be loaded, waits for a snapshot from DATASETS_URL.
 * @throws DataError when no snapshot can be loaded and DATASETS_URL isn't set
 */
export async function loadData(
  { DATASETS_DIR: datasetsDir, DATASETS_URL: datasetsUrl, STATE_DIR: stateDir }: Settings,
  { store: registry, guard }: State,
  publish: (published: readonly PublishedVersion[]) => Promise<void>,
): Promise<SnapshotFolder> {
  let mirror: Mirror | undefined;
  if (datasetsUrl !== undefined) {
    // The mirror is loaded on demand, because it loads an HTTP client.
    const { Mirror } = await import("../snapshots/mirror.ts");
    mirror = new Mirror({ url: datasetsUrl, folder: datasetsDir, log });
    closers.push(() => mirror?.close());
  }
  if (listSnapshots(datasetsDir).length === 0)
    await unlessStopping(mirror?.poll(performance.now()) ?? writeSample(datasetsDir, stateDir));
  const snapshots = new SnapshotFolder(datasetsDir, {
    ...{ log, metrics, registry, guard, publish },
    load: loadFile,
  });
  closers.push(() => snapshots.close());
  await unlessStopping(snapshots.settle());
  while (mirror !== undefined && snapshots.images().length === 0) {
    await unlessStopping(delay(firstMirrorMs));
    await unlessStopping(mirror.poll(performance.now()));
    await unlessStopping(snapshots.settle());
  }
  if (snapshots.images().length === 0)
    throw new DataError(`DATASETS_DIR ${datasetsDir}`, "no snapshot that can be loaded", "at least one");
  if (mirror !== undefined) {
    repeat("looking at the index of snapshots", mirrorMs, () => mirror.poll(performance.now()));
    metrics.gauge(
      "hcqs_mirror_age_seconds",
      "Seconds since the last check of DATASETS_URL after which all snapshots of its index were in DATASETS_DIR",
      () => mirror.syncAgeMs(performance.now()) / 1000,
    );
  }
  return snapshots;
}

async function writeSample(folder: string, stateDir: string): Promise<void> {
  // Loaded on demand, because the snapshot writer costs memory and start-up time.
  const [{ publishSnapshot }, { defaultSampleRows, defaultSampleSeed, syntheticSnapshot }, engine] =
    await Promise.all([
      import("../../datasets/publish/publish.ts"),
      import("../../datasets/sample/synthetic.ts"),
      import("../../engine/index.ts"),
    ]);
  const known = registryOf({ STATE_DIR: stateDir });
  stdout.write(`no snapshots in ${folder}: writing a synthetic sample (invented facilities and amounts)\n`);
  for (const dataYear of sampleYears) {
    const options = { dataYear, rows: defaultSampleRows, seed: defaultSampleSeed };
    const path = publishSnapshot(folder, dataYear, known, (revision) =>
      engine.encodeSnapshot(syntheticSnapshot({ ...options, revision })),
    );
    stdout.write(`wrote ${path}\n`);
  }
}
