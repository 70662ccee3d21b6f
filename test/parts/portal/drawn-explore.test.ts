import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { stayDeductibles } from "../../../datasets/deductibles.ts";
import { allAbsentTerms } from "../../../engine/search/procedure-words.ts";
import { type Ask, Failure } from "../../../server/parts/portal/browser/answers.ts";
import {
  changesSql,
  figuresSql,
  hospitalSql,
  hospitalYearsSql,
  ranksSql,
  statesSql,
} from "../../../server/parts/portal/browser/check.ts";
import { choiceOf } from "../../../server/parts/portal/browser/choice.ts";
import { context } from "../../../server/parts/portal/browser/context.ts";
import { viewOf } from "../../../server/parts/portal/browser/explore-data.ts";
import { descriptionOf, wordsOf } from "../../../server/parts/portal/browser/explore-words.ts";
import { hospitalDescription, hospitalViewOf } from "../../../server/parts/portal/browser/hospital-words.ts";
import { doubtOf, searchText, seeTitle, surelyMeant } from "../../../server/parts/portal/browser/nothing.ts";
import { loopOf, requests as programs } from "../../../server/parts/portal/browser/programs.ts";
import {
  comparison,
  isPriced,
  mainClause,
  textOf as said,
  sameShare,
  shareOf,
  whatIsPaid,
  whatYouPay,
} from "../../../server/parts/portal/browser/words.ts";
import { money } from "../../../server/shared/browser/format.ts";
import { assertApproved } from "../../support/approved.ts";
import {
  type Any,
  addressOf,
  all,
  answer,
  click,
  drawn,
  fire,
  one,
  open,
  others,
  see,
  settings,
  textOf,
  texts,
  type,
  view,
} from "../../support/drawn-page.ts";
import { type FakeElement, FakeEvent, hearInWindow, kept, page, place } from "../../support/fake-dom.ts";

/** Tests the texts of the Explore page, its fields with suggestions, and what it says when nothing is found. */

const paramsOf = (address: string | null) =>
  Object.fromEntries(new URL(address ?? "", "http://prices.test").searchParams);
const linkOf = (root: FakeElement, begin: string) => {
  const link = all(root, "a").find((a) => textOf(a).startsWith(begin));
  assert.ok(link, `no link ${begin} in ${textOf(root)}`);
  return link.getAttribute("href");
};
const sentence = (root: FakeElement) => textOf(one(root, ".sentence"));

test("a sentence for any number of hospitals has their amounts, and no others", () => {
  const procedure = { name: "Level 1 Test", title: "a test", words: "tests" };
  const place = { state: null, near: null, within: 25 };
  for (const where of [place, { ...place, state: "DC" }, { ...place, near: "60614" }])
    for (const facilities of [1, 2, 3, 7, 8, 9, 19, 20, 21, 100])
      for (const [min, max] of [
        [2000, 9000],
        [3000, 3000],
      ] as const) {
        const isOne = facilities === 1 || min === max;
        const median = isOne ? max : 4000;
        const few = facilities < 8;
        const summary = {
          facilities,
          min_charge: isOne ? max : min,
          max_charge: max,
          median_charge: median,
          median_allowed: 600,
        };
        const allowed = facilities === 1 ? { min: 600, max: 600 } : { min: 500, max: 900 };
        const prices = { procedure, summary, source: { data_year: 2024 }, allowed };
        const text = said(mainClause(where, prices));
        const amounts = text.match(/\$[\d,]+/g) ?? [];
        const charges = isOne
          ? [max]
          : facilities === 2 || (few && where.near !== null) || where.near !== null
            ? [min, max]
            : few
              ? [min, max]
              : [min, max, median];
        const medicare = facilities === 1 ? [600] : few ? [500, 900] : [600];
        const paid = where.near === null ? [] : facilities === 1 ? [120] : [100, 180];
        assert.deepEqual(amounts, [...paid, ...charges, ...medicare].map(money), text);
        assert.equal(text.includes("typically"), !few, text);
        assert.equal(
          text.includes("The one in the middle"),
          where.near === null && !isOne && [9, 19].includes(facilities),
          text,
        );
        assert.equal(
          text.includes("Half charge"),
          where.near === null && !isOne && [8, 20, 21, 100].includes(facilities),
          text,
        );
        assert.ok(text.includes("for a test"), text);
        assert.ok(
          where.near === null
            ? where.state === null || text.startsWith("In the District of Columbia, ")
            : text.startsWith("Within 25 miles of 60614, you pay about"),
          text,
        );
        const count =
          facilities === 1
            ? where.near === null
              ? /[Oo]ne hospital charges/
              : /The only hospital charges/
            : facilities === 2 && min !== max
              ? /[Tt]wo hospitals charge/
              : new RegExp(
                  `${where.near !== null && facilities === 2 ? "Two" : facilities} hospitals charge`,
                );
        assert.match(text, count);
        const compared = comparison({ procedure, summary });
        assert.equal(compared.includes("4.5 times the lowest"), !isOne, compared);
        assert.equal(compared.includes(`${(median / 600).toFixed(1)} times`), !few || isOne, compared);
        assert.ok(compared.endsWith("Includes tests."));
      }
  const below = { facilities: 20, min_charge: 100, max_charge: 104, median_charge: 100, median_allowed: 200 };
  assert.equal(
    comparison({ procedure, summary: below }),
    "The median charge is 50% below the median that Medicare allows. Includes tests.",
  );
  assert.match(
    comparison({ procedure, summary: { ...below, median_allowed: 101 } }),
    /The median charge is about the median that Medicare allows/,
  );
});

test("what a patient pays is a fifth of the allowed amount, at most the year's deductible", () => {
  const most = stayDeductibles[2024];
  assert.equal(shareOf(1000, 2024), 200);
  assert.equal(shareOf(5 * most + 1000, 2024), most);
  assert.equal(shareOf(1_000_000, 1999), 200_000, "a year without a known deductible");
  assert.match(whatIsPaid(2024, 1000), /Your share of that is about \$200\. If/);
  assert.match(whatIsPaid(2024, 1000, true), /Your share of that is typically about \$200\. If/);
  assert.match(
    whatIsPaid(2024, 100_000),
    new RegExp(`Your share of that is \\${money(most)}, the most that Medicare lets`),
  );
  assert.doesNotMatch(whatIsPaid(2024), /Your share/);
  assert.ok(whatYouPay(2024).includes(`at most ${money(most)} for one procedure`));
  assert.doesNotMatch(whatYouPay(1999), /at most/);
  assert.equal(sameShare({ facilities: 3 }, { min: 1000, max: 1001 }, 2024), "The same at all 3.");
  assert.equal(sameShare({ facilities: 3 }, { min: 1000, max: 1100 }, 2024), "");
  assert.equal(sameShare({ facilities: 1 }, { min: 1000, max: 1000 }, 2024), "");
  assert.match(
    sameShare({ facilities: 30 }, { min: 50_000, max: 90_000 }, 2024),
    /^The same at all 30: the most/,
  );
  const both = { submitted_charge: 2, medicare_allowed: 1 };
  for (const [row, is] of [
    [both, true],
    [{ ...both, medicare_allowed: null }, false],
    [{ ...both, submitted_charge: null }, false],
    [{}, false],
  ] as const)
    assert.equal(isPriced(Object({ ccn: "000001", ...row })), is);
});

