import { basePath } from "../../api/endpoint.ts";
import { openapiDocument } from "../../api/openapi.ts";
import type { WebFile } from "../../shared/messages.ts";
import { headOf, jsonElement, type PageOptions, pageOf, readAssets } from "../../shared/web-assets.ts";
import { webFile } from "../../shared/web-file.ts";
import { defaultProcedure } from "./browser/choice.ts";
import { tabTitle } from "./browser/words.ts";
import { controlsOf } from "./written-html.ts";

/** Makes the portal's pages. */

/** Settings of the pages, which `api.ts` reads in the browser. */
export interface PageSettings {
  /** The API key of the pages; null if the Explore page has to ask visitors for a key. */
  key: string | null;
  signup: "open" | "email" | "off";
  /** What the form promises: the ceilings of a new account, and how long a mailed link works. */
  newcomers: { burst: number; quota: number; linkHours: number };
  /** Minimum milliseconds between opening and sending the form. */
  minElapsedMs: number;
  /** Whether the server can send e-mails. */
  mail: boolean;
  /** Whether pages of other sites may show a picture in a frame. */
  embeds: boolean;
  /** URL of the states' map. */
  states: string;
}

export const facilityPage = "/facilities/*";
export const embedPage = "/embed/*";
export const missingPage = "/*";
/** The script of each page, and its title if the title doesn't depend on the URL. */
const pages: Readonly<Record<string, readonly [script: string, title?: string]>> = {
  "/": ["explore.ts"],
  [facilityPage]: ["facility.ts"],
  [embedPage]: ["explore.ts"],
  "/data": ["data.ts", "The data"],
  "/reference": ["reference.ts", "The API"],
  "/signup": ["signup.ts", "Get a key"],
  "/account": ["account.ts", "Your account"],
};
/** A page's title, if it doesn't depend on the URL. Where signup is off, nobody gets a key here. */
const titleOf = (path: string, signup: PageSettings["signup"]) =>
  path === "/signup" && signup === "off" ? "Keys" : pages[path]?.[1];
const style = "style.css";
const missing = `<h1>There is no page here</h1><p><a href="/">Explore what hospitals charge</a></p>`;

const links = [
  ["/", "Explore"],
  ["/data", "Data"],
  ["/reference", "API"],
] as const;
/** The last link; see `titleOf`. */
const keyLink = (signup: PageSettings["signup"]) =>
  signup === "off" ? (["/account", "Use a key"] as const) : (["/signup", "Get a key"] as const);

const name = tabTitle(undefined);
const description =
  "What each US hospital charges for an outpatient procedure, and what Medicare allows: explore, compare, download.";
const sentences: Readonly<Record<string, string>> = {
  "/": `${controlsOf({ procedure: "", detail: defaultProcedure, place: "", compared: "", year: "" })}<div class="sentence"><h1>What hospitals charge</h1><p class="under quiet">What each US hospital charges for an outpatient procedure, and what Medicare allows. Loading the numbers…</p></div>`,
  [facilityPage]: '<div class="sentence heading"></div>',
  [embedPage]: '<div class="sentence"></div>',
};
const exports = ["csv", "arrow", "parquet"]
  .map((ending) => `<code>${basePath}/export.${ending}</code>`)
  .join(", ");
/** @param title the heading of a page that has none without JavaScript; empty for none */
const noscriptOf = (signup: PageSettings["signup"], title = "") =>
  `<noscript>${title && `<h1>${title}</h1>`}<p>This page needs JavaScript. Without it, these have all the numbers:</p><ul><li><a href="/">Explore</a>: prices of a procedure, as a table</li><li>the API at ${basePath}, with a key; <a href="/openapi.json">its description</a> needs none</li><li>all rows, with a key: ${exports}</li></ul><p>A key comes from ${signup === "off" ? "" : 'the form at <a href="/signup">Get a key</a>, which needs JavaScript, or from '}whoever runs this server.</p></noscript>`;

const answers = jsonElement("answers", {});

/** Makes a page's body. The browser's modules render the same elements again, so that nothing moves. */
function bodyOf(path: string, signup: PageSettings["signup"]): string {
  const last = keyLink(signup);
  const link = ([href, text]: (typeof links)[number] | typeof last) =>
    `<a href="${href}" class="${href === last[0] ? "accent" : ""}"${href === path ? ' aria-current="page"' : ""}>${text}</a>`;
  const kind = path === embedPage ? "embed" : "explore ";
  const shown = path in sentences ? `<div class="${kind}">${sentences[path]}</div>` : "";
  const main = `<main id="main" tabindex="-1">${path === missingPage ? missing : shown + noscriptOf(signup, titleOf(path, signup))}</main>`;
  if (path === embedPage) return `<div id="app">${main}</div>${answers}`;
  return `<div id="app"><header class="top"><a class="skip" href="#main">Skip to the content</a><a class="name" href="/">${name}</a><span class="about">Medicare outpatient, by hospital</span><nav aria-label="Pages">${[...links, last].map(link).join(" ")}</nav></header>${main}</div>${answers}`;
}

export class Pages {
  readonly #assets = readAssets("/portal/", "parts/portal", { states: "us-atlas/states-albers-10m.json" });
  /** The pages read this document without a key. */
  readonly #openapi = webFile("/openapi.json", "application/json", openapiDocument(), "changing");

  /** Makes all files that the portal serves: the assets, the pages and the OpenAPI document. */
  files(settings: Omit<PageSettings, "states" | "embeds">, embedOrigins: readonly string[]): WebFile[] {
    const assets = this.#assets;
    const fileOf = (
      path: string,
      title: string,
      options: Omit<PageOptions, "title" | "description" | "body" | "style">,
    ) => pageOf(assets, path, { title, description, style, body: bodyOf(path, settings.signup), ...options });
    // Without EMBED_ORIGINS no site may show a picture in a frame, so there are no pages for frames.
    const shown = Object.entries(pages).filter(([path]) => path !== embedPage || embedOrigins.length > 0);
    const files = shown.map(([path, [script]]) => {
      const title = tabTitle(titleOf(path, settings.signup));
      const file = fileOf(path, title, {
        script,
        framedBy: path === embedPage ? embedOrigins : [],
        settings: {
          ...settings,
          embeds: embedOrigins.length > 0,
          states: assets.url("states"),
        } satisfies PageSettings,
      });
      const sentence = sentences[path];
      // Without a key of the pages, visitors need their own key to see numbers, so the server writes none.
      if (settings.key === null || sentence === undefined) return file;
      return {
        ...file,
        slots: { head: headOf(title, description), sentence, noscript: noscriptOf(settings.signup), answers },
      };
    });
    return [...assets.files, ...files, fileOf(missingPage, tabTitle("No page"), {}), this.#openapi];
  }
}
