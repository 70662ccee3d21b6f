import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as v from "valibot";
import { syntheticPublisher } from "../../datasets/sample/synthetic-mark.ts";
import type { Image, Snapshot } from "../../engine/index.ts";
import { compareTrends } from "../support/distribution-oracle.ts";
import { ask, assertRefused, imageOf, refusal, versionsOf } from "../support/endpoint-oracle.ts";
import {
  asVersion,
  randomSnapshot,
  type ShortRow,
  snapshotOf,
  testProvenance,
  yearsOf,
} from "../support/fixtures.ts";

/** A procedure group over the data years. */

const ofYear = (snapshot: Snapshot, dataYear: number, revision = 1): Snapshot =>
  asVersion(snapshot, dataYear, revision);

test("the definitions give the answer for every procedure, nation and state of 3 times four random years", () => {
  let compared = 0;
  for (let seed = 801; seed <= 803; seed++) compared += compareTrends(yearsOf(randomSnapshot(seed), seed));
  assert.ok(compared > 125, `${compared} rows compared`);
});

const year = v.object({
  data_version: v.string(),
  change: v.nullable(v.object({ median_charge: v.number(), median_allowed: v.number() })),
  matched: v.nullable(
    v.object({ facilities: v.number(), median_charge: v.number(), median_allowed: v.number() }),
  ),
});
const body = v.object({ data: v.array(year), source: v.object({ data_years: v.array(v.number()) }) });

describe("a trend", () => {
  const charges = (dataYear: number, revision: number, ...rows: ShortRow[]) =>
    imageOf(ofYear(snapshotOf(rows), dataYear, revision));
  const hospital = (ccn: string, charge: number | null, allowed = 10): ShortRow => [
    ccn,
    "CA",
    "5072",
    charge,
    charge === null ? null : allowed,
  ];
  const versions = versionsOf(
    charges(2024, 2, hospital("000001", 300), hospital("000003", 1)),
    charges(2024, 1, hospital("000001", 999)),
    charges(2023, 1, hospital("000001", null)),
    charges(2022, 1, hospital("000001", 200, 40), hospital("000002", 400, 40)),
    charges(2021, 1, hospital("000009", 7)),
  );
  const { data, source } = v.parse(body, ask(versions, "/healthcare/trends?procedure=5072"));

  test("has the newest revision of every year with prices, the oldest first", () => {
    assert.deepEqual(
      data.map(({ data_version }) => data_version),
      ["2021.1", "2022.1", "2024.2"],
    );
    assert.deepEqual(source.data_years, [2021, 2022, 2024]);
  });

  test("compares with the listed year before, and facilities with themselves", () => {
    assert.deepEqual([data[0].change, data[0].matched], [null, null]);
    assert.equal(data[1].matched, null);
    assert.deepEqual(data[2].change, { median_charge: -49.8, median_allowed: -75 });
    assert.deepEqual(data[2].matched, { facilities: 1, median_charge: 50, median_allowed: -75 });
  });

  test("that no year has is refused, and the years are told", () => {
    const told = (query: string) => refusal(versions, `/healthcare/trends?${query}`).message;
    const years = "in any loaded data year (2021.1, 2022.1, 2023.1, 2024.2)";
    assert.equal(told("procedure=5073"), `there is no procedure "5073" ${years}`);
    const maryland = "Maryland's all-payer rate setting is outside the OPPS";
    assert.equal(
      told("procedure=5072&state=md"),
      `no prices for procedure "5072" in MD ${years}: ${maryland}`,
    );
    assertRefused(versions, "/healthcare/trends", "missing_parameter");
    assertRefused(versions, "/healthcare/trends?procedure=5072&limit=1", "invalid_parameter");
    assertRefused(versions, "/versions/2024/healthcare/trends?procedure=5072", "unknown_endpoint");
  });

  test("that no year has names each year's reason where these differ", () => {
    const unpriced = versionsOf(
      charges(2024, 1, hospital("000001", null), hospital("000002", null)),
      charges(2023, 1, hospital("000001", null), hospital("000002", null)),
      charges(2022, 1, hospital("000001", null)),
      charges(2021, 1, ["000001", "CA", "5073", 1, 1]),
    );
    assert.equal(
      refusal(unpriced, "/healthcare/trends?procedure=5072").message,
      'no prices for procedure "5072" in any loaded data year (2021.1, 2022.1, 2023.1, 2024.1): there is no such ' +
        "procedure (2021.1); the only row is suppressed (2022.1); all 2 rows are suppressed (2023.1, 2024.1)",
    );
  });

  test("has real years alone where there are any, and synthetic ones where there are no others", () => {
    const imageWith = (dataYear: number, revision: number, publisher: string, charge: number) => {
      const provenance = { ...testProvenance, dataYear, revision, publisher };
      return imageOf(snapshotOf([hospital("000001", charge)], provenance));
    };
    const real = (dataYear: number, revision: number, charge: number) =>
      imageWith(dataYear, revision, "CMS", charge);
    const invented = (dataYear: number, revision: number, charge: number) =>
      imageWith(dataYear, revision, syntheticPublisher, charge);
    const trendOf = (...images: Image[]) => {
      const { data, source } = v.parse(body, ask(versionsOf(...images), "/healthcare/trends?procedure=5072"));
      assert.deepEqual(
        source.data_years,
        data.map(({ data_version }) => Number(data_version.split(".")[0])),
      );
      return data.map(({ data_version, change }) => [data_version, change?.median_charge ?? null]);
    };
    const samples = [invented(2024, 1, 500), invented(2023, 2, 400)];
    assert.deepEqual(trendOf(...samples), [
      ["2023.2", null],
      ["2024.1", 25],
    ]);
    assert.deepEqual(trendOf(...samples, real(2023, 1, 100), real(2022, 1, 80), invented(2021, 1, 1)), [
      ["2022.1", null],
      ["2023.1", 25],
    ]);
    assert.deepEqual(trendOf(...samples, real(2022, 1, 80)), [["2022.1", null]]);
    const withoutIt = refusal(
      versionsOf(...samples, imageOf(snapshotOf([["000001", "CA", "5073", 1, 1]]))),
      "/healthcare/trends?procedure=5072",
    );
    assert.match(withoutIt.message, /^there is no procedure "5072" in any loaded data year \(\d{4}\.\d\)$/);
  });

  test("says a caveat once, with its years where they alone differ", () => {
    const caveatOf = (...years: [dataYear: number, caveat: string][]) => {
      const images = years.map(([dataYear, caveat]) => {
        const provenance = { ...testProvenance, dataYear, revision: 1, caveat };
        return imageOf(snapshotOf([hospital("000001", 7)], provenance));
      });
      const answer = ask(versionsOf(...images.reverse()), "/healthcare/trends?procedure=5072");
      return v.parse(v.object({ source: v.object({ caveat: v.string() }) }), answer).source.caveat;
    };
    const of = (year: number): [number, string] => [year, `Averages of ${year}; list prices.`];
    assert.equal(caveatOf(of(2021)), "Averages of 2021; list prices.");
    assert.equal(caveatOf(of(2021), of(2022), of(2024)), "Averages of 2021, 2022, 2024; list prices.");
    assert.equal(
      caveatOf(of(2021), [2022, "Invented after 2023."], [2023, "Invented after 2023."], of(2024)),
      "Averages of 2021, 2024; list prices. Invented after 2023.",
    );
  });
});