test("the text says how many hospitals the amounts leave out, and from which version they are", async () => {
  for (const [query, path] of [
    ["procedure=5072", "/healthcare/procedures/5072"],
    ["procedure=5073&year=2021", "/versions/2021/healthcare/procedures/5073"],
    ["procedure=5091&year=2021", "/versions/2021/healthcare/procedures/5091"],
    ["procedure=5072&year=2021", "/versions/2021/healthcare/procedures/5072"],
    ["procedure=5094&year=2021", "/versions/2021/healthcare/procedures/5094"],
  ]) {
    const root = await open("explore", `/?${query}`);
    const { rows, source } = answer(path);
    const text = textOf(one(root, ".reading"));
    assert.ok(
      texts(root, ".sentence p.under").every((each) => each !== ""),
      "no text is empty",
    );
    const total = rows.priced + rows.suppressed + rows.incomplete;
    if (total === rows.priced)
      assert.match(
        text,
        total === 1
          ? /The only hospital in the data that does it has a price/
          : total === 2
            ? /Both hospitals in the data that do it have a price/
            : new RegExp(`All ${total} hospitals`),
      );
    else {
      assert.ok(
        text.includes(`${rows.priced} of ${total} hospitals in the data that do it have a price.`),
        text,
      );
      assert.ok(
        text.includes(
          rows.suppressed === 1 ? "1 more hospital did it" : `${rows.suppressed} more hospitals did it`,
        ),
        text,
      );
      assert.equal(text.includes("Its charge isn't zero"), total - rows.priced === 1);
    }
    assert.ok(
      text.includes(`Version for citing: ${source.data_version}.`) && text.includes(source.caveat),
      text,
    );
  }
});

test("the statements to check are those of the page's list, years, states and compared hospitals", async () => {
  const datasets = answer("/datasets").data;
  const rowsOf = (data_version: string, state: string | null, ccns: string[] | null = null) => ({
    dataset: datasets.find((one: Any) => one.data_version === data_version),
    ...{ code: "5112", state, ccns },
  });
  const list = answer("/healthcare/facilities?procedure=5112&limit=100&sort=charge").data;
  const inTexas = list.filter((row: Any) => row.state === "TX")[0].ccn;
  const elsewhere = list.filter((row: Any) => row.state !== "TX")[0].ccn;
  const around = answer("/healthcare/facilities?procedure=5112&near=60614&within=100&limit=100");
  for (const [query, state, ccns, compared] of [
    ["", null, null, []],
    ["&state=TX", "TX", null, [inTexas]],
    ["&state=TX", "TX", null, [elsewhere]],
    ["&near=60614&within=100", null, around.data.map(({ ccn }: Any) => ccn).toSorted(), [elsewhere]],
  ] as const) {
    const root = await open(
      "explore",
      `/?procedure=5112${query}${compared.length > 0 ? `&with=${compared}` : ""}`,
    );
    const check = one(root, "details.check");
    const own = rowsOf("2024.1", state, ccns);
    const versions = answer(`/healthcare/trends?procedure=5112${state ? "&state=TX" : ""}`).source
      .data_versions;
    const years = versions.map((version: string) => rowsOf(version, state));
    const isThere =
      compared.every((ccn) => (ccns ?? []).includes(ccn) || state === null || ccn === inTexas) &&
      (ccns === null || compared.every((ccn) => ccns.includes(ccn)));
    assert.deepEqual(
      all(check, "pre").map((pre) => pre.textContent),
      [
        figuresSql([own]),
        ranksSql(own),
        ...(isThere ? [] : [ranksSql(rowsOf("2024.1", null), compared)]),
        statesSql(rowsOf("2024.1", null)),
        ...[figuresSql(years), changesSql(years)],
        ...(compared.length === 0
          ? []
          : [
              hospitalYearsSql(
                versions.map((version: string) => rowsOf(version, null)),
                compared,
              ),
            ]),
      ],
    );
    const text = textOf(check);
    assert.ok(
      text.includes(own.dataset.verify.sha256) &&
        text.includes("/api/v1/versions/2024.1/healthcare/facilities?procedure=5112"),
      text,
    );
    assert.deepEqual(paramsOf(linkOf(check, "this page's lasting address")).year, "2024.1");
    assert.equal(
      text.includes("The hospitals were chosen by the distance of their ZIP codes"),
      ccns !== null,
    );
    const curl = all(root, "pre").at(-1)?.textContent;
    const path = state ? "&state=TX" : ccns ? "&near=60614&within=100" : "";
    assert.equal(
      curl,
      `curl -H "Authorization: Bearer $KEY" \\\n  "http://prices.test/api/v1/healthcare/facilities?procedure=5112${path}&sort=${ccns ? "distance" : "charge"}&limit=50"`,
    );
  }
  const root = await open("facility", `/facilities/${inTexas}?procedure=5112`);
  assert.ok(
    textOf(one(root, "details.check")).includes(`/api/v1/versions/2024.1/healthcare/facilities/${inTexas}.`),
  );
  assert.match(
    textOf(one(root, ".pictures .card")),
    /in grey, the nation's median charge with its middle half/,
  );
  const version = rowsOf("2024.1", null).dataset;
  const years = answer("/healthcare/trends?procedure=5112").source.data_versions.map((one: string) =>
    rowsOf(one, null),
  );
  assert.deepEqual(
    all(one(root, "details.check"), "pre").map((pre) => pre.textContent),
    [hospitalSql(version, inTexas), hospitalYearsSql(years, [inTexas]), figuresSql(years)],
  );
});

