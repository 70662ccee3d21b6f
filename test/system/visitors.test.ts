import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, afterEach, before } from "node:test";
import { promisify } from "node:util";
import { parse } from "csv-parse/sync";
import type { Browser, Page } from "playwright-core";
import { publishSnapshot } from "../../datasets/revisions.ts";
import { defaultSampleSeed, syntheticSnapshot } from "../../datasets/sample/synthetic.ts";
import { encodeSnapshot } from "../../engine/index.ts";
import type { ProcedureAnswer } from "../../server/parts/portal/browser/answers.ts";
import {
  addressed,
  closePages,
  type GuardedPage,
  launch,
  narrow,
  openPage,
  testOfClicks,
} from "../support/browser.ts";
import {
  ample,
  becomes,
  call,
  createKey,
  startServer,
  type TestServer,
  temporaryFolder,
} from "../support/server.ts";
import { writing } from "../support/writing.ts";

/** Tests in Debian's Chromium what visitors type, save and fill in, where they stumbled before. */

const years = [2022, 2023, 2024];
const rows = 10_000;

let server: TestServer;
let browser: Browser;
let key = "";
const opened: GuardedPage[] = [];

before(async () => {
  const stateDir = temporaryFolder();
  createKey(stateDir, "explore", ample);
  key = createKey(stateDir, "developer", ample);
  const env = { PORTAL: "on", PORTAL_ACCOUNT: "explore", SIGNUP: "open", ...writing(true) };
  const datasetsDir = temporaryFolder();
  for (const dataYear of years)
    publishSnapshot(datasetsDir, dataYear, [], (revision) =>
      encodeSnapshot(syntheticSnapshot({ dataYear, revision, rows, seed: defaultSampleSeed + dataYear })),
    );
  [server, browser] = await Promise.all([startServer({ stateDir, datasetsDir, env }), launch()]);
});
after(async () => {
  await browser.close();
  assert.equal(await server.stop(), 0);
});

async function open(path: string, options: Parameters<typeof openPage>[2] = {}): Promise<Page> {
  const guarded = await openPage(browser, server.api, options);
  opened.push(guarded);
  await guarded.page.goto(path);
  return guarded.page;
}

afterEach(() => closePages(opened));

const placeField = "State, city or ZIP code";
/** A place that isn't known is 400, and one without hospitals is 404. */
const isNoPlace = ({ searchParams }: URL, status: number) =>
  (status === 400 && searchParams.has("near")) || status === 404;

