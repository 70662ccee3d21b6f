import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { after, before } from "node:test";
import { promisify } from "node:util";
import { DuckDBInstance } from "@duckdb/node-api";
import type { Download, Locator, Page } from "playwright-core";
import { publishSnapshot } from "../../datasets/revisions.ts";
import { defaultSampleSeed, syntheticSnapshot } from "../../datasets/sample/synthetic.ts";
import { encodeSnapshot } from "../../engine/index.ts";
import { newWebhookSecret } from "../../server/accounts/changes.ts";
import type {
  FacilitiesAnswer,
  FacilityAnswer,
  FacilityTrendsAnswer,
  ProcedureAnswer,
  TrendsAnswer,
} from "../../server/parts/portal/browser/answers.ts";
import { milesText } from "../../server/parts/portal/browser/around.ts";
import { paysTitle, shareOf } from "../../server/parts/portal/browser/words.ts";
import { Store } from "../../server/store/store.ts";
import {
  addressed,
  launch,
  narrow,
  nextFrame,
  openPage,
  test,
  testOfClicks,
  wide,
} from "../support/browser.ts";
import {
  ample,
  call,
  createKey,
  datasetsFolder,
  startServer,
  type TestServer,
  temporaryFolder,
  until,
} from "../support/server.ts";
import { writing } from "../support/writing.ts";

/*
 * Tests in Debian's Chromium that a patient, a journalist, an analyst, a developer and an operator reach their goals in a few actions.
 * SCREENSHOTS names a folder for pictures after each action.
 */

const maxActions = 6;
const years = [2021, 2022, 2023, 2024];
const rows = 30_000;
const folder = process.env.SCREENSHOTS ?? temporaryFolder();
const procedure = "5115";
const name = "knee, hip or shoulder replacement";

let server: TestServer;
let browser: Awaited<ReturnType<typeof launch>>;
let developers = 0;

before(async () => {
  const datasetsDir = temporaryFolder();
  for (const dataYear of years)
    publishSnapshot(datasetsDir, dataYear, [], (revision) =>
      encodeSnapshot(syntheticSnapshot({ dataYear, revision, rows, seed: defaultSampleSeed + dataYear })),
    );
  const stateDir = temporaryFolder();
  createKey(stateDir, "explore", ample);
  const env = { PORTAL: "on", PORTAL_ACCOUNT: "explore", SIGNUP: "open", ...writing(true) };
  [server, browser] = await Promise.all([startServer({ datasetsDir, stateDir, env }), launch()]);
});
after(async () => {
  await browser.close();
  assert.equal(await server.stop(), 0);
});

const answerOf = async <T>(target: string): Promise<T> =>
  JSON.parse(String((await call(server, `GET /api/v1/healthcare${target}`)).body));
const dollars = (amount: number) => `$${Math.round(amount).toLocaleString("en-US")}`;
const heading = (page: Page, text: string | RegExp) =>
  page.locator(".sentence h1", { hasText: text }).waitFor();
const option = (page: Page, text: string | RegExp) =>
  page.getByRole("option", { name: text }).first().click();
const field = (page: Page, label: string, text: string) =>
  page.getByRole("combobox", { name: label }).fill(text);
const textOf = async (download: Download) =>
  Buffer.concat(await (await download.createReadStream()).toArray());

async function walk(
  who: string,
  steps: (page: Page, act: (work: Promise<unknown>) => Promise<void>) => Promise<void>,
  {
    most = maxActions,
    origin = server.api,
    first = ".facilities tbody tr",
    mayFail = (_: URL, _status: number): boolean => false,
  } = {},
) {
  const permissions = ["clipboard-read", "clipboard-write"];
  const guarded = await openPage(browser, origin, { permissions, mayFail });
  const { page } = guarded;
  await page.goto("/");
  await page.locator(first).first().waitFor();
  let actions = 0;
  await steps(page, async (work) => {
    await work;
    await page.screenshot({ path: path.join(folder, `${who}-${++actions}.png`) });
  });
  await page.screenshot({ path: path.join(folder, `${who}-end.png`), fullPage: true });
  assert.ok(actions <= most, `${actions} actions`);
  await guarded.close();
  guarded.assertWellBehaved();
}

const maxPatientActions = 4;

for (const [words, confirm, code] of [
  ["colonoscopy 45378, possible polyp removal", "option", "5313"],
  ["knee replacement 27447", "Enter", "5115"],
] as const)
  testOfClicks(
    `a patient with “${words}” and a ZIP code sees what she pays at the nearest three hospitals`,
    async () => {
      const { data: all } = await answerOf<FacilitiesAnswer>(`/facilities?procedure=${code}&limit=100`);
      const around = (zip: unknown) => `/facilities?procedure=${code}&near=${zip}&within=25&sort=distance`;
      const counts = new Map<string, number>();
      for (const { zip } of all)
        if (zip && !counts.has(zip))
          counts.set(zip, (await answerOf<Partial<FacilitiesAnswer>>(around(zip))).summary?.facilities ?? 0);
      const [zip] =
        [...counts].find(([, count]) => count >= 3) ?? assert.fail("a ZIP code with three hospitals");
      await walk(
        `patient-${code}`,
        async (page, act) => {
          await act(field(page, "Procedure", words));
          // A colonoscopy isn't in the data. Enter would say so, and a suggestion is chosen on purpose.
          if (confirm === "Enter") await act(page.keyboard.press("Enter"));
          else {
            await page.locator(".procedure li.group", { hasText: "not in this data. " }).waitFor();
            await act(option(page, /colonoscopy/));
          }
          await addressed(page, (url) => url.searchParams.get("procedure") === code);
          await act(field(page, "State, city or ZIP code", zip));
          await act(option(page, `Within 25 miles of ${zip}`));
          await heading(page, `Within 25 miles of ${zip}, you pay about $`);
          const { data, source } = await answerOf<FacilitiesAnswer>(around(zip));
          const rows = page.locator("#hospitals tbody tr");
          for (const [i, { facility, medicare_allowed }] of data.slice(0, 3).entries()) {
            await rows.nth(i).filter({ hasText: facility }).waitFor();
            const share = dollars(shareOf(medicare_allowed ?? 0, source.data_year));
            assert.equal(await rows.nth(i).locator("td.pays").innerText(), share);
          }
        },
        { most: maxPatientActions },
      );
    },
  );

const phone = { viewport: narrow, bypassCSP: true };

/** A hospital with many prices, and a ZIP code with several hospitals around it. */
async function somewhere() {
  const { data } = await answerOf<FacilitiesAnswer>("/facilities?procedure=5072&state=CA&limit=1");
  return { ccn: data[0].ccn, zip: data[0].zip ?? assert.fail("a ZIP code") };
}

test("a phone's first screen has the warning in one line and the list's first amount", async () => {
  const { ccn, zip } = await somewhere();
  for (const path of [
    "/?procedure=5072",
    "/?procedure=5072&state=CA",
    `/?procedure=5072&near=${zip}&within=50`,
    `/facilities/${ccn}?procedure=5072`,
  ]) {
    const { page, close } = await openPage(browser, server.api, phone);
    await page.goto(path);
    const boxOf = async (selector: string) =>
      (await page.locator(selector).first().boundingBox()) ?? assert.fail(selector);
    await page.locator(".facilities td.pays").first().waitFor();
    const [band, pays] = [await boxOf(".band.sample"), await boxOf(".facilities td.pays")];
    assert.ok(band.height < 40 && band.y < pays.y, `the warning is one line: ${JSON.stringify(band)}`);
    assert.ok(pays.y + pays.height <= narrow.height, `${path}: ${pays.y + pays.height}`);
    // One short sentence says what "you pay" means, before the list. The long texts stand below the list.
    const share = page.locator(".sentence .under.small", { hasText: "With Medicare you pay about a fifth" });
    assert.match(await share.innerText(), /Without insurance/);
    assert.equal(await page.locator(".sentence .further:visible").count(), 0);
    assert.match(
      await page.locator(".facilities .narrow-only").innerText(),
      /With Medicare nobody pays the charge/,
    );
    await close();
  }
});

testOfClicks(
  "a hospital's page lists ten procedures first, more by a click, and the filter searches all",
  async () => {
    const { ccn } = await somewhere();
    const { data } = await answerOf<FacilityAnswer>(`/facilities/${ccn}`);
    assert.ok(data.length > 35, `${data.length} procedures`);
    const { page, close } = await openPage(browser, server.api, phone);
    await page.goto(`/facilities/${ccn}`);
    const rows = page.locator(".standing tbody tr");
    await page
      .getByRole("heading", { name: `${data.length} procedures, dearest against the nation first` })
      .waitFor();
    await rows.nth(9).waitFor();
    assert.equal(await rows.count(), 10);
    await page.getByRole("link", { name: "Show 25 more" }).click();
    await rows.nth(34).waitFor();
    assert.equal(new URL(page.url()).searchParams.get("shown"), "35");
    await page.reload();
    await rows.nth(34).waitFor();
    await page.goto(`/facilities/${ccn}`);
    await rows.nth(9).waitFor();
    const ratioOf = ({ national, submitted_charge }: (typeof data)[number]) =>
      national.facilities === 1 ? 0 : submitted_charge / national.median_charge;
    const [last] = data.toSorted((a, b) => ratioOf(a) - ratioOf(b));
    assert.equal(await rows.filter({ hasText: last.code }).count(), 0);
    await page.getByRole("searchbox", { name: "Find a procedure" }).fill(last.code);
    await rows.filter({ hasText: last.code }).waitFor();
    await page.getByText("That is the only one.").waitFor();
    await close();
  },
);

