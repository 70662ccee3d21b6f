import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { Image, Snapshot } from "../../engine/index.ts";
import { decodeCursor, pagesPath, pathOfPage } from "../../server/api/cursor.ts";
import { imageOf } from "../support/endpoint-oracle.ts";
import { randomSnapshot, type ShortRow, snapshotAs, snapshotOf } from "../support/fixtures.ts";
import { Asked, assertRefused, nameOf, pageAt, rowsOf, served, walk } from "../support/pages.ts";

/** Walking from page to page, while data comes and goes, and with cursors that nobody gave out. */

const seed = 20_260_402;

const withVersion = (snapshot: Snapshot, dataYear: number, revision: number): Snapshot => ({
  ...snapshot,
  provenance: { ...snapshot.provenance, dataYear, revision },
});

const some = [
  served(randomSnapshot(501, { facilities: 160, procedures: 4, states: 3 })),
  served(randomSnapshot(502, { facilities: 12, procedures: 110, states: 2, density: 0.5 })),
  served(randomSnapshot(503)),
];
const other = imageOf(withVersion(randomSnapshot(504), 2025, 1));
const another = imageOf(withVersion(randomSnapshot(505), 2025, 2));

const lists = some.flatMap(({ image, lists }) => lists.map((list) => ({ image, ...list })));
const longLists = lists.filter(({ rows }) => rows.length > 10);

/** Draws a list and a limit that its endpoint takes; half of them long, half of the limits small. */
const choice = fc.record({ long: fc.boolean(), at: fc.nat(), small: fc.boolean(), limit: fc.nat() });
type Choice = typeof choice extends fc.Arbitrary<infer Value> ? Value : never;

function chosen({ long, at, small, limit }: Choice) {
  const from = long ? longLists : lists;
  const list = from[at % from.length];
  return { ...list, limit: 1 + (limit % (small ? 5 : list.maxLimit)) };
}

describe("a walk through the pages", () => {
  const asked = new Asked(other);

  test("gives every row once, in order, and ends with the last, for any limit", (t) => {
    let pages = 0;
    const property = fc.property(choice, (drawn) => {
      const { image, path, rows, limit } = chosen(drawn);
      asked.publish(image);
      const walked = walk(asked, `/api/v1${path}`, limit);
      assert.deepEqual(rowsOf(walked), rows);
      assert.equal(walked.length, Math.ceil(rows.length / limit));
      pages += walked.length;
    });
    fc.assert(property, { seed, numRuns: 80 });
    t.diagnostic(`${pages} pages of ${lists.length} lists`);
  });

  test("stays on its data version while others come and go", () => {
    const swaps = fc.array(fc.constantFrom("newer", "newest", "alone"), { minLength: 1, maxLength: 6 });
    const property = fc.property(choice, swaps, (drawn, turns) => {
      const { image, path, rows, limit } = chosen(drawn);
      asked.publish(image);
      const walked = walk(asked, `/api/v1${path}`, limit, (page) => {
        const turn = turns[page % turns.length];
        if (turn === "alone") asked.publish(image);
        else asked.publish(...(turn === "newest" ? [another, other, image] : [other, image]));
      });
      assert.deepEqual(rowsOf(walked), rows);
      for (const { source } of walked) assert.equal(source.data_version, nameOf(image));
    });
    fc.assert(property, { seed, numRuns: 100 });
  });

  test("that starts at an older version stays there", () => {
    const property = fc.property(choice, (drawn) => {
      const { image, path, rows, limit } = chosen(drawn);
      asked.publish(another, other, image);
      const walked = walk(asked, `/api/v1/versions/${nameOf(image)}${path}`, limit);
      assert.deepEqual(rowsOf(walked), rows);
    });
    fc.assert(property, { seed, numRuns: 60 });
  });
});

const priced = (count: number, charge: number): ShortRow[] =>
  Array.from({ length: count }, (_, i) => [String(i).padStart(6, "0"), "CA", "5072", charge + i, 1]);
