import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, afterEach, before } from "node:test";
import type { Browser, Page } from "playwright-core";
import { plans } from "../../server/shared/plans.ts";
import {
  accessibilityFaults,
  closePages,
  type GuardedPage,
  launch,
  openPage,
  sizes,
  test,
  testOfClicks,
} from "../support/browser.ts";
import {
  ample,
  becomes,
  call,
  createKey,
  pricesPath,
  startServer,
  type TestServer,
  temporaryFolder,
} from "../support/server.ts";
import { SmtpServer } from "../support/smtp.ts";

/** Tests the pages for keys, account, reference and data in Debian's Chromium, from a visitor's view. */

const smallQuota = 3;

const smtp = await SmtpServer.open();
let server: TestServer;
let mailing: TestServer;
let browser: Browser;
let smallKey: string;
const opened: GuardedPage[] = [];
let addresses = 0;

before(async () => {
  const stateDir = temporaryFolder();
  createKey(stateDir, "explore", ample);
  smallKey = createKey(stateDir, "small", { burst: 100, quota: smallQuota });
  [server, mailing, browser] = await Promise.all([
    startServer({
      stateDir,
      env: {
        PORTAL: "on",
        PORTAL_ACCOUNT: "explore",
        SIGNUP: "open",
        TRUSTED_PROXIES: "1",
        SMTP_URL: smtp.url(),
        MAIL_FROM: "keys@example.com",
      },
    }),
    startServer({
      env: { PORTAL: "on", SIGNUP: "email", SMTP_URL: smtp.url(), MAIL_FROM: "keys@example.com" },
    }),
    launch(),
  ]);
});
after(async () => {
  await browser.close();
  assert.deepEqual(await Promise.all([server.stop(), mailing.stop()]), [0, 0]);
});

async function open(path: string, options: Parameters<typeof openPage>[2] = {}, of = server): Promise<Page> {
  // The tests make more requests than a client may make, so each page gets another client address.
  const extraHTTPHeaders = { "X-Forwarded-For": `192.0.2.${++addresses}` };
  const guarded = await openPage(browser, of.api, { extraHTTPHeaders, ...options });
  opened.push(guarded);
  await guarded.page.goto(path);
  return guarded.page;
}

afterEach(() => closePages(opened));

const statusOf = async (key: string, path = `${pricesPath}?procedure=5072`, of = server) =>
  (await call(of, `GET ${path}`, { Authorization: `Bearer ${key}` })).status;
const button = (page: Page, name: string | RegExp) => page.getByRole("button", { name, exact: true });
const says = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor();
const newKey = (page: Page) => page.getByRole("group", { name: "Your new key" });
const keptKey = (page: Page) => page.evaluate(() => localStorage.getItem("hcqs-key"));
const last4 = (key: string) => key.slice(-4);

/** @param before the key that the page has shown until now */
async function shownKey(page: Page, before?: string): Promise<string> {
  const shown = before === undefined ? newKey(page) : newKey(page).filter({ hasNotText: before });
  return (await shown.textContent()) ?? "";
}

async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel("Your key").fill(key);
  await button(page, "Use this key").click();
}

