import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import * as runner from "node:test";
import { stripVTControlCharacters } from "node:util";
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  errors,
  type Page,
} from "playwright-core";
import { sizeFrom } from "../long/trial.ts";
import { maxWaitMs, until } from "./connection.ts";
import { slowBrowsers } from "./slowness.ts";

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export const wide = { width: 1280, height: 900 };
export const narrow = { width: 390, height: 844 };
/** The sizes at which each page is looked at: a phone, a tablet, a laptop and a large screen. */
export const sizes = {
  narrow,
  middle: { width: 768, height: 1024 },
  wide,
  large: { width: 1920, height: 1080 },
};

/** Chromium without its own windows, which take as long to draw as our pages. It doesn't read a profile's settings. */
const program = { executablePath: "/usr/bin/chromium-headless-shell", args: ["--no-sandbox"] };

/** How often each test that clicks runs. If it isn't set, once, and the other tests run, too. */
const clickRounds = process.env.CLICK_ROUNDS === undefined ? null : sizeFrom("CLICK_ROUNDS", 1);

const openPages = new Set<Page>();

type Run = (t: runner.TestContext) => Promise<void> | void;

/** Closes the pages that a test has opened, and asserts that they were well-behaved. */
export async function closePages(opened: GuardedPage[]): Promise<void> {
  for (const guarded of opened.splice(0)) {
    await guarded.close();
    guarded.assertWellBehaved();
  }
}

/** Declares a test that looks at pages. */
export function test(name: string, run: Run): void {
  if (clickRounds === null) declare(name, run);
}

/**
 * Declares a test that clicks or types, or in which a click would miss what moves. What is drawn again under a click, and
 * what a test doesn't wait for, is found in a slow browser.
 */
export function testOfClicks(name: string, run: Run): void {
  const slowly: Run = async (t) => {
    const end = slowBrowsers();
    try {
      await run(t);
    } finally {
      end();
    }
  };
  if (clickRounds === null) declare(name, slowly);
  else
    for (let round = 1; round <= clickRounds; round++) declare(`${name}, ${round} of ${clickRounds}`, slowly);
}

/** If a test waits in vain, its error begins with what it waited for and with what was there. */
function declare(name: string, run: Run): void {
  runner.test(name, async (t) => {
    try {
      await run(t);
    } catch (error) {
      throw error instanceof errors.TimeoutError ? await explained(error) : error;
    }
  });
}

async function explained(error: Error): Promise<Error> {
  const [message, stack] = [error.message, error.stack ?? ""].map(stripVTControlCharacters);
  const [, awaited] = /^ +- (waiting for .*)$/m.exec(message) ?? [message, message.split("\n", 1)[0]];
  const there = await Promise.all(Array.from(openPages, seenOn));
  const told = new Error(`${awaited}; there was ${there.join(" and ")}\n${message}`);
  told.stack = `${told.message}\n${stack.slice(stack.indexOf("\n    at ") + 1)}`;
  return told;
}

const maxSeenLetters = 300;

/** Says what a page shows, in one line. */
async function seenOn(page: Page): Promise<string> {
  const text = await page.evaluate<string>("document.body.innerText").catch(String);
  return `${page.url()} with “${text.replaceAll(/\s+/g, " ").slice(0, maxSeenLetters)}”`;
}

/** Waits until a page's address has what is expected. Later the page itself may add to the address. */
export const addressed = (page: Page, expected: RegExp | ((address: URL) => boolean)): Promise<unknown> =>
  until(
    `an address with ${expected}`,
    () => (expected instanceof RegExp ? expected.test(page.url()) : expected(new URL(page.url()))),
    () => page.url(),
  );

/** Waits until a page has drawn what depends on its size or its medium. */
export const nextFrame = (page: Page): Promise<unknown> =>
  page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");

export const launch = (): Promise<Browser> => chromium.launch(program);

export const launchWith = (profile: string): Promise<BrowserContext> =>
  chromium.launchPersistentContext(profile, {
    ...program,
    executablePath: "/usr/bin/chromium",
    viewport: wide,
  });

export interface GuardedPage {
  page: Page;
  /** Fails if the page requested another origin, logged an error or a warning, threw, or broke its security policy. */
  assertWellBehaved(): void;
  /** Targets of the requests to the API, with queries, in order. */
  readonly asked: string[];
  close(): Promise<void>;
}

/**
 * @param mayFail whether the test provokes the failure of the request to this URL; the status is 0 without an answer
 */
export async function openPage(
  browser: Browser,
  origin: string,
  options: BrowserContextOptions & { mayFail?: (url: URL, status: number) => boolean } = {},
): Promise<GuardedPage> {
  const { mayFail = () => false, ...contextOptions } = options;
  const context = await browser.newContext({ viewport: wide, baseURL: origin, ...contextOptions });
  const page = await context.newPage();
  page.setDefaultTimeout(maxWaitMs);
  openPages.add(page);
  page.once("close", () => openPages.delete(page));
  const faults: { text: string; url?: string }[] = [];
  const asked: string[] = [];
  const provoked = new Set<string>();
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (/^(data|blob):/.test(url.protocol)) return;
    if (url.origin !== origin) faults.push({ text: `asked another origin: ${url.href}` });
    if (url.pathname.startsWith("/api/")) asked.push(url.pathname + url.search);
  });
  page.on("response", (response) => {
    if (response.status() < 400) return;
    if (mayFail(new URL(response.url()), response.status())) provoked.add(response.url());
  });
  page.on("requestfailed", (request) => {
    if (mayFail(new URL(request.url()), 0)) provoked.add(request.url());
  });
  // Violations of the content security policy are console errors, too.
  page.on("console", (message) => {
    if (message.type() !== "error" && message.type() !== "warning") return;
    const { url } = message.location();
    faults.push({ text: `${message.type()} on the console: ${message.text()} (${url})`, url });
  });
  page.on("pageerror", (error) => faults.push({ text: `thrown: ${error.stack ?? error.message}` }));
  return {
    page,
    asked,
    assertWellBehaved() {
      const unasked = faults.filter(({ url }) => url === undefined || !provoked.has(url));
      assert.deepEqual(
        unasked.map(({ text }) => text),
        [],
      );
    },
    close: () => context.close(),
  };
}

/** The page must have been opened with `bypassCSP`. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  await page.addScriptTag({ content: axeSource });
  const violations = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: {
        run(): Promise<{
          violations: { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }[];
        }>;
      };
    };
    return (await axe.run()).violations;
  });
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html}\n${failureSummary}`),
  );
}
