import { type ComponentType, render } from "preact";
import { html } from "../../../shared/browser/html.ts";
import { settings } from "./api.ts";
import { useOwnKey } from "./key.ts";
import { followLinks, inYear, useLocation } from "./location.ts";

/** Shows a page of the portal in the browser, below the header of all pages. */

type Page = ComponentType<{ url: URL }>;

function Frame({ page }: { page: Page }) {
  const url = useLocation();
  const key = useOwnKey();
  const main = html`<main id="main" tabindex="-1"><${page} url=${url} /></main>`;
  if (url.pathname.startsWith("/embed/")) return main;
  const link = (href: string, text: string, more = "") =>
    html`<a href=${inYear(href)} class=${more} aria-current=${url.pathname === href ? "page" : undefined}>${text}</a>`;
  const last =
    key === null && settings.signup !== "off"
      ? link("/signup", "Get a key", "accent")
      : link("/account", key === null ? "Use a key" : "Your account", "accent");
  return html`<header class="top">
      <a class="skip" href="#main">Skip to the content</a>
      <a class="name" href=${inYear("/")}>What hospitals charge</a>
      <span class="about">Medicare outpatient, by hospital</span>
      <nav aria-label="Pages">${link("/", "Explore")} ${link("/data", "Data")} ${link("/reference", "API")} ${last}</nav>
    </header>
    ${main}`;
}

/** Shows a page. Each page's module calls this. */
export function start(page: Page): void {
  followLinks();
  render(html`<${Frame} page=${page} />`, document.querySelector("#app")!);
}