const firstPages = [
  "/api/v1/healthcare/prices?procedure=5072&limit=2",
  "/api/v1/search?q=hospital&limit=3",
  "/api/v1/search?q=ca&type=facility&limit=1",
];
/** The path of the second page. */
function nextOf(asked: Asked, first: string): string {
  const { next } = pageAt(asked, first);
  assert.ok(next !== null);
  return next;
}

test("a cursor of the greatest length is read as it was written, and a longer one isn't written", () => {
  const cursorOf = (queryLength: number) =>
    decodeCursor(pathOfPage(other, "search", 7, "q".repeat(queryLength)).toString().slice(pagesPath.length));
  const others = `2025.1~${other.description.sha256.slice(0, 8)}~search~7~`.length + 4;
  assert.equal(cursorOf(4096 - others)?.query.length, 4096 - others);
  assert.throws(
    () => cursorOf(4097 - others),
    new RangeError("a cursor has 4097 bytes, expected at most 4096"),
  );
});

describe("a page's data version", () => {
  const image = imageOf(snapshotOf(priced(9, 100)));

  test("that is retired makes it 404, and it comes back with the version", () => {
    const asked = new Asked(image);
    for (const first of firstPages) {
      asked.publish(image);
      const next = nextOf(asked, first);
      const page = asked.get(next);
      asked.publish(other);
      assertRefused(asked, next, 404, "not_found");
      asked.publish(other, image);
      assert.deepEqual(asked.get(next), page);
    }
  });

  test("that is loaded with other content makes it 404", () => {
    const asked = new Asked(image);
    const changed = imageOf(snapshotOf(priced(9, 101)));
    assert.equal(nameOf(changed), nameOf(image));
    for (const first of firstPages) {
      asked.publish(image);
      const next = nextOf(asked, first);
      asked.publish(changed);
      assertRefused(asked, next, 404, "not_found");
      assert.notEqual(nextOf(asked, first), next);
    }
  });

  test("is what its path names: a page takes no parameters", () => {
    const asked = new Asked(image);
    for (const first of firstPages) {
      const next = nextOf(asked, first);
      for (const [query, param] of [
        ["limit=2", "limit"],
        ["procedure=5072", "procedure"],
        ["q=a&q=b", "q"],
        ["x", "x"],
      ])
        assertRefused(asked, `${next}?${query}`, 400, "invalid_parameter", param);
      assert.deepEqual(asked.get(`${next}?`), asked.get(next));
      assertRefused(asked, `${next}/`, 404, "unknown_endpoint");
      assertRefused(asked, next.replace("/v1/", "/v1/versions/2024/"), 404, "unknown_endpoint");
    }
  });
});

const textOf = (values: Record<string, string>) => new URLSearchParams(values).toString();

