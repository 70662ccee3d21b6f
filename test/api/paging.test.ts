import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import fc from "fast-check";
import * as v from "valibot";
import {
  type DocumentKind,
  type Image,
  type Snapshot,
  search,
  stateCodes,
  versionName,
} from "../../engine/index.ts";
import { decodeCursor, pagesPath, pathOfPage } from "../../server/api/cursor.ts";
import {
  ask,
  imageOf,
  procedureRows,
  procedureSorts,
  refusal,
  versionsOf,
} from "../support/endpoint-oracle.ts";
import { asVersion, randomSnapshot, type ShortRow, snapshotAs, snapshotOf } from "../support/fixtures.ts";
import { naivePrices, type PricesBody, withTitle } from "../support/oracle.ts";
import { rounds } from "../support/rounds.ts";

/** Tests reading lists page by page, while data versions change, and with cursors that the service didn't make. */

const seed = 20_260_402;
const everything = 1_000_000;
const nameOf = ({ description: { provenance } }: Image) => versionName(provenance);

const pageSchema = v.looseObject({
  data: v.array(v.looseObject({})),
  source: v.looseObject({ data_version: v.string() }),
  next: v.nullable(v.pipe(v.string(), v.regex(/^\/api\/v1\/pages\/[\w-]+$/))),
});
type Page = v.InferOutput<typeof pageSchema>;

/** Newest first. */
let versions = versionsOf();
function publish(...images: Image[]): void {
  versions = versionsOf(...images);
}

const get = (target: string) => ask(versions, target.replace("/api/v1", ""));
const pageAt = (target: string): Page => v.parse(pageSchema, get(target));

function assertRefused(target: string, type: string, param?: string): void {
  const error = refusal(versions, target.replace("/api/v1", ""));
  assert.equal(error.type, type, target);
  if (param !== undefined) assert.equal(error.param, param, target);
}

/** Asserts that pages differ only in rows and `next`, and that all pages before the last are full. */
function walk(first: string, limit: number, between: (page: number) => void = () => {}): Page[] {
  const pages = [pageAt(`${first}&limit=${limit}`)];
  const { data: _, next: __, ...common } = pages[0];
  for (let { next } = pages[0]; next !== null; { next } = pages[pages.length - 1]) {
    assert.equal(pages[pages.length - 1].data.length, limit, "only the last page may have room");
    between(pages.length);
    const { data, next: after, ...rest } = pageAt(next);
    assert.deepEqual(rest, common, "all pages say the same of the whole list");
    assert.ok(data.length > 0, "no page is empty");
    pages.push({ data, next: after, ...rest });
  }
  return pages;
}

const rowsOf = (pages: Page[]) => pages.flatMap(({ data }) => data);

/** Plain loops compute the expected rows, but a search without pages finds the rows of a search. */
interface List {
  path: string;
  rows: object[];
  maxLimit: number;
}

function priceLists(lists: PricesBody[], state: string | null): List[] {
  const scope = state === null ? "" : `&state=${state}`;
  return lists.map(({ procedure, data }) => ({
    path: `/healthcare/prices?procedure=${procedure.code}${scope}`,
    rows: data,
    maxLimit: 50,
  }));
}

function procedureLists(lists: PricesBody[], state: string | null): List[] {
  const scope = state === null ? "" : `&state=${state}`;
  return Object.keys(procedureSorts).flatMap((sort) =>
    [1, 2, 7].map((minFacilities) => ({
      path: `/healthcare/procedures?sort=${sort}&min_facilities=${minFacilities}${scope}`,
      rows: procedureRows(lists, sort, minFacilities),
      maxLimit: 100,
    })),
  );
}

function searchLists(image: Image, { table }: Snapshot): List[] {
  const { facilities, procedures } = table;
  const { ccn, name, city, state } = facilities;
  const own: Record<DocumentKind, object[]> = {
    facility: ccn.map((ccn, i) => ({
      type: "facility",
      ccn,
      facility: name[i],
      city: city[i],
      state: state[i],
      zip: facilities.zip[i] || null,
    })),
    procedure: procedures.code.map((code, i) => ({
      type: "procedure",
      ...withTitle({ code, name: procedures.name[i] }),
    })),
  };
  const kinds: DocumentKind[] = ["facility", "procedure"];
  return kinds.flatMap((kind) =>
    ["hos", "city", "c", "lev", "same", facilities.state[0]].map((query) => {
      const { documents, scores } = search(image, kind, query, 0, everything);
      const rows = Array.from(documents, (document, i) => ({ ...own[kind][document], score: scores[i] }));
      return { path: `/search?q=${query}&type=${kind}`, rows, maxLimit: 50 };
    }),
  );
}

