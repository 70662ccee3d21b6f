import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as v from "valibot";
import { coverageOf } from "../../engine/index.ts";
import { sealSnapshot } from "../../engine/snapshot/snapshot.ts";
import { assertApproved } from "../support/approved.ts";
import { ask, imageOf, imageWith, refusal, versionsOf } from "../support/endpoint-oracle.ts";
import { changed, type ShortRow, snapshotAs, snapshotOf } from "../support/fixtures.ts";
import { places } from "../support/places.ts";
import { placed } from "../support/relevance.ts";

/** Tests that a 404 gives the reason why there is no data. */

const suppressed = (count: number, state: string, code: string): ShortRow[] =>
  Array.from({ length: count }, (_, i) => [
    `${state}${code.slice(2)}${String(i).padStart(2, "0")}`,
    state,
    code,
    null,
    null,
  ]);

const versions = versionsOf(
  imageOf(
    snapshotOf([
      ["000001", "CA", "5072", 10, 1],
      ["000001", "CA", "5073", 10, 1],
      ["000002", "NV", "5072", 10, 1],
      ["000002", "NV", "5111", 10, null],
      ["000002", "NV", "5112", null, null],
      ["000003", "NY", "5072", null, null],
      ["000003", "NY", "5073", null, null],
      ["000003", "NY", "5111", 0, 1],
      ...suppressed(30, "CA", "5115"),
      ...suppressed(7, "TX", "5115"),
      ["000004", "TX", "5116", null, 1],
    ]),
  ),
);
const [version] = versions.byName.keys();
const reasonIn = (state: string) =>
  coverageOf(versions.images[0]).missing_states.find((missing) => missing.state === state)?.reason;

/** Asserts that the message of a 404 names the data version, and removes the version. */
function toldFor(target: string): string {
  for (const base of ["", `/versions/${version}`])
    assert.equal(refusal(versions, base + target).type, "not_found");
  const { message } = refusal(versions, target);
  assert.ok(message.includes(` in data version ${version}`), message);
  return message.replace(` in data version ${version}`, "");
}

/** Requests without data, each with the expected message. */
const messages: Record<string, [target: string, message: string][]> = {
  "a price list": [
    ["procedure=9999", 'there is no procedure "9999"'],
    ["procedure=9999&state=MD", 'there is no procedure "9999"'],
    ["procedure=5115", 'no prices for procedure "5115": all 37 rows are suppressed'],
    ["procedure=5115&state=ca", 'no prices for procedure "5115" in CA: all 30 rows are suppressed'],
    ["procedure=5072&state=NY", 'no prices for procedure "5072" in NY: the only row is suppressed'],
    ["procedure=5111", 'no prices for procedure "5111": all 2 rows are incomplete'],
    ["procedure=5116", 'no prices for procedure "5116": the only row is incomplete'],
    ["procedure=5073&state=NV", 'no prices for procedure "5073" in NV: the data has no row of it there'],
    ...["MD", "GU", "PR", "WY"].map((state): [string, string] => [
      `procedure=5072&state=${state}`,
      `no prices for procedure "5072" in ${state}: ${reasonIn(state)}`,
    ]),
  ].map(([query, message]) => [`/healthcare/prices?${query}`, message]),
  "a list of procedures": [
    ["state=NY", "no procedure has a facility with prices in NY: all 3 rows are suppressed or incomplete"],
    [
      "state=TX&min_facilities=5",
      "no procedure has 5 facilities with prices in TX: all 8 rows are suppressed or incomplete",
    ],
    ["state=md", `no procedure has a facility with prices in MD: ${reasonIn("MD")}`],
    ["min_facilities=3", "no procedure has 3 facilities with prices"],
    ["state=CA&min_facilities=2", "no procedure has 2 facilities with prices in CA"],
  ].map(([query, message]) => [`/healthcare/procedures?${query}`, message]),
  "a facility": [
    ["000009", 'there is no facility "000009"'],
    ["1234567", 'there is no facility "1234567"'],
    ["00A", 'there is no facility "00A"'],
    ["10008", 'there is no facility "10008": a leading zero may be missing, which spreadsheets drop: 010008'],
    ["9", 'there is no facility "9": leading zeros may be missing, which spreadsheets drop: 000009'],
  ].map(([ccn, message]) => [`/healthcare/facilities/${ccn}`, message]),
  "a search whose every match has no price": [
    ["5115&type=procedure", 'no procedure that matches "5115" has prices: all 37 rows are suppressed'],
    ["CA1500", 'no facility that matches "CA1500" has prices: the only row is suppressed'],
    ...["city in ny 000003", "city in ny"].map((q): [string, string] => [
      q.replaceAll(" ", "+"),
      `no facility that matches "${q}" has prices: all 3 rows are suppressed or incomplete`,
    ]),
  ].map(([query, message]) => [`/search?q=${query}`, message]),
};

