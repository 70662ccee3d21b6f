import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { options, render } from "preact";
import { ApiError } from "../../server/api/errors.ts";
import type { PageSettings } from "../../server/parts/portal/browser/context.ts";
import { outlineOf } from "./approved.ts";
import {
  copies,
  type FakeElement,
  FakeEvent,
  hearInWindow,
  installDom,
  leavePage,
  page,
  pictures,
  place,
  saved,
  savedBlobs,
} from "./fake-dom.ts";
import { type Any, answer } from "./page-data.ts";

export { type Any, answer } from "./page-data.ts";

/** Opens the pages of the portal and the console in this process, with the API's answers about a few small data versions. */

/** The requests of pages, newest last, with the keys that they were sent with. */
export const requests: { path: string; method: string; key: string | null; body: Any }[] = [];

/** Answers of paths outside the API's data, such as those of accounts. */
export const others = new Map<string, (body: Any) => unknown>();

/** The size of each file that a page may download. */
export const fileBytes = 1_234_567;

async function answerTo(path: string, { method = "GET", headers, body }: Any = {}): Promise<Response> {
  const key = headers?.get("Authorization")?.replace(/^Bearer /, "") ?? null;
  const given = body === undefined ? undefined : JSON.parse(body);
  requests.push({ path, method, key, body: given });
  await new Promise(setImmediate);
  const other = others.get(path.split("?", 1)[0]);
  try {
    const made = other?.(given);
    if (other !== undefined) return made instanceof Response ? made : Response.json(made ?? {});
    assert.ok(path.startsWith("/api/v1"), path);
    if (method === "HEAD") return new Response(null, { headers: { "Content-Length": String(fileBytes) } });
    return Response.json(answer(path.slice("/api/v1".length)));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { status, type, message, param, places, absent } = error;
    return Response.json(
      { error: { type, message, param, places, absent } },
      { status: Number.parseInt(status, 10) },
    );
  }
}

installDom();
const { setTimeout: wait } = globalThis;
Object.assign(globalThis, {
  fetch: answerTo,
  /** A page's long timers, such as the one after a file is saved, don't keep the tests' process. */
  setTimeout: Object.assign((run: () => void, ms = 0, ...given: []) => {
    const timer = wait(run, ms, ...given);
    return ms >= 60_000 ? timer.unref() : timer;
  }, wait),
});
// Effects run before the next drawing.
options.requestAnimationFrame = (run: () => void) => queueMicrotask(run);

const moduleAt = (path: string): Promise<Any> =>
  import(String(new URL(`../../server/${path}`, import.meta.url)));

export const settings: PageSettings & { stream: string } = {
  ...{ key: "hcq_pages", signup: "open", minElapsedMs: 0, mail: true, embeds: true, states: "/states.svg" },
  newcomers: { burst: 10, quota: 10_000, linkHours: 24 },
  stream: "/stream",
};

/** Turns of the event loop in which a page has got its answers, is drawn, and asks again if it has to. */
const turns = 4;

/** Waits until a page has got its answers and is drawn. */
export async function drawn(): Promise<void> {
  const begun = requests.length;
  let sent: number;
  do {
    sent = requests.length;
    assert.ok(sent < begun + 100, "a page asks again and again");
    for (let i = 0; i < turns; i++) await new Promise(setImmediate);
  } while (sent !== requests.length);
}

/**
 * Digests of what tests saw of each page of the portal: first of the whole page, and then of what each event changed. GETs
 * aren't in it, because they depend on the pages that were opened before.
 */
export const seen = new Map<string, string[]>();
let seenHere: string[] = [];
let seenEffects = [0, 0, 0, 0];

/**
 * @param part an element of the page, or of a former page
 * @param meanwhile how the part looked while the page waited for answers
 */
