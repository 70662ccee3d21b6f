import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { test } from "node:test";
import { markdownOf, type Results } from "../bench/report.ts";

/** The repository keeps its own rules. */

const root = resolve(import.meta.dirname, "..");
const tracked = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], { cwd: root })
  .toString()
  .split("\n")
  .filter((path) => path !== "");
const sources = tracked.filter((path) => path.endsWith(".ts"));
const read = (path: string) => readFileSync(join(root, path), "utf8");

/** What a source file imports: packages by name, files by their path from the root. */
function importsOf(path: string): string[] {
  const specifiers = [...read(path).matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)].map((match) => match[1]);
  return specifiers.map((specifier) =>
    specifier.startsWith(".") ? resolve("/", dirname(path), specifier).slice(1) : specifier,
  );
}

const importing = (folder: string, wanted: (specifier: string) => boolean) =>
  sources
    .filter((path) => path.startsWith(`${folder}/`))
    .flatMap((path) =>
      importsOf(path)
        .filter(wanted)
        .map((specifier) => `${path} imports ${specifier}`),
    );

test("the top level has the given entries and dotfiles only", () => {
  const given = ["package.json", "package-lock.json", "tsconfig.json", "README.md", "LICENSE"];
  const folders = ["engine", "server", "datasets", "bench", "test"];
  const entries = new Set(tracked.map((path) => path.split("/", 1)[0]));
  const others = [...entries].filter(
    (entry) => ![...given, ...folders].includes(entry) && !entry.startsWith("."),
  );
  assert.deepEqual(others, []);
});

test("the engine imports nothing of the server, the datasets or the world outside", () => {
  const allowed = ["apache-arrow", "node:crypto", "node:zlib", "parquet-wasm", "valibot"];
  assert.deepEqual(
    importing("engine", (specifier) => !specifier.startsWith("engine/") && !allowed.includes(specifier)),
    [],
  );
});

test("the engine knows no clock, environment, console or randomness", () => {
  const forbidden =
    /\b(console|process|performance|setTimeout|setInterval)\.|\bDate\b|\bMath\.random\b|\brandomBytes\b/;
  const offenders = sources.filter(
    (path) => path.startsWith("engine/") && forbidden.test(withoutComments(read(path))),
  );
  assert.deepEqual(offenders, []);
});

test("the datasets import nothing of the server", () => {
  assert.deepEqual(
    importing("datasets", (specifier) => specifier.startsWith("server/")),
    [],
  );
});

test("uWebSockets.js is imported in one file of the product", () => {
  const users = ["engine", "server", "datasets"].flatMap((folder) =>
    importing(folder, (specifier) => specifier === "uWebSockets.js"),
  );
  assert.deepEqual(users, ["server/serving/listener.ts imports uWebSockets.js"]);
});

test("dependencies have exact versions", () => {
  const { dependencies, devDependencies } = JSON.parse(read("package.json"));
  const versions: string[] = Object.values({ ...dependencies, ...devDependencies });
  const loose = versions.filter((version) => !/^(npm:[a-z-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/.test(version));
  assert.ok(versions.length > 0);
  assert.deepEqual(loose, []);
});

test("every dependency has its reason in the README", () => {
  const { dependencies, devDependencies } = JSON.parse(read("package.json"));
  const readme = read("README.md");
  const missing = Object.keys({ ...dependencies, ...devDependencies }).filter(
    (name) => !readme.includes(`\`${name}\``),
  );
  assert.deepEqual(missing, []);
});

test("the lock file names no registry host", () => {
  assert.doesNotMatch(read("package-lock.json"), /"resolved"/);
});

test("the README's figures of the HTTP benchmark are those of the last recorded run", () => {
  const results: Results = JSON.parse(read("bench/results/http.json"));
  assert.ok(read("README.md").includes(markdownOf(results)), markdownOf(results));
});

test("no check is switched off in the source", () => {
  const escapes = new RegExp(
    ["@ts-(ignore|expect-error|nocheck)", "biome-ignore", ": any\\b", "\\bas any\\b"].join("|"),
  );
  const offenders = sources.filter((path) => path !== "test/repository.test.ts" && escapes.test(read(path)));
  assert.deepEqual(offenders, []);
});

function withoutComments(source: string): string {
  return source.replace(/\/\*[\s\S]*?\*\//g, "").replace(/\/\/.*$/gm, "");
}