testOfClicks(
  "a hospital's chosen procedure stands above the order and the title says so, also in a saved picture, which has all columns",
  async () => {
    const { ccn } = await somewhere();
    const { data, facility } = await answerOf<FacilityAnswer>(`/facilities/${ccn}`);
    const [least] = data.toSorted((a, b) => a.submitted_charge - b.submitted_charge);
    const guarded = await openPage(browser, server.api);
    const { page } = guarded;
    for (const [sort, order] of [
      ["", "dearest against the nation first"],
      ["&sort=charge&order=desc", "highest charge first"],
      ["&sort=name", "by name"],
    ])
      for (const procedure of ["", least.code]) {
        await page.goto(`/facilities/${ccn}?procedure=${procedure}${sort}`);
        const above = procedure === "" ? ", " : ", chosen first, then ";
        const title = `${data.length} procedures${above}${order}`;
        await page.getByRole("heading", { name: title, exact: true }).waitFor();
        const list = page.locator(".standing");
        const first = await list.locator("tbody tr").first().innerText();
        assert.equal(first.includes(least.code), procedure !== "");
        const saved = await savedTexts(page, list);
        assert.ok(saved.includes(title), saved);
        for (const head of [
          paysTitle,
          "Allowed",
          "Charge",
          "vs. nation",
          `vs. ${facility.state}`,
          "Services",
        ])
          assert.ok(saved.includes(head), `${head} is in ${saved}`);
        const compared = await list.locator("td.number span[title]").allInnerTexts();
        assert.ok(compared.length > 10);
        for (const text of compared) assert.ok(saved.includes(text), `${text} is in ${saved}`);
      }
    await guarded.close();
    guarded.assertWellBehaved();
  },
);

test("on a phone, each compared hospital is named once before the list, and its chip is a letter", async () => {
  const { ccns, zip } = await nearlyEqual();
  const { page, close } = await openPage(browser, server.api, phone);
  await page.goto(`/?procedure=5072&near=${zip}&within=100&with=${ccns.join(",")}`);
  await page.locator("#compared thead a").nth(2).waitFor();
  for (const [i, link] of (await page.locator("#compared thead a").all()).entries()) {
    const name = await link.innerText();
    const shown = page.locator(":is(.sentence, #compared) :is(a:not(.chip), .chip span)", { hasText: name });
    const visible = await shown.evaluateAll(
      (all) => all.filter((one) => one.checkVisibility() && !one.classList.contains("unseen")).length,
    );
    assert.equal(visible, 1, name);
    const chip = page.getByRole("link", { name: `Remove: ${"ABC"[i]} ${name}` });
    assert.equal(((await chip.boundingBox())?.width ?? 999) < 90, true);
  }
  await close();
});

test("a near hospital is compared if it has a price for the procedure, and links are high enough for a finger", async () => {
  const { ccn, zip } = await somewhere();
  const code = "5072";
  const around = `/facilities?near=${zip}&within=25&sort=distance&limit=9`;
  const all = (await answerOf<FacilitiesAnswer>(around)).data.filter((one) => one.ccn !== ccn).slice(0, 8);
  const doing = await answerOf<FacilitiesAnswer>(
    `/facilities?near=${zip}&within=25&procedure=${code}&status=all&limit=100`,
  );
  const { page, close } = await openPage(browser, server.api, phone);
  await page.goto(`/facilities/${ccn}?procedure=${code}`);
  const rows = page.locator(".near tbody tr");
  await rows.first().waitFor();
  assert.equal(await rows.count(), all.length);
  for (const [i, one] of all.entries()) {
    const price = doing.data.find((row) => row.ccn === one.ccn);
    const words =
      price?.status === "priced"
        ? "compare"
        : price
          ? "too few Medicare patients for a price"
          : "no price for the same procedure";
    assert.equal(await rows.nth(i).locator("small").innerText(), `${one.city}, ${one.state} · ${words}`);
    assert.equal(await rows.nth(i).getByRole("link").count(), words === "compare" ? 2 : 1);
  }
  for (const path of [
    `/facilities/${ccn}?procedure=${code}`,
    `/?procedure=${code}&near=${zip}&with=${ccn}&year=2023`,
    `/?procedure=${code}&near=${zip}&within=1&year=2021`,
    `/?procedure=${code}&state=MD`,
  ]) {
    await page.goto(path);
    await page.locator(".explore[aria-busy=false]").waitFor();
    const heights = await page
      .locator(".explore a:visible")
      .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().height));
    assert.ok(heights.length > 0 && Math.min(...heights) >= 24, `${path}: ${heights}`);
  }
  await close();
});

test("the asked procedure is kept for the hospitals nearby, whether or not the hospital has a price for it", async () => {
  const code = "5072";
  const all: FacilitiesAnswer["data"] = [];
  for (const state of ["TX", "CA", "NY", "IL", "FL"])
    all.push(...(await answerOf<FacilitiesAnswer>(`/facilities?state=${state}&limit=100`)).data);
  const statuses = new Map<string, string>();
  for (let i = 0; i < all.length; i += 50) {
    const ccns = all.slice(i, i + 50).map(({ ccn }) => ccn);
    const doing = `/facilities?procedure=${code}&status=all&limit=50&ccn=${ccns}`;
    for (const { ccn, status } of (await answerOf<FacilitiesAnswer>(doing)).data)
      statuses.set(ccn, status ?? "");
  }
  const statusOf = (of: string) => statuses.get(of) ?? "absent";
  const some = (isSome: (one: (typeof all)[number]) => boolean) =>
    all.filter((one) => one.zip && isSome(one)).slice(0, 2);
  const without = some(({ procedures }) => procedures === 0);
  const others = ["priced", "suppressed", "absent"].flatMap((status) =>
    some(({ ccn, procedures }) => procedures > 0 && statusOf(ccn) === status),
  );
  const seen = new Set<string>();
  const guarded = await openPage(browser, server.api);
  const { page } = guarded;
  for (const { ccn, zip } of [...others, ...without]) {
    const around = `/facilities?near=${zip}&within=25&sort=distance&procedure=${code}&status=all&limit=100`;
    const near = (await answerOf<Partial<FacilitiesAnswer>>(around)).data ?? [];
    await page.goto(`/facilities/${ccn}?procedure=${code}`);
    const card = page.locator(".near");
    await page.locator("p.quiet.small", { hasText: "Data version" }).waitFor();
    for (const row of await card.locator("tbody tr").all()) {
      const [name, ...prices] = await row
        .getByRole("link")
        .evaluateAll((links) => links.map((link) => link.getAttribute("href") ?? ""));
      const [, , other] = name.split(/[/?]/);
      assert.equal(name, `/facilities/${other}?procedure=${code}`);
      if (near.find((one) => one.ccn === other)?.status !== "priced") continue;
      const compare = `/?procedure=${code}&with=${encodeURIComponent(`${ccn},${other}`)}`;
      assert.deepEqual(prices, [statusOf(ccn) === "priced" ? compare : name], await row.innerText());
      seen.add(statusOf(ccn));
    }
    for (const link of await card.getByRole("link", { name: "What they charge for" }).all())
      assert.match((await link.getAttribute("href")) ?? "", new RegExp(`\\?procedure=${code}&`));
  }
  assert.ok(seen.size > 1, [...seen].join());
  // Without an asked procedure and any price, there are only names and miles.
  const [{ ccn }] = without;
  await page.goto(`/facilities/${ccn}`);
  const row = page.locator(".near tbody tr").first();
  await row.waitFor();
  assert.match(await row.locator("small").innerText(), /^[^·]*, [A-Z]{2}$/);
  assert.equal(await page.locator(".near a", { hasText: "What they charge" }).count(), 0);
  await guarded.close();
  guarded.assertWellBehaved();
});

