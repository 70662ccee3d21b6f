import assert from "node:assert/strict";
import { renameSync } from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import { brotliDecompressSync } from "node:zlib";
import { options } from "preact";
import { cmsProvenance } from "../../datasets/cms/cms.ts";
import { outpatientDeductibles, stayDeductibles } from "../../datasets/deductibles.ts";
import { publishSnapshot } from "../../datasets/revisions.ts";
import { syntheticSnapshot } from "../../datasets/sample/synthetic.ts";
import { blank, encodeSnapshot, plainProcedure } from "../../engine/index.ts";
import { ApiError } from "../../server/api/errors.ts";
import {
  type Ask,
  type FacilitiesAnswer,
  type FacilityAnswer,
  Failure,
  type Known,
  type ProcedureAnswer,
} from "../../server/parts/portal/browser/answers.ts";
import { milesText, placesFor } from "../../server/parts/portal/browser/around.ts";
import { choiceOf } from "../../server/parts/portal/browser/choice.ts";
import type { PageSettings } from "../../server/parts/portal/browser/context.ts";
import { hospitalText, hospitalViewOf } from "../../server/parts/portal/browser/hospital-words.ts";
import { withStateName } from "../../server/parts/portal/browser/states.ts";
import {
  comparison,
  mainClause,
  nameOf,
  sameShare,
  shareOf,
  standingText,
  titleOf,
  totalsText,
  whatIsPaid,
  whatYouPay,
} from "../../server/parts/portal/browser/words.ts";
import { PageAnswers } from "../../server/parts/portal/page-answers.ts";
import { maxWritingMs, Portal, writingMsPerSecond } from "../../server/parts/portal/serving.ts";
import { write } from "../../server/parts/portal/written.ts";
import type { WrittenPage } from "../../server/serving/pages-part.ts";
import { money, whole } from "../../server/shared/browser/format.ts";
import type { PageTemplate } from "../../server/shared/messages.ts";
import { escapeHtml } from "../../server/shared/web-assets.ts";
import { WorkBudget } from "../../server/shared/work-budget.ts";
import { ask as askEndpoint, imageOf, imageWith, versionsOf } from "../support/endpoint-oracle.ts";
import { snapshotOf } from "../support/fixtures.ts";
import { places } from "../support/places.ts";
import {
  ample,
  call,
  createKey,
  currentOnly,
  datasetsFolder,
  rawRequest,
  requestText,
  startServer,
  suppressedProcedure,
  temporaryFolder,
  until,
} from "../support/server.ts";
import { writing } from "../support/writing.ts";

const stateDir = temporaryFolder();
createKey(stateDir, "visitors", ample);
const datasetsDir = datasetsFolder(["2023.1"]);
const env = { PORTAL: "on", PORTAL_ACCOUNT: "visitors", EMBED_ORIGINS: "*", ...writing(true) };
const server = await startServer({ stateDir, datasetsDir, env });
after(() => server.stop());

const ask = (path: string, headers: Record<string, string> = {}) =>
  rawRequest(server.api, requestText(`GET ${path}`, headers));
const pageAt = async (path: string, expected = 200) => {
  const { status, body } = await ask(path);
  assert.equal(status, expected, path);
  return String(body);
};
const answerOf = async <T>(path: string): Promise<T> =>
  JSON.parse(String((await call(server, `GET /api/v1${path}`)).body));
const metaOf = (html: string, name: string) =>
  new RegExp(`<meta (?:name|property)="${name}" content="([^"]*)">`).exec(html)?.[1];
const textIn = (html: string, element: string) =>
  new RegExp(`<${element}[^>]*>(.*?)</${element}>`, "s").exec(html)?.[1].replaceAll(/<[^>]*>/g, "") ?? "";

test("the explore page and its embeds contain the title, sentence and numbers for their URL", async () => {
  const { summary } = await answerOf<ProcedureAnswer>("/healthcare/procedures/5072?state=NY");
  for (const path of ["/", "/embed", "/embed/charges"]) {
    const html = await pageAt(`${path}?procedure=5072&state=NY&year=2023&with=000041&sort=charge&order=desc`);
    assert.match(textIn(html, "title"), /^Skin growth removal.* in New York, 2023 – What hospitals charge$/);
    const sentence = textIn(html, "h1");
    for (const text of [
      `In New York, ${whole(summary.facilities)} hospitals charge`,
      money(summary.min_charge),
      money(summary.max_charge),
    ])
      assert.ok(sentence.includes(text), `${text} is in ${sentence}`);
    assert.ok(metaOf(html, "description")?.startsWith(`${sentence} Hospital 000041 charges $`));
    assert.equal(metaOf(html, "og:description"), metaOf(html, "description"));
    assert.equal(metaOf(html, "og:title"), textIn(html, "title"));
    if (path === "/") assert.ok(rowsIn(html)[1].includes(money(summary.max_charge)), "the dearest is first");
    assert.match(html, /href="\/facilities\/0000\d\d\?year=2023&amp;state=NY&amp;procedure=\d{4}"/);
  }
});

test("a page is the same at all addresses of the server, so its links and texts have no host", async () => {
  for (const path of [
    "/?procedure=5072&state=NY&with=000041",
    "/facilities/000001",
    "/embed/charges",
    "/data",
  ]) {
    const [first, second] = await Promise.all(
      ["prices.test", "other.test:8080"].map((host) => ask(path, { Host: host })),
    );
    assert.ok(first.body.equals(second.body), path);
    assert.doesNotMatch(String(first.body), /page\.invalid|prices\.test|other\.test/);
  }
});

test("a page after another has nothing of its address", async () => {
  const before = await pageAt("/?procedure=5072&state=NY");
  await pageAt("/?procedure=5072&state=AL&with=000041&sort=name&shown=35&year=2023");
  assert.equal(await pageAt("/?procedure=5072&state=NY"), before);
});

test("a hospital's page contains its name, CCN and prices, and links that keep the year", async () => {
  const { facility, data } = await answerOf<FacilityAnswer>("/healthcare/facilities/000001");
  const html = await pageAt("/facilities/000001");
  assert.equal(textIn(html, "title"), `${facility.facility} – What hospitals charge`);
  assert.equal(textIn(html, "h1"), facility.facility);
  assert.ok(metaOf(html, "description")?.includes("CCN 000001"));
  assert.equal(rowsIn(html).length, Math.min(10, data.length));
  const all = rowsIn(await pageAt("/facilities/000001?shown=210"));
  assert.equal(all.length, data.length);
  for (const { submitted_charge } of data)
    assert.ok(all.some((row) => row.includes(money(submitted_charge))));
  assert.ok(html.includes(`href="/?procedure=${data[0].code}&amp;with=000001"`));
  const asked = data.at(-1)?.code;
  const [first = ""] = rowsIn(await pageAt(`/facilities/000001?procedure=${asked}`));
  assert.match(first, /^<tr role="row" class="pinned">/, "the asked procedure is marked");
  assert.ok(first.includes(`procedure=${asked}`), "and comes first");
  const earlier = await pageAt("/facilities/000001?year=2023");
  assert.ok(earlier.includes(`href="/?year=2023&amp;procedure=${data[0].code}&amp;with=000001"`));
});

test("a hospital's description gives its charge for the chosen procedure, or states that it has none", async () => {
  const { data } = await answerOf<FacilityAnswer>("/healthcare/facilities/000001");
  const { code, submitted_charge, medicare_allowed } = data[0];
  const saidOf = async (procedure: string) =>
    metaOf(await pageAt(`/facilities/000001?procedure=${procedure}`), "description") ?? "";
  const said = await saidOf(code);
  assert.match(said, /CCN 000001\. For [a-z].* you pay about \$[\d,]+ with Medicare\. It charges \$/);
  for (const amount of [submitted_charge, medicare_allowed, medicare_allowed / 5])
    assert.ok(said.includes(money(amount)), `${money(amount)} is in ${said}`);
  assert.match(await saidOf("5361"), /CCN 000001\. It has no price for gallbladder/);
  for (const unknown of ["", "0000"]) assert.doesNotMatch(await saidOf(unknown), / For [a-z]| no price /);
});