testOfClicks("a visitor can get a key, use it, see its usage, rotate it and revoke it", async () => {
  const page = await open("/", {
    mayFail: ({ pathname }, status) => pathname === "/portal/signup" && status === 400,
  });
  await page.getByRole("link", { name: "Get a key" }).click();
  const { burst, quota } = plans.free;
  await says(page, `${burst} requests a second, ${quota.toLocaleString("en-US")} a month`);
  // The keyboard doesn't reach the hidden field that is for bots.
  await page.getByLabel("Your name").focus();
  await page.keyboard.press("Enter");
  for (const text of ["Enter your name.", "Enter your e-mail address."]) await page.getByText(text).waitFor();
  await becomes("the focused field", () => page.evaluate("document.activeElement.autocomplete"), "name");
  assert.equal(await page.getByLabel("Your name").getAttribute("aria-invalid"), "true");
  await page.keyboard.type("Ann Smith");
  await page.keyboard.press("Tab");
  await page.keyboard.type(`ann${addresses}@example.org`);
  await page.keyboard.press("Tab");
  // What is kept when the key appears: nobody can leave the page before that.
  await page.evaluate(`void (globalThis.keptAtFirst = new Promise((done) => {
    new MutationObserver(() => {
      if (document.querySelector(".new-key")) done(localStorage.getItem("hcqs-key"));
    }).observe(document.body, { childList: true, subtree: true });
  }))`);
  await page.keyboard.press("Enter");
  const first = await shownKey(page);
  assert.match(first, /^hcq_\w{49}$/);
  assert.equal(await page.evaluate("globalThis.keptAtFirst"), first);
  const keep = page.getByRole("checkbox", { name: "Keep it in this browser" });
  assert.ok(await keep.isChecked());
  await keep.uncheck();
  assert.equal(await keptKey(page), null);
  page.once("dialog", (dialog) => dialog.dismiss());
  await page.getByRole("link", { name: "reference" }).click();
  assert.equal(await newKey(page).textContent(), first);
  await keep.check();
  assert.equal(await keptKey(page), first);
  const curl = (await page.getByRole("group", { name: "Command" }).textContent()) ?? "";
  const [, authorization, url] =
    /^curl -H "Authorization: (Bearer \w+)" \\\n {2}"([^"]+)"$/.exec(curl) ?? assert.fail(curl);
  const tried = await fetch(url, { headers: { Authorization: authorization } });
  assert.equal(tried.status, 200);
  const statuses = await page.evaluate(async (path) => {
    const headers = { Authorization: `Bearer ${localStorage.getItem("hcqs-key")}` };
    return [(await fetch(path, { headers })).status, (await fetch(path, { headers })).status];
  }, `${pricesPath}?procedure=5072`);
  assert.deepEqual(statuses, [200, 200]);

  // Four requests count: one by curl, two by the page, and the request for the usage itself.
  await page.getByRole("link", { name: "Your account" }).first().click();
  await says(page, "4 of 10,000 this month; 9,996 left until");
  await button(page, "Table").click();
  const cells = await page.locator(".figures tbody td.number").allTextContents();
  assert.equal(
    cells.reduce((sum, cell) => sum + Number(cell), 0),
    4,
  );

  await button(page, `rotate the key that ends in ${last4(first)}`).click();
  await page.getByLabel("Hours that both keys work").fill("1");
  await button(page, "Make a new key in its place").click();
  const second = await shownKey(page);
  assert.equal(await keptKey(page), second);
  // Another key in the browser isn't another sign-in.
  assert.notEqual(await page.evaluate("document.activeElement.id"), "main");
  assert.deepEqual([await statusOf(first), await statusOf(second)], [200, 200]);
  await page
    .locator("li", { hasText: last4(first) })
    .getByText("works until")
    .waitFor();
  await button(page, `rotate the key that ends in ${last4(second)}`).click();
  await page.getByLabel("Hours that both keys work").fill("0");
  await button(page, "Make a new key in its place").click();
  const third = await shownKey(page, second);
  assert.deepEqual([await statusOf(second), await statusOf(third)], [401, 200]);
  await page.locator("li.revoked", { hasText: last4(second) }).waitFor();

  await button(page, "new key").click();
  await page.getByLabel("Last day (UTC), if the key should expire").fill("2099-12-31");
  await button(page, "Make the key").click();
  const fourth = await shownKey(page, third);
  await says(page, "A key was made; it works until 2099-12-31 23:59.");
  await button(page, `revoke the key that ends in ${last4(fourth)}`).click();
  await button(page, `Revoke …${last4(fourth)}`).click();
  await says(page, `The key that ends in ${last4(fourth)} is revoked.`);
  assert.deepEqual([await statusOf(fourth), await statusOf(third)], [401, 200]);

  await button(page, `revoke the key that ends in ${last4(third)}`).click();
  await says(page, "This browser uses it: you will be signed out.");
  assert.equal(await statusOf(third), 200);
  await button(page, `Revoke …${last4(third)}`).click();
  await says(page, `The key that ends in ${last4(third)} is revoked. You are signed out.`);
  assert.deepEqual([await keptKey(page), await statusOf(third)], [null, 401]);
  await page.getByRole("link", { name: "Get a key" }).waitFor();
});

testOfClicks(
  "a visitor can set the e-mail and webhook for warnings, and the webhook secret is shown once",
  async () => {
    const page = await open("/account", {
      mayFail: ({ pathname }, status) => pathname.startsWith("/portal/account/") && status === 400,
    });
    await signIn(page, server.key);
    await page.getByLabel("E-mail address").fill("nobody");
    await button(page, "Save the address").click();
    await says(page, /^This must be an e-mail address/);
    await page.getByLabel("E-mail address").fill("ops@example.org");
    await button(page, "Save the address").click();
    await says(page, "Warnings go to ops@example.org.");
    await page.getByLabel("Webhook").fill("ftp://hooks.example.org");
    await button(page, "Save the webhook").click();
    await says(page, /^This must be .*https/);
    await page.getByLabel("Webhook").fill("https://hooks.example.org/quota");
    await button(page, "Save the webhook").click();
    const secret = page.getByRole("group", { name: "The webhook's signing secret" });
    assert.match((await secret.textContent()) ?? "", /^whsec_/);
    await page.reload();
    await page.getByLabel("Webhook").waitFor();
    assert.equal(await page.getByLabel("Webhook").inputValue(), "https://hooks.example.org/quota");
    assert.equal(await page.getByLabel("E-mail address").inputValue(), "ops@example.org");
    assert.equal(await secret.count(), 0);
    await page.getByLabel("Webhook").fill("");
    await button(page, "Save the webhook").click();
    await says(page, "Nothing is posted.");
  },
);

