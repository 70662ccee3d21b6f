import assert from "node:assert/strict";
import { test } from "node:test";
import { stayDeductibles } from "../../../datasets/deductibles.ts";
import { ApiError } from "../../../server/api/errors.ts";
import { change, money, times, whole } from "../../../server/shared/browser/format.ts";
import {
  type Any,
  addressOf,
  all,
  answer,
  click,
  drawn,
  one,
  open,
  others,
  textOf,
  texts,
  type,
} from "../../support/drawn-page.ts";
import { type FakeElement, place } from "../../support/fake-dom.ts";

/** Tests that lists and tables show the API's numbers, and that their links lead where they say. */

const rowsOf = (root: FakeElement, list = ".facilities") => all(one(root, list), "tbody tr");
const cellsOf = (row: FakeElement) => texts(row, "td").slice(0, -1);
const paramsOf = (href: string | null) =>
  Object.fromEntries(new URL(href ?? "", "http://prices.test").searchParams);
const hrefOf = (element: FakeElement | undefined) => element?.getAttribute("href") ?? null;
const share = (allowed: number, year: number) => Math.min(allowed / 5, stayDeductibles[year] ?? Infinity);

/** What a list's row has to say, besides its name. */
function cellsFor(row: Any, year: number, isNear: boolean): string[] {
  const { submitted_charge: charge, medicare_allowed: allowed, services, distance } = row;
  return [
    ...(isNear ? [distance >= 1 ? distance.toFixed(1) : null] : []),
    ...[share(allowed, year), allowed, charge].map(money),
    ...(isNear ? [] : [times(charge / allowed)]),
    services === null ? "–" : whole(services),
  ];
}

/** Asserts that the heads of a list sort by their column, and turn the order of the sorted one. */
function assertHeads(root: FakeElement, query: URLSearchParams): void {
  const sort = query.get("sort") ?? (query.has("near") ? "distance" : "charge");
  const order = query.get("order") ?? "asc";
  const columns = query.has("near")
    ? ["name", "distance", "pays", "allowed", "charge", "services"]
    : ["name", "pays", "allowed", "charge", "markup", "services"];
  const heads = all(root, ".facilities thead th[scope]");
  assert.equal(heads.length, columns.length);
  for (const [i, head] of heads.entries()) {
    const { sort: by, order: to, shown } = paramsOf(hrefOf(one(head, "a")));
    assert.equal(by, columns[i]);
    assert.equal(shown, query.get("shown") ?? undefined);
    const isSorted = columns[i] === sort;
    assert.equal(
      head.getAttribute("aria-sort"),
      isSorted ? (order === "asc" ? "ascending" : "descending") : null,
    );
    const first = ["markup", "services"].includes(columns[i]) ? "desc" : undefined;
    assert.equal(
      to,
      isSorted ? (order === "asc" ? "desc" : undefined) : first,
      `${columns[i]} after ${sort} ${order}`,
    );
    assert.equal(textOf(head).endsWith("▴"), isSorted && order === "asc");
    assert.equal(textOf(head).endsWith("▾"), isSorted && order === "desc");
  }
}

const lists = [
  ["procedure=5072", "procedure=5072&sort=charge", 2024],
  ["procedure=5115&year=2022&sort=pays", "procedure=5115&sort=allowed", 2022],
  ["procedure=5115&sort=services&order=desc&shown=60", "procedure=5115&sort=services&order=desc", 2024],
  ["procedure=5112&sort=name&shown=35", "procedure=5112&sort=name", 2024],
  ["procedure=5112&near=60614&within=100", "procedure=5112&near=60614&within=100&sort=distance", 2024],
  ["procedure=5092&year=2021&sort=markup&order=desc", "procedure=5092&sort=markup&order=desc", 2021],
  ["procedure=5091&year=2021&sort=charge&order=desc", "procedure=5091&sort=charge&order=desc", 2021],
  ["procedure=5072&year=2021", "procedure=5072", 2021],
] as const;

