import { type ComponentType, render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { html } from "../../../shared/browser/html.ts";
import { useOwnKey } from "./key.ts";
import { followLinks, inYear, useLocation } from "./location.ts";
import { tabTitle, titles } from "./words.ts";

/** Starts the portal: shows the frame, and the page of the URL. */

type Page = ComponentType<{ url: URL }>;

/** The pages by path. A page's modules are loaded with it; `pages.ts` has the same modules preloaded. */
const pages: { path: RegExp; load: () => Promise<Page> }[] = [
  { path: /^\/$/, load: async () => (await import("./explore.ts")).Explore },
  { path: /^\/facilities\/([^/]+)$/, load: async () => (await import("./facility.ts")).Facility },
  { path: /^\/embed\/(charges|states|years)$/, load: async () => (await import("./embed.ts")).Embed },
  { path: /^\/data$/, load: async () => (await import("./data.ts")).Data },
  { path: /^\/reference$/, load: async () => (await import("./reference.ts")).Reference },
  { path: /^\/signup$/, load: async () => (await import("./signup.ts")).Signup },
  { path: /^\/account$/, load: async () => (await import("./account.ts")).Account },
];

const pageAt = ({ pathname }: URL) =>
  isReadable(pathname) ? pages.find(({ path }) => path.test(pathname)) : undefined;

function Missing() {
  return html`<h1>There is no page here</h1>
    <p><a href="/">Explore what hospitals charge</a></p>`;
}

function isReadable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

interface Shown {
  url: URL;
  page: Page;
  name: string | undefined;
}

async function shownAt(url: URL): Promise<Shown> {
  const found = pageAt(url);
  return { url, page: found ? await found.load() : Missing, name: found?.path.source };
}

function Frame({ first }: { first: Shown }) {
  const url = useLocation();
  const [shown, setShown] = useState(first);
  const name = pageAt(url)?.path.source;
  useEffect(() => {
    let isOver = false;
    if (name !== shown.name)
      shownAt(url).then((next) => {
        if (isOver) return;
        document.title = tabTitle(titles[next.url.pathname]);
        setShown(next);
      });
    return () => {
      isOver = true;
    };
  }, [url.href]);
  // The page before stays, with its address, until the next one is loaded.
  const page = name === shown.name ? { ...shown, url } : shown;
  const key = useOwnKey();
  const main = html`<main id="main" tabindex="-1"><${page.page} url=${page.url} key=${page.name} /></main>`;
  if (url.pathname.startsWith("/embed/")) return main;
  const link = (href: string, text: string, more = "") =>
    html`<a href=${inYear(href)} class=${more} aria-current=${url.pathname === href ? "page" : undefined}>${text}</a>`;
  const last =
    key === null ? link("/signup", "Get a key", "accent") : link("/account", "Your account", "accent");
  return html`<header class="top">
      <a class="skip" href="#main">Skip to the content</a>
      <a class="name" href=${inYear("/")}>What hospitals charge</a>
      <span class="about">Medicare outpatient, by hospital</span>
      <nav aria-label="Pages">${link("/", "Explore")} ${link("/data", "Data")} ${link("/reference", "API")} ${last}</nav>
    </header>
    ${main}`;
}

followLinks();
shownAt(new URL(location.href)).then((first) =>
  render(html`<${Frame} first=${first} />`, document.querySelector("#app")!),
);
