import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { type ImportOptions, importFile, parseOptions } from "../datasets/import.ts";
import { csv, folder, optionsFor, otherRow, row } from "./cms-files.ts";

const oldHeader =
  "Provider_Id,Provider_Name,Provider_Street_Address,APC,Outpatient_Services," +
  "Average_Estimated_Submitted_Charges,Average_Total_Payments";
const oldLayout =
  " line 1: found the layout of the 2011–2015 files, which is not supported, expected the layout of 2016 and later, " +
  "with the columns Rndrng_Prvdr_CCN and APC_Cd";
const long = "x".repeat(501);

const refusals: Record<string, [content: string | Buffer, messageAfterFile: string]> = {
  "an empty file": ["", ": found an empty file, expected a CSV file with a header"],
  "a file of empty lines": ["\n\r\n", ": found only empty lines, expected a CSV file with a header"],
  "a file with a header only": [csv(), ": found a header and no rows, expected at least one row"],
  "missing columns, all of them": [
    csv(row).replace("Rndrng_Prvdr_City", "City").replace("APC_Desc", "Description"),
    " line 1: found a header without Rndrng_Prvdr_City, APC_Desc, expected the columns of the CMS file by Provider " +
      "and Service",
  ],
  "a column twice": [
    csv(row).replace("Rndrng_Prvdr_St,", "apc_desc,"),
    ' line 1: found column "APC_Desc" twice, expected each column once',
  ],
  "the layout of 2011–2015": [`${oldHeader}\n010001,A,B,0012,5,6,7\n`, oldLayout],
  "the layout of 2011–2015 with spaces": [`${oldHeader.replaceAll("_", " ")}\n`, oldLayout],
  "a record with too few fields": [
    csv(row, "010002,X"),
    " line 3: found 2 fields, expected 9 as in the header",
  ],
  "a line of spaces": [csv(row, "  "), " line 3: found 1 field, expected 9 as in the header"],
  "a record with too many fields": [csv(`${row},`), " line 2: found 10 fields, expected 9 as in the header"],
  "a CCN that lost its zero": [
    csv(row.replace("010001", "10001")),
    ' line 2, column Rndrng_Prvdr_CCN: found "10001", expected six letters or digits',
  ],
  "an unknown state": [
    csv(row.replace("AL", "Al")),
    ' line 2, column Rndrng_Prvdr_State_Abrvtn: found "Al", expected a known two-letter state code',
  ],
  "a malformed APC code": [
    csv(row.replace("5072", "572")),
    ' line 2, column APC_Cd: found "572", expected four digits',
  ],
  "an amount that is no number": [
    csv(row.replace("9652.79", "$9652")),
    ' line 2, column Avg_Tot_Sbmtd_Chrgs: found "$9652", expected an amount in dollars such as 1234.56, or nothing',
  ],
  "a negative amount": [
    csv(row.replace("1854.35", "-1")),
    ' line 2, column Avg_Mdcr_Alowd_Amt: found "-1", expected an amount in dollars such as 1234.56, or nothing',
  ],
  "an amount past the largest": [
    csv(row.replace("9652.79", "21474836.475")),
    ' line 2, column Avg_Tot_Sbmtd_Chrgs: found "21474836.475", expected at most 21474836.47',
  ],
  "a pair of CCN and APC twice": [
    csv(row, otherRow, otherRow, row),
    " line 4, columns Rndrng_Prvdr_CCN and APC_Cd: found 330101 and 5073 a second time, expected each pair once " +
      "(it is on line 3)",
  ],
  "an APC with two descriptions": [
    csv(row, otherRow, row.replace("010001", "010002").replace("Level 2", "Level 9")),
    ' line 4, column APC_Desc: found "Level 9 Excision" for 5072, expected "Level 2 Excision" as on line 2',
  ],
  "a CCN with two names": [
    csv(row, row.replace("Southeast", "South-East")),
    ' line 3, column Rndrng_Prvdr_Org_Name: found "South-East Health" for 010001, expected "Southeast Health" as ' +
      "on line 2",
  ],
  "a CCN with two cities": [
    csv(row, row.replace("Dothan", "Selma")),
    ' line 3, column Rndrng_Prvdr_City: found "Selma" for 010001, expected "Dothan" as on line 2',
  ],
  "a CCN with two states": [
    csv(row, row.replace("AL", "AK")),
    ' line 3, column Rndrng_Prvdr_State_Abrvtn: found "AK" for 010001, expected "AL" as on line 2',
  ],
  "a name of nothing": [
    csv(row.replace("Southeast Health", " ")),
    " line 2, column Rndrng_Prvdr_Org_Name: found nothing, expected a name",
  ],
  "an endless name": [
    csv(row.replace("Dothan", long)),
    " line 2, column Rndrng_Prvdr_City: found 501 characters, expected at most 500",
  ],
  "a control character in a name": [
    csv(row.replace("Level 2", "Level\x1b2")),
    " line 2, column APC_Desc: found the control character U+001B, expected printable text",
  ],
  "a byte that Windows-1252 has no character for": [
    Buffer.from(csv(row.replace("Dothan", "D\x81than")), "latin1"),
    " line 2, column Rndrng_Prvdr_City: found the control character U+0081, expected printable text",
  ],
  "a byte-order mark before another encoding": [
    Buffer.concat([Buffer.from("\ufeff"), Buffer.from(csv(row.replace("Dothan", "D\xf6than")), "latin1")]),
    ": found a byte-order mark of UTF-8 before text that is not UTF-8, expected one encoding",
  ],
  "a quote that stays open to the end": [
    csv(row, otherRow.replace("Level", '"Level')),
    " line 3, column APC_Desc: found a quote that is never closed, expected a closing quote",
  ],
  "a quote that stays open in a large file": [
    csv(row, otherRow.replace("Level", '"Level'), ..."x".repeat(2000).split("").fill(row)),
    " line 3, column APC_Desc: found a record of more than 65536 bytes, expected a shorter one; a quote may be open",
  ],
  "text after a closing quote": [
    csv(row.replace("Dothan", '"Dot"han')),
    " line 2, column Rndrng_Prvdr_City: found text after a closing quote, expected a comma or the end of the line",
  ],
  "a quote within unquoted text": [
    csv(row.replace("Dothan", 'Dot"han"')),
    " line 2, column Rndrng_Prvdr_City: found a quote within unquoted text, expected the whole field in quotes, " +
      'and "" inside it',
  ],
  "a broken header": [
    `"${csv(row)}`,
    " line 1, field 1: found a quote that is never closed, expected a closing quote",
  ],
  "a bad row after empty lines and line breaks in quotes": [
    csv(
      row.replace("1 Main St", '"1 Main\nSt\n"'),
      "",
      otherRow.replace("2 Main St", '"2\r\nMain St"'),
      "",
      "x",
    ),
    " line 9: found 1 field, expected 9 as in the header",
  ],
};

