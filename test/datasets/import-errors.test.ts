import assert from "node:assert/strict";
import { isUtf8 } from "node:buffer";
import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync } from "node:fs";
import promises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import path from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { CmsTable } from "../../datasets/cms/cms.ts";
import { TextScan } from "../../datasets/cms/encoding.ts";
import { type ImportOptions, importFile } from "../../datasets/cms/import.ts";
import { foreignKind, wayToCsv } from "../../datasets/cms/kind.ts";
import { amountsSql } from "../../datasets/cms/statements.ts";
import { encodeSnapshot } from "../../engine/index.ts";
import {
  csv,
  folder,
  fullCsv,
  header,
  more,
  moreHeader,
  optionsFor,
  otherRow,
  row,
} from "../support/cms-files.ts";
import { randomSnapshot } from "../support/fixtures.ts";
import { seededRandom } from "../support/random.ts";
import { sampled } from "../support/rounds.ts";

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
      'and Service; if a column was renamed, give it its name back (CMS doesn\'t use "City", "Description")',
  ],
  "a column that was deleted": [
    csv(row).replaceAll(/,[^,\n]*$/gm, ""),
    " line 1: found a header without Avg_Mdcr_Alowd_Amt, expected the columns of the CMS file by Provider and Service; " +
      "take CMS's file, because a column was deleted",
  ],
  "many columns of other names": [
    csv(row).replace("APC_Desc", "a,b,c,d,e,f"),
    " line 1: found a header without APC_Desc, expected the columns of the CMS file by Provider and Service; if a column " +
      'was renamed, give it its name back (CMS doesn\'t use "a", "b", "c", "d", "e", …)',
  ],
  "a file without a header": [
    `${row}\n`,
    " line 1: found a header without Rndrng_Prvdr_CCN, Rndrng_Prvdr_Org_Name, Rndrng_Prvdr_City, " +
      "Rndrng_Prvdr_State_Abrvtn, APC_Cd, APC_Desc, Avg_Tot_Sbmtd_Chrgs, Avg_Mdcr_Alowd_Amt, expected the columns of the " +
      "CMS file by Provider and Service; this line may not be the header",
  ],
  "a column twice": [
    csv(row).replace("Rndrng_Prvdr_St,", "apc_desc,"),
    ' line 1: found column "APC_Desc" twice, expected each column once',
  ],
  "the layout of 2011–2015": [`${oldHeader}\n010001,A,B,0012,5,6,7\n`, oldLayout],
  "a record with too few fields": [
    csv(row, "010002,X"),
    " line 3: found 2 fields, expected 9 as in the header; take the row from CMS's file; a line break may have cut it, or a field is missing",
  ],
  // The row's last fields are empty, so its shifted fields could be read without an error.
  "an unquoted comma before empty fields": [
    csv(row, otherRow.replace("Level 3 Excision", "Extraocular, Repair, and Plastic")),
    " line 3: found 11 fields, expected 9 as in the header; put a text that has a comma in quotes, and delete fields that belong to no column",
  ],
  "a note below the rows": [
    csv(row, "Source: CMS"),
    " line 3: found 1 field, expected 9 as in the header; delete the line if it is a title or a note",
  ],
  "a row with an empty field more": [
    csv(row, `${otherRow},`),
    " line 3: found 10 fields, expected 9 as in the header; put a text that has a comma in quotes, and delete fields that belong to no column",
  ],
  "a row that is wider than the others": [
    csv(`${row},`, otherRow),
    " line 3: found 9 fields, expected 10 as in the first row; take the row from CMS's file; a line break may have cut it, or a field is missing",
  ],
  "something in a column without a name": [
    csv(row, otherRow).replaceAll("\n", ",,\n").replace("1854.35,,", "1854.35,x,"),
    ' line 2, field 10: found "x", expected nothing in a column without a name',
  ],
  "a CCN that lost its zero": [
    csv(row.replace("010001", "10001")),
    ' line 2, column Rndrng_Prvdr_CCN: found "10001", expected six letters or digits; a spreadsheet may have dropped ' +
      "the zeros before it",
  ],
  "an unknown state": [
    csv(row.replace("AL", "XX")),
    ' line 2, column Rndrng_Prvdr_State_Abrvtn: found "XX", expected a known two-letter state code',
  ],
  "a malformed APC code": [
    csv(row.replace("5072", "50-72")),
    ' line 2, column APC_Cd: found "50-72", expected four digits',
  ],
  "an amount that is no number": [
    csv(row.replace("9652.79", "$9652")),
    ' line 2, column Avg_Tot_Sbmtd_Chrgs: found "$9652", expected an amount in dollars such as 1234.56, or nothing; ' +
      "remove the currency sign",
  ],
  "an amount past the largest": [
    csv(row.replace("9652.79", "21474836.475")),
    ' line 2, column Avg_Tot_Sbmtd_Chrgs: found "21474836.475", expected at most 21474836.47',
  ],
  "an amount that stands for a suppressed one": [
    csv(row.replace("9652.79", "NA")),
    ' line 2, column Avg_Tot_Sbmtd_Chrgs: found "NA", expected an amount in dollars such as 1234.56, or nothing; ' +
      "replace what marks a suppressed value by an empty cell",
  ],
  "services that stand for suppressed ones": [
    fullCsv(`${row},${more.replace("41", "*")}`),
    ' line 2, column CAPC_Srvcs: found "*", expected a whole number such as 41, or nothing; replace what marks a ' +
      "suppressed value by an empty cell",
  ],
  "an amount with thousands separators": [
    csv(row.replace("9652.79", '" 9,652.79 "')),
    ' line 2, column Avg_Tot_Sbmtd_Chrgs: found " 9,652.79 ", expected an amount in dollars such as 1234.56, or nothing; ' +
      "remove the commas between thousands",
  ],
  "services with thousands separators": [
    fullCsv(`${row},${more.replace("41", '"1,041"')}`),
    ' line 2, column CAPC_Srvcs: found "1,041", expected a whole number such as 41, or nothing; remove the commas between ' +
      "thousands",
  ],
  "a ZIP code of nine digits": [
    fullCsv(`${row},${more.replace("36301", "36301-1234")}`),
    ' line 2, column Rndrng_Prvdr_Zip5: found "36301-1234", expected five digits, or nothing; keep the first five digits only',
  ],
  "lines of text before the header": [
    `Medicare Outpatient Hospitals\nby Provider and Service\n${csv(row)}`,
    " line 3: found the header after 2 other lines, expected the header in the first line; delete the lines before it",
  ],
  "names of columns that CMS used before": [
    `${oldHeader},Average_Medicare_Allowed_Amount\n010001,A,B,0012,5,6,7,8\n`,
    " line 1: found a header without Rndrng_Prvdr_CCN, Rndrng_Prvdr_Org_Name, Rndrng_Prvdr_City, " +
      "Rndrng_Prvdr_State_Abrvtn, APC_Cd, APC_Desc, Avg_Tot_Sbmtd_Chrgs, Avg_Mdcr_Alowd_Amt, expected the columns of the " +
      "CMS file by Provider and Service, as CMS publishes it now; rename older ones",
  ],
  "services past the most": [
    fullCsv(`${row},${more.replace("41", "2147483648")}`),
    ' line 2, column CAPC_Srvcs: found "2147483648", expected at most 2147483647',
  ],
  "services that are no whole number": [
    fullCsv(`${row},${more.replace("41", "41.5")}`),
    ' line 2, column CAPC_Srvcs: found "41.5", expected a whole number such as 41, or nothing; ' +
      "a count has no fraction, so the columns may be shifted, or this is an average; take the value from CMS's file",
  ],
  "a ZIP code that lost its zero": [
    fullCsv(`${row},${more.replace("36301", "2124")}`),
    ' line 2, column Rndrng_Prvdr_Zip5: found "2124", expected five digits, or nothing; a spreadsheet may have dropped ' +
      "the zeros before it",
  ],
  "a RUCA code that there isn't": [
    fullCsv(`${row},${more.replace("4.1", "11")}`),
    ' line 2, column Rndrng_Prvdr_RUCA: found "11", expected a RUCA code such as 1 or 4.1, or nothing',
  ],
  "an endless description of a RUCA code": [
    fullCsv(`${row},${more.replace("Micropolitan area core", long)}`),
    " line 2, column Rndrng_Prvdr_RUCA_Desc: found 501 characters, expected at most 500",
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
  "a CCN with two states": [
    csv(row, row.replace("AL", "AK")),
    ' line 3, column Rndrng_Prvdr_State_Abrvtn: found "AK" for 010001, expected "AL" as on line 2',
  ],
  "a name of nothing": [
    csv(row.replace("Southeast Health", " ")),
    " line 2, column Rndrng_Prvdr_Org_Name: found nothing, expected a name",
  ],
  "a character that stands for lost text": [
    csv(row.replace("Southeast", "South\ufffdast")),
    " line 2, column Rndrng_Prvdr_Org_Name: found the replacement character U+FFFD, expected printable text",
  ],
  "a bidirectional control": [
    csv(row.replace("Dothan", "\u202enahtoD")),
    " line 2, column Rndrng_Prvdr_City: found the bidirectional control U+202E, expected printable text",
  ],
  "a character of no width": [
    csv(row.replace("Level 2", "Level\u200b 2")),
    " line 2, column APC_Desc: found the invisible character U+200B, expected printable text",
  ],
  "a character of private use": [
    csv(row.replace("Dothan", "\u{f0000}Dothan")),
    " line 2, column Rndrng_Prvdr_City: found the character without a meaning U+F0000, expected printable text",
  ],
  "one stray byte in UTF-8": [
    Buffer.concat([
      Buffer.from(csv(row, otherRow.replace("Some", "Café"))),
      Buffer.from(`${row.replace("010001", "010002").replace("Southeast", "S\xfcdost")}\n`, "latin1"),
    ]),
    " line 4, byte 9: found 0xFC, expected UTF-8 as on line 3",
  ],
  "a line that is cut short": [
    csv(row, otherRow).slice(0, -9),
    " line 3: found a last line without a line end, so the file may be cut off, even within an amount, expected a complete " +
      "file: get it again, or add --allow-unterminated if you know that nothing is missing",
  ],
  "a file without a priced row": [
    csv(otherRow, row.replace("1854.35", ""), row.replace("010001", "010002").replace("9652.79", "0")),
    ": found no priced row among 3, expected at least one with both Avg_Tot_Sbmtd_Chrgs and Avg_Mdcr_Alowd_Amt " +
      "above 0",
  ],
  "a byte that Windows-1252 has no character for": [
    Buffer.from(csv(row.replace("Dothan", "D\x81than")), "latin1"),
    " line 2, column Rndrng_Prvdr_City: found the control character U+0081, expected printable text",
  ],
  "UTF-8 that was read as Latin-1 and written again": [
    csv(row.replace("Southeast", "St. Mary\u00e2\u0080\u0099s")),
    " line 2, column Rndrng_Prvdr_Org_Name: found the control character U+0080, expected printable text; a program may have " +
      "read UTF-8 as Windows-1252 or Latin-1 and written it again; take CMS's file, or read it as UTF-8",
  ],
  "a letter that became an invisible character when it was read twice": [
    csv(row.replace("Southeast", "Mar\u00c3\u00ada")),
    " line 2, column Rndrng_Prvdr_Org_Name: found the invisible character U+00AD, expected printable text; a program may " +
      "have read UTF-8 as Windows-1252 or Latin-1 and written it again; take CMS's file, or read it as UTF-8",
  ],
  "a byte-order mark before another encoding": [
    Buffer.concat([Buffer.from("\ufeff"), Buffer.from(csv(row.replace("Dothan", "D\xf6than")), "latin1")]),
    " line 2, byte 36: found 0xF6, expected UTF-8 as on line 1",
  ],
  "a quote that stays open in a large file": [
    csv(row, otherRow.replace("Level", '"Level'), ..."x".repeat(2000).split("").fill(row)),
    " line 3, column APC_Desc: found a record of more than 65536 bytes, expected a shorter record; a closing quote may be " +
      "missing",
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
    " line 9: found 1 field, expected 9 as in the header; delete the line if it is a title or a note",
  ],
};