test("an address with a version that is gone or older says so, and leads to the newest", async () => {
  const gone = await open("explore", "/?procedure=5072&year=2010");
  assert.match(
    sentence(gone),
    /“2010” isn't in the data \(any more\)\. This is the newest data version, 2024\.1\./,
  );
  assert.equal(paramsOf(linkOf(gone, "See the newest, 2024.1")).year, undefined);
  assert.ok(one(gone, ".band.wrong"));
  const older = await open("explore", "/?procedure=5072&year=2023.1");
  assert.match(sentence(older), /This is data version 2023\.1\./);
  assert.equal(all(older, ".band.wrong").length, 0);
  assert.match(textOf(one(older, "h1")), /^In 2023, /);
  const part = await open("explore", "/?procedure=5072&versions=2023.2,2011.1");
  assert.match(sentence(part), /Of the years to compare, “2011\.1” isn't in the data/);
  assert.match(textOf(one(part, ".year")), /2024/);
  assert.equal(one(part, "#year").value, "2024");
  assert.deepEqual(
    all(part, "#year option").map((option) => option.value),
    ["2024", "2023", "2022", "2021", "2020"],
  );
  const select = one(part, "#year");
  select.value = "2022";
  await fire(select, "change");
  assert.equal(paramsOf(addressOf()).year, "2022.1");
  const hospital = await open("facility", "/facilities/000001?year=2021");
  assert.match(textOf(one(hospital, ".heading")), /This is data version 2021\.1\./);
});

test("without a price, the page says why and leads on", async () => {
  for (const [query, title, why, link, changes] of [
    [
      "procedure=5072&state=MD",
      /No prices for skin growth removal or biopsy in Maryland/,
      /Maryland sets its own/,
      "See the whole nation",
      { procedure: "5072" },
    ],
    [
      "procedure=5072&state=ZZ",
      /Nothing was found/,
      /There is no state “ZZ”\./,
      "See the whole nation",
      { procedure: "5072" },
    ],
    ["procedure=9999", /Nothing was found/, /no procedure group “9999”/, "See what there is", {}],
    [
      "procedure=5093&year=2021",
      /No prices for/,
      /One hospital .*\(10 services or fewer/,
      "See what there is",
      {},
    ],
    [
      "procedure=5072&state=GU",
      /in Guam/,
      /Medicare pays hospitals there in another way/,
      "See the whole nation",
      { procedure: "5072" },
    ],
    [
      "procedure=5072&state=AK",
      /in Alaska/,
      /The data has no hospital there\./,
      "See the whole nation",
      { procedure: "5072" },
    ],
    [
      "procedure=5072&near=00000",
      /Nothing was found/,
      /The ZIP code “00000” isn't known here/,
      "See the whole nation",
      { procedure: "5072" },
    ],
    [
      "procedure=5072.0",
      /Nothing was found/,
      /four digits: 5072 may be meant/,
      "See 5072: ",
      { procedure: "5072" },
    ],
    ["q=brain+scan", /not in this data/, /\w/, "", {}],
    ["q=xyzzy", /Nothing matches “xyzzy”/, /Scans, tests, visits/, "See what there is", {}],
    [
      "q=chicago",
      /“chicago” is a place/,
      /A procedure is needed, too\./,
      "Look for prices near Chicago, IL",
      { near: "Chicago, IL" },
    ],
    ["q=biopsy", /may mean one of \d+ procedures/, /Look for prices:/, "", {}],
    [
      "procedure=5072&near=Springfield",
      /“Springfield” is in several states/,
      /Choose one:/,
      "Springfield, Illinois",
      { procedure: "5072", near: "Springfield, IL" },
    ],
    [
      "procedure=5072&near=Sprinfield",
      /The place “Sprinfield” isn't known here/,
      /It may be/,
      "Springfield, ",
      { procedure: "5072" },
    ],
  ] as const) {
    const root = await open("explore", `/?${query}`);
    const text = sentence(root);
    const { q } = paramsOf(`/?${query}`);
    if (q !== undefined) assert.equal(one(root, "#q").value, q);
    assert.match(textOf(one(root, "h1")), title, query);
    assert.match(text, why, query);
    const { year: _, versions: _versions, ...rest } = paramsOf(linkOf(one(root, ".sentence"), link));
    if (link === "") continue;
    for (const [name, value] of Object.entries(changes)) assert.equal(rest[name], value, `${query}: ${name}`);
    if (link.startsWith("See")) assert.deepEqual(rest, changes, query);
    assert.equal(all(root, ".card:not(.blank)").filter((card) => /How charges/.test(textOf(card))).length, 0);
  }
  const lists = await open("explore", "/?q=biopsy");
  assert.doesNotMatch(sentence(lists), /Set aside|See what there is/);
  const found = answer("/search?q=biopsy&type=procedure&limit=10").data;
  assert.deepEqual(
    all(lists, ".match a").map((a) => paramsOf(a.getAttribute("href")).procedure),
    found.map(({ code }: Any) => code),
  );
  const far = await open("explore", "/?procedure=5112&near=Marfa,+TX&within=1");
  const [nearest] = answer(
    "/healthcare/facilities?procedure=5112&near=Marfa,+TX&within=500&sort=distance&limit=1",
  ).data;
  assert.ok(
    sentence(far).includes(
      `The nearest with a price is ${nearest.distance.toFixed(1)} miles away: ${nearest.facility}, ${nearest.city}, ${nearest.state}.`,
    ),
    sentence(far),
  );
  assert.equal(paramsOf(linkOf(far, "See the hospitals within")).within, String(Math.ceil(nearest.distance)));
});

test("a link to where else to look says whose site it leads to", () => {
  const links = new Set(allAbsentTerms.flatMap(({ absent }) => absent?.see ?? []));
  assert.ok(links.size > 5);
  for (const link of links) {
    const { hostname } = new URL(link);
    const site = /\.(medicare|cms)\.gov$/.test(hostname) ? "Medicare's" : hostname.replace("www.", "");
    assert.ok(seeTitle(link).includes(site), `${link}: ${seeTitle(link)}`);
  }
  const { absent } = answer("/search?q=knee+replacement+at+the+va&type=procedure");
  assert.equal(seeTitle(absent[0].see), "See va.gov");
});

test("words that nothing matches are set aside, and said to be", () => {
  for (const [words, aside] of [
    ["knee replacement frobnicate", "Set aside: frobnicate."],
    ["knee replacement cook county", "Counties aren't known here."],
  ]) {
    const found = answer(`/search?q=${encodeURIComponent(words)}&type=procedure&limit=10`);
    assert.ok(doubtOf(found).includes(aside), doubtOf(found));
    assert.ok(JSON.stringify(searchText(words, found)).includes(aside), words);
    assert.equal(surelyMeant(found), null);
  }
  const sure = answer("/search?q=knee+replacement&type=procedure&limit=10");
  assert.equal(doubtOf(sure), "");
  assert.equal(surelyMeant(sure), sure.data[0].code);
});

test("words that name a hospital lead to its page, and words for several places to each", async () => {
  const [hospital] = answer("/healthcare/facilities?procedure=5072&limit=1").data;
  const root = await open("explore", `/?q=${encodeURIComponent(hospital.facility)}`);
  assert.match(textOf(one(root, "h1")), / is a hospital\.$/);
  assert.match(sentence(root), /Its page has what it charges for each procedure\./);
  const [match] = all(root, ".match");
  assert.equal(textOf(match), `${hospital.facility} ${hospital.city}, ${hospital.state}`);
  assert.equal(one(match, "a").getAttribute("href"), `/facilities/${hospital.ccn}`);
  const several = await open("explore", "/?q=general+hospital");
  assert.match(textOf(one(several, "h1")), /names hospitals, and no procedure/);
  assert.ok(all(several, ".match").length > 1);
});

test("descriptions for link previews have what their pages say", () => {
  const asked: Ask = (...paths: string[]) =>
    paths.map((path) => {
      try {
        return answer(path.slice("/api/v1".length));
      } catch (error) {
        const { status, type, message } = Object(error);
        return new Failure(Number.parseInt(status, 10), type, message);
      }
    }) as never;
  for (const year of [null, "2022"]) {
    const version = year === null ? "" : "/versions/2022";
    const [row] = answer(
      `${version}/healthcare/facilities?procedure=5112&limit=1&sort=services&order=desc`,
    ).data;
    const view = hospitalViewOf(row.ccn, { year, procedure: "5112", versions: null }, asked);
    assert.ok("answer" in view);
    const text = hospitalDescription(view);
    assert.ok(
      text.includes(`CCN ${row.ccn}`) && text.includes(`It charges ${money(row.submitted_charge)}`),
      text,
    );
    assert.ok(text.includes(`Medicare allows this hospital ${money(row.medicare_allowed)} for that.`), text);
    assert.equal(text.includes("This is data version 2022.1."), year !== null, text);
    const query = new URLSearchParams(`procedure=5112&with=${row.ccn}${year ? "&year=2022" : ""}`);
    const shown = viewOf(choiceOf({ searchParams: query }), asked);
    const said = descriptionOf(shown, wordsOf(shown));
    const { summary } = answer(`${version}/healthcare/procedures/5112`);
    for (const part of [
      money(summary.min_charge),
      money(summary.max_charge),
      `${row.facility} charges ${money(row.submitted_charge)}`,
    ])
      assert.ok(said.includes(part), said);
    assert.equal(said.includes("This is data version 2022.1."), year !== null, said);
  }
});

test("words that mean one procedure show it, and the address names it", async () => {
  const root = await open("explore", "/?q=knee+replacement+in+texas");
  const { procedure, state, near } = paramsOf(addressOf());
  const { data } = answer("/search?q=knee+replacement+in+texas&type=procedure&limit=10");
  assert.deepEqual([procedure, state, near], [data[0].code, "TX", undefined]);
  assert.match(textOf(one(root, "h1")), /^In Texas, /);
  assert.equal(page.title.endsWith(" in Texas, 2024 – What hospitals charge"), true, page.title);
});

const suggestions = (field: FakeElement) =>
  all(field, '[role="option"]').map((option) => textOf(one(option, "span")));

/** @param early what is done before the suggestions are there */
async function search(field: FakeElement, text: string, early?: () => Promise<void>): Promise<void> {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    one(field, "input").focus();
    await type(one(field, "input"), text);
    await early?.();
    mock.timers.tick(250);
    await drawn();
  } finally {
    mock.timers.reset();
  }
}

test("the fields suggest procedures, places and hospitals, and choose them by mouse and by keys", async () => {
  let root = await open("explore", "/?procedure=5072&state=TX&sort=name");
  const field = (name: string) => one(root, `.field.${name}`);
  assert.equal(one(field("procedure"), "input").value, "Skin growth removal or biopsy");
  assert.match(textOf(field("procedure")), /5072 · Level 2 Excision/);
  assert.equal(one(field("place"), "input").value, "Texas");
  // All procedures, by part of the body, with their medians.
  await search(field("procedure"), "");
  const list = answer("/healthcare/procedures?sort=code&limit=100&state=TX").data;
  assert.equal(suggestions(field("procedure")).length, list.length);
  const parts = texts(field("procedure"), ".group");
  assert.equal(new Set(parts).size, parts.length, "each part of the body is once a heading");
  assert.ok(parts.length > 3 && parts.length < list.length);
  const figures = new Set(texts(field("procedure"), ".number"));
  for (const row of list) assert.ok(figures.has(`median ${money(row.median_charge)}`), row.code);
  await search(field("procedure"), "knee replacement");
  assert.match(suggestions(field("procedure"))[0], /^Knee, hip or shoulder replacement$/i);
  /** Of the keys for suggestions, only Tab does what it does elsewhere: it leads to the next field. */
  const key = async (name: string, of: string) => {
    const event = await fire(one(field(name), "input"), "keydown", { key: of });
    assert.equal(event.defaultPrevented, of !== "Tab", of);
  };
  const active = (name: string) =>
    all(field(name), '[role="option"]').findIndex(
      (option) => option.getAttribute("aria-selected") === "true",
    );
  assert.equal(active("procedure"), 0);
  await search(field("place"), "new");
  const states = suggestions(field("place"));
  assert.deepEqual(states.slice(0, 4), ["New Hampshire", "New Jersey", "New Mexico", "New York"]);
  assert.equal(one(field("place"), "input").getAttribute("aria-expanded"), "true");
  await key("place", "ArrowDown");
  assert.equal(active("place"), 0);
  await key("place", "ArrowDown");
  assert.equal(active("place"), 1);
  await key("place", "ArrowUp");
  await key("place", "ArrowUp");
  assert.equal(active("place"), states.length - 1);
  await key("place", "ArrowDown");
  await key("place", "ArrowDown");
  await key("place", "Enter");
  assert.equal(paramsOf(addressOf()).state, "NJ");
  assert.equal(paramsOf(addressOf()).procedure, "5072");
  // Who goes through the fields by Tab leaves the place as it is, and the first suggestion is the whole nation.
  await search(field("place"), "");
  assert.equal(suggestions(field("place"))[0], "Whole nation");
  assert.deepEqual(all(field("place"), "li.group"), []);
  await key("place", "Tab");
  assert.equal(paramsOf(addressOf()).state, "NJ");
  await search(field("place"), "");
  await key("place", "ArrowDown");
  await key("place", "Enter");
  const { state, near } = paramsOf(addressOf());
  assert.deepEqual([state, near], [undefined, undefined]);
  await search(field("place"), "60614");
  assert.deepEqual(
    suggestions(field("place")),
    [25, 10, 50, 100].map((miles) => `Within ${miles} miles of 60614`),
  );
  await fire(all(field("place"), '[role="option"]')[2], "mousedown");
  assert.deepEqual(
    [paramsOf(addressOf()).near, paramsOf(addressOf()).within, paramsOf(addressOf()).state],
    ["60614", "50", undefined],
  );
  root = await open("explore", "/?procedure=5072&state=TX&sort=name");
  await search(field("place"), "springfield");
  assert.match(textOf(field("place")), /Several states have a place “Springfield”/);
  assert.equal(active("place"), -1, "none is chosen for a question");
  await key("place", "Escape");
  assert.equal(suggestions(field("place")).length, 0);
  assert.equal(one(field("place"), "input").value, "Texas");
  await search(field("place"), "zz9");
  assert.match(textOf(field("place")), /No place “zz9” is known here/);
  const { data } = answer("/healthcare/facilities?procedure=5072&state=TX&limit=1");
  await search(field("hospital"), data[0].facility);
  assert.equal(suggestions(field("hospital"))[0], data[0].facility);
  await key("hospital", "Enter");
  assert.equal(paramsOf(addressOf()).with, data[0].ccn);
  assert.match(textOf(field("hospital")), /1 of 3/);
  await search(field("hospital"), "qqqqq");
  assert.match(textOf(field("hospital")), /No hospital in the data matches “qqqqq”/);
  await search(field("hospital"), "a");
  assert.match(textOf(field("hospital")), /Write a name, a city or a ZIP code/);
  // Enter before the suggestions are there chooses the first one when it comes.
  root = await open("explore", "/?procedure=5072");
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    one(field("place"), "input").focus();
    await type(one(field("place"), "input"), "vermont");
    await key("place", "Enter");
    assert.equal(paramsOf(addressOf()).state, undefined);
    mock.timers.tick(249);
    await drawn();
    assert.equal(paramsOf(addressOf()).state, undefined, "while somebody types, nothing is looked up");
    mock.timers.tick(1);
    await drawn();
    assert.equal(paramsOf(addressOf()).state, "VT");
  } finally {
    mock.timers.reset();
  }
  root = await open("explore", "/");
  assert.equal(one(field("procedure"), "input").value, "");
  assert.match(textOf(root), /What each US hospital charges/);
  assert.equal(one(root, "#q").value, "");
});

