import type { ComponentType } from "preact";
import { html } from "../../../shared/browser/html.ts";
import { context } from "./context.ts";
import { useOwnKey } from "./key.ts";
import { inPlace, inYear, useLocation } from "./location.ts";
import { tabTitle } from "./words.ts";

/** Shows a page below a header. Embedded pages have no header. */

export type Page = ComponentType<{ url: URL }>;

export function Frame({ page }: { page: Page }) {
  const url = useLocation();
  const key = useOwnKey();
  const main = html`<main id="main" tabindex="-1"><${page} url=${url} /></main>`;
  if (/^\/embed(\/|$)/.test(url.pathname)) return main;
  const home = url.pathname.startsWith("/facilities/") ? inPlace("/") : inYear("/");
  const link = (href: string, text: string) =>
    html`<a href=${href === "/" ? home : inYear(href)} aria-current=${url.pathname === href ? "page" : undefined}>${text}</a>`;
  const last =
    key === null && context.settings.signup !== "off"
      ? link("/signup", "Get a key")
      : link("/account", key === null ? "Use a key" : "Your account");
  return html`<header class="top">
      <a class="skip" href="#main">Skip to the content</a>
      <a class="name" href=${home}>${tabTitle()}</a>
      <span class="about">Medicare outpatient, by hospital</span>
      <nav aria-label="Pages">${link("/", "Explore")} ${link("/data", "Data")} ${link("/reference", "API")} ${last}</nav>
    </header>
    ${main}`;
}