for (const [query, asked, year] of lists)
  test(`the list has the answer's rows in their order: ${query}`, async () => {
    const root = await open("explore", `/?${query}`);
    const version = year === 2024 ? "" : `/versions/${year}`;
    const { data, summary } = answer(`${version}/healthcare/facilities?${asked}&limit=100`);
    const isNear = query.includes("near=");
    const shown = Math.min(Number(/shown=(\d+)/.exec(query)?.[1] ?? 10), summary.facilities);
    const rows = rowsOf(root);
    assert.equal(rows.length, shown);
    assertHeads(root, new URLSearchParams(query));
    assert.ok(
      textOf(one(root, ".facilities h2")).startsWith(
        summary.facilities === 1 ? "1 hospital" : `${summary.facilities} hospitals, `,
      ),
    );
    for (const [i, row] of rows.entries()) {
      const expected = cellsFor(data[i], year, isNear);
      const cells = cellsOf(row);
      if (isNear && expected[0] === null) expected[0] = cells[0] === "same ZIP" ? "same ZIP" : "under 1";
      assert.deepEqual(cells, expected);
      const name = one(row, "th.name");
      const link = one(name, "a");
      assert.equal(textOf(link), data[i].facility);
      assert.equal(hrefOf(link)?.split("?")[0], `/facilities/${data[i].ccn}`);
      const { procedure, state, near } = paramsOf(hrefOf(link));
      assert.deepEqual(
        [procedure, state, near],
        ["procedure", "state", "near"].map((key) => new URLSearchParams(query).get(key) ?? undefined),
      );
      assert.ok(textOf(one(name, "small")).startsWith(`${data[i].city}, ${data[i].state}`));
      assert.equal(paramsOf(hrefOf(one(name, "a.button"))).with, data[i].ccn);
    }
    // Dots stand where the amounts are on one scale, whose texts are at their places.
    const log = (value: number) => Math.log(value);
    const points = rows.flatMap((row, i): [number, number][] => {
      const dots = one(row, "td.dots");
      const at = (kind: string) =>
        Number.parseFloat(one(dots, `.dot.${kind}`).parentNode?.getAttribute("x") ?? "");
      return [
        [data[i].submitted_charge, at("charge")],
        [data[i].medicare_allowed, at("allowed")],
      ];
    });
    const ticks = all(one(root, ".facilities th.dots"), ".from-265 text").map((text): [number, number] => [
      Number(textOf(text).replaceAll(/[$,]/g, "")),
      Number.parseFloat(text.getAttribute("x") ?? ""),
    ]);
    const sorted = [...points, ...ticks].toSorted(([a], [b]) => a - b);
    const [[low, from], [high, to]] = [sorted[0], sorted[sorted.length - 1]];
    assert.ok(to > from);
    for (const [value, at] of sorted) {
      const expected = from + ((log(value) - log(low)) / (log(high) - log(low))) * (to - from);
      assert.ok(Math.abs(at - expected) < 0.05 && at >= 0 && at <= 100, `${value} at ${at}`);
    }
    const hasMedian = summary.facilities >= 8;
    assert.equal(all(rows[0], "line.median").length, Number(hasMedian));
    assert.equal(/upright line/.test(textOf(one(root, ".facilities .narrow-only"))), hasMedian);
    assert.equal(/median charge/.test(textOf(one(root, ".facilities header .about"))), hasMedian);
    // The end of the list says how many there are, and shows more.
    const more = one(root, ".facilities .more");
    if (shown < summary.facilities) {
      const next = Math.min(shown + 25, 210);
      assert.ok(textOf(more).includes(`Show ${Math.min(25, summary.facilities - shown)} more`), textOf(more));
      assert.ok(textOf(more).endsWith(`${shown} of ${summary.facilities}`));
      assert.equal(paramsOf(hrefOf(one(more, "a"))).shown, String(next));
    } else
      assert.equal(
        textOf(more),
        summary.facilities === 1 ? "That is the only one." : `These are all ${shown}.`,
      );
  });