for (const [what, [content, message]] of Object.entries(refusals)) {
  test(`${what} is refused, and nothing is written`, async () => {
    const options = optionsFor(content);
    await assert.rejects(importFile(options), { name: "DataError", message: options.file + message });
    assert.equal(existsSync(options.out), false);
  });
}

test("what can't be read or written is named with the system's reason", async () => {
  const options = optionsFor(csv(row));
  const missing = path.join(folder, "missing.csv");
  const refused: [ImportOptions, string][] = [
    [{ ...options, file: missing }, `${missing}: found no readable file (ENOENT), expected a CSV file`],
    [{ ...options, file: folder }, `${folder}: found no regular file, expected a CSV file`],
    [
      { ...options, out: path.join(options.file, "out") },
      `${path.join(options.file, "out")}: found a refusal to write (ENOTDIR), expected a folder that can be written`,
    ],
  ];
  for (const [given, message] of refused)
    await assert.rejects(importFile(given), { name: "DataError", message });
});

test("the command line is taken apart, with the folder that is served by default", () => {
  assert.deepEqual(parseOptions(["a.csv", "--year", "2024"]), {
    file: "a.csv",
    year: 2024,
    out: "datasets/snapshots",
    released: null,
    sourceUrl: null,
  });
  assert.deepEqual(
    parseOptions([
      "--year=2016",
      "--out=o",
      "--released=2026-06",
      "--source-url",
      "https://a.example/b",
      "a.csv",
    ]),
    { file: "a.csv", year: 2016, out: "o", released: "2026-06", sourceUrl: "https://a.example/b" },
  );
});

test("a wrong command line gets one error that says what is expected", () => {
  const usage =
    "expected npm run import -- FILE.csv --year YYYY [--out DIR] [--released YYYY-MM] [--source-url URL]";
  const year = "expected a year from 2016 to 2099";
  const url = "expected an http or https URL";
  const wrong: [string[], string][] = [
    [[], `command line: found no FILE, ${usage}`],
    [["a.csv", "b.csv", "--year", "2024"], `command line: found more than one FILE, ${usage}`],
    [["a.csv"], `command line: found no --year, ${usage}`],
    [["a.csv", "--yaer", "2024"], `command line: found Unknown option '--yaer', ${usage}`],
    [["a.csv", "--year"], `command line: found Option '--year <value>' argument missing, ${usage}`],
    [
      ["a.csv", "--year", "--out", "o"],
      `command line: found Option '--year' argument is ambiguous, ${usage}`,
    ],
    [["a.csv", "--year", "2015"], `--year: found "2015", ${year}`],
    [["a.csv", "--year", "2e3"], `--year: found "2e3", ${year}`],
    [["a.csv", "--year", "02024"], `--year: found "02024", ${year}`],
    [["a.csv", "--year", "2024", "--out", ""], "--out: found nothing, expected a folder"],
    [
      ["a.csv", "--year", "2024", "--released", "2024-13"],
      '--released: found "2024-13", expected a month as YYYY-MM',
    ],
    [["a.csv", "--year", "2024", "--source-url", "ftp://a.b/c"], `--source-url: found "ftp://a.b/c", ${url}`],
    [["a.csv", "--year", "2024", "--source-url", "http://a b"], `--source-url: found "http://a b", ${url}`],
    [["a.csv", "--year", "2024", "--source-url", "https://"], `--source-url: found "https://", ${url}`],
  ];
  for (const [args, message] of wrong)
    assert.throws(() => parseOptions(args), { name: "DataError", message });
});