test("a hospital with no other within 25 miles names the nearest, however far", async () => {
  const { data: all } = await answerOf<FacilitiesAnswer>("/facilities?state=MT,WY,ME,AK&limit=100");
  const around = (zip: string, within: number) =>
    answerOf<FacilitiesAnswer>(`/facilities?near=${zip}&within=${within}&sort=distance&limit=2`);
  const guarded = await openPage(browser, server.api);
  const { page } = guarded;
  let alone = 0;
  for (const { ccn, zip = "" } of all.slice(0, 12)) {
    const [, nearest] = (await around(zip ?? "", 500)).data;
    if ((await around(zip ?? "", 25)).data.length > 1 || nearest === undefined) continue;
    const { facility, city, state, distance = 0 } = nearest;
    alone++;
    await page.goto(`/facilities/${ccn}`);
    const near = page.locator(".near", { hasText: "No other within 25 miles. The nearest:" });
    const row = near.locator("tbody tr");
    await row.waitFor();
    const text = await row.innerText();
    for (const part of [facility, `${city}, ${state}`, distance.toFixed(1)])
      assert.ok(text.includes(part), `${part} is in ${text}`);
    const link = await near.getByRole("link", { name: "What they charge for" }).getAttribute("href");
    assert.equal(new URLSearchParams(link?.slice(2)).get("within"), String(Math.ceil(distance)));
  }
  assert.ok(alone > 0);
  await guarded.close();
  guarded.assertWellBehaved();
});

testOfClicks(
  "on a phone, each row of a list around a place has its amounts and the column that the list is sorted by",
  async () => {
    const { zip } = await somewhere();
    const { page, close } = await openPage(browser, server.api, phone);
    await page.goto(`/?procedure=5072&near=${zip}&within=100`);
    for (const [title, beside] of [
      ["Charge", "Miles"],
      ["Services", "Services"],
      ["Miles", "Miles"],
    ]) {
      await page.getByRole("columnheader", { name: title }).getByRole("link").click();
      await page.locator("th[aria-sort]", { hasText: title }).waitFor();
      const words = await page
        .locator(".facilities tbody tr")
        .nth(1)
        .locator("td[data-word]:visible")
        .evaluateAll((all) => all.map((one) => one.getAttribute("data-word") ?? ""));
      assert.deepEqual(words.toSorted(), ["Allowed", "Charge", paysTitle, beside].toSorted());
    }
    await close();
  },
);

testOfClicks("a new place drops a reversed order and a sort by miles, and keeps any other sort", async () => {
  const { zip } = await somewhere();
  const { page, close } = await openPage(browser, server.api, {
    mayFail: ({ searchParams }) => searchParams.has("near") || searchParams.has("city"),
  });
  const list = page.locator(".facilities h2");
  const place = page.getByRole("combobox", { name: "State, city or ZIP code" });
  const byField = async () => {
    await place.fill("texas");
    await page.getByRole("option", { name: "Texas" }).click();
  };
  const byZip = async () => {
    await place.fill(zip);
    await page.getByRole("option", { name: `Within 50 miles of ${zip}` }).click();
  };
  const byWords = async () => {
    await field(page, "Procedure", "cataract surgery in Texas");
    await page.keyboard.press("Enter");
  };
  const byChip = () => page.locator(".chips .chip").first().click();
  const byMap = () => page.locator('.state[data-state="TX"]').click();
  for (const [before, move, sort] of [
    ["near=ZIP&order=desc", byField, null],
    ["near=ZIP&sort=distance&order=desc", byField, null],
    ["near=ZIP&sort=distance&order=desc", byZip, null],
    ["near=ZIP&sort=distance", byChip, null],
    ["near=ZIP&sort=pays&order=desc", byField, "pays"],
    ["near=ZIP&order=desc", byWords, null],
    ["near=ZIP&sort=pays&order=desc", byWords, "pays"],
    ["state=NY&order=desc", byMap, null],
    ["state=NY&sort=name&order=desc", byChip, "name"],
    ["state=NY&sort=charge&order=desc", byZip, "charge"],
  ] as const) {
    await page.goto(`/?procedure=5072&${before.replace("ZIP", zip)}`);
    await page.locator(".facilities tbody tr").first().waitFor();
    const [, old] = /(?:state|near)=(\w+)/.exec(page.url()) ?? [];
    await move();
    await addressed(
      page,
      ({ searchParams: at }) => ![at.get("state"), at.get("near")].includes(old) || at.get("within") === "50",
    );
    const { searchParams } = new URL(page.url());
    assert.deepEqual([searchParams.get("sort"), searchParams.get("order")], [sort, null], before);
    await list.filter({ hasNotText: /highest|farthest|backwards|the most to pay/ }).waitFor();
  }
  await close();
});

testOfClicks(
  "pictures have round amounts on their axes, a legend without overlaps, and a table with its point in view",
  async () => {
    for (const [size, path] of [
      [phone, "/?procedure=5072"],
      [phone, "/?procedure=5115&state=TX"],
      [phone, "/?procedure=5115&state=NY&with=990901"],
      [phone, "/?procedure=5115&near=60614&within=100"],
      [{ viewport: { width: 1280, height: 900 } }, "/?procedure=5115"],
    ] as const) {
      const { page, close } = await openPage(browser, server.api, size);
      await page.goto(path);
      const card = (name: string) =>
        page.locator("section.card", { has: page.getByRole("heading", { name }) });
      const [charges, map] = [card("How charges are spread"), card("Where hospitals charge more")];
      await charges.locator(".bar, .facility-dot").first().waitFor();
      const pictures = path.includes("near=") ? [charges] : [charges, map];
      if (pictures.includes(map)) await map.locator(".state").first().waitFor();
      const ticks = await charges.locator(".tick text:visible").allTextContents();
      assert.ok(ticks.length >= 3, `${path}: ${ticks}`);
      for (const tick of ticks) assert.match(tick, /^\$[125]0*(,000)*$/, path);
      const boxes = await map.locator(".legend text:visible").evaluateAll((all) =>
        all.map((text) => {
          const { left, right, top, bottom } = text.getBoundingClientRect();
          return { left, right, top, bottom, text: text.textContent };
        }),
      );
      for (const [i, a] of boxes.entries())
        for (const b of boxes.slice(i + 1))
          assert.ok(
            a.right + 3 < b.left || b.right + 3 < a.left || a.bottom < b.top + 3 || b.bottom < a.top + 3,
            `${a.text} and ${b.text}`,
          );
      const hatches = await page.locator('.legend rect[fill="url(#outside)"]').count();
      assert.equal(hatches, pictures.length - 1, "Maryland's hatch");
      const bottomOf = async (of: Locator) => {
        const { y, height } = (await of.locator(".actions").boundingBox()) ?? assert.fail();
        return Math.round(y + height);
      };
      if (size !== phone) assert.equal(await bottomOf(charges), await bottomOf(map), "tools are in line");
      const top = async (of: Locator) => ((await of.boundingBox()) ?? assert.fail()).y;
      const median = charges.locator(".picture text.label");
      await charges.locator(".bar, .facility-dot").nth(3).hover({ force: true });
      const note = charges.locator(".note:visible");
      assert.ok((await top(note)) > (await top(median)) + 100, "the note is below the picture's bars");
      assert.ok((await top(note)) > (await top(charges.locator("line.axis"))), "the note is below the axis");
      for (const one of pictures) {
        await one.getByRole("button", { name: "Table" }).click();
        const table = one.locator(".figures");
        const { right } = await table.evaluate((element) => element.getBoundingClientRect());
        for (const cell of (await table.locator("tr:nth-child(2) > *").all()).slice(0, 3))
          assert.ok((await cell.evaluate((element) => element.getBoundingClientRect().right)) <= right + 1);
        const seen = (await table.locator("tbody tr:first-child td").allInnerTexts()).slice(0, 3);
        assert.ok(
          seen.some((text) => text.startsWith("$")),
          `${path}: ${seen}`,
        );
        const [content, shown] = await table.evaluate((one) => [one.scrollHeight, one.clientHeight]);
        assert.ok(content <= shown + 1, "all rows are there without scrolling inside");
      }
      await close();
    }
  },
);

test("paper shows the sentence, the list and its source, and nothing that can only be clicked", async () => {
  const { ccn, zip } = await somewhere();
  for (const [path, ...texts] of [
    [`/?procedure=5072&near=${zip}&within=100&with=${ccn}`, "you pay about", "Source: ", " of "],
    [`/facilities/${ccn}`, "It charges", "Source: ", " procedures, dearest against the nation first"],
    ["/data", "The data", "Cite it"],
    ["/reference#prices", "API reference", "Parameters"],
  ]) {
    const { page, close } = await openPage(browser, server.api, phone);
    await page.goto(path);
    await page.locator("tbody tr").first().waitFor();
    await page.setViewportSize({ width: 720, height: 900 });
    await page.emulateMedia({ media: "print" });
    await nextFrame(page);
    const clicked = ":is(button, .button):not(.sort), .sort span, input, select, form, nav, .actions, .chips";
    assert.deepEqual(await page.locator(`:is(${clicked}):visible`).allInnerTexts(), [], path);
    const shown = await page.locator("body").innerText();
    for (const text of texts) assert.ok(shown.includes(text), `${text} is in ${shown}`);
    if (path.includes("5072") || path.startsWith("/facilities")) {
      // The list is the wide layout's table, and says of what and of which data it is.
      const list = page.locator(".facilities");
      const [first, second] = await Promise.all(
        (await list.locator("tbody tr").first().locator(".number").all()).map((one) => one.boundingBox()),
      );
      assert.ok(
        first && second && first.x < second.x && Math.abs(first.y - second.y) < 40,
        "cells stand in columns",
      );
      assert.equal(
        await list.locator("thead th:visible").count(),
        await list.locator("tbody tr").first().locator("td, th").count(),
      );
      assert.equal(await page.locator(".narrow-only:visible").count(), 0);
      const source = await list.locator(".source").innerText();
      assert.match(source, /, 2024\. Source: .*\(version 2024\.1\)\..* https?:\/\/.*year=2024\.1/);
      assert.ok(path.startsWith("/facilities") || source.startsWith("Skin growth removal or biopsy"), source);
    }
    assert.equal(await page.evaluate<number>("document.documentElement.scrollWidth"), 720, path);
    await close();
  }
});