test("a page of a hospital that isn't in the data is 404, and leads to the one whose CCN lost its form", async () => {
  for (const path of ["/facilities/000001", "/facilities/000001?year=1999"])
    assert.equal((await ask(path)).status, 200, path);
  for (const ccn of ["1", "00-0001", "00001"]) {
    const { status, body } = await ask(`/facilities/${ccn}?year=2023`);
    assert.equal(status, 404, ccn);
    assert.match(
      String(body),
      /has six characters: 000001 may be meant\. <a href="\/facilities\/000001\?year=2023">See /,
    );
  }
  for (const ccn of ["999999", "zzz", "9", "%00"]) {
    const answer = await ask(`/facilities/${ccn}`, { "If-None-Match": "*" });
    const { status, body } = answer;
    assert.deepEqual([status, answer.header("Content-Type")], [404, "text/html; charset=utf-8"], ccn);
    assert.match(String(body), /Nothing was found\..*Explore what there is/);
  }
});

test("a procedure's code as a spreadsheet writes it leads to the group", async () => {
  for (const code of ["5072.0", "5,072"])
    assert.match(
      await pageAt(`/?procedure=${code}&state=NY`),
      /5072 may be meant\. +<a href="\/\?procedure=5072&amp;state=NY">See 5072: /,
    );
  assert.doesNotMatch(await pageAt("/?procedure=9999.0"), /may be meant/);
});

test("an unknown hospital in a comparison is skipped, and the others keep their order", async () => {
  const html = await pageAt("/?procedure=5072&with=000041,zzz,000001");
  assert.match(metaOf(html, "description") ?? "", / Hospital 000041 charges .* Hospital 000001 charges /);
});

test("a page without JavaScript says which hospitals of its URL aren't compared", async () => {
  const said = "No more than 3 hospitals can be compared. Left out: ";
  const saidOf = async (compared: string) => {
    const html = await pageAt(`/?procedure=5072&with=${compared}`);
    return new RegExp(`${said}[\\w, ]*\\.`).exec(html)?.[0];
  };
  assert.equal(await saidOf("000041,000001,000002,000003,000004"), `${said}000003, 000004.`);
  assert.equal(await saidOf("000041,000001,000002&with=&with=zzz"), `${said}zzz.`);
  assert.equal(await saidOf("000041,000001,000002,000041"), undefined);
});

test("a compared hospital without a price is described as having none", async () => {
  const html = await pageAt("/?procedure=5361&with=000001");
  assert.match(metaOf(html, "description") ?? "", / Hospital 000001 has no price for this procedure/);
});

test("a page has the answers from which its words are made, so that its script asks for none of them", async () => {
  for (const path of [
    "/",
    "/?procedure=5072&state=NY",
    "/?procedure=5072&near=00000",
    "/facilities/000001",
  ]) {
    const html = await pageAt(path);
    const [, json] = /<script type="application\/json" id="answers">(.*?)<\/script>/.exec(html) ?? [];
    const known: Known = JSON.parse(json ?? "");
    for (const [target, one] of Object.entries(known)) {
      const { status, body } = await call(server, `GET ${target}`);
      const said = JSON.parse(String(body));
      if ("answer" in one) assert.deepEqual(one.answer, said, target);
      else assert.deepEqual(one.failed.slice(0, 2), [status, said.error.type], target);
    }
    assert.ok(Object.keys(known).length >= 2, path);
    assert.doesNotMatch(json ?? "", /</);
  }
});

test("around a ZIP code, the nearest come first, with what a patient pays before other amounts", async () => {
  const datasetsDir = temporaryFolder();
  publishSnapshot(datasetsDir, 2024, [], (revision) =>
    encodeSnapshot(syntheticSnapshot({ dataYear: 2024, revision, rows: 20_000, seed: 1 })),
  );
  const stateDir = temporaryFolder();
  const key = createKey(stateDir, "visitors", ample);
  const sample = await startServer({ stateDir, datasetsDir, env });
  const pageAt = async (target: string) =>
    String((await rawRequest(sample.api, requestText(`GET ${target}`, {}))).body);
  const answerOf = async (query: string): Promise<FacilitiesAnswer> => {
    const headers = { Authorization: `Bearer ${key}` };
    const target = `/api/v1/healthcare/facilities?procedure=5072&${query}`;
    return JSON.parse(String((await rawRequest(sample.api, requestText(`GET ${target}`, headers))).body));
  };
  const around = await answerOf("near=10001&within=50&sort=distance&limit=100");
  const { data, summary, source } = around;
  const [{ ccn, submitted_charge: own = 0 }] = data;
  const html = await pageAt(`/?procedure=5072&near=10001&within=50&with=${ccn}`);
  const rows = rowsIn(html).map((row) => row.replaceAll(/<[^>]*>/g, "|"));
  assert.equal(rows.length, Math.min(10, data.length));
  for (const [i, row] of rows.entries()) {
    const { facility, medicare_allowed, submitted_charge, distance, zip } = data[i];
    const amounts = row.match(/\$[\d,.]+/g);
    assert.ok(row.includes(`|${milesText(distance, zip === "10001")}|`), row);
    const share = shareOf(medicare_allowed ?? 0, source.data_year);
    assert.ok(row.includes(encoded(facility)), row);
    assert.deepEqual(amounts, [share, medicare_allowed ?? 0, submitted_charge ?? 0].map(money));
  }
  assert.match(textIn(html, "h1"), /^Within 50 miles of 10001, you pay about \$/);
  const cheaper = data.filter(({ submitted_charge }) => (submitted_charge ?? 0) < (own ?? 0)).length;
  const rank = standingText({ rank: cheaper + 1, facilities: summary.facilities }, " there");
  assert.ok(metaOf(html, "description")?.includes(rank), rank);

  // Where nothing is near, one sentence names the nearest hospital with a price, and a link shows it.
  const none = await pageAt("/?procedure=5072&near=79845&within=1");
  const [far] = (await answerOf("near=79845&within=500&sort=distance&limit=1")).data;
  const distance = far.distance ?? 0;
  assert.match(textIn(none, "h1"), /^No prices for .* within 1 mile of/);
  const said = `The nearest with a price is ${milesText(distance, false)} miles away: ${far.facility}, ${far.city}, ${far.state}.`;
  assert.ok(metaOf(none, "description")?.includes(escapeHtml(said)), said);
  assert.ok(none.includes(`within=${Math.ceil(distance)}`));
  assert.equal(await sample.stop(), 0);
});

const sampleVersions = versionsOf(
  imageOf(syntheticSnapshot({ dataYear: 2024, revision: 1, rows: 8000, seed: 1 })),
);
/** A larger sample, with the coordinates of ZIP codes and cities. */
const placedVersions = versionsOf(
  imageWith(syntheticSnapshot({ dataYear: 2024, revision: 1, rows: 20_000, seed: 1 }), places),
);
const readPlaced = (path: string, query: string): object =>
  Object(askEndpoint(placedVersions, `${path.slice("/api/v1".length)}?${query}`));
const settings: PageSettings = {
  ...{ key: "hcq_", signup: "off", newcomers: { burst: 1, quota: 1, linkHours: 1 }, minElapsedMs: 0 },
  ...{ mail: false, embeds: false, states: "/states.svg" },
};

/** The written page, and its parts: the fields with the sentence, and what follows. */
function writtenBy(path: string, query: string, read: (path: string, query: string) => object) {
  const { head, body: pieces } = write(path, query, settings, new PageAnswers(read));
  const body = pieces.join("");
  const main = body.slice(body.indexOf("<main"), body.indexOf("</main>"));
  const end = main.search(/<div class="pictures">|<section /);
  return { head, main, sentence: end < 0 ? main : main.slice(0, end), below: end < 0 ? "" : main.slice(end) };
}

const writtenAt = (query: string, versions = sampleVersions) =>
  writtenBy("/", query, (path, query) =>
    Object(askEndpoint(versions, `${path.slice("/api/v1".length)}?${query}`)),
  );
/** A text as it stands in a page's body. */
const encoded = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
/** The rows of a page's list, as HTML. */
const rowsIn = (html: string) =>
  html.match(/<tr role="row"[^>]*><th role="rowheader" scope="row" class="name".*?<\/tr>/g) ?? [];
/** The title of a page's list, which also says how the list is sorted. */
const titleIn = (html: string) => textIn(html.slice(html.indexOf('<section id="hospitals"')), "h2");

