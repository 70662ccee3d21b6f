import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, afterEach, before, describe, type TestContext } from "node:test";
import type { Browser, Page } from "playwright-core";
import type {
  FacilitiesAnswer,
  FacilityAnswer,
  ProcedureAnswer,
  TrendsAnswer,
} from "../../server/parts/portal/browser/answers.ts";
import { dollarScale, letterWidth, placedTicks } from "../../server/parts/portal/browser/picture.ts";
import { states } from "../../server/parts/portal/browser/states.ts";
import { isPriced, paysTitle, shareOf } from "../../server/parts/portal/browser/words.ts";
import { leastWidths } from "../../server/shared/browser/labels.ts";
import {
  accessibilityFaults,
  addressed,
  closePages,
  type GuardedPage,
  launch,
  launchWith,
  narrow,
  nextFrame,
  openPage,
  sizes,
  test,
  testOfClicks,
  wide,
} from "../support/browser.ts";
import {
  ample,
  becomes,
  call,
  createKey,
  datasetsFolder,
  startServer,
  suppressedProcedure,
  type TestServer,
  temporaryFolder,
  until,
} from "../support/server.ts";
import { writing } from "../support/writing.ts";

/** Tests the Explore page and a hospital's page in Debian's Chromium, from a visitor's view. */

const maxFirstViewBytes = 100_000;
const maxFirstViewRequests = 4;

let server: TestServer;
let browser: Browser;
const opened: GuardedPage[] = [];

before(async () => {
  const stateDir = temporaryFolder();
  createKey(stateDir, "explore", ample);
  const env = {
    PORTAL: "on",
    PORTAL_ACCOUNT: "explore",
    EMBED_ORIGINS: "https://news.example.org",
    ...writing(true),
  };
  [server, browser] = await Promise.all([
    startServer({ stateDir, datasetsDir: datasetsFolder(), env }),
    launch(),
  ]);
});
after(async () => {
  await browser.close();
  assert.equal(await server.stop(), 0);
  assert.deepEqual(opened, [], "all pages were looked at");
});

async function open(path: string, options: Parameters<typeof openPage>[2] = {}): Promise<GuardedPage> {
  const guarded = await openPage(browser, server.api, options);
  opened.push(guarded);
  await guarded.page.goto(path);
  return guarded;
}

afterEach(() => closePages(opened));

/** Changes an answer that comes with the page of a path. */
async function changeAnswer(page: Page, path: string, target: string, change: (answer: object) => object) {
  await page.route(`**${path}`, async (route) => {
    const response = await route.fetch();
    const html = (await response.text()).replace(
      /(<script type="application\/json" id="answers">)(.*?)(?=<\/script>)/s,
      (_, start: string, json: string) => {
        const known = JSON.parse(json);
        known[target].answer = change(known[target].answer);
        return start + JSON.stringify(known);
      },
    );
    await route.fulfill({ response, body: html });
  });
}

/** Whether a request may fail because words name no procedure, place or hospital. */
const isUnknown = ({ searchParams }: URL, status: number) =>
  status === 404 || (status === 400 && searchParams.has("near"));
const answerOf = async <T>(path: string): Promise<T> =>
  JSON.parse(String((await call(server, `GET ${path}`)).body));
const procedures = "/api/v1/healthcare/procedures";
/** The choices in a page's address, without the data versions, which the page adds once it is drawn. */
function chosen(page: Page): Record<string, string> {
  const { year = "", versions = "", ...choices } = Object.fromEntries(new URL(page.url()).searchParams);
  const isSettled = /^\d{4}\.\d+$/.test(year) && versions.split(",").includes(year);
  return isSettled ? choices : { ...choices, "not settled": `${year} in ${versions}` };
}
const hasChosen = (page: Page, choices: Record<string, string>) =>
  becomes("the address's choices", () => chosen(page), choices);
/** Returns a page's address once the page has added the data versions. */
const settledUrl = (page: Page) =>
  until(
    "an address with data versions",
    () => !("not settled" in chosen(page)) && page.url(),
    () => page.url(),
  );
const dollars = (amount: number) => `$${Math.round(amount).toLocaleString("en-US")}`;
const heading = (page: Page, text: string | RegExp) =>
  page.locator(".sentence h1", { hasText: text }).waitFor();
/** The server itself writes only the heading of the map. */
const drawn = (page: Page) => page.locator('.state[data-state="NY"]').waitFor();
const card = (page: Page, title: string) =>
  page.locator("section.card", { has: page.getByRole("heading", { name: title }) });

test("the first view shows the API's numbers without an API request, and with few bytes", async (t) => {
  const { page, asked } = await open("/");
  const answer = await answerOf<ProcedureAnswer>(`${procedures}/5072`);
  const { min_charge, max_charge, median_charge, median_allowed, facilities } = answer.summary;
  await heading(
    page,
    `${facilities} hospitals charge from ${dollars(min_charge)} to ${dollars(max_charge)} for ${answer.procedure.title}. Half charge ${dollars(median_charge)} or more; Medicare typically allows ${dollars(median_allowed)}.`,
  );
  // The server writes the heading. The page's modules send the requests and draw the rows.
  await page.locator(".facilities tbody tr").nth(9).waitFor();
  assert.deepEqual(asked, [], "the answers come with the page");
  const prices = await answerOf<FacilitiesAnswer>("/api/v1/healthcare/facilities?procedure=5072&sort=charge");
  const rows = await page.locator(".facilities tbody tr").allInnerTexts();
  assert.equal(rows.length, 10);
  for (const [i, row] of rows.entries()) {
    const { facility, submitted_charge, medicare_allowed } = prices.data[i];
    for (const part of [facility, dollars(submitted_charge ?? 0), dollars(medicare_allowed ?? 0)])
      assert.ok(row.includes(part), `${part} is in ${row}`);
  }
  await page.locator(".state").first().waitFor();
  const bytes = await page.evaluate<number>(
    "performance.getEntries().reduce((sum, { encodedBodySize = 0 }) => sum + encodedBodySize, 0)",
  );
  t.diagnostic(`the first view is ${bytes} bytes compressed`);
  assert.ok(bytes < maxFirstViewBytes, `${bytes} bytes`);
  const requests = await page.evaluate<number>('1 + performance.getEntriesByType("resource").length');
  assert.ok(requests <= maxFirstViewRequests, `${requests} requests`);
});

test("a page that a busy server writes without numbers asks for them, and then shows the same", async (t) => {
  const busy = await startBusy(t);
  for (const path of ["/?procedure=5072&state=NY&with=000041", "/facilities/000001"]) {
    const texts: string[] = [];
    for (const { api } of [server, busy]) {
      const { page, asked, close, assertWellBehaved } = await openPage(browser, api);
      await page.goto(path);
      const isWritten = (await page.locator("#answers").textContent()) !== "{}";
      await page.locator(".facilities tbody tr").first().waitFor();
      assert.deepEqual([isWritten, asked.length === 0], api === busy.api ? [false, false] : [true, true]);
      texts.push((await page.locator(".explore").innerText()).replaceAll(new URL(api).host, "HOST"));
      await close();
      assertWellBehaved();
    }
    assert.equal(texts[1], texts[0]);
  }
});

/** A script for a page that records which elements move. */
const watchShifts = `
  const shifts = [];
  const note = (entries) => {
    for (const { node, previousRect: a, currentRect: b } of entries.flatMap(({ sources }) => sources))
      shifts.push([node?.className, a.x, a.y, a.width, a.height, "to", b.x, b.y, b.width, b.height].join(" "));
  };
  const observer = new PerformanceObserver((list) => note(list.getEntries()));
  observer.observe({ type: "layout-shift", buffered: true });
  globalThis.shifted = () => {
    note(observer.takeRecords());
    return shifts;
  };
`;

const addresses = [
  "/",
  "/?procedure=5072&state=NY&with=000041",
  "/?procedure=5072&with=000041,000001,000002,000003",
  "/?with=000041",
  "/?q=colonoscopy&with=000041",
  "/?procedure=5072&near=10001",
  "/?procedure=5072&near=10001&within=50&with=000041&sort=pays&order=desc",
  "/?procedure=5072&sort=name&shown=35",
  "/?procedure=5072&year=1999",
  "/?procedure=5072&year=2023.2",
  "/?procedure=5072&state=MD",
  `/?procedure=${suppressedProcedure}`,
  "/?procedure=0000",
  "/?procedure=5072&near=00000",
  "/?procedure=5072&near=xyzzy",
  "/?procedure=5072&state=ZZ",
  "/?q=knee+replacement",
  "/?q=heart",
  "/?q=colonoscopy&state=NY",
  "/?q=qqqq+%3Cb%3E%26%22",
  "/facilities/000001",
  "/facilities/000001?procedure=5072&year=2023&shown=35",
  "/facilities/000001?sort=name&order=desc",
  "/facilities/999999",
  "/embed/charges",
  "/embed/hospitals?procedure=5072&state=NY",
  "/embed/charges?procedure=5072&state=MD",
];

/** The page's elements with all their attributes and texts, but for the frame. Ids are counted in the order of drawing. */
const drawnTree = (page: Page) =>
  page.evaluate<string>(`(() => {
    const lines = [];
    const walk = (node, depth) => {
      if (node.nodeType === 3) return lines.push("  ".repeat(depth) + node.data);
      // A script sets what a field holds and not the attribute, which is only what it held at first.
      const held = "value" in node ? ["value=" + node.value, "selected=" + node.selected] : [];
      const attributes = Array.from(node.attributes).filter(({ name }) => !/^(value|selected)$/.test(name) || !("value" in node));
      const of = [...attributes.map(({ name, value }) => name + "=" + value), ...held].sort();
      lines.push("  ".repeat(depth) + "<" + node.localName + " " + of.join(" "));
      for (const child of node.childNodes) walk(child, depth + 1);
    };
    const app = document.querySelector("#app");
    app.normalize();
    walk(app, 0);
    return lines.join("\\n");
  })()`);
