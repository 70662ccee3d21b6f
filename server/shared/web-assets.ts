import { hash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, extname, join } from "node:path";
import { kept } from "../strip-cache.js";
import type { WebFile } from "./messages.ts";
import { webFile } from "./web-file.ts";

/** Makes web pages, and bundles their sources with npm packages into modules and style sheets. */

const serverFolder = dirname(import.meta.dirname);
/** The npm package has its bundles in this folder. */
const packedFolder = join(serverFolder, "bundles");
const require = createRequire(import.meta.url);

const types: Record<string, string> = {
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
};

interface Bundle {
  /** The entry's name, such as `explore.ts`. */
  entry: string;
  /** The entry's name with a hash of the content, such as `explore-ZQ3MYGVS.js`. */
  name: string;
  text: string;
}

export interface Assets {
  files: WebFile[];
  /** Returns the URL of an entry, or of an added file. */
  url(name: string): string;
}

/**
 * Bundles the pages of a part of the server: each module and style sheet in `browser/pages`, with its imports. If
 * the npm package or the compile cache has bundles of the same sources, they are used.
 * @param base the start of the assets' URLs, with a slash at its end
 * @param part the part's folder, below `server/`
 * @param added the texts of further files by their names
 */
export function readAssets(base: string, part: string, added: Readonly<Record<string, string>> = {}): Assets {
  const others = Object.entries(added).map(([entry, text]) => {
    const version = hash("sha256", text, "base64url").slice(0, 8);
    const ending = extname(entry);
    return { entry, name: `${basename(entry, ending)}-${version}${ending}`, text };
  });
  const all = [...bundlesOf(part), ...others];
  const urls = new Map(all.map(({ entry, name }) => [entry, base + name]));
  return {
    files: all.map(({ name, text }) => webFile(base + name, types[extname(name)], text, "immutable")),
    url(name) {
      const url = urls.get(name);
      if (url === undefined) throw new Error(`no asset ${name} below ${base}, expected one`);
      return url;
    },
  };
}

export function packBundles(parts: readonly string[]): void {
  rmSync(packedFolder, { recursive: true, force: true });
  mkdirSync(packedFolder);
  for (const part of parts) writeFileSync(join(packedFolder, nameOf(part)), bundle(part));
}

function bundlesOf(part: string): Bundle[] {
  const name = nameOf(part);
  const packed = join(packedFolder, name);
  const json = existsSync(packed) ? readFileSync(packed) : kept(name, () => bundle(part));
  return JSON.parse(json.toString());
}

const pathsIn = (folder: string) =>
  readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((one) => one.isFile())
    .map((one) => join(one.parentPath, one.name))
    .sort();

/** Files outside the pages' folders on which bundles depend: modules, and the npm packages' versions. */
const otherSources = [
  "../datasets/cms/columns.ts",
  "../datasets/cms/statements.ts",
  "../datasets/deductibles.ts",
  "../engine/search/counties.ts",
  "../engine/search/sure.ts",
  "../package.json",
  "shared/form-rules.ts",
];

function sourcesOf(part: string): string[] {
  const folders = ["shared/browser", `${part}/browser`].map((folder) => join(serverFolder, folder));
  return [...folders.flatMap(pathsIn), ...otherSources.map((path) => join(serverFolder, path))];
}

function nameOf(part: string): string {
  const texts = sourcesOf(part).map((path) => [basename(path), readFileSync(path, "utf8")]);
  return `${hash("sha256", JSON.stringify(texts))}.bundles`;
}

/**
 * Bundles a part's pages, as the JSON of `Bundle[]`.
 * @throws Error when the bundler fails, or `otherSources` lacks a module
 */
function bundle(part: string): Buffer {
  // The bundler is loaded only if no cache has the bundles.
  const { buildSync }: typeof import("esbuild") = require("esbuild");
  const { outputFiles, metafile } = buildSync({
    ...{ absWorkingDir: serverFolder, metafile: true },
    ...{ bundle: true, minify: true, write: false, format: "esm", target: "es2024", charset: "utf8" },
    entryPoints: pathsIn(join(serverFolder, part, "browser/pages")),
    ...{ entryNames: "[name]-[hash]", outdir: "/", logLevel: "silent", tsconfigRaw: "{}" },
    banner: { js: "/* with preact (MIT), htm (Apache-2.0) and d3 (ISC), from npm */" },
  });
  const named = new Set(sourcesOf(part));
  const unnamed = Object.keys(metafile.inputs).filter(
    (path) => !path.includes("node_modules/") && !named.has(join(serverFolder, path)),
  );
  // Otherwise a change of these modules would leave old bundles in the cache.
  if (unnamed.length > 0) throw new Error(`pages import ${unnamed.join(", ")}, which otherSources lacks`);
  const bundles: Bundle[] = outputFiles.map(({ path, text }) => {
    const name = basename(path);
    const stem = name.slice(0, name.lastIndexOf("-"));
    return { entry: `${stem}${extname(name).replace(".js", ".ts")}`, name, text };
  });
  return Buffer.from(JSON.stringify(bundles));
}

export interface PageOptions {
  /** The HTML of the title and the description; see `headOf`. */
  head: string;
  /** The pieces of the HTML of the element `body`. */
  body: readonly string[];
  /** The entry with the page's style sheet. */
  style: string;
  script?: string;
  /** Origins of pages that may show this page in a frame. */
  framedBy?: readonly string[];
  /** Settings for the page's script. It finds them as JSON in the element `settings`. */
  settings?: object;
}

export const escapeHtml = (text: string) =>
  text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);

/** Makes the HTML that describes a page to browsers and link previews. @param title,description plain text */
export function headOf(title: string, description: string): string {
  const [name, about] = [escapeHtml(title), escapeHtml(description)];
  return [
    `<title>${name}</title>`,
    `<meta name="description" content="${about}">`,
    `<meta property="og:title" content="${name}">`,
    `<meta property="og:description" content="${about}">`,
  ].join("\n");
}

/** Writes a value as JSON for a script element. Escapes `<`, because `</script>` would end the element. */
export const scriptJson = (value: object | string) => JSON.stringify(value).replaceAll("<", "\\u003c");

/** @returns the page's file, and the HTML before the head's texts, between these and the body, and after the body */
export function pageOf(assets: Assets, path: string, options: PageOptions) {
  const { head, body, style, script, framedBy = [], settings = {} } = options;
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    `frame-ancestors ${framedBy.length === 0 ? "'none'" : framedBy.join(" ")}`,
  ].join("; ");
  const first = [
    "<!doctype html>",
    '<html lang="en">',
    "<head>",
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    "",
  ];
  const middle = [
    "",
    '<meta name="color-scheme" content="light dark">',
    '<link rel="icon" href="data:,">',
    `<link rel="stylesheet" href="${assets.url(style)}">`,
    ...(script === undefined ? [] : [`<script type="module" src="${assets.url(script)}"></script>`]),
    `<script type="application/json" id="settings">${scriptJson(settings)}</script>`,
    "</head>",
    "",
  ];
  const parts = [first.join("\n"), middle.join("\n"), "\n</html>\n"] as const;
  const html = parts[0] + head + parts[1] + body.join("") + parts[2];
  const headers = [`Content-Security-Policy: ${policy}`];
  return { file: webFile(path, "text/html; charset=utf-8", html, "changing", headers), parts };
}
