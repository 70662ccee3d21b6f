import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { type ImportOptions, importFile } from "../../datasets/cms/import.ts";
import { suspectPart } from "../../datasets/cms/plausibility.ts";
import { attachImage, buildImage, plainWordsOf } from "../../engine/index.ts";
import { csvPieces } from "../../engine/query.ts";
import { addendum, codeLine, hcpcs } from "../support/addendum.ts";
import { csv, fullCsv, more, optionsFor, otherRow, partWarning, row } from "../support/cms-files.ts";
import { readBack } from "../support/fixtures.ts";
import { sampled } from "../support/rounds.ts";

/** Tests imports of a release with the codes of an addendum, and warnings about release and addendum. */

const known = Object.entries(plainWordsOf).flatMap(([apc, { codes }]) =>
  codes.map((code) => codeLine(code, apc)),
);
/** The codes of the procedure groups 5072 and 5073 in `plainWordsOf`, in the form in which a snapshot has them. */
const included = ["5072", "5073"]
  .flatMap((apc) => plainWordsOf[apc].codes.map((code) => hcpcs(code, apc)))
  .sort((a, b) => Number(a.code) - Number(b.code));

function withCodes(options: ImportOptions, ...lines: string[]): ImportOptions {
  const codesFile = `${options.file}.codes.csv`;
  writeFileSync(codesFile, addendum(...lines));
  return { ...options, codesFile };
}
const snapshotAt = (file: string) => readBack(readFileSync(file), file);

test("codes of the release's groups are stored in the snapshot without changing the row checksum", async () => {
  const options = optionsFor(csv(row, otherRow));
  const plain = await snapshotAt((await importFile(options, [])).path);
  const imported = await importFile(withCodes(options, ...known, codeLine("99213")), []);
  assert.deepEqual([imported.codes, imported.warnings], [included.length, []]);
  const coded = await snapshotAt(imported.path);
  assert.deepEqual(coded.codes, included);
  assert.deepEqual([plain.provenance.revision, coded.provenance.revision], [1, 2]);
  assert.equal(coded.contentSha256, plain.contentSha256);
  assert.equal(plain.codes, null);
});

test("a new revision is written only if rows or codes differ, and without codes only if rows differ", async () => {
  const options = optionsFor(csv(row, otherRow));
  const revision = async (given: ImportOptions) => {
    const { path: written, isNew } = await importFile(given, []);
    return [path.basename(written), isNew];
  };
  assert.deepEqual(await revision(withCodes(options, ...known)), ["2023.1.parquet", true]);
  assert.deepEqual(await revision(withCodes(options, ...known, codeLine("99213"))), [
    "2023.1.parquet",
    false,
  ]);
  assert.deepEqual(await revision(options), ["2023.1.parquet", false]);
  assert.deepEqual(await revision(withCodes(options, codeLine("0616T", "5072"))), ["2023.2.parquet", true]);
  assert.deepEqual(await revision(withCodes(options, ...known)), ["2023.1.parquet", false]);
  assert.deepEqual(readdirSync(options.out), ["2023.1.parquet", "2023.2.parquet"]);
});

test("an addendum of another year, with missing groups or with contradicting codes gives warnings", async () => {
  const options = optionsFor(csv(row, otherRow));
  const lines = known.filter((line) => !/^(10140|27447),|,5073,/.test(line));
  const given = withCodes({ ...options, year: 2022 }, ...lines, codeLine("10140", "5073"), codeLine("11770"));
  writeFileSync(`${given.codesFile}`, readFileSync(`${given.codesFile}`, "utf8").replace(",5073,", ",5071,"));
  assert.deepEqual((await importFile(given, [])).warnings, [
    `${given.codesFile} is of 2023, the release of 2022; groups change from year to year`,
    `${given.codesFile} has no code of 5073`,
    `${given.codesFile} contradicts the codes beside this program's plain words: 10140 is in 5071, not 5072; ` +
      "11770 is in no APC, not 5073",
  ]);
});

test("an addendum without codes for any group of the release is rejected, and nothing is written", async () => {
  const given = withCodes(optionsFor(csv(row)), codeLine("27447", "5115"));
  await assert.rejects(importFile(given, []), {
    name: "DataError",
    message: `${given.codesFile}: found no code of the release's procedure groups, expected an OPPS Addendum B of 2023`,
  });
  assert.throws(() => readdirSync(given.out), { code: "ENOENT" });
});

const full = (ccn: string, charge: number, allowed: number, beneficiaries: number, services: number) =>
  `${ccn},A,,Dothan,AL,5072,Level 2,${charge},${allowed},,,,${beneficiaries},${services},,,`;

test("suspicious figures are imported with a warning", async () => {
  const warningsOf = async (...rows: string[]) =>
    (await importFile(optionsFor(fullCsv(...rows)), [])).warnings;
  assert.deepEqual(await warningsOf(`${row},${more}`), []);
  assert.deepEqual(await warningsOf(full("010001", 5, 6, 20, 20), full("010002", 7, 6, 20, 20)), []);
  assert.deepEqual(
    await warningsOf(
      full("010001", 5, 6, 20, 20),
      full("010002", 5, 6, 20, 20),
      full("010003", 7, 6, 20, 20),
    ),
    ["2 of 3 priced rows have an allowed amount above the charge; the columns may be swapped"],
  );
  assert.deepEqual(await warningsOf(full("010001", 9, 6, 10, 11), full("010002", 9, 6, 10, 10)), [
    "priced rows with 10 services or fewer, which CMS suppresses: 1; the services may be of another column or file",
  ]);
  assert.deepEqual(await warningsOf(full("010001", 9, 6, 21, 20), full("010002", 9, 6, 20, 20)), [
    "rows with more beneficiaries than services: 1; the columns may be swapped",
  ]);
  assert.deepEqual(
    await warningsOf(...["01O001", "01I002", "O10003", "01000e"].map((ccn) => full(ccn, 9, 6, 20, 20))),
    ["CCNs with letters: 4, such as 01000E, 01I002, 01O001; an O or an I may stand for a digit"],
  );
});