testOfClicks("the account page explains invalid keys, a used-up quota and a lost connection", async () => {
  const page = await open("/account", { mayFail: () => true });
  await signIn(page, "hcq_short");
  await says(page, "A key has 53 characters");
  await signIn(page, `hcq_${"0".repeat(49)}`);
  await says(page, "The server doesn't know this key");
  const { key: pageKey } = JSON.parse((await page.locator("#settings").textContent()) ?? "");
  await signIn(page, pageKey);
  await says(page, "This key is the portal's own: sign up for one of yours.");
  assert.equal(await keptKey(page), null);

  for (let i = 0; i < smallQuota; i++) await statusOf(smallKey);
  await signIn(page, smallKey);
  await says(
    page,
    /^The account's requests per month are used up until .* Keys and warnings can be changed meanwhile\./,
  );
  await page.goto("/data");
  await says(page, "Your account's requests for this month are used up.");
  await page.goto("/account");
  await button(page, "Sign out").waitFor();

  await page.context().setOffline(true);
  await page.getByLabel("E-mail address").fill("ops@example.org");
  await button(page, "Save the address").click();
  await says(
    page,
    "The server didn't answer, so it isn't certain whether this was done. Reload the page to see.",
  );
  await page.context().setOffline(false);
  await button(page, "Sign out").click();
  await says(page, "You are signed out: this browser has forgotten the key.");
  assert.equal(await keptKey(page), null);
});

testOfClicks("the reference lists every operation, and its forms show the API's responses", async () => {
  const page = await open("/reference#trends", {
    mayFail: ({ pathname }, status) => pathname === pricesPath && status === 400,
  });
  const document = JSON.parse(String((await call(server, "GET /api/v1/openapi.json")).body));
  await page.locator("#trends").waitFor();
  for (const path of Object.keys(document.paths)) {
    const { operationId } = document.paths[path].get;
    assert.equal(await page.locator(`[id="${operationId}"]`).count(), 1, operationId);
  }
  await page.waitForFunction("scrollY > 0");
  await page.locator(".contents [aria-current=true]", { hasText: "/healthcare/trends" }).waitFor();

  const folded = page.locator(".operation:not([open]) > summary");
  while ((await folded.count()) > 0) await folded.first().click();
  const sends = page.getByRole("button", { name: /^Send GET/ });
  for (const send of await sends.all()) await send.click();
  await page
    .locator(".shown b")
    .nth((await sends.count()) - 1)
    .waitFor();
  // The examples are from the loaded data.
  for (const status of await page.locator(".shown b").allTextContents()) assert.equal(status, "200 OK");

  const most = await call(server, "GET /api/v1/healthcare/procedures?sort=facilities&limit=1");
  const [{ code }] = JSON.parse(String(most.body)).data;
  const prices = page.locator("#prices");
  const send = prices.getByRole("button", { name: `Send GET ${pricesPath}` });
  const body = prices.getByRole("region", { name: "The answer's body" });
  const asks = async (status: string, path: string) => {
    await send.click();
    await prices.locator(".shown", { hasText: status }).filter({ hasText: path }).waitFor();
    const answer = await call(server, `GET ${path}`);
    assert.deepEqual(JSON.parse((await body.textContent()) ?? ""), JSON.parse(String(answer.body)));
    const command = (await prices.getByRole("group", { name: "Command" }).textContent()) ?? "";
    assert.ok(command.includes(`"${server.api}${path}"`), command);
  };
  await prices.getByLabel("limit").fill("2");
  await asks("200 OK", `${pricesPath}?procedure=${code}&limit=2`);
  await prices.getByLabel("state").selectOption("NY");
  await prices.getByLabel("version").fill("2024.3");
  await asks("200 OK", `/api/v1/versions/2024.3/healthcare/prices?procedure=${code}&state=NY&limit=2`);
  await prices.getByLabel("version").fill("");
  await prices.getByLabel("procedure").fill("");
  await asks("400 Bad Request", `${pricesPath}?state=NY&limit=2`);

  const file = page.locator("#exportCsv");
  await file.getByRole("button", { name: "Send GET /api/v1/export.csv" }).click();
  const start = (await file.getByRole("region", { name: "The answer's body" }).textContent()) ?? "";
  const whole = String((await call(server, "GET /api/v1/export.csv")).body);
  assert.ok(start.length > 1000 && whole.startsWith(start.replaceAll(/\r?\n/g, "\r\n")), start.slice(0, 300));
});