const unpack = "unpack it, and import the CSV file inside";
const fromWorkbook = "take CMS's CSV file, or save the sheet as CSV UTF-8 with its codes as text";
const asUtf8 = "save it as UTF-8 (in Excel: CSV UTF-8)";
const withCommas = "take CMS's CSV file, or save it with commas";
const takeIt = "take CMS's CSV file";
const kinds: [kind: string, advice: string, content: string | Uint8Array][] = [
  ["a gzip file", unpack, gzipSync(csv(row))],
  ["a zip archive", unpack, zipOf("MUP_OUT_DY23.csv")],
  ["an Excel workbook (xlsx)", fromWorkbook, zipOf("[Content_Types].xml", "_rels/.rels", "xl/workbook.xml")],
  ["an Excel workbook (xls)", fromWorkbook, Buffer.from("d0cf11e0a1b11ae10000", "hex")],
  ["a Parquet file", takeIt, encodeSnapshot(randomSnapshot(1))],
  ["UTF-16 text", asUtf8, Buffer.from(`\ufeff${csv(row)}`, "utf16le")],
  ["UTF-16 text", asUtf8, Buffer.from(csv(row), "utf16le")],
  ["UTF-16 text", asUtf8, Buffer.from(csv(row), "utf16le").swap16()],
  ["a binary file", takeIt, `${csv(row)}\0`],
  ["JSON", takeIt, '\ufeff\n [{"Rndrng_Prvdr_CCN":"010001"}]\n'],
  ["an HTML page", takeIt, "<!DOCTYPE html>\n<html></html>\n"],
  ["XML", takeIt, '<?xml version="1.0"?>'],
  ["fields separated by semicolons", withCommas, csv(row).replaceAll(",", ";")],
  ["fields separated by semicolons", withCommas, `"${header.replaceAll(",", '";"')}"\n`],
  ["fields separated by tabs", withCommas, csv(row).replaceAll(",", "\t")],
];

