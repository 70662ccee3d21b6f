import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { type ImportOptions, importFile } from "../../datasets/cms/import.ts";
import { stateNames } from "../../engine/index.ts";
import { fullCsv, optionsFor } from "../support/cms-files.ts";
import { dataPath } from "../support/data.ts";
import { readBack } from "../support/fixtures.ts";
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

test("of a part of a release, only what is too much is named", async () => {
  const rows = releaseOf(1);
  const part = rows.filter(({ state }) => state === "AL");
  const { differ, warnings } = await faultsOf(part, totalsOf(rows));
  assert.deepEqual([differ, warnings.length], [0, 1]);
  assert.match(warnings[0], /^the release has \d\d % of the nation's services in /);
  const dearer = part.map((row) => ({ ...row, charge: 100 * row.charge }));
  assert.match((await faultsOf(dearer, totalsOf(rows))).warnings[1], / in AL has a mean charge of /);
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
  ["no totals", () => [], /found a header and no totals/],
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