testOfClicks("downloads from the data page are identical to the exports", async () => {
  const page = await open("/data");
  for (const [name, ending] of [
    ["CSV", "csv"],
    ["Arrow", "arrow"],
    ["Parquet", "parquet"],
  ]) {
    const downloading = page.waitForEvent("download");
    await button(page, `Download 2024.3 as ${name}`).click();
    const download = await downloading;
    assert.equal(download.suggestedFilename(), `opps-2024.3.${ending}`);
    const { body } = await call(server, `GET /api/v1/versions/2024.3/export.${ending}`);
    assert.ok(readFileSync(await download.path()).equals(body), name);
    await says(page, `opps-2024.3.${ending} is saved.`);
  }
  const { data } = JSON.parse(String((await call(server, "GET /api/v1/datasets")).body));
  for (const text of [data[0].content_sha256, "Maryland sets its own hospital prices"])
    await says(page, text);
  // The size is fetched only when the visitor opens the version.
  assert.match((await page.locator(".downloads .size").first().textContent()) ?? "", /^(?:< )?[\d.,]+ MB$/);
});

testOfClicks("with signup by e-mail, the key appears after a click on the linked page", async () => {
  const mayFail = (_: URL, status: number) => status === 400 || status === 401;
  const sent = smtp.mails.length;
  const page = await open("/data", { mayFail }, mailing);
  await says(page, "A key is needed to look.");
  await page.goto("/signup");
  await says(page, /^It is free: .* a month\.$/);
  await page.getByLabel("Your name").fill("Bo");
  await page.getByLabel("Your e-mail address").fill(`bo${sent}@example.org`);
  await button(page, "Send me the link").click();
  await says(page, "Check your e-mail");
  assert.equal(smtp.mails.length, sent + 1);
  const text = smtp.mails[sent].data.replaceAll(/=\n/g, "").replaceAll("=3D", "=");
  const [link] = /\/signup\?token=[\w-]+/.exec(text) ?? assert.fail(text);
  await page.goto(link);
  await button(page, "Make my key").click();
  const key = await shownKey(page);
  assert.equal(await statusOf(key, "/api/v1/datasets", mailing), 200);
  assert.equal(new URL(page.url()).search, "");
  await page.goto("/account");
  await button(page, `revoke the key that ends in ${last4(key)}`).click();
  await says(page, "It is your only active key");
  await page.goto(link);
  await button(page, "Make my key").click();
  await says(page, "This link isn't valid");
});

testOfClicks("with signup off, the page refers to the operator and accepts an existing key", async () => {
  const page = await open("/data");
  await page.route("**/signup", async (route) => {
    const response = await route.fetch();
    await route.fulfill({
      response,
      body: (await response.text()).replace('"signup":"open"', '"signup":"off"'),
    });
  });
  await page.goto("/signup");
  await says(page, "Ask the operator for a key");
  await signIn(page, server.key);
  await says(page, "This browser has a key");
  assert.equal(await keptKey(page), server.key);
});

test("the account pages have no accessibility faults or overflow at any size, light and dark", async () => {
  for (const [viewport, colorScheme] of [
    [sizes.narrow, "dark"],
    [sizes.narrow, "light"],
    [sizes.middle, "light"],
    [sizes.wide, "light"],
    [sizes.large, "dark"],
  ] as const) {
    const page = await open("/signup", { viewport, colorScheme, bypassCSP: true });
    const look = async (what: string) => {
      assert.deepEqual([what, await accessibilityFaults(page)], [what, []]);
      const width = await page.evaluate<number>("document.documentElement.scrollWidth");
      assert.ok(width <= viewport.width, `${what} is ${width} pixels wide`);
    };
    await page.getByLabel("Your name").waitFor();
    await look("signup");
    await page.goto("/account");
    await page.getByLabel("Your key").waitFor();
    await look("sign in");
    await signIn(page, server.key);
    await button(page, "new key").click();
    await button(page, /^rotate/)
      .first()
      .click();
    await look("account");
    await button(page, /^revoke/)
      .first()
      .click();
    await look("account, revoking");
    await page.goto("/data");
    await says(page, "Checksum (SHA-256)");
    await look("data");
    await page.goto("/reference");
    await page.locator("#prices > summary").click();
    await page.locator("#prices").getByRole("button", { name: /^Send/ }).click();
    await page.locator("#prices .shown").waitFor();
    for (const summary of await page.locator("#prices .more > summary").all()) await summary.click();
    await look("reference");
  }
});
