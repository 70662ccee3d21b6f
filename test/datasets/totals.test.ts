import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { type ImportOptions, importFile } from "../../datasets/cms/import.ts";
import { compareTotals, readTotals } from "../../datasets/cms/totals.ts";
import { stateNames } from "../../engine/index.ts";
import { fullCsv, optionsFor } from "../support/cms-files.ts";
import { dataPath } from "../support/data.ts";
import { readBack, type ShortRow, snapshotOf } from "../support/fixtures.ts";
import { seededRandom } from "../support/random.ts";

/** Tests comparisons of a release with CMS's totals by nation and state. */

const states = ["AL", "DC", "NY", "TX"];
const codes = ["5072", "5073", "5115"];

interface Row {
  ccn: string;
  state: string;
  code: string;
  services: number;
  charge: number;
  allowed: number;
  isHidden: boolean;
}

/** A release in which each hospital has each group. About a third of the rows is hidden. */
function releaseOf(seed: number): Row[] {
  const random = seededRandom(seed);
  return states.flatMap((state, s) =>
    Array.from({ length: 6 }, (_, i) => `${s + 1}${String(i).padStart(5, "0")}`).flatMap((ccn) =>
      codes.map((code, c) => {
        const isHidden = random.int(3) === 0;
        const services = isHidden ? 1 + random.int(10) : 11 + random.int(500);
        const charge = (c + 1) * 1000 * (1 + random.next());
        return { ccn, state, code, services, charge, allowed: charge / 5, isHidden };
      }),
    ),
  );
}

const csvOf = (rows: readonly Row[]) =>
  fullCsv(
    ...rows.map(({ ccn, state, code, services, charge, allowed, isHidden }) => {
      const figures = isHidden ? ["", ""] : [charge, allowed];
      const place = [ccn, `Hospital ${ccn}`, "1 Main St", "Town", state, code, `Group ${code}`];
      return [...place, ...figures, ",,,", isHidden ? "" : services, ",,"].join(",");
    }),
  );

const header =
  "Rndrng_Prvdr_Geo_Lvl,Rndrng_Prvdr_Geo_Cd,Rndrng_Prvdr_Geo_Desc,APC_Cd,APC_Desc,CAPC_Srvcs,Avg_Tot_Sbmtd_Chrgs,Avg_Mdcr_Alowd_Amt";

/** CMS's totals add up hidden rows, too. */
function totalsOf(rows: readonly Row[]): string[] {
  return [null, ...states].flatMap((state) =>
    codes.map((code) => {
      const here = rows.filter((row) => row.code === code && (state === null || row.state === state));
      const sum = (of: (row: Row) => number) => here.reduce((total, row) => total + of(row), 0);
      const services = sum((row) => row.services);
      const mean = (of: (row: Row) => number) => sum((row) => of(row) * row.services) / services;
      const place = state === null ? "National,,National" : `State,00,${stateNames[state]}`;
      return `${place},${code},Group,${services},${mean((row) => row.charge)},${mean((row) => row.allowed)}`;
    }),
  );
}

let files = 0;

function compared(rows: readonly Row[], lines: readonly string[]): ImportOptions {
  const options = optionsFor(csvOf(rows));
  const totalsFile = `${options.file}.totals-${++files}.csv`;
  writeFileSync(totalsFile, [header, ...lines, ""].join("\n"));
  return { ...options, totalsFile };
}

async function faultsOf(rows: readonly Row[], lines: readonly string[]) {
  const { totals, warnings } = await importFile(compared(rows, lines), []);
  assert.ok(totals !== undefined);
  return { ...totals, warnings: warnings.filter((warning) => / totals of |services in /.test(warning)) };
}

test("a release agrees with the totals of its own rows and the hidden ones", async () => {
  for (let seed = 1; seed <= 10; seed++) {
    const rows = releaseOf(seed);
    const checked = codes.length * (states.length + 1);
    assert.deepEqual(await faultsOf(rows, totalsOf(rows)), {
      ...{ checked, agree: checked, differ: 0, worst: null, warnings: [] },
    });
  }
});

