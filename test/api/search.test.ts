import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as v from "valibot";
import type { Versions } from "../../server/api/endpoint.ts";
import { searchResponse } from "../../server/api/responses.ts";
import { ask, imageOf, refusal, versionsOf } from "../support/endpoint-oracle.ts";
import { changed, type ShortRow, snapshotOf } from "../support/fixtures.ts";

/** Tests searches within a state, the terms that matched a procedure group, and stop words. */

const hospital = (
  ccn: string,
  state: string,
  name: string,
  code = "5115",
  charge: number | null = 9,
): ShortRow => [ccn, state, code, charge, charge, name];
const versions = versionsOf(
  imageOf(
    snapshotOf([
      hospital("000001", "CA", "Mercy Hospital"),
      hospital("000002", "NV", "Mercy Hospital"),
      hospital("000003", "NV", "Mercy Clinic", "5491"),
      hospital("000004", "ME", "The Mercy of Maine", "5491"),
      hospital("000005", "OR", "Grace Hospital", "5491", null),
    ]),
  ),
);

const answerTo = (query: string, from: Versions = versions) =>
  v.parse(searchResponse, ask(from, `/search?${query}`));
const ccnsOf = (query: string) =>
  answerTo(query).data.map((row) => (row.type === "facility" ? row.ccn : row.code));
const told = (query: string) => {
  const { type, message } = refusal(versions, `/search?${query}`);
  assert.equal(type, "not_found");
  return message.replace(" in data version 2024.3", "");
};

describe("searches in a state", () => {
  test("a search in a state finds its facilities, and procedure groups with prices there", () => {
    assert.deepEqual(ccnsOf("q=mercy").toSorted(), ["000001", "000002", "000003", "000004"]);
    assert.deepEqual(ccnsOf("q=mercy&state=nv").toSorted(), ["000002", "000003"]);
    assert.deepEqual(answerTo("q=mercy&state=nv").query, {
      q: "mercy",
      type: "facility",
      state: "NV",
      ignored: [],
      place: null,
      alternative: null,
    });
    assert.deepEqual(ccnsOf("q=level&type=procedure&state=CA"), ["5115"]);
    assert.deepEqual(ccnsOf("q=level&type=procedure&state=ME"), ["5491"]);
  });

  test("further pages of a search in a state stay in that state", () => {
    const { next, summary } = answerTo("q=mercy&state=NV&limit=1");
    assert.equal(summary.matches, 2);
    const second = v.parse(searchResponse, ask(versions, (next ?? "").replace("/api/v1", "")));
    assert.deepEqual([second.query.state, second.data.length, second.next], ["NV", 1, null]);
  });

  test("a search with matches only in other states says how many", () => {
    assert.equal(
      told("q=mercy&state=TX"),
      'no facility matches "mercy" in TX: 4 with prices match in other states',
    );
    assert.match(told("q=xqxq&state=TX"), /^no facility matches "xqxq"; this data set has hospitals /);
    assert.equal(
      told("q=grace&state=OR"),
      'no facility that matches "grace" has prices: the only row is suppressed',
    );
  });
});

describe("procedure groups", () => {
  const matchedOf = (q: string) =>
    answerTo(`q=${q}&type=procedure`).data.map((row) => (row.type === "procedure" ? row.matched : undefined));

  test("a group that isn't found by its name lists the matched words", () => {
    assert.deepEqual(matchedOf("knee+replacement"), [["knee", "replacement"]]);
    assert.deepEqual(matchedOf("knee+procedures"), [["knee"]]);
    assert.deepEqual(matchedOf("arthroplsty"), [["arthroplasty"]]);
    assert.deepEqual(matchedOf("catar"), [["cataract"]]);
  });

  test("a group that is found by its name or code alone lists no matched words", () => {
    assert.deepEqual(matchedOf("level+procedures"), [undefined, undefined]);
    assert.deepEqual(matchedOf("5115"), [undefined]);
    const parted = changed(snapshotOf([hospital("000001", "CA", "Mercy Hospital")]), ({ procedures }) => {
      procedures.name[0] = "Heart Beat Procedures";
    });
    const [row] = answerTo("q=heartbeat&type=procedure", versionsOf(imageOf(parted))).data;
    assert.deepEqual([row.type, "matched" in row], ["procedure", false]);
  });
});

describe("words that fit anything", () => {
  test("words for a hospital list all hospitals, far below 0.5, and in a state surely", () => {
    for (const q of ["hospital", "hospitals", "what hospitals are there", "list all hospitals"]) {
      const { data, summary } = answerTo(`q=${encodeURIComponent(q)}`);
      assert.equal(summary.matches, 4, q);
      assert.ok(data[0].score < 0.2, q);
      assert.ok(answerTo(`q=${encodeURIComponent(q)}&state=NV`).data[1].score >= 0.5, q);
    }
    assert.deepEqual(ccnsOf("q=clinic"), ["000003"]);
    assert.deepEqual(ccnsOf("q=the"), ["000004"]);
  });

  for (const q of [
    ...["hospitals near me", "best hospital near me", "Hospital close to me", "near me", "nearby"],
    ...["closest hospital to me", "nearest medical center to me", "cerca de mí", "nearest hospital"],
    ...["emergency room near me", "closest emergency room", "hospital más cercano"],
  ])
    test(`a search for hospitals around asks for a place: ${q}`, () => {
      assert.match(
        told(`q=${encodeURIComponent(q)}`),
        /: a search doesn't know where you are; add a city or a ZIP code/,
      );
    });

  test("letters with two meanings have another search", () => {
    const alternativeOf = (query: string) => answerTo(query).query.alternative;
    assert.deepEqual(alternativeOf("q=knee+replacement+OR&type=procedure"), null);
    assert.deepEqual(alternativeOf("q=cataract+me&type=procedure"), { q: "cataract", state: "ME" });
    // Nothing would be found there.
    assert.deepEqual(alternativeOf("q=cataract+ok&type=procedure"), null);
    assert.deepEqual(alternativeOf("q=mercy+me"), null);
  });

  test("a procedure group has its title in plain words", () => {
    const titles = answerTo("q=5115&type=procedure").data.map((row) => row.type === "procedure" && row.title);
    assert.deepEqual(titles, ["a knee, hip or shoulder replacement"]);
  });

  test("words that fit any procedure find no procedure", () => {
    const procedures =
      "these words fit any procedure; add what is done, the part of the body, or an APC code";
    assert.equal(told("q=the&type=procedure"), `no procedure matches "the": ${procedures}`);
  });

  test("near me is ignored beside other words, and the code ME finds Maine", () => {
    assert.deepEqual(ccnsOf("q=mercy+near+me&limit=1").length, 1);
    assert.equal(answerTo("q=mercy+near+me").summary.matches, 4);
    assert.equal(ccnsOf("q=mercy+me")[0], "000004");
    assert.equal(ccnsOf("q=me")[0], "000004");
  });
});