test("printed without JavaScript, a page names its lasting path, its data version and its file, and has the list as a table", async () => {
  const { ccn, zip } = await somewhere();
  for (const [path, ...texts] of [
    [`/?procedure=5072&near=${zip}&within=100`, "you pay about", `near=${zip}`],
    [`/facilities/${ccn}?procedure=5072`, "It charges", "Hospitals nearby"],
  ]) {
    const { page, close } = await openPage(browser, server.api, { ...phone, javaScriptEnabled: false });
    await page.goto(path);
    await page.setViewportSize({ width: 720, height: 900 });
    await page.emulateMedia({ media: "print" });
    const shown = await page.locator("body").innerText();
    const [said = ""] = /Check this number: .*/.exec(shown) ?? [];
    const lasting = `Check this number: ${path}&year=2024.1&versions=2021.1%2C2022.1%2C2023.1%2C2024.1, and in the API /api/v1/versions/2024.1/`;
    assert.ok(said.startsWith(lasting), shown);
    assert.ok(said.endsWith("The file is /api/v1/versions/2024.1/export.csv."), said);
    for (const text of texts) assert.ok(shown.includes(text), `${text} is in ${shown}`);
    const clicked =
      "button, .button:not(.sort), input, select, nav, .chips, .actions, summary, .near small a";
    assert.deepEqual(await page.locator(`:is(${clicked}):visible`).allInnerTexts(), [], path);
    const cells = page.locator(".facilities tbody tr").first().locator(".number");
    const [first, second] = await Promise.all((await cells.all()).map((one) => one.boundingBox()));
    assert.ok(first && second && first.x < second.x && Math.abs(first.y - second.y) < 40, "a table's row");
    await close();
  }
});

testOfClicks(
  "each card's sentence for copying says what it is of, the year, the source and the lasting address",
  async () => {
    const permissions = ["clipboard-read", "clipboard-write"];
    const { page, close, asked } = await openPage(browser, server.api, { permissions });
    const [{ ccn }] = (await answerOf<FacilitiesAnswer>(`/facilities?procedure=${procedure}&state=TX`)).data;
    await page.goto(`/?procedure=${procedure}&state=TX&with=${ccn}`);
    await addressed(page, /year=2024\.1/);
    const before = asked.length;
    const cards = page.locator("section.card", { has: page.getByRole("button", { name: "Share" }) });
    await cards.nth(4).waitFor();
    for (const card of await cards.all()) {
      const title = await card.getByRole("heading").innerText();
      await card.getByRole("button", { name: "Share" }).click();
      for (const button of ["Copy sentence with source", "Copy citation"]) {
        await card.getByRole("button", { name: button }).click();
        await card.getByRole("button", { name: "copied" }).waitFor();
        const text = await page.evaluate(() => navigator.clipboard.readText());
        for (const part of [new RegExp(name, "i"), /2024/, /Source: .*\(versions? .*2024\.1\)\. /])
          assert.match(text, part, `${title}: ${button}`);
        const address = new URL(text.split(" ").at(-1) ?? "");
        assert.equal(address.searchParams.get("year"), "2024.1", text);
        assert.equal(address.searchParams.get("versions"), "2021.1,2022.1,2023.1,2024.1", text);
      }
      await card.getByRole("button", { name: "Share" }).click();
    }
    assert.equal(asked.length, before, "nothing is asked for a sentence");
    await close();
  },
);

testOfClicks(
  "a fold with statements about many hospitals gets their numbers when it is opened, and its statements give the figures",
  async () => {
    const { zip } = await somewhere();
    const around = `procedure=5072&near=${zip}&within=500`;
    const { page, close, asked } = await openPage(browser, server.api);
    await page.goto(`/?${around}`);
    await page.locator(".facilities tbody tr").nth(9).waitFor();
    await addressed(page, /year=2024\.1/);
    const { summary } = await answerOf<ProcedureAnswer>(`/procedures/5072?near=${zip}&within=500`);
    assert.ok(summary.facilities > 50, `${summary.facilities} hospitals are more than the page has`);
    const fold = page.locator("details.check");
    const before = asked.length;
    assert.equal(await fold.locator("pre").count(), 0);
    await fold.locator("summary").click();
    await fold.getByRole("group", { name: "The figures of the list" }).waitFor();
    assert.ok(asked.length > before);
    const sql = await fold.getByRole("group", { name: "The figures of the list" }).innerText();
    const folder = temporaryFolder();
    const exported = await call(server, "GET /api/v1/versions/2024.1/export.csv");
    writeFileSync(path.join(folder, "opps-2024.1.csv"), exported.body);
    const duckdb = await (await DuckDBInstance.create(":memory:")).connect();
    await duckdb.run(`SET file_search_path = '${folder}'`);
    const [found] = (await duckdb.runAndReadAll(sql)).getRowObjectsJson();
    assert.deepEqual([found.hospitals, found.median_charge, found.median_allowed].map(Number), [
      summary.facilities,
      summary.median_charge,
      summary.median_allowed,
    ]);
    await close();
    const bare = await openPage(browser, server.api, { javaScriptEnabled: false });
    await bare.page.goto(`/?${around}`);
    await bare.page.locator("details.check summary").click();
    await bare.page
      .getByText(`The statements name all ${summary.facilities} hospitals: JavaScript gets their numbers.`)
      .waitFor();
    await bare.close();
  },
);

testOfClicks("a journalist saves a picture of the ten dearest hospitals with its source", async () => {
  await walk("journalist-list", async (page, act) => {
    await act(field(page, "Procedure", "hip replacement"));
    await act(option(page, "Knee, hip or shoulder replacement"));
    await addressed(page, /procedure=5115/);
    const list = page.locator("#hospitals");
    await act(list.getByRole("columnheader", { name: "Charge" }).getByRole("link").click());
    const dearest = `/facilities?procedure=${procedure}&sort=charge&order=desc&limit=10`;
    const { data, source } = await answerOf<FacilitiesAnswer>(dearest);
    await list.locator("tbody tr").first().filter({ hasText: data[0].facility }).waitFor();
    await act(list.getByRole("button", { name: "Download" }).click());
    const saved = async (format: string) => {
      const download = page.waitForEvent("download");
      await list.getByRole("button", { name: format, exact: true }).click();
      return textOf(await download);
    };
    let png = Buffer.alloc(0);
    await act(
      saved("PNG").then((content) => {
        png = content;
      }),
    );
    writeFileSync(path.join(folder, "journalist-list.png"), png);
    assert.equal(png.toString("latin1", 1, 4), "PNG");
    assert.ok(png.readUInt32BE(16) > 1000 && png.readUInt32BE(20) > 500, "ten rows, two pixels for one");
    const svg = String(await saved("SVG"));
    const texts = [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text]) => text);
    const charges = data.map(({ submitted_charge }) => dollars(submitted_charge ?? 0));
    assert.deepEqual(
      texts.filter((text) => charges.includes(text)),
      charges,
    );
    assert.match(
      texts.join(" "),
      new RegExp(`highest charge first: .*Source: .*version ${source.data_version}`),
    );
    assert.deepEqual(await page.evaluate(textsBeyond, svg), []);
    assert.equal(await page.locator(".for-saving").count(), 0, "the drawing is taken away again");
    const lines = String(await saved("CSV"))
      .trimEnd()
      .split("\r\n");
    assert.deepEqual(
      lines.slice(1, 11).map((line) => line.split(",")[2]),
      data.map(({ ccn }) => ccn),
    );
    await list.getByRole("button", { name: "Share" }).click();
    await list.getByRole("button", { name: "Copy link" }).click();
    await list.getByRole("button", { name: "copied" }).waitFor();
    const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
    const address = await clipboard();
    const link = new URL(address);
    assert.deepEqual([link.hash, link.searchParams.get("order")], ["#hospitals", "desc"]);
    assert.equal(link.searchParams.get("year"), source.data_version, "the address stays with its data");
    const cited = new RegExp(`Source: .*, 2024 \\(version ${source.data_version}\\)\\. `);
    for (const [button, begin] of [
      [
        "Copy sentence with source",
        /^In 2024, the five dearest of \d+ hospitals for a knee, hip or shoulder replacement: /,
      ],
      ["Copy citation", /^What hospitals charge: .*: Knee, hip or shoulder replacement, 2024\. /],
    ] as const) {
      await list.getByRole("button", { name: button }).click();
      await list.getByRole("button", { name: "copied" }).waitFor();
      const text = await clipboard();
      for (const part of [begin, cited]) assert.match(text, part);
      assert.ok(text.endsWith(` ${address}`), text);
      if (!button.includes("sentence")) continue;
      for (const [i, { facility, submitted_charge }] of data.entries())
        assert.equal(
          text.includes(`${facility}, `) && text.includes(dollars(submitted_charge ?? 0)),
          i < 5,
          facility,
        );
    }
    await list.getByRole("button", { name: "Download" }).click();
    for (const [rows, said] of [
      [5, "The five dearest of "],
      [25, "The 25 dearest of "],
    ] as const) {
      await list.getByLabel("Rows").selectOption(String(rows));
      const drawn = await savedTexts(page, list);
      for (const part of [said, "each doubling is an equal step", link.host])
        assert.ok(drawn.includes(part), drawn);
      const { data } = await answerOf<FacilitiesAnswer>(dearest.replace("limit=10", "limit=26"));
      for (const [i, { submitted_charge }] of data.entries())
        assert.equal(drawn.includes(dollars(submitted_charge ?? 0)), i < rows, `${rows}: ${i}`);
      // All pay the most that Medicare lets a hospital ask for, so no column says it again and again.
      assert.match(drawn, /You pay with Medicare: \$1,632 in each row\./);
      assert.equal(drawn.split("$1,632 ").length, 3, drawn);
    }
  });
});

