import type { WebFile } from "../shared/messages.ts";
import { type PageOptions, pageOf, readProgram } from "./program.ts";
import { webFile } from "./web-file.ts";

/** The portal's pages and files. */

/** What the pages know of this server; the browser's `settings.ts` reads it. */
export interface PageSettings {
  /** The key by which whoever looks asks, or null: then explore asks for one. */
  key: string | null;
  signup: "open" | "email" | "off";
  /** Whether mail is sent. */
  mail: boolean;
}

const libraries = {
  preact: "preact/dist/preact.mjs",
  "preact/hooks": "preact/hooks/dist/hooks.mjs",
  htm: "htm/dist/htm.mjs",
  d3: "d3/dist/d3.min.js",
  topojson: "topojson-client/dist/topojson-client.min.js",
  states: "us-atlas/states-albers-10m.json",
};

const browser = "portal/browser";

/** What stands for a page whose path has something in it. */
export const facilityPage = "/facilities/*";
/** Of any other path. */
export const missingPage = "/*";
const paths = ["/", facilityPage, "/data", "/reference", "/signup", "/account", missingPage];

/** Reads the files once, and makes pages as often as what they know changes. */
export class Pages {
  readonly #program = readProgram("/portal/", [browser], libraries);

  /** Files and pages; a page is there for each of its paths. */
  files(settings: PageSettings): WebFile[] {
    const program = this.#program;
    const options: PageOptions = {
      title: "What hospitals charge",
      description:
        "What each US hospital charges for an outpatient procedure, and what Medicare allows: explore, compare, download.",
      body: '<div id="app"></div><noscript>This page draws its pictures in the browser, with JavaScript. Without it, the API at /api/v1 has all the numbers.</noscript>',
      styles: [`${browser}/style.css`, `${browser}/pictures.css`, `${browser}/pages.css`],
      scripts: ["d3", "topojson"],
      entry: `${browser}/main.ts`,
      modules: ["preact", "preact/hooks", "htm"],
      settings: { ...settings, states: program.url("states") },
    };
    const pages = paths.map((path) => {
      // A browser warns of what is fetched ahead and not used.
      const { html, headers } = pageOf(program, path === "/" ? { ...options, data: ["states"] } : options);
      return webFile(path, "text/html; charset=utf-8", html, "changing", headers);
    });
    return [...program.files, ...pages];
  }
}
