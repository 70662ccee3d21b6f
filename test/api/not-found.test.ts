import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as v from "valibot";
import { coverageOf } from "../../engine/index.ts";
import { pathOfPage } from "../../server/api/cursor.ts";
import { ask, imageOf, refusal, versionsOf } from "../support/endpoint-oracle.ts";
import { type ShortRow, snapshotOf, testProvenance } from "../support/fixtures.ts";
import { placed } from "../support/relevance.ts";

/** A 404 says why there is no data. */

const suppressed = (count: number, state: string, code: string): ShortRow[] =>
  Array.from({ length: count }, (_, i) => [
    `${state}${code.slice(2)}${String(i).padStart(2, "0")}`,
    state,
    code,
    null,
    null,
  ]);

const versions = versionsOf(
  imageOf(
    snapshotOf([
      ["000001", "CA", "5072", 10, 1],
      ["000001", "CA", "5073", 10, 1],
      ["000002", "NV", "5072", 10, 1],
      ["000002", "NV", "5111", 10, null],
      ["000002", "NV", "5112", null, null],
      ["000003", "NY", "5072", null, null],
      ["000003", "NY", "5073", null, null],
      ["000003", "NY", "5111", 0, 1],
      ...suppressed(30, "CA", "5115"),
      ...suppressed(7, "TX", "5115"),
      ["000004", "TX", "5116", null, 1],
    ]),
  ),
);
const [version] = versions.byName.keys();
const reasonIn = (state: string) =>
  coverageOf(versions.images[0]).missing_states.find((missing) => missing.state === state)?.reason;

/** What a 404 says, but for the data version, which it has to say. */
function toldFor(target: string): string {
  for (const base of ["", `/versions/${version}`])
    assert.equal(refusal(versions, base + target).type, "not_found");
  const { message } = refusal(versions, target);
  assert.ok(message.includes(` in data version ${version}`), message);
  return message.replace(` in data version ${version}`, "");
}

describe("a price list", () => {
  const told = (query: string) => toldFor(`/healthcare/prices?${query}`);

  test("of a procedure that isn't there says so, whatever the state", () => {
    assert.equal(told("procedure=9999"), 'there is no procedure "9999"');
    assert.equal(told("procedure=9999&state=MD"), 'there is no procedure "9999"');
  });

  test("whose rows are all suppressed says how many there are, in the nation and in a state", () => {
    assert.equal(told("procedure=5115"), 'no prices for procedure "5115": all 37 rows are suppressed');
    assert.equal(
      told("procedure=5115&state=ca"),
      'no prices for procedure "5115" in CA: all 30 rows are suppressed',
    );
    assert.equal(
      told("procedure=5072&state=NY"),
      'no prices for procedure "5072" in NY: the only row is suppressed',
    );
  });

  test("whose rows are incomplete doesn't call them suppressed", () => {
    assert.equal(told("procedure=5111"), 'no prices for procedure "5111": all 2 rows are incomplete');
    assert.equal(told("procedure=5116"), 'no prices for procedure "5116": the only row is incomplete');
  });

  test("of a state that has rows of other procedures only says that", () => {
    assert.equal(
      told("procedure=5073&state=NV"),
      'no prices for procedure "5073" in NV: the data has no row of it there',
    );
  });

  test("of a state without any row gives the catalog's reason", () => {
    for (const state of ["MD", "GU", "PR", "WY"]) {
      const reason = reasonIn(state);
      assert.ok(reason);
      assert.equal(
        told(`procedure=5072&state=${state}`),
        `no prices for procedure "5072" in ${state}: ${reason}`,
      );
    }
    assert.match(told("procedure=5072&state=MD"), /all-payer/);
  });
});

describe("a list of procedures", () => {
  const told = (query: string) => toldFor(`/healthcare/procedures?${query}`);

  test("of a state whose rows have no price says how many there are", () => {
    assert.equal(
      told("state=NY"),
      "no procedure has a facility with prices in NY: all 3 rows are suppressed or incomplete",
    );
    assert.equal(
      told("state=TX&min_facilities=5"),
      "no procedure has 5 facilities with prices in TX: all 8 rows are suppressed or incomplete",
    );
  });

  test("of a state without any row gives the catalog's reason", () => {
    assert.equal(told("state=md"), `no procedure has a facility with prices in MD: ${reasonIn("MD")}`);
  });

  test("that asks for more facilities than there are says no more", () => {
    assert.equal(told("min_facilities=3"), "no procedure has 3 facilities with prices");
    assert.equal(told("state=CA&min_facilities=2"), "no procedure has 2 facilities with prices in CA");
  });

  test("says how many rows there are where none at all has a price", () => {
    const bare = versionsOf(imageOf(snapshotOf(suppressed(12, "CA", "5115"))));
    const { message } = refusal(bare, "/healthcare/procedures");
    assert.match(message, /: all 12 rows are suppressed$/);
  });
});

