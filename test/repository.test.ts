import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join, matchesGlob, resolve } from "node:path";
import { test } from "node:test";
import { tracked } from "./support/readme.ts";

/** Checks that the repository's files follow its rules, such as which imports are allowed. */

const root = resolve(import.meta.dirname, "..");
const sources = tracked.filter((path) => path.endsWith(".ts"));
const read = (path: string) => readFileSync(join(root, path), "utf8");

/** Packages have their names, and files their paths from the root. */
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

test("the top level has only the given entries and dotfiles", () => {
  const given = [
    "package.json",
    "package-lock.json",
    "tsconfig.json",
    "README.md",
    "CHANGELOG.md",
    "LICENSE",
  ];
  const folders = ["engine", "server", "datasets", "bench", "test"];
  const entries = new Set(tracked.map((path) => path.split("/", 1)[0]));
  const others = [...entries].filter(
    (entry) => ![...given, ...folders].includes(entry) && !entry.startsWith("."),
  );
  assert.deepEqual(others, []);
});

test("each test file is run by exactly one npm script", () => {
  const { scripts } = JSON.parse(read("package.json"));
  const patterns = ["test", "test:system", "test:long"].map((name) =>
    [...scripts[name].matchAll(/'([^']+)'/g)].map(([, pattern]) => pattern),
  );
  const tests = sources.filter((path) => path.endsWith(".test.ts"));
  const ofRooms = sources.filter((path) => path.startsWith("test/rooms/")).flatMap(importsOf);
  const runs = (path: string) =>
    patterns.filter((each) => each.some((pattern) => matchesGlob(path, pattern))).length +
    ofRooms.filter((each) => each === path).length;
  assert.deepEqual(
    tests.filter((path) => runs(path) !== 1),
    [],
  );
});

test("the engine imports only itself and the allowed libraries", () => {
  const libraries = ["apache-arrow", "flatbuffers", "parquet-wasm", "valibot"];
  const allowed = [...libraries, "node:crypto", "node:module", "node:zlib"];
  assert.deepEqual(
    importing(
      "engine",
      (specifier) => !specifier.startsWith("engine/") && !allowed.includes(packageOf(specifier)),
    ),
    ["engine/search/lexicon.ts imports node:fs"],
  );
});

test("the engine uses no clock, environment, console or randomness", () => {
  const forbidden =
    /\b(console|process|performance)\.|\bset(Timeout|Interval|Immediate)\b|\bDate\b|\bMath\.random\b|\brandomBytes\b/;
  const offenders = sources.filter(
    (path) => path.startsWith("engine/") && forbidden.test(withoutComments(read(path))),
  );
  assert.deepEqual(offenders, []);
});

/**
 * The rooms of the product, which are folders or single files, by level from the top down. A file may import files of
 * its own room and of lower levels.
 */
const levels = [
  ["server/main.ts"],
  ["server/commands"],
  ["server/parts.ts"],
  ["server/parts/console", "server/parts/notifications", "server/parts/portal", "server/parts/postgres"],
  ["server/control"],
  ["server/serving", "server/part.ts"],
  ["server/accounts", "server/snapshots"],
  ["server/store", "server/api"],
  ["server/shared"],
  ["datasets"],
  ["engine"],
];

const roomOf = (path: string) =>
  path.split("/", path.startsWith("server/parts/") ? 3 : path.startsWith("server/") ? 2 : 1).join("/");

function levelOf(room: string): number {
  const level = levels.findIndex((rooms) => rooms.includes(room));
  assert.notEqual(level, -1, `${room} has no place in the order of the rooms`);
  return level;
}

