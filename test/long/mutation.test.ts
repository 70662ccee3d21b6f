import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { tracked } from "../support/readme.ts";
import { temporaryFolder } from "../support/server.ts";
import { distancesFrom, importsOf, type Mutant, mutantsOf } from "./mutants.ts";
import { sizeFrom, trialRandom } from "./trial.ts";

/** Makes random single changes in the code. Tests that are near to the changed file must fail. */

const tried = sizeFrom("MUTANTS", 200);
/** A short run leaves out files that only slow tests cover, with a browser. */
const isShort = tried < 50;
const atOnce = 2;
const minKilled = 0.85;
/** Surviving mutants that are always allowed. Some mutants are equivalent, and a small sample varies. */
const alwaysAllowed = 4;
/** Minimum number of test files that run on a change outside `browser/`. */
const minTestFiles = 6;
/** Minimum number of test files from other rooms that run on a change outside `browser/`. */
const minOtherFiles = 3;
/** Milliseconds that a test file is assumed to need until it has passed once. */
const firstMs = 15_000;
/** Maximum milliseconds of a test file with a change. A longer run may be in an endless loop. */
const deadlineOf = (neededMs: number) => 10_000 + 5 * neededMs;
/** Maximum milliseconds of a test file on unchanged code, on a busy machine. */
const unchangedDeadlineMs = 300_000;

const root = resolve(import.meta.dirname, "../..");
const sources = tracked.filter((file) => file.endsWith(".ts"));
const imports = importsOf(root, sources);
const quick = /^test\/(?!long|system|rooms)\w+\/.*\.test\.ts$/;
const ofScripts = /^test\/system\/(directory|shares-script)\.test\.ts$/;
const reached = sources
  .filter((file) => quick.test(file) || (!isShort && ofScripts.test(file)))
  .map((file) => ({ file, distances: distancesFrom(file, imports) }));

/** Further rooms whose tests cover a room's code. A room is a folder of source files and tests, such as `serving`. */
const furtherRooms: Readonly<Record<string, string[]>> = {
  engine: ["api"],
  accounts: ["notifications", "portal", "commands"],
  control: ["commands", "accounts"],
  shared: ["control"],
};

/** The room of a part is the part's name. */
const roomOf = (file: string) => file.replace(/^(server|test)\/(parts\/)?/, "").split("/")[0];

function browserTestsOf(file: string): string[] {
  const pages = file.startsWith("server/parts/console/") ? ["console"] : ["explore", "account", "console"];
  return pages.map((page) => `test/system/${page}.test.ts`);
}

/** Milliseconds that each test file took when it last passed. */
const tookMs = new Map<string, number>();

/**
 * Lists the test files for a file: the test of the same name, the tests of its rooms, and other tests that reach it by
 * the fewest imports. A test's time multiplied by its number of imports decides the order.
 */
function testsOf(file: string): string[] {
  if (file.includes("/browser/")) return browserTestsOf(file);
  const home = file.startsWith("engine/") ? "engine" : roomOf(file);
  const rooms = [home, ...(furtherRooms[home] ?? [])];
  const near = reached.flatMap(({ file: testFile, distances }) => {
    const distance = distances.get(file);
    if (distance === undefined) return [];
    const isNamesake = basename(testFile, ".test.ts") === basename(file, ".ts");
    const isOwn = isNamesake || rooms.includes(roomOf(testFile));
    return { testFile, distance, isOwn, cost: isNamesake ? 0 : (tookMs.get(testFile) ?? firstMs) * distance };
  });
  const own = near.filter(({ isOwn }) => isOwn);
  const others = near.filter(({ isOwn }) => !isOwn).sort((a, b) => a.distance - b.distance);
  return [...own, ...others.slice(0, Math.max(minOtherFiles, minTestFiles - own.length))]
    .sort((a, b) => a.cost - b.cost)
    .map(({ testFile }) => testFile);
}

type Outcome = "passed" | "failed" | "cut off";

class Copy {
  readonly #folder = temporaryFolder();