/** Texts that somebody may type into a page's fields. */
const typed: [address: string, field: string, texts: string[]][] = [
  [
    "/?procedure=5112&state=TX&sort=name",
    "procedure",
    ["knee", "kn", "biopsy in texas", "scan", "knee replacement frobnicate", "5115", "qqq", "stent ok"],
  ],
  ["/?procedure=5112&state=TX&sort=name", "hospital", ["tx", "memorial", "12"]],
  [
    "/?procedure=8011&state=MD",
    "place",
    [
      ...["", "ca", "n.y.", "state of maine", "virginia", "carolina", "springfield il", "sprinfield, il"],
      ...["chicago", "00000", "a", "6061", "washington", "Narnia", "texsa", "new york", "cook county"],
    ],
  ],
];
const ways = [
  ...["Enter", "Tab", "ArrowUp Enter", "ArrowDown ArrowDown Tab"],
  ...["mousedown", "blur", "Enter early", "Tab early"],
];

test("the fields suggest what was approved, and Enter, Tab and a click lead where was approved", async () => {
  const lines: string[] = [];
  for (const [address, name, texts] of typed) {
    const root = await view("explore", address);
    const shown = addressOf();
    for (const [i, text] of texts.entries()) {
      const [field, way] = [one(root, `.field.${name}`), ways[i % ways.length]];
      const input = one(field, "input");
      const press = async () => {
        for (const key of way.split(" "))
          if (key === "blur") await fire(input, "blur");
          else if (key === "mousedown") {
            const [, second] = all(field, '[role="option"]');
            await fire(second, "pointerdown", { pointerType: "touch" });
            await fire(second, "mousedown");
          } else if (key !== "early") await fire(input, "keydown", { key });
      };
      await search(field, text, way.endsWith("early") ? press : undefined);
      lines.push(`\n${name}: ${text}\n`);
      for (const one of all(field, "li, p.said, p.unseen")) {
        const mark = one.getAttribute("aria-selected") === "true" ? ">" : " ";
        if (textOf(one) !== "") lines.push(`${mark} ${textOf(one)}\n`);
      }
      if (!way.endsWith("early")) await press();
      lines.push(`${way}: ${addressOf()}${page.activeElement === input ? ", in the field" : ""}\n`);
      page.activeElement = null;
      if (addressOf() === shown) continue;
      place.url = new URL(shown, place.url);
      hearInWindow(new FakeEvent("popstate"));
      await drawn();
    }
  }
  assertApproved("pages/suggestions.txt", lines.join(""));
});