test("a file that lacks a single required column is refused", async () => {
  const required = header.split(",").filter((name) => name !== "Rndrng_Prvdr_St");
  for (const name of required) {
    const options = optionsFor(csv(row).replace(name, "Other"));
    await assert.rejects(importFile(options, []), (error: Error) =>
      error.message.startsWith(`${options.file} line 1: found a header without ${name}, expected `),
    );
  }
});

test("up to 50 lines before the header are named, and of more the first one's error is given", async () => {
  const titles = (count: number) => optionsFor(`${"A title\n".repeat(count)}${csv(row)}`);
  const refusal = (options: ImportOptions) => importFile(options, []).catch(({ message }: Error) => message);
  for (const [count, line, found] of [
    [1, 2, "the header after 1 other line"],
    [50, 51, "the header after 50 other lines"],
    [51, 1, "a header without Rndrng_Prvdr_CCN"],
  ] as const) {
    const options = titles(count);
    const message = await refusal(options);
    assert.ok(String(message).startsWith(`${options.file} line ${line}: found ${found}`), String(message));
  }
});

test("a file's kind is known by its first bytes, and has a way to CSV", () => {
  const unpack = "unpack it, and import the CSV file inside";
  const sheet = "take CMS's CSV file, or save the sheet as CSV UTF-8 with its codes as text";
  const utf8 = "save it as UTF-8 (in Excel: CSV UTF-8)";
  const take = "take CMS's CSV file";
  const hex = (digits: string) => Buffer.from(`${digits}4142`, "hex");
  const zip = Buffer.from("504b0304", "hex");
  for (const [start, kind, way] of [
    [hex("1f8b"), "a gzip file", unpack],
    [hex("504b0304"), "a zip archive", unpack],
    [hex("504b0506"), "an empty zip archive", unpack],
    [hex("425a68"), "a bzip2 file", unpack],
    [hex("fd377a585a00"), "an xz file", unpack],
    [hex("28b52ffd"), "a zstd file", unpack],
    [hex("377abcaf271c"), "a 7z archive", unpack],
    [hex("d0cf11e0a1b11ae1"), "an Excel workbook (xls)", sheet],
    [Buffer.concat([zip, Buffer.from("xl/workbook.xml")]), "an Excel workbook (xlsx)", sheet],
    [Buffer.concat([zip, Buffer.from("word/styles.xml")]), "a zip archive", unpack],
    [hex("50415231"), "a Parquet file", take],
    [hex("25504446"), "a PDF file", take],
    [hex("fffe0000"), "UTF-32 text", utf8],
    [hex("fffe"), "UTF-16 text", utf8],
    [hex("feff"), "UTF-16 text", utf8],
    [Buffer.from("a\0b\0"), "UTF-16 text", utf8],
    [Buffer.from("\0a\0b"), "UTF-16 text", utf8],
    [Buffer.from("ab\0c"), "a binary file", take],
    [Buffer.from("a\0\0b"), "a binary file", take],
    [Buffer.from("\0\0\0\0"), "a binary file", take],
    [Buffer.from("abcd\0"), "a binary file", take],
    [Buffer.from("\ufeff [1]"), "JSON", take],
    [Buffer.from("{"), "JSON", take],
    [Buffer.from("<HEAD>"), "an HTML page", take],
    [Buffer.from("<body\n>"), "an HTML page", take],
    [Buffer.from("<headers>"), "XML", take],
    [
      Buffer.from("a;b,c;d\n"),
      "fields separated by semicolons",
      "take CMS's CSV file, or save it with commas",
    ],
    [Buffer.from("a\tb\n,,,"), "fields separated by tabs", "take CMS's CSV file, or save it with commas"],
    [
      Buffer.from("a|b\r,,,"),
      "fields separated by vertical bars",
      "take CMS's CSV file, or save it with commas",
    ],
  ] as const) {
    assert.equal(foreignKind(start), kind);
    assert.equal(wayToCsv(kind), way);
  }
  for (const start of ["a;b,c", "a", "", "1,[", "a\n;;;", "\ufeffa,b"])
    assert.equal(foreignKind(Buffer.from(start)), undefined, start);
});

