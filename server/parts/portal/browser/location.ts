import { useEffect, useState } from "preact/hooks";

/** The address of the view: all that is chosen stands in it. */

const changed = "hcqs-location";

/** The path and the query's parameters, also when they change. */
export function useLocation(): URL {
  const [url, setUrl] = useState(() => new URL(location.href));
  useEffect(() => {
    const update = () => setUrl(new URL(location.href));
    addEventListener("popstate", update);
    addEventListener(changed, update);
    return () => {
      removeEventListener("popstate", update);
      removeEventListener(changed, update);
    };
  }, []);
  return url;
}

/** Goes to another view; the back button comes back. */
export function go(to: string | URL): void {
  const url = new URL(to, location.href);
  if (url.href === location.href) return;
  const isOtherPage = url.pathname !== location.pathname;
  history.pushState(null, "", url);
  dispatchEvent(new Event(changed));
  if (isOtherPage) scrollTo(0, 0);
}

/** The present address with some parameters changed; null takes one out. */
export function withParameters(changes: Record<string, string | null>): string {
  const url = new URL(location.href);
  for (const [name, value] of Object.entries(changes))
    if (value === null) url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  return url.pathname + url.search;
}

/** Goes to the part of a page that the address names, once it is there: browsers look for it too early. */
export function useScrollToHash(isThere: boolean): void {
  useEffect(() => {
    if (isThere && location.hash !== "") document.getElementById(location.hash.slice(1))?.scrollIntoView();
  }, [isThere]);
}

/** Links within the portal change the view without loading the page again. */
export function followLinks(): void {
  addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey)
      return;
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    const href = link?.getAttribute("href");
    if (!link || !href || link.target !== "" || link.hasAttribute("download")) return;
    const url = new URL(href, location.href);
    const isElsewhere = url.origin !== location.origin || /^\/(api|portal)\//.test(url.pathname);
    if (isElsewhere || (url.hash !== "" && url.pathname === location.pathname)) return;
    event.preventDefault();
    go(url);
  });
}