interface Served {
  image: Image;
  lists: List[];
}

function served(snapshot: Snapshot): Served {
  const image = imageOf(snapshot);
  const lists = [null, ...stateCodes].flatMap((state) => {
    const found = snapshot.table.procedures.code.flatMap(
      (code) => naivePrices(snapshot, code, state, everything) ?? [],
    );
    return [...priceLists(found, state), ...procedureLists(found, state)];
  });
  lists.push(...searchLists(image, snapshot));
  return { image, lists: lists.filter(({ rows }) => rows.length > 0) };
}

const some = [
  served(randomSnapshot(501, { facilities: 160, procedures: 4, states: 3 })),
  served(randomSnapshot(502, { facilities: 12, procedures: 110, states: 2, density: 0.5 })),
  served(randomSnapshot(503)),
];
const other = imageOf(asVersion(randomSnapshot(504), 2025, 1));
const another = imageOf(asVersion(randomSnapshot(505), 2025, 2));

const lists = some.flatMap(({ image, lists }) => lists.map((list) => ({ image, ...list })));
const longLists = lists.filter(({ rows }) => rows.length > 10);

/** Half of the lists are long, and half of the limits small. */
const choice = fc.record({ long: fc.boolean(), at: fc.nat(), small: fc.boolean(), limit: fc.nat() });
type Choice = typeof choice extends fc.Arbitrary<infer Value> ? Value : never;

function chosen({ long, at, small, limit }: Choice) {
  const from = long ? longLists : lists;
  const list = from[at % from.length];
  return { ...list, limit: 1 + (limit % (small ? 5 : list.maxLimit)) };
}

test("paging returns every row once in order, and stays on its version while versions change", (t) => {
  let pages = 0;
  const publications = {
    alone: (image: Image) => publish(image),
    newer: (image: Image) => publish(other, image),
    newest: (image: Image) => publish(another, other, image),
  };
  const turn = fc.constantFrom(...Object.values(publications));
  const turns = fc.array(turn, { minLength: 1, maxLength: 6 });
  const property = fc.property(choice, turns, fc.boolean(), (drawn, turns, isNamed) => {
    const { image, path, rows, limit } = chosen(drawn);
    const base = isNamed ? `/versions/${nameOf(image)}` : "";
    if (isNamed) publish(another, other, image);
    else publish(image);
    const walked = walk(`/api/v1${base}${path}`, limit, (page) => turns[page % turns.length](image));
    assert.deepEqual(rowsOf(walked), rows);
    assert.equal(walked.length, Math.ceil(rows.length / limit));
    for (const { source } of walked) assert.equal(source.data_version, nameOf(image));
    pages += walked.length;
  });
  fc.assert(property, { seed, numRuns: rounds(50) });
  t.diagnostic(`${pages} pages of ${lists.length} lists`);
});

const priced = (count: number, charge: number): ShortRow[] =>
  Array.from({ length: count }, (_, i) => [String(i).padStart(6, "0"), "CA", "5072", charge + i, 1]);
const firstPages = [
  "/api/v1/healthcare/prices?procedure=5072&limit=2",
  "/api/v1/search?q=hosp&limit=3",
  "/api/v1/search?q=ca&type=facility&limit=1",
];
function nextOf(first: string): string {
  const { next } = pageAt(first);
  assert.ok(next !== null);
  return next;
}

test("a cursor of 4096 bytes is decoded, and a longer one is never created", () => {
  const cursorOf = (queryLength: number) =>
    decodeCursor(pathOfPage(other, "search", 7, "q".repeat(queryLength)).toString().slice(pagesPath.length));
  const others = `2025.1~${other.description.sha256.slice(0, 8)}~search~7~`.length + 4;
  assert.equal(cursorOf(4096 - others)?.query.length, 4096 - others);
  assert.throws(
    () => cursorOf(4097 - others),
    new RangeError("a cursor has 4097 bytes, expected at most 4096"),
  );
});