  constructor() {
    for (const file of tracked) cpSync(join(root, file), join(this.#folder, file));
    // Some tests ask Git for the repository's files.
    for (const words of [
      ["init", "--quiet"],
      ["add", "--all"],
    ])
      execFileSync("git", words, { cwd: this.#folder });
    symlinkSync(join(root, "node_modules"), join(this.#folder, "node_modules"));
    mkdirSync(join(this.#folder, "tmp"));
  }

  async run(testFile: string, mutant?: Mutant): Promise<Outcome> {
    if (mutant === undefined) return this.#run(testFile, unchangedDeadlineMs);
    const path = join(this.#folder, mutant.file);
    const original = readFileSync(path);
    writeFileSync(path, mutant.source);
    try {
      return await this.#run(testFile, deadlineOf(tookMs.get(testFile) ?? firstMs));
    } finally {
      writeFileSync(path, original);
    }
  }

  async #run(testFile: string, deadlineMs: number): Promise<Outcome> {
    const begun = performance.now();
    const options = ["--import", "./server/strip-cache.js", "--test-reporter=tap"];
    const child = spawn("server/node", [...options, testFile], {
      cwd: this.#folder,
      env: {
        ...process.env,
        NODE_TEST_CONTEXT: undefined,
        TMPDIR: join(this.#folder, "tmp"),
      },
      stdio: ["ignore", "pipe", "ignore"],
      // In its own process group, the process can be killed with its children.
      detached: true,
    });
    const end = () => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      } catch {
        // The process has already ended.
      }
    };
    let outcome: Outcome = "passed";
    const endAs = (how: Outcome) => {
      outcome = how;
      end();
    };
    const timer = setTimeout(() => endAs("cut off"), deadlineMs);
    createInterface(child.stdout).on("line", (line) => {
      if (/^ *not ok /.test(line)) endAs("failed");
    });
    process.once("exit", end);
    const [code] = await once(child, "exit");
    clearTimeout(timer);
    end();
    process.off("exit", end);
    if (code === 0) tookMs.set(testFile, performance.now() - begun);
    else if (outcome === "passed") outcome = "failed";
    return outcome;
  }
}

/** Whether each test file that has noticed a change passes without a change. */
const noticing = new Map<string, boolean>();

/** Whether a test file notices a change. A time-out counts as noticing, unless the machine has become slower. */
async function notices(copy: Copy, testFile: string, mutant: Mutant): Promise<boolean> {
  for (;;) {
    const neededMs = tookMs.get(testFile) ?? firstMs;
    const outcome = await copy.run(testFile, mutant);
    if (outcome === "passed") return false;
    if (outcome === "failed" && noticing.has(testFile)) return true;
    const passes = (await copy.run(testFile)) === "passed";
    noticing.set(testFile, passes);
    if (outcome === "failed" || !passes || (tookMs.get(testFile) ?? 0) <= 2 * neededMs) return true;
  }
}

test(`of ${tried} random code changes, the tests detect at least ${100 * minKilled} %`, async (t) => {
  const all = mutantsOf(
    root,
    tracked.filter(
      (file) => /^(engine|server)\/.*\.ts$/.test(file) && !(isShort && /\/browser\//.test(file)),
    ),
  );
  const chosen = trialRandom(t).shuffled(all).slice(0, tried);
  const rest = chosen.values();
  const survivors: string[] = [];
  const isNoticed = async (copy: Copy, mutant: Mutant) => {
    for (const testFile of testsOf(mutant.file)) if (await notices(copy, testFile, mutant)) return true;
    return false;
  };
  const lane = async (copy: Copy) => {
    for (const mutant of rest)
      if (!(await isNoticed(copy, mutant))) survivors.push(`${mutant.name} (line ${mutant.line})`);
  };
  await Promise.all(Array.from({ length: atOnce }, () => lane(new Copy())));
  const killed = chosen.length - survivors.length;
  t.diagnostic(`${killed} of ${chosen.length} killed, of ${all.length} possible; survivors:`);
  for (const survivor of survivors) t.diagnostic(survivor);
  const failing = [...noticing].filter(([, passes]) => !passes).map(([testFile]) => testFile);
  assert.deepEqual(failing, [], "test files that fail without any change");
  const allowed = Math.max(alwaysAllowed, Math.floor(chosen.length * (1 - minKilled)));
  assert.ok(survivors.length <= allowed, `${survivors.length} survived, expected at most ${allowed}`);
});
