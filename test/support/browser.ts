import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from "playwright-core";

/** Starts Debian's Chromium, and opens pages that record what a page mustn't do. */

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export const wide = { width: 1280, height: 900 };
export const narrow = { width: 390, height: 844 };

const program = { executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] };

export const launch = (): Promise<Browser> => chromium.launch(program);

/** A browser with a user's own preferences. @param profile folder of the profile */
export const launchWith = (profile: string): Promise<BrowserContext> =>
  chromium.launchPersistentContext(profile, { ...program, viewport: wide });

export interface GuardedPage {
  page: Page;
  /** Fails where the page asked another origin, wrote an error to the console, threw, or broke its policy. */
  assertWellBehaved(): void;
  /** The requests to the API, with queries, in order. */
  readonly asked: string[];
  close(): Promise<void>;
}

/**
 * A page in a context of its own.
 *
 * @param mayFail answers that a test provokes, status 0 for none: the browser writes each to the console as an error
 */
export async function openPage(
  browser: Browser,
  origin: string,
  options: BrowserContextOptions & { mayFail?: (url: URL, status: number) => boolean } = {},
): Promise<GuardedPage> {
  const { mayFail = () => false, ...contextOptions } = options;
  const context = await browser.newContext({ viewport: wide, baseURL: origin, ...contextOptions });
  const page = await context.newPage();
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
  // Violations of the policy are console errors as well.
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

/** What axe-core finds, of any impact. The page must have been opened with `bypassCSP`. */
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
