import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { type Choice, choiceOf, maxPinned, setParameters } from "./choice.ts";
import type { Way } from "./nothing.ts";

/** Reads and changes the page's URL, which holds every choice. */

const changed = "hcqs-location";

/** Returns a value. At each of the window events, the value is read again and the component updates. */
export function useReadAt<T>(read: () => T, ...events: string[]): T {
  const [value, setValue] = useState(read);
  // An effect of a child may already change the address, and layout effects are before all others.
  useLayoutEffect(() => {
    const update = () => setValue(read);
    for (const event of events) addEventListener(event, update);
    return () => {
      for (const event of events) removeEventListener(event, update);
    };
  }, []);
  return value;
}

export const useLocation = () => useReadAt(() => new URL(location.href), "popstate", changed);

/** Makes the browser ask before it leaves this page, while `isDue` says that something would be lost. */
export function useLeaveWarning(isDue: boolean): void {
  useEffect(() => {
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

/** Returns path and query with changed parameters, without parameters that are null. */
export function withParameters(changes: Record<string, string | null>): string {
  const url = new URL(location.href);
  setParameters(url.searchParams, changes);
  return url.pathname + url.search;
}

/** Replaces the address by one that shows the same. No entry of the history is added. */
export function settle(changes: Record<string, string | null>): void {
  const settled = withParameters(changes) + location.hash;
  if (settled === location.pathname + location.search + location.hash) return;
  history.replaceState(null, "", settled);
  dispatchEvent(new Event(changed));
}

/** Changes the choice. A new year drops `versions`, a new place a sort by miles, and another list is short at first. */
export function choose(changes: Record<string, string | null>): void {
  const isSameList = "with" in changes || "sort" in changes;
  const isByMiles = new URLSearchParams(location.search).get("sort") === "distance";
  const dropped = {
    ...("year" in changes && { versions: null }),
    ...("near" in changes && isByMiles && { sort: null }),
    ...(!isSameList && { shown: null }),
  };
  go(withParameters({ ...dropped, ...changes }));
}

/** Removes a hospital that is shown as compared, or adds it. Does nothing if no more can be compared. */
export function pin(shown: Choice, ccn: string): void {
  // Since the view was drawn, the visitor may have added or removed others.
  const { pinned, leftOut } = choiceOf(new URL(location.href));
  const others = pinned.filter((each) => each !== ccn);
  const isAdded = !shown.pinned.includes(ccn);
  if (isAdded && others.length === maxPinned) return;
  const all = [...others, ...(isAdded ? [ccn] : []), ...leftOut];
  choose({ with: all.length === 0 ? null : all.join(",") });
}

export function inYear(path: string, parameters: Record<string, string | null> = {}): string {
  const url = new URL(path, location.origin);
  const year = new URLSearchParams(location.search).get("year");
  for (const [name, value] of Object.entries({ year, ...parameters }))
    if (value !== null) url.searchParams.set(name, value);
  return url.pathname + url.search;
}

/** The address of a way on from where nothing was found. */
export const hrefOf = ({ changes, hospital }: Way): string =>
  hospital !== undefined
    ? inYear(`/facilities/${hospital}`)
    : changes === null
      ? inYear("/")
      : withParameters(changes);

/** Scrolls to the element of the URL's hash as soon as it exists. The browser itself scrolls too early. */
export function useScrollToHash(isThere: boolean): void {
  useEffect(() => {
    if (isThere && location.hash !== "") document.getElementById(location.hash.slice(1))?.scrollIntoView();
  }, [isThere]);
}

/** Makes links to other views of this page change the view without loading the page. */
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
    go(url);
  });
}