test("without JavaScript, the field has words that mean what is shown", async () => {
  for (const [query, text] of [
    ["procedure=5072", "Skin growth removal or biopsy"],
    ["procedure=5072&state=TX", "Skin growth removal or biopsy in Texas"],
    ["procedure=5072&near=60614&within=100", "Skin growth removal or biopsy near 60614"],
  ]) {
    const root = await open("explore", `/?${query}`);
    assert.equal(one(root, "#q").value, text);
  }
  const kept = await open("explore", "/?procedure=5072&year=2022&with=000001");
  assert.deepEqual(
    all(kept, 'form.words input[type="hidden"]').map((input) => [input.name, input.value]),
    [
      ["year", "2022"],
      ["with", "000001"],
    ],
  );
});

test("a long list around a place has its statements as soon as somebody opens them", async () => {
  const query = "procedure=8011&near=37201&within=500";
  const ccns: string[] = [];
  for (let url = `/healthcare/facilities?${query}&limit=100`; url !== ""; ) {
    const { data, next } = answer(url);
    ccns.push(...data.map(({ ccn }: Any) => ccn));
    url = next?.slice("/api/v1".length) ?? "";
  }
  assert.ok(ccns.length > 50, `${ccns.length} hospitals`);
  const root = await open("explore", `/?${query}`);
  const check = one(root, "details.check");
  assert.equal(all(check, "pre").length, 0);
  assert.ok(
    textOf(check).includes(
      `The statements name all ${ccns.length} hospitals: JavaScript gets their numbers.`,
    ),
    textOf(check),
  );
  check.open = true;
  await fire(check, "toggle");
  const [, ranks] = all(one(root, "details.check"), "pre");
  for (const ccn of ccns) assert.ok(ranks.textContent.includes(`'${ccn}'`), ccn);
  assert.doesNotMatch(textOf(check), /The statements name all/);
});

