import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { before, test } from "node:test";
import { importFile } from "../../datasets/cms/import.ts";
import type { Image } from "../../engine/query.ts";
import type { Versions } from "../../server/api/endpoint.ts";
import type {
  FacilitiesAnswer,
  FacilityAnswer,
  FacilityTrendsAnswer,
  ProcedureAnswer,
  ProceduresAnswer,
  TrendsAnswer,
} from "../../server/parts/portal/browser/answers.ts";
import type { PageSettings } from "../../server/parts/portal/browser/context.ts";
import { isPriced, shareOf } from "../../server/parts/portal/browser/words.ts";
import { PageAnswers } from "../../server/parts/portal/page-answers.ts";
import { write } from "../../server/parts/portal/written.ts";
import { folder, optionsFor } from "../support/cms-files.ts";
import { dataPath } from "../support/data.ts";
import { ask, imageWith, versionsOf } from "../support/endpoint-oracle.ts";
import { readBack } from "../support/fixtures.ts";
import { places } from "../support/places.ts";
import { type Random, seededRandom } from "../support/random.ts";
import { duckdb, type Row, rowsBy } from "../support/statements.ts";

/**
 * Tests that figures of pages can be checked by CMS's files alone: the statements that stand on a page are run as they
 * are, beside files with the names in them. A newer revision changes neither the statements nor the figures.
 */

const years = [2021, 2022, 2023];

/** Writes CMS's excerpt with other amounts for a year and a revision, and imports it. */
async function importedYear(year: number, revision: number): Promise<Image> {
  const name = `MUP_OUT_DY${year % 100}_R${revision}.csv`;
  const changed = (column: string) =>
    `(${column}::DECIMAL(18,10) * (0.8 + hash(Rndrng_Prvdr_CCN || APC_Cd || '${year}.${revision}') % 400 / 1000))::DECIMAL(18,10) AS ${column}`;
  await duckdb.run(
    `COPY (SELECT * REPLACE (${changed("Avg_Tot_Sbmtd_Chrgs")}, ${changed("Avg_Mdcr_Alowd_Amt")})
     FROM read_csv('${dataPath("prov_svc_dy23_subset.csv")}', all_varchar = true)) TO '${path.join(folder, name)}' (HEADER)`,
  );
  const options = optionsFor("");
  const file = path.join(folder, name);
  const sourceUrl = `https://data.example/${name}`;
  const imported = await importFile({ ...options, file, year, sourceUrl }, []);
  const snapshot = await readBack(readFileSync(imported.path), imported.path);
  const provenance = { ...snapshot.provenance, revision };
  return imageWith({ ...snapshot, provenance }, places);
}

let served: Versions;
/** The versions of `served`, and a newer revision of each year with other amounts. */
let later: Versions;
before(async () => {
  const newestFirst = years.toReversed();
  const first = await Promise.all(newestFirst.map((year) => importedYear(year, 1)));
  const second = await Promise.all(newestFirst.map((year) => importedYear(year, 2)));
  served = versionsOf(...first);
  later = versionsOf(...first.flatMap((image, i) => [second[i], image]));
});

const settings: PageSettings = {
  ...{ key: "hcq_", signup: "off", newcomers: { burst: 1, quota: 1, linkHours: 1 }, minElapsedMs: 0 },
  ...{ mail: false, embeds: false, states: "/states.svg" },
};

const plain = (html: string) =>
  html
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");

/** What the fold "Check this number" of a page has. */
function foldAt(versions: Versions, address: string) {
  const [path, query = ""] = address.split("?");
  const read = (path: string, query: string) =>
    Object(ask(versions, `${path.slice("/api/v1".length)}?${query}`));
  const html = write(path, query, settings, new PageAnswers(read)).body.join("");
  const [fold = ""] = /<details class="check">.*?<\/details>/s.exec(html) ?? [];
  const statements = new Map(
    Array.from(fold.matchAll(/<pre[^>]*aria-label="([^"]*)"[^>]*>([^<]*)<\/pre>/g), ([, title, sql]) => [
      plain(title),
      plain(sql),
    ]),
  );
  const [, page] = /<a href="([^"]*)">this page/.exec(fold) ?? [];
  const [, api] = /in the API at <code class="long">([^<]*)</.exec(fold) ?? [];
  return { statements, page: plain(page ?? ""), api: plain(api ?? "") };
}

