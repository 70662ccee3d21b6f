import assert from "node:assert/strict";
import { truncateSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { contradictedCodes, readAddendum } from "../../datasets/cms/addendum.ts";
import { plainWordsOf } from "../../engine/index.ts";
import { addendum, codeLine, hcpcs } from "../support/addendum.ts";
import { folder } from "../support/cms-files.ts";

let files = 0;
function fileOf(content: string | Uint8Array): string {
  const file = path.join(folder, `addendum-${++files}.csv`);
  writeFileSync(file, content);
  return file;
}
const read = (content: string | Uint8Array) => readAddendum(fileOf(content));

test("codes below a text preamble are read in ascending order, and may have no group", async () => {
  const { codes, year } = await read(
    addendum(
      codeLine("G0105", "5311"),
      codeLine("27447", "5115"),
      codeLine("0616T", "5493"),
      codeLine("99213"),
      codeLine("00100", "-"),
      codeLine("36415", "N/A"),
      ",,,,,",
      "Footnotes and * text,,,,,",
    ),
  );
  assert.equal(year, "2023");
  assert.deepEqual(codes, [
    hcpcs("00100", ""),
    hcpcs("0616T", "5493"),
    hcpcs("27447", "5115"),
    hcpcs("36415", ""),
    hcpcs("99213", ""),
    hcpcs("G0105", "5311"),
  ]);
});

test("columns are found at any position and under the names that different quarters use", async () => {
  for (const [header, line] of [
    ["HCPCS Code,Short Descriptor,SI,APC", "27447,Invented 27447,J1,5115"],
    [
      "APC,APC Title,CPT/HCPCS,Payment Rate,Status Indicator,CI,Description",
      "5115,x,27447,$1,J1,,Invented 27447",
    ],
    ["\ufeff hcpcs , SHORT DESCRIPTOR ,si , apc ,", " 27447 , Invented  27447 , J1 , 5115 ,"],
    ["Apc Payment Rate,CY 2023 APC,HCPCS_CD,SHORT_DESC,CY 2023 SI", "7,5115,27447,Invented 27447,J1"],
  ])
    assert.deepEqual((await read(`A title\n${header}\n${line}\n`)).codes, [hcpcs("27447", "5115")], header);
});

test("a file without status indicators, descriptors or a last line end is read", async () => {
  const { codes, year } = await read("HCPCS,Descriptor,APC\r27447,,5115");
  assert.deepEqual(codes, [{ code: "27447", procedure: "5115", status: "", description: "" }]);
  assert.equal(year, undefined);
});

test("Windows-1252 and UTF-8 give the same descriptors, and codes and APCs are normalized", async () => {
  const text = addendum(codeLine("g0105", "12", "Café – “quoted”"));
  const windows = text.replace("é", "\xe9").replace("–", "\x96").replace("“", "\x93").replace("”", "\x94");
  for (const content of [text, Buffer.from(windows, "latin1")])
    assert.deepEqual((await read(content)).codes, [hcpcs("G0105", "0012", "Café – “quoted”")]);
});

test("an addendum may have 128 MiB, and a larger file isn't read", async () => {
  const file = fileOf("");
  truncateSync(file, 2 ** 27 + 1);
  await assert.rejects(readAddendum(file), {
    name: "DataError",
    message: `${file}: found 134217729 bytes, expected the CSV file of CMS's OPPS Addendum B, with the columns HCPCS Code, Short Descriptor and APC; it has at most 134217728 bytes`,
  });
  await assert.rejects(readAddendum(`${file}.missing`), {
    message: `${file}.missing: found no readable file (ENOENT), expected a CSV file`,
  });
});

test("an invalid addendum is rejected with one error", async () => {
  const expected =
    "expected the CSV file of CMS's OPPS Addendum B, with the columns HCPCS Code, Short Descriptor and APC";
  const refusals: [content: string | Uint8Array, message: string][] = [
    ["", `: found no header with its columns, ${expected}`],
    ["a,b\n1,2\n", `: found no header with its columns, ${expected}`],
    [addendum().replace("APC,", "Group,"), `: found no header with its columns, ${expected}`],
    [Buffer.from("504b0304", "hex"), `: found a zip archive, ${expected}`],
    [addendum(), ": found a header and no codes, expected at least one code"],
    [
      addendum(codeLine("27447", "5115"), codeLine("27447", "5116")),
      ' line 7, column APC: found "5116" for 27447, expected "5115" as on line 6',
    ],
    [
      addendum(codeLine("100", "5115")),
      ' line 6, column HCPCS Code: found "100", expected a code such as 27447 or G0105; a spreadsheet may have dropped ' +
        "the zeros before it",
    ],
    [
      addendum(codeLine("27447", "5115.5")),
      ' line 6, column APC: found "5115.5", expected four digits, or nothing',
    ],
    [
      addendum(codeLine("27447", "5115", "x\u0007")),
      " line 6, column Short Descriptor: found the control character U+0007, expected printable text",
    ],
    [
      addendum(codeLine("27447", "5115", "x", "much too long")),
      ' line 6, column SI: found "much too long", expected at most 10 characters',
    ],
    [
      addendum(codeLine("27447", "5115", "x", "J\u200b")),
      " line 6, column SI: found the invisible character U+200B, expected printable text",
    ],
  ];
  for (const [content, message] of refusals) {
    const file = fileOf(content);
    await assert.rejects(readAddendum(file), { name: "DataError", message: file + message });
  }
  await assert.rejects(readAddendum(folder), {
    message: `${folder}: found something that isn't a regular file, expected a CSV file`,
  });
});

test("known codes that an addendum has in another group are reported, and missing ones aren't", async () => {
  const all = Object.entries(plainWordsOf).flatMap(([apc, { codes }]) =>
    codes.map((code) => codeLine(code, apc)),
  );
  const of = async (...lines: string[]) => contradictedCodes(await read(addendum(...lines)));
  assert.deepEqual(await of(...all), []);
  const others = all.filter((line) => !/^(27447|64721|66984),/.test(line));
  assert.deepEqual(await of(...others, codeLine("27447", "5116"), codeLine("64721")), [
    "27447 is in 5116, not 5115",
    "64721 is in no APC, not 5431",
  ]);
});