/** Waits until a page has its numbers, and its drawings and buttons, which come with the script. */
const isDrawn = (page: Page) =>
  until("a drawn page", () =>
    page.evaluate<boolean>(`document.querySelector(":is(.explore[aria-busy=false], .embed)") !== null
      && document.querySelectorAll(".card > .actions:empty, .picture:not(:has(use, circle, rect))").length === 0`),
  );

const viewports = [
  { width: 390, height: 844 },
  { width: 768, height: 1024 },
  { width: 1280, height: 800 },
];

for (const viewport of viewports) {
  // A phone is slow.
  const declare = viewport.width === 390 ? testOfClicks : test;
  declare(
    `at ${viewport.width} pixels, a page becomes what its script draws from nothing, and nothing moves`,
    async () => {
      for (const path of addresses) {
        const mayFail = (_: URL, status: number) => [400, 404].includes(status);
        const trees: string[] = [];
        for (const isEmptied of [false, true]) {
          const { page, close, assertWellBehaved } = await openPage(browser, server.api, {
            ...{ viewport, mayFail },
          });
          if (isEmptied)
            await page.route(`**${path}`, async (route) => {
              const response = await route.fetch();
              const body = (await response.text()).replace(/(<div id="app">).*(<\/div><script)/s, "$1$2");
              await route.fulfill({ response, body });
            });
          await page.addInitScript(watchShifts);
          await page.goto(path);
          await isDrawn(page);
          await nextFrame(page);
          trees.push(await drawnTree(page));
          if (!isEmptied) assert.deepEqual(await page.evaluate("shifted()"), [], path);
          await close();
          assertWellBehaved();
        }
        assert.equal(trees[0], trees[1], path);
      }
    },
  );
}

/** Starts a server with the same data that has no time to write numbers into pages. */
async function startBusy(t: TestContext): Promise<TestServer> {
  const stateDir = temporaryFolder();
  createKey(stateDir, "explore", ample);
  const env = { PORTAL: "on", PORTAL_ACCOUNT: "explore", EMBED_ORIGINS: "*", ...writing(false) };
  const busy = await startServer({ stateDir, datasetsDir: server.datasetsDir, env });
  t.after(() => busy.stop());
  return busy;
}

for (const viewport of viewports)
  test(`at ${viewport.width} pixels, nothing moves when numbers come to a page without numbers`, async (t) => {
    const busy = await startBusy(t);
    const shifts: Record<string, unknown> = {};
    for (const path of addresses) {
      const mayFail = (_: URL, status: number) => [400, 404].includes(status);
      const { page, close, assertWellBehaved } = await openPage(browser, busy.api, { viewport, mayFail });
      await page.addInitScript(watchShifts);
      await page.goto(path);
      await isDrawn(page);
      await nextFrame(page);
      const moved = await page.evaluate<string[]>("shifted()");
      if (moved.length > 0) shifts[path] = moved;
      await close();
      assertWellBehaved();
    }
    assert.deepEqual(shifts, {});
  });

test("without JavaScript, pages say and list the same as with it, and their links lead on", async () => {
  const seen = (page: Page) =>
    page.evaluate<string[]>(`(() => {
      const texts = document.querySelectorAll("h1, .sentence .under, .chips, .band, .list tbody tr, .compared tr, .near tr, .more, .reading > p");
      return Array.from(texts, ({ textContent }) => textContent.trim().replace(/\\s+/g, " "));
    })()`);
  for (const path of addresses) {
    const mayFail = (_: URL, status: number) => [400, 404].includes(status);
    const { page: bare, close } = await open(path, { javaScriptEnabled: false, mayFail });
    const [title, said] = [await bare.title(), await seen(bare)];
    // Closes the page before the browser warns about preloaded files that only JavaScript uses.
    await close();
    const { page, close: closeAgain } = await open(path, { mayFail });
    await isDrawn(page);
    assert.deepEqual(await seen(page), said, path);
    assert.equal(await page.title(), title);
    await closeAgain();
  }
  const { page, close } = await open("/?procedure=5072", { javaScriptEnabled: false });
  const rows = page.locator(".facilities tbody tr");
  await page.getByRole("link", { name: "Show 25 more" }).click();
  assert.equal(await rows.count(), 35);
  await page.getByRole("columnheader", { name: "Charge" }).getByRole("link").click();
  await page.getByRole("heading", { name: "highest charge first" }).waitFor();
  await rows.first().getByRole("link", { name: "Compare" }).click();
  await page.locator(".facilities tr.pinned").waitFor();
  await page.getByRole("link", { name: "Remove: A" }).click();
  assert.equal(await page.locator(".facilities tr.pinned").count(), 0);
  await page.setViewportSize(narrow);
  const search = page.getByRole("textbox", { name: "Procedure, and a place" });
  await search.fill("5072 in Alabama");
  await page.getByRole("button", { name: "Search" }).click();
  await heading(page, "In Alabama, 40 hospitals charge");
  assert.equal(new URL(page.url()).searchParams.get("q"), "5072 in Alabama");
  assert.equal(await search.inputValue(), "5072 in Alabama", "what was typed stays");
  const [box, title] = [await search.boundingBox(), await page.locator("h1").boundingBox()];
  assert.ok(box && title && box.width > 200 && box.y < title.y, JSON.stringify([box, title]));
  await page.getByRole("link", { name: "2023", exact: true }).click();
  await addressed(page, /[?&]procedure=5072&state=AL&year=2023$/);
  await page.locator('#q[value="Skin growth removal or biopsy in Alabama"]').waitFor();
  await page.getByRole("button", { name: "Search" }).click();
  await addressed(page, /[?&]q=Skin\+growth.*&year=2023$/);
  for (const path of ["/signup", "/account"]) {
    await page.goto(path);
    assert.match(await page.locator("noscript p").first().innerText(), /^This page needs JavaScript/);
  }
  await close();
});

testOfClicks("what was typed before the script stays, unselected, and gets its suggestions", async () => {
  const { page } = await open("/data");
  let send = () => {};
  const held = new Promise<void>((done) => {
    send = done;
  });
  await page.route("**/portal/explore-*.js", async (route) => {
    await held;
    await route.continue();
  });
  await page.goto("/?procedure=5072", { waitUntil: "commit" });
  const field = page.locator(".place input");
  await field.fill("Alab");
  send();
  await page.getByRole("option", { name: "Alabama" }).waitFor();
  assert.equal(await field.inputValue(), "Alab");
  assert.equal(await field.evaluate((input: HTMLInputElement) => input.selectionStart), 4);
});

test("the trend of three years breaks where a procedure's name changed, with a note; two years are a sentence", async () => {
  const path = "/api/v1/healthcare/trends?procedure=5072";
  const trends = await answerOf<TrendsAnswer>(path);
  const [first, second] = trends.data;
  const { page } = await open("/");
  await page
    .locator(".under", { hasText: `In 2023 the median charge was ${dollars(first.median_charge)}` })
    .waitFor();
  assert.equal(await card(page, "Over the years").count(), 0);
  for (const [before, runs] of [
    ["Another Definition", 2],
    [second.name, 1],
  ] as const) {
    const earlier = [2021, 2022, 2023].map((data_year) => ({ ...first, data_year, name: before }));
    await changeAnswer(page, "/", path, () => ({ ...trends, data: [...earlier, second] }));
    await page.goto("/");
    const years = card(page, "Over the years");
    await years.locator(".run").first().waitFor({ state: "attached" });
    assert.equal(await years.locator(".run").count(), runs);
    const said = years.getByText(
      `Since 2024 it is “${second.name}”, before “Another Definition”: the line breaks`,
    );
    assert.equal(await said.count(), runs - 1);
    await page.unroute("**/");
  }
});

testOfClicks("each picture offers a table, a CSV and a link below it, with the API's numbers", async () => {
  const { page } = await open("/?procedure=5072&state=NY");
  const charges = card(page, "How charges are spread");
  await charges.getByRole("button", { name: "Table" }).click();
  // The picture has a dot for each facility, so the table has each facility's numbers.
  const { data } = await answerOf<FacilitiesAnswer>(
    "/api/v1/healthcare/facilities?procedure=5072&state=NY&sort=charge",
  );
  const cells = await charges.locator("tbody td:nth-child(2)").allInnerTexts();
  assert.deepEqual(
    cells,
    data.map(({ submitted_charge }) => dollars(submitted_charge ?? 0)),
  );

  const saved = async (title: string, button: string) => {
    const download = page.waitForEvent("download");
    const opener = card(page, title).getByRole("button", { name: "Download" });
    if ((await opener.getAttribute("aria-expanded")) === "false") await opener.click();
    await card(page, title).getByRole("button", { name: button, exact: true }).click();
    const stream = await (await download).createReadStream();
    return Buffer.concat(await stream.toArray())
      .toString()
      .trimEnd()
      .split("\r\n");
  };
  const names =
    "data_year,data_version,ccn,facility,city,state,code,procedure,submitted_charge,medicare_allowed,you_pay,zip,services,source";
  for (const title of ["How charges are spread", "20 hospitals"]) {
    const [head, ...lines] = await saved(title, "CSV");
    assert.equal(head, names);
    assert.deepEqual(
      lines.map((line) => line.split(",").slice(0, 3)),
      data.map(({ ccn }) => ["2024", "2024.3", ccn]),
      `${title}: all hospitals and nothing else`,
    );
    assert.equal(lines[0].split(",")[8], String(data[0].submitted_charge));
  }

  const map = card(page, "Where hospitals charge more");
  await map.getByRole("button", { name: "Table" }).click();
  const states = await map.locator("tbody tr").allInnerTexts();
  const nation = await answerOf<ProcedureAnswer>(`${procedures}/5072`);
  const dearest = nation.data.toSorted((a, b) => b.median_charge - a.median_charge);
  assert.deepEqual(
    states.slice(0, 2).map((row) => row.trimEnd()),
    dearest.map((row) =>
      [
        { AL: "Alabama", NY: "New York" }[row.state],
        row.facilities,
        ...[row.median_charge, row.min_charge, row.max_charge, row.median_allowed].map(dollars),
      ].join("\t"),
    ),
  );
  assert.ok(states.some((row) => /^Maryland\t0\t.*sets its own hospital prices/.test(row)));

  const compared = (await open("/?procedure=5072&with=000041")).page;
  await card(compared, "How charges are spread").getByRole("button", { name: "Table" }).click();
  const numbers = card(compared, "How charges are spread").locator(".figures");
  assert.match(await numbers.innerText(), /A: .* \(000041\)/);
});

