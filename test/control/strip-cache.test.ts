import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../support/server.ts";

/** Tests that the cache of stripped TypeScript never changes the code that runs. */

const preloaded = path.resolve(import.meta.dirname, "../../server/strip-cache.js");
const folder = temporaryFolder();
const script = path.join(folder, "script.mts");

function run(source: string, cache: string | undefined): string {
  writeFileSync(script, source);
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--import", preloaded, script], {
    encoding: "utf8",
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: cache },
  });
  assert.deepEqual([status, stderr], [0, ""]);
  return stdout;
}

const kept = (cache: string) => readdirSync(cache).filter((name) => name.endsWith(".js"));
const saying = (word: string) => `const word: string = "${word}"; console.log(word);`;

test("a source is stripped once, and again if it changed or its cached text is truncated", () => {
  const cache = path.join(folder, "cache");
  const source = `import { readdirSync, readFileSync, writeFileSync } from "node:fs";
    import { kept, stripTypes } from ${JSON.stringify(preloaded)};
    const files = (): string[] => readdirSync("${cache}").map((name) => "${cache}/" + name);
    const said: unknown[] = [];
    const known = files();
    const strip = (word: string) => said.push(stripTypes("const a: string = '" + word + "';").replaceAll(" ", ""));
    strip("first");
    const [file] = files().filter((each) => !known.includes(each));
    const whole = readFileSync(file, "utf8");
    // Changes the cached file, so that the output shows whether the cache is used.
    writeFileSync(file, whole.replace("first", "kept!"));
    strip("first");
    strip("second");
    for (const length of [0, 10, whole.length - 1]) {
      writeFileSync(file, whole.slice(0, length));
      strip("first");
      said.push(readFileSync(file, "utf8") === whole);
    }
    const make = () => (said.push("made"), Buffer.from([0, 255, 10]));
    const take = () => said.push([...kept("some.br", make)].join());
    take();
    take();
    writeFileSync("${cache}/some.br", readFileSync("${cache}/some.br").subarray(0, -1));
    take();
    console.log(JSON.stringify(said));`;
  const [first, second] = ["first", "second"].map((word) => `consta='${word}';`);
  assert.deepEqual(JSON.parse(run(source, cache)), [
    ...[first, "consta='kept!';", second, first, true, first, true, first, true],
    ...["made", "0,255,10", "0,255,10", "made", "0,255,10"],
  ]);
});

test("threads use the cached text of a stripped source", () => {
  const cache = path.join(folder, "threads");
  const source = `import { isMainThread, Worker } from "node:worker_threads";
    const where: string = isMainThread ? "main" : "thread";
    console.log(where);
    if (isMainThread) new Worker(new URL(import.meta.url));`;
  assert.equal(run(source, cache), "main\nthread\n");
  assert.equal(kept(cache).length, 1);
});

test("a package's source below node_modules is stripped, with a cache and without", () => {
  const packaged = path.join(folder, "node_modules/packaged");
  mkdirSync(packaged, { recursive: true });
  writeFileSync(path.join(packaged, "package.json"), '{"type":"module"}');
  writeFileSync(path.join(packaged, "index.ts"), saying("packaged"));
  for (const cache of [undefined, path.join(folder, "packages")])
    assert.equal(run('import "./node_modules/packaged/index.ts";', cache), "packaged\n");
});

test("a source runs even if the cache can't be written", () => {
  const file = path.join(folder, "file");
  writeFileSync(file, "");
  assert.equal(run(saying("none"), path.join(file, "cache")), "none\n");
  assert.ok(!existsSync(path.join(file, "cache")));
});