/** @returns the texts of a card's saved SVG, joined by spaces. Fails if one of them is cut off. */
async function savedTexts(page: Page, card: Locator): Promise<string> {
  const opener = card.getByRole("button", { name: "Download" });
  if ((await opener.getAttribute("aria-expanded")) === "false") await opener.click();
  const download = page.waitForEvent("download");
  await card.getByRole("button", { name: "SVG", exact: true }).click();
  const svg = String(await textOf(await download));
  assert.deepEqual(await page.evaluate(textsBeyond, svg), []);
  return page.evaluate((svg) => {
    const texts = new DOMParser().parseFromString(svg, "image/svg+xml").querySelectorAll("text");
    return [...texts].map(({ textContent }) => textContent).join(" ");
  }, svg);
}

/** Three hospitals whose charges are nearest to each other, among those with a price in every year. */
async function nearlyEqual(): Promise<{ ccns: string[]; zip: string }> {
  const { data } = await answerOf<FacilitiesAnswer>("/facilities?procedure=5072&sort=charge&limit=100");
  const ratioOf = (i: number) => (data[i + 2].submitted_charge ?? 0) / (data[i].submitted_charge ?? 1);
  const begins = data.slice(0, -2).map((_, i) => i);
  const [begin] = begins.toSorted((a, b) => ratioOf(a) - ratioOf(b));
  const three = data.slice(begin, begin + 3);
  return { ccns: three.map(({ ccn }) => ccn), zip: three[0].zip ?? assert.fail("a ZIP code") };
}

for (const viewport of [wide, narrow])
  testOfClicks(
    `at ${viewport.width} pixels, a saved list and a saved comparison have all texts of the screen, in its order`,
    async () => {
      const { ccns, zip } = await nearlyEqual();
      const compared = `/?procedure=5072&with=${ccns.join(",")}`;
      for (const path of [compared, `${compared}&near=${zip}&within=100`, `${compared}&state=CA`]) {
        const guarded = await openPage(browser, server.api, { viewport });
        const { page } = guarded;
        await page.goto(path);
        const list = page.locator("#hospitals");
        await list.locator("tbody tr").first().waitFor();
        const saved = await savedTexts(page, list);
        const rows = await list.locator("tbody tr").evaluateAll((rows) =>
          rows.map((row) => {
            const textOf = (one: Node | null | undefined) =>
              one?.textContent?.replaceAll(/\s+/g, " ").trim() ?? "";
            const name = row.querySelector(".name");
            const cells = [...row.querySelectorAll("td.number")].map((cell) =>
              textOf([...cell.childNodes].find(({ nodeType }) => nodeType === Node.TEXT_NODE)),
            );
            return [
              textOf(name?.querySelector(".letter")),
              textOf(name?.querySelector("a")),
              textOf(name?.querySelector("small")?.firstChild),
              ...cells,
            ]
              .filter(Boolean)
              .join(" ");
          }),
        );
        assert.ok(rows.length >= 4 && rows[0].startsWith("A "), path);
        for (const row of rows) assert.ok(saved.includes(row), `${row} is in ${saved}`);
        assert.ok(
          saved.indexOf(paysTitle) < saved.indexOf("Allowed") &&
            saved.indexOf("Allowed") < saved.indexOf("Charge"),
        );
        assert.equal(saved.includes("Miles"), path.includes("near="));

        const table = page.locator("#compared");
        const drawn = await savedTexts(page, table);
        const lines = await table.locator("tbody tr").evaluateAll((rows) =>
          rows.map((row) =>
            [...row.children]
              .map(({ textContent }) => textContent)
              .filter(Boolean)
              .join(" "),
          ),
        );
        const heads = await table
          .locator("thead th")
          .evaluateAll((heads) =>
            heads.map(({ textContent }) => textContent?.replaceAll(/\s+/g, " ").trim() ?? ""),
          );
        assert.equal(heads.length, 4);
        const [title] = (await page.title()).split(/(?: in | within )|, \d{4} – /);
        assert.ok(drawn.includes(`${title}, 2024`), `procedure and year are in ${drawn}`);
        for (const text of [...heads, ...lines]) assert.ok(drawn.includes(text), `${text} is in ${drawn}`);
        await guarded.close();
        guarded.assertWellBehaved();
      }
    },
  );

for (const viewport of [wide, narrow])
  test(`at ${viewport.width} pixels, the labels of hospitals with nearly the same charge don't overlap`, async () => {
    const { ccns, zip } = await nearlyEqual();
    for (const place of ["", `&near=${zip}`]) {
      const guarded = await openPage(browser, server.api, { viewport });
      const { page } = guarded;
      await page.goto(`/?procedure=5072&with=${ccns.join(",")}${place}`);
      const years = page.locator("section.card", {
        has: page.getByRole("heading", { name: "Over the years" }),
      });
      await years.locator(".end").first().waitFor();
      const boxes = await years
        .locator(".end text, .tick")
        .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().toJSON() as DOMRect));
      const covered = boxes.filter((a, i) =>
        boxes
          .slice(i + 1)
          .some((b) => a.x < b.right && b.x < a.right && a.y + 2 < b.bottom && b.y + 2 < a.bottom),
      );
      assert.deepEqual(covered, []);
      const edge = (await years.locator(".picture").boundingBox()) ?? assert.fail();
      assert.ok(
        boxes.every(({ right }) => right <= edge.x + edge.width + 1),
        "no label is cut",
      );
      // A hospital's name in the comparison is at most three lines.
      for (const name of await page.locator("#compared thead a").all())
        assert.ok(((await name.boundingBox())?.height ?? 0) < 80, await name.innerText());
      await guarded.close();
      guarded.assertWellBehaved();
    }
  });