testOfClicks(
  "the menus Download and Share open below their row, by mouse and keyboard, and Escape closes them",
  async () => {
    for (const viewport of [wide, narrow]) {
      const { page } = await open("/?procedure=5072&with=000003", { viewport });
      await drawn(page);
      for (const title of ["60 hospitals", "The chosen hospital", "Where hospitals charge more"])
        for (const [name, other] of [
          ["Download", "Share"],
          ["Share", "Download"],
        ]) {
          const shown = card(page, title);
          const opener = shown.getByRole("button", { name, exact: true });
          const choices = shown.getByRole("group", { name });
          const tools = shown.locator(".actions > *, .actions .menu > button");
          await shown.getByRole("button", { name: other, exact: true }).click();
          await opener.click();
          assert.equal(await shown.locator(".choices").count(), 1, "the other menu is closed");
          const box = (await choices.boundingBox()) ?? assert.fail();
          assert.ok(box.x >= 0 && box.x + box.width <= viewport.width, "the menu is within the page");
          for (const tool of await tools.all()) {
            const { y, height } = (await tool.boundingBox()) ?? assert.fail();
            assert.ok(y + height <= box.y, `the menu is below ${await tool.innerText()}`);
          }
          await opener.focus();
          await page.keyboard.press("Tab");
          assert.equal(await choices.locator(":focus").count(), 1, "Tab leads into the menu");
          await page.keyboard.press("Escape");
          assert.equal(await choices.count(), 0);
          assert.equal(await opener.evaluate((one) => one === document.activeElement), true);
          await page.keyboard.press("Enter");
          await choices.waitFor();
          await page.locator("h1").click();
          await choices.waitFor({ state: "detached" });
        }
    }
  },
);

testOfClicks("a saved list has whole names, however long, also without spaces", async () => {
  const { page } = await open("/?procedure=5361&state=TX&with=000063");
  const list = card(page, "50 hospitals");
  await list.locator("tbody tr").first().waitFor();
  await list.getByRole("button", { name: "Download" }).click();
  const download = page.waitForEvent("download");
  await list.getByRole("button", { name: "SVG", exact: true }).click();
  const svg = String(Buffer.concat(await (await (await download).createReadStream()).toArray()));
  const widest = await page.evaluate((svg) => {
    const host = document.createElement("div");
    host.innerHTML = svg;
    document.body.append(host);
    const widths = [...host.querySelectorAll("text")].map((text) => text.getBoundingClientRect());
    host.remove();
    return Math.max(...widths.filter(({ x }) => x < 100).map(({ right, left }) => right - left));
  }, svg);
  assert.ok(widest < 940, `${widest} pixels`);
  const names = [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text]) => text).join("");
  assert.equal(names.split("院").length - 1, 480 * (await list.locator("tbody tr").count()));
});

testOfClicks(
  "a saved picture is light and of one width, whatever the window, and says once what it is of",
  async () => {
    const saved = async (viewport: typeof wide, colorScheme: "light" | "dark") => {
      const { page } = await open("/?procedure=5072&with=000003", { viewport, colorScheme });
      await drawn(page);
      const texts: string[] = [];
      for (const title of ["60 hospitals", "The chosen", "How charges", "Where hospitals"])
        for (const format of ["SVG", "CSV"]) {
          const shown = card(page, title);
          const opener = shown.getByRole("button", { name: "Download" });
          if ((await opener.getAttribute("aria-expanded")) === "false") await opener.click();
          const download = page.waitForEvent("download");
          await shown.getByRole("button", { name: format, exact: true }).click();
          texts.push(String(Buffer.concat(await (await (await download).createReadStream()).toArray())));
        }
      assert.equal(await page.locator(".for-saving").count(), 0);
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= viewport.width);
      return texts;
    };
    const files = await saved(wide, "light");
    assert.deepEqual(await saved(narrow, "dark"), files);
    for (const [i, text] of files.entries())
      if (i % 2 === 0) {
        const [, height] = /^<svg [^>]*width="988" height="(\d+)"/.exec(text) ?? [];
        // As programs open it that aren't browsers, such as those of GNOME and Wikipedia.
        const png = execFileSync("rsvg-convert", { input: text });
        assert.deepEqual([png.readUInt32BE(16), png.readUInt32BE(20)], [988, Number(height)]);
        assert.match(text, /^<svg [^>]*><rect [^>]*fill="rgb\(255, 255, 255\)"/);
        assert.doesNotMatch(text, /nothing here is real/, "these data are real");
        assert.match(text, /<(path|circle|rect) [^>]*fill="rgb\(/);
      } else
        for (const line of text.trimEnd().split("\r\n").slice(1))
          assert.match(
            line,
            /,"?Nobody & Sons, .* \(version.* 2024\.3\)\. http:\/\/[\d.:]+\/\?\S+ has statements to check each number, under “Check this number”\."?$/,
          );
    const words = files.map((text) => text.replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " "));
    assert.match(words[0], /The first 10 of 60 hospitals\. .* yearly deductible and doctors' bills/);
  },
);

testOfClicks("a picture that takes long says so, and one that can't be made says why", async () => {
  const { page } = await open("/?procedure=5072", { viewport: narrow });
  await drawn(page);
  const map = card(page, "Where hospitals charge more");
  await page.evaluate(() => {
    HTMLImageElement.prototype.decode = () =>
      new Promise((_, reject) => addEventListener("give-up", () => reject(new Error("no"))));
  });
  await map.getByRole("button", { name: "Download" }).click();
  await map.getByRole("button", { name: "PNG", exact: true }).click();
  await map.getByRole("button", { name: "saving…" }).waitFor();
  await page.evaluate(() => dispatchEvent(new Event("give-up")));
  await map.getByText("PNG wasn't saved: this browser can't draw it; try SVG").waitFor();
  await map.getByRole("button", { name: "PNG", exact: true }).waitFor();
});

testOfClicks(
  "choosing a state, procedure, year or hospital updates charts and URL, and Back restores them",
  async () => {
    const { page } = await open("/", {
      mayFail: ({ searchParams }, status) =>
        searchParams.has("near") ||
        (status === 404 &&
          (searchParams.has("city") ||
            searchParams.get("q") === "nowhere" ||
            searchParams.get("ccn") === "000045")),
    });
    await heading(page, "60 hospitals");
    await page.locator('.state[data-state="NY"]').click();
    await heading(page, "In New York, 20 hospitals charge");
    await hasChosen(page, { procedure: "5072", state: "NY" });
    await page.goBack();
    await heading(page, /^60 hospitals/);
    await page.goForward();
    await heading(page, "In New York");
    await page.getByRole("combobox", { name: "State, city or ZIP code" }).fill("alab");
    await page.getByRole("option", { name: "Alabama" }).click();
    await heading(page, "In Alabama, 40 hospitals");

    await page.getByRole("combobox", { name: "State, city or ZIP code" }).fill("nowhere");
    await page.getByRole("option", { name: "No place “nowhere” is known here." }).waitFor();
    await page.keyboard.press("Enter");
    await heading(page, "Nothing was found.");
    await page.getByText("The place “nowhere” isn't known here").waitFor();
    const place = page.getByRole("combobox", { name: "State, city or ZIP code" });
    assert.equal(await place.inputValue(), "nowhere: not known");
    assert.equal(await page.locator(".chips *").count(), 0);
    assert.match(await page.title(), /^Nothing was found – /);
    assert.doesNotMatch(await page.locator("main").innerText(), /\$\d|Maryland/);
    await page.goBack();
    await heading(page, "In Alabama, 40 hospitals");

    await page.getByRole("combobox", { name: "Procedure" }).click();
    await page.locator('.procedure [role="option"]').first().waitFor();
    await page.getByRole("option", { name: "5073" }).click();
    await heading(page, "In Alabama, two hospitals charge");
    // Two charges are drawn as dots, because there are no quartiles.
    await page.locator(".facility-dot").nth(1).waitFor();
    assert.equal(
      await page.locator(".drawing:has(.facility-dot) circle").count(),
      2,
      "each charge is drawn once",
    );
    assert.equal(await page.getByText("the middle half $").count(), 0);
    assert.equal(await page.locator(".dots line.median").count(), 0);
    await hasChosen(page, { procedure: "5073", state: "AL" });

    await page.getByLabel("Year", { exact: true }).selectOption("2023");
    const before = await answerOf<ProcedureAnswer>(`/api/v1/versions/2023${`${procedures}/5073`.slice(7)}`);
    await heading(page, dollars(before.summary.max_charge));
    await page.getByLabel("Year", { exact: true }).selectOption("2024");
    await page.goto("/?procedure=5073");
    await page.getByRole("combobox", { name: "Compare a hospital" }).fill("000045");
    await page.getByRole("option", { name: "no price for this procedure" }).waitFor();
    await page.goto("/?procedure=5072");
    await page.getByRole("combobox", { name: "Compare a hospital" }).fill("000045");
    await page.getByRole("option", { name: "Hospital 000045" }).click();
    const { data } = await answerOf<FacilityAnswer>("/api/v1/healthcare/facilities/000045");
    const row = data.find(({ code }) => code === "5072") ?? assert.fail("a price");
    await page.locator(".under", { hasText: `charges ${dollars(row.submitted_charge)}` }).waitFor();
    await page.locator(".picture .mark").first().waitFor();
    await hasChosen(page, { procedure: "5072", with: "000045" });
    await page.getByRole("link", { name: "Remove: A Hospital 000045" }).click();
    await page.locator(".picture .mark").waitFor({ state: "detached" });
  },
);