const cents = (dollars: number) => Math.round(dollars * 100) / 100;

/** What is drawn of the data, by which pages are chosen. */
interface Drawn {
  code: string;
  ccn: string;
  state: string;
  /** Parameters of the page's place. */
  place: string;
}

/** A figure of a page, and how the page's statement gives it. */
interface Figure {
  address: string;
  title: string;
  expected: number | null | undefined;
  /** Name of the column in the row that `where` finds. */
  column: string;
  where?: (row: Row) => boolean;
}

const answer = <Answer>(url: string) => ask(served, url) as Answer;
const summaryAt = ({ code, place }: Drawn) =>
  answer<ProcedureAnswer>(`/healthcare/procedures/${code}?${place}`);
const listAt = ({ code, place }: Drawn) =>
  answer<FacilitiesAnswer>(`/healthcare/facilities?procedure=${code}&${place}&limit=100`);
const exploreAt = ({ code, place }: Drawn) => `/?procedure=${code}&${place}`;
const trendsAt = ({ code }: Drawn) => answer<TrendsAnswer>(`/healthcare/trends?procedure=${code}`);
const hospitalAt = ({ ccn, code }: Drawn) => `/facilities/${ccn}?procedure=${code}`;
const ownRowAt = ({ ccn, code }: Drawn) =>
  answer<FacilityAnswer>(`/healthcare/facilities/${ccn}`).data.find((row) => row.code === code);

const ofList =
  (column: string, expected: (answer: ProcedureAnswer) => number) =>
  (drawn: Drawn): Figure => ({
    address: exploreAt(drawn),
    title: "The figures of the list",
    expected: expected(summaryAt(drawn)),
    column,
  });
const ofHospital =
  (column: string, expected: (row: FacilityAnswer["data"][number] | undefined) => number | undefined) =>
  (drawn: Drawn): Figure => ({
    address: hospitalAt(drawn),
    title: "The hospital's procedures, and its ranks",
    expected: expected(ownRowAt(drawn)),
    column,
    where: ({ apc }) => apc === drawn.code,
  });

