import { hash } from "node:crypto";
import { defaultSampleRows, defaultSampleSeed, syntheticSnapshot } from "../../datasets/sample/synthetic.ts";
import { encodeSnapshot } from "../../engine/index.ts";
import { imageWith, versionsWith } from "./endpoint-oracle.ts";
import { places } from "./places.ts";

const snapshots = [2024, 2023].map((dataYear) =>
  syntheticSnapshot({ dataYear, revision: 1, rows: defaultSampleRows, seed: defaultSampleSeed }),
);

const bytes = encodeSnapshot(snapshots[0]);

/** Data versions of the size of those that a first start makes, built once for the tests of a process. */
export const sampleVersions = versionsWith(
  { bytes, sha256: hash("sha256", bytes), isChecked: true },
  ...snapshots.map((snapshot) => imageWith(snapshot, places)),
);