testOfClicks(
  "the address names the data version, an older version links to the newest, and one that is gone stays there",
  async () => {
    const { page, asked } = await open("/?state=NY");
    await heading(page, "In New York");
    await addressed(page, /year=2024\.3/);
    await hasChosen(page, { procedure: "5072", state: "NY" });
    assert.deepEqual(asked, [], "the address changes, and nothing is asked again");
    await page.getByLabel("Year", { exact: true }).selectOption("2023");
    await addressed(page, /year=2023\.2/);
    const under = page.locator(".under", { hasText: "This is data version 2023.2." });
    await under.getByRole("link", { name: "See the newest, 2024.3" }).click();
    await addressed(page, /year=2024\.3/);
    await under.waitFor({ state: "detached" });
    await hasChosen(page, { procedure: "5072", state: "NY" });
    for (const year of ["2023", "2023.2"]) {
      await page.goto(`/facilities/000001?procedure=5072&year=${year}`);
      await page.locator(".standing tbody tr").first().waitFor();
      await under.getByRole("link", { name: "See the newest, 2024.3" }).click();
      await addressed(page, (url) => url.pathname + url.search === "/facilities/000001?procedure=5072");
      await under.waitFor({ state: "detached" });
    }
    await page.goto("/?procedure=5073&state=AL&year=2019.4&versions=2018.1,2019.4");
    await page
      .locator(".sentence > .band.wrong:first-child", {
        hasText: "“2019.4” isn't in the data (any more). This is the newest data version, 2024.3.",
      })
      .waitFor();
    await heading(page, "In Alabama, two hospitals charge");
    await drawn(page);
    assert.ok(
      page.url().endsWith("/?procedure=5073&state=AL&year=2019.4&versions=2018.1%2C2019.4") ||
        page.url().endsWith("&year=2019.4&versions=2018.1,2019.4"),
      page.url(),
    );
    await page.getByRole("link", { name: "See the newest, 2024.3" }).click();
    await addressed(page, /year=2024\.3/);
    await hasChosen(page, { procedure: "5073", state: "AL" });
    await page.locator(".band.wrong").waitFor({ state: "detached" });
  },
);

testOfClicks(
  "words with Enter show what the data can't have before any price, or the procedure that they surely mean",
  async () => {
    const { page } = await open("/?state=NY", { mayFail: isUnknown });
    await drawn(page);
    const procedure = page.getByRole("combobox", { name: "Procedure" });
    for (const [words, said] of [
      ["colonoscopy", /^Colonoscopy .*: not in this data\.$/],
      ["mri", /^MRI: not in this data\.$/],
      ["qqqq", /^Nothing matches “qqqq”\.$/],
    ] as const) {
      await procedure.fill(words);
      await page.keyboard.press("Enter");
      await heading(page, said);
      assert.doesNotMatch(await page.locator("main").innerText(), /\$\d/);
      assert.equal(new URL(page.url()).searchParams.get("q"), words);
    }
    // The only procedure that words may mean is shown, with a question.
    await procedure.fill("zzxqy breast biopsy");
    await page.keyboard.press("Enter");
    await heading(page, "In New York, 20 hospitals charge");
    const question = "Did you mean “Skin growth removal or biopsy”? You typed “zzxqy breast biopsy”.";
    await page
      .locator(".under", { hasText: `${question} Nothing matches all words. Set aside: zzxqy.` })
      .waitFor();
    await hasChosen(page, { procedure: "5072", state: "NY", q: "zzxqy breast biopsy" });
    await page.reload();
    await page.locator(".under", { hasText: question }).waitFor();
    await page.goto("/?q=5072+in+Alabama");
    await heading(page, "In Alabama, 40 hospitals charge");
    await addressed(page, /year=2024\.3/);
    await hasChosen(page, { procedure: "5072", state: "AL" });
  },
);

testOfClicks("a field's long suggestions stay within the page", async () => {
  for (const viewport of [wide, narrow]) {
    const { page } = await open("/?procedure=5072", { viewport });
    for (const [field, text] of [
      ["Compare a hospital", "hosp"],
      ["Procedure", "level 2"],
    ]) {
      await page.getByRole("combobox", { name: field }).fill(text);
      const option = page.getByRole("listbox", { name: field }).locator("[role=option]").first();
      await option.evaluate((shown) => {
        shown.textContent = "A long name of a hospital ".repeat(9);
      });
      assert.equal(
        await page.evaluate<number>("document.documentElement.scrollWidth"),
        viewport.width,
        field,
      );
      const box = await page.getByRole("listbox", { name: field }).boundingBox();
      assert.ok(box !== null && box.x >= 0, `${field} begins at ${box?.x}`);
    }
  }
});

testOfClicks("an unknown procedure gets a message in plain words", async () => {
  const { page } = await open("/", { mayFail: isUnknown });
  for (const [text, message] of [
    ["MRI", "MRI: not in this data."],
    ["qqqq", "Nothing matches “qqqq”."],
  ]) {
    await page.getByRole("combobox", { name: "Procedure" }).fill(text);
    const said = page.locator(".procedure li.group", { hasText: message });
    await said.waitFor();
    assert.doesNotMatch(await said.innerText(), /APC|data version/);
  }
});

testOfClicks(
  "a field asks nothing for one or two letters, and asks no place or hospital where a procedure is typed",
  async () => {
    const { page, asked } = await open("/?procedure=5072", { mayFail: isUnknown });
    await drawn(page);
    const known = [`${procedures}?sort=code&limit=100`];
    for (const [name, text, said, paths] of [
      ["Procedure", "x", "“x” is short: write on.", known],
      ["Procedure", "zz", "“zz” is short: write on.", []],
      ["Procedure", "xyzzy", "Nothing matches “xyzzy”.", ["/api/v1/search?q=xyzzy&type=procedure&limit=50"]],
      ["State, city or ZIP code", "q", "“q” is short: write on.", []],
      ["State, city or ZIP code", "qq", "“qq” is short: write on.", []],
      ["State, city or ZIP code", "tx", "Texas", []],
      [
        ...["State, city or ZIP code", "xyzzy", "No place “xyzzy” is known here."],
        ["/api/v1/healthcare/facilities?near=xyzzy&within=500&limit=1"],
      ],
      ["Compare a hospital", "ab", "Write a name, a city or a ZIP code.", []],
    ] as const) {
      const before = asked.length;
      await page.getByRole("combobox", { name }).fill(text);
      await page.locator("[role=option]:visible, .said:visible", { hasText: said }).first().waitFor();
      assert.deepEqual(
        asked.slice(before).map((path) => path.replace("/versions/2024.3", "")),
        paths,
        `${name}: ${text}`,
      );
      await page.keyboard.press("Escape");
    }
    // A short text can be entered all the same.
    await page.getByRole("combobox", { name: "Procedure" }).fill("CT");
    await page.keyboard.press("Enter");
    await heading(page, /^CT.*: not in this data\.$/);
  },
);

const lookup = "https://www.medicare.gov/procedure-price-lookup/";

testOfClicks("on a phone, a tap on what isn't here leads to why, and where it is", async () => {
  const { page } = await open("/?procedure=5072", {
    ...{ viewport: narrow, hasTouch: true },
    mayFail: isUnknown,
  });
  await page.getByRole("combobox", { name: "Procedure" }).fill("MRI");
  await page.getByRole("option", { name: "MRI: not in this data." }).tap();
  await heading(page, "MRI: not in this data.");
  assert.equal(await page.locator(".under a").first().getAttribute("href"), lookup);
});

test("a scale of dollars has at least two amounts at any width, three if they fit, and none overlaps or is cut", () => {
  for (const width of leastWidths)
    for (const low of [9.5, 100, 263, 1204, 2010, 9100])
      for (const ratio of [1, 2.7, 11, 32, 400]) {
        const placed = placedTicks(dollarScale([low, low * ratio]), width);
        const said = `${width} ${low} ${ratio}: ${placed.map(({ text }) => text)}`;
        assert.ok(placed.length >= (width >= 220 && ratio > 4 && ratio < 100 ? 3 : 2), said);
        const ends = placed.map(({ text, at, anchor }) => {
          const long = text.length * letterWidth;
          const left = (at * width) / 100 - { start: 0, middle: long / 2, end: long }[anchor];
          return [left, left + long];
        });
        assert.ok(
          ends.every(([left], i) => left > (ends[i - 1]?.[1] ?? -1)),
          said,
        );
        assert.ok((ends.at(-1)?.[1] ?? width + 1) <= width, said);
      }
});

testOfClicks(
  "the address keeps how many hospitals are listed, for a reload and for the way back",
  async () => {
    const { page } = await open("/?procedure=5072");
    const rows = page.locator(".facilities tbody tr");
    await page.getByRole("link", { name: "Show 25 more" }).click();
    await rows.nth(34).waitFor();
    assert.equal(new URL(page.url()).searchParams.get("shown"), "35");
    await page.reload();
    await rows.nth(34).waitFor();
    await rows.nth(30).locator("a:not(.button)").click();
    await page.locator(".heading h1").waitFor();
    await page.goBack();
    await rows.nth(34).waitFor();
    assert.equal(await rows.count(), 35);
    // Another list is short at first, and another order isn't.
    await page.getByRole("link", { name: "Services" }).click();
    await addressed(page, /sort=services/);
    await rows.nth(34).waitFor();
    await page.getByRole("combobox", { name: "Procedure" }).fill("5073");
    await page.getByRole("combobox", { name: "Procedure" }).press("Enter");
    await addressed(page, (url) => url.searchParams.get("procedure") === "5073");
    assert.equal(new URL(page.url()).searchParams.get("shown"), null);
  },
);

