import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as v from "valibot";
import type { Image } from "../../engine/index.ts";
import { syntheticPublisher } from "../../engine/index.ts";
import { ask as askService, openService } from "../support/asking.ts";
import { ask, assertRefused, imageOf, refusal, versionsOf } from "../support/endpoint-oracle.ts";
import { type ShortRow, snapshotAs, snapshotOf } from "../support/fixtures.ts";

const year = v.object({
  data_version: v.string(),
  change: v.nullable(v.object({ median_charge: v.number(), median_allowed: v.number() })),
  matched: v.nullable(
    v.object({ facilities: v.number(), median_charge: v.number(), median_allowed: v.number() }),
  ),
});
const pinned = v.object({
  data: v.array(year),
  source: v.object({ data_versions: v.array(v.string()) }),
});
const ofVersions = v.object({ source: v.object({ data_versions: v.array(v.string()) }) });
const body = v.object({ data: v.array(year), source: v.object({ data_years: v.array(v.number()) }) });

describe("trends", () => {
  const charges = (version: string, ...rows: ShortRow[]) => imageOf(snapshotAs(version, rows));
  const hospital = (ccn: string, charge: number | null, allowed = 10): ShortRow => [
    ccn,
    "CA",
    "5072",
    charge,
    charge === null ? null : allowed,
  ];
  const versions = versionsOf(
    charges("2024.2", hospital("000001", 300), hospital("000003", 1)),
    charges("2024.1", hospital("000001", 999)),
    charges("2023.1", hospital("000001", null)),
    charges("2022.1", hospital("000001", 200, 40), hospital("000002", 400, 40)),
    charges("2021.1", hospital("000009", 7)),
  );
  const { data, source } = v.parse(body, ask(versions, "/healthcare/trends?procedure=5072"));

  test("a trend lists the years with prices from oldest to newest, each in its newest revision", () => {
    assert.deepEqual(
      data.map(({ data_version }) => data_version),
      ["2021.1", "2022.1", "2024.2"],
    );
    assert.deepEqual(source.data_years, [2021, 2022, 2024]);
  });

  test("a year is compared with the listed year before it, overall and for facilities in both", () => {
    assert.deepEqual([data[0].change, data[0].matched], [null, null]);
    assert.equal(data[1].matched, null);
    assert.deepEqual(data[2].change, { median_charge: -49.8, median_allowed: -75 });
    assert.deepEqual(data[2].matched, { facilities: 1, median_charge: 50, median_allowed: -75 });
  });

  test("a trend without any year is refused with a list of the loaded years", () => {
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

  test("a trend of named versions compares these, also superseded ones, and is repeatable", () => {
    const trendOf = (names: string, from = versions) => {
      const answer = ask(from, `/healthcare/trends?procedure=5072&versions=${names}`);
      const { data, source } = v.parse(pinned, answer);
      assert.deepEqual(
        source.data_versions,
        data.map(({ data_version }) => data_version),
      );
      return { answer, rows: data.map(({ data_version, change }) => [data_version, change?.median_charge]) };
    };
    const { rows, answer } = trendOf("2024.1,2022.1,2023.1");
    assert.deepEqual(rows, [
      ["2022.1", undefined],
      ["2024.1", 233],
    ]);
    assert.deepEqual(trendOf("2022.1,2024.1,2022.1").answer, answer);
    const newer = versionsOf(charges("2024.3", hospital("000001", 1)), ...versions.images);
    assert.deepEqual(trendOf("2022.1,2024.1", newer).answer, answer);
    const unpinned = v.parse(pinned, ask(versions, "/healthcare/trends?procedure=5072"));
    assert.deepEqual(
      v.parse(pinned, trendOf(unpinned.source.data_versions.join(","), newer).answer),
      unpinned,
    );
    for (const names of ["2022,2024", "2024,+2022+", "2022.1,2024", "2024.2,2022,2024,2022.1,2024"])
      assert.deepEqual(trendOf(names).answer, trendOf("2022.1,2024.2").answer, names);
    assert.deepEqual(trendOf("2024").rows, [["2024.2", undefined]]);
    assert.deepEqual(trendOf("2024.1,2024.2").rows, [
      ["2024.1", undefined],
      ["2024.2", -84.9],
    ]);
  });

  test("a trend of exact versions has an immutable Cache-Control header, and one of a year has not", () => {
    const { service, key } = openService(versions);
    for (const path of ["/api/v1/healthcare/trends", "/api/v1/healthcare/facilities/000001/trends"]) {
      const cacheControl = (query: string) =>
        askService(service, key, path, () => query).headers.get("Cache-Control");
      for (let i = 0; i < 3; i++) {
        assert.equal(cacheControl("procedure=5072"), "private, no-cache");
        for (const names of ["2022.1", "2022.1,+2024.1+", "2022.1,2022.1"])
          assert.equal(
            cacheControl(`procedure=5072&versions=${names}`),
            "private, max-age=31536000, immutable",
            path,
          );
        for (const names of ["2022", "2022.1,2024", "2024,2022.1"])
          assert.equal(cacheControl(`procedure=5072&versions=${names}`), "private, no-cache");
      }
    }
  });

  test("a facility's trend over named versions has only these, and none without a row there is refused", () => {
    const target = "/healthcare/facilities/000001/trends?procedure=5072";
    const versionsOfTrend = (names: string) =>
      v.parse(ofVersions, ask(versions, `${target}&versions=${names}`)).source.data_versions;
    assert.deepEqual(versionsOfTrend("2024.1"), ["2024.1"]);
    assert.deepEqual(versionsOfTrend("2024.1,2022"), ["2022.1", "2024.1"]);
    assert.equal(
      refusal(versions, `${target.replace("5072", "9999")}&versions=2022.1,2024.1`).message.split(";")[0],
      'there is no procedure "9999" in data versions 2022.1, 2024.1',
    );
    assert.match(
      refusal(versions, `${target}&versions=2019.1`).message,
      /^there is no data version "2019\.1"/,
    );
  });

  test("a trend of versions or years that aren't loaded is refused", () => {
    const told = (names: string, from = versions) => {
      const { type, param, message } = refusal(from, `/healthcare/trends?procedure=5072&versions=${names}`);
      return [type, param, message];
    };
    assert.deepEqual(told("2022.1,2019.1"), [
      "not_found",
      undefined,
      'there is no data version "2019.1"; loaded are 2024.2, 2024.1, 2023.1, 2022.1, 2021.1',
    ]);
    assert.equal(
      told("2022,2019").at(-1),
      'there is no data version "2019"; loaded are 2024.2, 2024.1, 2023.1, 2022.1, 2021.1',
    );
    const [type, param] = told("22");
    assert.deepEqual([type, param], ["invalid_parameter", "versions"]);
  });

  test("a trend has only real years if there are any, and otherwise synthetic ones", () => {
    const real = (version: string, charge: number) => charges(version, hospital("000001", charge));
    const invented = (version: string, charge: number) =>
      imageOf(snapshotAs(version, [hospital("000001", charge)], { publisher: syntheticPublisher }));
    const trendOf = (...images: Image[]) => {
      const { data, source } = v.parse(body, ask(versionsOf(...images), "/healthcare/trends?procedure=5072"));
      assert.deepEqual(
        source.data_years,
        data.map(({ data_version }) => Number(data_version.split(".")[0])),
      );
      return data.map(({ data_version, change }) => [data_version, change?.median_charge ?? null]);
    };
    const samples = [invented("2024.1", 500), invented("2023.2", 400)];
    assert.deepEqual(trendOf(...samples), [
      ["2023.2", null],
      ["2024.1", 25],
    ]);
    assert.deepEqual(trendOf(...samples, real("2023.1", 100), real("2022.1", 80), invented("2021.1", 1)), [
      ["2022.1", null],
      ["2023.1", 25],
    ]);
    assert.deepEqual(trendOf(...samples, real("2022.1", 80)), [["2022.1", null]]);
    const withoutIt = refusal(
      versionsOf(...samples, imageOf(snapshotOf([["000001", "CA", "5073", 1, 1]]))),
      "/healthcare/trends?procedure=5072",
    );
    assert.match(withoutIt.message, /^there is no procedure "5072" in any loaded data year \(\d{4}\.\d\)$/);
  });

  test("caveats that differ only in their year are shown once with all years", () => {
    const caveatOf = (...years: [dataYear: number, caveat: string][]) => {
      const images = years.map(([dataYear, caveat]) =>
        imageOf(snapshotAs(`${dataYear}.1`, [hospital("000001", 7)], { caveat })),
      );
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
