import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { type Choice, choiceOf, maxPinned, setParameters } from "./choice.ts";
import { context } from "./context.ts";
import type { Way } from "./nothing.ts";

/** Reads and changes the page's URL, which holds the visitor's choices. */

const changed = "hcqs-location";

/** Returns the value of `read`. After each of the window events, the component reads the value again. */
export function useReadAt<T>(read: () => T, ...events: string[]): T {
  const [value, setValue] = useState(read);
  // This must listen before a child's effect changes the URL. Layout effects run before all other effects.
  useLayoutEffect(() => {
    const update = () => setValue(read);
    for (const event of events) addEventListener(event, update);
    return () => {
      for (const event of events) removeEventListener(event, update);
    };
  }, []);
  return value;
}

export const useLocation = () => useReadAt(() => context.url(), "popstate", changed);

/** Makes the browser ask before it leaves this page, while `isDue` says that something would be lost. */
export function useLeaveWarning(isDue: boolean): void {
  useLayoutEffect(() => {
    if (!isDue) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", ask);
    return () => removeEventListener("beforeunload", ask);
  }, [isDue]);
}

export function go(to: string | URL): void {
  const url = new URL(to, location.href);
  if (url.href === location.href) return;
  history.pushState(null, "", url);
  dispatchEvent(new Event(changed));
}

/** Returns the URL's path and query with changed parameters. A parameter that is null is removed. */
export const withParameters = (changes: Record<string, string | null>): string =>
  changedIn(context.url(), changes);

/**
 * Changes a copy of the parameters. The URL may be used again, and each change of its own parameters would serialise it.
 */
function changedIn({ pathname, searchParams }: URL, changes: Record<string, string | null>): string {
  const parameters = new URLSearchParams(searchParams);
  setParameters(parameters, changes);
  return parameters.size === 0 ? pathname : `${pathname}?${parameters}`;
}

/** Replaces the URL by a URL that shows the same, without adding an entry to the history. */
export function settle(changes: Record<string, string | null>): void {
  const settled = withParameters(changes) + location.hash;
  if (settled === location.pathname + location.search + location.hash) return;
  history.replaceState(null, "", settled);
  dispatchEvent(new Event(changed));
}

/**
 * Returns the URL of another choice. A change of `year` removes `versions`, and a change of `near` removes a sort by
 * distance. A change without `sort`, `with` and `shown` removes `shown`, so that another list is short at first.
 */
export function chosenAt(changes: Record<string, string | null>): string {
  const isSameList = "with" in changes || "sort" in changes;
  const url = context.url();
  const isByMiles = url.searchParams.get("sort") === "distance";
  const dropped = {
    ...("year" in changes && { versions: null }),
    ...("near" in changes && isByMiles && { sort: null }),
    ...(!isSameList && { shown: null }),
  };
  return changedIn(url, { ...dropped, ...changes });
}

export const choose = (changes: Record<string, string | null>): void => go(chosenAt(changes));

/**
 * Returns the URL that adds a hospital to the compared hospitals, or removes it from them. If no more can be compared, the
 * URL stays the same.
 */
export function pinnedAt(shown: Choice, ccn: string): string {
  // Since the view was drawn, the visitor may have added or removed other hospitals.
  const { pinned, leftOut } = choiceOf(context.url());
  const others = pinned.filter((each) => each !== ccn);
  const isAdded = !shown.pinned.includes(ccn);
  if (isAdded && others.length === maxPinned) return withParameters({});
  const all = [...others, ...(isAdded ? [ccn] : []), ...leftOut];
  return chosenAt({ with: all.length === 0 ? null : all.join(",") });
}

export const pin = (shown: Choice, ccn: string): void => go(pinnedAt(shown, ccn));

export function inYear(path: string, parameters: Record<string, string | null> = {}): string {
  const query = new URLSearchParams();
  setParameters(query, { year: context.url().searchParams.get("year"), ...parameters });
  return query.size === 0 ? path : `${path}?${query}`;
}

/** Like `inYear`, but also keeps the chosen place, so that it isn't lost on the way back from a hospital's page. */
export function inPlace(path: string, parameters: Record<string, string | null> = {}): string {
  const here = context.url().searchParams;
  const place = ["state", "near", "within"].map((name) => [name, here.get(name)]);
  return inYear(path, { ...Object.fromEntries(place), ...parameters });
}

export const hrefOf = ({ changes, hospital }: Way): string =>
  hospital !== undefined
    ? inYear(`/facilities/${hospital}`)
    : changes === null
      ? inYear("/")
      : withParameters(changes);
/** A text that no URL contains. */
const anyText = "xAnyTextx";

/**
 * Returns a function that makes URLs which differ in one text. It is faster than `addressOf`, which is called only once.
 * @param addressOf makes the URL for a text of letters and digits
 */
export function addresses(addressOf: (text: string) => string): (text: string) => string {
  const [before, after = ""] = addressOf(anyText).split(anyText);
  return (text) => before + encodeURIComponent(text) + after;
}

/** Whether a browser has drawn the component once. After that, the component may draw what the server doesn't. */
export function useDrawn(): boolean {
  const [isDrawn, setDrawn] = useState(false);
  useLayoutEffect(() => setDrawn(true), []);
  return isDrawn;
}

/** The site's origin for texts; empty until the component is drawn in a browser, because the server doesn't know it. */
export const useOrigin = (): string => (useDrawn() ? location.origin : "");

/** Scrolls to the element of the URL's hash as soon as it exists. The browser itself scrolls too early. */
export function useScrollToHash(isThere: boolean): void {
  useEffect(() => {
    if (isThere && location.hash !== "") document.getElementById(location.hash.slice(1))?.scrollIntoView();
  }, [isThere]);
}

/**
 * Makes links to other views of this page change the view without loading the page. A link with `data-replace` adds no
 * entry to the history.
 */
export function followLinks(): void {
  addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey)
      return;
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    const href = link?.getAttribute("href");
    if (!link || !href || link.target !== "" || link.hasAttribute("download")) return;
    const url = new URL(href, location.href);
    if (url.origin !== location.origin || url.pathname !== location.pathname || url.hash !== "") return;
    event.preventDefault();
    if (!link.hasAttribute("data-replace")) return go(url);
    history.replaceState(null, "", url);
    dispatchEvent(new Event(changed));
  });
}