for (const [what, cases] of Object.entries(messages))
  test(`the 404 for ${what} says why there is no data`, () => {
    for (const [target, message] of cases) assert.equal(toldFor(target), message, target);
  });

test("the catalog gives a reason for each missing state", () => {
  assert.match(String(reasonIn("MD")), /all-payer/);
  for (const state of ["GU", "PR", "WY"]) assert.ok(reasonIn(state), state);
});

test("the 404 for a list of procedures without any prices says how many rows are suppressed", () => {
  const bare = versionsOf(imageOf(snapshotOf(suppressed(12, "CA", "5115"))));
  assert.match(refusal(bare, "/healthcare/procedures").message, /: all 12 rows are suppressed$/);
});

test("the 404 for a missing procedure or facility names a loaded data version that has it", () => {
  const years = versionsOf(
    imageOf(snapshotAs("2024.1", [["05000A", "CA", "5072", 10, 1]])),
    imageOf(snapshotAs("2023.1", [["000002", "CA", "5073", 10, 1]])),
    imageOf(snapshotAs("2022.1", [["05000B", "CA", "5074", 10, 1]])),
  );
  for (const [target, message] of [
    ...[
      ...["/healthcare/prices?procedure=5074", "/healthcare/prices?procedure=5074&state=CA&limit=5"],
      ...["/healthcare/procedures/5074", "/export.csv?procedure=5074", "/export.arrow?procedure=5074"],
    ].map((target) => [target, 'procedure "5074" in data version 2024.1: data version 2022.1 has it']),
    ["/healthcare/procedures/9999", 'procedure "9999" in data version 2024.1'],
    ["/healthcare/facilities/000002", 'facility "000002" in data version 2024.1: data version 2023.1 has it'],
    ["/healthcare/facilities/05000b", 'facility "05000b" in data version 2024.1: data version 2022.1 has it'],
    [
      "/versions/2022/healthcare/facilities/05000A",
      'facility "05000A" in data version 2022.1: data version 2024.1 has it',
    ],
    ["/healthcare/facilities/000009", 'facility "000009" in data version 2024.1'],
  ]) {
    const { type, message: found } = refusal(years, target);
    assert.deepEqual([type, found], ["not_found", `there is no ${message}`], target);
  }
});

describe("data versions", () => {
  const told = (asked: string) =>
    refusal(versions, `/versions/${asked}/healthcare/prices?procedure=5072`).message;

  test("the 404 for an unknown data version lists the loaded ones", () => {
    const loaded = `loaded are ${version}`;
    assert.equal(told("1999.1"), `there is no data version "1999.1"; ${loaded}`);
    assert.equal(told("1999"), `there is no data version "1999"; ${loaded}`);
  });
});