/** Pages of each kind, with lists, comparisons and a question. */
const kinds = [
  ["/", "procedure=5072&state=NY&shown=60"],
  ["/", "procedure=5115&near=10001&within=50&with=990901,992146"],
  ["/", "q=knee"],
  ["/embed/states", "procedure=5072"],
  ["/facilities/990901", "procedure=5072"],
] as const;

test("drawn components keep nothing that they were drawn from", (t) => {
  const { diffed = () => {} } = options;
  t.after(() => {
    options.diffed = diffed;
  });
  let components = 0;
  options.diffed = (element) => {
    diffed(element);
    // Preact's files have short names for the field of an element that has its component.
    const fields: unknown[] = Object.values(element);
    for (const field of fields) {
      if (!(field instanceof Object && "setState" in field)) continue;
      components++;
      const kept: unknown[] = Object.values(field);
      assert.ok(!kept.includes(element) && !kept.includes(element.props));
    }
  };
  for (const [path, query] of kinds) {
    components = 0;
    writtenBy(path, query, readPlaced);
    assert.ok(components >= 3, `${components} components of ${path}?${query}`);
  }
});

test("a page is drawn as before after one that failed, whichever of its answers was missing", () => {
  for (const [path, query] of kinds) {
    let reads = 0;
    const count = (...target: [string, string]) => {
      reads++;
      return readPlaced(...target);
    };
    const before = writtenBy(path, query, count);
    const all = reads;
    for (let fails = 1; fails <= all; fails++) {
      let left = fails;
      const read = (...target: [string, string]) => {
        if (--left === 0) throw new ApiError("internal_error", "broken");
        return readPlaced(...target);
      };
      assert.throws(() => writtenBy(path, query, read), { message: "broken" });
      assert.deepEqual(writtenBy(path, query, readPlaced), before);
    }
  }
});

test("words that surely mean one procedure show it, in the place among the words", () => {
  for (const [words, code, where] of [
    ["knee replacement 27447", "5115", ""],
    ["reemplazo de rodilla", "5115", ""],
    ["cataract surgery in Texas", "5491", "In Texas, "],
    ["cirugía de cataratas en Texas", "5491", "In Texas, "],
  ] as const) {
    const { sentence, head } = writtenAt(`q=${encodeURIComponent(words)}`);
    const plain = plainProcedure(code)?.title ?? assert.fail();
    assert.ok(textIn(sentence, "h1").startsWith(where), words);
    assert.match(textIn(sentence, "h1"), new RegExp(`${plain}\\. .*Medicare typically allows`), words);
    assert.match(textIn(head, "title"), where === "" ? /, 2024 – / : / in Texas, 2024 – /);
  }
});

test("words that mean one procedure and may be others show the others, with the place among the words", () => {
  const search = (q: string) =>
    Object(askEndpoint(placedVersions, `/search?type=procedure&limit=10&q=${encodeURIComponent(q)}`)).data;
  for (const [words, place] of [
    ["heart", ""],
    ["cataract surgery in Texas", "&state=TX"],
    ["hernia California", "&state=CA"],
    ["knee replacement", ""],
    ["5491", ""],
  ]) {
    const { sentence } = writtenAt(`q=${encodeURIComponent(words)}`, placedVersions);
    assert.match(sentence, /Medicare (typically )?allows/, words);
    const [, also] = /<p class="under small">“[^”]*” also may be: (.*?)<\/p>/.exec(sentence) ?? [];
    const others = search(words).slice(1, 5);
    const links = [...(also ?? "").matchAll(/href="\/\?([^"]*)">([^<]*)</g)];
    assert.deepEqual(
      links.map(([, link, text]) => [link, text]),
      others.map((one: { code: string; name: string; title: string | null }) => [
        encoded(`procedure=${one.code}${place}`),
        encoded(titleOf(one)),
      ]),
    );
  }
  assert.match(writtenAt("procedure=5191&q=heart").sentence, /also may be/, "as after a reload");
  assert.doesNotMatch(writtenAt("procedure=5072&q=heart").sentence, /also may be/);
});

test("a place among words sorts the list as a chosen place does, unless another order is chosen", () => {
  for (const [place, chosen] of [
    ["en Miami", "near=Miami%2C+FL"],
    ["in Houston", "near=Houston%2C+TX"],
    ["near 60614", "near=60614"],
    ["in Texas", "state=TX"],
  ])
    for (const order of ["", "&sort=pays&order=desc", "&sort=distance", "&near=10001"]) {
      const within = "&within=500";
      const meant = `q=${encodeURIComponent(`cirugía de cataratas ${place}`)}${order}${within}`;
      const named = `procedure=5491&${chosen}${order.replace("&near=10001", "")}${within}`;
      const [first, second] = [meant, named].map((query) => titleIn(writtenAt(query, placedVersions).below));
      assert.match(first, /^\d+ hospitals, /);
      assert.equal(first, second, `${place}${order}`);
    }
});

const askPlaced: Ask = <Answers extends object[]>(...paths: { [I in keyof Answers]: string }) =>
  paths.map((path) => {
    try {
      return Object(askEndpoint(placedVersions, path.slice("/api/v1".length)));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return new Failure(Number.parseInt(error.status, 10), error.type, error.message, {
        ...{ param: error.param, places: error.places },
      });
    }
  }) as { [I in keyof Answers]: Answers[I] | Failure };
const within = (place: string) => [25, 10, 50, 100].map((miles) => `Within ${miles} miles of ${place}`);

test("the field of the place suggests the city or the state that its words name", () => {
  for (const [texts, suggested] of [
    [["Washington DC", "washington, d.c."], within("Washington, DC")],
    [["DC", "D.C.", "district of columbia"], ["District of Columbia"]],
    [["New York NY", "New York City", "NYC", "new york, n.y."], within("New York, NY")],
    [["New York"], ["New York", ...within("New York, NY")]],
    [["Washington"], ["Washington", "Washington, District of Columbia"]],
    [["washington state", "State of Washington"], ["Washington"]],
    [["Houston", "Miami", "Chicago"], [/^(Houston, Texas|Miami, Florida|Within 25 miles of Chicago, IL)$/]],
    [["Houston TX", "houston, texas"], within("Houston, TX")],
    [["Los Angeles", "los angeles, california"], within("Los Angeles, CA")],
    [["Virginia Beach"], within("Virginia Beach, VA")],
    [["Texsa"], ["Texas"]],
    [["60614", "Chicago, IL 60614-1234"], within("60614")],
  ] as const)
    for (const text of texts) {
      const { doubt, options } = placesFor(text, null, null, askPlaced);
      assert.equal(doubt, "", text);
      for (const [i, one] of suggested.entries())
        assert.match(options[i]?.title ?? "", new RegExp(one), text);
    }
});