test("a statement reads a file's amounts, by CMS's names of columns or by others, perhaps under conditions", () => {
  assert.equal(
    amountsSql("It's a file.csv"),
    'SELECT upper(trim("Rndrng_Prvdr_CCN")) AS ccn, upper(trim("Rndrng_Prvdr_State_Abrvtn")) AS state, ' +
      'trim("APC_Cd") AS apc, round(TRY_CAST(trim("Avg_Tot_Sbmtd_Chrgs") AS DECIMAL(18,10)), 2) AS charge, ' +
      'round(TRY_CAST(trim("Avg_Mdcr_Alowd_Amt") AS DECIMAL(18,10)), 2) AS allowed ' +
      "FROM read_csv('It''s a file.csv', header = true, all_varchar = true)",
  );
  const names = { ccn: "a", state: "b", code: "c", charge: "d", allowed: "e" };
  assert.ok(amountsSql("x", names, ["a = 1", "b = 2"]).endsWith("all_varchar = true) WHERE a = 1 AND b = 2"));
  assert.ok(amountsSql("x", names).includes('trim("c") AS apc'));
});

test("any column of the layout of 2011–2015 tells it", () => {
  for (const name of ["Provider Id", "average_estimated_submitted_charges", "Average Total Payments"])
    assert.throws(() => new CmsTable("f", ["a", name], 1), {
      name: "DataError",
      message: `f${oldLayout}`,
    });
  assert.throws(
    () => new CmsTable("f", ["a", "Provider"], 7),
    /^DataError: f line 7: found a header without /,
  );
});