test("rows of single codes in a whole file of CMS are left out, as they are within the totals", async () => {
  const rows = releaseOf(1);
  const lines = totalsOf(rows);
  const options = compared(rows, []);
  const level = (line: string, code: string) => {
    const [place, fips, name, procedure, title, ...figures] = line.split(",");
    const figuresOf = code === "" ? figures : ["1", ...figures.slice(1)];
    return [
      place,
      fips,
      name,
      code === "" ? "APC" : "APC-HCPCS",
      procedure,
      title,
      code,
      ...figuresOf,
    ].join();
  };
  const whole = header.replace(",APC_Cd", ",Srvc_Lvl,APC_Cd").replace("APC_Desc,", "APC_Desc,HCPCS_Cd,");
  const content = lines.flatMap((line) => [level(line, ""), level(line, "10140"), level(line, "G0105")]);
  writeFileSync(String(options.totalsFile), [whole, ...content, ""].join("\n"));
  const { totals } = await importFile(options, []);
  assert.deepEqual(totals, { checked: lines.length, agree: lines.length, differ: 0, worst: null });
});

const faults: [what: string, change: (rows: Row[]) => Row[], named: RegExp][] = [
  [
    "a state's charges are ten times too high",
    (rows) => rows.map((row) => (row.state === "NY" ? { ...row, charge: 10 * row.charge } : row)),
    / in NY has a mean charge of \$/,
  ],
  [
    "two columns are swapped",
    (rows) => rows.map((row) => ({ ...row, charge: row.allowed, allowed: row.charge })),
    / has a mean charge of \$/,
  ],
  [
    "a group is missing",
    (rows) => rows.filter(({ code }) => code !== "5073"),
    /5073 in the nation has 0 services, CMS \d+ services/,
  ],
  ["a state is missing", (rows) => rows.filter(({ state }) => state !== "TX"), / in TX has 0 services/],
];

for (const [what, change, named] of faults)
  test(`it is named if ${what}`, async () => {
    const rows = releaseOf(1);
    const { differ, worst, warnings } = await faultsOf(change(rows), totalsOf(rows));
    assert.ok(differ > 0);
    assert.equal(warnings.length, 1);
    assert.match(warnings[0], named);
    assert.ok(worst !== null && warnings[0].includes(worst));
  });

test("a release with more services than the nation is refused, and nothing is written", async () => {
  const rows = releaseOf(1);
  const twice = rows.flatMap((row) =>
    row.state === "AL" ? [row, { ...row, ccn: row.ccn.replace(/^1/, "9") }] : [row],
  );
  const options = compared(twice, totalsOf(rows));
  await assert.rejects(
    importFile(options, []),
    /APC \d+: found \d+ services in the nation, expected at least the \d+ of the release; rows may be there twice/,
  );
});

test("totals of known rows are named as unwritten, unless the snapshot has the same", async () => {
  const rows = releaseOf(1);
  const options = compared(rows, totalsOf(rows));
  const unwritten = async (given: ImportOptions) => (await importFile(given, [])).unwritten;
  assert.deepEqual(await unwritten({ ...options, totalsFile: null }), []);
  assert.deepEqual(await unwritten(options), ["--totals"]);
  assert.deepEqual(await unwritten({ ...options, force: true }), []);
  assert.deepEqual(await unwritten(options), []);
  assert.deepEqual(await unwritten({ ...options, totalsFile: null }), []);
});