test("compared hospitals stand above the list, in a table with the medians, and can be taken off", async () => {
  for (const [where, year] of [
    ["&state=TX", 2024],
    ["&near=60614&within=100", 2024],
    ["&year=2022", 2022],
  ] as const) {
    const version = year === 2024 ? "" : `/versions/${year}`;
    const scope = answer(
      `${version}/healthcare/procedures/5112${where.replace(/^&(?!year)/, "?").replace(/&year.*/, "")}`,
    );
    const nation = answer(
      `${version}/healthcare/facilities?procedure=5112&limit=100&sort=charge&order=desc`,
    ).data;
    const around = where.includes("near")
      ? answer("/healthcare/facilities?procedure=5112&near=60614&within=100&limit=1").data[0]
      : nation[12];
    const chosen = [nation[5], nation.find(({ ccn }: Any) => ccn === around.ccn)];
    const root = await open(
      "explore",
      `/?procedure=5112${where}&with=${chosen.map(({ ccn }) => ccn).join(",")}`,
    );
    const table = one(root, ".compared table");
    const isNear = where.includes("near");
    const miles = isNear ? answer("/healthcare/facilities?near=60614&within=500&limit=100").data : [];
    const lines = all(table, "tbody tr").map((row) => [textOf(one(row, "th")), ...texts(row, "td")]);
    const { median_allowed, median_charge } = scope.summary;
    assert.deepEqual(lines, [
      [
        "You pay with Medicare",
        ...[...chosen.map((row) => row.medicare_allowed), median_allowed].map((amount) =>
          money(share(amount, year)),
        ),
      ],
      ["Allowed", ...[...chosen.map((row) => row.medicare_allowed), median_allowed].map(money)],
      ["Charge", ...[...chosen.map((row) => row.submitted_charge), median_charge].map(money)],
      ["Services", ...chosen.map(({ services }) => (services === null ? "–" : whole(services)))],
      ...(isNear
        ? [
            [
              "Miles",
              ...chosen.map(({ ccn }) => {
                const found = miles.find((one: Any) => one.ccn === ccn);
                return found ? found.distance.toFixed(1) : "–";
              }),
            ],
          ]
        : []),
    ]);
    const heads = texts(table, "thead th");
    for (const [i, row] of chosen.entries())
      assert.equal(heads[i], `${"AB"[i]} ${row.facility} ${row.city}, ${row.state}`);
    assert.equal(
      heads[2],
      where.includes("state")
        ? "Median in Texas"
        : isNear
          ? "Median within 100 miles of 60614"
          : "Nation's median",
    );
    assert.deepEqual(
      all(table, "thead th a").map((a) => hrefOf(a)?.split("?")[0]),
      chosen.map(({ ccn }) => `/facilities/${ccn}`),
    );
    const rows = rowsOf(root);
    const isElsewhere = (row: Any) =>
      where.includes("state")
        ? row.state !== "TX"
        : isNear && !(miles.find((one: Any) => one.ccn === row.ccn)?.distance <= 100);
    for (const [i, row] of chosen.entries()) {
      assert.match(rows[i].getAttribute("class") ?? "", /pinned/);
      assert.equal(textOf(rows[i]).includes("elsewhere, not counted"), isElsewhere(row), row.state);
      assert.deepEqual(
        cellsOf(rows[i]).slice(isNear ? 1 : 0),
        cellsFor(row, year, isNear).slice(isNear ? 1 : 0),
      );
      assert.equal(paramsOf(hrefOf(one(rows[i], "a.button"))).with, chosen[1 - i].ccn);
    }
    // The others are listed once, and those elsewhere don't count.
    const names = rows.map((row) => hrefOf(one(row, "th a"))?.split("?")[0]);
    assert.equal(new Set(names).size, names.length);
    assert.equal(rows.length, Math.min(10, scope.summary.facilities) + chosen.filter(isElsewhere).length);
    assert.equal(
      textOf(one(root, ".facilities h2")).includes(", compared first, then "),
      scope.summary.facilities > 1,
    );
    // The text has each hospital's amounts and its rank among the same hospitals.
    const own = all(root, ".sentence p.under").filter((p) => all(p, "b.letter").length > 0);
    for (const [i, row] of chosen.entries()) {
      const said = textOf(own[i]);
      assert.ok(said.includes(`${row.facility} charges ${money(row.submitted_charge)}: `), said);
      assert.ok(said.includes(`Medicare allows this hospital ${money(row.medicare_allowed)}.`), said);
      if (chosen.some(isElsewhere) || year !== 2024) {
        const cheaper = nation.filter((one: Any) => one.submitted_charge < row.submitted_charge).length;
        assert.ok(
          said.includes(
            `: ${cheaper} of ${nation.length}${year !== 2024 ? "" : " in the nation"} charge less`,
          ),
          said,
        );
      }
    }
    // Each chip removes what it names.
    for (const chip of all(root, ".chips a.chip")) {
      const text = textOf(chip);
      const i = chosen.findIndex(({ facility }) => text.includes(facility));
      const left = paramsOf(hrefOf(chip));
      if (i >= 0) assert.equal(left.with, chosen[1 - i].ccn, text);
      else {
        assert.deepEqual([left.state, left.near, left.within], [undefined, undefined, undefined], text);
        assert.equal(left.with, chosen.map(({ ccn }) => ccn).join(","));
      }
    }
    const wider = all(root, ".chips a").filter((a) => textOf(a).startsWith("within"));
    assert.equal(wider.length, 0, "100 miles are the most that is offered");
  }
});

