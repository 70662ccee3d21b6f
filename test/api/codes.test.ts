import assert from "node:assert/strict";
import { test } from "node:test";
import * as v from "valibot";
import { sealSnapshot } from "../../engine/index.ts";
import { echo } from "../../server/api/errors.ts";
import { facilitiesResponse, searchResponse } from "../../server/api/responses.ts";
import { hcpcs } from "../support/addendum.ts";
import { checkAnswer, openapiDocument } from "../support/answers.ts";
import { ask, imageOf, refusal, versionsOf } from "../support/endpoint-oracle.ts";
import { changed, snapshotOf } from "../support/fixtures.ts";
import { plainText } from "../support/oracle.ts";

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
const anySearch = "a search finds them by words, such as /api/v1/search?type=procedure&q=knee+replacement";
const messageOf = (versions: typeof served, q: string) =>
  refusal(versions, `/search?type=procedure&q=${encodeURIComponent(q)}`).message;

const kneeGroup = {
  code: "5115",
  name: "Level 5115 Zylinder",
  title: "a knee, hip or shoulder replacement",
};

test("codes of the vocabulary are search terms without an addendum, and an addendum goes before them", () => {
  const codesOf = (versions: typeof served, q: string) =>
    v
      .parse(searchResponse, ask(versions, `/search?type=procedure&q=${encodeURIComponent(q)}`))
      .data.map((row) => (row.type === "procedure" ? row.code : row.ccn));
  for (const q of ["27447", "CPT 27447", "cpt code 27447", "hcpcs code 27447", "knee 27447"])
    assert.deepEqual(codesOf(bare, q), ["5115"], q);
  // The vocabulary has this code in 5116.
  const moved = sealSnapshot(plain.table, plain.provenance, [hcpcs("27702", "5072")]);
  assert.deepEqual(codesOf(bare, "27702"), ["5116"]);
  assert.deepEqual(codesOf(versionsOf(imageOf(moved)), "27702"), ["5072"]);
});

