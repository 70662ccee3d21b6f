import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { parseCents } from "../datasets/cms.ts";
import { importFile } from "../datasets/import.ts";
import { blank, decodeSnapshot, maxCents, type Snapshot } from "../engine/index.ts";
import { csv, header, optionsFor, otherRow, row } from "./cms-files.ts";
import { seededRandom } from "./fixtures.ts";

async function imported(content: string | Buffer): Promise<Snapshot> {
  const { path: written } = await importFile(optionsFor(content));
  return decodeSnapshot(readFileSync(written), written);
}

/** Rows as text: CCN, facility, city, state, code, procedure, charge and allowed amount in cents. */
function listed({ facilities, procedures, rows }: Snapshot): string[] {
  return Array.from(rows.facility, (facility, i) => {
    const procedure = rows.procedure[i];
    return [
      facilities.ccn[facility],
      facilities.name[facility],
      facilities.city[facility],
      facilities.state[facility],
      procedures.code[procedure],
      procedures.name[procedure],
      rows.charge[i],
      rows.allowed[i],
    ].join("|");
  });
}

const listedRow = "010001|Southeast Health|Dothan|AL|5072|Level 2 Excision|965279|185435";
const listedOther = `330101|Some Hospital|New York|NY|5073|Level 3 Excision|${blank}|${blank}`;

test("a file becomes the first revision of its year, in snapshot order, with what is known of it", async () => {
  const options = {
    ...optionsFor(csv(otherRow, row)),
    released: "2025-08",
    sourceUrl: "https://example.org/a",
  };
  const result = await importFile(options);
  assert.equal(result.path, path.join(options.out, "2023.1.parquet"));
  assert.equal(result.states, 2);
  const snapshot = decodeSnapshot(readFileSync(result.path), "the file");
  assert.deepEqual(result.counts, snapshot.counts);
  assert.deepEqual(listed(snapshot), [listedRow, listedOther]);
  assert.deepEqual(snapshot.provenance, {
    dataYear: 2023,
    revision: 1,
    title: "Medicare Outpatient Hospitals - by Provider and Service",
    publisher: "Centers for Medicare & Medicaid Services",
    sourceUrl: "https://example.org/a",
    released: "2025-08",
    caveat:
      "Averages per hospital and comprehensive APC for Original Medicare in calendar year 2023; submitted charges " +
      "are list prices, not what patients pay. CMS suppresses the amounts of rows with 10 or fewer services, which " +
      "take no part in any figure.",
  });
});

test("the revision is one past the highest of the year", async () => {
  const options = optionsFor(csv(row));
  mkdirSync(options.out);
  for (const name of ["2023.1.parquet", "2023.9.parquet", "2022.40.parquet", "2023.50.parquet.bak"])
    writeFileSync(path.join(options.out, name), "");
  const { path: written } = await importFile(options);
  assert.equal(written, path.join(options.out, "2023.10.parquet"));
  assert.equal(decodeSnapshot(readFileSync(written), written).provenance.revision, 10);
});

test("UTF-8, UTF-8 with a byte-order mark and Windows-1252 give the same names", async () => {
  const text = csv(row.replace("Southeast Health", "Café – Saint Mary’s"));
  const windows = text.replace("é", "\xe9").replace("–", "\x96").replace("’", "\x92");
  for (const content of [text, `\ufeff${text}`, Buffer.from(windows, "latin1")])
    assert.deepEqual((await imported(content)).facilities.name, ["Café – Saint Mary’s"]);
});

test("a character that is split between two chunks of a large file is read whole", async () => {
  const rows = Array.from({ length: 40 }, (_, i) => {
    const ccn = String(i).padStart(6, "0");
    return `${ccn},Hôpital ${i},${"–".repeat(10_000)},Dothan,AL,5072,Level 2 Excision,1,1`;
  });
  const content = Buffer.from(csv(...rows));
  assert.equal(content[2 ** 20] & 0xc0, 0x80, "the chunk's end is within a character");
  assert.deepEqual(
    (await imported(content)).facilities.name,
    rows.map((_, i) => `Hôpital ${i}`),
  );
});

test("every kind of line end is read, empty lines are skipped and the last line may end without one", async () => {
  for (const content of [
    csv(row, otherRow).replaceAll("\n", "\r\n"),
    csv(row, otherRow).replaceAll("\n", "\r"),
    `${header}\r\n\n${row}\n\r\n\n${otherRow}`,
    `\n${csv(row, otherRow)}\n\n`,
  ])
    assert.deepEqual(listed(await imported(content)), [listedRow, listedOther]);
});

test("quoted fields may hold commas and doubled quotes", async () => {
  const text = '"Heart, ""Vascular"" And Surgical, Llc"';
  const { facilities } = await imported(csv(row.replace("Southeast Health", text)));
  assert.deepEqual(facilities.name, ['Heart, "Vascular" And Surgical, Llc']);
});

test("columns are found by name in any case and order", async () => {
  const reversed = [header.toLowerCase(), row, otherRow].map((line) => line.split(",").reverse().join(","));
  assert.deepEqual(listed(await imported(reversed.join("\n"))), [listedRow, listedOther]);
});

test("names are trimmed, runs of spaces folded, and nothing else about them is changed", async () => {
  const { facilities } = await imported(
    csv(
      row.replace("Southeast Health", "  LAC/Rancho  los   AMIGOS - "),
      row.replace("5072,Level 2", "5073,Level 3").replace("Southeast Health", "LAC/Rancho los  AMIGOS -"),
    ),
  );
  assert.deepEqual(facilities.name, ["LAC/Rancho los AMIGOS -"]);
});

