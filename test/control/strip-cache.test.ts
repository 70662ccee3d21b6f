import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../support/server.ts";

/** The cache of stripped TypeScript never changes what runs. */

const preloaded = path.resolve(import.meta.dirname, "../../server/strip-cache.js");
const folder = temporaryFolder();
const script = path.join(folder, "script.mts");

/** @returns what a source says when it is run */
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

test("a source is stripped once, and a changed one anew", () => {
  const cache = path.join(folder, "cache");
  assert.equal(run(saying("first"), cache), "first\n");
  const [name] = kept(cache);
  // The kept one is what runs.
  const file = path.join(cache, name);
  writeFileSync(file, readFileSync(file, "utf8").replace("first", "kept!"));
  assert.equal(run(saying("first"), cache), "kept!\n");
  assert.equal(run(saying("second"), cache), "second\n");
  assert.equal(kept(cache).length, 2);
});

test("a kept source that was cut off is made anew", () => {
  const cache = path.join(folder, "cut");
  run(saying("whole"), cache);
  const file = path.join(cache, kept(cache)[0]);
  const whole = readFileSync(file, "utf8");
  for (const length of [0, 10, whole.length - 1]) {
    writeFileSync(file, whole.slice(0, length));
    assert.equal(run(saying("whole"), cache), "whole\n");
    assert.equal(readFileSync(file, "utf8"), whole);
  }
});

test("anything else is made once, and anew when what is kept was cut off", () => {
  const cache = path.join(folder, "made");
  const source = `import { kept } from ${JSON.stringify(preloaded)};
    const make = (): Buffer => (console.log("made"), Buffer.from([0, 255, 10]));
    console.log([...kept("some.br", make)].join());`;
  assert.equal(run(source, cache), "made\n0,255,10\n");
  assert.equal(run(source, cache), "0,255,10\n");
  const file = path.join(cache, "some.br");
  const whole = readFileSync(file);
  writeFileSync(file, whole.subarray(0, -1));
  assert.equal(run(source, cache), "made\n0,255,10\n");
  assert.deepEqual(readFileSync(file), whole);
  assert.equal(run(source, undefined), "made\n0,255,10\n");
});

test("threads take what is kept", () => {
  const cache = path.join(folder, "threads");
  const source = `import { isMainThread, Worker } from "node:worker_threads";
    const where: string = isMainThread ? "main" : "thread";
    console.log(where);
    if (isMainThread) new Worker(new URL(import.meta.url));`;
  assert.equal(run(source, cache), "main\nthread\n");
  assert.equal(kept(cache).length, 1);
});

test("a package's source is stripped below node_modules, where Node itself refuses to, with a cache and without", () => {
  const packaged = path.join(folder, "node_modules/packaged");
  mkdirSync(packaged, { recursive: true });
  writeFileSync(path.join(packaged, "package.json"), '{"type":"module"}');
  writeFileSync(path.join(packaged, "index.ts"), saying("packaged"));
  for (const cache of [undefined, path.join(folder, "packages")])
    assert.equal(run('import "./node_modules/packaged/index.ts";', cache), "packaged\n");
});

test("without a compile cache, or with one that can't be written, a source runs all the same", () => {
  assert.equal(run(saying("none"), undefined), "none\n");
  const file = path.join(folder, "file");
  writeFileSync(file, "");
  assert.equal(run(saying("none"), path.join(file, "cache")), "none\n");
  assert.ok(!existsSync(path.join(file, "cache")));
});
