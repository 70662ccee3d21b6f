import { hash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, extname, join } from "node:path";
import { stripTypes } from "../strip-cache.js";
import type { WebFile } from "./messages.ts";
import { webFile } from "./web-file.ts";

/** Reads the assets of web pages: the server's own modules without types, style sheets, and npm libraries. */

const serverFolder = dirname(import.meta.dirname);
const require = createRequire(import.meta.url);

const types: Record<string, string> = {
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".mjs": "text/javascript; charset=utf-8",
  ".ts": "text/javascript; charset=utf-8",
};

const style = "style.css";

const pageLibraries = {
  preact: "preact/dist/preact.mjs",
  "preact/hooks": "preact/hooks/dist/hooks.mjs",
  htm: "htm/dist/htm.mjs",
};
/** The half of d3 that pictures use. Each part comes after the parts that it needs. */
export const d3Files = [
  ...["array", "color", "format", "interpolate", "path", "time", "time-format", "scale", "shape"],
].map((part) => `d3-${part}/dist/d3-${part}.min.js`);

function libraryFile(name: string): string {
  const parts = name.split("/");
  const packageName = parts.slice(0, name.startsWith("@") ? 2 : 1).join("/");
  const folders = require.resolve.paths(packageName) ?? [];
  const folder = folders.find((one) => existsSync(join(one, packageName, "package.json")));
  if (folder === undefined) throw new Error(`npm package ${packageName} isn't installed`);
  return join(folder, name);
}

interface Assets {
  files: WebFile[];
  /** The names of a module and of its direct and indirect imports. */
  modulesOf(name: string): string[];
  /** @param name an asset's path below `server/`, the name of a library, or `style.css` for all style sheets */
  url(name: string): string;
  importMap: string;
}

/**
 * Reads a page's assets, including the files that all pages share.
 * @param base the path that all URLs begin with; it ends with a slash
 * @param folder the folder of the page's own files, below `server/`
 * @param libraries more files of npm packages, by name; several files with the same name become one asset
 */
export function readAssets(
  base: string,
  folder: string,
  libraries: Readonly<Record<string, string | readonly string[]>>,
): Assets {
  const own = ["shared/browser", folder].flatMap((part) =>
    readdirSync(join(serverFolder, part))
      .filter((name) => [".css", ".ts"].includes(extname(name)))
      .sort()
      .map((name) => join(part, name)),
  );
  const read = [
    ...Object.entries({ ...pageLibraries, ...libraries }).map(([name, files]) => {
      const from = [files].flat().map(libraryFile);
      return { name, path: `lib/${name}${extname(from[0])}`, from };
    }),
    ...own.map((path) => ({ name: path, path, from: [join(serverFolder, path)] })),
  ].map(({ from, ...file }) => {
    const text = from
      .map((one) => readFileSync(one, "utf8").replace(/\n\/\/# sourceMappingURL=.*\s*$/, "\n"))
      .join("");
    return { ...file, content: extname(file.path) === ".ts" ? stripTypes(text) : text };
  });
  const styles = read.filter(({ path }) => extname(path) === ".css").map(({ content }) => content);
  const sources = new Map(
    // All style sheets are one asset, so a page needs only one request for them.
    [
      { name: style, path: style, content: styles.join("") },
      ...read.filter(({ path }) => extname(path) !== ".css"),
    ].map(({ name, path, content }) => [name, { path, content }]),
  );
  const version = hash(
    "sha256",
    [...sources.values()].map(({ path, content }) => `${path}\n${content}\n`).join(""),
    "base64url",
  ).slice(0, 12);
  const urlOf = (path: string) => `${base}${version}/${path}`;
  const files = [...sources.values()].map(({ path, content }) =>
    webFile(urlOf(path), types[extname(path)], content, "immutable"),
  );
  const url = (name: string) => {
    const source = sources.get(name);
    if (source === undefined) throw new Error(`no asset ${name} below ${base}, expected one`);
    return urlOf(source.path);
  };
  const libraryModules = read.filter(({ path }) => extname(path) === ".mjs");
  const imports = Object.fromEntries(libraryModules.map(({ name, path }) => [name, urlOf(path)]));
  const modulesOf = (name: string) => {
    const found = new Set([name]);
    for (const one of found)
      for (const [, specifier] of sources
        .get(one)
        ?.content.matchAll(/^(?:import|export)\b[^;]*?\bfrom\s*"([^"]+)"/gm) ?? [])
        found.add(specifier.startsWith(".") ? join(dirname(one), specifier) : specifier);
    return [...found];
  };
  return { files, modulesOf, url, importMap: JSON.stringify({ imports }) };
}

export interface PageOptions {
  title: string;
  description: string;
  /** The HTML of the body. */
  body: string;
  /** Scripts that aren't modules. They run in this order, after `first` and before `modules`. */
  scripts?: readonly string[];
  /** A module that runs before the scripts and the other modules. */
  first?: string;
  /** The main module, and other modules, which are only preloaded. */
  modules?: readonly string[];
  /** Names of assets to preload. */
  data?: readonly string[];
  /** Origins of pages that may show this page in a frame. */
  framedBy?: readonly string[];
  /** Settings for the page's modules. The element `settings` has them as JSON. */
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

export function pageOf(assets: Assets, path: string, options: PageOptions): WebFile {
  const { title, description, body, scripts = [], first, modules = [], data = [], framedBy = [] } = options;
  const ahead = first === undefined ? [] : [first];
  const imported = new Set([...ahead, ...modules].flatMap((name) => assets.modulesOf(name)));
  const run = (name: string) => `<script type="module" src="${assets.url(name)}"></script>`;
  const importMapHash = hash("sha256", assets.importMap, "base64");
  const policy = [
    "default-src 'none'",
    `script-src 'self' 'sha256-${importMapHash}'`,
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    `frame-ancestors ${framedBy.length === 0 ? "'none'" : framedBy.join(" ")}`,
  ].join("; ");
  // `</script>` in a text would end the element.
  const json = JSON.stringify(options.settings ?? {}).replaceAll("<", "\\u003c");
  const lines = [
    "<!doctype html>",
    '<html lang="en">',
    "<head>",
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    headOf(title, description),
    '<meta name="color-scheme" content="light dark">',
    '<link rel="icon" href="data:,">',
    `<link rel="stylesheet" href="${assets.url(style)}">`,
    `<script type="importmap">${assets.importMap}</script>`,
    ...ahead.map(run),
    // The scripts come first, because they are the largest files.
    ...scripts.map((name) => `<script defer fetchpriority="high" src="${assets.url(name)}"></script>`),
    // Without preloading, each module would be fetched only after the module that imports it.
    ...[...imported].map((name) => `<link rel="modulepreload" href="${assets.url(name)}">`),
    ...data.map(
      (name) => `<link rel="preload" as="fetch" crossorigin fetchpriority="low" href="${assets.url(name)}">`,
    ),
    ...modules.slice(0, 1).map(run),
    `<script type="application/json" id="settings">${json}</script>`,
    "</head>",
    `<body>${body}</body>`,
    "</html>",
  ];
  const headers = [`Content-Security-Policy: ${policy}`];
  return webFile(path, "text/html; charset=utf-8", `${lines.join("\n")}\n`, "changing", headers);
}
