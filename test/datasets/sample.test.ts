import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultSampleSeed, sampleCcn, syntheticSnapshot } from "../../datasets/sample/synthetic.ts";
import { assertApproved } from "../support/approved.ts";

/** Tests that a sample stays the same, because a data version that was served never gets other rows. */

test("the sample of a year, a number of rows and a seed always has the same rows", () => {
  const lines = [300, 20].flatMap((rows) =>
    Array.from({ length: 11 }, (_, i) => {
      const dataYear = 2016 + i;
      const { contentSha256, sha256, table } = syntheticSnapshot({
        ...{ dataYear, revision: 1 + (i % 2), rows, seed: defaultSampleSeed + (i % 3) },
      });
      const first = [table.facilities.name[0], table.facilities.street[0], table.rows.charge[0]].join(", ");
      return `${dataYear}, ${rows} rows: ${contentSha256} ${sha256} ${first}\n`;
    }),
  );
  assertApproved("samples.txt", lines.join(""));
});

test("a sample has from 1 to 50,000,000 rows, and its CCNs have four digits or letters after 99", () => {
  for (const rows of [0, 1.5, Number.NaN, 50_000_001])
    assert.throws(() => syntheticSnapshot({ dataYear: 2024, revision: 1, rows, seed: 1 }), {
      name: "DataError",
      message: `rows: found ${rows}, expected a whole number from 1 to 50000000`,
    });
  const { counts } = syntheticSnapshot({ dataYear: 2024, revision: 1, rows: 1, seed: 1 });
  assert.deepEqual([counts.rows, counts.facilities], [1, 1]);
  const ccns = (count: number, ...positions: number[]) => positions.map((i) => sampleCcn(i, count));
  assert.deepEqual(ccns(9999, 0, 9, 9998), ["990001", "990010", "999999"]);
  assert.deepEqual(ccns(10_000, 0, 35, 36, 9999), ["990000", "99000Z", "990010", "9907PR"]);
});