test("around a place, the next larger circle is offered", async () => {
  for (const [within, next] of [
    [25, 50],
    [60, 100],
  ]) {
    const root = await open("explore", `/?procedure=8011&near=60614&within=${within}`);
    const links = all(root, ".chips a").filter((a) => textOf(a).startsWith("within"));
    assert.deepEqual(links.map(textOf), [`within ${next} miles`]);
    assert.equal(paramsOf(hrefOf(links[0])).within, String(next));
  }
});

test("a click on a hospital compares it, and a fourth one can't be compared", async () => {
  let root = await open("explore", "/?procedure=5072");
  const ccns: string[] = [];
  for (let i = 0; i < 3; i++) {
    const row = rowsOf(root).find((each) => !each.getAttribute("class")?.includes("pinned"));
    ccns.push(hrefOf(one(row ?? root, "th a"))?.slice(12, 18) ?? "");
    await click(row);
    assert.equal(new URLSearchParams(addressOf().split("?")[1]).get("with"), ccns.join(","));
  }
  const free = rowsOf(root).filter((row) => !row.getAttribute("class")?.includes("pinned"));
  assert.equal(free.flatMap((row) => all(row, "a.button")).length, 0);
  assert.match(textOf(one(root, ".facilities header")), /No more than 3 hospitals can be compared/);
  root = await open("explore", `/?procedure=5072&with=${ccns.join(",")},999999`);
  assert.match(
    textOf(one(root, ".sentence")),
    /No more than 3 hospitals can be compared. Left out: 999999\./,
  );
  await click(rowsOf(root)[1]);
  assert.equal(
    new URLSearchParams(addressOf().split("?")[1]).get("with"),
    [ccns[0], ccns[2], "999999"].join(","),
  );
});

const hospital = () =>
  answer("/healthcare/facilities?procedure=5072&limit=1&sort=services&order=desc").data[0].ccn;