test("a procedure that isn't there names a loaded data version that has it, wherever it is asked for", () => {
  const ofYear = (dataYear: number, code: string) =>
    imageOf(snapshotOf([["000001", "CA", code, 10, 1]], { ...testProvenance, dataYear, revision: 1 }));
  const years = versionsOf(ofYear(2024, "5072"), ofYear(2023, "5073"), ofYear(2022, "5074"));
  for (const target of [
    "/healthcare/prices?procedure=5074",
    "/healthcare/prices?procedure=5074&state=CA&limit=5",
    "/healthcare/procedures/5074",
    "/export.csv?procedure=5074",
    "/export.arrow?procedure=5074",
  ])
    assert.equal(
      refusal(years, target).message,
      'there is no procedure "5074" in data version 2024.1: data version 2022.1 has it',
      target,
    );
  assert.equal(
    refusal(years, "/healthcare/procedures/9999").message,
    'there is no procedure "9999" in data version 2024.1',
  );
});

describe("a facility", () => {
  const told = (ccn: string) => toldFor(`/healthcare/facilities/${ccn}`);

  test("that isn't there is called unknown", () => {
    assert.equal(told("000009"), 'there is no facility "000009"');
    assert.equal(told("9"), 'there is no facility "9"');
  });

  test("that isn't there names a loaded data version that has it", () => {
    const ofYear = (dataYear: number, ccn: string) =>
      imageOf(snapshotOf([[ccn, "CA", "5072", 10, 1]], { ...testProvenance, dataYear, revision: 1 }));
    const years = versionsOf(ofYear(2024, "05000A"), ofYear(2023, "000002"), ofYear(2022, "05000B"));
    const told = (target: string) => {
      const { type, message } = refusal(years, target);
      assert.equal(type, "not_found");
      return message;
    };
    const path = "/healthcare/facilities";
    assert.equal(
      told(`${path}/000002`),
      'there is no facility "000002" in data version 2024.1: data version 2023.1 has it',
    );
    assert.equal(
      told(`${path}/05000b`),
      'there is no facility "05000b" in data version 2024.1: data version 2022.1 has it',
    );
    assert.equal(
      told(`/versions/2022${path}/05000A`),
      'there is no facility "05000A" in data version 2022.1: data version 2024.1 has it',
    );
    assert.equal(told(`${path}/000009`), 'there is no facility "000009" in data version 2024.1');
  });

  test("whose rows have no price is named, with how many there are", () => {
    assert.equal(
      told("000003"),
      'no prices at facility "000003" (Hospital 000003): all 3 rows are suppressed or incomplete',
    );
    assert.equal(
      told("CA1500"),
      'no prices at facility "CA1500" (Hospital CA1500): the only row is suppressed',
    );
  });
});

describe("a data version", () => {
  const told = (asked: string, hidden: string[]) =>
    refusal({ ...versions, hidden }, `/versions/${asked}/healthcare/prices?procedure=5072`).message;

  test("that isn't there is called unknown, and those that are loaded are listed", () => {
    const loaded = `loaded are ${version}`;
    assert.equal(told("1999.1", ["1998.1"]), `there is no data version "1999.1"; ${loaded}`);
    assert.equal(told("1999", ["1998.1"]), `there is no data version "1999"; ${loaded}`);
    assert.equal(told("1998.11", ["1998.1"]), `there is no data version "1998.11"; ${loaded}`);
  });

  test("that real ones hide says so, by its name, its year and its pages", () => {
    const hidden = (asked: string) =>
      `data version "${asked}" is synthetic, and not served beside real data; loaded are ${version}`;
    assert.equal(told("1998.1", ["1998.1"]), hidden("1998.1"));
    assert.equal(told("1998", ["1998.2", "1998.1"]), hidden("1998"));
    const sample = imageOf(
      snapshotOf([["000001", "CA", "5072", 10, 1]], { ...testProvenance, dataYear: 1998, revision: 1 }),
    );
    const next = pathOfPage(sample, "prices", 1, "procedure=5072&limit=1").toString();
    const page = refusal({ ...versions, hidden: ["1998.1"] }, next.replace("/api/v1", ""));
    assert.deepEqual([page.type, page.message], ["not_found", hidden("1998.1")]);
  });
});