testOfClicks(
  "the comparison and its file have procedure, place and median, and no title says where a hospital is",
  async () => {
    const { ccn, zip } = await somewhere();
    const code = "5072";
    const { facility } = await answerOf<FacilityAnswer>(`/facilities/${ccn}`);
    const { data: trend } = await answerOf<TrendsAnswer>(`/trends?procedure=${code}`);
    const { data: texan } = await answerOf<TrendsAnswer>(`/trends?procedure=${code}&state=TX`);
    const guarded = await openPage(browser, server.api);
    const { page } = guarded;
    for (const [place, head, medians] of [
      ["", "Nation's median", trend],
      // The hospital is in California.
      ["&state=TX", "Median in Texas", texan],
      [`&near=${zip}`, `Median within 25 miles of ${zip}`, []],
    ] as const) {
      await page.goto(`/?procedure=${code}&with=${ccn}${place}`);
      const card = page.locator("#compared");
      await card.locator("tbody tr").nth(3).waitFor();
      const said = (await card.locator("header").innerText()).replaceAll(/\s+/g, " ");
      assert.match(said, /^The chosen hospital Skin growth removal or biopsy, 2024$/);
      const titles = [
        paysTitle,
        "Allowed",
        "Charge",
        "Services",
        ...(place.includes("near") ? ["Miles"] : []),
      ];
      assert.deepEqual(await card.locator("tbody th").allInnerTexts(), titles);
      assert.doesNotMatch(await card.locator("tbody").innerText(), /–/);
      const row = medians.find((one) => one.data_year === 2024);
      for (const [title, amount] of [
        ["Allowed", row?.median_allowed],
        ["Charge", row?.median_charge],
      ] as const) {
        const cell = card.locator("tbody tr", { hasText: title }).locator(".median");
        if (amount !== undefined) assert.equal(await cell.last().innerText(), dollars(amount), title + place);
      }
      const download = page.waitForEvent("download");
      await card.getByRole("button", { name: "Download" }).click();
      await card.getByRole("button", { name: "CSV", exact: true }).click();
      assert.ok((await card.locator("thead").innerText()).replaceAll(/\s+/g, " ").includes(head), head);
      const [heads, ...lines] = String(await textOf(await download))
        .trimEnd()
        .split("\r\n");
      assert.match(
        heads,
        /^data_year,data_version,ccn,facility,.*,median_charge,median_allowed,median_of,source$/,
      );
      assert.deepEqual(
        lines.map((line) => line.split(",").slice(0, 3)),
        years.map((year) => [String(year), `${year}.1`, ccn]),
      );
      for (const line of lines) assert.ok(line.includes(`,${facility.city},${facility.state},`), line);
      for (const { data_year, median_charge, median_allowed } of medians)
        if (data_year < 2024)
          assert.ok(
            lines[years.indexOf(data_year)].includes(`,${median_charge},${median_allowed},`),
            lines.join(" "),
          );
      const drawn = await savedTexts(page, card);
      assert.match(drawn, / The chosen hospital: Skin growth removal or biopsy, 2024/);
      assert.equal(drawn.split("Skin growth removal").length, 2, "the procedure is said once");
    }
    await guarded.close();
    guarded.assertWellBehaved();
  },
);

testOfClicks(
  "around a ZIP code, a trend is drawn only for compared hospitals, and the nation is named beside them",
  async () => {
    const { ccns, zip } = await nearlyEqual();
    const guarded = await openPage(browser, server.api, { mayFail: (_, status) => status === 404 });
    const { page } = guarded;
    const years = page.locator("section.card", {
      has: page.getByRole("heading", { name: "Over the years" }),
    });
    for (const [place, pinned, title] of [
      ["", [], "Over the years, in the whole country"],
      ["&state=CA", [], "Over the years, in California"],
      ["&state=CA", ccns, "Over the years, in California"],
      [`&near=${zip}&within=1`, [], null],
      [`&near=${zip}&within=100`, [], null],
      [`&near=${zip}&within=1`, ccns.slice(0, 1), "Over the years, beside the whole country"],
      [`&near=${zip}&within=1`, ccns, "Over the years, beside the whole country"],
    ] as const) {
      await page.goto(`/?procedure=5072${place}${pinned.length === 0 ? "" : `&with=${pinned.join(",")}`}`);
      await page.locator(".reading").waitFor();
      if (title === null) assert.equal(await years.count(), 0, place);
      else {
        await years.locator(".end").first().waitFor();
        assert.equal(await years.getByRole("heading").innerText(), title);
        const isBeside = title.includes("beside");
        assert.equal(await years.locator(".end.nation").count(), isBeside ? 1 : 0);
        assert.equal(await years.locator(".end.allowed").count(), isBeside && pinned.length > 1 ? 0 : 1);
        const saved = await savedTexts(page, years);
        const where = title === "Over the years, in California" ? "in California" : "in the nation";
        assert.match(saved, new RegExp(`the median charge ${where} for [a-z ]+ is \\$`));
      }
    }
    await guarded.close();
    guarded.assertWellBehaved();
  },
);

/** Finds the texts of a saved picture that extend beyond its right edge. */
function textsBeyond(svg: string): (string | null)[] {
  const host = document.createElement("div");
  host.innerHTML = svg;
  document.body.append(host);
  const edgeOf = (one: Element | null) => one?.getBoundingClientRect().right ?? 0;
  const edge = edgeOf(host.querySelector("svg"));
  const beyond = [...host.querySelectorAll("text")].filter((text) => edgeOf(text) > edge);
  host.remove();
  return beyond.map(({ textContent }) => textContent);
}

/** The table of places lacks a sample's invented cities. */
const isUnknownCity = ({ searchParams }: URL, status: number) => status === 400 && searchParams.has("near");

testOfClicks(
  "a patient finds what a knee replacement costs within 25 miles of a city, and at one hospital",
  async () => {
    const inState = `/facilities?procedure=${procedure}&state=CA&limit=1`;
    const [{ city, state }] = (await answerOf<FacilitiesAnswer>(inState)).data;
    await walk(
      "patient",
      async (page, act) => {
        await act(field(page, "Procedure", "knee replacement"));
        await act(option(page, "Knee, hip or shoulder replacement"));
        await act(field(page, "State, city or ZIP code", `${city} ${state}`));
        // The table of places lacks the city, and its hospitals say where it is.
        const place = `${city}, ${state}`;
        await act(option(page, `Within 25 miles of ${place}`));
        await heading(page, `Within 25 miles of ${place}, `);
        await page.getByRole("link", { name: `Remove: Within 25 miles of ${place}` }).waitFor();
        assert.equal(new URL(page.url()).searchParams.get("near"), place);
        const around = `/facilities?procedure=${procedure}&near=${encodeURIComponent(place)}&within=25`;
        const { summary, data, source } = await answerOf<FacilitiesAnswer>(`${around}&sort=distance`);
        assert.ok(data.length > 1, "several hospitals");
        await heading(page, dollars(summary.max_charge ?? 0));
        await heading(page, `for a ${name}`);
        const allowed = data.map(({ medicare_allowed }) => medicare_allowed ?? 0).sort((a, b) => a - b);
        // For few hospitals, the sentence gives the range of allowed amounts instead of the median.
        const least = `${dollars(allowed[0])} to ${dollars(allowed[allowed.length - 1])}`;
        await heading(
          page,
          data.length < 8
            ? `Medicare allows ${least}`
            : `Medicare typically allows ${dollars(summary.median_allowed ?? 0)}`,
        );
        const first = page.locator(".facilities tbody tr").first();
        await first.filter({ hasText: data[0].facility }).waitFor();
        // The first amount of a row is the patient's.
        for (const [i, { medicare_allowed }] of data.slice(0, 3).entries()) {
          const share = shareOf(medicare_allowed ?? 0, source.data_year);
          assert.equal(await page.locator(".facilities tbody td.pays").nth(i).innerText(), dollars(share));
        }
        assert.ok((await first.innerText()).includes(milesText(data[0].distance, false)));
        await act(first.getByRole("link", { name: data[0].facility, exact: true }).click());
        const charge = dollars(data[0].submitted_charge ?? 0);
        const own = page.locator(".under", { hasText: `For a ${name} you pay about $` });
        assert.ok((await own.innerText()).includes(`with Medicare. It charges ${charge}`));
        const [row, ...others] = await page.locator(".standing tbody tr").allInnerTexts();
        assert.ok(row.includes(charge) && others.length > 0, `the first row is the procedure's: ${row}`);
      },
      { mayFail: isUnknownCity },
    );
  },
);

/** Asserts that a list has Springfield's states in full, what they share once, and nothing marked. */
async function isAskedOnce(list: Locator, shared: string) {
  await list.getByText("Springfield, Massachusetts", { exact: true }).waitFor();
  const text = await list.innerText();
  assert.equal(text.split(shared).length, 2, text);
  assert.doesNotMatch(text, /Springfield, [A-Z]{2}\b/);
  assert.equal(await list.locator("[aria-selected=true]").count(), 0);
  for (const option of await list.getByRole("option").all())
    assert.ok(((await option.boundingBox())?.height ?? 0) >= 44, "a finger can choose it");
}

testOfClicks(
  "a city without a hospital in the data is a place, and a name of several cities is a question",
  async () => {
    const mayFail = ({ searchParams }: URL) => searchParams.has("near") || searchParams.has("city");
    const guarded = await openPage(browser, server.api, { mayFail });
    const { page } = guarded;
    await page.goto("/?procedure=5115&state=TX");
    await heading(page, "In Texas");
    const place = page.getByRole("combobox", { name: "State, city or ZIP code" });
    for (const [text, title, near] of [
      ["Houston TX", "Within 25 miles of Houston, TX", "Houston, TX"],
      ["New York City", "Within 25 miles of New York, NY", "New York, NY"],
      ["Springfield", null, "Springfield"],
    ] as const) {
      await place.fill(text);
      if (title !== null)
        await page.locator(".place [aria-selected=true] > span", { hasText: title }).waitFor();
      else await isAskedOnce(page.locator(".place [role=listbox]"), "Within 25 miles of");
      await page.keyboard.press("Enter");
      await addressed(page, (url) => url.searchParams.get("near") === near);
      assert.equal(new URL(page.url()).searchParams.get("state"), null);
    }
    const choices = page.locator(".match");
    await isAskedOnce(page.locator(".sentence"), "Choose one:");
    const boxes = await Promise.all((await choices.locator("a").all()).map((one) => one.boundingBox()));
    assert.ok(boxes.length > 20);
    for (const [i, box] of boxes.entries()) {
      assert.ok(box !== null && box.height >= 44, "a finger can choose it");
      assert.ok(i === 0 || box.y >= (boxes[i - 1]?.y ?? 0) + 44, "each has a line of its own");
    }
    await page.getByRole("link", { name: "Springfield, Illinois" }).click();
    await addressed(page, (url) => url.searchParams.get("near") === "Springfield, IL");
    await guarded.close();
    guarded.assertWellBehaved();
  },
);

