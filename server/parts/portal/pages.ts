import { openapiDocument } from "../../api/openapi.ts";
import type { WebFile } from "../../shared/messages.ts";
import { type PageOptions, pageOf, readAssets } from "../../shared/web-assets.ts";
import { webFile } from "../../shared/web-file.ts";
import type { PageSettings } from "./browser/context.ts";
import { tabTitle } from "./browser/words.ts";
import { embedPage, facilityPage, missingPage } from "./page-files.ts";
import { statesSvg } from "./states-svg.ts";
import { writeBlank } from "./written.ts";

/** The script of each page, and its usual title if the title doesn't depend on the URL. */
const pages: Readonly<Record<string, readonly [script: string, title?: string]>> = {
  "/": ["explore.ts"],
  [facilityPage]: ["facility.ts"],
  [embedPage]: ["explore.ts"],
  "/data": ["data.ts", "The data"],
  "/reference": ["reference.ts", "The API"],
  "/signup": ["signup.ts", "Get a key"],
  "/account": ["account.ts", "Your account"],
};
const titleOf = (path: string, signup: PageSettings["signup"]) =>
  path === "/signup" && signup === "off" ? "Keys" : pages[path]?.[1];
const style = "style.css";
const description =
  "What each US hospital charges for an outpatient procedure, and what Medicare allows: explore, compare, download.";
export class Pages {
  readonly #assets = readAssets("/portal/", "parts/portal", { "states.svg": statesSvg() });
  /** The pages link to this document, which needs no key. */
  readonly #openapi = webFile("/openapi.json", "application/json", openapiDocument(), "changing");

  files(settings: Omit<PageSettings, "states" | "embeds">, embedOrigins: readonly string[]): WebFile[] {
    const assets = this.#assets;
    const shown: PageSettings = {
      ...settings,
      embeds: embedOrigins.length > 0,
      states: assets.url("states.svg"),
    };
    const fileOf = (path: string, title: string, options: Pick<PageOptions, "script" | "framedBy"> = {}) => {
      const written = writeBlank(path === embedPage ? "/embed" : path, title, description, shown);
      const { file, parts } = pageOf(assets, path, {
        style,
        ...written,
        settings: shown,
        ...options,
      });
      // Without a key of the pages, visitors need their own key to see numbers, so the server writes none.
      const hasNumbers = shown.key !== null && path in pages && pages[path].length === 1;
      return hasNumbers ? { ...file, template: { parts, settings: JSON.stringify(shown) } } : file;
    };
    // If EMBED_ORIGINS isn't set, no site may show a picture in a frame, so there is no page for frames.
    const served = Object.entries(pages).filter(([path]) => path !== embedPage || shown.embeds);
    const files = served.map(([path, [script]]) => {
      const framedBy = path === embedPage ? embedOrigins : [];
      return fileOf(path, tabTitle(titleOf(path, settings.signup)), { script, framedBy });
    });
    return [...assets.files, ...files, fileOf(missingPage, tabTitle("No page")), this.#openapi];
  }
}
