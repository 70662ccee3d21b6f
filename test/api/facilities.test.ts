import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as v from "valibot";
import { citiesOf, type FacilityField, type Snapshot } from "../../engine/index.ts";
import type { Versions } from "../../server/api/endpoint.ts";
import { facilitiesResponse } from "../../server/api/responses.ts";
import { ask as askService, openService } from "../support/asking.ts";
import { ask, assertRefused, imageOf, imageWith, refusal, versionsOf } from "../support/endpoint-oracle.ts";
import { changed, type ShortRow, snapshotAs, snapshotOf } from "../support/fixtures.ts";

/** Tests lists of facilities, and the trends of a facility. */

const withTexts = (snapshot: Snapshot, texts: Partial<Record<FacilityField, string[]>>) =>
  changed(snapshot, ({ facilities }) => Object.assign(facilities, texts));

const page = v.object({ data: v.array(v.object({ ccn: v.string() })) });
const ccnsIn = (versions: Versions, target: string) =>
  v.parse(page, ask(versions, target)).data.map(({ ccn }) => ccn);
const rowsOf = (versions: Versions, query: string) => ccnsIn(versions, `/healthcare/facilities?${query}`);

describe("lists of facilities", () => {
  const hospital = (ccn: string, state: string, charge: number | null, allowed: number | null): ShortRow => [
    ccn,
    state,
    "5072",
    charge,
    allowed,
  ];
  const places = {
    name: "Four places",
    zip: Int32Array.of(501, 10001, 60601, 99501),
    latitude: Int32Array.of(40_813_000, 40_748_400, 41_885_800, 61_211_600),
    longitude: Int32Array.of(-73_046_000, -73_996_700, -87_618_100, -149_876_100),
  };
  const snapshot = snapshotOf([
    hospital("000001", "NY", 100, 50),
    hospital("000002", "NY", 300, 50),
    hospital("000003", "IL", 200, 100),
    hospital("000004", "IL", null, null),
    hospital("000005", "AK", 50, null),
    ["000006", "AK", "5073", 1, 1],
  ]);
  const zip = ["00501", "10001", "60601", "", "99501", ""];
  const versions = versionsOf(imageWith(withTexts(snapshot, { zip }), places));

  test("a list has every facility, or those with a given procedure and status", () => {
    assert.deepEqual(rowsOf(versions, ""), ["000001", "000002", "000003", "000004", "000005", "000006"]);
    assert.deepEqual(rowsOf(versions, "procedure=5072"), ["000001", "000002", "000003"]);
    assert.deepEqual(rowsOf(versions, "procedure=5072&status=suppressed"), ["000004"]);
    assert.deepEqual(rowsOf(versions, "procedure=5072&status=incomplete"), ["000005"]);
    assert.deepEqual(rowsOf(versions, "procedure=5072&status=all").length, 5);
  });

  test("ties are ordered by CCN and absent values come last, ascending and descending", () => {
    const by = (query: string) => rowsOf(versions, `procedure=5072&status=all&${query}`);
    assert.deepEqual(by("sort=markup"), ["000001", "000003", "000002", "000004", "000005"]);
    assert.deepEqual(by("sort=markup&order=desc"), ["000002", "000001", "000003", "000004", "000005"]);
    assert.deepEqual(by("sort=charge&order=desc"), ["000002", "000003", "000001", "000004", "000005"]);
  });

  test("a hospital due north or south is found up to the radius itself", () => {
    // A degree of latitude has 69.09 miles.
    const north = { ...places, latitude: Int32Array.of(40_000_000, 41_000_000, 39_276_300, 38_000_000) };
    const there = { ...north, longitude: new Int32Array(4).fill(-73_000_000) };
    const on = versionsOf(imageWith(withTexts(snapshot, { zip }), there));
    const distances = (within: number) =>
      v
        .parse(
          v.object({ data: v.array(v.object({ ccn: v.string(), distance: v.number() })) }),
          ask(on, `/healthcare/facilities?near=00501&within=${within}&sort=distance`),
        )
        .data.map(({ ccn, distance }) => `${ccn} ${distance}`);
    const [here, south, far, farthest] = ["000001 0", "000003 50", "000002 69.1", "000005 138.2"];
    assert.deepEqual(distances(49), [here]);
    assert.deepEqual(distances(50), [here, south]);
    assert.deepEqual(distances(69), [here, south]);
    assert.deepEqual(distances(70), [here, south, far]);
    assert.deepEqual(distances(139), [here, south, far, farthest]);
  });

  test("a list around a ZIP code has distances in miles and counts the facilities without a place", () => {
    const answer = ask(versions, "/healthcare/facilities?near=00501&within=60&sort=distance");
    const { data, summary } = v.parse(
      v.object({
        data: v.array(v.object({ ccn: v.string(), distance: v.number() })),
        summary: v.object({ facilities: v.number(), unplaced: v.number() }),
      }),
      answer,
    );
    assert.deepEqual(data, [
      { ccn: "000001", distance: 0 },
      { ccn: "000002", distance: 49.9 },
    ]);
    assert.deepEqual(summary, { facilities: 2, unplaced: 2 });
    assert.deepEqual(rowsOf(versions, "near=00501"), ["000001", "000002"]);
    assert.deepEqual(rowsOf(versions, "near=00501&within=49"), ["000001"]);
    assert.deepEqual(rowsOf(versions, "near=99501"), ["000005"]);
  });

  test("a city is the mean of its ZIP codes, however it is written, and a city of several states needs its state", () => {
    const city = ["Saint Ives, NY", "St. Ives, NY", "Port Iowa, IL", "Saint Ives, IL", "Saint Ives, AK"];
    const latitude = Int32Array.of(40_000_000, 42_000_000, 41_000_000, 41_000_000, 60_000_000);
    const longitude = Int32Array.of(-90_000_000, -90_000_000, -90_000_000, -80_000_000, -150_000_000);
    const zips = {
      name: "Five places",
      zip: Int32Array.of(501, 10001, 60601, 60602, 99501),
      ...{ latitude, longitude, cities: citiesOf(city, { latitude, longitude }) },
    };
    const there = versionsOf(imageWith(withTexts(snapshot, { zip }), zips));
    const near = (city: string, version = there) => {
      const answer = ask(version, `/healthcare/facilities?near=${encodeURIComponent(city)}&sort=distance`);
      const { query, data } = v.parse(facilitiesResponse, answer);
      return [query.near, ...data.map(({ ccn, distance }) => `${ccn} ${distance}`)];
    };
    for (const city of ["Port Iowa", "port iowa, il", "PORT IOWA illinois", "portiowa"])
      assert.deepEqual(near(city), ["Port Iowa, IL", "000003 0"], city);
    // Both ZIP codes are a degree of latitude away from their mean.
    const answer = ask(there, "/healthcare/facilities?near=St+Ives,+NY&within=70&sort=distance");
    const { data, query } = v.parse(facilitiesResponse, answer);
    assert.equal(query.near, "Saint Ives, NY");
    assert.deepEqual(
      data.map(({ ccn, distance }) => `${ccn} ${distance}`),
      ["000003 0", "000001 69.1", "000002 69.1"],
    );
    const told = (city: string) => refusal(there, `/healthcare/facilities?near=${encodeURIComponent(city)}`);
    const several = told("st ives");
    assert.deepEqual([several.type, several.param], ["invalid_parameter", "near"]);
    assert.equal(
      several.message,
      'near is "st ives", a city in several states: AK, NY, IL; add one, as in Saint Ives, AK',
    );
    const places = several.places ?? [];
    // The first two have a hospital within 50 miles, and the third has none.
    assert.deepEqual(
      places.map(({ near }) => near),
      ["Saint Ives, AK", "Saint Ives, NY", "Saint Ives, IL"],
    );
    const unknown = (city: string) => (told(city).places ?? []).map(({ near }) => near);
    assert.deepEqual(unknown("Prot Iowa"), ["Port Iowa, IL"]);
    assert.deepEqual(unknown("Port Iowa, AK"), ["Port Iowa, IL"]);
    assert.equal(told("--").places, undefined);
    for (const text of ["Port Iowa 60601", "60601-1234", "12345 Main St, Port Iowa, IL 60601", "60601 AK"])
      assert.equal(near(text)[0], "60601", `the ZIP code in “${text}” decides`);
    assert.deepEqual(unknown("Port Iowa 99999"), ["Port Iowa, IL"]);
    assert.deepEqual(unknown("Port Iowa 6060"), ["Port Iowa, IL"]);
    assert.deepEqual(unknown("501"), ["00501"]);
    for (const county of ["Port County", "port county, IL", "Iowa Parish"])
      assert.match(
        told(county).message,
        /^near is ".*", a county, which isn't known: expected a ZIP code, or a city/,
      );
    assert.deepEqual(unknown("Port County"), []);
    for (const city of ["Saint Ives, TX", "Nowhere", "Iowa", "--"])
      assert.match(told(city).message, /expected a ZIP code, or a city with its state, whose coordinates/);
    assert.match(
      refusal(versions, "/healthcare/facilities?near=Port+Iowa").message,
      /^near is "Port Iowa", /,
    );
  });

  test("a city's nickname means the city in its state", () => {
    const city = ["New York, NY", "New York, MO", "Bronx, NY", "Philadelphia, PA", "Saint Ives, AK"];
    const latitude = Int32Array.of(40_000_000, 42_000_000, 41_000_000, 41_000_000, 60_000_000);
    const longitude = Int32Array.of(-90_000_000, -90_000_000, -90_000_000, -90_000_000, -150_000_000);
    const zips = {
      name: "Five places",
      zip: Int32Array.of(501, 10001, 60601, 60602, 99501),
      ...{ latitude, longitude, cities: citiesOf(city, { latitude, longitude }) },
    };
    const there = versionsOf(imageWith(withTexts(snapshot, { zip }), zips));
    for (const [asked, name] of [
      ["NYC", "New York, NY"],
      ["New York City", "New York, NY"],
      ["philly", "Philadelphia, PA"],
    ]) {
      const path = `/healthcare/facilities?near=${encodeURIComponent(asked)}&within=500`;
      assert.equal(v.parse(facilitiesResponse, ask(there, path)).query.near, name);
    }
  });

  test("a list by words or a HCPCS code is never immutable, and one by an APC code is in an exact version", () => {
    const { service, key } = openService(versions);
    const cacheControl = (procedure: string, version: string) => {
      const { status, headers } = askService(
        service,
        key,
        `/api/v1${version}/healthcare/facilities`,
        () => `procedure=${procedure}&status=all`,
      );
      assert.equal(status, 200, procedure);
      return headers.get("Cache-Control");
    };
    // Kept answers have the same header.
    for (let i = 0; i < 3; i++) {
      for (const asked of ["level+5072", "cpt+10140", "10140"])
        for (const version of ["", "/versions/2024", "/versions/2024.3"])
          assert.equal(cacheControl(asked, version), "private, no-cache", asked);
      assert.equal(cacheControl("5072", "/versions/2024.3"), "private, max-age=31536000, immutable");
      assert.equal(cacheControl("5072", ""), "private, no-cache");
    }
  });

  test("CCNs that the data version lacks are listed in the order in which they were given", () => {
    const unknownIn = (query: string, base = "") => {
      const answer = ask(versions, `${base}/healthcare/facilities?${query}`);
      return v.parse(v.object({ summary: v.object({ unknown: v.optional(v.array(v.string())) }) }), answer)
        .summary.unknown;
    };
    assert.deepEqual(unknownIn("ccn=000001,000002"), []);
    assert.deepEqual(unknownIn("ccn=ZZZZZZ,000001,AAAAAA,ZZZZZZ"), ["ZZZZZZ", "AAAAAA"]);
    assert.deepEqual(unknownIn("ccn=zZZzzz,000001,AAAAAA,ZZZZZZ,aaaaaa"), ["ZZZZZZ", "AAAAAA"]);
    // A facility that other conditions leave out isn't unknown.
    assert.deepEqual(unknownIn("ccn=000001,000003,ZZZZZZ&state=NY"), ["ZZZZZZ"]);
    assert.deepEqual(unknownIn("procedure=5072&ccn=000001,000006,ZZZZZZ"), ["ZZZZZZ"]);
    assert.equal(unknownIn("state=NY"), undefined);
    assertRefused(versions, "/healthcare/facilities?ccn=ZZZZZZ,AAAAAA", "not_found");
  });

  test("each page of a list has the same unknown CCNs", () => {
    let target: string | null = "/healthcare/facilities?ccn=000001,ZZZZZZ,000002,000003,AAAAAA&limit=1";
    const ccns: string[] = [];
    while (target !== null) {
      const page: v.InferOutput<typeof facilitiesResponse> = v.parse(
        facilitiesResponse,
        ask(versions, target),
      );
      const { data, summary, next } = page;
      assert.deepEqual(summary.unknown, ["ZZZZZZ", "AAAAAA"]);
      ccns.push(...data.map(({ ccn }) => ccn));
      target = next?.slice("/api/v1".length) ?? null;
    }
    assert.deepEqual(ccns, ["000001", "000002", "000003"]);
  });

  test("spaces around the entries of a list don't matter, and an entry given twice counts once", () => {
    for (const list of [
      "000001,000003",
      "+000001+,++000003",
      "000003,+000001,000003,000001+",
      "%20000001,000003",
    ])
      assert.deepEqual(rowsOf(versions, `ccn=${list}`), ["000001", "000003"], list);
    for (const list of ["NY,AK", "+ny+,+Ak", "AK,ny,NY,+NY+"])
      assert.deepEqual(rowsOf(versions, `state=${list}`), ["000001", "000002", "000005", "000006"], list);
    const many = (count: number) => Array.from({ length: count }, (_, i) => String(i).padStart(6, "0"));
    assert.equal(rowsOf(versions, `ccn=${[...many(50), "000001", "+000001"].join()}`).length, 6);
    assertRefused(versions, `/healthcare/facilities?ccn=${many(51).join()}`, "invalid_parameter");
    const inBothCases = [...many(49), "00000A", "00000a", "+00000a"].join();
    assert.equal(rowsOf(versions, `ccn=${inBothCases}`).length, 6);
    for (const list of ["", "+", "000001,", ",000001", "000001,,000003", "000001,+,000003", "000001+000003"])
      assertRefused(versions, `/healthcare/facilities?ccn=${list}`, "invalid_parameter");
  });

  test("a lowest charge may equal the highest", () => {
    for (const range of ["min_charge=300&max_charge=300.00", "min_charge=299.99&max_charge=300"])
      assert.deepEqual(rowsOf(versions, `procedure=5072&${range}`), ["000002"]);
  });

  test("the city filter ignores case, accents and abbreviations like a search", () => {
    for (const city of ["City+in+NY", "city in ny", "CITYINNY", "Cíty, in: NY"])
      assert.deepEqual(rowsOf(versions, `city=${encodeURIComponent(city).replaceAll("%2B", "+")}`), [
        "000001",
        "000002",
      ]);
    const cities = versionsOf(
      imageOf(
        withTexts(snapshotOf(["000001", "000002", "000003"].map((ccn) => hospital(ccn, "MO", 1, 1))), {
          city: ["Saint Louis", "St. Louis", "Ste Genevieve"],
        }),
      ),
    );
    for (const city of ["St Louis", "saint+louis", "ST.LOUIS"])
      assert.deepEqual(rowsOf(cities, `city=${city}`), ["000001", "000002"], city);
    assertRefused(cities, "/healthcare/facilities?city=Louis", "not_found");
    assertRefused(cities, "/healthcare/facilities?city=!!!", "not_found");
  });

  const invalid: [query: string, param: string, message: RegExp][] = [
    ["within=5", "within", /^within is for requests with near: add near, or omit it$/],
    ["sort=distance", "sort", /^sort=distance is for requests with near: /],
    ["sort=charge", "sort", /^sort=charge is for requests with procedure: /],
    ["min_charge=5", "min_charge", /^min_charge is for requests with procedure: /],
    ["status=all", "status", /procedure/],
    [
      "near=2115",
      "near",
      /expected a ZIP code of five digits, or a city .*; a leading zero may be missing, which spreadsheets drop: 02115$/,
    ],
    ["near=601", "near", /; leading zeros may be missing, which spreadsheets drop: 00601$/],
    [
      "near=123456",
      "near",
      /expected a ZIP code of five digits, or a city with its state, such as Boston, MA$/,
    ],
    ["near=", "near", /expected a ZIP code of five digits, or a city with its state, such as Boston, MA$/],
    [
      "near=12345",
      "near",
      /^near is "12345", expected a ZIP code, or a city with its state, whose coordinates are known \(Four places\)$/,
    ],
    ["state=NY,ZZ", "state", /expected 1 to 10 of AK, AL, /],
    ["ccn=12A", "ccn", /expected 1 to 50 CCNs of six letters or digits, separated by commas$/],
    ["ccn=10008", "ccn", /commas; a leading zero may be missing, which spreadsheets drop: 010008$/],
    ["ccn=050001,+10008", "ccn", /commas; a leading zero may be missing, which spreadsheets drop: 010008$/],
    [
      "procedure=5072&min_charge=9&max_charge=8",
      "min_charge",
      /^min_charge is 9, expected at most max_charge \(8\)$/,
    ],
    ["procedure=5072&min_charge=0.02&max_charge=0.01", "min_charge", /at most max_charge \(0.01\)$/],
    ["procedure=5072&min_charge=0.01&max_charge=0", "min_charge", /at most max_charge \(0\)$/],
    ["min_charge=9&max_charge=8", "min_charge", /^min_charge is for requests with procedure: /],
    [
      "procedure=5072&min_charge=1.005",
      "min_charge",
      /expected dollars from 0 to 21474836\.47, with at most two decimals$/,
    ],
    ["procedure=", "procedure", /expected an APC code, or 1 to 200 characters of words$/],
    ["page=2", "page", /^unknown parameter "page"; supported are procedure, state, city, ccn, near, /],
  ];
  for (const [query, param, message] of invalid)
    test(`a list with ${query} is refused`, () => {
      // A wrong parameter is reported even if the data version doesn't exist.
      for (const base of ["", "/versions/2019.1"]) {
        const error = refusal(versions, `${base}/healthcare/facilities?${query}`);
        assert.deepEqual([error.type, error.param], ["invalid_parameter", param]);
        assert.match(error.message, message);
      }
    });

  test("an empty list gives 404 with the reason", () => {
    const told = (query: string) => {
      const { type, message } = refusal(versions, `/healthcare/facilities?${query}`);
      assert.equal(type, "not_found");
      return message.replace(" in data version 2024.3", "");
    };
    assert.equal(told("procedure=9999"), 'there is no procedure "9999"');
    assert.equal(told("ccn=999999"), 'no facility matches "ccn=999999"');
    assert.equal(
      told("state=md"),
      'no facility matches "state=MD": Maryland\'s all-payer rate setting is outside the OPPS',
    );
    assert.equal(
      told("procedure=5072&state=AK"),
      'no facility matches "procedure=5072&state=AK": facilities with another status or charge: 1',
    );
    assert.equal(
      told("procedure=5072&near=99501"),
      'no facility matches "procedure=5072&near=99501": facilities with another status or charge: 1',
    );
    assert.equal(
      told("near=99501&ccn=000006"),
      'no facility matches "ccn=000006&near=99501": facilities whose ZIP code has no known place: 1',
    );
  });

  for (const place of ["state=NY", "city=City+in+NY", "ccn=000001,000002", "near=00501&within=60"])
    test(`the 404 of a list with ${place} counts the facilities there, whatever their rows`, () => {
      for (const rows of ["status=incomplete", "min_charge=999", "max_charge=0", "max_charge=0&status=all"])
        assert.match(
          refusal(versions, `/healthcare/facilities?procedure=5072&${place}&${rows}`).message,
          /: facilities with another status or charge: 2$/,
          rows,
        );
    });

  test("a list below a version path has only that version's facilities", () => {
    const older = snapshotAs("2023.1", [hospital("000009", "NY", 5, 5), hospital("000008", "NY", 5, 5)]);
    const both = versionsOf(...versions.images, imageWith(older, places));
    assert.deepEqual(ccnsIn(both, "/versions/2023.1/healthcare/facilities"), ["000008", "000009"]);
  });
});

