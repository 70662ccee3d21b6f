import { render } from "preact";
import { html } from "../../../shared/browser/html.ts";
import { Account } from "./account.ts";
import { Data } from "./data.ts";
import { Explore } from "./explore.ts";
import { Facility } from "./facility.ts";
import { useOwnKey } from "./key.ts";
import { followLinks, useLocation } from "./location.ts";
import { Reference } from "./reference.ts";
import { Signup } from "./signup.ts";

/** Starts the portal: shows the frame, and the page of the URL. */

const pages = [
  { path: /^\/$/, page: Explore },
  { path: /^\/facilities\/([^/]+)$/, page: Facility },
  { path: /^\/data$/, page: Data },
  { path: /^\/reference$/, page: Reference },
  { path: /^\/signup$/, page: Signup },
  { path: /^\/account$/, page: Account },
];

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

function Frame() {
  const url = useLocation();
  const found = isReadable(url.pathname) ? pages.find(({ path }) => path.test(url.pathname)) : undefined;
  const page = found?.page ?? Missing;
  const link = (href: string, text: string, more = "") =>
    html`<a href=${href} class=${more} aria-current=${url.pathname === href ? "page" : undefined}>${text}</a>`;
  const key = useOwnKey();
  const last =
    key === null ? link("/signup", "Get a key", "accent") : link("/account", "Your account", "accent");
  return html`<header class="top">
      <a class="skip" href="#main">Skip to the content</a>
      <a class="name" href="/">What hospitals charge</a>
      <span class="about">Medicare outpatient, by facility</span>
      <nav aria-label="Pages">${link("/", "Explore")} ${link("/data", "Data")} ${link("/reference", "API")} ${last}</nav>
    </header>
    <main id="main" tabindex="-1"><${page} url=${url} key=${found?.path.source} /></main>`;
}

followLinks();
render(html`<${Frame} />`, document.querySelector("#app")!);
