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

const program = { executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] };

export const launch = (): Promise<Browser> => chromium.launch(program);

export const launchWith = (profile: string): Promise<BrowserContext> =>
  chromium.launchPersistentContext(profile, { ...program, viewport: wide });

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