test("of a part of a release, only what is too much is named", async () => {
  const rows = releaseOf(1);
  const part = rows.filter(({ state }) => state === "AL");
  const { differ, warnings } = await faultsOf(part, totalsOf(rows));
  assert.deepEqual([differ, warnings.length], [0, 1]);
  assert.match(warnings[0], /^the release has \d\d % of the nation's services in /);
  const dearer = part.map((row) => ({ ...row, charge: 100 * row.charge }));
  assert.match((await faultsOf(dearer, totalsOf(rows))).warnings[1], / in AL has a mean charge of /);
});

type Total = Awaited<ReturnType<typeof readTotals>>[number];
const total = (
  place: string,
  procedure: string,
  services: number,
  charge: number,
  allowed: number,
): Total => ({
  ...{ place, procedure, services, charge, allowed },
});
const nation = "the nation";
/** A group whose amounts are known at both hospitals, and one that is hidden at one and absent at the other. */
const { table: two } = snapshotOf([
  ["010001", "AL", "5072", 10, 2, undefined, { services: 100 }],
  ["330001", "NY", "5072", 20, 4, undefined, { services: 300 }],
  ["010001", "AL", "5073", null, null],
]);
const [ofNation, ofHidden] = [total(nation, "5072", 400, 1750, 350), total(nation, "5073", 20, 100, 20)];

test("a total may differ by the rounding of means, and by what hidden and absent rows may hold", () => {
  const of5072 = (charge: number, allowed = 200, services = 100) =>
    total("AL", "5072", services, charge, allowed);
  const of5073 = (services: number, charge: number) => total("AL", "5073", services, charge, 20);
  const mean = (what: string, ours: string, theirs: string) =>
    ` has a mean ${what} of $${ours}, CMS a mean ${what} of $${theirs}`;
  for (const [one, worst] of [
    [of5072(1000), null],
    // Of 100 services, half a cent each, and one more.
    [of5072(1000.505), null],
    [of5072(999.495), null],
    [of5072(1000.515), `5072 in AL${mean("charge", "10.00", "10.01")}`],
    [of5072(999.485), `5072 in AL${mean("charge", "10.00", "9.99")}`],
    [of5072(1000, 200.505), null],
    [of5072(1000, 200.515), `5072 in AL${mean("allowed", "2.00", "2.01")}`],
    [of5072(1000, 200, 99), "5072 in AL has 100 services, CMS 99 services"],
    [of5072(1000, 200, 101), "5072 in AL has 100 services, CMS 101 services"],
    [of5073(10, 100), null],
    [of5073(11, 100), "5073 in AL has 0 services, CMS 11 services"],
    // At most ten times the nation's mean, and the rounding of ten services.
    [of5073(10, 1000.5), null],
    [of5073(10, 1000.7), `5073 in AL${mean("charge", "0.00", "10.01")}`],
    [total("TX", "5072", 1, 1, 1), "5072 in TX has 0 services, CMS 1 services"],
  ] as const) {
    const { found, warnings } = compareTotals(two, [ofNation, ofHidden, one], "t.csv");
    const differ = worst === null ? 0 : 1;
    assert.deepEqual(found, { checked: 3, agree: 3 - differ, differ, worst });
    const warning = `1 of 3 totals of t.csv contradict the release: ${worst}`;
    assert.deepEqual(warnings, worst === null ? [] : [warning]);
  }
  const tooMany = [ofNation, total(nation, "5073", 21, 100, 20)];
  assert.equal(
    compareTotals(two, tooMany, "t.csv").found.worst,
    "5073 in the nation has 0 services, CMS 21 services",
  );
  assert.throws(() => compareTotals(two, [total(nation, "5072", 399, 1750, 350)], "t.csv"), {
    message:
      "t.csv, APC 5072: found 399 services in the nation, expected at least the 400 of the release; rows may be there " +
      "twice, or the files are of different years",
  });
});

test("a release with less than half of the nation's services is a part, and one that is compared with no nation, too", () => {
  const half = compareTotals(two, [total(nation, "5072", 800, 1750, 350)], "t.csv");
  assert.equal(half.found.worst, "5072 in the nation has 400 services, CMS 800 services");
  const part = (share: string) =>
    `the release has ${share} of the nation's services in t.csv, so only what is too much can be seen`;
  const less = compareTotals(two, [total(nation, "5072", 801, 1750, 350)], "t.csv");
  assert.deepEqual(less, {
    found: { checked: 1, agree: 1, differ: 0, worst: null },
    warnings: [part("50 %")],
  });
  const without = compareTotals(two, [total("AL", "5072", 900, 99_999, 200)], "t.csv");
  assert.deepEqual([without.found.differ, without.warnings], [0, [part("an unknown part")]]);
  const tooMuch = compareTotals(two, [total("AL", "5072", 100, 900, 200)], "t.csv");
  assert.equal(tooMuch.found.worst, "5072 in AL has a mean charge of $10.00, CMS a mean charge of $9.00");
});

test("of many contradictions five are named, those that are largest by their share first", () => {
  const some = ["5071", "5072", "5073", "5074", "5075", "5076"];
  const { table } = snapshotOf(
    some.map((code): ShortRow => ["010001", "AL", code, 10, 2, undefined, { services: 100 }]),
  );
  const right = some.map((code) => total(nation, code, 100, 1000, 200));
  const totalsOf = (count: number) =>
    some.slice(0, count).map((code, i) => total("AL", code, 100, 1100 + 100 * ((5 * i) % 6), 200));
  const named = (...codes: string[]) =>
    codes.map((code) => {
      const theirs = 11 + ((5 * some.indexOf(code)) % 6);
      return `${code} in AL has a mean charge of $10.00, CMS a mean charge of $${theirs}.00`;
    });
  const six = compareTotals(table, [...right, ...totalsOf(6)], "t.csv");
  assert.deepEqual(six.warnings, [
    `6 of 12 totals of t.csv contradict the release: ${named("5072", "5073", "5074", "5075", "5076").join("; ")}; …`,
  ]);
  assert.equal(six.found.worst, named("5072")[0]);
  const five = compareTotals(table, [...right, ...totalsOf(5)], "t.csv");
  assert.ok(five.warnings[0].endsWith(named("5071")[0]), five.warnings[0]);
});

test("a file of totals may have blank figures, codes that lost a zero, and lines with fewer fields", async () => {
  const file = `${optionsFor("").file}.totals.csv`;
  const lines = [
    "National,,National,72,Group,400,17.5,3.5",
    "State,01,Alabama,5072,Group,100,,2",
    "State,36,New York",
  ];
  writeFileSync(file, [header, ...lines, ""].join("\n"));
  assert.deepEqual(await readTotals(file), [total(nation, "0072", 400, 1750, 350)]);
  writeFileSync(file, "");
  const expected =
    "expected CMS's CSV file by Geography and Service, with the columns Rndrng_Prvdr_Geo_Lvl, Rndrng_Prvdr_Geo_Desc, " +
    "APC_Cd, CAPC_Srvcs, Avg_Tot_Sbmtd_Chrgs, Avg_Mdcr_Alowd_Amt";
  await assert.rejects(readTotals(file), {
    message: `${file}: found a header without all of its columns, ${expected}`,
  });
  writeFileSync(file, `${header}\nNational,,"National,5072\n`);
  await assert.rejects(readTotals(file), (error: Error) =>
    error.message.startsWith(`${file}: found broken quoting (Quote Not Closed: `),
  );
  writeFileSync(file, `Rndrng;"Prvdr\n`);
  await assert.rejects(readTotals(file), {
    message: `${file}: found fields separated by semicolons, ${expected}`,
  });
});

test("CMS's excerpt is a part that agrees with CMS's real totals", async () => {
  const options = optionsFor(readFileSync(dataPath("prov_svc_dy23_subset.csv")));
  const { path, totals, warnings } = await importFile(
    { ...options, totalsFile: dataPath("geo_apc_dy23.csv") },
    [],
  );
  assert.deepEqual(totals, { checked: 3165, agree: 3165, differ: 0, worst: null });
  assert.ok(warnings.some((warning) => warning.startsWith("the release has 3 % of the nation's services")));
  const { provenance, sha256 } = await readBack(readFileSync(path), path);
  assert.deepEqual(provenance.totals, totals);
  const plain = await importFile(optionsFor(readFileSync(dataPath("prov_svc_dy23_subset.csv"))), []);
  const other = await readBack(readFileSync(plain.path), plain.path);
  assert.equal(other.provenance.totals, undefined);
  // An earlier release refuses a file whose checksum it doesn't understand.
  assert.equal(other.sha256, sha256);
});

const wrong: [what: string, lines: (lines: string[]) => string[], message: RegExp][] = [
  ["no totals", () => [], /found a header and no totals, expected at least one total$/],
  [
    "a place that is no state",
    (lines) => [lines[0].replace(/^National/, "County")],
    /line 2, column Rndrng_Prvdr_Geo_Lvl: found "County", expected National or State/,
  ],
  [
    "an unknown state",
    (lines) => [lines[4].replace("Alabama", "Alabamo")],
    /column Rndrng_Prvdr_Geo_Desc: found "Alabamo"/,
  ],
  [
    "a total twice",
    (lines) => [lines[4], lines[4]],
    /line 3, column APC_Cd: found "5073", expected each procedure group once in AL/,
  ],
  [
    "a group of other than four digits",
    (lines) => [lines[0].replace(",5072,", ",50.72,")],
    /line 2, column APC_Cd: found "50\.72", expected four digits$/,
  ],
  [
    "a figure below zero",
    (lines) => [lines[0].replace(/,Group,\d+/, ",Group,-1")],
    /column CAPC_Srvcs: found "-1", expected a number, not below 0/,
  ],
  [
    "a text for a number",
    (lines) => [lines[0].replace(/,Group,\d+/, ",Group,many")],
    /column CAPC_Srvcs: found "many", expected a number, not below 0/,
  ],
];

for (const [what, change, message] of wrong)
  test(`a file of totals with ${what} is refused`, async () => {
    const rows = releaseOf(1);
    await assert.rejects(importFile(compared(rows, change(totalsOf(rows))), []), message);
  });

test("a file by Provider and Service is refused as a file of totals", async () => {
  const options = optionsFor(csvOf(releaseOf(1)));
  await assert.rejects(
    importFile({ ...options, totalsFile: options.file }, []),
    /found a header without all of its columns, expected CMS's CSV file by Geography and Service/,
  );
});