test("a hospital's procedures have their amounts, and are compared with nation and state", async () => {
  const { facility, data, source } = answer(`/healthcare/facilities/${hospital()}`);
  const orders: Record<string, (row: Any) => number | string> = {
    pays: (row) => row.medicare_allowed,
    nation: (row) => (row.national.facilities === 1 ? 0 : row.submitted_charge / row.national.median_charge),
    state: (row) =>
      row.within_state.facilities === 1 ? 0 : row.submitted_charge / row.within_state.median_charge,
    services: (row) => row.services ?? 0,
  };
  for (const [sort, order] of [
    ["nation", "desc"],
    ["state", "asc"],
    ["pays", "asc"],
    ["services", "desc"],
  ] as const) {
    const query = sort === "nation" && order === "desc" ? "" : `&sort=${sort}&order=${order}`;
    const root = await open("facility", `/facilities/${facility.ccn}?shown=210${query}`);
    const rows = rowsOf(root, ".standing");
    assert.equal(rows.length, data.length);
    const codes = rows.map((row) => paramsOf(hrefOf(one(row, "th a"))).procedure);
    const byCode = new Map<string, Any>(data.map((row: Any) => [row.code, row]));
    for (const [i, code] of codes.entries()) {
      const before = i > 0 ? orders[sort](byCode.get(codes[i - 1])) : null;
      const value = orders[sort](byCode.get(code));
      assert.ok(
        before === null || (order === "asc" ? before <= value : before >= value),
        `${sort} ${order}: ${code}`,
      );
      const row = byCode.get(code);
      const beside = (standing: Any, where: string) =>
        standing.facilities === 1
          ? `no other in ${where}`
          : `${change(Math.round((row.submitted_charge / standing.median_charge - 1) * 100))} median ${money(standing.median_charge)}${standing.facilities < 8 ? ` of ${standing.facilities} hospitals` : ""}`;
      assert.deepEqual(cellsOf(rows[i]), [
        ...[share(row.medicare_allowed, source.data_year), row.medicare_allowed, row.submitted_charge].map(
          money,
        ),
        beside(row.national, "the nation"),
        beside(row.within_state, facility.state),
        row.services === null ? "–" : whole(row.services),
      ]);
      assert.equal(paramsOf(hrefOf(one(rows[i], "th a"))).with, facility.ccn);
      assert.equal(all(rows[i], "line.median").length, Number(row.national.facilities >= 8));
      const said = all(rows[i], "span[title]").map((span) => span.getAttribute("title"));
      if (row.national.facilities > 1) {
        const { rank, facilities } = row.national;
        const expected =
          rank === 1
            ? `the lowest of ${facilities}`
            : rank === facilities
              ? `the highest of ${facilities}`
              : `${rank - 1} of ${facilities}`;
        assert.ok(said[0]?.startsWith(expected), `${said[0]}: ${expected}`);
      }
    }
  }
});

test("a hospital's list begins with the chosen procedure, is short at first, and finds procedures by words", async () => {
  const { facility, data } = answer(`/healthcare/facilities/${hospital()}`);
  const chosen = data.find((row: Any) => row.title !== null && row.code !== data[0].code);
  const root = await open("facility", `/facilities/${facility.ccn}?procedure=${chosen.code}`);
  const rows = rowsOf(root, ".standing");
  assert.equal(rows.length, Math.min(10, data.length));
  assert.equal(rows[0].getAttribute("class"), "pinned");
  assert.equal(paramsOf(hrefOf(one(rows[0], "th a"))).procedure, chosen.code);
  const own = textOf(one(root, ".heading"));
  assert.ok(own.includes(`It charges ${money(chosen.submitted_charge)}: `), own);
  assert.ok(own.includes(`you pay about ${money(share(chosen.medicare_allowed, 2024))} with Medicare`), own);
  const above = data.filter(
    (row: Any) => row.national.facilities > 1 && row.submitted_charge > row.national.median_charge,
  ).length;
  assert.ok(
    new RegExp(
      above === 0
        ? "nation's median or less"
        : `more than the nation's median for (${above} of|all|both|one)`,
    ).test(own),
    own,
  );
  await type(one(root, 'input[name="find"]'), chosen.code);
  assert.deepEqual(
    rowsOf(root, ".standing").map((row) => paramsOf(hrefOf(one(row, "th a"))).procedure),
    [chosen.code],
  );
  assert.equal(textOf(one(root, ".standing h2")), "1 procedure");
  await type(one(root, 'input[name="find"]'), "zz");
  assert.equal(rowsOf(root, ".standing").length, 0);
  assert.match(textOf(one(root, ".standing")), /“zz” is short/);
});

