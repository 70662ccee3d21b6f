import assert from "node:assert/strict";
import { test } from "node:test";
import * as v from "valibot";
import { sealSnapshot } from "../../engine/index.ts";
import { searchResponse } from "../../server/api/responses.ts";
import { hcpcs } from "../support/addendum.ts";
import { checkAnswer, openapiDocument } from "../support/answers.ts";
import { ask, imageOf, refusal, versionsOf } from "../support/endpoint-oracle.ts";
import { changed, snapshotOf } from "../support/fixtures.ts";

/** Tests the codes that a procedure group includes, and searches for groups by codes and descriptors. */

const plain = changed(
  snapshotOf([
    ["010001", "AL", "5115", 100, 50],
    ["010001", "AL", "5116", 300, 80],
    ["010001", "AL", "5072", 200, 60],
    ["010001", "AL", "8011", null, null],
  ]),
  ({ procedures: { name, code } }) => {
    for (const i of name.keys()) name[i] = `Level ${code[i]} Zylinder`;
  },
);
const coded = sealSnapshot(plain.table, plain.provenance, [
  hcpcs("0616T", "5072", "Quillwort graft"),
  hcpcs("27447", "5115", "Brumal quillet whatnot"),
  hcpcs("27702", "5116", "Knee of brass"),
  hcpcs("G0378", "8011"),
]);
const [bare, served] = [plain, coded].map((snapshot) => versionsOf(imageOf(snapshot)));

function found(q: string) {
  const target = `/search?type=procedure&q=${encodeURIComponent(q)}`;
  const answer = ask(served, target);
  checkAnswer(openapiDocument, `/api/v1${target}`, 200, Buffer.from(JSON.stringify(answer)));
  return v
    .parse(searchResponse, answer)
    .data.flatMap((row) =>
      row.type === "procedure" ? [{ code: row.code, score: row.score, matched: row.matched }] : [],
    );
}
const messageOf = (versions: typeof served, q: string) =>
  refusal(versions, `/search?type=procedure&q=${encodeURIComponent(q)}`).message;

test("a procedure lists its HCPCS codes, or null if none are loaded", () => {
  const target = "/healthcare/procedures/5115";
  const of = (versions: typeof served) =>
    v.parse(v.object({ procedure: v.unknown(), scope: v.unknown() }), ask(versions, target)).procedure;
  const named = { code: "5115", name: "Level 5115 Zylinder" };
  assert.deepEqual(of(served), {
    ...named,
    includes: [{ code: "27447", description: "Brumal quillet whatnot" }],
  });
  assert.deepEqual(of(bare), { ...named, includes: null });
  checkAnswer(openapiDocument, `/api/v1${target}`, 200, Buffer.from(JSON.stringify(ask(served, target))));
});

test("a code in any notation finds its procedure group and is listed as matched", () => {
  for (const [q, code, matched] of [
    ["27447", "5115", "27447"],
    ["CPT 27447", "5115", "27447"],
    ["cpt27447", "5115", "27447"],
    ["hcpcs 0616t", "5072", "0616T"],
    ["(0616T)", "5072", "0616T"],
  ])
    assert.deepEqual(found(q), [{ code, score: 1, matched: [matched] }], q);
  assert.match(messageOf(served, "27447 0616T"), /nothing that matches the other words matches "27447"/);
});

test("words of code descriptors find groups at a lower score and are listed as matched", () => {
  assert.deepEqual(
    found("quillwort").map(({ matched }) => matched),
    [["quillwort"]],
  );
  assert.deepEqual(found("quilwort")[0].matched, ["quillwort"], "the word as it is in the index");
  // Patients call 5115 "knee". 5116 matches only by the descriptor of a code.
  const [first, second] = found("knee");
  assert.deepEqual([first.code, second.code], ["5115", "5116"]);
  assert.ok(first.score > second.score);
  assert.deepEqual(found("knee zylinder")[0].matched, ["knee"], "the other word is of the name");
  assert.equal(found("zylinder")[0].matched, undefined);
  assert.deepEqual(found("quilletwhatnot")[0].matched, ["quilletwhatnot"], "words that are written together");
});

test("an APC code finds only its group, and the start of a code finds nothing", () => {
  assert.deepEqual(found("5115"), [{ code: "5115", score: 1, matched: undefined }]);
  assert.match(messageOf(served, "2744"), /^no procedure matches "2744" in data version 2024\.3/);
});

test("the message for a code without results says why", () => {
  const none =
    "in data version 2024.3: no HCPCS or CPT codes are loaded; `import --codes` adds them from CMS's OPPS Addendum B";
  for (const q of ["27447", "CPT 27447", "g0105", "knee 27447"])
    assert.equal(messageOf(bare, q), `no procedure matches "${q}" ${none}`);
  assert.equal(
    messageOf(served, "99213"),
    'no procedure matches "99213" in data version 2024.3: no procedure group includes the code 99213',
  );
  assert.equal(
    messageOf(served, "G0378"),
    'no procedure that matches "G0378" has prices in data version 2024.3: the only row is suppressed',
  );
  assert.match(
    messageOf(bare, "xylophone"),
    /^no procedure matches "xylophone" in data version 2024\.3; \/healthcare\/procedures lists all procedure groups$/,
  );
});

test("a facility search for a code points to type=procedure", () => {
  assert.match(
    refusal(served, "/search?q=27447").message,
    /^no facility matches "27447" in .*; procedures match with type=procedure$/,
  );
});
