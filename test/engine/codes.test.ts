import assert from "node:assert/strict";
import { test } from "node:test";
import {
  attachImage,
  buildImage,
  decodeSnapshot,
  encodeSnapshot,
  type HcpcsCode,
  sealSnapshot,
  textAt,
} from "../../engine/index.ts";
import { hcpcsCodeIn, isHcpcsCode, otherCodeIn, withoutDiagnoses } from "../../engine/search/codes.ts";
import { hcpcs } from "../support/addendum.ts";
import { contentOf, columnsOf as fileColumns, readBack, snapshotOf } from "../support/fixtures.ts";
import { fileOf, metadataOf } from "../support/parquet-file.ts";

const plain = snapshotOf([
  ["010001", "AL", "5071", 100, 50],
  ["010001", "AL", "5115", 200.5, 60.25],
]);
const withCodes = (codes: HcpcsCode[]) => sealSnapshot(plain.table, plain.provenance, codes);
const codes = [hcpcs("0616T", "5071"), hcpcs("23472", "5115", 'A "quoted" é'), hcpcs("27447", "5115", "")];
const coded = withCodes(codes);
const file = encodeSnapshot(coded);

test("HCPCS codes survive writing a snapshot and reading it back", async () => {
  assert.deepEqual(contentOf(await readBack(file)), contentOf(coded));
  assert.equal((await readBack(encodeSnapshot(plain))).codes, null);
  assert.equal(metadataOf(encodeSnapshot(plain)).has("hcpcs_codes"), false);
});

test("HCPCS codes change the version's checksum and leave the checksum of the rows unchanged", () => {
  const others = [
    withCodes([]),
    withCodes(codes.slice(1)),
    withCodes([{ ...codes[0], procedure: "5115" }, ...codes.slice(1)]),
    withCodes([{ ...codes[0], status: "T" }, ...codes.slice(1)]),
    withCodes([{ ...codes[0], description: "Another" }, ...codes.slice(1)]),
  ];
  for (const { contentSha256 } of [coded, ...others]) assert.equal(contentSha256, plain.contentSha256);
  assert.equal(new Set([plain, coded, ...others].map(({ sha256 }) => sha256)).size, 2 + others.length);
});

test("a snapshot whose HCPCS codes are malformed or fail the checksum is rejected", async () => {
  const refusal = (text: string) => {
    const changed = fileOf(fileColumns(coded), metadataOf(file).set("hcpcs_codes", text));
    return assert.rejects(decodeSnapshot(changed, "a file"), (error: Error) => {
      message = error.message;
      return error.name === "DataError";
    });
  };
  let message = "";
  const list = (...lines: unknown[]) => JSON.stringify(lines);
  const one = ["27447", "5115", "J1", "x"];
  const form = (found: string) =>
    `a file: metadata hcpcs_codes${found}, expected a list of codes, each as ["27447","5115","J1","a description"]`;
  for (const [text, expected] of [
    [list(one), /^a file: sha256 of the rows: /],
    ["[", form(": found no JSON")],
    ["{}", form(': found "{}"')],
    ["null", form(': found "null"')],
    [list(7), form(', entry 1: found "7"')],
    [list(null), form(', entry 1: found "null"')],
    [list(one.slice(1)), form(', entry 1: found "["5115","J1","x"]"')],
    [list([...one, "more"]), form(', entry 1: found "["27447","5115","J1","x","more"]"')],
    [list(one, ["27447", "5115", "", 7]), form(', entry 2: found "["27447","5115","",7]"')],
    [list(["2744", "5115", "", ""]), /, entry 1: found "2744", expected a code such as 27447 or G0105$/],
    [
      list(["27447", "5115", "", "x".repeat(501)]),
      /, entry 1: found 501 characters at code 27447, expected at most 500$/,
    ],
    [list(["27447", "5115", "x".repeat(11), ""]), /found 11 characters at code 27447, expected at most 10$/],
    [list(one, one), /, entry 2: found 27447 after 27447, expected each code once, ascending$/],
    [
      list(["27447", "5116", "", ""]),
      /, entry 1: found code 27447 of the procedure "5116", expected codes of procedures in the snapshot$/,
    ],
  ] as const) {
    await refusal(text);
    if (typeof expected === "string") assert.equal(message.replaceAll("\\", ""), expected, text);
    else assert.match(message, expected, text);
  }
});

test("an image holds each procedure's HCPCS codes as JSON, or null if the snapshot has no codes", () => {
  const includesOf = (snapshot: typeof plain) => {
    const { includes, procedures } = attachImage(buildImage(snapshot));
    return Array.from({ length: procedures }, (_, i) => JSON.parse(textAt(includes, i)));
  };
  assert.deepEqual(includesOf(coded), [
    [{ code: "0616T", description: "Invented 0616T" }],
    [
      { code: "23472", description: 'A "quoted" é' },
      { code: "27447", description: null },
    ],
  ]);
  assert.deepEqual(includesOf(withCodes(codes.slice(1)))[0], []);
  assert.deepEqual(includesOf(plain), [null, null]);
});

test("codes of other systems are told apart by their forms", () => {
  const systems: [RegExp | undefined, string[]][] = [
    [
      / is a DRG, /,
      ["DRG 1", "drg470", "MS-DRG 470", "apr-drg: 47", "DRGs no. 470", "DRG code 470", "drg number 3"],
    ],
    [
      /^ICD codes /,
      ["ICD-10", "icd 9", "icd11", "ICD-10-CM", "icd 10 pcs", "icd code", "M17.11", "s72.001a", "Z00.0"],
    ],
    [/^1234567893 looks like an NPI, /, ["1234567893", "npi 1234567893"]],
    [/^2234567893 looks like an NPI, /, ["2234567893"]],
    [
      undefined,
      [
        "drg",
        "drgx 470",
        "DRG 4700x",
        "icd",
        "icd 12",
        "U07.1",
        "17.11",
        "12345678931",
        "3234567893",
        "123456789",
      ],
    ],
  ];
  for (const [meaning, texts] of systems)
    for (const text of texts) {
      const said = otherCodeIn(text);
      if (meaning === undefined) assert.equal(said, undefined, text);
      else assert.match(said ?? "", meaning, text);
    }
  assert.match(otherCodeIn("ms-drg 470") ?? "", /^MS-DRG 470 is a DRG, /);
  assert.deepEqual(withoutDiagnoses("knee m17.11 ICD-10 z00.0"), {
    rest: `knee${" ".repeat(6)}`,
    diagnoses: ["M17.11", "Z00.0"],
  });
  assert.deepEqual(withoutDiagnoses("knee ICD-10"), { rest: "knee ICD-10", diagnoses: [] });
  assert.equal(hcpcsCodeIn("the g0105 or 27447"), "G0105");
  assert.equal(hcpcsCodeIn("knee 5115"), undefined);
  const codes = ["27447", "g0105", "0616T", "5115", "274477", "GG105"];
  assert.deepEqual(codes.map(isHcpcsCode), [true, true, true, false, false, false]);
});