test("a city that several states have is a question, also in an address, and an unknown place is said", () => {
  for (const [city, states] of [
    ["Springfield", ["IL", "MA", "MO"]],
    ["kansas city", ["KS", "MO"]],
  ] as const) {
    const { doubt, options, isQuestion } = placesFor(city, null, null, askPlaced);
    assert.match(doubt, /^Several states have a place “/);
    assert.equal(isQuestion, true, "no option is marked before it is chosen");
    for (const { title, group, detail } of options) {
      assert.match(title, new RegExp(`^${city}, [A-Z][a-z. ]+`, "i"), "a state's name in full");
      assert.deepEqual([group, detail], ["Within 25 miles of", undefined], "said once, above the cities");
    }
    const { sentence } = writtenAt(`procedure=5115&near=${city}&state=TX`, placedVersions);
    assert.match(textIn(sentence, "h1"), /” is in several states\.$/);
    for (const state of states) {
      const near =
        options.find(({ more }) => more?.near?.endsWith(`, ${state}`))?.more?.near ?? assert.fail(state);
      assert.equal(near.toLowerCase(), `${city}, ${state}`.toLowerCase());
      const link = new URLSearchParams({ procedure: "5115", near });
      assert.ok(sentence.includes(`href="/?${encoded(String(link))}"`), near);
    }
  }
  for (const [text, doubt] of [
    ["xyzzy", /^No place “xyzzy” is known here\.$/],
    ["00000", /^The ZIP code 00000 isn't known here\.$/],
    ["6061234", /^A ZIP code has five digits\.$/],
  ] as const) {
    const found = placesFor(text, null, null, askPlaced);
    assert.match(found.doubt, doubt);
    assert.deepEqual(found.options, []);
    assert.match(
      writtenAt(`procedure=5115&near=${text}`, placedVersions).sentence,
      /“\w+” isn.{1,5}t known here/,
    );
  }
});

test("a mistyped city leads to the likely ones, and names none as meant", () => {
  const { sentence } = writtenAt("procedure=5115&near=Winnemuca", placedVersions);
  assert.equal(textIn(sentence, "h1"), "The place “Winnemuca” isn't known here.");
  assert.ok(
    sentence.includes('href="/?procedure=5115&amp;near=Winnemucca%2C+NV">Winnemucca, Nevada</a>'),
    sentence,
  );
  assert.ok(sentence.includes('value="Winnemuca: not known"'), sentence);
  assert.doesNotMatch(writtenAt("q=Winnemuca", placedVersions).sentence, /is a place/);
});

test("a likely city is a link, a ZIP code in a text decides, and a county is named, in a field and in any address", () => {
  const linkTo = (near: string) =>
    `href="/?procedure=5115&amp;near=${encodeURIComponent(near)}">${withStateName(near)}</a>`;
  const found = (text: string) => placesFor(text, null, null, askPlaced);
  const titles = (text: string) => found(text).options.map(({ title }) => title);
  for (const city of ["Sprinfield, IL", "sprinfield il"]) {
    const { sentence } = writtenAt(`procedure=5115&near=${city}`, placedVersions);
    assert.ok(sentence.includes(linkTo("Springfield, IL").replace("%20", "+")), sentence);
    const words = writtenAt(`q=knee replacement ${city}`, placedVersions).sentence;
    assert.match(words, /miles of Springfield, IL.*Did you mean “Knee, hip or shoulder replacement”\?/);
    const alone = writtenAt(`q=${city}`, placedVersions).sentence;
    assert.ok(alone.includes('href="/?near=Springfield%2C+IL">Springfield, Illinois</a>'), alone);
    assert.deepEqual([found(city).doubt, ...titles(city)], ["", ...within("Springfield, IL")]);
  }
  for (const text of ["springfield il 62704", "62704-1234"]) {
    for (const query of [`procedure=5115&near=${text}`, `q=knee replacement ${text}`])
      assert.doesNotMatch(writtenAt(query, placedVersions).sentence, /isn.{1,5}t known|Set aside/, query);
    assert.deepEqual(titles(text), within("62704"));
  }
  for (const county of ["Sangamon County", "Sangamon County, IL", "Orleans Parish"]) {
    for (const query of [`procedure=5115&near=${county}`, `q=${county}`])
      assert.match(
        writtenAt(query, placedVersions).sentence,
        new RegExp(`“${county}” is a county, and counties aren.{1,5}t known here: write a city`, "i"),
        query,
      );
    assert.match(
      writtenAt(`q=knee replacement ${county}`, placedVersions).sentence,
      /Did you mean “Knee, hip or shoulder replacement”.*Set aside: \w+, (county|parish)\. Counties aren.{1,5}t known here\./,
      county,
    );
    assert.deepEqual(
      [found(county).doubt.slice(0, county.length + 14), titles(county)],
      [`“${county}” is a county`, []],
    );
  }
  const lost = writtenAt("procedure=5115&near=2139", placedVersions).sentence;
  assert.ok(lost.includes(linkTo("02139")), lost);
  assert.deepEqual(titles("2139"), within("02139"));
});

test("a place that isn't known is said in its field, and poses as a filter nowhere", () => {
  for (const [place, shown] of [
    ["near=xyzzy", "xyzzy: not known"],
    ["near=00000&within=50", "00000: not known"],
    ["near=Springfield", "Springfield: in several states"],
    ["state=ZZ", "ZZ: not known"],
  ])
    for (const procedure of ["", "procedure=5115&"]) {
      const { head, sentence } = writtenAt(procedure + place, placedVersions);
      assert.ok(sentence.includes(`value="${shown}"`), sentence);
      assert.doesNotMatch(head + sentence, /within \d+ miles|in ZZ\b/i);
      assert.match(textIn(head, "title"), /^(Nothing was found|“Springfield” is in several states) – /);
    }
});

test("a link to another place keeps what the list is sorted by, and drops a reversed order", () => {
  for (const query of [
    "procedure=5115&near=Springfield",
    "procedure=5115&near=xyzzy",
    "procedure=5115&near=Marfa%2C+TX&within=1",
    "procedure=5115&state=MD",
    "q=knee+Springfield",
    "q=Houston",
    "q=pacemaker+60614",
  ]) {
    const { sentence } = writtenAt(`${query}&sort=pays&order=desc`, placedVersions);
    const links = [...sentence.matchAll(/href="\/\?([^"]*)"/g)].map(
      ([, link]) => new URLSearchParams(link.replaceAll("&amp;", "&")),
    );
    const elsewhere = links.filter((link) => !link.has("within") || link.has("q"));
    assert.ok(elsewhere.length > 0, sentence);
    for (const link of elsewhere)
      assert.deepEqual([link.get("sort"), link.get("order")], ["pays", null], `${link}`);
  }
});

test("Maryland is named only where the place is in Maryland", () => {
  for (const [near, isThere] of [
    ["Baltimore, MD", true],
    ["21201", true],
    ["Marfa, TX", false],
    ["xyzzy", false],
  ] as const)
    assert.equal(
      writtenAt(`procedure=5115&near=${near}&within=1`, placedVersions).sentence.includes("Maryland"),
      isThere,
      near,
    );
});

test("a ZIP code beside a procedure is kept in the links to what the words may mean", () => {
  for (const words of ["27447 60614", "knee replacement 60614"]) {
    const { sentence } = writtenAt(`q=${words}`, placedVersions);
    assert.match(textIn(sentence, "h1"), /^Within 25 miles of 60614, /, words);
    assert.match(
      sentence,
      new RegExp(`Did you mean “Knee, hip or shoulder replacement”\\? You typed “${words}”`),
    );
  }
  for (const words of ["pacemaker 60614"]) {
    const { sentence } = writtenAt(`q=${words}`, placedVersions);
    assert.match(sentence, /Look for prices near 60614:/, words);
    assert.doesNotMatch(sentence, /Set aside/);
    const links = [...sentence.matchAll(/href="\/\?(procedure=[^"]*)"/g)].map(([, link]) => link);
    assert.ok(links.length > 0 && links.every((link) => link.endsWith("near=60614")), words);
  }
  for (const words of ["knee replacement 00000", "colonoscopy 45378"])
    assert.doesNotMatch(writtenAt(`q=${words}`, placedVersions).sentence, /near (00000|45378)|near=/);
});

test("a city beside a procedure without a word between is a place, and a name of several cities is a question", () => {
  for (const [words, near] of [
    ["knee Springfield", "Springfield"],
    ["knee surgery Springfield", "Springfield"],
    ["Springfield knee replacement", "Springfield"],
    ["knee replacement kansas city", "Kansas City"],
    ["knee replacement Winnemucca", "Winnemucca, NV"],
  ]) {
    const { sentence } = writtenAt(`q=${words}`, placedVersions);
    assert.doesNotMatch(sentence, /Set aside/, words);
    const [, link] = /href="\/\?(procedure=5115[^"]*)"/.exec(sentence) ?? [];
    const query = textIn(sentence, "h1").includes("may mean") ? link?.replaceAll("&amp;", "&") : `q=${words}`;
    const said = textIn(writtenAt(query ?? "", placedVersions).sentence, "h1");
    if (near.includes(", ")) assert.match(said, /of Winnemucca, NV/);
    else assert.equal(said, `“${near}” is in several states.`);
  }
  // With a word between, the procedure is sure, and only the place is a question. Its links lead on.
  for (const words of ["knee replacement in Springfield", "reemplazo de rodilla en Springfield"]) {
    const { sentence } = writtenAt(`q=${words}&sort=pays`, placedVersions);
    assert.equal(textIn(sentence, "h1"), "“Springfield” is in several states.");
    const links = [...sentence.matchAll(/href="\/\?([^"]*)"/g)].map(([, link]) =>
      link.replaceAll("&amp;", "&"),
    );
    assert.ok(links.includes("sort=pays&procedure=5115&near=Springfield%2C+IL"), `${links}`);
    assert.ok(links.includes("sort=pays&procedure=5115"), "the whole nation");
  }
  assert.match(writtenAt("q=knee zzxqy", placedVersions).sentence, /Nothing matches/);
});