describe("the message of a search without results", () => {
  const hospitals = versionsOf(
    placed(
      ["Georgetown Hospital", "Tampa", "FL"],
      ["Grace Clinic", "Boise", "ID"],
      ["Grace Memorial", "Tampa", "FL"],
      ["Level Hospital", "Boise", "ID"],
    ),
  );
  const told = (query: string) => refusal(hospitals, `/search?${query}`).message;

  for (const [what, query, message] of [
    [
      "names the word that nothing matches, and hospitals with a word near it",
      "gorgetwn+hospital",
      'no facility matches "gorgetwn hospital" in data version 2024.3: nothing matches "gorgetwn"; similar names: Georgetown Hospital (000001, Tampa FL)',
    ],
    [
      "names what the other words find where nothing is near",
      "grace+xqxq",
      /: nothing matches "xqxq"; similar names: Grace Clinic \(000002, Boise ID\), Grace Memorial \(/,
    ],
    [
      "of one word names it once",
      "Gorgetwn",
      'no facility matches "Gorgetwn" in data version 2024.3; similar names: Georgetown Hospital (000001, Tampa FL)',
    ],
    [
      "of one word without others near says what hospitals there are",
      "xqxq",
      /^no facility matches "xqxq" in data version 2024.3; this data set has hospitals that Medicare pays under the OPPS/,
    ],
    ...["grace+boise+tampa", "grace+tampa+boise", "tampa+grace+boise"].map(
      (words) =>
        [
          "names the word that doesn't go with the others, and what these find",
          words,
          /: nothing that matches the other words matches "boise"; similar names: Grace Memorial \(000003, Tampa FL\)$/,
        ] as const,
    ),
    ["of a text without a word says so", "!!!", /: it has no word in it$/],
    ...["APC+5072", "apc5072"].map(
      (q) =>
        [
          "says where procedures match",
          q,
          /: nothing matches "5072"; procedures match with type=procedure$/,
        ] as const,
    ),
    [
      "of a code alone says where procedures match",
      "5072",
      /"5072" in data version 2024.3; procedures match with type=procedure$/,
    ],
  ] as const)
    test(`${what}: ${query}`, () => {
      if (typeof message === "string") assert.equal(told(`q=${query}`), message);
      else assert.match(told(`q=${query}`), message);
    });

  test("the message names procedures that the data set does not hold", () => {
    for (const [q, term] of [
      ["MRI", "MRI"],
      ["ct+scan", "CT scan"],
      ["emergency+visit", "Emergency department visit"],
      ["er", "Emergency department visit"],
      ["c-section", "Childbirth"],
    ]) {
      const said = new RegExp(`: "${term}" is not in this data set\\. .+ See https://`);
      assert.match(told(`q=${q}&type=procedure`), said);
      if (q !== "er") assert.match(told(`q=${q}`), said);
    }
  });

  test("the message names the kinds of hospitals that the data set does not have", () => {
    for (const [q, said] of [
      ["Johns+Hopkins", /: "Hospitals in Maryland" is not in this data set\. /],
      ["Houston+VA", /: "Hospitals of Veterans Affairs" is not in this data set\. .+ See https:/],
      ["VA+hospital", /Medicare doesn't pay hospitals of Veterans Affairs/],
      ["Walter+Reed+Army", /: "Military hospitals" is not in this data set\. /],
      ["Shriners", /: "Children's hospitals" is not in this data set\. /],
    ] as const)
      assert.match(told(`q=${q}`), said);
    const inMaryland = versionsOf(placed(["Mercy Hospital", "Baltimore", "MD"]));
    assert.doesNotMatch(refusal(inMaryland, "/search?q=Johns+Hopkins").message, /Maryland/);
    const inVirginia = versionsOf(placed(["Mercy Hospital", "Norfolk", "VA"]));
    assert.match(refusal(inVirginia, "/search?q=VA+hospital+Houston").message, /Veterans Affairs/);
    assert.match(
      told("q=qxqx&type=procedure"),
      /2024.3; \/healthcare\/procedures lists all procedure groups$/,
    );
  });

  test("the message says that a territory has no hospital here, and that no hospital has a CCN", () => {
    for (const q of ["hospitals+in+Guam", "San+Juan+Puerto+Rico", "mercy+hospital+PR", "pr+hospital"])
      assert.match(told(`q=${q}`), /: this data set has no hospital in (Guam \(GU\)|Puerto Rico \(PR\))$/, q);
    assert.match(
      told("q=ccn+999999"),
      /: no hospital has the CCN 999999; search by its name and city instead$/,
    );
    assert.match(told("q=99999"), /: no hospital has the ZIP code or CCN 99999; search by its name and/);
  });

  test("within a state without hospitals, words for any hospital say so, and Maryland has its reason", () => {
    assert.match(told("q=hospital&state=GU"), /: this data set has no hospital in Guam \(GU\)$/);
    for (const q of ["hospital", "grace"])
      assert.match(told(`q=${q}&state=MD`), /: "Hospitals in Maryland" is not in this data set\. /);
    assert.match(told("q=grace&state=GU"), / in GU in data version 2024.3: 2 with prices match in other/);
  });

  test("a place alone in a search for procedures is called one", () => {
    for (const q of ["Tampa", "Boise, ID", "Idaho"])
      assert.match(told(`q=${q}&type=procedure`), /: "(Tampa|Boise, ID|Idaho)" is a place, and names no pro/);
  });

  test("what is absent is said first, also beside a code or a ZIP code", () => {
    for (const q of ["CT+scan+74177", "mammogram+77067"])
      assert.match(told(`q=${q}&type=procedure`), /isn't in this data|not in this data|this data/, q);
  });

  test("the message about a sentence names the word that isn't one of a sentence", () => {
    assert.match(told("q=my+mother+was+taken+to+qxqxqx"), /: nothing matches "qxqxqx"/);
  });

  test("the message repeats no API key, whole or in part", () => {
    const key = `hcq_${"a1B2c3D4e5".repeat(5)}`;
    for (const q of [key, `grace+${key}`]) assert.doesNotMatch(told(`q=${q}`), /a1b2c3/i);
  });
});

describe("searches over rows without a price", () => {
  test("a search lists only facilities with prices", () => {
    const found = v.parse(
      v.object({ summary: v.object({ matches: v.number() }), data: v.array(v.object({ ccn: v.string() })) }),
      ask(versions, "/search?q=hosp&limit=50"),
    );
    assert.deepEqual(
      found.data.map(({ ccn }) => ccn),
      ["000001", "000002"],
    );
    assert.equal(found.summary.matches, 2);
  });

  test("a search that found only rows without a price doesn't change the results of later ones", () => {
    const ask5072 = () => ask(versions, "/search?q=level+procedures&type=procedure");
    const before = ask5072();
    for (let i = 0; i < 3; i++) toldFor("/search?q=5115&type=procedure");
    assert.deepEqual(ask5072(), before);
  });
});

test("the 404 of a list around a place says why no hospital is there", () => {
  const cities = [
    ["hagatna GU", "Hagatna, GU", 13_470_000, 144_750_000],
    ["baltimore MD", "Baltimore, MD", 39_290_000, -76_610_000],
    ["washington DC", "Washington, DC", 38_900_000, -77_030_000],
    ["glasgow MT", "Glasgow, MT", 48_190_000, -106_630_000],
    ["charlotteamalie VI", "Charlotte Amalie, VI", 18_340_000, -64_930_000],
  ] as const;
  const places = {
    name: "test",
    zip: Int32Array.of(802, 20_001, 21_201, 59_230, 96_910),
    latitude: Int32Array.of(18_340_000, 38_900_000, 39_290_000, 48_190_000, 13_470_000),
    longitude: Int32Array.of(-64_930_000, -77_030_000, -76_610_000, -106_630_000, 144_750_000),
    cities: {
      key: cities.map(([key]) => key).toSorted(),
      name: cities.toSorted((a, b) => (a[0] < b[0] ? -1 : 1)).map(([, name]) => name),
      zips: cities.map(() => 1),
      latitude: cities.toSorted((a, b) => (a[0] < b[0] ? -1 : 1)).map(([, , latitude]) => latitude),
      longitude: cities.toSorted((a, b) => (a[0] < b[0] ? -1 : 1)).map(([, , , longitude]) => longitude),
    },
  };
  const snapshot = snapshotOf([
    ["000001", "DC", "5072", 3, 1],
    ["000002", "MT", "5072", null, null],
    ["000003", "DC", "5072", 4, 1],
  ]);
  const zips: Record<string, string> = { "000001": "20001", "000002": "59230", "000003": "99999" };
  const { facilities, procedures, rows } = snapshot.table;
  const zip = facilities.ccn.map((ccn) => zips[ccn]);
  const table = { facilities: { ...facilities, zip }, procedures, rows };
  const on = versionsOf(imageWith(sealSnapshot(table, snapshot.provenance), places));
  const told = (query: string) =>
    refusal(on, `/healthcare/facilities?${query}`).message.replace(/^.*?"[^"]*" in data version \S+: /, "");
  const outside = "hospitals there are outside the OPPS";
  for (const [query, message] of [
    ["near=96910", `no hospital is within 50 miles of it, and it is in GU: ${outside}`],
    ["near=Hagatna,+GU&within=500", `no hospital is within 500 miles of it, and it is in GU: ${outside}`],
    ["near=00802&procedure=5072", `no hospital is within 50 miles of it, and it is in VI: ${outside}`],
    [
      "near=21201&within=5",
      "no hospital is within 5 miles of it, and it is in MD: Maryland's all-payer rate setting is outside the OPPS",
    ],
    [
      "near=21201&within=1",
      "no hospital is within 1 mile of it, and it is in MD: Maryland's all-payer rate setting is outside the OPPS",
    ],
    ["near=59230&state=DC", "hospitals within 50 miles that don't meet the other conditions: 1"],
    ["near=59230&procedure=5072", "facilities with another status or charge: 1"],
    ["near=59230&ccn=000001", "hospitals within 50 miles that don't meet the other conditions: 1"],
    ["near=20001&ccn=000003", "facilities whose ZIP code has no known place: 1"],
  ] as const)
    assert.equal(told(query), message, query);
});

test("what refused requests are told is as it was approved", () => {
  const rows: ShortRow[] = [
    ["000001", "IL", "5115", 100, 10, "Mercy Hospital"],
    ["000002", "IL", "5072", 50, 5, "Grace Hospital"],
    ["000002", "IL", "5073", 50, 5],
  ];
  const snapshot = changed(snapshotOf(rows), ({ facilities }) => {
    facilities.city = ["Springfield", "Chicago"];
    facilities.zip = ["62702", "60611"];
  });
  const [known, withoutPlaces] = [imageWith(snapshot, places), imageOf(snapshot)].map((image) =>
    versionsOf(image),
  );
  const targets = `
    /healthcare/facilities?procedure=5072&min_charge=5&max_charge=4
    /healthcare/facilities?procedure=5072&min_charge=5.001
    /healthcare/facilities?city=
    /healthcare/facilities?near=Springfield
    /healthcare/facilities?near=00000
    /healthcare/facilities?near=Chicagoo
    /healthcare/facilities?near=Cook+County
    /healthcare/facilities?near=2115
    /healthcare/facilities?near=123
    /healthcare/facilities?near=12345678
    /healthcare/facilities?near=Xqxq
    /healthcare/facilities?near=x
    /healthcare/facilities?near=chicago+7
    /healthcare/facilities?within=5
    /healthcare/facilities?sort=distance
    /healthcare/facilities?sort=charge
    /healthcare/facilities?status=all
    /healthcare/facilities?procedure=excision
    /healthcare/facilities?procedure=knee+replacement+in+Chicago
    /healthcare/facilities?ccn=12345
    /healthcare/facilities?ccn=1,10001
    /healthcare/facilities?state=XX
    /healthcare/facilities?limit=0
    /healthcare/facilities?order=up
    /healthcare/facilities?procedure=9999
    /healthcare/facilities?procedure=knee+mri
    /healthcare/prices
    /healthcare/prices?procedure=knee
    /healthcare/prices?procedure=5,072
    /healthcare/prices?procedure=27447
    /healthcare/prices?procedure=5072&state=DC,MD
    /healthcare/prices?procedure=5072&state=IL&limit=51
    /healthcare/trends?procedure=5072&versions=x
    /healthcare/trends?procedure=knee&versions=2024
    /healthcare/trends?procedure=9999
    /healthcare/facilities/000001/trends?procedure=5072
    /healthcare/facilities/1/trends?procedure=5072
    /healthcare/facilities/000001/trends?procedure=knee
    /pages/abc
    /versions/2024.3/usage
    /versions/x/search
    /nothing
    /search
    /search?q=the
    /search?q=hospitals+near+me
    /search?q=cook+county
    /search?q=guam
    /search?q=123456
    /search?q=12345
    /search?q=drg+470
    /search?q=chicago&type=procedure
    /search?q=99999&type=procedure
    /search?q=xqxqxq
    /search?q=mercy+xqxqxq
    /search?q=knee+replacement
    /search?q=mercy&type=procedure
    /search?q=mercy&state=OH
    /search?q=va+hospital
    /search?q=knee+mri&type=procedure
    /search?q=!!!
    /search?q=grace+springfield
    /healthcare/procedures/5072?near=Chicago&within=0
    /healthcare/procedures/5115?near=60611&within=5
    /healthcare/procedures/5115?near=59718
    /healthcare/procedures/5072?near=96910&within=1
    /healthcare/procedures/5072?within=9
    /healthcare/procedures/5072?bins=0
    /healthcare/procedures?min_facilities=3
    /export.csv?procedure=x
    /export.csv?state=MD
    /export.csv?procedure=5072&state=NY
    /search?%ff=1
    /search?q=a%07
    /search?a%07=1
    /search?q=
    /search?year=2024&q=a
    /datasets?year=2024.1
    /healthcare/trends?procedure=5072&version=x
  `;
  const lines = targets
    .trim()
    .split(/\s+/)
    .map((target) => {
      const { type, param, message } = refusal(known, target);
      return `${target}\n  ${type}${param === undefined ? "" : ` ${param}`}: ${message}\n`;
    });
  lines.push(`${refusal(withoutPlaces, "/healthcare/facilities?near=60611").message}\n`);
  assertApproved("refusals.txt", lines.join(""));
});