test("words in place of a procedure's code become the code that they mean", async () => {
  const { page } = await open("/?procedure=breast+biopsy+in+Alabama");
  await heading(page, "In Alabama");
  await addressed(page, (url) => url.searchParams.get("procedure") === "5072");
  assert.equal(new URL(page.url()).searchParams.get("state"), "AL");
});

testOfClicks("a link and a choice lead away from a search that found no price", async () => {
  for (const q of ["MRI", "xyzzy"]) {
    const { page } = await open(`/?q=${q}`, { mayFail: isUnknown });
    await page.locator("h1", { hasText: q }).waitFor();
    await page.getByRole("link", { name: "Explore" }).click();
    await page.locator("h1", { hasText: "charge" }).waitFor();
    await page.getByRole("combobox", { name: "Procedure" }).fill("5073");
    await page.getByRole("combobox", { name: "Procedure" }).press("Enter");
    await addressed(page, /procedure=5073/);
    await page.locator("h1", { hasText: "charge" }).waitFor();
  }
});

testOfClicks(
  "a state's code or full name selects that state over others with the same beginning",
  async () => {
    const { page } = await open("/?procedure=5072", {
      mayFail: ({ searchParams }) => searchParams.has("near") || searchParams.has("city"),
    });
    const place = page.getByRole("combobox", { name: "State, city or ZIP code" });
    const texts = Object.entries(states).map(([code, { name }]) => [code.toLowerCase(), name]);
    for (const [text, name] of [...texts, ["kansas", "Kansas"], ["Virginia", "Virginia"]]) {
      await place.fill(text);
      await page
        .locator(".place [aria-selected=true] > span", { hasText: new RegExp(`^${name}$`) })
        .waitFor();
    }
    // The first arrow key selects the first suggestion, which Enter would choose.
    const chosen = page.locator(".place [aria-selected=true]");
    await place.fill("north");
    await page.locator(".place [aria-selected=true]", { hasText: "North" }).waitFor();
    const names = await page.locator(".place [role=option]").allInnerTexts();
    for (const i of [0, 1]) {
      await page.keyboard.press("ArrowDown");
      assert.equal(await chosen.innerText(), names[i]);
    }
  },
);

testOfClicks("text confirmed by Enter or Tab before suggestions appear selects its match", async () => {
  const { page } = await open("/?procedure=5072", { mayFail: isUnknown });
  await drawn(page);
  const [procedure, place] = ["Procedure", "State, city or ZIP code"].map((name) =>
    page.getByRole("combobox", { name }),
  );
  await procedure.fill("5073");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  await page.keyboard.type("alabama");
  await page.keyboard.press("Tab");
  await heading(page, "In Alabama, two hospitals charge");
  await hasChosen(page, { procedure: "5073", state: "AL" });
  // Tab chooses only an option that the text names, or that an arrow key has selected.
  const options = page.locator(".place [role=option]");
  await place.fill("new");
  await options.first().waitFor();
  await page.keyboard.press("Tab");
  await options.first().waitFor({ state: "hidden" });
  assert.equal(await place.inputValue(), "Alabama");
  await place.fill("new");
  await options.first().waitFor();
  const [name] = await options.allInnerTexts();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Tab");
  await heading(page, `No prices for`);
  assert.equal(await place.inputValue(), name.split("\n")[0]);
  // After the visitor leaves the field, it shows no error, and no text for which nothing was found.
  for (const waits of [false, true]) {
    await procedure.fill("qqqq");
    if (waits) await page.locator(".procedure li.group", { hasText: "Nothing matches" }).waitFor();
    await page.keyboard.press("Tab");
    // The field shows the chosen procedure again, although the chosen state has no prices.
    await until("the field's own text", async () => (await procedure.inputValue()) !== "qqqq");
    assert.equal(await page.locator(".procedure .said").isVisible(), false);
  }
  // After a click on an option the focus stays in the field.
  await place.click();
  await options.filter({ hasText: "Alabama" }).click();
  await heading(page, "In Alabama");
  assert.match(await page.evaluate("document.activeElement.closest('.field').className"), /place/);
  await place.fill("");
  await place.press("Enter");
  await options.first().waitFor();
  assert.equal(new URL(page.url()).searchParams.get("state"), "AL");
});

testOfClicks("the keyboard focus stays near a chosen, entered or removed item", async () => {
  const { page } = await open("/?procedure=5072&state=AL&with=000001");
  await drawn(page);
  const focused = () =>
    page.evaluate<string>("document.activeElement.closest('.field, form, .more, .card')?.className ?? ''");
  for (const [name, where] of [
    ["Remove: Alabama", "place"],
    ["Remove: A Hospital 000001", "hospital"],
  ]) {
    await page.locator(".sentence").getByRole("link", { name }).click();
    assert.match(await focused(), new RegExp(where), name);
    await page.getByRole("link", { name }).first().waitFor({ state: "detached" });
  }
  await page.getByRole("link", { name: "Show 25 more" }).click();
  await page.locator(".more", { hasText: "35 of 60" }).waitFor();
  await page.getByRole("link", { name: "Show 25 more" }).click();
  await page.getByText("These are all 60.").waitFor();
  await page.locator(".more :focus").waitFor();
});

testOfClicks(
  "a choice by touch removes the focus from its field, so the phone's keyboard closes",
  async () => {
    const { page } = await open("/?procedure=5072", { viewport: narrow, hasTouch: true });
    const place = page.getByRole("combobox", { name: "State, city or ZIP code" });
    await place.tap();
    await page.getByRole("option", { name: "Alabama" }).tap();
    await heading(page, "In Alabama");
    assert.equal(await page.locator("input:focus").count(), 0);
  },
);

test("the browser's large text size is respected without horizontal overflow", async (t) => {
  const profile = temporaryFolder();
  mkdirSync(path.join(profile, "Default"));
  const preferences = { webkit: { webprefs: { default_font_size: 32 } } };
  writeFileSync(path.join(profile, "Default", "Preferences"), JSON.stringify(preferences));
  const context = await launchWith(profile);
  t.after(() => context.close());
  const page = await context.newPage();
  for (const target of [
    "/?procedure=5072&state=NY",
    "/facilities/000001",
    "/data",
    "/reference",
    "/signup",
  ]) {
    await page.goto(server.api + target);
    await page.locator(".facilities tbody tr, .card").first().waitFor();
    assert.equal(await page.evaluate("getComputedStyle(document.body).fontSize"), "32px");
    for (const size of [wide, narrow, wide]) {
      await page.setViewportSize(size);
      await nextFrame(page);
      assert.equal(await page.evaluate("document.documentElement.scrollWidth"), size.width, target);
    }
  }
  await page.goto(`${server.api}/?procedure=5072`);
  const name = page.locator(".facilities tbody th.name").first();
  assert.ok(((await name.boundingBox())?.width ?? 0) > 300, "a row is two lines, so that a name has room");
});

test("a hospital with an unusually low allowed amount is marked", async () => {
  const path = "/api/v1/healthcare/facilities?procedure=5072&sort=charge&limit=50";
  const list = await answerOf<FacilitiesAnswer>(path);
  const [first, ...others] = list.data;
  const { page } = await open("/data");
  await page.getByRole("heading", { name: "The data" }).waitFor();
  const data = [{ ...first, medicare_allowed: 1 }, ...others];
  await changeAnswer(page, "/?procedure=5072", path, () => ({ ...list, data }));
  await page.goto("/?procedure=5072");
  const rows = page.locator(".facilities tbody tr");
  await rows.nth(9).waitFor();
  const marked = rows.filter({ hasText: "Medicare allows far less here than elsewhere" });
  assert.deepEqual(await marked.locator("a:not(.button)").allInnerTexts(), [first.facility]);
});

for (const [path, titles] of [
  ["/?procedure=5072", ["Times allowed", "Services"]],
  ["/facilities/000001", ["vs. nation", "vs. Alabama", "Services"]],
] as const)
  testOfClicks(
    `on a narrow screen, each row of ${path} has all amounts and the column that the list is sorted by`,
    async () => {
      const { page } = await open(path, { viewport: narrow });
      const row = page.locator(".facilities tbody tr").first();
      await row.waitFor();
      for (const title of titles) {
        await page.getByRole("link", { name: title }).click();
        await page.locator("th[aria-sort]", { hasText: title }).waitFor();
        const words = await row
          .locator("td[data-word]:visible")
          .evaluateAll((all) => all.map((one) => one.getAttribute("data-word") ?? ""));
        assert.deepEqual(
          words.filter((word) => word !== title),
          [paysTitle, "Allowed", "Charge"],
          title,
        );
        assert.ok(words.includes(title), title);
        assert.match(await row.locator("td.beside").innerText(), /[\d–]|no other/);
      }
    },
  );