test("words that may mean a procedure promise no prices, in a place least of all", () => {
  for (const words of [
    ...[
      "knee replacement 99950",
      "knee Springfield",
      "hernia 99950",
      "colonoscopy 99950",
      "colonoscopy in Texas",
    ],
    ...[
      "knee replacement, right, ASAP",
      "pacemaker in Alaska",
      "pacemaker",
      "mri",
      "Houston",
      "texas",
      "99950",
    ],
  ]) {
    const { sentence, head } = writtenAt(`q=${encodeURIComponent(words)}`, placedVersions);
    for (const html of [sentence, head])
      assert.doesNotMatch(html, /ha(s|ve) prices|with prices|See prices/, words);
    if (sentence.includes('href="/?procedure='))
      assert.match(sentence, /Look for prices( of other care)?.{0,30}:<|Did you mean “/);
  }
});

test("a single procedure that words don't surely mean is shown with a question, several are counted", () => {
  for (const words of [
    "knee replacement, right, ASAP",
    "knee replacement 99950",
    "ASAP cataract surgery",
    "heart pacemaker",
  ]) {
    const path = `/search?type=procedure&limit=10&q=${encodeURIComponent(words)}`;
    const { data } = Object(askEndpoint(placedVersions, path));
    const { sentence } = writtenAt(`q=${encodeURIComponent(words)}`, placedVersions);
    const heading = textIn(sentence, "h1");
    const question = encoded(`Did you mean “${titleOf(data[0])}”? You typed “${words}”.`);
    assert.equal(sentence.includes(question), data.length === 1, words);
    const reloaded = `procedure=${data[0].code}&q=${encodeURIComponent(words)}`;
    assert.equal(writtenAt(reloaded, placedVersions).sentence.includes(question), data.length === 1, words);
    if (data.length === 1) assert.ok(heading.includes(` for ${nameOf(data[0])}`), heading);
    else assert.equal(heading, encoded(`“${words}” may mean one of ${data.length} procedures.`));
  }
});

test("a place or a hospital where a procedure was asked for is named, and leads there", () => {
  const list = "/healthcare/facilities?near=60614&limit=1";
  const [{ ccn, facility }] = Object(askEndpoint(placedVersions, list)).data;
  for (const [words, said, link] of [
    ["Houston", "“Houston” is a place", "near=Houston%2C+TX"],
    ["New York City", "“New York City” is a place", "near=New+York%2C+NY"],
    ["60614", "“60614” is a place", "near=60614"],
    ["texas", "“texas” is a place", "state=TX"],
    ["Springfield", "“Springfield” is a place", "near=Springfield%2C+IL"],
    [facility, "hospital", `/facilities/${ccn}`],
    [ccn, "hospital", `/facilities/${ccn}`],
  ]) {
    const { sentence } = writtenAt(`q=${encodeURIComponent(words)}`, placedVersions);
    assert.ok(textIn(sentence, "h1").includes(encoded(said)), textIn(sentence, "h1"));
    assert.ok(sentence.includes(`${link}"`), `${words}: ${sentence}`);
    assert.doesNotMatch(sentence, /\$\d/);
  }
  for (const words of ["xyzzy", "00000", "qqqq hospital"])
    assert.match(writtenAt(`q=${words}`, placedVersions).sentence, /<h1>Nothing matches/);
});

test("without JavaScript, numbers have a comma in the thousands", () => {
  const { below } = writtenBy("/", "procedure=5072", (path, query) => {
    const answer = Object(askEndpoint(sampleVersions, `${path.slice("/api/v1".length)}?${query}`));
    return path.endsWith("/facilities")
      ? { ...answer, summary: { ...answer.summary, facilities: 2344 } }
      : answer;
  });
  assert.match(below, /Show 25 more<\/a> ?<span class="quiet"> ?10 of 2,344</);
});

test("what the data can't have is the first answer, without any price, and with a link to where it is", () => {
  for (const [words, name] of [
    ["colonoscopy", /^Colonoscopy /],
    ["colonoscopia", /^Colonoscopy /],
    ["colonoscopy 45378, possible polyp removal", /^Colonoscopy /],
    ["mri", /^MRI/],
    ["stitches 27447", /^Stitches/],
  ] as const) {
    const { sentence, main, head } = writtenAt(`q=${encodeURIComponent(words)}`);
    assert.match(textIn(sentence, "h1"), name);
    assert.match(textIn(sentence, "h1"), /: not in this data\.$/);
    assert.match(
      sentence,
      /this data has only .*<a href="https:\/\/www\.medicare\.gov\/|Only the removal of .*<a href="https:\/\/www/,
    );
    for (const html of [main, head]) assert.doesNotMatch(html, /\$\d/, words);
  }
});

test("words that were set aside are named, and what remains is offered with the place", () => {
  const { sentence } = writtenAt("q=zzxqy+cataract+surgery+in+Texas&year=2024");
  assert.match(textIn(sentence, "h1"), /^In Texas, .* for cataract surgery/);
  assert.match(
    sentence,
    /Did you mean “.*”\? You typed “zzxqy cataract surgery in Texas”\. Nothing matches all words\. Set aside: zzxqy\./,
  );
  assert.match(writtenAt("q=colonoscopy+45378").sentence, /Set aside: 45378\./);
  const none = writtenAt("q=qqqq+%3Cu%3E").sentence;
  assert.match(none, /<h1>Nothing matches “qqqq &lt;u>”\.<\/h1>.*See what there is/);
});

test("a page of an older data version links to the newest; a version that is gone keeps procedure and place", () => {
  const [newest, older] = [2024, 2023].map((dataYear) =>
    imageOf(syntheticSnapshot({ dataYear, revision: 1, rows: 8000, seed: 1 })),
  );
  const versions = versionsOf(newest, older);
  const place = "procedure=5491&state=TX";
  assert.match(
    writtenAt(`${place}&year=2023.1`, versions).sentence,
    /This is data version 2023\.1\. <a href="\/\?procedure=5491&amp;state=TX">See the newest, 2024\.1<\/a>/,
  );
  assert.match(textIn(writtenAt(`${place}&year=2023`, versions).sentence, "h1"), /^In 2023, in Texas, \d+ /);
  for (const year of ["2024", "2024.1"])
    assert.doesNotMatch(writtenAt(`${place}&year=${year}`, versions).sentence, /data version/);
  // A hospital's page says the same.
  const facility = "/versions/2023/healthcare/facilities?procedure=5072&limit=1";
  const [{ ccn }] = Object(askEndpoint(versions, facility)).data;
  const hospitalAt = (query: string) =>
    writtenBy(`/facilities/${ccn}`, query, (path, query) =>
      Object(askEndpoint(versions, `${path.slice("/api/v1".length)}?${query}`)),
    );
  for (const year of ["2023", "2023.1"])
    for (const procedure of ["", "procedure=5072"]) {
      const { sentence, head } = hospitalAt(`year=${year}&${procedure}`);
      const link = [`/facilities/${ccn}`, procedure].filter(Boolean).join("?");
      const note = `This is data version 2023.1. <a href="${link}">See the newest, 2024.1</a>`;
      assert.ok(sentence.includes(note), sentence);
      assert.match(metaOf(head, "description") ?? "", /This is data version 2023\.1\./);
    }
  for (const year of ["2019.1", "2023.999", "1999"]) {
    const { sentence, head } = writtenAt(`${place}&year=${year}&versions=2019.1,2024.1`, versions);
    assert.match(textIn(sentence, "h1"), /^In Texas, .* for cataract surgery/);
    assert.match(
      sentence,
      /<div class="sentence"[^>]*><p class="band wrong">/,
      "that it is gone is said first",
    );
    for (const html of [sentence, head])
      assert.match(
        html,
        new RegExp(
          `“${year}” isn.{1,5}t in the data .any more.\\. This is the newest data version, 2024\\.1\\.`,
        ),
      );
  }
});