test("a view for frames has the sentence, one picture, and a link to the page", async () => {
  for (const [picture, heading] of [
    ["charges", "How charges are spread"],
    ["states", "Where hospitals charge more"],
    ["years", "Over the years"],
    ["hospitals", /hospitals?, /],
  ] as const) {
    const root = await open("explore", `/embed/${picture}?procedure=5112`);
    const heads = texts(root, ".card h2");
    assert.equal(heads.length, 1);
    assert.match(heads[0], new RegExp(heading));
    assert.equal(addressOf(), `/embed/${picture}?procedure=5112`, "a frame's address stays");
    assert.equal(all(root, "nav").length, 0);
    assert.deepEqual(paramsOf(one(root, 'a[target="_blank"]').getAttribute("href")), { procedure: "5112" });
  }
});

test("the page itself follows plain clicks on links to its other views, and the browser all others", async () => {
  const root = await open("explore", "/?procedure=5072");
  const link = page.createElement("a");
  const inLink = page.createElement("b");
  link.append(inLink);
  root.append(link);
  const followed = { href: "/?procedure=5073" };
  for (const [attributes, details, isFollowed] of [
    [followed, {}, true],
    [{ href: "?procedure=5073" }, {}, true],
    [{ ...followed, target: "_blank" }, {}, false],
    [{ ...followed, download: "" }, {}, false],
    [{}, {}, false],
    [{ href: "/data?procedure=5073" }, {}, false],
    [{ href: "https://example.com/?procedure=5073" }, {}, false],
    [{ href: "/?procedure=5073#list" }, {}, false],
    [followed, { button: 1 }, false],
    ...["metaKey", "ctrlKey", "shiftKey"].map((key) => [followed, { [key]: true }, false] as const),
    [followed, { defaultPrevented: true }, false],
  ] as const) {
    for (const { name } of [...link.attributes]) link.removeAttribute(name);
    for (const [name, value] of Object.entries(attributes)) link.setAttribute(name, value);
    place.url = new URL("/?procedure=5072", place.url);
    const { length } = place.history;
    const event = await fire(inLink, "click", details);
    const what = JSON.stringify([attributes, details]);
    assert.equal(event.defaultPrevented, isFollowed || "defaultPrevented" in details, what);
    assert.equal(addressOf() !== "/?procedure=5072", isFollowed, what);
    assert.equal(place.history.length, length + (isFollowed ? 1 : 0), what);
  }
  link.setAttribute("href", "/?procedure=5112");
  link.setAttribute("data-replace", "");
  const { length } = place.history;
  await click(link);
  assert.equal(paramsOf(addressOf()).procedure, "5112");
  assert.equal(place.history.length, length, "the way back doesn't lead to what was replaced");
});

test("the browser's way back shows the view of its address", async () => {
  const root = await open("explore", "/?procedure=5072");
  const before = sentence(root);
  place.url = new URL("/?procedure=5112", place.url);
  hearInWindow(new FakeEvent("popstate"));
  await drawn();
  assert.notEqual(sentence(root), before);
  assert.match(sentence(root), /broken bone/);
});

test("links of the page change the view without a request for the page, and a failure is said", async () => {
  const root = await open("explore", "/?procedure=5072");
  const more = all(root, ".more a")[0];
  await click(more);
  assert.equal(paramsOf(addressOf()).shown, "35");
  const outside = all(root, "a").find((a) => a.getAttribute("href")?.startsWith("/facilities/"));
  await click(outside);
  assert.match(addressOf(), /^\/\?/, "another page is left to the browser");
  const { fetch } = globalThis;
  try {
    globalThis.fetch = async () =>
      Response.json({ error: { type: "rate_limited", message: "too many" } }, { status: 429 });
    const late = await open("explore", "/?procedure=5194");
    assert.match(
      textOf(one(late, ".band.wrong")),
      /The requests without a key of your own are used up for now/,
    );
    globalThis.fetch = async () => Promise.reject(new Error("gone"));
    assert.match(
      textOf(one(await open("explore", "/?procedure=5193"), ".band.wrong")),
      /The server can't be reached/,
    );
    const files = ["csv", "arrow", "parquet"].map((ending) => `/api/v1/export.${ending}`).join(", ");
    assert.ok(texts(page, "noscript").some((text) => text.includes(`all rows, with a key: ${files}`)));
    globalThis.fetch = async () =>
      Response.json({ error: { type: "x", message: "no reason" } }, { status: 500 });
    assert.match(
      textOf(one(await open("explore", "/?procedure=5192"), ".band.wrong")),
      /That didn't work: no reason\./,
    );
  } finally {
    globalThis.fetch = fetch;
  }
  assert.ok(new Failure(404, "not_found", "x").places.length === 0);
});

test("programs have the address and the key's name, and save files under their names", () => {
  const origin = "https://prices.example.org";
  const written: string[] = [];
  for (const [path, file] of [
    ["/api/v1/healthcare/prices?procedure=5072&limit=2", null],
    ["/api/v1/versions/2024.1/export.csv?state=TX", "export.csv"],
  ] as const)
    for (const [language, write] of Object.entries(programs)) {
      const text = write(path, origin);
      written.push(`${language}\n${text}\n`);
      assert.equal(text.split(`"${origin}${path}"`).length, 2, text);
      assert.ok(/\$KEY|environ\["KEY"\]|env\.KEY/.test(text), text);
      if (language === "Python") assert.equal(text.includes(" open("), file !== null);
      if (language === "Python" && file) assert.ok(text.includes(`open("${file}", "wb")`), text);
      if (language === "TypeScript") assert.ok(text.includes(file ? "arrayBuffer()" : "json()"), text);
    }
  assert.ok(loopOf("5112", origin).includes(`rows("/api/v1/healthcare/prices?procedure=5112")`));
  assertApproved("pages/programs.txt", `${written.join("\n")}\n${loopOf("5112", origin)}`);
});