testOfClicks(
  "a hospital's procedures are found by a code, a short form, Spanish and plain words, and nothing is claimed of other words",
  async () => {
    const mayFail = ({ searchParams }: URL, status: number) => searchParams.has("q") && status === 404;
    const guarded = await openPage(browser, server.api, { mayFail });
    const { page } = guarded;
    const list = await answerOf<FacilitiesAnswer>(
      `/facilities?procedure=${procedure}&sort=services&order=desc&limit=1`,
    );
    const [{ ccn }] = list.data;
    const { data } = await answerOf<FacilityAnswer>(`/facilities/${ccn}`);
    await page.goto(`/facilities/${ccn}`);
    const words = page.getByLabel("Find a procedure");
    const rows = page.locator(".standing tbody tr");
    const all = page.getByRole("heading", { name: new RegExp(`^${data.length} procedures`) });
    for (const text of ["27447", "TKA", "27130", "total knee", "knee surgery", "rodilla", "knee", "5115"]) {
      await words.fill("");
      await all.waitFor();
      await words.fill(text);
      await all.waitFor({ state: "detached" });
      await rows.filter({ hasText: procedure }).waitFor();
    }
    for (const [text, said] of [
      ["qqqq", /^Nothing matches “qqqq”\./],
      ["MRI", /^MRI: not in this data\.$/],
      ["colonoscopy 45378", /^Colonoscopy .*: not in this data\./],
    ] as const) {
      await words.fill(text);
      const status = page.locator(".standing p[role=status]").filter({ hasText: said });
      await status.waitFor();
      assert.doesNotMatch(await status.innerText(), /no price/);
    }
    await guarded.close();
    guarded.assertWellBehaved();
  },
);

testOfClicks("typed words and a link with them lead to the same, unless a suggestion is chosen", async () => {
  const guarded = await openPage(browser, server.api);
  const { page } = guarded;
  for (const [words, said] of [
    ["pacemaker", /^“pacemaker” may mean/],
    ["marcapasos nuevo", /^“marcapasos nuevo” may mean/],
    ["knee replacement in Texas", /^In Texas, /],
    ["5491", /cataract surgery/],
  ] as const) {
    await page.goto(`/?q=${encodeURIComponent(words)}`);
    await heading(page, said);
    const linked = await page.locator("h1").innerText();
    await page.goto("/?procedure=5072");
    await heading(page, "hospitals charge");
    await field(page, "Procedure", words);
    await page.keyboard.press("Enter");
    await heading(page, said);
    assert.equal(await page.locator("h1").innerText(), linked, words);
  }
  // A link says what the list of suggestions shows, also after its words have become a procedure.
  for (const isTyped of [false, true]) {
    await page.goto(isTyped ? "/?procedure=5072" : "/?q=heart");
    if (isTyped) {
      await heading(page, "hospitals charge");
      await field(page, "Procedure", "heart");
      await page.keyboard.press("Enter");
    }
    await addressed(page, (url) => url.searchParams.get("procedure") === "5191");
    await page.locator(".under", { hasText: "“heart” also may be: " }).waitFor();
    const procedure = page.getByRole("combobox", { name: "Procedure" });
    await until(
      "the procedure's name",
      async () => (await procedure.inputValue()) === "Heart catheterization",
    );
  }
  await page.locator(".under a", { hasText: "Heart ablation" }).click();
  await heading(page, "for heart ablation");
  await page.locator(".under", { hasText: "also may be" }).waitFor({ state: "detached" });
  await field(page, "Procedure", "pacemaker");
  await page.getByRole("option", { name: "may mean several procedures" }).waitFor();
  await option(page, "5222");
  await addressed(page, (url) => url.searchParams.get("procedure") === "5222");
  await guarded.close();
  guarded.assertWellBehaved();
});

testOfClicks(
  "a journalist gets a state's dearest hospitals, a chart with its source, and a permanent link",
  async () => {
    await walk("journalist", async (page, act) => {
      await act(field(page, "State, city or ZIP code", "texas"));
      await act(option(page, "Texas"));
      await heading(page, "In Texas, ");
      await act(page.getByRole("columnheader", { name: "Charge" }).getByRole("link").click());
      const dearest = "/facilities?procedure=5072&state=TX&sort=charge&order=desc&limit=10";
      const { data, source } = await answerOf<FacilitiesAnswer>(dearest);
      await page.locator(".facilities tbody tr").first().filter({ hasText: data[0].facility }).waitFor();
      const shown = await page.locator(".facilities tbody .name > a").allInnerTexts();
      assert.deepEqual(
        shown.slice(0, data.length),
        data.map(({ facility }) => facility),
      );
      const card = (name: string) =>
        page.locator("section.card", { has: page.getByRole("heading", { name }) });
      const charges = card("How charges are spread");
      const saved = async (format: string, picture = charges) => {
        const download = page.waitForEvent("download");
        const opener = picture.getByRole("button", { name: "Download" });
        if ((await opener.getAttribute("aria-expanded")) === "false") await opener.click();
        await picture.getByRole("button", { name: format, exact: true }).click();
        return textOf(await download);
      };
      let png = Buffer.alloc(0);
      await act(
        saved("PNG").then((content) => {
          png = content;
        }),
      );
      assert.equal(png.toString("latin1", 1, 4), "PNG");
      assert.ok(png.readUInt32BE(16) > 1000, "as wide as two pixels for one");
      const svg = String(await saved("SVG"));
      const sentence = await page.locator("h1").innerText();
      const texts = [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text]) => text).join(" ");
      assert.ok(texts.includes(sentence), texts);
      assert.match(texts, new RegExp(`Source: .*version ${source.data_version}`));
      assert.equal(texts.split("Source: ").length, 2, "the source is said once");
      assert.doesNotMatch(svg, /var\(/);
      const ofYears = String(await saved("SVG", card("Over the years")));
      assert.match(ofYears, /Source: .*\(synthetic\)/);
      const yearsTexts = ofYears.replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");
      assert.match(yearsTexts, /charges, 20\d\d–20\d\d \(versions 20/);
      assert.equal(yearsTexts.split("Synthetic sample of").length, 2, "the years' title is said once");
      for (const picture of [svg, ofYears]) {
        assert.deepEqual(await page.evaluate(textsBeyond, picture), []);
        assert.match(picture, />Synthetic sample: nothing here is real\.<\/text>/);
      }
      await act(charges.getByRole("button", { name: "Share" }).click());
      await charges.getByRole("button", { name: "Copy link" }).click();
      await charges.getByRole("button", { name: "copied" }).waitFor();
      const link = await page.evaluate(() => navigator.clipboard.readText());
      assert.equal(new URL(link).searchParams.get("year"), source.data_version);
      await page.goto(link);
      await heading(page, sentence);
      await page.locator(".facilities tbody tr").first().filter({ hasText: data[0].facility }).waitFor();
    });
  },
);

