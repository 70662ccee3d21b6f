import assert from "node:assert/strict";
import { rmSync, truncateSync } from "node:fs";
import { after, before } from "node:test";
import type { Browser } from "playwright-core";
import type { Sample } from "../../server/parts/console/browser/sample.ts";
import { coverageText } from "../../server/parts/console/browser/tables.ts";
import {
  accessibilityFaults,
  type GuardedPage,
  launch,
  narrow,
  openPage,
  sizes,
  test,
  testOfClicks,
  wide,
} from "../support/browser.ts";
import { metricsText } from "../support/metrics-text.ts";
import {
  call,
  createKey,
  datasetsFolder,
  pricesPath,
  startServer,
  type TestServer,
  temporaryFolder,
} from "../support/server.ts";

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
  await shown.page.goto("/");
});
after(async () => {
  shown.assertWellBehaved();
  await browser.close();
  await server.stop();
});

/** The counts of a sample with refused requests, all over a rate. */
const countsRefusing = (refused: number) => ({
  ...{ refused, overRate: refused, overQuota: 0, refusedBy: {}, unauthorized: 0 },
  ...{ bytes: 1, connections: 1, memory: 1e8 },
});

const section = (title: string, page = shown.page) =>
  page.locator("section", { has: page.getByRole("heading", { name: title }) });

test("the console shows that the server is up and which data versions it serves", async () => {
  await shown.page.locator(".health.good", { hasText: "Up" }).waitFor();
  await shown.page.getByText("Nothing needs attention.").waitFor();
  const versions = section("Data versions");
  await versions.getByText("2024.3").waitFor();
  await versions.getByText("2023.2").waitFor();
});

testOfClicks("the console shows requests by route and status, and latencies as a table", async () => {
  const guarded = await openPage(browser, server.ops);
  const { page } = guarded;
  await page.goto("/");
  for (let i = 0; i < 20; i++) await call(server, `GET ${pricesPath}?procedure=5072`);
  await call(server, "GET /api/v1/nothing");
  const traffic = section("Busiest routes", page);
  await traffic.getByRole("row", { name: new RegExp(`${pricesPath} .* 200 100%`) }).waitFor();
  await traffic.getByRole("row", { name: /unknown .* 404/ }).waitFor();
  assert.equal(await page.locator("svg[role=img]").count(), 2);
  assert.equal(
    await page.locator(".legend .time", { hasText: "last 10 minutes" }).count(),
    2,
    "as the cards",
  );
  const times = section("Time for a request", page);
  await times.getByRole("button", { name: "table" }).click();
  await times.locator("tbody td", { hasText: /µs|ms/ }).first().waitFor();
  await guarded.close();
  guarded.assertWellBehaved();
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
  const attention = shown.page.locator(".attention");
  await attention
    .filter({ hasText: "of requests in the last 10 minutes are refused, being over a month's quota (429)." })
    .waitFor();
  assert.doesNotMatch((await attention.textContent()) ?? "", /over a rate/);
  const line = attention.getByText(
    /^1 account has used up the month's quota: exhausted\. The next month begins/,
  );
  const [, command = ""] = /To raise a quota before: hcqs (.*)$/.exec((await line.textContent()) ?? "") ?? [];
  const [name, ...words] = command.replace(/N$/, "1000").split(" ");
  assert.equal(name, "keys");
  assert.equal((await server.keys(...words)).code, 0, command);
  assert.equal(
    (await call(server, "GET /api/v1/usage", { Authorization: `Bearer ${exhausted}` })).status,
    200,
  );
});

/** Cuts a file under the server that may serve it, as an interrupted copy does. */
const damage = (folder: string, version: string) => truncateSync(`${folder}/${version}.parquet`, 500);

