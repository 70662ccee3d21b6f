import { syntheticSnapshot } from "../../datasets/sample/synthetic.ts";
import type { Snapshot } from "../../engine/index.ts";
import { ask as askEndpoint, imageOf, imageWith, versionsOf } from "./endpoint-oracle.ts";
import { snapshotOf } from "./fixtures.ts";
import { places } from "./places.ts";

/** The API's answers about a few small data versions, from which tests draw pages. */

/** What JSON holds. Answers are read as the scripts of pages read them. */
export type Any = ReturnType<typeof JSON.parse>;

const sample = (dataYear: number, revision: number, rows: number) =>
  syntheticSnapshot({ dataYear, revision, rows, seed: 3 });
/** Makes a version that says that it comes from a file. Versions of so many rows have the same hospitals. */
const published = (dataYear: number, revision: number, rows: number): Snapshot => {
  const snapshot = sample(dataYear, revision, rows);
  const provenance = {
    ...snapshot.provenance,
    ...{ title: `Charges of ${dataYear}`, publisher: "CMS" },
    caveat: dataYear % 2 === 0 ? "This file has only a few hospitals." : "All hospitals.",
    sourceSha256: String(dataYear).repeat(16),
    sourceUrl: `https://data.example/${dataYear}.csv`,
    released: `${dataYear + 2}-0${revision}`,
    totals: { checked: 40, agree: 40 - (dataYear % 2), worst: "Texas, 5072", differ: dataYear % 2 },
  };
  return { ...snapshot, isSynthetic: false, provenance };
};
type Short = Parameters<typeof snapshotOf>[0][number];
/** Few hospitals, and none with a ZIP code: the procedures have one, two, three and nine prices. */
const small = snapshotOf([
  ["000001", "CA", "5072", 1000, 250],
  ["000002", "CA", "5072", null, null],
  ["000001", "CA", "5073", 1000, 250],
  ["000002", "CA", "5073", 3000, 200],
  ["000001", "CA", "5091", 700, 900],
  ["000002", "CA", "5091", 800, 900],
  ["000003", "TX", "5091", 900, 950],
  ...Array.from(
    { length: 9 },
    (_, i): Short => [`00001${i}`, i < 8 ? "NY" : "TX", "5092", 1000 * (i + 1), 300 + 10 * i],
  ),
  ["000001", "CA", "5093", null, null],
  ["000003", "TX", "5094", 5, 0.5],
]);
export const versions = versionsOf(
  imageWith(published(2024, 1, 5500), places),
  ...[published(2023, 2, 3000), published(2023, 1, 200), published(2022, 1, 1500)].map(imageOf),
  imageOf({ ...small, provenance: { ...small.provenance, dataYear: 2021, revision: 1 } }),
  imageOf(sample(2020, 1, 300)),
);

const answers = new Map<string, Any>();

/**
 * Asks once for each URL, because pages and tests ask the same again and again.
 *
 * @param url follows `/api/v1`
 */
export function answer(url: string): Any {
  const known = answers.get(url);
  if (known !== undefined) return known;
  const made = askEndpoint(versions, url);
  answers.set(url, made);
  return made;
}