test("a file that grows while it is read is refused", async (t) => {
  const options = optionsFor(csv(row));
  const { open } = promises;
  t.mock.method(promises, "open", async (...args: Parameters<typeof open>) => {
    const handle = await open(...args);
    const read = handle.read.bind(handle);
    let isGrown = false;
    handle.read = (async (...into: Parameters<typeof read>) => {
      const part = await read(...into);
      if (part.bytesRead === 0 && !isGrown) appendFileSync(options.file, `${otherRow}\n`);
      isGrown ||= part.bytesRead === 0;
      return part;
    }) as typeof read;
    return handle;
  });
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
  const [before, after] = [csv(row), csv(row, otherRow)].map(({ length }) => length);
  await assert.rejects(importFile(options, []), {
    name: "DataError",
    message: `${options.file}: found ${before} bytes and then ${after}, expected a file that doesn't change while it is read`,
  });
});

test("a file of another type is rejected with its type, and nothing is written", async () => {
  for (const [kind, advice, content] of kinds) {
    const options = optionsFor(typeof content === "string" ? content : Buffer.from(content));
    const message = `${options.file}: found ${kind}, expected a CSV file, as it was published; ${advice}`;
    await assert.rejects(importFile(options, []), { name: "DataError", message });
    assert.equal(existsSync(options.out), false);
  }
});

/** The importer reads only the local headers of a zip archive. */
function zipOf(...names: string[]): Buffer {
  const headers = names.map((name) => {
    const head = Buffer.alloc(30);
    head.write("PK\x03\x04", "latin1");
    head.writeUInt16LE(name.length, 26);
    return Buffer.concat([head, Buffer.from(name)]);
  });
  return Buffer.concat(headers);
}