describe("data versions of pages", () => {
  const image = imageOf(snapshotOf(priced(9, 100)));

  test("a page of a retired version gives 404 until the version is loaded again", () => {
    for (const first of firstPages) {
      publish(image);
      const next = nextOf(first);
      const page = get(next);
      publish(other);
      assertRefused(next, "not_found");
      publish(other, image);
      assert.deepEqual(get(next), page);
    }
  });

  test("a page gives 404 if its version is loaded with other content", () => {
    const changed = imageOf(snapshotOf(priced(9, 101)));
    assert.equal(nameOf(changed), nameOf(image));
    for (const first of firstPages) {
      publish(image);
      const next = nextOf(first);
      publish(changed);
      assertRefused(next, "not_found");
      assert.notEqual(nextOf(first), next);
    }
  });

  test("a page accepts no parameters and no version path", () => {
    publish(image);
    for (const first of firstPages) {
      const next = nextOf(first);
      for (const [query, param] of [
        ["limit=2", "limit"],
        ["procedure=5072", "procedure"],
        ["q=a&q=b", "q"],
        ["x", "x"],
      ])
        assertRefused(`${next}?${query}`, "invalid_parameter", param);
      assert.deepEqual(get(`${next}?`), get(next));
      assertRefused(`${next}/`, "unknown_endpoint");
      assertRefused(next.replace("/v1/", "/v1/versions/2024/"), "unknown_endpoint");
    }
  });
});

const textOf = (values: Record<string, string>) => new URLSearchParams(values).toString();

describe("forged cursors", () => {
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
  publish(image, older);

  const starts = [
    ...["/healthcare/prices?procedure=5072&limit=2", "/search?q=hosp&limit=3"],
    "/healthcare/procedures?limit=1",
    "/healthcare/facilities?procedure=5072&sort=markup&order=desc&limit=3",
  ];
  const cursors = ["", "/versions/2023.1"].flatMap((base) =>
    starts.flatMap((start) => {
      const second = nextOf(`/api/v1${base}${start}`);
      return [second, nextOf(second)].map((path) => path.slice(pagesPath.length));
    }),
  );
  const genuine = new Set(cursors);
  before(() => publish(image, older));
  const cursor = fc.constantFrom(...cursors);
  const letter = fc.constantFrom(..."ABCXYZabcxyz0189-_=+.~!$&'()*,;:@%|^\"<>{}[]\\` éß🏥");

  function assertNoCursor(text: string): void {
    if (genuine.has(text)) return;
    assert.equal(decodeCursor(text), undefined, text);
    assertRefused(pagesPath + text, "invalid_parameter", "cursor");
  }

  test("a cursor with one changed character is refused", () => {
    for (const text of cursors)
      for (let i = 0; i < text.length; i++)
        for (const other of "AQgw049-_") assertNoCursor(text.slice(0, i) + other + text.slice(i + 1));
    const property = fc.property(cursor, fc.nat(), letter, (text, at, other) => {
      const i = at % text.length;
      assertNoCursor(text.slice(0, i) + other + text.slice(i + 1));
    });
    fc.assert(property, { seed, numRuns: rounds(400) });
  });

  test("arbitrary text is refused as a cursor", () => {
    const any = fc.oneof(
      fc.string({ unit: letter, minLength: 1, maxLength: 200 }),
      fc
        .uint8Array({ minLength: 1, maxLength: 100 })
        .map((bytes) => Buffer.from(bytes).toString("base64url")),
      fc.json().map((json) => Buffer.from(json).toString("base64url")),
    );
    fc.assert(fc.property(any, assertNoCursor), { seed, numRuns: rounds(400) });
  });

  function assertClean(of: Image, list: string, offset: number, given: Record<string, string>): void {
    const target = pathOfPage(of, list, offset, textOf(given)).toString().replace("/api/v1", "");
    const { type } = refusal(versions, target);
    const described = `${nameOf(of)} ${list} ${offset} ${JSON.stringify(given)}: ${type}`;
    assert.ok(["invalid_parameter", "missing_parameter", "not_found"].includes(type), described);
  }

  test("a cursor with a valid check but a wrong list, offset, parameter or version is refused", () => {
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

  test("a search with accents and emoji is paged like one without", () => {
    const rows = (q: string) =>
      walk(`/api/v1/search?q=${encodeURIComponent(q)}`, 7).flatMap(({ data }) => data);
    assert.ok(rows("hosp").length > 7);
    assert.deepEqual(rows("hôsp 🏥".repeat(2)), rows("hosp"));
  });

  const beyond: [list: string, rows: number, values: Record<string, string>][] = [
    ["prices", 60, { procedure: "5072", limit: "2" }],
    ["search", 60, { q: "hosp", type: "facility", limit: "2" }],
    ["procedures", 3, { sort: "code", min_facilities: "1", limit: "2" }],
    ["facilities", 60, { procedure: "5073", sort: "charge", order: "asc", limit: "2" }],
  ];
  for (const [list, rows, given] of beyond)
    test(`a cursor with a valid check that starts behind the last row of ${list} is refused`, () => {
      for (const offset of [rows, rows + 1, rows + 60, 2 ** 31, 2 ** 32, 2 ** 53 - 1])
        assertClean(image, list, offset, given);
    });
});