test("words that no title has are searched for, and the list says what they mean or why nothing is left", async (t) => {
  const { facility, data } = answer(`/healthcare/facilities/${hospital()}`);
  const root = await open("facility", `/facilities/${facility.ccn}?sort=charge`);
  const codes = () => rowsOf(root, ".standing").map((row) => paramsOf(hrefOf(one(row, "th a"))).procedure);
  const said = () =>
    texts(one(root, ".standing"), 'p[role="status"]')
      .filter((text) => text !== "Copied.")
      .join("");
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const find = async (words: string) => {
    await type(one(root, 'input[name="find"]'), words);
    t.mock.timers.tick(249);
    await drawn();
    const before = said();
    t.mock.timers.tick(1);
    await drawn();
    return [before, said()];
  };
  const has = (code: string) => data.some((row: Any) => row.code === code);
  const meant = (words: string) =>
    answer(`/versions/2024.1/search?q=${encodeURIComponent(words)}&type=procedure&limit=50`).data.map(
      (one: Any) => one.code,
    );
  const sorted = (some: string[]) =>
    data
      .filter((row: Any) => some.includes(row.code))
      .toSorted((a: Any, b: Any) => a.submitted_charge - b.submitted_charge)
      .map((row: Any) => row.code)
      .slice(0, 10);
  // A word that only a search understands.
  const [known, unknown] = ["66984", "27447"].toSorted((a) => (has(meant(a)[0]) ? -1 : 1));
  for (const words of ["lens cloud", "66984", "27447", "33208", "63685"]) {
    const [before, after] = await find(words);
    const own = sorted(meant(words));
    assert.deepEqual(codes(), own, words);
    assert.equal(before, "Searching…", words);
    if (own.length > 0) assert.equal(after, "", words);
    else assert.match(after, /It has no price for .*\.$/, words);
  }
  assert.ok(known !== unknown);
  assert.match((await find("xyzzy"))[1], /^Nothing matches “xyzzy”\. This data has operations/);
  assert.match((await find("mri"))[1], /^MRI: not in this data\.$/);
  others.set("/api/v1/versions/2024.1/search", () => {
    throw new ApiError("internal_error", "the search broke");
  });
  assert.deepEqual(await find("unheard of"), ["Searching…", "The search broke."]);
  others.clear();
  await find("");
  assert.equal(codes().length, Math.min(10, data.length));
  assert.equal(said(), "");
});

test("the hospitals nearby have their distances and prices for the same procedure, and links to compare", async () => {
  const { facility, data } = answer(`/healthcare/facilities/${hospital()}`);
  const most = data.toSorted((a: Any, b: Any) => (b.services ?? 0) - (a.services ?? 0))[0];
  const root = await open("facility", `/facilities/${facility.ccn}`);
  let within = 25;
  let near = answer(`/healthcare/facilities?near=${facility.zip}&within=25&sort=distance&limit=9`);
  const isAlone = near.data.length === 1;
  if (isAlone) near = answer(`/healthcare/facilities?near=${facility.zip}&within=500&sort=distance&limit=2`);
  const others = near.data.filter((row: Any) => row.ccn !== facility.ccn).slice(0, 8);
  if (isAlone) within = Math.ceil(others[0].distance);
  const card = one(root, ".near");
  const rows = all(card, "tbody tr");
  assert.equal(rows.length, others.length);
  for (const [i, row] of rows.entries()) {
    const prices = answer(`/healthcare/facilities/${others[i].ccn}`).data.find(
      (one: Any) => one.code === most.code,
    );
    const [miles, ...amounts] = texts(row, "td");
    assert.equal(
      miles,
      others[i].distance >= 1
        ? others[i].distance.toFixed(1)
        : others[i].zip === facility.zip
          ? "same ZIP"
          : "under 1",
    );
    assert.deepEqual(
      amounts,
      prices ? [share(prices.medicare_allowed, 2024), prices.submitted_charge].map(money) : ["–", "–"],
    );
    assert.ok(textOf(row).startsWith(`${others[i].facility} ${others[i].city}, ${others[i].state} · `));
    const compare = all(row, "a").find((a) => textOf(a) === "compare");
    assert.equal(compare !== undefined, prices !== undefined);
    if (compare) assert.equal(paramsOf(hrefOf(compare)).with, `${facility.ccn},${others[i].ccn}`);
  }
  const last = all(card, "p.about a").at(-1);
  assert.deepEqual(
    [paramsOf(hrefOf(last)).near, paramsOf(hrefOf(last)).within, paramsOf(hrefOf(last)).procedure],
    [facility.zip, String(within), most.code],
  );
  assert.ok(
    textOf(one(card, "header")).includes(
      isAlone ? "No other within 25 miles. The nearest:" : `${near.summary.facilities - 1} within 25 miles`,
    ),
  );
  assert.equal(place.url.pathname, `/facilities/${facility.ccn}`);
});