testOfClicks(
  "a list is sorted by what the patient pays, as the API sorts by the allowed amount",
  async () => {
    const { page, asked } = await open("/?procedure=5072");
    const head = page.getByRole("columnheader", { name: paysTitle });
    for (const order of ["asc", "desc"] as const) {
      await head.getByRole("link").click();
      const path = `/api/v1/healthcare/facilities?procedure=5072&sort=allowed${order === "desc" ? "&order=desc" : ""}&limit=50`;
      const { data, source } = await answerOf<FacilitiesAnswer>(path);
      const titled = `${order === "desc" ? "the most" : "the least"} to pay first`;
      await page.getByRole("heading", { name: titled }).waitFor();
      const sent = new URL(asked.findLast((one) => one.includes("sort=")) ?? "", server.api);
      assert.deepEqual(
        [sent.searchParams.get("sort"), sent.searchParams.get("order") ?? "asc"],
        ["allowed", order],
      );
      assert.equal(await head.getAttribute("aria-sort"), order === "desc" ? "descending" : "ascending");
      assert.equal(await page.locator("th[aria-sort]").count(), 1);
      assert.deepEqual(
        await page.locator(".facilities td.pays").allInnerTexts(),
        data
          .slice(0, 10)
          .map(({ medicare_allowed }) => dollars(shareOf(medicare_allowed ?? 0, source.data_year))),
      );
    }
  },
);

for (const [size, viewport] of Object.entries({ narrow, wide }))
  test(`each row of a hospital's page says what the patient pays: ${size}`, async () => {
    const { page } = await open("/facilities/000001?sort=pays", { viewport });
    const { data, source } = await answerOf<FacilityAnswer>("/api/v1/healthcare/facilities/000001");
    await page.locator(".standing td.pays").first().waitFor();
    // On a narrow screen, the style sheet writes the column's title before the amount.
    const before = await page
      .locator(".standing td.pays")
      .evaluateAll((all) =>
        all.map((one) => [
          one.getAttribute("data-word"),
          getComputedStyle(one, "::before").content !== "none",
        ]),
      );
    for (const one of before) assert.deepEqual(one, [paysTitle, viewport === narrow]);
    assert.deepEqual(
      await page.locator(".standing td.pays").allInnerTexts(),
      data
        .toSorted((a, b) => a.medicare_allowed - b.medicare_allowed)
        .map(({ medicare_allowed }) => dollars(shareOf(medicare_allowed, source.data_year))),
    );
  });

testOfClicks("more hospitals load until all are listed, and clicking a row pins its hospital", async () => {
  const { page } = await open("/?procedure=5072");
  const rows = page.locator(".facilities tbody tr");
  await page.getByRole("link", { name: "Show 25 more" }).click();
  await page.getByRole("link", { name: "Show 25 more" }).waitFor();
  await rows.nth(34).waitFor();
  await page.getByRole("link", { name: "Show 25 more" }).click();
  await page.getByText("These are all 60.").waitFor();
  assert.equal(await rows.count(), 60);
  await rows.nth(59).locator("td.charge").click();
  await page.locator(".facilities tr.pinned").waitFor();
  assert.match(page.url(), /with=\d{6}/);
});

testOfClicks(
  "the list's title says that compared hospitals stand above the order, and its count has them",
  async () => {
    const path = "/api/v1/healthcare/facilities?procedure=5072&sort=charge&limit=100";
    const [all, inAlabama] = await Promise.all(
      ["", "&state=AL"].map(async (more) => (await answerOf<FacilitiesAnswer>(path + more)).data),
    );
    const elsewhere = all.find(({ state }) => state !== "AL") ?? assert.fail("a hospital elsewhere");
    const { page } = await open("/?procedure=5072");
    for (const [place, pinned, counted] of [
      ["", [], 10],
      ["", [all[1]], 10],
      ["", [all[40], all[2]], 10],
      ["&state=AL", [elsewhere], 11],
      ["&state=AL", [inAlabama[30], elsewhere, inAlabama[0]], 11],
    ] as const) {
      await page.goto(`/?procedure=5072${place}&with=${pinned.map(({ ccn }) => ccn).join(",")}`);
      const list = place === "" ? all : inAlabama;
      const above = pinned.length > 0 ? "compared first, then " : "";
      const title = `${list.length} hospitals, ${above}lowest charge first`;
      await page.getByRole("heading", { name: title, exact: true }).waitFor();
      const rows = page.locator(".facilities tbody tr");
      assert.equal(await rows.count(), counted);
      const outside = await rows.filter({ hasText: "elsewhere, not counted" }).count();
      assert.equal(counted - outside, 10);
      await page.locator(".more", { hasText: `10 of ${list.length}` }).waitFor();
      const names = await rows.locator(".name a:not(.button)").allInnerTexts();
      const others = list.filter(({ ccn }) => pinned.every((one) => one.ccn !== ccn));
      assert.deepEqual(
        names,
        [...pinned, ...others].slice(0, counted).map(({ facility }) => facility),
      );
      await page.getByRole("link", { name: "Show 25 more" }).click();
      await page.locator(".more", { hasText: `35 of ${list.length}` }).waitFor();
      assert.equal(await rows.count(), counted + 25);
    }
  },
);

testOfClicks(
  "hospitals chosen faster than they are drawn are all compared, and nothing moves meanwhile",
  async () => {
    const { page } = await open("/?procedure=5072");
    await drawn(page);
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route("**/api/**", async (route) => {
      await held;
      await route.continue();
    });
    const placesOf = () =>
      page
        .locator(".controls, .sentence, .card")
        .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().y + scrollY));
    const places = await placesOf();
    const rows = page.locator(".facilities tbody tr");
    const ccns = await rows
      .locator(".button")
      .evaluateAll((all) => all.slice(0, 4).map((one) => one.getAttribute("data-ccn")));
    for (const i of [0, 1]) await rows.nth(i).getByRole("link", { name: "Compare" }).click();
    await page.getByText("Still showing").waitFor();
    assert.deepEqual(await placesOf(), places);
    await rows.nth(2).locator("td.charge").click();
    await rows.nth(3).locator("td.charge").click();
    await becomes("the compared hospitals", () => chosen(page).with, ccns.slice(0, 3).join(","));
    release();
    await page.locator(".facilities tr.pinned").nth(2).waitFor();
    await page.getByText("Still showing").waitFor({ state: "detached" });
  },
);

testOfClicks("more than three hospitals to compare are said, and a fourth can't be chosen", async () => {
  const said = "No more than 3 hospitals can be compared.";
  const { page } = await open("/?procedure=5072&state=NY&with=000041,000043,000045,000047,000041,zzz", {
    mayFail: ({ pathname }) => pathname.endsWith("/zzz"),
  });
  await page.locator(".under", { hasText: `${said} Left out: 000047, zzz.` }).waitFor();
  await page.locator(".facilities .about", { hasText: said }).waitFor();
  const address = await settledUrl(page);
  const row = page.locator(".facilities tbody tr", { hasText: "000049" });
  const dot = page.locator(".facility-dot:not(.choice)").first();
  for (const one of [row.locator("td.charge"), dot]) {
    assert.equal(await one.evaluate((shown) => getComputedStyle(shown).cursor), "auto");
    await one.click({ force: true });
  }
  assert.equal(page.url(), address);
  // The next one takes the place of one that is taken off.
  await page.getByRole("link", { name: "Remove: A Hospital 000041" }).click();
  await page.locator(".under", { hasText: `${said} Left out: zzz.` }).waitFor();
  await becomes("the compared hospitals", () => chosen(page).with, "000043,000045,000047,zzz");
  await page.getByRole("link", { name: "Remove: B Hospital 000045" }).click();
  await page.getByRole("link", { name: "Remove: C zzz" }).click();
  await page.locator(".facilities .about", { hasText: said }).waitFor({ state: "detached" });
  await row.locator("td.charge").click();
  await addressed(page, (url) => url.searchParams.get("with") === "000043,000047,000049");
});

testOfClicks("a bar shows its numbers and promises no click, and a dot chooses its hospital", async () => {
  const { page } = await open("/?procedure=5072");
  const cursorOf = (selector: string) =>
    page
      .locator(selector)
      .first()
      .evaluate((one) => getComputedStyle(one).cursor);
  const bar = page.locator(".bar", { has: page.locator(".amount") }).first();
  await bar.hover();
  await page.locator(".note", { hasText: /hospitals?\$/ }).waitFor();
  const address = await settledUrl(page);
  await bar.click();
  assert.equal(page.url(), address);
  for (const part of [".bar", ".bar .reach", ".bar .amount"]) assert.equal(await cursorOf(part), "auto");
  await page.goto("/?procedure=5072&state=NY");
  await page.locator(".facility-dot").first().waitFor();
  assert.equal(await cursorOf(".facility-dot"), "pointer");
  await page.locator(".facility-dot").first().click();
  await addressed(page, (url) => url.searchParams.has("with"));
});

test("every page's header is in one place, at any width", async () => {
  for (const viewport of Object.values(sizes)) {
    const places = new Set<string>();
    for (const path of ["/?procedure=5072", "/facilities/000001", "/data", "/reference", "/account", "/no"]) {
      const { page } = await open(path, { viewport, mayFail: ({ pathname }) => pathname === "/no" });
      const [name, nav] = await page
        .locator(".top .name, .top nav")
        .evaluateAll((all) => all.map((one) => one.getBoundingClientRect()));
      // On a line of its own the navigation begins at the left.
      places.add(`${name.left}, ${nav.top >= name.bottom ? nav.left : nav.right}`);
    }
    assert.equal(places.size, 1, `${viewport.width}: ${[...places]}`);
  }
});

test("marks of hospitals with nearly the same charge don't overlap", async () => {
  const list = await answerOf<FacilitiesAnswer>("/api/v1/healthcare/facilities?procedure=5072&limit=100");
  const priced = list.data.filter(isPriced).toSorted((a, b) => a.submitted_charge - b.submitted_charge);
  const distances = priced.slice(2).map((third, i) => third.submitted_charge / priced[i].submitted_charge);
  const nearest = distances.indexOf(Math.min(...distances));
  const three = priced.slice(nearest, nearest + 3).map(({ ccn }) => ccn);
  const { page } = await open(`/?procedure=5072&with=${three.join(",")}`);
  await page.locator(".picture .mark").nth(2).waitFor();
  const shapes = await page
    .locator(".card:has(.bar) .mark .pin-shape")
    .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().toJSON() as DOMRect));
  // Each of the three hospitals has three shapes: beside the label, at the charge and at the allowed amount.
  assert.equal(shapes.length, 9);
  const covered = shapes.filter((a, i) =>
    shapes
      .slice(i + 1)
      .some((b) => a.x < b.right - 2 && b.x < a.right - 2 && a.y < b.bottom - 2 && b.y < a.bottom - 2),
  );
  assert.deepEqual(covered, []);
});

