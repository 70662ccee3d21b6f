import { test } from "node:test";
import { defaultSampleSeed, syntheticSnapshot } from "../../datasets/sample/synthetic.ts";
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