test("for a damaged file the console says what is served and what to do, and after a restart that a version is gone", async () => {
  const [folder, stateDir] = [datasetsFolder(["2023.2", "2024.3"]), temporaryFolder()];
  const first = await startServer({ datasetsDir: folder, stateDir });
  damage(folder, "2023.2");
  const attentionOf = ({ page }: GuardedPage) => page.locator(".attention");
  const row = ({ page }: GuardedPage) => page.getByRole("row", { name: /2023\.2\.parquet/ });
  const before = await openPage(browser, first.ops);
  await before.page.goto("/");
  await row(before).getByText("2023.2: served, from memory").waitFor();
  await row(before)
    .getByText("Replace the file with a good copy. Don't remove it, and don't restart")
    .waitFor();
  await attentionOf(before).getByText("1 file is refused. What to do stands below.").waitFor();
  assert.doesNotMatch((await before.page.locator("main").textContent()) ?? "", /\brm |any more/);
  await before.close();
  await first.stop();

  const second = await startServer({ datasetsDir: folder, stateDir });
  const after = await openPage(browser, second.ops, { bypassCSP: true });
  await after.page.goto("/");
  const gone =
    "1 data version isn't served any more, though its file is there: 2023.2. What to do stands below.";
  await attentionOf(after).locator(".bad", { hasText: gone }).waitFor();
  await row(after).getByText("2023.2: not served, though it was before").waitFor();
  await row(after).getByText(`rm ${folder}/2023.2.parquet`).waitFor();
  const ready = await fetch(`${second.ops}/readyz`);
  assert.deepEqual(
    [ready.status, await ready.text()],
    [200, "ready\ndata version 2023.2 isn't served, though it was before and its file is there\n"],
  );
  assert.match(await metricsText(second.ops), /^hcqs_snapshots_lost 1$/m);
  assert.deepEqual(await accessibilityFaults(after.page), []);
  // What is offered ends it.
  rmSync(`${folder}/2023.2.parquet`);
  await attentionOf(after).getByText("Nothing needs attention.").waitFor();
  after.assertWellBehaved();
  await after.close();
  await second.stop();
});

test("territories and DC aren't counted as states", () => {
  assert.equal(coverageText(["AL", "AK", "DC", "PR", "WY"]), "3 states, DC, PR");
  assert.equal(coverageText(["AL"]), "1 state");
  assert.equal(coverageText(["PR"]), "0 states, PR");
});

