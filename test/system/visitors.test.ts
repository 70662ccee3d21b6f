import assert from "node:assert/strict";
import { after, afterEach, before } from "node:test";
import type { Browser, Page } from "playwright-core";
import { type GuardedPage, launch, narrow, openPage, testOfClicks } from "../support/browser.ts";
import {
  ample,
  createKey,
  datasetsFolder,
  startServer,
  type TestServer,
  temporaryFolder,
} from "../support/server.ts";
import { writing } from "../support/writing.ts";

/** Tests in Debian's Chromium what visitors type, save and fill in, where they stumbled before. */

let server: TestServer;
let browser: Browser;
const opened: GuardedPage[] = [];

before(async () => {
  const stateDir = temporaryFolder();
  createKey(stateDir, "explore", ample);
  const env = { PORTAL: "on", PORTAL_ACCOUNT: "explore", SIGNUP: "open", ...writing(true) };
  [server, browser] = await Promise.all([
    startServer({ stateDir, datasetsDir: datasetsFolder(), env }),
    launch(),
  ]);
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

afterEach(async () => {
  for (const guarded of opened.splice(0)) {
    await guarded.close();
    guarded.assertWellBehaved();
  }
});

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
    await page.getByRole("link", { name: "Springfield, IL" }).click();
    await page.locator(".sentence h1", { hasText: "of Springfield, IL" }).waitFor();
  },
);