for (const viewport of [wide, narrow])
  test(`at ${viewport.width} pixels, texts of drawings are large enough, and none covers another one`, async () => {
    const { data } = await answerOf<FacilitiesAnswer>("/api/v1/healthcare/facilities?procedure=5072&limit=3");
    const compared = data.map(({ ccn }) => ccn).join(",");
    for (const path of [
      `/?procedure=5072&with=${compared}`,
      "/?procedure=5073&state=AL",
      "/facilities/000001",
    ]) {
      const { page } = await open(path, { viewport });
      await isDrawn(page);
      const drawings = await page.locator(".drawing").evaluateAll((all) =>
        all.map((drawing) =>
          [...drawing.querySelectorAll("text")]
            .filter((text) => text.getClientRects().length > 0)
            .map((text) => ({
              text: text.textContent ?? "",
              size: (text.getScreenCTM()?.a ?? 0) * Number.parseFloat(getComputedStyle(text).fontSize),
              box: text.getBoundingClientRect().toJSON() as DOMRect,
            })),
        ),
      );
      const texts = drawings.flat();
      assert.ok(texts.length > 0, path);
      assert.deepEqual(
        texts.filter(({ size }) => size < 11.99),
        [],
        path,
      );
      const covered = drawings.flatMap((texts) =>
        texts.flatMap(({ text, box: a }, i) =>
          texts
            .slice(i + 1)
            .filter(
              ({ box: b }) => a.x < b.right && b.x < a.right && a.y + 2 < b.bottom && b.y + 2 < a.bottom,
            )
            .map((other) => `${text} and ${other.text}`),
        ),
      );
      assert.deepEqual(covered, [], path);
    }
  });

interface Box {
  what: string;
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** Finds the boxes of cards, and of what is in each card. What continues on the next page has a box on each page. */
const cardsOf = (page: Page) =>
  page.locator(".card").evaluateAll((cards) => {
    const boxesOf = (one: Element): Box[] =>
      [...one.getClientRects()].map((box) => ({
        ...(box.toJSON() as Omit<Box, "what">),
        what: `${one.tagName} ${one.textContent?.trim().slice(0, 40)}`,
      }));
    return cards.map((card) => ({
      boxes: boxesOf(card),
      inside: [...card.querySelectorAll("h2, p, tr, .drawing, .drawing text")]
        .filter((one) => !one.matches(".unseen, .unseen *"))
        .flatMap(boxesOf),
    }));
  });

test("on paper each drawing, row and text is within its card, and no card covers another one", async () => {
  const trendsPath = "/api/v1/healthcare/trends?procedure=5072";
  const trends = await answerOf<TrendsAnswer>(trendsPath);
  const list = await answerOf<FacilitiesAnswer>("/api/v1/healthcare/facilities?procedure=5072&limit=3");
  const [{ ccn }] = list.data;
  const compared = `&with=${list.data.map((one) => one.ccn).join(",")}`;
  const { page } = await open("/");
  const nation = "/?procedure=5072";
  const alone = [nation, `${nation}${compared}`];
  for (const path of alone)
    await changeAnswer(page, path, trendsPath, () => {
      const earlier = [2021, 2022].map((data_year) => ({ ...trends.data[0], data_year }));
      return { ...trends, data: [...earlier, ...trends.data] };
    });
  // Letter and A4 with margins of a centimetre, and small pages, which end at many places.
  for (const path of [...alone, `${nation}&state=NY${compared}`, `/facilities/${ccn}?procedure=5072`])
    for (const [width, height] of [
      [740, 980],
      [718, 1047],
      [600, 560],
    ]) {
      await page.emulateMedia({ media: "screen" });
      await page.setViewportSize(wide);
      await page.goto(path);
      await page.locator(".list tbody tr").first().waitFor();
      if (alone.includes(path)) await card(page, "Over the years").locator(".run").first().waitFor();
      await page.emulateMedia({ media: "print" });
      await page.setViewportSize({ width, height });
      // Columns end like pages.
      const pages = `columns: ${width}px auto; column-gap: 40px; column-fill: auto; height: ${height}px`;
      await page.locator("body").evaluate((body, style) => {
        body.style.cssText = style;
      }, pages);
      await nextFrame(page);
      const cards = await cardsOf(page);
      for (const { boxes, inside } of cards)
        for (const one of inside)
          assert.ok(
            boxes.some(
              (box) =>
                one.left >= box.left - 1 &&
                one.right <= box.right + 1 &&
                one.top >= box.top - 1 &&
                one.bottom <= box.bottom + 1,
            ),
            `${path} at ${width}: ${JSON.stringify(one)} is in ${JSON.stringify(boxes)}`,
          );
      const all = cards.flatMap(({ boxes }) => boxes);
      const covered = all.filter((a, i) =>
        all
          .slice(i + 1)
          .some((b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom),
      );
      assert.deepEqual(covered, [], `${path} at ${width}`);
      const texts = await page
        .locator(".drawing text:visible")
        .evaluateAll((all) =>
          all.map(
            (text) =>
              ((text as SVGTextElement).getScreenCTM()?.a ?? 0) *
              Number.parseFloat(getComputedStyle(text).fontSize),
          ),
        );
      // A hospital's list leaves its scale no room for texts.
      assert.ok(texts.length > 0 || path.startsWith("/facilities/"), path);
      assert.ok(
        texts.every((size) => size >= 12),
        `${path}: texts are large enough`,
      );
      const said = await page.locator("main").innerText();
      assert.ok(!said.includes("can be compared"), "a hint for the screen");
      if (path.includes(compared))
        for (const { facility } of list.data)
          assert.ok((await page.locator(".sentence").innerText()).includes(`${facility} charges`));
    }
});

testOfClicks("a facility's page shows the API's data and links back with the facility selected", async () => {
  const { page } = await open("/facilities/000001");
  await heading(page, "Hospital 000001");
  const { data } = await answerOf<FacilityAnswer>("/api/v1/healthcare/facilities/000001");
  // The server writes the heading, and the page's modules draw the rows.
  await page.locator(".standing tbody tr").first().waitFor();
  const rows = await page.locator(".standing tbody tr").allInnerTexts();
  assert.equal(rows.length, data.length);
  const [first] = data.toSorted(
    (a, b) => b.submitted_charge / b.national.median_charge - a.submitted_charge / a.national.median_charge,
  );
  const { national, submitted_charge } = first;
  const above = Math.round((submitted_charge / national.median_charge - 1) * 100);
  for (const part of [
    `median ${dollars(national.median_charge)}`,
    dollars(submitted_charge),
    `${Math.abs(above)}%`,
  ])
    assert.ok(rows[0].includes(part), `${part} is in ${rows[0]}`);
  await page.locator(".standing tbody a").first().click();
  await hasChosen(page, { procedure: first.code, with: "000001" });
  await page.goBack();
  await heading(page, "Hospital 000001");
});

test("an embedded chart shows its sentence, or why it has none", async () => {
  const { page } = await open("/embed/charges?procedure=5072", { mayFail: isUnknown });
  await heading(page, "60 hospitals charge");
  await page.locator("svg.drawing").waitFor();
  await page.locator(".source", { hasText: /Source: .+ \(version 2024\.3\)/ }).waitFor();
  assert.equal(await page.locator("nav, .under:visible, .actions:visible").count(), 0);
  await page.goto("/embed/charges?procedure=5072&state=MD");
  await heading(page, /^No prices for .+ in Maryland\.$/);
});

describe("the explore page", () => {
  const mayFail = () => true;

  test("shows why nothing is found", async () => {
    const { page, asked } = await open(`/?procedure=${suppressedProcedure}`, { mayFail });
    await page
      .getByText(
        "One hospital did it for too few Medicare patients (10 services or fewer), so no charge is published.",
      )
      .waitFor();
    // The server writes the text, and the page's modules fill in the year.
    await page.locator("#year option:checked", { hasText: "2024" }).waitFor({ state: "attached" });
    assert.equal(new Set(asked).size, asked.length, "no request is sent twice");
    const field = page.getByRole("combobox", { name: "Procedure" });
    const named = new RegExp(`^${suppressedProcedure}$|^[A-Z]`);
    assert.match(await field.inputValue(), named);
    assert.match(await page.title(), /^\S.* – What hospitals charge$/);
    for (const [search, text] of [
      ["?procedure=5072&state=ZZ", "There is no state “ZZ”"],
      ["?procedure=50%0172", "The data has no procedure group “50\ufffd72”"],
      ["?procedure=5072&year=1999", "“1999” isn't in the data (any more)."],
      ["?procedure=5072&with=99%0199", "“99\ufffd99” isn't a hospital's number"],
    ]) {
      await page.goto(`/${search}`);
      await page.locator(".sentence p", { hasText: text }).waitFor();
    }
    await page.goto("/?procedure=5072&state=MD");
    await heading(page, /^No prices for .+ in Maryland\.$/);
    await page.locator(".under", { hasText: "Maryland sets its own hospital prices" }).waitFor();
    await page.goto("/facilities/999999");
    await page.getByText("No hospital in the data has the number (CCN) 999999").waitFor();
    await page.goto("/facilities/%ff");
    await page.getByText("“%ff” isn't a hospital's number (CCN)").waitFor();
  });

  testOfClicks(
    "shows that the server can't be reached, keeps its charts, and recovers automatically",
    async () => {
      const { page } = await open("/?procedure=5072", { mayFail });
      await heading(page, "60 hospitals");
      await drawn(page);
      await page.route("**/api/**", (route) => route.abort());
      await page.locator('.state[data-state="NY"]').click();
      await page.getByText("The server can't be reached.").waitFor();
      await page.getByText(/Still showing .*, 2024\./).waitFor();
      await page.locator(".explore.late").waitFor();
      await heading(page, "60 hospitals");
      await page.unroute("**/api/**");
      await heading(page, "In New York");
      await page.getByRole("alert").waitFor({ state: "detached" });
    },
  );

  const refusal = (status: number, message: string, retryAfter: string) => ({
    status,
    headers: { "Retry-After": retryAfter },
    json: { error: { type: status === 401 ? "missing_api_key" : "rate_limit_exceeded", message } },
  });

  testOfClicks(
    "shows that a key is needed or the quota is used up, and accepts the visitor's key",
    async () => {
      const { page } = await open("/", { mayFail });
      await heading(page, "60 hospitals");
      for (const [status, text] of [
        [401, "A key is needed to look."],
        [429, "The requests without a key of your own are used up for now."],
      ] as const) {
        await page.route("**/api/**", async (route, request) => {
          const isOwn = request.headers().authorization === `Bearer ${server.key}`;
          if (isOwn) await route.continue();
          else await route.fulfill(refusal(status, "no", "86400"));
        });
        await page.goto("/");
        await page.locator('.state[data-state="NY"]').click();
        await page.getByText(text).waitFor();
        await page.getByLabel("Your key").fill(server.key);
        await page.getByRole("button", { name: "Use this key" }).click();
        await heading(page, "In New York");
        await page.evaluate("localStorage.clear()");
        await page.unroute("**/api/**");
      }
    },
  );

  testOfClicks("retries silently when the rate limit per second is reached", async () => {
    const { page } = await open("/", { mayFail });
    await heading(page, "60 hospitals");
    await drawn(page);
    let refused = 0;
    await page.route("**/api/**", async (route) => {
      if (refused++ < 2) await route.fulfill(refusal(429, "no", "1"));
      else await route.continue();
    });
    await page.locator('.state[data-state="NY"]').click();
    await heading(page, "In New York");
    assert.ok(refused > 2);
    assert.equal(await page.getByRole("alert").count(), 0);
  });
});

test("related elements are aligned", async () => {
  const { page } = await open("/?procedure=5072&state=NY");
  const boxesOf = (selector: string) =>
    page
      .locator(selector)
      .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().toJSON() as DOMRect));
  await drawn(page);
  const [title] = await boxesOf(".card:has(.map) h2");
  const [button] = await boxesOf(".card:has(.map) .actions button");
  const [drawing] = await boxesOf(".card:has(.map) .picture");
  assert.ok(button.y >= drawing.bottom, "the tools are below the picture");
  // The button's text begins nine pixels inside the button's edge, which is visible only on hover.
  assert.ok(Math.abs(button.x + 9 - title.x) <= 1, `${button.x} and ${title.x}`);
  await page.goto("/reference");
  await page.locator(".general h2").nth(5).waitFor();
  const gaps = await page
    .locator(".general > h2")
    .evaluateAll((all) =>
      all
        .slice(1)
        .map(
          (one) =>
            one.getBoundingClientRect().y - (one.previousElementSibling?.getBoundingClientRect().bottom ?? 0),
        ),
    );
  for (const gap of gaps) assert.ok(gap >= 20, `a heading is ${gap} pixels below what stands before it`);
  await page.goto("/reference#prices");
  await page.locator(".try select").first().waitFor();
  const heights = new Set((await boxesOf(".try .field")).map(({ height }) => Math.round(height)));
  assert.equal(heights.size, 1, `fields are ${[...heights].join(", ")} pixels high`);
  await page.setViewportSize(narrow);
  await page.goto("/facilities/000001");
  await page.locator(".standing td.pays").first().waitFor();
  const [pays, allowed, charge] = await boxesOf(
    ".standing tbody tr:first-child td:is(.pays, .allowed, .charge)",
  );
  assert.equal(pays.x, allowed.x, "the amounts begin at one edge");
  assert.equal(allowed.y, charge.y, "what the hospital is allowed and charges is one line");
});