/** Answers requests in a test by other statuses first. */
async function withAnswers(
  answers: (() => Response | Promise<Response>)[],
  run: (sent: (string | null)[]) => Promise<void>,
): Promise<void> {
  const { fetch } = globalThis;
  const sent: (string | null)[] = [];
  try {
    globalThis.fetch = async (path, options) => {
      sent.push(new Headers(options?.headers).get("Authorization"));
      const next = String(path) === "/" ? undefined : answers.shift();
      return next === undefined ? fetch(path, options) : next();
    };
    await run(sent);
  } finally {
    globalThis.fetch = fetch;
  }
}
const refused =
  (status: number, headers = {}) =>
  () =>
    Response.json({ error: { type: "refused", message: "not now" } }, { status, headers });

/** An answer whose connection breaks after its head. */
const broken = () =>
  new Response(new ReadableStream({ start: (stream) => stream.error(new TypeError("terminated")) }));

test("a request that is too early is sent again after as many seconds as the server says, up to five", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    await withAnswers([refused(429, { "Retry-After": "5" })], async (sent) => {
      const root = await open("data", "/data");
      assert.equal(sent.length, 1);
      mock.timers.tick(4999);
      await drawn();
      assert.equal(sent.length, 1);
      mock.timers.tick(1);
      await drawn();
      assert.match(textOf(root), /versions of/);
    });
    await withAnswers([refused(429, { "Retry-After": "6" })], async (sent) => {
      const root = await open("data", "/data");
      assert.match(
        textOf(one(root, ".band.wrong")),
        /are used up for now\. Get a key of your own, or paste yours:/,
      );
      assert.equal(sent.length, 1);
    });
    await withAnswers(
      Array.from({ length: 6 }, () => refused(429, { "Retry-After": "1" })),
      async (sent) => {
        const root = await open("data", "/data");
        for (let i = 0; i < 8; i++) {
          mock.timers.tick(1000);
          await drawn();
        }
        assert.equal(sent.length, 6, "five repetitions");
        assert.match(textOf(one(root, ".band.wrong")), /are used up for now/);
        await click(all(root, "button").find((button) => textOf(button) === "Use this key"));
      },
    );
  } finally {
    mock.timers.reset();
  }
});

test("a page tries again every five seconds if the server can't be reached, and not after another failure", async () => {
  mock.timers.enable({ apis: ["setInterval"] });
  try {
    const offline = () => Promise.reject(new Error("gone"));
    for (const [answers, retries] of [
      [[offline, offline], 2],
      [[broken, offline], 2],
      [[refused(500)], 0],
      [[], 0],
    ] as const)
      await withAnswers([...answers], async (sent) => {
        const root = await open("data", "/data");
        const isGone = retries > 0;
        assert.equal(textOf(root).includes("The server can't be reached."), isGone);
        // The page's own requests, besides those of the files' sizes.
        const before = sent.length;
        mock.timers.tick(4999);
        await drawn();
        assert.equal(sent.length, before);
        mock.timers.tick(1);
        await drawn();
        assert.equal(sent.length, before + Number(isGone));
        mock.timers.tick(5000);
        await drawn();
        assert.equal(/versions of/.test(textOf(root)), answers.length !== 1);
      });
  } finally {
    mock.timers.reset();
  }
});