describe("trends of one facility", () => {
  const imageAs = (version: string, ...rows: ShortRow[]) => imageOf(snapshotAs(version, rows));
  const versions = versionsOf(
    imageAs("2024.2", ["000001", "CA", "5072", 300, 30, "New name"], ["000002", "CA", "5072", 100, 10]),
    imageAs("2024.1", ["000001", "CA", "5072", 999, 99]),
    imageAs("2023.1", ["000001", "CA", "5072", null, null]),
    imageAs("2022.1", ["000001", "CA", "5072", 200, 40, "Old name"]),
    imageAs("2021.1", ["000001", "CA", "5072", 100, 40]),
    imageAs("2020.1", ["000001", "CA", "5073", 100, 40]),
  );
  const told = (target: string) => {
    const { type, param, message } = refusal(versions, target);
    return [type, param, message];
  };

  test("a trend has the newest revision of each year, and changes between two priced years", () => {
    const answer = ask(versions, "/healthcare/facilities/000001/trends?procedure=5072");
    const { facility, data, source } = v.parse(
      v.object({
        facility: v.object({ facility: v.string() }),
        data: v.array(v.object({ data_version: v.string(), status: v.string(), change: v.unknown() })),
        source: v.object({ data_years: v.array(v.number()), data_versions: v.array(v.string()) }),
      }),
      answer,
    );
    assert.equal(facility.facility, "New name");
    assert.deepEqual(data, [
      { data_version: "2021.1", status: "priced", change: null },
      { data_version: "2022.1", status: "priced", change: { submitted_charge: 100, medicare_allowed: 0 } },
      {
        data_version: "2023.1",
        status: "suppressed",
        change: { submitted_charge: null, medicare_allowed: null },
      },
      {
        data_version: "2024.2",
        status: "priced",
        change: { submitted_charge: null, medicare_allowed: null },
      },
    ]);
    assert.deepEqual(source.data_versions, ["2021.1", "2022.1", "2023.1", "2024.2"]);
    assert.deepEqual(source.data_years, [2021, 2022, 2023, 2024]);
  });

  test("a trend without a procedure, below a version path or without any row is refused", () => {
    const path = "/healthcare/facilities/000001/trends";
    const years = "in any loaded data year (2020.1, 2021.1, 2022.1, 2023.1, 2024.2)";
    assert.deepEqual(told(path).slice(0, 2), ["missing_parameter", "procedure"]);
    assert.deepEqual(told(`${path}?procedure=5072&state=CA`).slice(0, 2), ["invalid_parameter", "state"]);
    assertRefused(versions, `/versions/2024${path}?procedure=5072`, "unknown_endpoint");
    assertRefused(versions, `${path}/?procedure=5072`, "unknown_endpoint");
    assert.deepEqual(told(`${path}?procedure=5074`), [
      "not_found",
      undefined,
      `there is no procedure "5074" ${years}`,
    ]);
    assert.deepEqual(told("/healthcare/facilities/000002/trends?procedure=5073"), [
      "not_found",
      undefined,
      `facility "000002" has no row of procedure "5073" ${years}`,
    ]);
    assert.deepEqual(told("/healthcare/facilities/10008/trends?procedure=5072"), [
      "not_found",
      undefined,
      `there is no facility "10008" ${years}: a leading zero may be missing, which spreadsheets drop: 010008`,
    ]);
    assert.deepEqual(told("/healthcare/facilities/999999/trends?procedure=5072"), [
      "not_found",
      undefined,
      `there is no facility "999999" ${years}`,
    ]);
  });
});

