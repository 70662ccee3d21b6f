import assert from "node:assert/strict";
import { options, render } from "preact";
import { readPlaces } from "../../datasets/places.ts";
import { syntheticSnapshot } from "../../datasets/sample/synthetic.ts";
import type { Snapshot } from "../../engine/index.ts";
import { ApiError } from "../../server/api/errors.ts";
import { ask as askEndpoint, imageOf, imageWith, versionsOf } from "./endpoint-oracle.ts";
import { type FakeElement, FakeEvent, hearInWindow, installDom, leavePage, page, place } from "./fake-dom.ts";
import { snapshotOf } from "./fixtures.ts";

/** Opens the pages of the portal and the console in this process, with the API's answers about a few small data versions. */

const sample = (dataYear: number, revision: number, rows: number) =>
  syntheticSnapshot({ dataYear, revision, rows, seed: 3 });
/** Makes a version that says that it comes from a file. Versions of so many rows have the same hospitals. */
const published = (dataYear: number, revision: number, rows: number): Snapshot => {
  const snapshot = sample(dataYear, revision, rows);
  const provenance = {
    ...snapshot.provenance,
    ...{ title: `Charges of ${dataYear}`, publisher: "CMS" },
    caveat: dataYear % 2 === 0 ? "This file has only a few hospitals." : "All hospitals.",
    sourceSha256: String(dataYear).repeat(16),
    sourceUrl: `https://data.example/${dataYear}.csv`,
    released: `${dataYear + 2}-0${revision}`,
    totals: { checked: 40, agree: 40 - (dataYear % 2), worst: "Texas, 5072", differ: dataYear % 2 },
  };
  return { ...snapshot, isSynthetic: false, provenance };
};
type Short = Parameters<typeof snapshotOf>[0][number];
/** Few hospitals, and none with a ZIP code: the procedures have one, two, three and nine prices. */
const small = snapshotOf([
  ["000001", "CA", "5072", 1000, 250],
  ["000002", "CA", "5072", null, null],
  ["000001", "CA", "5073", 1000, 250],
  ["000002", "CA", "5073", 3000, 200],
  ["000001", "CA", "5091", 700, 900],
  ["000002", "CA", "5091", 800, 900],
  ["000003", "TX", "5091", 900, 950],
  ...Array.from(
    { length: 9 },
    (_, i): Short => [`00001${i}`, i < 8 ? "NY" : "TX", "5092", 1000 * (i + 1), 300 + 10 * i],
  ),
  ["000001", "CA", "5093", null, null],
  ["000003", "TX", "5094", 5, 0.5],
]);
export const versions = versionsOf(
  imageWith(published(2024, 1, 5500), readPlaces()),
  ...[published(2023, 2, 3000), published(2023, 1, 200), published(2022, 1, 1500)].map(imageOf),
  imageOf({ ...small, provenance: { ...small.provenance, dataYear: 2021, revision: 1 } }),
  imageOf(sample(2020, 1, 300)),
);

const answers = new Map<string, Any>();

/**
 * Asks once for each URL, because pages and tests ask the same again and again.
 *
 * @param url follows `/api/v1`
 */
export function answer(url: string): Any {
  const known = answers.get(url);
  if (known !== undefined) return known;
  const made = askEndpoint(versions, url);
  answers.set(url, made);
  return made;
}

/** What JSON holds. Answers are read as the scripts of pages read them. */
export type Any = ReturnType<typeof JSON.parse>;

/** The requests of pages, newest last, with the keys that they were sent with. */
export const requests: { path: string; method: string; key: string | null; body: Any }[] = [];

/** Answers of paths outside the API's data, such as those of accounts. */
export const others = new Map<string, (body: Any) => unknown>();

/** The size of each file that a page may download. */
export const fileBytes = 1_234_567;

async function answerTo(path: string, { method = "GET", headers, body }: Any): Promise<Response> {
  const key = headers?.get("Authorization")?.replace(/^Bearer /, "") ?? null;
  const given = body === undefined ? undefined : JSON.parse(body);
  requests.push({ path, method, key, body: given });
  const other = others.get(path.split("?", 1)[0]);
  try {
    if (other !== undefined) return Response.json(other(given) ?? {});
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

export const settings = {
  ...{ key: "hcq_pages", signup: "open", minElapsedMs: 0, mail: true, embeds: true, states: "/states.svg" },
  newcomers: { burst: 10, quota: 10_000, linkHours: 24 },
  stream: "/stream",
};

/** Turns of the event loop in which a page has got its answers, is drawn, and asks again if it has to. */
const turns = 3;

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
 */
export async function open(
  name: PageName,
  address: string,
  changes: Partial<Omit<typeof settings, "key">> & { key?: string | null } = {},
): Promise<FakeElement> {
  if (root !== null) render(null, Object(root));
  leavePage();
  place.url = new URL(address, "http://prices.test");
  shown = Object.keys(changes).length === 0 ? `${name} ${address}` : "";
  root = page.createElement("div");
  root.setAttribute("id", "app");
  const script = page.createElement("script");
  script.setAttribute("id", "settings");
  script.append(JSON.stringify({ ...settings, ...changes }));
  page.append(script, root);
  const part = name === "console" ? "console" : "portal";
  await moduleAt(`parts/${part}/browser/pages/${name}.ts?${++opened}`);
  await drawn();
  return root;
}

export async function fire(element: FakeElement | null | undefined, type: string, details: object = {}) {
  assert.ok(element, `nothing to ${type}`);
  element.dispatchEvent(new FakeEvent(type, details));
  await drawn();
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