test("a data version to compare that is gone is named, and the others are compared", () => {
  const [newest, older] = [2024, 2023].map((dataYear) =>
    imageOf(syntheticSnapshot({ dataYear, revision: 1, rows: 8000, seed: 1 })),
  );
  const at = (compared: string) =>
    writtenAt(`procedure=5491&year=2024.1&versions=${compared}`, versionsOf(newest, older)).sentence;
  assert.match(
    at("2021.1,2022,2023.1,2024.1"),
    /<div class="sentence"[^>]*><p class="band wrong">Of the years to compare, “2021\.1”, “2022” aren.{1,5}t in the data \(any more\)\. <a href="\/\?procedure=5491">See the newest, 2024\.1/,
  );
  assert.doesNotMatch(at("2023.1,2024.1"), /band wrong/);
});

test("a year that no data has is named before the amounts, on a hospital's page too", () => {
  const [{ ccn }] = Object(askEndpoint(sampleVersions, "/healthcare/facilities?procedure=5072&limit=1")).data;
  for (const year of ["2019", "2019.4", "abc"])
    for (const path of ["/", `/facilities/${ccn}`]) {
      const { sentence } = writtenBy(path, `procedure=5072&year=${year}`, (path, query) =>
        Object(askEndpoint(sampleVersions, `${path.slice("/api/v1".length)}?${query}`)),
      );
      const [before, after = ""] = sentence.split(`“${year}” isn`);
      assert.match(after, /^.{1,5}t in the data .any more.\. This is the newest data version, 2024\.1\./);
      assert.doesNotMatch(before.replace(/<h1>.*?<\/h1>/, ""), /\$\d/, path);
      assert.match(after, /\$\d/);
    }
});

test("what the patient pays is one amount on a hospital's page, never an average beside it", () => {
  const { data, source } = Object(
    askEndpoint(sampleVersions, "/healthcare/facilities?procedure=5072&limit=20"),
  ) as FacilitiesAnswer;
  for (const { ccn } of data) {
    const answer = Object(askEndpoint(sampleVersions, `/healthcare/facilities/${ccn}`)) as FacilityAnswer;
    for (const { code, medicare_allowed, medicare_payment } of answer.data) {
      const { own, further } = hospitalText({ answer, code, nearby: undefined, nearDoing: null });
      const said = `${own} ${further}`;
      assert.ok(said.includes(money(shareOf(medicare_allowed, source.data_year))), said);
      const average = money(medicare_allowed - (medicare_payment ?? 0));
      const others = [medicare_allowed, shareOf(medicare_allowed, source.data_year)].map(money);
      if (typeof medicare_payment === "number" && !others.includes(average))
        assert.ok(!said.includes(average), said);
      assert.doesNotMatch(said, /on average/);
    }
  }
});

test("a hospital's page says why the asked procedure has no price, and asks for the prices nearby all the same", () => {
  const code = "5115";
  const list = (query: string): FacilitiesAnswer =>
    Object(askEndpoint(placedVersions, `/healthcare/facilities?limit=100&${query}`));
  const doing = list(`procedure=${code}&status=all&state=TX`).data;
  const priced = doing.filter(({ status }) => status === "priced");
  const suppressed = doing.filter(({ status }) => status === "suppressed");
  const others = list("state=TX").data.filter(({ ccn }) => doing.every((one) => one.ccn !== ccn));
  for (const [hospitals, said] of [
    [priced, /For a knee, hip or shoulder replacement you pay about \$[\d,]+ with Medicare\. It charges \$/],
    [
      suppressed,
      /It has no price for a knee, hip or shoulder replacement: too few Medicare patients for a price\./,
    ],
    [others, /It has no price for a knee, hip or shoulder replacement\./],
  ] as const) {
    const some = hospitals.filter(({ procedures, zip }) => procedures > 0 && zip).slice(0, 5);
    assert.ok(some.length > 0, String(said));
    for (const { ccn, zip } of some) {
      const view = hospitalViewOf(ccn, { year: null, procedure: code, versions: null }, askPlaced);
      assert.ok("answer" in view && view.nearby?.code === code, ccn);
      const nearby = view.nearDoing?.data ?? [];
      const nearest = list(`procedure=${code}&status=all&near=${zip}&within=25&sort=distance`).data;
      assert.deepEqual(nearby, nearest.slice(0, nearby.length), ccn);
      const { sentence } = writtenBy(`/facilities/${ccn}`, `procedure=${code}`, readPlaced);
      assert.match(sentence, said);
    }
  }
});

test("without an asked procedure, the prices nearby are for the one that the hospital does most", () => {
  const { data } = Object(
    askEndpoint(placedVersions, "/healthcare/facilities?limit=100"),
  ) as FacilitiesAnswer;
  for (const { ccn, procedures } of data)
    for (const code of [null, "", "9999"]) {
      const view = hospitalViewOf(ccn, { year: null, procedure: code, versions: null }, askPlaced);
      assert.ok("answer" in view);
      const most = view.answer.data.toSorted((a, b) => (b.services ?? 0) - (a.services ?? 0)).at(0);
      assert.equal(most === undefined, procedures === 0);
      assert.equal(view.nearby?.code, most?.code);
      assert.equal(view.nearDoing === null, most === undefined);
    }
});

test("two years are a sentence for a nation or a state, and nothing around a ZIP code, whose trend is unknown", () => {
  const versions = versionsOf(
    ...[2024, 2023].map((dataYear) =>
      imageOf(syntheticSnapshot({ dataYear, revision: 1, rows: 8000, seed: 1 })),
    ),
  );
  const list = Object(
    askEndpoint(versions, "/healthcare/facilities?procedure=5072&limit=1"),
  ) as FacilitiesAnswer;
  const [{ state, zip }] = list.data;
  for (const [place, isSaid] of [
    ["", true],
    [`state=${state}`, true],
    [`near=${zip}`, false],
    [`near=${zip}&within=1&with=${list.data[0].ccn}`, false],
  ] as const)
    assert.equal(
      /In 2023 the median charge was/.test(writtenAt(`procedure=5072&${place}`, versions).sentence),
      isSaid,
      place,
    );
});

test("without JavaScript, a form before the table searches by words", () => {
  assert.match(
    writtenAt("procedure=5115").main,
    /<form class="words" action="\/">.*<input id="q" name="q".*<table/,
  );
  assert.match(
    writtenAt("q=qqqq").main,
    /<form class="words" action="\/">.*<input id="q" name="q" maxlength="200" value="qqqq">/,
  );
});

test("words or a HCPCS code in place of a procedure's code are searched for", () => {
  const heading = (query: string) => textIn(writtenAt(query).sentence, "h1");
  for (const words of [
    "knee+replacement",
    "Knee%20Replacement",
    "27447",
    "cpt+27447",
    "APC+5115",
    "rodilla+nueva",
  ])
    assert.equal(heading(`procedure=${words}&state=TX`), heading("procedure=5115&state=TX"), words);
  assert.equal(heading("procedure=knee+replacement+in+Texas"), heading("procedure=5115&state=TX"));
  assert.equal(heading("procedure=5115&q=mri"), heading("procedure=5115"));
  const { sentence } = writtenAt("procedure=polyp+removal");
  assert.match(textIn(sentence, "h1"), /^“polyp removal” may mean/);
  for (const code of ["5313", "5414"]) assert.ok(sentence.includes(`href="/?procedure=${code}"`), code);
  assert.match(heading("procedure=MRI"), /^MRI: not in this data\.$/);
  assert.match(writtenAt("procedure=9999").sentence, /The data has no procedure group “9999”/);
});

test("the address says how many hospitals the list shows, up to a maximum", () => {
  const rowsAt = (query: string) => rowsIn(writtenAt(`procedure=5072&${query}`).below).length;
  for (const query of ["", "shown=", "shown=3", "shown=-1", "shown=x", "shown=10.5"])
    assert.equal(rowsAt(query), 10, query);
  for (const shown of [35, 60, 110]) assert.equal(rowsAt(`shown=${shown}`), shown);
  const most = choiceOf({ searchParams: new URLSearchParams("shown=99999") }).shown;
  assert.equal(most, 210);
  assert.ok(rowsAt("shown=99999") <= most);
  const more =
    /<a class="button" href="\/\?procedure=5072&amp;sort=name&amp;shown=(\d+)" [^>]*>Show 25 more<\/a>/;
  assert.equal(more.exec(writtenAt("procedure=5072&sort=name").below)?.[1], "35");
  assert.equal(more.exec(writtenAt("procedure=5072&sort=name&shown=35").below)?.[1], "60");
  assert.doesNotMatch(writtenAt("procedure=5072&shown=99999").below, /Show \d+ more/);
});

