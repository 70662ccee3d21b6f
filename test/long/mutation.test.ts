import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../support/server.ts";
import { distancesFrom, importsOf, type Mutant, mutantsOf } from "./mutants.ts";
import { sizeFrom, trialRandom } from "./trial.ts";

/** Single changes of the engine's and the server's code, at random, are noticed by the tests that are nearest to it. */

const tried = sizeFrom("MUTANTS", 200);
const atOnce = 2;
const minKilled = 0.85;
/** A small sample says little: so many may always survive. */
const alwaysAllowed = 4;
/** What a change's nearest tests don't notice counts as not noticed. */
const minTestFiles = 6;
/** How long a test file is taken to need until it passed once. The longest takes less. */
const firstMs = 50_000;
/** One that takes longer came upon a loop without an end: many times what it needs, for a machine that is busy. */
const deadlineOf = (neededMs: number) => 20_000 + 5 * neededMs;

/** Survivors that do no harm, or that another long trial finds, and why. */
const equivalent: Readonly<Record<string, string>> = {
  "server/accounts/key-table.ts: const [stateWord, slotWord, expiryWord, hashWord] = [0, 1, ⟦2 → 3⟧, 4];":
    "the word behind it is unused",
  "server/accounts/limits.ts: quota: Atomics.load(this.#words, base ⟦+ → -⟧ quotaWord),":
    "the word is the first: 0 more or less",
  "server/snapshots/loads.ts: const maxSmallRows = ⟦250_000 → 250001⟧;":
    "a rule of thumb: which loads count as small needn't be so exact",
  "server/serving/listener.ts: const bufferedBytes = ⟦256 → 255⟧ * 2 ** 10;":
    "a chance to be cut off, nearly the same",
  'server/shared/settings.ts: const named = issues.map((issue) => ({ name: v.getDotPath(issue)⟦ ?? "" → ⟧, expected: issue.message }));':
    "null is no setting's name either",
  "server/serving/thread.ts: quiet = busy ? ⟦0 → 1⟧ : quiet + drainStepMs;": "a millisecond of some hundred",
  "server/store/wal.ts: export function lastingWalFault(file: string, known = () => ⟦0 → (-1)⟧): string | undefined {":
    "no log has fewer frames than none",
  "server/serving/reply.ts: ⟦this.#byDigits[digits] = head; → ;⟧": "slower, and the same bytes",
  "server/serving/listener.ts: let socket: uws.us_listen_socket | false = ⟦false → true⟧;":
    "the call that listens says in any case whether it does",
  "server/control/thread.ts: void end(⟦1 → 2⟧);": "the trial of signals looks at the exit code",
  "server/notices/outbox.ts: const minute = 60 ⟦* → /⟧ second;": "a second is 1",
};

const root = resolve(import.meta.dirname, "../..");
const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], { cwd: root })
  .toString()
  .split("\n")
  .filter((file) => file !== "");
const sources = files.filter((file) => file.endsWith(".ts"));
const imports = importsOf(root, sources);
const reached = sources
  .filter((file) => /^test\/(?!long|system)\w+\/.*\.test\.ts$/.test(file))
  .map((file) => ({ file, distances: distancesFrom(file, imports) }));

/** How long each test file took when it last passed. */
const tookMs = new Map<string, number>();

/**
 * The test files that reach a file, the quickest first: those of its own room, and where they are few the nearest
 * others. What the engine answers is tested in the API's room as well.
 */
function testsOf(file: string): string[] {
  const [folder, room] = file.split("/");
  const rooms = folder === "engine" ? ["engine", "api"] : [room];
  const near = reached.flatMap(({ file: testFile, distances }) => {
    const distance = distances.get(file);
    return distance === undefined
      ? []
      : { testFile, distance: rooms.includes(testFile.split("/")[1]) ? 0 : distance };
  });
  const own = near.filter(({ distance }) => distance === 0).length;
  return near
    .sort((a, b) => a.distance - b.distance)
    .slice(0, Math.max(own, minTestFiles))
    .map(({ testFile }) => testFile)
    .sort((a, b) => (tookMs.get(a) ?? 0) - (tookMs.get(b) ?? 0));
}

/** A copy of the repository, in which one file at a time is changed. */
class Copy {
  readonly #folder = temporaryFolder();

  constructor() {
    for (const file of files) cpSync(join(root, file), join(this.#folder, file));
    symlinkSync(join(root, "node_modules"), join(this.#folder, "node_modules"));
    mkdirSync(join(this.#folder, "tmp"));
  }

  /** The first of the test files that fails with a change. */
  async firstFailing(mutant: Mutant, testFiles: readonly string[]): Promise<string | undefined> {
    const path = join(this.#folder, mutant.file);
    const original = readFileSync(path);
    writeFileSync(path, mutant.source);
    try {
      for (const testFile of testFiles) if (!(await this.passes(testFile))) return testFile;
      return undefined;
    } finally {
      writeFileSync(path, original);
    }
  }

  async passes(testFile: string): Promise<boolean> {
    const begun = performance.now();
    const child = spawn(process.execPath, ["--import", "./server/strip-cache.js", testFile], {
      cwd: this.#folder,
      env: { ...process.env, NODE_TEST_CONTEXT: undefined, TMPDIR: join(this.#folder, "tmp") },
      stdio: "ignore",
      // With a group of its own, so that what it starts ends with it.
      detached: true,
    });
    const end = () => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      } catch {
        // It ended by itself.
      }
    };
    const timer = setTimeout(end, deadlineOf(tookMs.get(testFile) ?? firstMs));
    process.once("exit", end);
    const [code] = await once(child, "exit");
    clearTimeout(timer);
    end();
    process.off("exit", end);
    if (code === 0) tookMs.set(testFile, performance.now() - begun);
    return code === 0;
  }
}

test(`of ${tried} changed lines the tests notice ${100 * minKilled} % or more`, async (t) => {
  const all = mutantsOf(
    root,
    sources.filter((file) => /^(engine|server)\//.test(file)),
  );
  const names = new Set(all.map(({ name }) => name));
  assert.deepEqual(
    Object.keys(equivalent).filter((name) => !names.has(name)),
    [],
    "a survivor is named that isn't there any more",
  );
  const candidates = all.filter(({ name }) => !(name in equivalent));
  const chosen = trialRandom(t).shuffled(candidates).slice(0, tried);
  const rest = chosen.values();
  const killers = new Set<string>();
  const survivors: string[] = [];
  const failing: string[] = [];
  const lane = async (copy: Copy) => {
    for (const mutant of rest) {
      const testFile = await copy.firstFailing(mutant, testsOf(mutant.file));
      if (testFile === undefined) survivors.push(`${mutant.name} (line ${mutant.line})`);
      else if (!killers.has(testFile)) {
        killers.add(testFile);
        if (!(await copy.passes(testFile))) failing.push(testFile);
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, () => lane(new Copy())));
  const killed = chosen.length - survivors.length;
  t.diagnostic(`${killed} of ${chosen.length} killed, of ${all.length} possible; survivors:`);
  for (const survivor of survivors) t.diagnostic(survivor);
  assert.deepEqual(failing, [], "test files that fail without any change");
  const allowed = Math.max(alwaysAllowed, Math.floor(chosen.length * (1 - minKilled)));
  assert.ok(survivors.length <= allowed, `${survivors.length} survived, expected at most ${allowed}`);
});