test("a refused key is said, with what helps", async () => {
  others.set("/", () => ({ ...settings, key: "hcq_newer" }));
  await withAnswers([refused(401)], async (sent) => {
    const root = await open("data", "/data");
    assert.match(textOf(root), /versions of/);
    assert.deepEqual(
      sent.slice(0, 3),
      ["Bearer hcq_pages", null, "Bearer hcq_newer"],
      "the pages' key is renewed",
    );
  });
  // The page keeps its key while the server can't say another.
  for (const [answer, said] of [
    [refused(503), /A key is needed to look/],
    [broken, /The server can't be reached/],
  ] as const) {
    others.set("/", answer);
    await withAnswers([refused(401)], async () => {
      const root = await open("data", "/data");
      assert.match(textOf(one(root, ".band.wrong")), said);
      assert.equal(context.settings.key, "hcq_pages");
    });
  }
  others.set("/", () => ({ ...settings, key: null }));
  await withAnswers([refused(401), refused(401)], async () => {
    const root = await open("data", "/data", { key: null });
    assert.match(textOf(one(root, ".band.wrong")), /A key is needed to look\. Get one or paste yours:/);
    assert.match(textOf(root), /Get a key/);
  });
  others.clear();
  kept.setItem("hcqs-key", "hcq_own");
  try {
    await withAnswers([refused(401)], async (sent) => {
      const root = await open("data", "/data");
      assert.deepEqual(sent, ["Bearer hcq_own"]);
      assert.match(textOf(one(root, ".band.wrong")), /Your key isn't valid \(any more\)\./);
      await click(all(root, "button").find((button) => textOf(button) === "Remove it"));
      assert.equal(kept.getItem("hcqs-key"), null);
      assert.match(textOf(root), /versions of/);
      assert.equal(sent.at(-1), "Bearer hcq_pages");
    });
    kept.setItem("hcqs-key", "hcq_own");
    await withAnswers([refused(429)], async () => {
      assert.match(
        textOf(one(await open("data", "/data"), ".band.wrong")),
        /Your account's requests for this month are used up\./,
      );
    });
  } finally {
    kept.removeItem("hcqs-key");
  }
});

test("the arrow keys go through a picture's numbers, and a menu closes by Escape", async () => {
  const root = await open("explore", "/?procedure=5112&state=TX");
  const picture = () => one(one(root, ".spread"), ".picture");
  const active = () =>
    all(picture(), ".facility-dot").findIndex((dot) => dot.getAttribute("class")?.includes("active"));
  const press = (key: string) => fire(picture(), "keydown", { key });
  const { length } = all(picture(), ".facility-dot");
  assert.ok(length > 2);
  for (const [key, at] of [
    ["ArrowRight", 0],
    ["ArrowDown", 1],
    ["ArrowLeft", 0],
    ["ArrowUp", length - 1],
    ["ArrowRight", 0],
    ["End", length - 1],
    ["Home", 0],
    ["Escape", -1],
    ["ArrowLeft", length - 1],
    ["x", length - 1],
  ] as const) {
    await press(key);
    assert.equal(active(), at, key);
    assert.equal(one(picture(), ".note").hasAttribute("hidden"), at === -1, key);
  }
  await press("Enter");
  const { data } = answer("/healthcare/facilities?procedure=5112&state=TX&sort=charge&limit=50");
  assert.equal(paramsOf(addressOf()).with, data.at(-1).ccn);
  await fire(picture(), "blur");
  assert.equal(active(), -1);
  const card = one(root, ".spread");
  const menu = all(card, ".menu")[0];
  const isOpen = () => all(menu, ".choices").length > 0;
  await click(one(menu, "button"));
  assert.ok(isOpen());
  assert.equal(one(menu, "button").getAttribute("aria-expanded"), "true");
  await fire(one(menu, "button"), "keydown", { key: "a" });
  assert.ok(isOpen());
  await fire(one(menu, "button"), "keydown", { key: "Escape" });
  assert.ok(!isOpen());
  await click(one(menu, "button"));
  await fire(one(menu, "button"), "focusout", { relatedTarget: one(menu, "button") });
  assert.ok(isOpen(), "the focus is still within");
  await fire(one(menu, "button"), "focusout", { relatedTarget: card });
  assert.ok(!isOpen());
});

test("a page that waits for answers says so, with what it still shows, and asks once for each answer", async (t) => {
  const { fetch } = globalThis;
  let release: () => void = () => {};
  let isHeld = false;
  const sent: string[] = [];
  globalThis.fetch = async (path, options) => {
    sent.push(String(path));
    if (isHeld) await new Promise<void>((go) => (release = joined(release, go)));
    return fetch(path, options);
  };
  const joined = (one: () => void, other: () => void) => () => {
    one();
    other();
  };
  t.mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const root = await open("explore", "/?procedure=5072&year=2021");
    isHeld = true;
    const go = async (query: string) => {
      place.url = new URL(`/?${query}`, place.url);
      hearInWindow(new FakeEvent("popstate"));
      await drawn();
    };
    const shown = () => [
      one(root, ".explore").getAttribute("class")?.trim(),
      one(root, ".explore").getAttribute("aria-busy"),
      ...texts(root, ".still"),
    ];
    await go("procedure=5113&year=2022&sort=name");
    assert.deepEqual(shown(), ["explore", "false"]);
    t.mock.timers.tick(299);
    await drawn();
    assert.deepEqual(shown(), ["explore", "false"], "what comes soon needs no word");
    t.mock.timers.tick(1);
    await drawn();
    const late = ["explore late", "true", "Still showing Skin growth removal or biopsy, 2021…"];
    assert.deepEqual(shown(), late);
    await see(root);
    const asked = sent.length;
    await go("procedure=5113&year=2022&sort=name&order=desc");
    await go("procedure=5113&year=2022&sort=name");
    assert.equal(
      sent.filter((path) => path.includes("/procedures/5113")).length,
      1,
      sent.slice(asked).join(),
    );
    isHeld = false;
    release();
    await drawn();
    assert.deepEqual(shown(), ["explore", "false"]);
    assert.match(sentence(root), /^In 2022, /);
    const before = sent.length;
    await go("procedure=5072&year=2021");
    assert.equal(sent.length, before, "the way back needs no request");
    // A failed request leaves what is shown, and says so.
    globalThis.fetch = async () =>
      Response.json({ error: { type: "internal_error", message: "it broke" } }, { status: 500 });
    await go("procedure=5114&year=2022");
    assert.equal(
      textOf(one(root, ".band.wrong")),
      "That didn't work: it broke. Try again Still showing Skin growth removal or biopsy, 2021.",
    );
    globalThis.fetch = async () => Promise.reject(new Error("gone"));
    await go("procedure=5431&year=2022");
    assert.match(
      textOf(one(root, ".band.wrong")),
      /^The server can't be reached\. This page tries again every few seconds\. Try now/,
    );
    assert.equal(all(root, ".still").length, 0);
    // Before the first answer there is nothing to show.
    const waits: ((error: Error) => void)[] = [];
    globalThis.fetch = () => new Promise((_, fail) => waits.push(fail));
    for (const [name, address] of [
      ["data", "/data"],
      ["account", "/account"],
      ["reference", "/reference"],
      ["facility", "/facilities/000010?year=2021"],
      ["explore", "/?procedure=5116&year=2022"],
    ] as const) {
      if (name === "account") kept.setItem("hcqs-key", "hcq_own");
      const early = Date.now() + 400_000;
      const clock = t.mock.method(Date, "now", () => early);
      const waiting = await open(name, address);
      const begun = textOf(waiting);
      t.mock.timers.tick(300);
      await drawn();
      clock.mock.restore();
      await see(waiting);
      assert.equal(/Loading…/.test(textOf(waiting)), ["data", "account", "reference"].includes(name), name);
      assert.doesNotMatch(begun, /Loading…/);
      // Pages share requests, so none may be left.
      for (const fail of waits.splice(0)) fail(new Error("gone"));
      await drawn();
      kept.removeItem("hcqs-key");
    }
  } finally {
    globalThis.fetch = fetch;
  }
});

test("a text that was typed before the script ran is searched for, and a text that is too long for its field stands below it", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const input = page.createElement("input");
  const field = page.createElement("div");
  field.setAttribute("class", "field");
  Object.defineProperty(input, "defaultValue", { value: "" });
  for (const [name, value] of Object.entries({ name: "procedure", value: "knee" }))
    input.setAttribute(name, value);
  field.append(input);
  let root = await open("explore", "/?procedure=5091&year=2021", {}, [field]);
  assert.equal(one(root, ".field.procedure input").value, "knee");
  assert.equal(one(root, ".field.place input").value, "Whole nation");
  const widths = { scrollWidth: 101, clientWidth: 100 };
  for (const [scrollWidth, isCut] of [
    [101, true],
    [100, false],
  ] as const) {
    Object.assign(Object.getPrototypeOf(input), { ...widths, scrollWidth });
    root = await open("explore", "/?procedure=5091&year=2021&state=TX");
    assert.equal(textOf(one(root, ".field.procedure small")).startsWith("Breast lump removal · 5091"), isCut);
    assert.deepEqual(texts(root, ".field.place small"), isCut ? ["Texas"] : []);
  }
  for (const name of Object.keys(widths)) delete Object.getPrototypeOf(input)[name];
});

test("a click in a row compares its hospital, unless text is selected or a link is clicked", async (t) => {
  const root = await open("explore", "/?procedure=5092&year=2021");
  const row = () => all(root, ".facilities tbody tr")[0];
  const compared = () => place.url.searchParams.get("with");
  for (const [selection, on, expected] of [
    [{ isCollapsed: false }, "td", null],
    [{ isCollapsed: true }, "a", null],
    [{ isCollapsed: true }, "td", "000010"],
    [null, "td", null],
  ] as const) {
    const { mock } = t.mock.method(globalThis, "getSelection", () => selection);
    const cell = one(row(), on);
    if (on === "a") cell.setAttribute("target", "_blank");
    await click(cell);
    assert.equal(compared(), expected, JSON.stringify(selection));
    mock.restore();
  }
});