const readAgain =
  "a program may have read UTF-8 as Windows-1252 or Latin-1 and written it again; take CMS's file, or read it as UTF-8";
const formulas = "a spreadsheet that opens export.csv may take them for formulas";

test("suspicious names and addresses are imported as they are, with a warning", async () => {
  const warned = async (...texts: string[]) => {
    const rows = texts.map((text, i) => {
      const name = text.replaceAll('"', '""');
      return full(`01000${i}`, 9, 6, 20, 20).replace(",A,", `,"${name}",`);
    });
    const { path: written, warnings } = await importFile(optionsFor(fullCsv(...rows)), []);
    return { warnings, names: (await snapshotAt(written)).table.facilities.name };
  };
  const windows1252 = new TextDecoder("windows-1252");
  const twice = (text: string) => windows1252.decode(Buffer.from(text));
  for (const text of sampled(
    ["D’Angelo", "Café", "Peña", "A – B", "“A", "A®", "Šibenik", "Ünal", "A™", "A…", "2 € St"],
    2,
  ))
    for (const misread of [twice(text), twice(twice(text))]) {
      if (/[\u0080-\u009f]/.test(misread)) continue;
      const { warnings, names } = await warned(misread, "B");
      assert.deepEqual(names, [misread.replace("\u00a0", " "), "B"]);
      assert.deepEqual(warnings, [
        `names or addresses that look decoded twice: 1, such as ${JSON.stringify(names[0])}; ${readAgain}`,
      ]);
    }
  const whole = [
    "Café",
    "RENÉ’S",
    "Peña – “St. Mary’s”",
    "São João",
    "Âme",
    "Århus",
    "Dvořák",
    "2 € St",
    "N.A.B. Clinic",
  ];
  assert.deepEqual((await warned(...whole)).warnings, []);

  for (const text of ["=1+2", "+A", "-A", "@A", '=HYPERLINK("http://a.example";"A")', " =A"]) {
    const { warnings, names } = await warned(text);
    assert.deepEqual(names, [text.trim()]);
    assert.deepEqual(warnings, [
      `names or addresses that begin with =, +, - or @: 1, such as ${JSON.stringify(text.trim())}; ${formulas}`,
    ]);
  }
  const four = ["=A", "=B", "=C", "=D"];
  assert.deepEqual((await warned(...four)).warnings, [
    `names or addresses that begin with =, +, - or @: 4, such as "=A", "=B", "=C"; ${formulas}`,
  ]);
  assert.deepEqual((await warned("A A")).warnings, []);
  assert.deepEqual((await warned("N/A")).warnings, [
    'names or addresses that mark a missing value: 1, such as "N/A"; an empty street or description is better',
  ]);
});

test("export.csv has a name that looks like a formula as it is", async () => {
  const fields = `${row},${more}`.split(",");
  fields[1] = "=1+2";
  const { path: written } = await importFile(optionsFor(fullCsv(fields.join(","))), []);
  const image = attachImage(buildImage(await snapshotAt(written)));
  const pieces = [...csvPieces(image, { procedure: null, state: null })].map((bytes) => bytes.slice());
  assert.match(Buffer.concat(pieces).toString(), /,010001,=1\+2,Dothan,AL,/);
});

test("a city, a street, a description and a procedure are checked like a name", async () => {
  for (const column of [2, 3, 6, 11]) {
    const fields = `${row},${more}`.split(",");
    fields[column] = "@A";
    const { warnings } = await importFile(optionsFor(fullCsv(fields.join(","))), []);
    assert.deepEqual(warnings, [
      `names or addresses that begin with =, +, - or @: 1, such as "@A"; ${formulas}`,
    ]);
  }
});

test("far fewer rows, facilities or states than in a release give a warning", () => {
  assert.deepEqual(suspectPart(115_507, 3_100, 50), []);
  assert.deepEqual(suspectPart(90_000, 2_000, 45), []);
  for (const [rows, facilities, states] of [
    [2130, 908, 46],
    [89_999, 3_100, 50],
    [116_799, 1_999, 50],
    [116_799, 3_100, 44],
  ])
    assert.deepEqual(
      suspectPart(rows, facilities, states).map((text) => `warning: ${text}`),
      [partWarning(rows, facilities, states)],
    );
});

test("amounts many times those of the previous snapshot give a warning", async () => {
  const options = optionsFor(csv(row));
  const { path: before } = await importFile({ ...options, year: 2021 }, []);
  const import2023 = async (charge: string) => {
    writeFileSync(options.file, csv(row.replace("9652.79", charge)));
    return (await importFile(options, [])).warnings;
  };
  assert.deepEqual(await import2023("99652.79"), []);
  const [latest] = readdirSync(options.out).toReversed();
  assert.equal(latest, "2023.1.parquet");
  assert.deepEqual(await import2023("9965279"), [
    `the median charge is 9965279.00, 100 times the 99652.79 of ${path.join(options.out, latest)}; the amounts may be in cents`,
  ]);
  assert.notEqual(before, "");
  writeFileSync(path.join(options.out, "2023.3.parquet"), "damaged");
  assert.deepEqual(await import2023("2000"), [], "nothing to compare with");
});