const product = sources.filter((path) => /^(server|datasets|engine)\//.test(path));
const imported = new Map(
  product.map((path) => [path, importsOf(path).filter((specifier) => specifier.endsWith(".ts"))]),
);

test("imports use literal text in double quotes, so that these rules find them", () => {
  // Biome refuses single quotes, so only backquotes and expressions are left to find.
  const unread = product.filter((path) =>
    /\b(import|require)\s*\(\s*[^"\s]/.test(withoutComments(read(path))),
  );
  // Threads import the modules of a part's pages, `written.ts` components with the types of a browser.
  assert.deepEqual(unread, [
    "server/parts/portal/written.ts",
    "server/serving/page-thread.ts",
    "server/serving/thread.ts",
  ]);
});

test("no folder of the product imports from a folder above or beside it", () => {
  const offenders = product.flatMap((path) =>
    (imported.get(path) ?? [])
      .filter((other) => {
        const [room, wanted] = [roomOf(path), roomOf(other)];
        return room !== wanted && levelOf(wanted) <= levelOf(room);
      })
      .map((other) => `${path} imports ${other}`),
  );
  assert.deepEqual(offenders, []);
  for (const room of levels.flat())
    assert.ok(
      product.some((path) => roomOf(path) === room),
      room,
    );
});

test("only server/parts.ts imports parts, and no part imports another", () => {
  const offenders = product
    .filter((path) => path !== "server/parts.ts")
    .flatMap((path) =>
      (imported.get(path) ?? [])
        .filter((other) => other.startsWith("server/parts/") && roomOf(path) !== roomOf(other))
        .map((other) => `${path} imports ${other}`),
    );
  assert.deepEqual(offenders, []);
  const listed = new Set(
    imported
      .get("server/parts.ts")
      ?.map(roomOf)
      .filter((room) => room.startsWith("server/parts/")),
  );
  assert.deepEqual(
    [...listed].sort(),
    levels.find((rooms) => rooms.includes("server/parts/portal")),
  );
});

test("tests run the server with each part alone and with none", () => {
  const alone = sources.map((path) => /^process\.env\.SERVER_PARTS = "(\w+)";$/m.exec(read(path))?.[1]);
  for (const part of ["none", "console", "notifications", "portal", "postgres"])
    assert.ok(alone.includes(part), part);
});

/** An import's specifier may name a file in the package. */
function packageOf(specifier: string): string {
  return specifier.replace(/^apache-arrow\/.*/, "apache-arrow");
}

/** Packages and Node modules, by static imports of values. */
function loadedWith(path: string, files = new Set<string>()): string[] {
  files.add(path);
  const source = read(path);
  const imports = [
    ...source.matchAll(/^(?:import|export) (?!type\b)(?:[^;"]* from )?"([^"]+)"/gm),
    ...source.matchAll(/createRequire\(import\.meta\.url\)\("([^"]+)"\)/g),
  ];
  return imports.flatMap(([, specifier]) => {
    if (!specifier.startsWith(".")) return [packageOf(specifier)];
    const other = resolve("/", dirname(path), specifier).slice(1);
    return files.has(other) || !other.endsWith(".ts") ? [] : loadedWith(other, files);
  });
}

test("no thread loads a library at its start that it may never need", () => {
  // Importing `node:http`, unlike requiring it, loads the whole code of `fetch`.
  const seldom = ["apache-arrow", "csv-parse", "node:http", "nodemailer", "parquet-wasm", "pg"];
  const control = ["better-sqlite3", "node:https", "pino", "prom-client", "standardwebhooks"];
  const threads = {
    "server/control/thread.ts": [...seldom, "uWebSockets.js"],
    "server/parts/console/control.ts": [...seldom, "uWebSockets.js"],
    "server/parts/notifications/control.ts": [...seldom, "uWebSockets.js"],
    "server/parts/portal/control.ts": [...seldom, "uWebSockets.js"],
    "server/serving/thread.ts": [...seldom, ...control],
    "server/parts/portal/serving.ts": [...seldom, ...control],
    "server/snapshots/load-thread.ts": [
      ...seldom.filter((name) => name !== "apache-arrow"),
      ...control,
      "uWebSockets.js",
    ],
  };
  for (const [path, others] of Object.entries(threads)) {
    const loaded = loadedWith(path);
    assert.ok(loaded.length > 0, path);
    assert.deepEqual(
      others.filter((name) => loaded.includes(name)),
      [],
      path,
    );
  }
});

test("only one file of the product imports uWebSockets.js", () => {
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

test("the lock file names no registry host", () => {
  assert.doesNotMatch(read("package-lock.json"), /"resolved"/);
});

test("the source suppresses no type or lint check", () => {
  const escapes = new RegExp(
    ["@ts-(ignore|expect-error|nocheck)", "biome-ignore", ": any\\b", "\\bas any\\b"].join("|"),
  );
  const offenders = sources.filter((path) => path !== "test/repository.test.ts" && escapes.test(read(path)));
  assert.deepEqual(offenders, []);
});

function withoutComments(source: string): string {
  return source.replace(/\/\*[\s\S]*?\*\//g, "").replace(/\/\/.*$/gm, "");
}
