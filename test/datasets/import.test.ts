import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { parseCents } from "../../datasets/cms/cms.ts";
import { importFile } from "../../datasets/cms/import.ts";
import { blank, maxCents } from "../../engine/index.ts";
import { csv, fullCsv, header, more, moreHeader, optionsFor, otherRow, row } from "../support/cms-files.ts";
import { dataPath } from "../support/data.ts";
import { contentOf, readBack } from "../support/fixtures.ts";
import { seededRandom } from "../support/random.ts";

async function imported(csvFile: string | Buffer) {
  const { path: written } = await importFile(optionsFor(csvFile), []);
  return await contentIn(written);
}

const contentIn = async (file: string) => contentOf(await readBack(readFileSync(file), file));

function listed({ facilities, procedures, rows }: ReturnType<typeof contentOf>): string[] {
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

test("a CSV file becomes the first revision of its year, with sorted rows and its provenance", async () => {
  const options = {
    ...optionsFor(csv(otherRow, row)),
    released: "2025-08",
    sourceUrl: "https://example.org/a",
  };
  const result = await importFile(options, []);
  assert.equal(result.path, path.join(options.out, "2023.1.parquet"));
  assert.equal(result.states, 2);
  const snapshot = await contentIn(result.path);
  assert.deepEqual(result.counts, snapshot.counts);
  assert.deepEqual(listed(snapshot), [listedRow, listedOther]);
  assert.deepEqual(snapshot.provenance, {
    dataYear: 2023,
    revision: 1,
    title: "Medicare Outpatient Hospitals - by Provider and Service",
    publisher: "Centers for Medicare & Medicaid Services",
    sourceUrl: "https://example.org/a",
    sourceSha256: createHash("sha256").update(csv(otherRow, row)).digest("hex"),
    released: "2025-08",
    caveat:
      "Averages per hospital and comprehensive APC for Original Medicare in calendar year 2023; submitted charges " +
      "are list prices, not what patients pay. CMS suppresses the amounts of rows with 10 or fewer services, which " +
      "take no part in any figure. This file has only 2 hospitals, where a whole release has some 3,000: hospitals " +
      "and states may be missing.",
  });
});

test("the revision is one past the highest of the year", async () => {
  const options = optionsFor(csv(row));
  mkdirSync(options.out);
  for (const name of ["2023.1.parquet", "2023.9.parquet", "2022.40.parquet", "2023.50.parquet.bak"])
    writeFileSync(path.join(options.out, name), "");
  const { path: written } = await importFile(options, []);
  assert.equal(written, path.join(options.out, "2023.10.parquet"));
  assert.equal((await readBack(readFileSync(written), written)).provenance.revision, 10);
});

test("UTF-8, UTF-8 with a byte-order mark and Windows-1252 give the same names", async () => {
  const text = csv(row.replace("Southeast Health", "Café – Saint Mary’s"));
  const windows = text.replace("é", "\xe9").replace("–", "\x96").replace("’", "\x92");
  for (const content of [text, `\ufeff${text}`, Buffer.from(windows, "latin1")])
    assert.deepEqual((await imported(content)).facilities.name, ["Café – Saint Mary’s"]);
  const { stray } = await importFile(optionsFor(Buffer.from(windows, "latin1")), []);
  assert.deepEqual(stray, { line: 2, byte: 11, value: 0xe9 }, "the reason is known");
  assert.equal((await importFile(optionsFor(text), [])).stray, undefined);
});

test("a character that is split between two chunks of a large file is read whole", async () => {
  const rows = Array.from({ length: 40 }, (_, i) => {
    const ccn = String(i).padStart(6, "0");
    return `${ccn},Hôpital ${i},,Dothan,AL,5072,Level 2 Excision,1,1,${"–".repeat(10_000)}`;
  });
  const content = Buffer.from([`${header},Notes`, ...rows, ""].join("\n"));
  assert.equal(content[2 ** 20] & 0xc0, 0x80, "the chunk's end is within a character");
  assert.deepEqual(
    (await imported(content)).facilities.name,
    rows.map((_, i) => `Hôpital ${i}`),
  );
});

test("every kind of line end is read, and lines without values are skipped", async () => {
  for (const content of [
    csv(row, otherRow).replaceAll("\n", "\r\n"),
    csv(row, otherRow).replaceAll("\n", "\r"),
    `${header}\r\n\n${row}\n\r\n\n${otherRow}\r\n`,
    `\n${csv(row, otherRow)}\n\n`,
    csv(row, ",,,,,,,,", "  ", otherRow, ",,,"),
  ])
    assert.deepEqual(listed(await imported(content)), [listedRow, listedOther]);
});

test("a last line without a line break is accepted with allowUnterminated", async () => {
  const options = { ...optionsFor(csv(row, otherRow).trimEnd()), allowUnterminated: true };
  const { path: written } = await importFile(options, []);
  assert.deepEqual(listed(await contentIn(written)), [listedRow, listedOther]);
});

test("quoted fields may hold commas and doubled quotes", async () => {
  const text = '"Heart, ""Vascular"" And Surgical, Llc"';
  const { facilities } = await imported(csv(row.replace("Southeast Health", text)));
  assert.deepEqual(facilities.name, ['Heart, "Vascular" And Surgical, Llc']);
});

test("columns are found by name in any case and order, with spaces around and inside", async () => {
  const spaced = header.replaceAll("_", " ").replaceAll(",", " , ").replace("Rndrng", " Rndrng");
  for (const names of [header.toLowerCase(), spaced]) {
    const reversed = [names, row, otherRow, ""].map((line) => line.split(",").reverse().join(","));
    assert.deepEqual(listed(await imported(reversed.join("\n"))), [listedRow, listedOther]);
  }
});

test("empty trailing columns are accepted in the header, in the rows or in both", async () => {
  for (const [names, lines] of [
    [",,", ",,"],
    ["", ",, "],
    [",", ""],
  ])
    assert.deepEqual(
      listed(await imported(`${[header + names, row + lines, otherRow + lines].join("\n")}\n`)),
      [listedRow, listedOther],
    );
});

test("CCNs and states are converted to upper case, and spellings of one CCN become one facility", async () => {
  const lower = row.replace("010001", "01t00a").replace("AL", "al");
  const upper = row.replace("010001", " 01T00A").replace("5072,Level 2", "5073,Level 3");
  const { facilities, counts } = await imported(csv(lower, upper));
  assert.deepEqual([facilities.ccn, facilities.state, counts.rows], [["01T00A"], ["AL"], 2]);
});

test("a facility gets its most common name and city, or the first in the file if tied", async () => {
  const spelled = (ccn: string, name: string, city: string, code: number) =>
    `${ccn},${name},1 Main St,${city},AL,${code},Level ${code},9652.79,1854.35`;
  const rows = [
    ...[spelled("010001", "Old", "Dothan", 1001), spelled("010001", "New", "Dothan ", 1002)],
    ...[spelled("010001", "New ", "Selma", 1003), spelled("010001", "Other", "Dothan", 1004)],
    ...[spelled("010002", "First", "Selma", 1001), spelled("010002", "Second", "Selma", 1002)],
    ...[spelled("010003", "Only", "Selma", 1001), spelled("010003", " Only", "Selma", 1002)],
  ];
  const options = optionsFor(csv(...rows));
  const { path: written, severalNames } = await importFile(options, []);
  const { facilities } = await contentIn(written);
  assert.deepEqual(facilities.name, ["New", "First", "Only"]);
  assert.deepEqual(facilities.city, ["Dothan", "Selma", "Selma"]);
  assert.equal(severalNames, 2);
});

test("names are trimmed and runs of spaces collapsed, and case and punctuation stay", async () => {
  const { facilities, procedures } = await imported(
    csv(
      row.replace("Southeast Health", "  LAC/Rancho  los   AMIGOS - "),
      row.replace("5072,Level 2", "5073,Level 3").replace("Southeast Health", "LAC/Rancho los  AMIGOS -"),
      row.replace("010001", "010002").replace("5072,Level 2", "5072 ,Level  2"),
      row.replace("010001", "010003"),
    ),
  );
  assert.deepEqual(facilities.name.slice(0, 1), ["LAC/Rancho los AMIGOS -"]);
  assert.deepEqual(procedures.name, ["Level 2 Excision", "Level 3 Excision"]);
});

test("spaces of any kind become one plain space, and accents are composed", async () => {
  const { facilities } = await imported(
    fullCsv(
      `${row.replace("Southeast Health", "\u00a0Cafe\u0301\u00a0 Saint\u2009Mary\u00a0").replace("1 Main St", "1\u00a0Main St")},${more}`,
      `${row.replace("Southeast Health", "Café Saint Mary").replace("5072,Level 2", "5073,Level 3")},${more}`,
    ),
  );
  assert.deepEqual([facilities.name, facilities.street], [["Café Saint Mary"], ["1 Main St"]]);
});

test("a RUCA code such as 1.0 is stored as 1", async () => {
  const { facilities } = await imported(
    fullCsv(
      `${row},${more.replace("4.1", "1.0")}`,
      `${row.replace("010001", "010002")},${more.replace("4.1", "10.0")}`,
      `${row.replace("010001", "010003")},${more}`,
    ),
  );
  assert.deepEqual(facilities.ruralUrbanCode, ["1", "10", "4.1"]);
});

test("columns of the old layout are ignored beside those of the current one", async () => {
  const names = `${header},Provider_Id`;
  assert.deepEqual(listed(await imported(`${names}\n${row},7\n`)), [listedRow]);
});

test("rows with blank amounts count as suppressed, and rows with a zero or one amount as incomplete", async () => {
  const amounts = [",", " ,\t", "0,5", "7.5,", "100,5209.03999999999"];
  const rows = amounts.map((pair, i) => `01000${i},Hospital,,Dothan,AL,5072,Level 2 Excision,${pair}`);
  const { rows: read, counts } = await imported(csv(...rows));
  assert.deepEqual([...read.charge], [blank, blank, 0, 750, 10_000]);
  assert.deepEqual([...read.allowed], [blank, blank, 500, blank, 520_904]);
  assert.deepEqual([counts.pricedRows, counts.suppressedRows, counts.incompleteRows], [1, 2, 2]);
});

test("services, payments, outliers and addresses are imported, and each may be absent", async () => {
  const rows = [
    `010001,A,1 Main St,Dothan,AL,5072,Level 2,9652.79,1854.35,${more}`,
    "010001,A,1 Main St,Dothan,AL,5073,Level 3,100,50,36301,4.1,Micropolitan area core,,11.,,0,0.0",
    "010002,B,,Dothan,AL,5072,Level 2,100,50,,99,, 12 ,,150.129999999999,,",
    "010003,C, ,Dothan,AL,5072,Level 2,100,50,02124,,Rural areas,0,1440.0,101,, 99.995",
    "010004,D,,Dothan,AL,5072,Level 2,,,01002,10,,,,,,",
  ];
  const { facilities, rows: read } = await imported(fullCsv(...rows));
  assert.deepEqual(facilities.street, ["1 Main St", "", "", ""]);
  assert.deepEqual(facilities.zip, ["36301", "", "02124", "01002"]);
  assert.deepEqual(facilities.ruralUrbanCode, ["4.1", "99", "", "10"]);
  assert.deepEqual(facilities.ruralUrbanDescription, ["Micropolitan area core", "", "Rural areas", ""]);
  assert.deepEqual([...read.services], [41, 11, blank, 1440, blank]);
  assert.deepEqual([...read.beneficiaries], [38, blank, 12, 0, blank]);
  assert.deepEqual([...read.payment], [146_651, blank, 15_013, 10_100, blank], "above the charge, too");
  assert.deepEqual([...read.outlierServices], [12, 0, blank, blank, blank]);
  assert.deepEqual([...read.outlierAmount], [200_313, 0, blank, 10_000, blank]);
});

test("a file may lack optional columns, and the import reports which", async () => {
  const options = optionsFor(csv(row));
  const { path: written, absentColumns } = await importFile(options, []);
  assert.deepEqual(absentColumns.toSorted(), moreHeader.split(",").toSorted());
  const { facilities, rows } = await contentIn(written);
  assert.deepEqual([facilities.street, facilities.zip], [["1 Main St"], [""]]);
  assert.deepEqual([...rows.services, ...rows.payment], [blank, blank]);
  assert.deepEqual((await importFile(optionsFor(fullCsv(`${row},${more}`)), [])).absentColumns, []);
});

test("a facility gets its most common address, and a blank one only if it has no other", async () => {
  const at = (ccn: string, code: number, street: string, zip: string, ruca: string) =>
    `${ccn},A,${street},Dothan,AL,${code},Level ${code},1,1,${zip},${ruca},,,,,,`;
  const rows = [
    ...[at("010001", 1001, "", "36301", "1"), at("010001", 1002, "", "36302", "1")],
    ...[at("010001", 1003, "1 Main  St", "36302", "2"), at("010002", 1001, "2 Main St", "", "")],
    ...[at("010002", 1002, '" 2 Main\nSt "', "36303", ""), at("010002", 1003, "", "", "")],
  ];
  const options = optionsFor(fullCsv(...rows));
  const { path: written, severalNames } = await importFile(options, []);
  const { facilities } = await contentIn(written);
  assert.deepEqual(facilities.street, ["1 Main St", "2 Main St"]);
  assert.deepEqual(facilities.zip, ["36302", "36303"]);
  assert.deepEqual(facilities.ruralUrbanCode, ["1", ""]);
  assert.equal(severalNames, 1, "a blank is no other address");
});

test("dollar amounts are rounded to cents once, half up, in decimal arithmetic", () => {
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
  for (const text of ["-1", "+1", "1,000", "$5", ".", "e5", "1e", "0x10", "1 2", "NaN", "Infinity"])
    assert.equal(parseCents(text), Number.NaN, text);
  for (const text of ["21474836.475", "1e9", "9".repeat(400), "1e9999"])
    assert.ok(parseCents(text) > maxCents, text);
});

test("cents of random amounts equal exact integer arithmetic", () => {
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

test("every row of the real 2023 excerpt is imported unchanged", async () => {
  const bytes = readFileSync(dataPath("prov_svc_dy23_subset.csv"));
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
    const [ccn, name, city, state, zip, code, procedure, services] = [0, 1, 3, 4, 6, 9, 10, 12].map(
      (i) => fields[i],
    );
    const cents = fields.slice(13, 16).map((dollars) => Math.round(Number(dollars) * 100));
    return [ccn, name.replace(/ +/g, " "), city, state, code, procedure, ...cents, services, zip].join("|");
  });
  const { facilities, rows } = snapshot;
  const found = listed(snapshot).map((text, i) =>
    [text, rows.payment[i], rows.services[i], facilities.zip[rows.facility[i]]].join("|"),
  );
  assert.deepEqual(found, expected.sort());
  for (const column of [rows.beneficiaries, rows.outlierServices, rows.outlierAmount])
    assert.ok(column.every((value) => value === blank));
  for (const texts of [facilities.street, facilities.ruralUrbanCode, facilities.ruralUrbanDescription])
    assert.ok(texts.every((text) => text === ""));
});
