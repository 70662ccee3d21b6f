import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { procedureFigures } from "../../datasets/sample/calibration.ts";
import { type DocumentKind, sealSnapshot } from "../../engine/index.ts";
import { plainWordsOf } from "../../engine/search/procedure-words.ts";
import { hcpcs } from "../support/addendum.ts";
import { dataPath } from "../support/data.ts";
import { imageOf } from "../support/fixtures.ts";
import { seededRandom } from "../support/random.ts";
import {
  type Expectation,
  find,
  missesOf,
  namedProcedures,
  realHospitals,
  rewritten,
  snapshotOfHospitals,
} from "../support/relevance.ts";

/** Tests how well searches find real hospitals by other spellings, and what sets of judged queries ask for. */

const hospitals = realHospitals();
const directory = imageOf(snapshotOfHospitals(hospitals));
const procedures = imageOf(namedProcedures());

test("a hospital is the first result for other spellings of its name", (t) => {
  for (const [i, [way, all]] of [...rewritten(hospitals)].entries()) {
    // There are six ways of writing, so each hospital is searched about once.
    const queries = all.filter((_, at) => at % 6 === i % 6);
    const misses = missesOf(directory, hospitals, queries);
    t.diagnostic(`${way}: ${misses.length} of ${queries.length} missed`);
    const isAmbiguous = way === "hospital for medical center and the other way, with the city";
    assert.ok(misses.length <= (isAmbiguous ? 0.01 : 0.001) * queries.length, misses.join("\n"));
  }
});

/** No expected results mean that nothing may be found. */
const searchesFor = (kind: DocumentKind) =>
  readFileSync(dataPath(`search/${kind}-searches.tsv`), "utf8")
    .trim()
    .split("\n")
    .map((line): Expectation => {
      const [query, expected] = line.split("\t");
      return [query, ...(expected === "none" ? [] : expected.split(","))];
    });

test("at least 98 % of the hospital queries find the right one first", (t) => {
  // The directory has no ZIP codes.
  const queries = searchesFor("facility").filter(([query]) => !/near \d{5}/.test(query));
  const ccns = new Set(hospitals.map(({ ccn }) => ccn));
  for (const [query, ...expected] of queries)
    for (const each of expected) assert.ok(each.startsWith("@") || ccns.has(each), `${query}: ${each}`);
  const misses = missesOf(directory, hospitals, queries);
  t.diagnostic(`${misses.length} of ${queries.length} missed`);
  assert.ok(misses.length <= 0.02 * queries.length, misses.join("\n"));
});

test("at least 98 % of the procedure queries get the right first result, and few wrong ones score 0.5 or more", (t) => {
  // Each group gets descriptors with random words of patients. These words must change few first results.
  const moved: string[] = [];
  const random = seededRandom(8);
  const words = Object.values(plainWordsOf).flatMap(({ terms }) => terms.flatMap((term) => term.split(" ")));
  const codes = Array.from({ length: 40 * procedureFigures.length }, (_, i) =>
    hcpcs(
      String(10_000 + i),
      procedureFigures[i % procedureFigures.length].code,
      random.shuffled(words).slice(0, 4).join(" "),
    ),
  );
  const named = namedProcedures();
  const coded = imageOf(sealSnapshot(named.table, named.provenance, codes));
  const queries = searchesFor("procedure");
  const wrong = queries.flatMap(([query, ...expected]) => {
    const [first] = find(procedures, query, "procedure", 1);
    const isRight = first === undefined ? expected.length === 0 : expected.includes(first.code);
    if (isRight && find(coded, query, "procedure", 1)[0]?.code !== first?.code) moved.push(query);
    return isRight ? [] : [{ query, score: first?.score ?? 0 }];
  });
  const sure = wrong.filter(({ score }) => score >= 0.5);
  t.diagnostic(`${wrong.length} of ${queries.length} missed, ${sure.length} of them with 0.5 or more`);
  assert.ok(wrong.length <= 0.02 * queries.length, wrong.map(({ query }) => query).join("; "));
  assert.ok(sure.length <= 0.01 * queries.length, sure.map(({ query }) => query).join("; "));
  assert.ok(moved.length <= 0.02 * queries.length, moved.join("; "));
  const known = new Set(procedureFigures.map(({ code }) => code));
  for (const code of Object.keys(plainWordsOf)) assert.ok(known.has(code), code);
});