test("an invalid UTF-8 byte is located for any chunk boundary and at the file's end", () => {
  const text = Buffer.from("a,é\r\n–🏥\n");
  const stray = Buffer.concat([text, Buffer.of(0x61, 0xe2, 0x80), Buffer.from("\n")]);
  for (let cut = 0; cut <= stray.length; cut++) {
    const whole = scanned(text.subarray(0, cut), text.subarray(cut));
    assert.deepEqual([whole.stray, whole.multibyteLine, whole.line], [undefined, 1, 3]);
    const broken = scanned(stray.subarray(0, cut), stray.subarray(cut));
    assert.deepEqual(broken.stray, { line: 3, byte: 2, value: 0xe2 });
  }
  assert.deepEqual(scanned(Buffer.of(0x0d, 0x61, 0xc3)).stray, { line: 2, byte: 2, value: 0xc3 });
  assert.deepEqual(scanned(Buffer.of(0x61, 0xc3)).stray, { line: 1, byte: 2, value: 0xc3 });
});

test("UTF-8 validation of random bytes agrees with Node's", () => {
  const seed = 20_230_002;
  const random = seededRandom(seed);
  const firsts = [
    0x7f, 0x80, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xef, 0xf0, 0xf1, 0xf4, 0xf5,
  ];
  const laters = [0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xff];
  for (let i = 0; i < 20_000; i++) {
    const bytes = Buffer.of(
      random.pick(firsts),
      ...Array.from({ length: random.int(5) }, () => random.pick(laters)),
    );
    assert.equal(scanned(bytes).stray === undefined, isUtf8(bytes), `${bytes.toString("hex")}, seed ${seed}`);
  }
});

function scanned(...chunks: Buffer[]): TextScan {
  const scan = new TextScan();
  for (const chunk of chunks) scan.push(chunk);
  scan.finish();
  return scan;
}

test("a file with names too large for any server to load is rejected", async () => {
  const name = (i: number) => `${"院".repeat(495)}${i}`;
  const rows = Array.from({ length: 500 }, (_, i) =>
    [String(i).padStart(6, "0"), name(i), "", name(i), "AL", "5072", "Level 2", "1", "1"].join(","),
  );
  const options = optionsFor(csv(...rows));
  await assert.rejects(importFile(options, []), {
    name: "DataError",
    message: new RegExp(
      `^${options.file} as a snapshot: decoded size: found \\d+ bytes, expected at most 1304576 for`,
    ),
  });
  assert.equal(existsSync(options.out), false);
});

for (const [what, [content, message]] of Object.entries(refusals)) {
  test(`${what} is refused, and nothing is written`, async () => {
    const options = optionsFor(content);
    await assert.rejects(importFile(options, []), { name: "DataError", message: options.file + message });
    assert.equal(existsSync(options.out), false);
  });
}

const columnsOf = (line: string) => line.split(",");
const fullHeader = `${header},${moreHeader}`;