testOfClicks(
  "a mistyped city, a ZIP code in a text and a county lead on from the field of the place",
  async () => {
    const page = await open("/?procedure=5072", { viewport: narrow, mayFail: isNoPlace });
    const place = page.getByRole("combobox", { name: placeField });
    for (const [text, near] of [
      ["Sprinfield, IL", "Springfield, IL"],
      ["springfield il 62704", "62704"],
      ["2139", "02139"],
    ]) {
      await place.fill(text);
      await page.getByRole("option", { name: `Within 50 miles of ${near}` }).click();
      await page.locator(".sentence h1", { hasText: `within 50 miles of ${near}` }).waitFor();
    }
    await place.fill("Sangamon County");
    await page.getByRole("option", { name: "“Sangamon County” is a county" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByText("“Sangamon County” is a county, and counties aren't known here").waitFor();
    await page.goto("/?procedure=5072&near=Sprinfield,+IL");
    await page.getByRole("link", { name: "Springfield, Illinois" }).click();
    await page.locator(".sentence h1", { hasText: "of Springfield, IL" }).waitFor();
  },
);

async function savedFrom(page: Page, title: string) {
  const card = page.locator("section.card", { has: page.getByRole("heading", { name: title }) });
  await card.getByRole("button", { name: "Download" }).click();
  const downloading = page.waitForEvent("download");
  await card.getByRole("button", { name: "CSV", exact: true }).click();
  const download = await downloading;
  const text = String(Buffer.concat(await (await download.createReadStream()).toArray()));
  // Throws unless each line has as many fields as the first.
  const rows: Record<string, string>[] = parse(text, { columns: true });
  return { name: download.suggestedFilename(), rows };
}

testOfClicks(
  "each saved CSV has rows of data only, named as in the exports, and the list has all its rows in its order",
  async () => {
    const exported = String((await call(server, "GET /api/v1/export.csv?procedure=5072")).body);
    const known: Record<string, string>[] = parse(exported, { columns: true });
    const priced = known.filter(({ status }) => status === "priced");
    const rowOf = new Map(priced.map((row) => [row.ccn, row]));
    const page = await open("/?procedure=5072&sort=charge&order=desc");
    const list = await savedFrom(page, `${priced.length} hospitals`);
    assert.equal(list.name, "opps-2024.1-5072.csv");
    const charges = list.rows.map((row) => Number(row.submitted_charge));
    assert.deepEqual(
      charges,
      charges.toSorted((a, b) => b - a),
      "in the order on the screen",
    );
    assert.equal(list.rows.length, priced.length, "all rows, though ten are shown");
    const ofOwn = ["you_pay", "distance", "source"];
    for (const row of list.rows) {
      const expected = rowOf.get(row.ccn) ?? assert.fail(row.ccn);
      for (const [name, value] of Object.entries(row))
        if (!ofOwn.includes(name)) assert.equal(value, expected[name], `${row.ccn}: ${name}`);
      assert.equal(Number(row.you_pay), Math.round(20 * Number(row.medicare_allowed)) / 100);
      assert.match(row.source, / \(version 2024\.1\)\. /);
    }
    await page.goto(`/?procedure=5072&near=${priced[0].zip}&within=500`);
    const around = await savedFrom(page, "nearest first");
    assert.equal(around.name, `opps-2024.1-5072-${priced[0].zip}-500mi.csv`);
    const miles = around.rows.map(({ distance }) => Number(distance));
    assert.deepEqual(
      miles,
      miles.toSorted((a, b) => a - b),
    );
    for (const [path, title] of [
      ["/?procedure=5072", "Where hospitals charge more"],
      ["/?procedure=5072", "How charges are spread"],
      [`/?procedure=5072&with=${priced[0].ccn}`, "The chosen hospital"],
      ["/?procedure=5072", "Over the years"],
      [`/facilities/${priced[0].ccn}`, "against the nation first"],
    ]) {
      await page.goto(path);
      const { name, rows } = await savedFrom(page, title);
      assert.match(name, /^opps-/);
      for (const { data_year, data_version, source } of rows)
        assert.ok(data_version.startsWith(`${data_year}.`) && source.includes(data_version), title);
    }
  },
);

testOfClicks("the map has a target for DC, and names Puerto Rico and DC where it counts states", async () => {
  const page = await open("/?procedure=5072", { viewport: narrow });
  const { data } = JSON.parse(
    String((await call(server, "GET /api/v1/healthcare/procedures/5072")).body),
  ) as ProcedureAnswer;
  const codes = data.map(({ state }) => state);
  const counted = codes.filter((code) => code !== "DC" && code !== "PR").length;
  const label = (await page.locator(".map svg[role=img]").getAttribute("aria-label")) ?? "";
  assert.match(label, new RegExp(`^Map of the median charge by state, ${counted} states\\b`));
  for (const [code, name] of [
    ["DC", "DC"],
    ["PR", "Puerto Rico"],
  ]) {
    assert.equal(label.includes(name), codes.includes(code), label);
    const shape = page.locator(`.state[data-state="${code}"]`);
    const box = (await shape.boundingBox()) ?? assert.fail(code);
    await shape.click({ position: { x: box.width - 6, y: box.height - 6 } });
    await addressed(page, (url) => url.searchParams.get("state") === code);
    await page.goBack();
    await shape.waitFor();
  }
});

testOfClicks(
  "a number that lost its zero leads to the hospital, and an empty circle to the nearest",
  async () => {
    const exported = String((await call(server, "GET /api/v1/export.csv?procedure=5072")).body);
    const known: Record<string, string>[] = parse(exported, { columns: true });
    const { ccn, facility } = known.find(({ ccn }) => ccn.startsWith("9")) ?? assert.fail("a hospital");
    const page = await open(`/facilities/${ccn.slice(0, 2)}-${ccn.slice(2)}`, { mayFail: isNoPlace });
    await page.getByRole("link", { name: `See ${facility}` }).click();
    await page.locator("h1", { hasText: facility }).waitFor();
    await page.goto("/?procedure=5072.0");
    await page.getByRole("link", { name: "See 5072: Skin growth removal or biopsy" }).click();
    await page.locator(".sentence h1", { hasText: " hospitals charge from " }).waitFor();
    await page.goto("/?procedure=5072&near=59230&within=10");
    await page.getByText(/The nearest with a price is [\d.]+ miles away/).waitFor();
    const wider = page.getByRole("link", { name: /^See the hospitals within \d+ miles$/ });
    const miles = /\d+/.exec(await wider.innerText())?.[0];
    await wider.click();
    await page.locator(".sentence h1", { hasText: `Within ${miles} miles of 59230, you pay` }).waitFor();
  },
);

/** Runs a printed command as it is. */
async function answerOf(command: string) {
  const run = promisify(execFile);
  const { stdout } = await run("bash", ["-c", command], {
    env: { PATH: process.env.PATH, KEY: key },
    maxBuffer: 1e8,
  });
  return stdout;
}

testOfClicks(
  "each command on the reference page gives the answer that is shown beside it, and the first one is at the top",
  async () => {
    const page = await open("/reference");
    const first = page.locator("#first");
    const command = await first.locator(".command pre").innerText();
    assert.match(command, /^curl -H "Authorization: Bearer \$KEY"/);
    assert.deepEqual(
      JSON.parse(await first.locator(".answer").innerText()),
      JSON.parse(await answerOf(command)),
    );
    const [place, rules] = [first, page.locator("#requests")].map((part) => part.boundingBox());
    assert.ok(((await place)?.y ?? 0) < ((await rules)?.y ?? 0), "before the rules for all requests");
    for (const id of [
      "overview",
      "prices",
      "search",
      "procedure",
      "facilities",
      "facilityTrends",
      "trends",
      "versions",
      "page",
      "exportCsv",
    ]) {
      const operation = page.locator(`#${id}`);
      await operation.locator("> summary").click();
      const shown = await operation.locator(".shown .answer").textContent();
      const answer = await answerOf((await operation.locator(".command pre").textContent()) ?? "");
      const whole =
        id === "exportCsv" ? answer.replaceAll("\r", "") : JSON.stringify(JSON.parse(answer), null, 2);
      assert.ok(shown !== null && shown.length > 100 && whole.startsWith(shown.replaceAll("\r", "")), id);
    }
    // Once the form is changed, the old answer doesn't stand beside the new command.
    const prices = page.locator("#prices");
    await prices.getByLabel("limit").fill("1");
    await prices.locator(".shown").waitFor({ state: "detached" });
    await prices.getByRole("button", { name: /^Send GET/ }).click();
    assert.equal(JSON.parse((await prices.locator(".shown .answer").textContent()) ?? "").data.length, 1);
  },
);

/** Each address gets one account. */
let signups = 0;

testOfClicks(
  "the form for a key says at once what is wrong, shows that it works, and takes an error away when its field changes",
  async () => {
    let refusals = 0;
    const page = await open("/signup", {
      mayFail: ({ pathname }, status) => pathname === "/portal/signup" && status === 400 && ++refusals > 0,
    });
    const [name, email] = [page.getByLabel("Your name"), page.getByLabel("Your e-mail address")];
    const wrong = page.getByText("This must be an e-mail address such as ann@example.com.");
    await email.fill("ann@example");
    await name.focus();
    await wrong.waitFor();
    assert.equal(await email.getAttribute("aria-invalid"), "true");
    await email.pressSequentially(".");
    await wrong.waitFor({ state: "detached" });
    await email.press("Enter");
    await wrong.waitFor();
    await page.getByText("Enter your name.").waitFor();
    await becomes("the focused field", () => page.evaluate("document.activeElement.name"), "name");
    assert.equal(refusals, 0, "nothing was sent");
    await name.fill("Ann");
    await page.getByText("Enter your name.").waitFor({ state: "detached" });

    // The server refuses an address, and the refusal goes with the address.
    const answered = Promise.withResolvers<void>();
    const message = 'email is "x", expected another one';
    const json = { error: { type: "invalid_parameter", message, param: "email" } };
    await page.route("**/portal/signup", async (route) => {
      await answered.promise;
      await route.fulfill({ status: 400, json });
    });
    await email.fill("ann@example.org");
    await email.press("Enter");
    await page.getByText("One moment…").waitFor();
    const button = page.getByRole("button", { name: "Get a key" });
    assert.equal(await button.getAttribute("aria-disabled"), "true");
    const spinner = "getComputedStyle(document.querySelector('button.primary'), '::before').animationName";
    assert.equal(await page.evaluate(spinner), "turning");
    answered.resolve();
    const refused = page.getByText("This must be another one.");
    await refused.waitFor();
    await email.fill(`bob${++signups}@example.org`);
    await refused.waitFor({ state: "detached" });
    await name.focus();
    assert.equal(await refused.count(), 0, "the refusal doesn't stand under another address");
    await page.unroute("**/portal/signup");
    await email.press("Enter");
    await page.getByText("Here is your key").waitFor();
  },
);

testOfClicks(
  "a phone's home page begins with what the site is and two empty fields, and shows an example below",
  async () => {
    const page = await open("/", { viewport: narrow });
    const fields = [".procedure input", ".place input"].map((field) => page.locator(field));
    const tops = [];
    for (const part of [page.locator(".intro"), ...fields, page.getByText("For example:")])
      tops.push(((await part.boundingBox()) ?? assert.fail("it is shown")).y);
    assert.deepEqual(
      tops,
      tops.toSorted((a, b) => a - b),
    );
    assert.ok(Math.max(...tops) < narrow.height, `on the first screen: ${tops}`);
    for (const field of fields) {
      assert.equal(await field.inputValue(), "");
      assert.match((await field.getAttribute("placeholder")) ?? "", /^such as /);
    }
    await page.locator(".sentence h1", { hasText: " for skin growth removal or biopsy" }).waitFor();
    await page.locator(".facilities tbody tr").first().waitFor();
    assert.equal(new URL(page.url()).search, "", "nothing is chosen");
    await fields[0].fill("knee replacement 27447");
    await page.keyboard.press("Enter");
    await addressed(page, /procedure=5115/);
    await page.locator(".intro").waitFor({ state: "detached" });
    assert.match(await fields[0].inputValue(), /^Knee/);
  },
);

testOfClicks(
  "a place stays on the way to a hospital's page and back, and hospitals nearby have amounts",
  async () => {
    const exported = String((await call(server, "GET /api/v1/export.csv?procedure=5072")).body);
    const known: Record<string, string>[] = parse(exported, { columns: true });
    const { zip } = known.find(({ status }) => status === "priced") ?? assert.fail("a hospital");
    const page = await open(`/?procedure=5072&near=${zip}&within=100`);
    await page.locator(".facilities tbody .name a").first().click();
    await page
      .getByText(/^For skin growth removal or biopsy you pay about \$[\d,]+ with Medicare\. It charges \$/)
      .waitFor();
    const near = page.locator(".near tbody tr").first();
    await near.waitFor();
    const texts = await near.locator("td.number").allInnerTexts();
    assert.equal(texts.length, 3, "miles and two amounts");
    for (const text of texts.slice(1)) assert.match(text, /^(\$[\d,]+|–)$/);
    await page.getByRole("link", { name: "Explore", exact: true }).click();
    await page.locator(".sentence h1", { hasText: `Within 100 miles of ${zip}, you pay about` }).waitFor();
  },
);

testOfClicks("letters with two readings are one tap away from the other reading", async () => {
  const page = await open("/?q=knee+replacement+ok");
  await page.getByRole("link", { name: "knee replacement in Oklahoma" }).click();
  await addressed(page, (url) => url.searchParams.get("state") === "OK");
});