test("a procedure lists its HCPCS codes, or null if none are loaded", () => {
  const target = "/healthcare/procedures/5115";
  const of = (versions: typeof served) =>
    v.parse(v.object({ procedure: v.unknown(), scope: v.unknown() }), ask(versions, target)).procedure;
  assert.deepEqual(of(served), {
    ...kneeGroup,
    words: plainText("words", "5115"),
    includes: [{ code: "27447", description: "Brumal quillet whatnot" }],
  });
  assert.deepEqual(of(bare), { ...kneeGroup, words: plainText("words", "5115"), includes: null });
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
  assert.match(
    messageOf(served, "27447 0616T"),
    /nothing that matches the other words matches "(27447|0616t)"/,
  );
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
  for (const [versions, q, code] of [
    [bare, "g0999", "G0999"],
    [served, "29999", "29999"],
  ] as const)
    assert.equal(
      messageOf(versions, q),
      `no procedure matches "${q}" in data version 2024.3: no procedure group is known to include the code ${code}; it may be in a group that this data lacks, because the data has comprehensive APCs only; ${anySearch}`,
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

/** The paths of all endpoints that take a procedure group by its code only. */
const pathsOf = (procedure: string) => {
  const asked = encodeURIComponent(procedure);
  const query = `procedure=${asked}`;
  return [
    ...["prices", "trends", "facilities/010001/trends"].map((path) => `/healthcare/${path}?${query}`),
    `/healthcare/prices?${query}&state=AL&limit=1`,
    ...[`/healthcare/procedures/${asked}`, `/export.csv?${query}`, `/export.arrow?${query}&state=AL`],
  ];
};
const saidOf = (versions: typeof served, target: string) => {
  const { type, message } = refusal(versions, target);
  assert.equal(type, "not_found", target);
  return message.replace(/ in (data version 2024\.3|any loaded data year \(2024\.3\))/, "");
};

const takenWays = (words: string) =>
  `/api/v1/healthcare/facilities?procedure=${words} takes these words, and ` +
  `/api/v1/search?type=procedure&q=${words} finds groups by them`;

test("every endpoint that takes only codes of procedure groups explains a code of another kind, and points from words to a search", () => {
  const form = "procedure groups have four digits";
  for (const [versions, asked, way] of [
    [served, "27447", "5115 (Level 5115 Zylinder) includes the code 27447"],
    [served, "0616t", "5072 (Level 5072 Zylinder) includes the code 0616T"],
    [served, "CPT 27447", "5115 (Level 5115 Zylinder) includes the code 27447"],
    // Only the vocabulary has the code.
    [bare, "27447", "5115 (Level 5115 Zylinder) includes the code 27447"],
    [served, "10180", "5073 (not in this data version) includes the code 10180"],
    [served, "99213", anySearch],
    [bare, "G0105", anySearch],
    [served, "05115", anySearch],
    [served, "xylophone", anySearch],
    [served, "511", anySearch],
    [served, "x".repeat(65), anySearch],
    [served, "knee", takenWays("knee")],
    [bare, "Knee Zylinder", takenWays("Knee+Zylinder")],
    ...[
      ...["5,072", "5 072", "5.072", "5072.0", "APC 5072", "apc5072", "#5072", "'5072", "5’072"],
      ...["5\u00a0072", "5_072", "50-72"],
    ].map((asked) => [served, asked, "5072 (Level 5072 Zylinder) may be meant"] as const),
    [served, "9,999", anySearch],
    // A search for this finds a group that may not be meant.
    [served, "knee replacement xylophone", anySearch],
    [served, "knee&<é>", takenWays("knee%26%3C%C3%A9%3E")],
  ] as const)
    for (const target of pathsOf(asked)) {
      const said = saidOf(versions, target);
      const what = `there is no procedure ${echo(asked)}`;
      assert.equal(said, `${what}: ${form}; ${way}`, target);
    }
  for (const target of pathsOf("9999")) assert.equal(saidOf(served, target), 'there is no procedure "9999"');
});

test("the search that a message names finds what is meant", () => {
  for (const asked of ["knee", "Knee Zylinder", "g0105", "xylophone", "knee replacement xylophone", "9,999"])
    for (const target of pathsOf(asked)) {
      const [, path = ""] = /(\/search\?\S+)/.exec(saidOf(served, target)) ?? [];
      const [first] = v.parse(searchResponse, ask(served, path)).data;
      assert.ok(first.type === "procedure" && first.score > 0.5, path);
    }
});

test("a message leads words to the list of facilities where that takes them, and only there", () => {
  for (const asked of [
    "knee",
    "Knee Zylinder",
    "Zylinder",
    "Level Zylinder",
    "knee in Alabama",
    "5115 5116",
  ]) {
    const list = `/healthcare/facilities?${new URLSearchParams({ procedure: asked })}`;
    let isTaken = true;
    try {
      ask(served, list);
    } catch {
      isTaken = false;
    }
    for (const target of pathsOf(asked)) {
      const { message } = refusal(served, target);
      assert.equal(message.includes(`/api/v1${list} takes these words`), isTaken, `${target}: ${message}`);
    }
  }
});

test("a message never shows more than 64 characters of a procedure, and no key", () => {
  const knees = "knee ".repeat(40).trim();
  for (const asked of [knees, `knee hcq_${"a1B2c3D4e5".repeat(5)}`])
    for (const target of pathsOf(asked)) {
      const { message } = refusal(served, target);
      assert.doesNotMatch(message, /a1B2c3/);
      assert.ok(!message.includes(knees.slice(0, 65)) && message.includes(anySearch), message);
    }
});

test("a list of facilities takes words and HCPCS codes that mean one group, and names the group", () => {
  const queried = (versions: typeof served, asked: string) => {
    const target = `/healthcare/facilities?procedure=${encodeURIComponent(asked)}&status=all`;
    const answer = ask(versions, target);
    checkAnswer(openapiDocument, `/api/v1${target}`, 200, Buffer.from(JSON.stringify(answer)));
    return v.parse(facilitiesResponse, answer).query.procedure;
  };
  for (const [versions, asked] of [
    [served, "27447"],
    [served, "CPT 27447"],
    [bare, "27447"],
    [served, "Knee Zylinder"],
    [served, "kneee zylinder"],
    [served, "APC 5115"],
    [served, "5,115"],
    [served, "5115.0"],
    [served, "5115"],
  ] as const)
    assert.deepEqual(queried(versions, asked), { ...kneeGroup, asked }, asked);
  const byCode = v.parse(facilitiesResponse, ask(served, "/healthcare/facilities?procedure=5115"));
  const byWords = v.parse(facilitiesResponse, ask(served, "/healthcare/facilities?procedure=Knee+Zylinder"));
  assert.deepEqual([byWords.summary, byWords.data], [byCode.summary, byCode.data]);
});

test("words that fit several groups get up to five candidates, a place is to be left out, and unknown words aren't found", () => {
  const told = (versions: typeof served, asked: string) =>
    refusal(versions, `/healthcare/facilities?procedure=${encodeURIComponent(asked)}`);
  const several = told(served, "zylinder");
  assert.deepEqual([several.type, several.param], ["invalid_parameter", "procedure"]);
  const candidates = several.candidates ?? [];
  assert.ok(candidates.length > 1 && candidates.length <= 5, JSON.stringify(candidates));
  for (const { code, name } of candidates) {
    assert.equal(name, `Level ${code} Zylinder`);
    assert.ok(several.message.includes(`${code} (${name})`));
  }
  checkAnswer(
    openapiDocument,
    "/api/v1/healthcare/facilities",
    400,
    Buffer.from(JSON.stringify(several.body)),
  );
  const guessed = told(served, "knee replacement 99213");
  assert.deepEqual([guessed.type, guessed.candidates?.[0].code], ["invalid_parameter", "5115"]);
  const placed = told(served, "knee zylinder in Texas");
  assert.deepEqual([placed.type, placed.param], ["invalid_parameter", "procedure"]);
  assert.match(placed.message, /which has a place; leave it out, and add state=TX$/);
  for (const [asked, said] of [
    ["xylophone", /no procedure matches "xylophone"/],
    ["29999", /no procedure group is known to include the code 29999/],
    ["99213", /"Office or clinic visit" is not in this data set/],
    ["10180", /5073 \(not in this data version\) includes the code 10180/],
    ["9999", /there is no procedure "9999"/],
    ["mri", /no procedure matches "mri"/],
  ] as const) {
    const { type, message } = told(served, asked);
    assert.equal(type, "not_found", asked);
    assert.match(message, said);
  }
  assert.equal(told(served, "mri").absent?.[0].name, "MRI");
});

test("later pages of a list by words have the group's code, and don't say what was asked", () => {
  const base = "/healthcare/facilities?procedure=knee+zylinder&status=all&limit=1";
  const { query, next } = v.parse(facilitiesResponse, ask(served, base));
  assert.equal(query.procedure?.asked, "knee zylinder");
  if (next === null) return;
  const later = v.parse(facilitiesResponse, ask(served, next.slice("/api/v1".length)));
  assert.deepEqual(later.query.procedure, { code: "5115", name: "Level 5115 Zylinder", asked: null });
});

test("a facility search for a code points to type=procedure", () => {
  assert.match(
    refusal(served, "/search?q=27447").message,
    /^no facility matches "27447" in .*; procedures match with type=procedure$/,
  );
  assert.match(refusal(served, "/search?q=joint").message, /procedures match with type=procedure$/);
  assert.doesNotMatch(refusal(served, "/search?q=knee+xqxq").message, /type=procedure/);
});