testOfClicks("all controls can be reached and used by keyboard alone", async () => {
  const { page } = await open("/");
  await drawn(page);
  const tabTo = async (selector: string) => {
    for (let tabs = 0; tabs < 80; tabs++) {
      await page.keyboard.press("Tab");
      if ((await page.locator(`${selector}:focus`).count()) > 0) return;
    }
    assert.fail(`${selector} isn't reached by Tab`);
  };
  await tabTo(".procedure input");
  await page.keyboard.press("ArrowDown");
  await page.locator('.procedure [role="option"]').first().waitFor();
  await page.keyboard.press("Escape");
  await page.locator('.procedure [role="option"]').first().waitFor({ state: "detached" });
  await page.keyboard.type("5072");
  await page.locator('[role="option"][aria-selected="true"]', { hasText: "5072" }).waitFor();
  await page.keyboard.press("Enter");
  await addressed(page, /procedure=5072/);
  await tabTo(".place input");
  await page.keyboard.type("alabama");
  await page.locator('[role="option"][aria-selected="true"]', { hasText: "Alabama" }).waitFor();
  await page.keyboard.press("Enter");
  await heading(page, "In Alabama");
  await tabTo(".map .picture");
  await page.keyboard.press("ArrowRight");
  await page.locator(".map .note", { hasText: "Alabama" }).waitFor();
  await page.keyboard.press("Enter");
  await heading(page, /^60 hospitals/);
  const compare = page.locator(".facilities tbody .name .button");
  const ccns = await compare.evaluateAll((all) => all.slice(0, 4).map((one) => one.getAttribute("data-ccn")));
  for (const [i, ccn] of ccns.slice(0, 3).entries()) {
    await compare.nth(i).focus();
    await page.keyboard.press("Enter");
    // The focus stays on the hospital's row when the row moves.
    await page.locator(`.facilities tr.pinned [data-ccn="${ccn}"]:focus`).waitFor();
  }
  await page.locator(`.facilities [data-ccn="${ccns[3]}"]`).waitFor({ state: "detached" });
  assert.equal(await compare.count(), 3);
  await page.keyboard.press("Enter");
  await compare.nth(3).waitFor();
  await tabTo(".facilities .name > a");
  await page.keyboard.press("Enter");
  await addressed(page, /\/facilities\/\d{6}/);
  await page.locator(".standing tbody tr").first().waitFor();
});

/**
 * What stands alone and is lower than a finger. A field is as high as with its label. No such things are links within
 * texts, the name in a list's row, marks of a drawing, and the site's name, because the first page's name leads to the same.
 */
const smallTargets = `(() => {
  const all = [...document.querySelectorAll("a[href], button, select, input, summary")];
  const isInText = (one) => one.localName === "a" && getComputedStyle(one).display === "inline";
  return all.filter((one) => one.checkVisibility({ visibilityProperty: true }) && !isInText(one) && !one.matches(".skip, svg *, .top > .name, th.name > a:first-of-type"))
    .map((one) => [one, (one.closest(".field") ?? one).getBoundingClientRect()])
    .filter(([, { width, height }]) => height < 44 || width < 24)
    .map(([one, { width, height }]) => one.outerHTML.slice(0, 150) + " is " + width + " x " + height);
})()`;

test("on a phone, whatever stands alone and can be tapped is as high as a finger", async () => {
  for (const path of [
    "/",
    "/?procedure=5072&near=10001&with=000003,000004",
    "/?procedure=5072&state=NY&with=000041&sort=pays",
    "/?q=heart",
    "/facilities/000001?procedure=5072",
    "/data",
    "/signup",
    "/account",
  ]) {
    const { page } = await open(path, { viewport: narrow });
    await page.locator("h1, .sentence h1").first().waitFor();
    if (/^\/(\?|facilities|$)/.test(path)) await isDrawn(page);
    assert.deepEqual(await page.evaluate<string[]>(smallTargets), [], path);
    const menu = page.getByRole("button", { name: "Download", exact: true }).first();
    if (!(await menu.isVisible())) continue;
    await menu.click();
    await page.getByRole("group", { name: "Download" }).waitFor();
    assert.deepEqual(await page.evaluate<string[]>(smallTargets), [], `the menu at ${path}`);
  }
});

for (const [size, viewport] of Object.entries(sizes))
  for (const colorScheme of ["light", "dark"] as const)
    test(`pages have no accessibility faults and no overflow: ${size}, ${colorScheme}`, async () => {
      for (const path of [
        "/?procedure=5072&with=000003,000004",
        "/?q=zzxqy+breast+biopsy",
        "/?state=AL&procedure=5073",
        "/facilities/000001",
      ]) {
        const { page } = await open(path, { viewport, colorScheme, bypassCSP: true });
        if (path.includes("q=")) {
          await page.locator(".chips").waitFor({ state: "attached" });
          assert.deepEqual(await accessibilityFaults(page), [], path);
          continue;
        }
        await page.locator(".facilities tbody tr").first().waitFor();
        if (path.startsWith("/?")) await page.locator(".state").first().waitFor();
        assert.equal(
          await page.evaluate<number>("document.documentElement.scrollWidth"),
          viewport.width,
          path,
        );
        const dots = await page.locator("tbody td.dots svg").first().boundingBox();
        const name = await page.locator("tbody th.name").first().boundingBox();
        assert.ok(name !== null && name.width > 150, `a name has room: ${JSON.stringify(name)}`);
        assert.ok(dots !== null && dots.width > 80, `the dots stay: ${JSON.stringify(dots)}`);
        assert.deepEqual(await accessibilityFaults(page), [], path);
      }
    });