describe("a cursor that was not given out", () => {
  const rowsOf = (charge: number): ShortRow[] =>
    ["5071", "5072", "5073"].flatMap((code) =>
      Array.from({ length: 60 }, (_, i): ShortRow => [String(i).padStart(6, "0"), "CA", code, charge + i, 1]),
    );
  const versioned = (version: string, charge: number) => imageOf(snapshotAs(version, rowsOf(charge)));
  const [image, older, absent] = [
    versioned("2024.1", 100),
    versioned("2023.1", 500),
    versioned("2022.1", 900),
  ];
  const asked = new Asked(image);
  asked.publish(image, older);

  const starts = [
    ...["/healthcare/prices?procedure=5072&limit=2", "/search?q=hospital&limit=3"],
    "/healthcare/procedures?limit=1",
    "/healthcare/facilities?procedure=5072&sort=markup&order=desc&limit=3",
  ];
  const cursors = ["", "/versions/2023.1"].flatMap((base) =>
    starts.flatMap((start) => {
      const second = nextOf(asked, `/api/v1${base}${start}`);
      return [second, nextOf(asked, second)].map((path) => path.slice(pagesPath.length));
    }),
  );
  const genuine = new Set(cursors);
  const cursor = fc.constantFrom(...cursors);
  const letter = fc.constantFrom(..."ABCXYZabcxyz0189-_=+.~!$&'()*,;:@%|^\"<>{}[]\\` éß🏥");

  /** It is refused, unless it is one that was given out. */
  function assertNoCursor(text: string): void {
    if (genuine.has(text)) return;
    assert.equal(decodeCursor(text), undefined, text);
    assertRefused(asked, pagesPath + text, 400, "invalid_parameter", "cursor");
  }

  test("but differs in one character is refused", () => {
    for (const text of cursors)
      for (let i = 0; i < text.length; i++)
        for (const other of "AQgw049-_") assertNoCursor(text.slice(0, i) + other + text.slice(i + 1));
    const property = fc.property(cursor, fc.nat(), letter, (text, at, other) => {
      const i = at % text.length;
      assertNoCursor(text.slice(0, i) + other + text.slice(i + 1));
    });
    fc.assert(property, { seed, numRuns: 2000 });
  });

  test("but is any text is refused", () => {
    const any = fc.oneof(
      fc.string({ unit: letter, minLength: 1, maxLength: 200 }),
      fc
        .uint8Array({ minLength: 1, maxLength: 100 })
        .map((bytes) => Buffer.from(bytes).toString("base64url")),
      fc.json().map((json) => Buffer.from(json).toString("base64url")),
    );
    fc.assert(fc.property(any, assertNoCursor), { seed, numRuns: 2000 });
  });

  /** A cursor with the right check is refused as well, by what it says. */
  function assertClean(of: Image, list: string, offset: number, given: Record<string, string>): void {
    const { status, body } = asked.get(pathOfPage(of, list, offset, textOf(given)).toString());
    const described = `${nameOf(of)} ${list} ${offset} ${JSON.stringify(given)}: ${JSON.stringify(body)}`;
    assert.ok(status === 400 || status === 404, described);
  }

  test("though it has the right check is refused for its list, offset, parameters or version", () => {
    const right = { procedure: "5072", limit: "2" };
    for (const list of ["facility", "datasets", "usage", "page", "price", "", "__proto__", "constructor"])
      assertClean(image, list, 1, right);
    for (const offset of [-1, 0, 0.5, 2 ** 53, 1e300, Number.NaN, Number.POSITIVE_INFINITY])
      assertClean(image, "prices", offset, right);
    for (const wrong of [
      {},
      { procedure: "" },
      { procedure: "9999" },
      { ...right, limit: "51" },
      { ...right, limit: "x" },
    ])
      assertClean(image, "prices", 1, wrong);
    for (const wrong of [
      { ...right, state: "ZZ" },
      { ...right, state: "NV" },
      { ...right, q: "a" },
    ])
      assertClean(image, "prices", 1, wrong);
    assertClean(image, "search", 1, {});
    assertClean(image, "search", 1, { q: "a".repeat(201) });
    assertClean(image, "procedures", 1, { sort: "price" });
    for (const wrong of [{ within: "5" }, { sort: "distance" }, { near: "60601" }, { ccn: "999999" }])
      assertClean(image, "facilities", 1, wrong);
    for (const list of ["prices", "search", "procedures"]) assertClean(absent, list, 1, right);
  });

  test("in any script, a search is walked as in another", () => {
    const rows = (q: string) =>
      walk(asked, `/api/v1/search?q=${encodeURIComponent(q)}`, 7).flatMap(({ data }) => data);
    assert.ok(rows("hospital").length > 7);
    assert.deepEqual(rows("hôspital 🏥".repeat(2)), rows("hospital"));
  });

  const beyond: [list: string, rows: number, values: Record<string, string>][] = [
    ["prices", 60, { procedure: "5072", limit: "2" }],
    ["search", 60, { q: "hospital", type: "facility", limit: "2" }],
    ["procedures", 3, { sort: "code", min_facilities: "1", limit: "2" }],
    ["facilities", 60, { procedure: "5073", sort: "charge", order: "asc", limit: "2" }],
  ];
  for (const [list, rows, given] of beyond)
    test(`though it has the right check is refused where it starts behind the last row of ${list}`, () => {
      for (const offset of [rows, rows + 1, rows + 60, 2 ** 31, 2 ** 32, 2 ** 53 - 1])
        assertClean(image, list, offset, given);
    });
});