for (const viewport of Object.values(sizes))
  for (const colorScheme of ["light", "dark"] as const)
    test(`at ${viewport.width} pixels, ${colorScheme}, nothing overflows the page and axe finds no faults`, async () => {
      const guarded = await openPage(browser, server.ops, { viewport, colorScheme, bypassCSP: true });
      const { page } = guarded;
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

/** Puts events that the test makes in place of the server's stream. `isStreaming` is there once the page listens. */
function replaceStream() {
  class Stream extends EventTarget {
    constructor() {
      super();
      Object.assign(globalThis, { isStreaming: true });
      addEventListener("history-of-test", ({ detail = "" }: CustomEventInit<string>) =>
        this.dispatchEvent(new MessageEvent("history", { data: detail })),
      );
    }
    close() {}
  }
  Object.assign(globalThis, { EventSource: Stream });
}

/** Finds labels of the charts that are cut off, that cover each other, or that are said twice. */
function labelFaults(): string[] {
  return [...document.querySelectorAll(".plot svg")].flatMap((svg) => {
    const edge = svg.getBoundingClientRect();
    const labels = [...svg.querySelectorAll("text")]
      .filter((one) => one.getClientRects().length > 0)
      .map((one) => ({ text: one.textContent ?? "", box: one.getBoundingClientRect() }));
    return labels.flatMap(({ text, box: a }, i) => [
      ...(a.left < edge.left - 1 || a.right > edge.right + 1 ? [`${text} is cut`] : []),
      ...labels
        .slice(i + 1)
        .filter(
          ({ text: other, box: b }) =>
            other === text ||
            (a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom),
        )
        .map(({ text: other }) => `${text} and ${other}`),
    ]);
  });
}

for (const viewport of [narrow, wide])
  test(`at ${viewport.width} pixels, labels of the charts' axes don't collide, whatever the time and the values`, async () => {
    const guarded = await openPage(browser, server.ops, { viewport });
    const { page } = guarded;
    await page.addInitScript(replaceStream);
    await page.goto("/");
    await page.waitForFunction("globalThis.isStreaming");
    for (const [rate, time] of [
      [0, null],
      [0.1, 0.3],
      [1, 40],
      [437, 900],
      [95_000, 250_000],
      [960_000, 8_000_000],
    ] as const)
      for (const [span, seconds, minutes] of [
        ["10 minutes", 1, 0],
        ["10 minutes", 3, 0],
        ["10 minutes", 47, 0],
        ["10 minutes", 600, 0],
        ["an hour", 600, 60],
        ["a day", 600, 7],
        ["a day", 600, 1440],
      ] as const) {
        const sampleOf = (i: number, step: number): Sample => ({
          at: 1_790_000_017 + i * step,
          seconds: step,
          requests:
            rate === 0
              ? {}
              : { "/api/v1/usage 200": rate * (1 + Math.sin(i)), "/api/v1/usage 429": rate / 3 },
          times: time === null ? [] : [[time, 5]],
          p50: time,
          p90: time && time * 1.5,
          p99: time && time * 2 ** (i % 7),
          ...countsRefusing(rate / 3),
        });
        const history = {
          samples: Array.from({ length: seconds }, (_, i) => sampleOf(i, 1)),
          minutes: Array.from({ length: minutes }, (_, i) => sampleOf(i, 60)),
        };
        await page.evaluate(
          (detail) => dispatchEvent(new CustomEvent("history-of-test", { detail })),
          JSON.stringify(history),
        );
        await page.getByRole("button", { name: span }).click();
        await page.getByRole("button", { name: span, pressed: true }).waitFor();
        const what = `${span}, ${seconds} seconds, ${minutes} minutes, ${rate} a second`;
        assert.deepEqual(await page.evaluate(labelFaults), [], what);
        const points = await page
          .locator(".plot path")
          .evaluateAll((all) => all.map((one) => (one.getAttribute("d") ?? "").split("L").length));
        assert.ok(Math.max(...points) <= 74, `${what}: steps are wide enough to be seen`);
        if (viewport === wide && seconds > 10 && rate > 0)
          assert.deepEqual(
            (await page.locator(".plot .ends text").allTextContents()).sort(),
            ["2xx, 3xx", "429", "90%", "99%", "median"],
            what,
          );
        const drawn = page.locator(".plot svg[role=img] text:visible");
        if (seconds > 10 && rate > 0) assert.ok((await drawn.count()) >= 2, what);
        assert.equal(
          await page.getByText("no requests", { exact: true }).count(),
          time === null ? 1 : 0,
          what,
        );
      }
    await guarded.close();
    guarded.assertWellBehaved();
  });

test("many answers of one 4xx status are named with their route, few or those with a line of their own aren't", async () => {
  const guarded = await openPage(browser, server.ops);
  const { page } = guarded;
  await page.addInitScript(replaceStream);
  await page.goto("/");
  await page.waitForFunction("globalThis.isStreaming");
  const shownFor = async (requests: Sample["requests"]) => {
    const sample = { at: 1_790_000_000, seconds: 100, requests, times: [], p50: null, p90: null, p99: null };
    const rest = countsRefusing(0);
    const state = { server: {}, versions: [], refused: [], accounts: [], all_accounts: 0, events: [] };
    await page.evaluate(
      (detail) => dispatchEvent(new CustomEvent("history-of-test", { detail })),
      JSON.stringify({ samples: [{ ...sample, ...rest }], minutes: [], state }),
    );
    return page.locator(".attention").textContent();
  };
  const nothing = "Nothing needs attention.";
  assert.equal(
    await shownFor({ "/a 200": 0.03, "/b 400": 0.9, "/b 404": 0.05, "/c 404": 0.02 }),
    "97% of requests in the last 10 minutes are answered with 4xx: most, 90%, with 400 at /b.",
  );
  assert.equal(await shownFor({ "/a 200": 1, "/b 404": 0.23 }), nothing, "a small share");
  assert.equal(await shownFor({ "/b 400": 0.1 }), nothing, "ten answers");
  assert.equal(await shownFor({ "/a 401": 0.9, "/b 429": 0.9 }), nothing, "others' lines");
  await guarded.close();
  guarded.assertWellBehaved();
});

test("the console shows when the server can't be reached", async () => {
  const other = await startServer({ datasetsDir: datasetsFolder(["2024.3"]) });
  const guarded = await openPage(browser, other.ops, { mayFail: () => true });
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