test("blank amounts are suppressed, zeros and single amounts incomplete, oddities kept", async () => {
  const amounts = [",", " ,\t", "0,5", "7.5,", "100,5209.03999999999"];
  const rows = amounts.map((pair, i) => `01000${i},Hospital,,Dothan,AL,5072,Level 2 Excision,${pair}`);
  const { rows: read, counts } = await imported(csv(...rows));
  assert.deepEqual([...read.charge], [blank, blank, 0, 750, 10_000]);
  assert.deepEqual([...read.allowed], [blank, blank, 500, blank, 520_904]);
  assert.deepEqual([counts.pricedRows, counts.suppressedRows, counts.incompleteRows], [1, 2, 2]);
});

test("dollars are rounded to cents once, half up, on their decimal digits", () => {
  const cases: [string, number][] = [
    ["5209.03999999999", 520904],
    ["1.005", 101],
    ["0.005", 1],
    ["0.0049999", 0],
    ["0.00499999999999999999999999", 0],
    ["1.115", 112],
    ["0", 0],
    ["007.10", 710],
    [".5", 50],
    ["5.", 500],
    [" 12 ", 1200],
    ["", blank],
    [" \t", blank],
    ["1e3", 100_000],
    ["1.2345E+2", 12_345],
    ["5e-3", 1],
    ["49e-4", 0],
    ["5e-9", 0],
    ["21474836.47", maxCents],
  ];
  for (const [text, cents] of cases) assert.equal(parseCents(text), cents, text);
  for (const text of [
    "-1",
    "-0",
    "+1",
    "1,000",
    "$5",
    "abc",
    ".",
    "e5",
    "1e",
    "0x10",
    "1 2",
    "NaN",
    "Infinity",
  ])
    assert.equal(parseCents(text), Number.NaN, text);
  for (const text of ["21474836.475", "1e9", "9".repeat(400), "1e9999"])
    assert.ok(parseCents(text) > maxCents, text);
});

test("cents agree with exact integer arithmetic on random digits", () => {
  const seed = 20_230_001;
  const random = seededRandom(seed);
  const digits = (count: number) => Array.from({ length: count }, () => random.int(10)).join("");
  for (let i = 0; i < 20_000; i++) {
    const whole = digits(1 + random.int(6));
    const fraction = digits(random.int(16));
    const scale = 10n ** BigInt(fraction.length);
    const exact = BigInt(whole + fraction) * 100n;
    const expected = Number((exact * 2n + scale) / (scale * 2n));
    const text = fraction === "" ? whole : `${whole}.${fraction}`;
    assert.equal(parseCents(text), expected, `${text}, seed ${seed}`);
  }
});

function command(...args: string[]) {
  const script = path.resolve(import.meta.dirname, "../datasets/import.ts");
  return spawnSync(process.execPath, [script, ...args], { encoding: "utf8" });
}

test("the command prints the path alone, a summary beside it, and leaves nothing but the snapshot", () => {
  const { file, out } = optionsFor(csv(row, otherRow));
  const { status, stdout, stderr } = command(file, "--year", "2023", "--out", out);
  assert.equal(stdout, `${path.join(out, "2023.1.parquet")}\n`);
  assert.equal(
    stderr,
    "2 rows: 1 priced, 1 suppressed, 0 incomplete; 2 facilities, 2 procedures, 2 states\n",
  );
  assert.equal(status, 0);
  assert.deepEqual(readdirSync(out), ["2023.1.parquet"]);
});

test("the command says one line and exits with 1 when it refuses", () => {
  const { file, out } = optionsFor(csv("x"));
  const refused = command(file, "--year", "2023", "--out", out);
  assert.deepEqual(
    [refused.status, refused.stdout, refused.stderr],
    [1, "", `${file} line 2: found 1 field, expected 9 as in the header\n`],
  );
  assert.equal(existsSync(out), false);
  const misused = command(file, "--year", "20");
  assert.deepEqual(
    [misused.status, misused.stdout, misused.stderr],
    [1, "", '--year: found "20", expected a year from 2016 to 2099\n'],
  );
});

test("every row of the real excerpt of 2023 arrives as it is there", async (t) => {
  const excerpt = path.resolve(import.meta.dirname, "../../shared/data/prov_svc_dy23_subset.csv");
  if (!existsSync(excerpt)) return t.skip(`${excerpt} is not there`);
  const bytes = readFileSync(excerpt);
  const snapshot = await imported(bytes);
  assert.equal(snapshot.counts.rows, 2130);
  assert.equal(snapshot.counts.facilities, 908);
  assert.equal(snapshot.counts.procedures, 57);
  assert.equal(new Set(snapshot.facilities.state).size, 46);

  const lines = bytes.toString("utf8").trim().split("\n").slice(1);
  const expected = lines.map((line) => {
    const fields = [...line.matchAll(/(?:^|,)(?:"([^"]*)"|([^,]*))/g)].map(
      ([, quoted, plain]) => quoted ?? plain,
    );
    const [ccn, name, city, state, code, procedure, charge, allowed] = [0, 1, 3, 4, 9, 10, 13, 14].map(
      (i) => fields[i],
    );
    const cents = [charge, allowed].map((dollars) => Math.round(Number(dollars) * 100));
    return [ccn, name.replace(/ +/g, " "), city, state, code, procedure, ...cents].join("|");
  });
  assert.deepEqual(listed(snapshot), expected.sort());
});