export async function see(part: FakeElement, meanwhile = ""): Promise<void> {
  const [asked, copied, drawings, files] = seenEffects;
  seenEffects = [requests.length, copies.length, pictures.length, savedBlobs.length];
  const focused = page.activeElement && outlineOf(page.activeElement);
  const saves = await Promise.all(savedBlobs.slice(files).map((blob) => blob.text()));
  const text = [
    ...[page.title, addressOf(), meanwhile, focused, outlineOf(part)],
    ...pictures.slice(drawings).map((picture) => outlineOf(picture)),
    JSON.stringify(requests.slice(asked).filter(({ method }) => method === "POST")),
    ...[...copies.slice(copied), ...saved.slice(files), ...saves],
  ].join("\n");
  // How long something took is different each time.
  const lasting = text.replaceAll(/"\d+"(?=\s+" ms)|"elapsedMs":\d+/g, "");
  seenHere.push(hash("sha256", lasting, "hex").slice(0, 4));
}

type PageName = "explore" | "facility" | "data" | "account" | "signup" | "reference" | "console";

let opened = 0;
let root: FakeElement | null = null;

let shown = "";

/** Opens a page, unless it shows the address already: tests that change nothing else share what was drawn. */
export async function view(name: PageName, address: string): Promise<FakeElement> {
  const isShown = root !== null && shown === `${name} ${address}` && addressOf() === address.split("#")[0];
  return isShown && root !== null ? root : open(name, address);
}

/**
 * Opens a page.
 * @param name the file of the page's script
 * @param changes of the pages' settings
 * @param written what the server has written into the page
 */
export async function open(
  name: PageName,
  address: string,
  changes: Partial<Omit<typeof settings, "key">> & { key?: string | null } = {},
  written: FakeElement[] = [],
): Promise<FakeElement> {
  if (root !== null) render(null, Object(root));
  leavePage();
  place.url = new URL(address, "http://prices.test");
  shown = `${name} ${address}${Object.keys(changes).length === 0 ? "" : ` ${JSON.stringify(changes)}`}`;
  root = page.createElement("div");
  root.setAttribute("id", "app");
  const script = page.createElement("script");
  script.setAttribute("id", "settings");
  script.append(JSON.stringify({ ...settings, ...changes }));
  page.append(script, root, ...written);
  const part = name === "console" ? "console" : "portal";
  await moduleAt(`parts/${part}/browser/pages/${name}.ts?${++opened}`);
  await drawn();
  seenHere = seen.get(shown) ?? [];
  if (name !== "console") seen.set(shown, seenHere);
  await see(root);
  return root;
}

/** @returns the event, which says whether the page has prevented what the browser does */
export async function fire(element: FakeElement | null | undefined, type: string, details: object = {}) {
  assert.ok(element, `nothing to ${type}`);
  const event = new FakeEvent(type, details);
  const [part, before] = [element.closest(".picture, form, search, section, main") ?? element, addressOf()];
  element.dispatchEvent(event);
  for (let i = 0; i < turns; i++) await null;
  // The other pages have some answers from the pages that were opened before.
  const meanwhile = /^(account|signup|reference)/.test(shown) ? outlineOf(part) : "";
  await drawn();
  while (part.textContent.includes("saving…")) await drawn();
  await see(addressOf() === before || root === null ? part : root, meanwhile);
  return event;
}

export const click = (element: FakeElement | null | undefined) => fire(element, "click");

export async function type(element: FakeElement | null | undefined, text: string): Promise<void> {
  assert.ok(element, "nothing to type into");
  element.value = text;
  await fire(element, "input");
}

export const all = (root: FakeElement, selector: string) => root.querySelectorAll(selector);
export const one = (root: FakeElement, selector: string): FakeElement => {
  const found = root.querySelector(selector);
  assert.ok(found !== null, `nothing is ${selector}`);
  return found;
};
/** The text with single blanks. */
export const textOf = (element: FakeElement | null | undefined) =>
  (element?.textContent ?? "").replaceAll(/\s+/g, " ").trim();
export const texts = (root: FakeElement, selector: string) => all(root, selector).map(textOf);
export const button = (root: FakeElement, name: string) =>
  all(root, "button").find((each) => textOf(each) === name);
/** A number of an attribute, such as 12.5 of `12.5%`. */
export const numberOf = (element: FakeElement, name: string) =>
  Number.parseFloat(element.getAttribute(name) ?? "NaN");
export const addressOf = () => place.url.pathname + place.url.search;

/** Whether the browser would ask before it leaves the page. */
export function asksToStay(): boolean {
  const event = new FakeEvent("beforeunload");
  hearInWindow(event);
  return event.defaultPrevented;
}