describe("a search", () => {
  const hospitals = versionsOf(
    placed(
      ["Georgetown Hospital", "Tampa", "FL"],
      ["Grace Clinic", "Boise", "ID"],
      ["Grace Memorial", "Tampa", "FL"],
      ["Level Hospital", "Boise", "ID"],
    ),
  );
  const told = (query: string) => refusal(hospitals, `/search?${query}`).message;

  test("names the word that nothing matches, and words near it", () => {
    assert.equal(
      told("q=gorgetwn+hospital"),
      'no facility matches "gorgetwn hospital" in data version 2024.3: nothing matches "gorgetwn"; near: georgetown',
    );
  });

  test("names what the other words find where nothing is near", () => {
    assert.match(
      told("q=grace+xqxq"),
      /: nothing matches "xqxq"; near: Grace Clinic \(000002, Boise ID\), Grace Memorial \(/,
    );
  });

  test("of one word names it once", () => {
    const nowhere = 'no facility matches "Gorgetwn" in data version 2024.3';
    assert.equal(told("q=Gorgetwn"), `${nowhere}; near: georgetown`);
    assert.equal(told("q=xqxq"), 'no facility matches "xqxq" in data version 2024.3');
  });

  test("names the word that doesn't go with the others, and what these find", () => {
    for (const words of ["grace+boise+tampa", "grace+tampa+boise", "tampa+grace+boise"])
      assert.match(
        told(`q=${words}`),
        /: nothing that matches the other words matches "tampa"; near: Grace Clinic \(000002, Boise ID\)$/,
      );
  });

  test("of a text without a word says so", () => {
    assert.match(told("q=!!!"), /: it has no word in it$/);
  });

  test("says where procedures match", () => {
    for (const q of ["APC+5072", "apc5072"])
      assert.match(told(`q=${q}`), /: nothing matches "5072"; procedures match with type=procedure$/);
    assert.match(told("q=5072"), /"5072" in data version 2024.3; procedures match with type=procedure$/);
  });

  test("says what the data set does not hold", () => {
    for (const [q, term] of [
      ["MRI", "mri"],
      ["ct+scan", "ct scan"],
      ["emergency+visit", "emergency visit"],
      ["er", "er"],
      ["c-section", "c section"],
    ]) {
      const said = new RegExp(`: "${term}" is not in this data set, which holds comprehensive APCs only`);
      assert.match(told(`q=${q}&type=procedure`), said);
      if (term !== "er") assert.match(told(`q=${q}`), said);
    }
  });

  test("repeats no API key, whole or in part", () => {
    const key = `hcq_${"a1B2c3D4e5".repeat(5)}`;
    for (const q of [key, `grace+${key}`]) assert.doesNotMatch(told(`q=${q}`), /a1b2c3/i);
  });
});

describe("a search whose every match has no price", () => {
  const told = (query: string) => toldFor(`/search?${query}`);

  test("says how many rows there are, as the price list and the facility do", () => {
    assert.equal(
      told("q=5115&type=procedure"),
      'no procedure that matches "5115" has prices: all 37 rows are suppressed',
    );
    assert.match(toldFor("/healthcare/prices?procedure=5115"), /: all 37 rows are suppressed$/);
    // Their names have these digits with a typo, too.
    assert.match(
      told("q=CA1500"),
      /^no facility that matches "CA1500" has prices: all 12 rows are suppressed$/,
    );
    assert.equal(
      told("q=city+in+ny+000003"),
      'no facility that matches "city in ny 000003" has prices: all 3 rows are suppressed or incomplete',
    );
    assert.match(toldFor("/healthcare/facilities/CA1500"), /: the only row is suppressed$/);
    assert.equal(
      told("q=city+in+ny"),
      'no facility that matches "city in ny" has prices: all 3 rows are suppressed or incomplete',
    );
  });

  test("is not one that finds something with prices, which alone is listed", () => {
    const found = v.parse(
      v.object({ summary: v.object({ matches: v.number() }), data: v.array(v.object({ ccn: v.string() })) }),
      ask(versions, "/search?q=hospital&limit=50"),
    );
    assert.deepEqual(
      found.data.map(({ ccn }) => ccn),
      ["000001", "000002"],
    );
    assert.equal(found.summary.matches, 2);
  });

  test("leaves no trace in the next search", () => {
    const ask5072 = () => ask(versions, "/search?q=level+procedures&type=procedure");
    const before = ask5072();
    for (let i = 0; i < 3; i++) told("q=5115&type=procedure");
    assert.deepEqual(ask5072(), before);
  });
});
