import { setTimeout as delay } from "node:timers/promises";
import { DataError } from "../../engine/query.ts";
import type { PublishedVersion } from "../shared/messages.ts";
import type { Settings } from "../shared/settings.ts";
import { listSnapshots } from "../snapshots/folder.ts";
import { Loader } from "../snapshots/loader.ts";
import { fileOf, SnapshotFolder } from "../snapshots/snapshots.ts";
import { registryOf } from "../store/registry.ts";
import { closers, log, metrics, stdout, unlessStopping } from "./running.ts";
import type { Health, State } from "./state.ts";

/** Loads the snapshots at a start. Fills an empty default folder with a sample first. */

const sampleYears = [2023, 2024];
/** How long a start retries to load files that change while they are loaded. */
const maxChangingMs = 5000;
/** Minimum number of retries to load files that change, even if the retries take longer than `maxChangingMs`. */
const minFurtherLoads = 2;
const changingPauseMs = 250;

/** @throws DataError when DATASETS_DIR is set, and has no snapshots or can't be read */
export function checkSnapshots({ DATASETS_DIR: datasetsDir, isDefaultDatasetsDir }: Settings): void {
  if (isDefaultDatasetsDir || listSnapshots(datasetsDir).length > 0) return;
  throw new DataError(
    `DATASETS_DIR ${datasetsDir}`,
    "no snapshots",
    "at least one <year>.<revision>.parquet: hcqs fetch, hcqs import and hcqs sample write them",
  );
}

/**
 * Loads the snapshots that a start waits for: the versions in the registry, or all files if none of these can be served.
 * @throws DataError when none can be loaded
 */
export async function loadData(
  { DATASETS_DIR: datasetsDir, STATE_DIR: stateDir }: Settings,
  { store: registry, guard }: State,
  health: Health,
  publish: (published: readonly PublishedVersion[]) => Promise<void>,
): Promise<SnapshotFolder> {
  if (listSnapshots(datasetsDir).length === 0) await unlessStopping(writeSample(datasetsDir, stateDir));
  const loader = new Loader();
  const snapshots = new SnapshotFolder(datasetsDir, {
    ...{ log, metrics, registry, publish },
    fault: () => health.fault,
    flush: () => guard.checkpoint(registry),
    load: (wanted) => loader.load(wanted),
    endLoads: () => loader.end(),
  });
  closers.push(() => snapshots.close());
  const there = listSnapshots(datasetsDir);
  const known = new Set(registry.versions.all().map(({ version }) => fileOf(version)));
  await settle(snapshots, new Set(there.filter((name) => known.has(name))));
  if (snapshots.images().length === 0) await settle(snapshots, new Set(there));
  if (snapshots.images().length === 0)
    throw new DataError(`DATASETS_DIR ${datasetsDir}`, "no snapshot that can be loaded", "at least one");
  return snapshots;
}

async function settle(snapshots: SnapshotFolder, names: ReadonlySet<string>): Promise<void> {
  await unlessStopping(snapshots.settle(names));
  const endMs = performance.now() + maxChangingMs;
  for (let further = 0; snapshots.hasDropped; further++) {
    if (further >= minFurtherLoads && performance.now() > endMs) break;
    await unlessStopping(delay(changingPauseMs));
    await unlessStopping(snapshots.settle(names));
  }
}

async function writeSample(folder: string, stateDir: string): Promise<void> {
  // Loaded on demand, because the snapshot writer costs memory and start-up time.
  const [{ publishSnapshot }, { defaultSampleRows, defaultSampleSeed, syntheticSnapshot }, engine] =
    await Promise.all([
      import("../../datasets/revisions.ts"),
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