/** A release of one row, in which a column has the given text. */
function withCell(column: string, text: string): string {
  const cells = columnsOf(`${row},${more}`);
  cells[columnsOf(fullHeader).indexOf(column)] = /["\n,]/.test(text)
    ? `"${text.replaceAll('"', '""')}"`
    : text;
  return `${fullHeader}\n${cells.join(",")}\n`;
}

const asText =
  "take the value from CMS's file, and keep the column as text (in pandas dtype=str, in a spreadsheet the column type Text)";
const number = `a program has made the code a number; ${asText}`;
const rounded = `a spreadsheet has rounded it to this scientific form; ${asText}`;
const formula = "this is a spreadsheet's formula that keeps a text; write the value alone";
const quoted = "remove the quotation mark before the value";
const fault = "this is a spreadsheet's error; take the value from CMS's file";
const date = `if a spreadsheet has made the code a date, ${asText}`;
const lostZero = "a spreadsheet may have dropped the zeros before it";
const emptied = "replace what marks a suppressed value by an empty cell";
const mask = `this masks a small count; ${emptied}`;
const point = "write a point before the cents, and nothing between thousands";
const missing =
  "NA N/A n/a #N/A NaN nan <NA> NaT None null NULL (null) \\N - -- – . .. * ? missing (blank) blank (empty) EMPTY".split(
    " ",
  );
const sign = "remove the currency sign";
const signAndCommas = "remove the currency sign, and the commas between thousands";
const truth = "a program has made it a truth value; take the value from CMS's file";
const truths = ["TRUE", "FALSE", "true", "False"];
const percentage =
  "this is a percentage, so the columns may be shifted, or a spreadsheet has changed it; take the value from CMS's file";
const percentages = ["12%", "12.5 %", "9,652.79%", "0%"];
const tooMany = (digits: number) =>
  `${digits} digits are too many, so a digit may have been added; take the value from CMS's file`;
const average =
  "a count has no fraction, so the columns may be shifted, or this is an average; take the value from CMS's file";
const numberAsDate = `if a spreadsheet has made the number a date, ${asText}`;
const masked = ["<11", "< 11", "<=10", "≤10", "&lt;11", "10 or fewer", "1-10", "suppressed"];
const errors = ["#REF!", "#VALUE!", "#DIV/0!", "#NAME?", "#####", "Err:502"];

/** Columns, what they expect, and texts that programs write into them, by the advice in the error. */
const cells: [columns: string, expected: string, texts: Record<string, string[]>][] = [
  [
    "Rndrng_Prvdr_CCN",
    "six letters or digits",
    {
      [number]: ["10008.0", "010008.0", "10008.", "1e+05"],
      [rounded]: ["5.00E+05", "1.00E+123", "1.0008e+04"],
      [formula]: ['="010008"', "=010008"],
      [quoted]: ["'010008", '"010008"'],
      [lostZero]: ["10008", "8"],
      [tooMany(7)]: ["0100010", "1000800"],
      [tooMany(12)]: ["010008010009"],
      [truth]: truths,
      [percentage]: percentages,
      "remove the commas between thousands": ["10,008"],
      "take the value from CMS's file": missing,
      "this masks a small count, so the columns may be shifted": ["<11", "≤10"],
      [fault]: errors,
      [date]: ["2023-01-08", "1/8/2023", "8-Jan", "Jan 2023"],
    },
  ],
  [
    "APC_Cd",
    "four digits",
    {
      [tooMany(5)]: ["50720"],
      [truth]: ["TRUE"],
      [number]: ["5072.0"],
      [rounded]: ["5.07E+03"],
      [formula]: ['="5072"'],
    },
  ],
  [
    "Rndrng_Prvdr_Zip5",
    "five digits, or nothing",
    {
      [number]: ["36049.0", "2124.0", "4e+04"],
      [rounded]: ["3.60E+04"],
      [formula]: ['="02124"'],
      [quoted]: ["'02124"],
      [lostZero]: ["2124", "602"],
      "remove the commas between thousands": ["36,049"],
      "keep the first five digits only": ["36301-1234", "363011234"],
      "leave the cell empty if there is no value": missing,
    },
  ],
  [
    "Rndrng_Prvdr_RUCA",
    "a RUCA code such as 1 or 4.1, or nothing",
    {
      "leave the cell empty if there is no value": missing,
      [date]: ["4-Jan", "Jan-04", "01/04/23", "2023-04-01"],
      [formula]: ['="4.1"'],
    },
  ],
  [
    "Rndrng_Prvdr_State_Abrvtn",
    "a known two-letter state code",
    {
      "take the value from CMS's file": missing,
      [truth]: truths,
      "write AL, not its name": ["Alabama", "ALABAMA", " alabama ", "A.L."],
      "write NY, not its name": ["New York", "new york", "N.Y.", "NewYork"],
      "write DC, not its name": ["District of Columbia", "D.C."],
      "write VI, not its name": ["U.S. Virgin Islands", "Virgin Islands"],
    },
  ],
  ...["CAPC_Srvcs", "Bene_Cnt", "Outlier_Srvcs"].map((column): (typeof cells)[number] => [
    column,
    "a whole number such as 41, or nothing",
    {
      [emptied]: missing,
      [mask]: masked,
      [rounded]: ["5.00E+05", "4.1e+01"],
      [formula]: ['="41"'],
      [quoted]: ["'41"],
      [fault]: errors,
      "remove the commas between thousands": ["1,041"],
      "remove what separates thousands": ["1 041", "1'041", "1\u202f041"],
      "a count or an amount can't be negative; take the value from CMS's file": ["-5", "(5)"],
      "a division by zero gives this; take the value from CMS's file": ["inf", "-Inf", "Infinity"],
      [average]: ["25.5", "0.5", ".5", "41.01"],
      [truth]: truths,
      [percentage]: percentages,
      [numberAsDate]: ["2023-01-08", "1/8/2023", "8-Jan"],
      [sign]: ["$41", "41 USD"],
    },
  ]),
  ...["Avg_Tot_Sbmtd_Chrgs", "Avg_Mdcr_Alowd_Amt", "Avg_Mdcr_Pymt_Amt", "Avg_Mdcr_Outlier_Amt"].map(
    (column): (typeof cells)[number] => [
      column,
      "an amount in dollars such as 1234.56, or nothing",
      {
        [emptied]: missing,
        [mask]: masked,
        [rounded]: ["5.00E+05", " 9.65E+03 "],
        [formula]: ['="9652.79"'],
        [fault]: errors,
        "remove the commas between thousands": ["9,652.79", "10,981.67"],
        [sign]: ["$10981.67", "$ 10981.67", "US$10981.67", "10981.67$", "€10981.67", "USD 10981.67", "£5"],
        [signAndCommas]: ["$9,652.79", "$ 1,009,652", "9,652.79 USD", "€9,652.79"],
        [truth]: truths,
        [percentage]: percentages,
        [numberAsDate]: ["2023-01-08", "8-Jan"],
        [point]: ["9652,79", "9.652,79", "9 652,79", "1.009.652,79"],
        "remove what separates thousands": ["9 652.79", "9'652.79"],
        "a count or an amount can't be negative; take the value from CMS's file": ["-9652.79", "($9652.79)"],
      },
    ],
  ),
];

test("a cell that a spreadsheet, pandas or R has changed is refused with what to do", async () => {
  for (const [column, expected, byAdvice] of cells)
    for (const [advice, texts] of Object.entries(byAdvice))
      for (const text of sampled(texts, 5)) {
        const options = optionsFor(withCell(column, text));
        const shown = column === "APC_Cd" ? text.trim() : text;
        await assert.rejects(importFile(options, []), {
          name: "DataError",
          message: `${options.file} line 2, column ${column}: found ${JSON.stringify(shown)}, expected ${expected}; ${advice}`,
        });
        assert.equal(existsSync(options.out), false);
      }
});

test("a row of totals is refused, wherever it begins and however many fields it has", async () => {
  for (const [total, field] of [
    ...["Total", "Totals", "TOTAL", "Grand Total", "grand total:", "Subtotal", "Sub-total", "Total Result"],
    ...["Sum", "Sum of charges", "Average", "010001 Total", " Total "],
  ].flatMap((total) => [
    [`${total},,,,,,,9652.79,1854.35`, 1],
    [`,${total},,,,,,9652.79,1854.35`, 2],
    [`,,,,,,${total},9652.79,1854.35`, 7],
    [`${total},9652.79`, 1],
    [total, 1],
  ]) as [string, number][]) {
    const options = optionsFor(csv(row, otherRow, total));
    const text = total.split(",").find((cell) => cell !== "");
    await assert.rejects(importFile(options, []), {
      name: "DataError",
      message: `${options.file} line 4, field ${field}: found ${JSON.stringify(text)}, which begins a row of totals, expected rows of a facility and a procedure only; delete this row`,
    });
    assert.equal(existsSync(options.out), false);
  }
  const named = csv(row.replace("Southeast Health", "Total"), otherRow.replace("Some Hospital", "Sum"));
  assert.ok((await importFile(optionsFor(named), [])).isNew, "a hospital may have such a name");
});

test("an unquoted formula that keeps a text is refused with what to do", async () => {
  for (const content of [csv(row.replace("010001", '="010001"')), csv(row.replace("5072", ' ="5072"'))]) {
    const options = optionsFor(content);
    await assert.rejects(importFile(options, []), {
      name: "DataError",
      message:
        /line 2, column \w+: found ="…", a spreadsheet's formula that keeps a text, expected the value alone, such as 010008 for ="010008"$/,
    });
  }
});

test("an unreadable file or unwritable folder is reported with the system's error code", async () => {
  const options = optionsFor(csv(row));
  const missing = path.join(folder, "missing.csv");
  const pipe = path.join(folder, "pipe.csv");
  execFileSync("mkfifo", [pipe]);
  const refused: [ImportOptions, string][] = [
    [{ ...options, file: missing }, `${missing}: found no readable file (ENOENT), expected a CSV file`],
    [
      { ...options, file: folder },
      `${folder}: found something that isn't a regular file, expected a CSV file`,
    ],
    [{ ...options, file: pipe }, `${pipe}: found something that isn't a regular file, expected a CSV file`],
    [
      { ...options, out: path.join(options.file, "out") },
      `${path.join(options.file, "out")}: found a folder that can't be written (ENOTDIR), expected a folder that can be written`,
    ],
  ];
  for (const [given, message] of refused)
    await assert.rejects(importFile(given, []), { name: "DataError", message });
});
