import { basePath } from "../../api/endpoint.ts";
import { openapiDocument } from "../../api/openapi.ts";
import type { WebFile } from "../../shared/messages.ts";
import { headOf, type PageOptions, pageOf, readAssets } from "../../shared/web-assets.ts";
import { webFile } from "../../shared/web-file.ts";
import { defaultProcedure } from "./browser/choice.ts";
import { tabTitle, titles } from "./browser/words.ts";

/** Makes the portal's pages. */

/** Settings of this server that the pages need; the browser's `settings.ts` reads them. */
export interface PageSettings {
  /** The key of the pages; null where explore asks for one. */
  key: string | null;
  signup: "open" | "email" | "off";
  mail: boolean;
  /** Whether pages elsewhere may show a picture in a frame. */
  embeds: boolean;
  /** URL of the map of the states. */
  states: string;
}

const libraries = {
  preact: "preact/dist/preact.mjs",
  "preact/hooks": "preact/hooks/dist/hooks.mjs",
  htm: "htm/dist/htm.mjs",
  d3: "d3/dist/d3.min.js",
  topojson: "topojson-client/dist/topojson-client.min.js",
  states: "us-atlas/states-albers-10m.json",
};

const browser = "parts/portal/browser";
const shared = "shared/browser";

export const facilityPage = "/facilities/*";
export const embedPage = "/embed/*";
export const missingPage = "/*";
/** The module of each page; `main.ts` loads it. */
const modules: Readonly<Record<string, string | undefined>> = {
  "/": "explore.ts",
  [facilityPage]: "facility.ts",
  [embedPage]: "embed.ts",
  "/data": "data.ts",
  "/reference": "reference.ts",
  "/signup": "signup.ts",
  "/account": "account.ts",
  [missingPage]: undefined,
};

const links = [
  ["/", "Explore"],
  ["/data", "Data"],
  ["/reference", "API"],
  ["/signup", "Get a key"],
] as const;

const name = tabTitle(undefined);
const description =
  "What each US hospital charges for an outpatient procedure, and what Medicare allows: explore, compare, download.";
/** The sentence of each page whose address says what it shows. */
const sentences: Readonly<Record<string, string>> = {
  "/": '<div class="sentence"><h1>What hospitals charge</h1><p class="under quiet">What each US hospital charges for an outpatient procedure, and what Medicare allows. Loading the numbers…</p></div>',
  [facilityPage]: '<div class="sentence hospital-head"></div>',
  [embedPage]: '<div class="sentence"></div>',
};
const noscript = `<noscript><p>This page needs JavaScript. Without it, the API at ${basePath} has all the numbers.</p></noscript>`;

/** The body before the modules run. `main.ts`, `explore.ts` and `controls.ts` reuse the same elements, so that nothing moves. */
function bodyOf(path: string): string {
  const link = ([href, text]: (typeof links)[number]) =>
    `<a href="${href}" class="${href === "/signup" ? "accent" : ""}"${href === path ? ' aria-current="page"' : ""}>${text}</a>`;
  const field = (name: string, label: string, more = "") =>
    `<div class="field ${name}"><label>${label}</label><input type="text" disabled>${more}</div>`;
  const fields = [
    field("procedure", "Procedure", `<small class="detail quiet">${defaultProcedure}</small>`),
    field("place", "State or ZIP code"),
    field("hospital", "Compare a hospital"),
    field("year", "Year"),
  ];
  const controls = path === "/" ? `<search class="controls">${fields.join("")}</search>` : "";
  const kind = path === embedPage ? "embed" : "explore ";
  const shown = path in sentences ? `<div class="${kind}">${controls}${sentences[path]}</div>` : "";
  const main = `<main id="main" tabindex="-1">${shown}${noscript}</main>`;
  if (path === embedPage) return `<div id="app">${main}</div>`;
  return `<div id="app"><header class="top"><a class="skip" href="#main">Skip to the content</a><a class="name" href="/">${name}</a><span class="about">Medicare outpatient, by hospital</span><nav aria-label="Pages">${links.map(link).join(" ")}</nav></header>${main}</div>`;
}

/** Reads the assets once, and makes the pages whenever their settings change. */
export class Pages {
  readonly #assets = readAssets("/portal/", [shared, browser], libraries);
  /** The API's description. It needs no key here. */
  readonly #openapi = webFile("/openapi.json", "application/json", openapiDocument(), "changing");

  /** The assets, and a page for each path. */
  files(settings: Omit<PageSettings, "states" | "embeds">, embedOrigins: readonly string[]): WebFile[] {
    const assets = this.#assets;
    const options: Omit<PageOptions, "body" | "title"> = {
      description,
      scripts: ["d3", "topojson"],
      entry: `${browser}/main.ts`,
      settings: {
        ...settings,
        embeds: embedOrigins.length > 0,
        states: assets.url("states"),
      } satisfies PageSettings,
    };
    const pages = Object.entries(modules).map(([path, module]) => {
      // Browsers warn about assets that are preloaded and not used.
      const data = path === "/" ? ["states"] : [];
      const page = module && `${browser}/${module}`;
      const framedBy = path === embedPage ? embedOrigins : [];
      const title = tabTitle(titles[path]);
      const { html, headers } = pageOf(assets, {
        ...options,
        title,
        body: bodyOf(path),
        page,
        data,
        framedBy,
      });
      const file = webFile(path, "text/html; charset=utf-8", html, "changing", headers);
      const sentence = sentences[path];
      // Without a key in the page, its visitors need one to see the numbers.
      if (settings.key === null || sentence === undefined) return file;
      return { ...file, slots: { head: headOf(title, description), sentence, noscript } };
    });
    return [...assets.files, ...pages, this.#openapi];
  }
}