test("a charge's rank is described in words", () => {
  for (const [rank, facilities, words] of [
    [1, 1, "the only price"],
    [1, 20, "the lowest of 20"],
    [2, 19, "1 of 19 charges less"],
    [11, 19, "10 of 19 charge less"],
    [19, 19, "the highest of 19"],
    [2405, 2406, "2,404 of 2,406 charge less"],
  ] as const)
    assert.equal(standingText({ rank, facilities }), words);
});

test("an invalid sort order in the URL is ignored", async () => {
  const listIn = async (query: string) => textIn(await pageAt(`/?procedure=5072${query}`), "tbody");
  const whole = await listIn("");
  assert.match(whole, /Hospital \d{6}.*\$/);
  assert.equal(await listIn("&sort=-charge"), whole);
});

test("a state in the URL can be a code or a name, in any case", async () => {
  const html = await pageAt("/?procedure=5072&state=NY");
  for (const state of ["ny", "New%20York", "new+york"])
    assert.equal(
      metaOf(await pageAt(`/?procedure=5072&state=${state}`), "description"),
      metaOf(html, "description"),
    );
});

test("the patient's share is a fifth of the allowed amount, up to the year's hospital deductible", () => {
  for (const [year, allowed, words] of [
    [2023, 1396, "about $279. "],
    [2023, 12_290, "$1,600, the most that Medicare lets a hospital ask for one procedure. "],
    [2015, 12_290, "about $2,458. "],
  ] as const) {
    const text = whatIsPaid(year, allowed);
    assert.ok(text.includes(` Your share of that is ${words}`), text);
    assert.ok(whatIsPaid(year, allowed, true).includes(` Your share of that is typically ${words}`));
  }
  assert.doesNotMatch(whatIsPaid(2023), /share of that|\$/);
  assert.match(
    whatYouPay(2023),
    /^With Medicare you pay about a fifth .*at most \$1,600 for one procedure, besides/,
  );
  assert.doesNotMatch(whatYouPay(2015), /at most/);
});

test("one sentence says that all hospitals cost the patient the same, and why", () => {
  const most = ": the most that Medicare lets a hospital ask for one procedure.";
  for (const [facilities, min, max, words] of [
    [42, 9000, 20_000, `The same at all 42${most}`],
    [2, 1000, 1001, "The same at all 2."],
    [42, 1000, 20_000, ""],
    [1, 9000, 9000, ""],
  ] as const)
    assert.equal(sameShare({ facilities }, { min, max }, 2024), words);
});

test("in a sample, no patient pays more than the law allows: both deductibles", () => {
  for (const dataYear of [2016, 2023, 2026]) {
    const { table } = syntheticSnapshot({ dataYear, revision: 1, rows: 5000, seed: 1 });
    const { allowed, payment } = table.rows;
    const most = 100 * (stayDeductibles[dataYear] + outpatientDeductibles[dataYear]);
    const shares = [...allowed.keys()].filter((row) => allowed[row] !== blank && payment[row] !== blank);
    assert.ok(shares.length > 1000);
    assert.ok(
      shares.every((row) => allowed[row] - payment[row] <= most + 1),
      String(dataYear),
    );
  }
});

test("one sentence says whether a version agrees with CMS's own totals", () => {
  assert.equal(
    totalsText({ checked: 3165, agree: 3165, differ: 0, worst: null }),
    "It agrees with all 3,165 totals that CMS publishes by nation and state.",
  );
  assert.equal(
    totalsText({ checked: 3165, agree: 3164, differ: 1, worst: "5072 in AL" }),
    "It agrees with 3,164 of 3,165 totals that CMS publishes by nation and state. The largest difference: 5072 in AL.",
  );
});

test("the sentence gives the allowed range for up to 7 hospitals and the median for more", () => {
  const place = { state: null, near: null, within: 25 };
  const sentenceOf = (facilities: number) => {
    const summary = { facilities, min_charge: 20, max_charge: 50, median_charge: 35, median_allowed: 12 };
    const procedure = { name: "Level 1", title: "a heart rhythm test", words: null };
    const words = mainClause(place, {
      ...{ summary, procedure, source: { data_year: 2024 } },
      allowed: { min: 11, max: 14 },
    });
    return words.map((word) => (typeof word === "string" ? word : word.text)).join("");
  };
  assert.match(sentenceOf(2), /for a heart rhythm test\. Medicare allows \$11 to \$14\.$/);
  assert.match(sentenceOf(7), /Medicare allows \$11 to \$14\.$/);
  assert.match(sentenceOf(8), /Medicare typically allows \$12\.$/);
});

const cmsCaveat = (facilities: number) => cmsProvenance(2024, null, null, "", facilities).caveat;

test("a sentence says how many times the lowest charge the highest is, and the median charge what Medicare allows", async () => {
  const { summary } = await answerOf<ProcedureAnswer>("/healthcare/procedures/5072");
  const said = (min: number, median: number, max: number, allowed = 100, facilities = 20) =>
    comparison({
      procedure: { name: "", title: null, words: null },
      summary: {
        ...summary,
        facilities,
        min_charge: min,
        median_charge: median,
        max_charge: max,
        median_allowed: allowed,
      },
    });
  const cases: [string, string][] = [
    [
      said(100, 120, 140),
      "The highest charge is 1.4 times the lowest; the median charge is 1.2 times the median that Medicare allows.",
    ],
    [
      said(100, 250, 12_345),
      "The highest charge is 123 times the lowest; the median charge is 2.5 times the median that Medicare allows.",
    ],
    [said(100, 102, 104), "The median charge is about the median that Medicare allows."],
    [
      said(50, 60, 70),
      "The highest charge is 1.4 times the lowest; the median charge is 40% below the median that Medicare allows.",
    ],
    [said(100, 120, 150, 100, 2), "The highest charge is 1.5 times the lowest."],
    [said(300, 300, 300, 100, 1), "The charge is 3.0 times what Medicare allows."],
  ];
  for (const [text, expected] of cases) assert.equal(text, expected);
});

test("a distance of zero miles is shown in words, and an unknown one as a dash", () => {
  assert.deepEqual(
    [milesText(2, true), milesText(0, true), milesText(0, false), milesText(undefined, false)],
    ["2.0", "same ZIP", "under 1", "–"],
  );
});

for (const [kind, caveat, title] of [
  [
    "a synthetic sample",
    syntheticSnapshot({ dataYear: 2024, revision: 1, rows: 5, seed: 1 }).provenance.caveat,
    "Synthetic sample",
  ],
  ["a part of a release", cmsCaveat(1999), "Part of the data"],
  ["a whole release", cmsCaveat(2000), undefined],
] as const)
  test(`without JavaScript, the page of ${kind} shows ${title === undefined ? "no notice" : "a notice"} before its numbers`, () => {
    const read = (path: string, query: string) =>
      JSON.parse(JSON.stringify(readPlaced(path, query)), (key, value) =>
        key === "caveat" ? caveat : value,
      );
    const { sentence } = writtenBy("/", "procedure=5072", read);
    const [, band] = /<\/h1><div class="band[^>]*><b>([^<]*)\./.exec(sentence) ?? [];
    assert.equal(band, title);
  });

test("a hospital is compared only on procedure groups that other hospitals also have", async () => {
  const answer = await answerOf<FacilityAnswer>("/healthcare/facilities/000001");
  const [row] = answer.data;
  const alone = { ...row, national: { ...row.national, facilities: 1 } };
  const { further } = hospitalText({
    ...{ answer: { ...answer, data: [alone, row] }, code: null },
    ...{ nearby: undefined, nearDoing: null },
  });
  assert.match(further, / for one procedure that other hospitals have a price for/);
});