testOfClicks("an analyst compares two hospitals over four years", async () => {
  const { data } = await answerOf<FacilitiesAnswer>(
    "/facilities?procedure=5072&sort=services&order=desc&limit=40",
  );
  const lasting: FacilityTrendsAnswer[] = [];
  for (const { ccn } of data) {
    const trend = await answerOf<FacilityTrendsAnswer>(`/facilities/${ccn}/trends?procedure=5072`);
    if (trend.data.every(({ status }) => status === "priced") && trend.data.length === years.length)
      lasting.push(trend);
  }
  const [first, second] = lasting;
  await walk("analyst", async (page, act) => {
    for (const { facility } of [first, second]) {
      await act(field(page, "Compare a hospital", facility.ccn));
      await act(option(page, facility.facility));
    }
    const lines = page.locator(".drawing .mark:has(.line)");
    await lines.nth(1).waitFor();
    assert.equal(await lines.count(), 2);
    const rows = page.locator(".facilities tr.pinned");
    for (const [i, { data }] of [first, second].entries()) {
      const charge = dollars(data[3].submitted_charge ?? 0);
      await rows.nth(i).filter({ hasText: charge }).waitFor();
      await page.locator(".drawing .end.mark", { hasText: `${"AB"[i]} ${charge}` }).waitFor();
      await page
        .locator(".drawing .mark text", { hasText: `${"AB"[i]} ${charge}` })
        .first()
        .waitFor();
      await page.locator(".under", { hasText: `charges ${charge}` }).waitFor();
    }
    const compared = page.locator("#compared tbody tr");
    const cellsOf = async (title: string) =>
      (await compared.filter({ hasText: title }).locator("td").allInnerTexts()).slice(0, 2);
    assert.deepEqual(await compared.locator("th").allInnerTexts(), [
      ...[paysTitle, "Allowed", "Charge", "Services"],
    ]);
    const table = page.locator("#compared");
    await table.locator(".about", { hasText: ", 2024" }).waitFor();
    for (const [title, of] of [
      ["Allowed", "medicare_allowed"],
      ["Charge", "submitted_charge"],
    ] as const)
      assert.deepEqual(
        await cellsOf(title),
        [first, second].map(({ data }) => dollars(data[3][of] ?? 0)),
      );
    // The picture's table has the amounts of all years.
    const picture = page.locator("section.card", { hasText: "Over the years" });
    await picture.getByRole("button", { name: "Table" }).click();
    const rowsOfYears = await picture.locator("tbody tr").allInnerTexts();
    for (const [i, text] of rowsOfYears.entries())
      for (const { data } of [first, second])
        for (const amount of [data[i].submitted_charge, data[i].medicare_allowed])
          assert.ok(text.includes(dollars(amount ?? 0)), text);
    assert.deepEqual(
      await cellsOf(paysTitle),
      [first, second].map(({ data }) => dollars(shareOf(data[3].medicare_allowed ?? 0, 2024))),
    );
    assert.equal(
      new URL(page.url()).searchParams.get("with"),
      `${first.facility.ccn},${second.facility.ccn}`,
    );
  });
});

test("on a phone, names are row headers, no text of a table is small, and what stands alone is as high as a finger", async () => {
  const { ccn, zip } = await somewhere();
  const { page, close } = await openPage(browser, server.api, phone);
  for (const path of [
    `/?procedure=5072&near=${zip}&within=100&with=${ccn}`,
    `/facilities/${ccn}?procedure=5072`,
  ]) {
    await page.goto(path);
    await page.locator(".actions button").first().waitFor();
    for (const table of await page.locator(".list table, .compared table").all())
      assert.equal(
        await table.getByRole("rowheader").count(),
        await table.locator("tbody tr").count(),
        "each row has a header",
      );
    const sizes = await page
      .locator(".list td")
      .evaluateAll((all) =>
        all.flatMap((one) =>
          [getComputedStyle(one), getComputedStyle(one, "::before")].map((style) =>
            Number.parseFloat(style.fontSize),
          ),
        ),
      );
    assert.ok(Math.min(...sizes) >= 13, `${Math.min(...sizes)} pixels`);
    for (const tool of await page.locator(".actions button, .more .button").all())
      assert.ok(((await tool.boundingBox())?.height ?? 0) >= 44, await tool.innerText());
  }
  await close();
});

test("hospitals at a place and elsewhere are compared with the same hospitals, and both have their miles", async () => {
  const { zip } = await somewhere();
  const inside = await answerOf<FacilitiesAnswer>(
    `/facilities?procedure=5072&near=${zip}&within=25&sort=distance`,
  );
  const outside = await answerOf<FacilitiesAnswer>(
    `/facilities?procedure=5072&near=${zip}&within=500&sort=distance&limit=100`,
  );
  const [near, other] = inside.data;
  const far =
    outside.data.find(({ distance = 0 }) => distance > 30) ?? assert.fail("a hospital farther away");
  const { page, close } = await openPage(browser, server.api, phone);
  for (const [pair, said] of [
    [[near, other], /: .*\d+ there|the (lowest|highest) of \d+ there/],
    [[near, far], / in the nation/],
  ] as const) {
    await page.goto(`/?procedure=5072&near=${zip}&within=25&with=${pair.map(({ ccn }) => ccn).join(",")}`);
    for (const letter of ["A", "B"])
      assert.match(
        await page.locator(".under", { has: page.locator(`b:text-is("${letter}")`) }).innerText(),
        said,
      );
    const miles = page.locator("#compared tbody tr", { hasText: "Miles" }).locator("td");
    assert.deepEqual(
      await miles.allTextContents(),
      pair.map(({ distance }) => milesText(distance, false)),
    );
    const compared = await page.locator("#compared").boundingBox();
    assert.ok(compared && compared.height < 844, "a phone shows the comparison at once");
  }
  await close();
});

testOfClicks("a developer gets a key and a first response", async () => {
  await walk("developer", async (page, act) => {
    await act(page.getByRole("link", { name: "Get a key" }).click());
    await act(page.getByLabel("Your name").fill("Ann Smith"));
    await act(page.getByLabel("Your e-mail address").fill(`ann${++developers}@example.org`));
    await act(page.getByRole("button", { name: "Get a key" }).click());
    const command = page.locator(".command", { has: page.getByRole("group", { name: "Command" }) });
    await act(command.getByRole("button", { name: "copy" }).click());
    const curl = await page.evaluate(() => navigator.clipboard.readText());
    const [, authorization, url] =
      /^curl -H "Authorization: (Bearer \w+)" \\\n {2}"([^"]+)"$/.exec(curl) ?? [];
    assert.equal((await fetch(url, { headers: { Authorization: authorization } })).status, 200);
  });
});

testOfClicks(
  "an operator sees during refusals who is refused, bad keys and a delivery's next try, and removes a refused file",
  async (t) => {
    const receiver = createServer((_, response) => response.writeHead(503).end()).listen(0, "127.0.0.1");
    await once(receiver, "listening");
    t.after(() => receiver.close());
    const { port } = receiver.address() as AddressInfo;
    const stateDir = temporaryFolder();
    const [fast, spent] = [
      createKey(stateDir, "newsroom", { burst: 1, quota: 1000 }),
      createKey(stateDir, "clinic", { burst: 1000, quota: 5 }),
    ];
    const store = Store.open(stateDir);
    const clinic = store.accounts.byName("clinic") ?? assert.fail();
    const webhook = { webhook: `http://localhost:${port}/`, webhook_secret: newWebhookSecret() };
    store.accounts.update({ ...clinic, ...webhook });
    store.close();
    const datasetsDir = datasetsFolder(["2024.3"]);
    const file = path.join(datasetsDir, "it's a copy of 2024.parquet");
    writeFileSync(file, "no snapshot");
    const env = { WEBHOOK_ALLOW_LOOPBACK: "true" };
    const busy = await startServer({ stateDir, datasetsDir, env });
    const statuses: number[] = [];
    for (let i = 0; i < 20; i++)
      for (const key of [busy.key, fast, spent, `${fast.slice(0, -1)}!`]) {
        const { status } = await call(busy, "GET /api/v1/usage", { Authorization: `Bearer ${key}` });
        statuses.push(status);
      }
    for (const status of [200, 401, 429]) assert.ok(statuses.includes(status), `${status} is answered`);
    await walk(
      "operator",
      async (page, act) => {
        const said = (text: RegExp) => page.locator(".attention li", { hasText: text }).waitFor();
        const section = (title: string) =>
          page.locator("section", { has: page.getByRole("heading", { name: title }) });
        await act(page.getByRole("button", { name: "an hour" }).click());
        await said(
          /requests in the last hour are refused, being over a rate \(429\): most of newsroom\. To raise a rate: /,
        );
        await said(/requests in the last hour are refused, being over a month's quota \(429\)\.$/);
        await said(/requests in the last hour have no key that works \(401\)\./);
        await said(/1 account has used up the month's quota: clinic\./);
        await said(/1 delivery is being retried\./);
        await said(/1 file is refused\. What to do stands below\./);
        for (const account of ["newsroom", "clinic"]) {
          const row = section("Accounts").getByRole("row", { name: account });
          const refused = await row.locator('[data-name="Refused in an hour"]').innerText();
          assert.ok(Number(refused) > 0, `${account}: ${refused}`);
        }
        const delivery = section("Events").getByRole("row", { name: /clinic 80 % .* pending/ });
        const cell = (name: string) => delivery.locator(`[data-name="${name}"]`);
        await cell("Last answer").getByText("503").waitFor();
        assert.ok(Date.parse(await cell("Next try").innerText()) > 0, "a time");
        await section("Events")
          .getByRole("row", { name: /clinic 100 % .* after 80 % is delivered/ })
          .waitFor();
        const command = await section("Refused files").locator("td code").last().innerText();
        await act(promisify(execFile)("sh", ["-c", command]));
        await section("Refused files").waitFor({ state: "detached" });
        assert.equal(existsSync(file), false);
        assert.equal(await page.locator(".attention .bad").count(), 0);
      },
      { origin: busy.ops, first: ".attention .warn" },
    );
    assert.equal(await busy.stop(), 0);
  },
);
