import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { accessibilityFaults, type GuardedPage, launch, openPage, sizes } from "../support/browser.ts";
import {
  call,
  createKey,
  datasetsFolder,
  pricesPath,
  startServer,
  type TestServer,
  temporaryFolder,
} from "../support/server.ts";

const patienceMs = 120_000;
const datasetsDir = datasetsFolder(["2023.2", "2024.3"]);
let server: TestServer;
let browser: Browser;
let shown: GuardedPage;
let exhausted: string;

before(async () => {
  const stateDir = temporaryFolder();
  exhausted = createKey(stateDir, "exhausted", { burst: 100, quota: 5 });
  server = await startServer({ stateDir, datasetsDir });
  browser = await launch();
  shown = await openPage(browser, server.ops, { bypassCSP: false });
  shown.page.setDefaultTimeout(patienceMs);
  await shown.page.goto("/");
});
after(async () => {
  shown.assertWellBehaved();
  await browser.close();
  await server.stop();
});

const section = (title: string) =>
  shown.page.locator("section", { has: shown.page.getByRole("heading", { name: title }) });

test("the console shows that the server is up and which data versions it serves", async () => {
  await shown.page.locator(".health.good", { hasText: "Up" }).waitFor();
  await shown.page.getByText("Nothing needs attention.").waitFor();
  const versions = section("Data versions");
  await versions.getByText("2024.3").waitFor();
  await versions.getByText("2023.2").waitFor();
});

test("the console shows requests by route and status, and latencies as a table", async () => {
  const { page } = shown;
  for (let i = 0; i < 20; i++) await call(server, `GET ${pricesPath}?procedure=5072`);
  await call(server, "GET /api/v1/nothing");
  const traffic = section("Busiest routes");
  await traffic.getByRole("row", { name: new RegExp(`${pricesPath} .* 200 100%`) }).waitFor();
  await traffic.getByRole("row", { name: /unknown .* 404/ }).waitFor();
  assert.equal(await page.locator("svg[role=img]").count(), 2);
  assert.equal(
    await page.locator(".legend .time", { hasText: "last 10 minutes" }).count(),
    2,
    "as the cards",
  );
  await section("Time for a request").getByRole("button", { name: "table" }).click();
  const cells = section("Time for a request").locator("tbody td");
  await cells.filter({ hasText: /µs|ms/ }).first().waitFor();
});

test("an account with a used-up quota is listed first, with its event", async () => {
  for (let i = 0; i < 7; i++)
    await call(server, "GET /api/v1/usage", { Authorization: `Bearer ${exhausted}` });
  const accounts = section("Accounts");
  await accounts
    .locator("tbody tr")
    .first()
    .filter({ hasText: "exhausted" })
    .filter({ hasText: /100.?%/ })
    .waitFor();
  await section("Events")
    .getByRole("row", { name: /exhausted 100.?%/ })
    .waitFor();
  await shown.page.getByText("1 account has used up the month's quota: exhausted.").waitFor();
  await shown.page
    .locator(".attention", {
      hasText:
        "of requests in the last 10 minutes are refused, being over a rate or quota (429): most of exhausted",
    })
    .waitFor();
});

for (const viewport of Object.values(sizes))
  for (const colorScheme of ["light", "dark"] as const)
    test(`at ${viewport.width} pixels, ${colorScheme}, nothing overflows the page and axe finds no faults`, async () => {
      const guarded = await openPage(browser, server.ops, { viewport, colorScheme, bypassCSP: true });
      const { page } = guarded;
      page.setDefaultTimeout(patienceMs);
      await page.goto("/");
      await page.locator(".health.good", { hasText: "Up" }).waitFor();
      assert.deepEqual(await accessibilityFaults(page), []);
      const [content, width] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.ok(content <= width, `${content} > ${width}`);
      const cut = await page
        .locator(".scroll")
        .evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth).length);
      assert.equal(cut, 0, "no table is cut");
      guarded.assertWellBehaved();
      await guarded.close();
    });

test("the console shows when the server can't be reached", async () => {
  const other = await startServer({ datasetsDir: datasetsFolder(["2024.3"]) });
  const guarded = await openPage(browser, other.ops, { mayFail: () => true });
  guarded.page.setDefaultTimeout(patienceMs);
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await guarded.page.route("**/stream", async (route) => {
    await held;
    await route.continue();
  });
  await guarded.page.goto("/");
  await guarded.page.getByText("…", { exact: true }).waitFor();
  assert.equal(await guarded.page.getByText("can't be reached").count(), 0, "not before it was tried");
  release();
  await guarded.page.locator(".health.good", { hasText: "Up" }).waitFor();
  assert.equal(await other.stop(), 0);
  await guarded.page.getByText("can't be reached").waitFor();
  await guarded.close();
});