test("a question for a year is pointed to the path of the year, and several states to the endpoint that takes them", () => {
  const versions = versionsOf(imageOf(snapshotOf([["000001", "NY", "5072", 100, 50]])));
  const said = (target: string) => {
    const { type, message } = refusal(versions, target);
    assert.equal(type, "invalid_parameter", target);
    return message;
  };
  for (const path of [
    "/healthcare/prices",
    "/search",
    "/healthcare/procedures",
    "/healthcare/procedures/{code}",
    "/healthcare/facilities",
    "/healthcare/facilities/{ccn}",
    "/export.csv",
  ])
    for (const name of ["year", "data_year", "version", "data_version"]) {
      const way = `; for a data year, request /api/v1/versions/2023${path}`;
      assert.ok(said(`${path}?${name}=2023`).endsWith(way), `${path} ${name}`);
    }
  assert.match(
    said("/healthcare/prices?year=last"),
    /request \/api\/v1\/versions\/\{year\}\/healthcare\/prices$/,
  );
  assert.match(said("/healthcare/trends?procedure=5072&year=2023"), /; for data years, add versions=2023$/);
  assert.match(said("/datasets?year=2023"), /none is supported here$/);
  for (const path of [
    "prices?procedure=5072",
    "trends?procedure=5072",
    "procedures/5072?bins=3",
    "procedures?limit=1",
  ])
    assert.match(
      said(`/healthcare/${path}&state=NY,NJ`),
      /; \/healthcare\/facilities takes several, separated by commas$/,
    );
  assert.doesNotMatch(said("/search?q=x&state=ZZ"), /takes several/);
});