test("the page of a hospital without any price says so, and has no table", () => {
  const versions = versionsOf(
    imageOf(
      snapshotOf([
        ["000001", "CA", "5072", null, null],
        ["000002", "CA", "5072", 10, 1],
      ]),
    ),
  );
  const read = (path: string, query: string) =>
    askEndpoint(versions, `${path.slice("/api/v1".length)}?${query}`) as object;
  for (const query of ["", "procedure=5072", "procedure=9999"]) {
    const { head, sentence, main } = writtenBy("/facilities/000001", query, read);
    assert.match(sentence, /<h1>Hospital 000001<\/h1>.*It has no prices: CMS suppresses/);
    assert.match(head, /It has no prices/);
    assert.doesNotMatch(main, /<table/);
  }
  const { sentence } = writtenBy("/", "procedure=5072&with=000001", read);
  assert.match(sentence, /Hospital 000001<\/a> has no price for this procedure/);
});

test("the page for a URL without results gives the reason and escapes the URL's text", async () => {
  for (const [path, why] of [
    ["/?procedure=%3Cu%3E%26%22$%27$$$&xyzzy", "&#60;u&#62;"],
    [`/?procedure=${suppressedProcedure}`, "10 services or fewer"],
    ["/?procedure=5072&state=ZZ", "ZZ"],
    ["/?procedure=5072&near=1", "ZIP code “1” isn't known"],
    ["/?procedure=5072&near=10001&within=x&within=9", ""],
    ["/?year=1999", "1999"],
    ["/?year=../%2e%2e/%00", ""],
    ["/?procedure=%ff%00", ""],
    ["/?with=%3Ci%3E,,,&sort=%22&from=x", "60 hospitals charge"],
    ["/embed/years?state=%3Cscript%3E", "&#60;SCRIPT&#62;"],
    ["/facilities/999999", "999999"],
    ["/facilities/%ff", "“%ff” isn't a hospital's number"],
    ["/facilities/%3Cu%3E?year=%3Cu%3E", "&#60;u&#62;"],
  ]) {
    const html = await pageAt(path, path.startsWith("/facilities/") ? 404 : 200);
    assert.ok(textIn(html, "h1") !== "", path);
    assert.ok(metaOf(html, "description")?.includes(why), `${path}: ${metaOf(html, "description")}`);
    assert.doesNotMatch(html.slice(html.indexOf("</head>")), /<(u|i|script)>/i, path);
  }
});

test("a page's ETag changes with its URL and with the data", async () => {
  const target = "/?procedure=5072";
  const before = await ask(target, { "Accept-Encoding": "br" });
  const etag = before.header("ETag") ?? "";
  assert.match(String(brotliDecompressSync(before.body)), /, 2023 – What/);
  const known = () => ask(target, { "Accept-Encoding": "br", "If-None-Match": etag });
  assert.equal((await known()).status, 304);
  assert.notEqual((await ask("/?procedure=5072&state=NY", { "Accept-Encoding": "br" })).header("ETag"), etag);
  assert.equal(before.header("Cache-Control"), "no-cache");
  assert.match(before.header("Content-Security-Policy") ?? "", /script-src 'self';/);
  const arriving = datasetsFolder(currentOnly);
  renameSync(path.join(arriving, "2024.3.parquet"), path.join(datasetsDir, "2024.3.parquet"));
  await until("a page of the new data", async () => /, 2024 – What/.test(await pageAt(target)));
  assert.equal((await known()).status, 200);
});

test("without PORTAL_ACCOUNT, pages contain no key and no numbers", async () => {
  const bare = await startServer({ env: { PORTAL: "on" } });
  const page = await rawRequest(bare.api, requestText("GET /?procedure=5072", {}));
  assert.equal(textIn(String(page.body), "h1"), "What hospitals charge");
  assert.doesNotMatch(String(page.body), /\$\d/);
  assert.match(String(page.body), /<script type="application\/json" id="settings">[^<]*"key":null/);
  assert.equal(await bare.stop(), 0);
});

for (const costMs of [0.5, 2, 7])
  test(`pages of ${costMs} ms are written in a tenth of a serving thread's time, and more are sent without numbers`, async () => {
    const blank = { identity: Buffer.from("<body>loading</body>") };
    const template: PageTemplate = { parts: ["", "", ""], settings: JSON.stringify(settings) };
    const file = { path: "/", head: "Content-Type: text/html", etag: '"a"', bodies: blank, template };
    let nowMs = 5000;
    const page: WrittenPage = { body: new Uint8Array(1), etag: '"b"', isMissing: false };
    const write = async () => ({ page, cpuMs: costMs });
    const budget = new WorkBudget(writingMsPerSecond, maxWritingMs);
    const portal = new Portal([file], { write }, budget, () => nowMs);
    const request = { getHeader: () => "", getQuery: () => "", forEach: () => {} };
    const isWritten = async () => {
      portal.forget();
      const { later } = portal.reply(request, "/", "GET", false);
      return (await later)?.body === page.body;
    };
    let burst = 0;
    while (await isWritten()) burst++;
    assert.ok(
      burst * costMs >= maxWritingMs && burst * costMs < maxWritingMs + costMs,
      `${burst} pages at once`,
    );
    const [beginMs, seconds] = [nowMs, 10];
    let written = 0;
    for (; nowMs < beginMs + seconds * 1000; nowMs += 0.25) if (await isWritten()) written++;
    const share = (written * costMs) / (seconds * 1000);
    assert.ok(share > 0.09 && share <= 0.1 + costMs / (seconds * 1000), `${share} of the time`);
  });

test("around a place, the page has the API's numbers, and asks for them only if a hospital there has a price", () => {
  const query = "near=60614&within=25";
  const answer: ProcedureAnswer = Object(askEndpoint(placedVersions, `/healthcare/procedures/5115?${query}`));
  const { summary, procedure, allowed, source } = answer;
  const asked: string[] = [];
  const read = (path: string, query: string) => {
    asked.push(path.replace("/api/v1", ""));
    return Object(askEndpoint(placedVersions, `${path.replace("/api/v1", "")}?${query}`));
  };
  const pageOf = (query: string) => writtenBy("/", query, read).sentence;
  const sentence = pageOf(`procedure=5115&${query}`);
  const shares = [allowed.min, allowed.max].map((amount) => money(shareOf(amount, source.data_year)));
  for (const text of [
    ...[summary.min_charge, summary.max_charge].map(money),
    ...shares,
    `${whole(summary.facilities)}`,
    encoded(`Includes ${procedure.words}.`),
  ])
    assert.ok(sentence.includes(text), `${text} is in ${sentence}`);
  const details = () => asked.filter((path) => path === "/healthcare/procedures/5115").length;
  assert.equal(details(), 2, "the place and the nation");
  pageOf("procedure=5115&near=Marfa%2C+TX&within=1");
  assert.equal(details(), 3, "the nation alone");
});

test("however many hospitals are around a place, the page has one page of the list, and ranks from the API", () => {
  const place = "near=60614&within=500";
  const list = (query: string): FacilitiesAnswer =>
    Object(askEndpoint(placedVersions, `/healthcare/facilities?procedure=5115&${query}&limit=100`));
  const nearest = list(`${place}&sort=distance`);
  const dear = list(`${place}&sort=charge&order=desc`).data[0];
  const [far] = list("near=90012&within=500&sort=distance").data;
  const asked: string[] = [];
  const read = (path: string, query: string) => {
    asked.push(query);
    return readPlaced(path, query);
  };
  const compared = [nearest.data[0], nearest.data[9], dear];
  const { sentence } = writtenBy(
    "/",
    `procedure=5115&${place}&with=${compared.map(({ ccn }) => ccn).join(",")}`,
    read,
  );
  const { facilities } = nearest.summary;
  assert.ok(facilities > 100, "several pages of the API's list");
  assert.equal(asked.filter((query) => query.includes("limit=50")).length, 1);
  assert.equal(asked.filter((query) => query.includes("cursor=")).length, 0);
  for (const { submitted_charge: own } of compared) {
    const isCheaper = `${place}&max_charge=${((own ?? 0) - 0.01).toFixed(2)}`;
    const rank = own === nearest.summary.min_charge ? 1 : list(isCheaper).summary.facilities + 1;
    assert.ok(sentence.includes(standingText({ rank, facilities }, " there")), `${rank}: ${sentence}`);
  }
  const elsewhere = writtenBy("/", `procedure=5115&${place}&with=${far.ccn}`, read);
  assert.match(elsewhere.sentence, /in the nation/);
  assert.match(elsewhere.below, /elsewhere, not counted/);
});