const kinds: Record<string, (drawn: Drawn, random: Random) => Figure> = {
  "a count": ofList("hospitals", ({ summary }) => summary.facilities),
  "a median": ofList("median_charge", ({ summary }) => summary.median_charge),
  "Medicare's median": ofList("median_allowed", ({ summary }) => summary.median_allowed),
  "a lower quartile": ofList("quarter_charge_less", ({ summary }) => summary.p25_charge),
  "an upper quartile": ofList("quarter_charge_more", ({ summary }) => summary.p75_charge),
  "what you pay": ofList("you_pay_median", ({ summary, source }) =>
    cents(shareOf(summary.median_allowed, source.data_year)),
  ),
  "the least that you pay": ofList("you_pay_least", ({ allowed, source }) =>
    cents(shareOf(allowed.min, source.data_year)),
  ),
  "a charge in a list": (drawn, random) => {
    const { ccn, submitted_charge } = random.pick(listAt(drawn).data);
    return {
      ...{ address: exploreAt(drawn), title: "The hospitals of the list", column: "charge" },
      ...{ expected: submitted_charge, where: (row) => row.ccn === ccn },
    };
  },
  "a rank in a list": (drawn, random) => {
    const priced = listAt(drawn).data.filter(isPriced);
    const { ccn, submitted_charge } = random.pick(priced);
    return {
      ...{ address: exploreAt(drawn), title: "The hospitals of the list", column: "rank" },
      expected: 1 + priced.filter((one) => one.submitted_charge < submitted_charge).length,
      where: (row) => row.ccn === ccn,
    };
  },
  "a compared hospital's rank": (drawn) => ({
    address: `/?procedure=${drawn.code}&state=${drawn.state === "TX" ? "CA" : "TX"}&with=${drawn.ccn}`,
    title: "The compared hospitals in the nation",
    expected: ownRowAt(drawn)?.national.rank,
    column: "rank",
    where: ({ ccn }) => ccn === drawn.ccn,
  }),
  "a state's median": (drawn) => ({
    address: exploreAt(drawn),
    title: "The states",
    expected: answer<ProcedureAnswer>(`/healthcare/procedures/${drawn.code}`).data.find(
      ({ state }) => state === drawn.state,
    )?.median_charge,
    column: "median_charge",
    where: ({ state }) => state === drawn.state,
  }),
  "a year's median": (drawn) => ({
    address: exploreAt({ ...drawn, place: "" }),
    title: "The years, each from its own file",
    expected: trendsAt(drawn).data[0].median_charge,
    column: "median_charge",
    where: ({ year }) => year === years[0],
  }),
  "a change over years": (drawn) => ({
    address: exploreAt({ ...drawn, place: "" }),
    title: "The changes from year to year",
    expected: trendsAt(drawn).data[1].matched?.median_charge,
    column: "percent_charge",
    where: ({ year }) => year === years[1],
  }),
  "a compared hospital's earlier charge": (drawn) => ({
    address: `/?procedure=${drawn.code}&with=${drawn.ccn}`,
    title: "The compared hospitals over the years",
    expected: answer<FacilityTrendsAnswer>(
      `/healthcare/facilities/${drawn.ccn}/trends?procedure=${drawn.code}`,
    ).data[0].submitted_charge,
    column: "charge",
    where: ({ ccn, year }) => ccn === drawn.ccn && year === years[0],
  }),
  "a hospital's charge": ofHospital("charge", (row) => row?.submitted_charge),
  "what you pay at a hospital": ofHospital(
    "you_pay",
    (row) => row && cents(shareOf(row.medicare_allowed, 2023)),
  ),
  "a hospital's rank in the nation": ofHospital("national_rank", (row) => row?.national.rank),
  "a hospital's rank in its state": ofHospital("state_rank", (row) => row?.within_state.rank),
  "the state's median beside a hospital": ofHospital(
    "state_median",
    (row) => row?.within_state.median_charge,
  ),
  "a hospital's allowed amount of an earlier year": (drawn) => ({
    address: hospitalAt(drawn),
    title: "Its years, each from its own file",
    expected: answer<FacilityTrendsAnswer>(
      `/healthcare/facilities/${drawn.ccn}/trends?procedure=${drawn.code}`,
    ).data[1].medicare_allowed,
    column: "allowed",
    where: ({ year }) => year === years[1],
  }),
};

/** Draws a priced row, and a place that has it. */
function drawnBy(random: Random): Drawn {
  const groups = answer<ProceduresAnswer>("/healthcare/procedures?limit=100").data;
  const list = `/healthcare/facilities?procedure=${random.pick(groups).code}&limit=100`;
  const { ccn, state, zip } = random.pick(answer<FacilitiesAnswer>(list).data.filter(isPriced));
  const { code } = random.pick(answer<FacilityAnswer>(`/healthcare/facilities/${ccn}`).data);
  return { code, ccn, state, place: random.pick(["", `state=${state}`, `near=${zip}&within=100`]) };
}

test("20 figures of pages, each kind among them, are given by the page's own statement, also after newer revisions", async (t) => {
  const seed = 20_261_129;
  const random = seededRandom(seed);
  assert.ok(Object.keys(kinds).length >= 20);
  for (const [kind, figureOf] of Object.entries(kinds)) {
    const { address, title, expected, column, where = () => true } = figureOf(drawnBy(random), random);
    const what = `${kind} (seed ${seed}): ${title} at ${address}`;
    const fold = foldAt(served, address);
    const sql = fold.statements.get(title) ?? assert.fail(what);
    const figure = (await rowsBy(sql)).find(where)?.[column];
    assert.equal(typeof expected, "number", what);
    assert.equal(figure, expected, what);

    const kept = foldAt(later, fold.page);
    assert.equal(kept.statements.get(title), sql, what);
    assert.equal(kept.page, fold.page, "the lasting address is its own");
    const unpinned = foldAt(later, address).statements.get(title);
    assert.notEqual(unpinned, sql, "without the lasting address, it is the newer revision");
    const [then, now] = [served, later].map((versions) =>
      JSON.stringify(ask(versions, fold.api.slice("/api/v1".length))),
    );
    assert.equal(now, then, fold.api);
    t.diagnostic(`${kind}: ${expected} at ${address}`);
  }
});
