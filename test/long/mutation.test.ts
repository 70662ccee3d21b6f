import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { createInterface } from "node:readline";
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
/** What a change's nearest tests don't notice counts as not noticed: those of its rooms, and the nearest of others. */
const minTestFiles = 6;
const minOtherFiles = 3;
/** How long a test file is taken to need until it passed once. */
const firstMs = 15_000;
/** One that takes longer may have come upon a loop without an end. */
const deadlineOf = (neededMs: number) => 10_000 + 5 * neededMs;
/** Enough for every test file without a change, on a machine that is busy. */
const unchangedDeadlineMs = 300_000;

/** Survivors that do no harm, or that another long trial finds, and why. */
const equivalent: Readonly<Record<string, string>> = {
  "server/accounts/limits.ts: quota: Atomics.load(this.#words, base ⟦+ → -⟧ quotaWord),":
    "the word is the first: 0 more or less",
  "server/snapshots/loads.ts: const maxSmallRows = ⟦250_000 → 250001⟧;":
    "a rule of thumb: which loads count as small needn't be so exact",
  "server/serving/responder.ts: const bufferedBytes = ⟦256 → 255⟧ * 2 ** 10;":
    "a chance to be cut off, nearly the same",
  "server/serving/thread.ts: quiet = busy ? ⟦0 → 1⟧ : quiet + drainStepMs;": "a millisecond of some hundred",
  "server/serving/reply.ts: ⟦this.#byDigits[digits] = head; → ;⟧": "slower, and the same bytes",
  "server/serving/listener.ts: let socket: uws.us_listen_socket | false = ⟦false → true⟧;":
    "the call that listens says in any case whether it does",
  "server/control/thread.ts: void end(⟦1 → 2⟧);": "the trial of signals looks at the exit code",
  "server/serving/responder.ts: if (body.length ⟦> → >=⟧ maxBufferedAnswer || res.getWriteOffset() > 0) this.#sendRest(res, body);":
    "an answer of exactly that length may wait in the one memory or the other",
  "engine/image/groups.ts: const order = new Uint32Array(⟦2 → 3⟧ * priced.length);":
    "room that nothing takes",
  "engine/snapshot/parquet.ts: if (last >= ⟦0 → (-1)⟧ && ccn < facilities.ccn[last])":
    "nothing is less than no number",
  "engine/snapshot/sort.ts: const digitBits = ⟦11 → 10⟧;": "slower, and the same order",
  "engine/snapshot/table.ts: return keys.map((_, i) => i).sort((a, b) => (keys[a] < keys[b] ? -1 : keys[a] ⟦> → >=⟧ keys[b] ? 1 : 0));":
    "keys that are sorted so differ, and a stable sort asks only what comes before",
  "server/accounts/names.ts: const cellBytes = ⟦2 → 3⟧ + maxNameLength;": "room that nothing takes",
  "server/api/cursor.ts: for (let i = 0; i ⟦< → <=⟧ checkBytes; i++) bytes[textEnd + i] = whole >>> (8 * i);":
    "the byte behind is set to zero before it is read",
  "server/api/parameters.ts: for (let start = 0; start ⟦<= → <⟧ query.length; ) {":
    "nothing is behind the end, which counts as nothing",
  "server/api/endpoints/prices.ts: if (procedure < ⟦0 → 1⟧) return -1;":
    "slower for one procedure, and the same bytes",
  "server/commands/accounts.ts: const until = now.getTime() + overlap * ⟦3_600_000 → 3600001⟧;":
    "a millisecond of an hour",
  "server/control/log.ts: const maxFlushMs = ⟦500 → 501⟧;": "a rule of thumb",
  'server/serving/negotiation.ts: const coded = coding === "gzip" ? gzipSync(body, { level: ⟦6 → 7⟧ }) : brotliCompressSync(body, { params });':
    "a few bytes more or fewer, which are the same answer",
  'server/shared/settings.ts: [["HOST"], ["PORT"], ["OPS_HOST"], [⟦"OPS_PORT" → ⟧]],':
    "what isn't a port is no other's port",
  "engine/snapshot/pages.ts: chunkSize: Math.max(⟦64 → 65⟧, length),": "room that nothing takes",
  "engine/exports/csv.ts: ⟦proceduresOf.set(image, this.#procedures); → ;⟧": "slower, and the same bytes",
  "server/parts/replicas/client.ts: const maxSilenceMs = ⟦3000 → 2999⟧;": "a rule of thumb",
  "server/snapshots/mirror.ts: if (came ⟦< → <=⟧ leastBytes)": "a rule of thumb",
  "engine/answers/procedures.ts: name: (a: ProcedureSummary, b: ProcedureSummary) => (a.name < b.name ? -1 : ⟦a.name > b.name → !(a.name > b.name)⟧ ? 1 : 0),":
    "a stable sort of what is sorted by code asks only what comes before",
  "server/serving/authenticator.ts: const places = ⟦2 → 1⟧ ** 13;": "slower, and the same answers",
  "server/control/state.ts: const refreshMs = ⟦100 → 101⟧;": "a rule of thumb",
  "server/parts/replicas/rows.ts: const idleMs = ⟦1000 → 1001⟧;": "a rule of thumb",
  "server/snapshots/loads.ts: #taken = { all: 0, large: ⟦0 → (-1)⟧ };": "a byte of hundreds of megabytes",
  "server/accounts/sync.ts: const maxUnsavedMonths = ⟦24 → 25⟧;": "a rule of thumb",
  "server/parts/replicas/shares.ts: const aloneTrips = ⟦3 → 4⟧;": "a rule of thumb",
  "server/serving/thread.ts: data.accessLog === ⟦0 → (-1)⟧": "of none in a second none is told either",
  "server/serving/answer-cache.ts: const maxBytes = ⟦8 → 7⟧ * 2 ** 20;": "a rule of thumb",
  "server/control/ops.ts: const maxConnections = ⟦128 → 127⟧;": "a rule of thumb",
  "engine/image/statistics.ts: if (small + product ⟦<= → <⟧ Number.MAX_SAFE_INTEGER) {":
    "the other way is exact as well",
  "engine/search/typos.ts: const rowsOf = (width: number) => [0, 0, ⟦0 → 1⟧].map(() => new Uint16Array(width));":
    "how many there are is all that counts",
  "server/parts/notifications/outbox.ts: const minute = 60 ⟦* → /⟧ second;": "a second is 1",
};

const root = resolve(import.meta.dirname, "../..");
const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], { cwd: root })
  .toString()
  .split("\n")
  .filter((file) => file !== "");
const sources = files.filter((file) => file.endsWith(".ts"));
const imports = importsOf(root, sources);
const quick = /^test\/(?!long|system)\w+\/.*\.test\.ts$/;
const ofSeveralServers =
  /^test\/(system\/(directory|directory-servers|shares|replicas)|long\/shares)\.test\.ts$/;
const inBrowsers = /^test\/system\/(explore|account|console)\.test\.ts$/;
const reached = sources
  .filter((file) => quick.test(file) || ofSeveralServers.test(file) || inBrowsers.test(file))
  .map((file) => ({ file, distances: distancesFrom(file, imports) }));

/** Rooms whose tests test another one as well: what the engine answers, what quotas bring about, what commands ask for, what needs Redis. */
const furtherRooms: Readonly<Record<string, string[]>> = {
  engine: ["api"],
  accounts: ["notifications", "system"],
  replicas: ["system", "long"],
  console: ["system"],
  portal: ["system"],
  control: ["commands", "accounts", "system"],
  commands: ["system"],
  shared: ["control"],
};

/** The room of a file of the server or of a test: `serving`, and for a part its name. */
const roomOf = (file: string) => file.replace(/^(server|test)\/(parts\/)?/, "").split("/")[0];

/** Each script of Redis, by the file that runs it. */
const runnerOf: Readonly<Record<string, string>> = {
  "server/parts/replicas/shares.lua": "server/parts/replicas/redis.ts",
  "server/parts/replicas/directory.lua": "server/parts/replicas/directory.ts",
};

/** The tests in a browser of the pages that a file belongs to. */
function browserTestsOf(file: string): string[] {
  const pages = file.startsWith("server/parts/console/") ? ["console"] : ["explore", "account", "console"];
  return pages.map((page) => `test/system/${page}.test.ts`);
}

/** How long each test file took when it last passed. */
const tookMs = new Map<string, number>();

/**
 * The test files that reach a file: the one of the same name first, then those of its own room, and where they are few
 * the nearest others, in the order of how quick and near they are.
 */
function testsOf(file: string): string[] {
  if (file.includes("/browser/")) return browserTestsOf(file);
  const home = file.startsWith("engine/") ? "engine" : roomOf(file);
  const rooms = [home, ...(furtherRooms[home] ?? [])];
  const near = reached.flatMap(({ file: testFile, distances }) => {
    const distance = distances.get(runnerOf[file] ?? file);
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

/** The simulations of several servers, as far as half a minute goes. */
const smallTrials = { SHARES_RUNS: "10", SHARES_REPLICAS: "3", SHARES_ACCOUNTS: "50", SHARES_MINUTES: "1" };

type Outcome = "passed" | "failed" | "cut off";

/** A copy of the repository, in which one file at a time is changed. */
class Copy {
  readonly #folder = temporaryFolder();

  constructor() {
    for (const file of files) cpSync(join(root, file), join(this.#folder, file));
    // Some tests ask Git for the repository's files.
    for (const words of [
      ["init", "--quiet"],
      ["add", "--all"],
    ])
      execFileSync("git", words, { cwd: this.#folder });
    symlinkSync(join(root, "node_modules"), join(this.#folder, "node_modules"));
    mkdirSync(join(this.#folder, "tmp"));
  }

  /** Runs a test file, with a change or without any. */
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
    const child = spawn(process.execPath, [...options, testFile], {
      cwd: this.#folder,
      env: {
        ...process.env,
        ...smallTrials,
        NODE_TEST_CONTEXT: undefined,
        TMPDIR: join(this.#folder, "tmp"),
      },
      stdio: ["ignore", "pipe", "ignore"],
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
    let outcome: Outcome = "passed";
    const endAs = (how: Outcome) => {
      outcome = how;
      end();
    };
    const timer = setTimeout(() => endAs("cut off"), deadlineMs);
    // The first of its tests that fails is enough.
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

/** Test files that have noticed a change, and whether they pass without any. */
const noticing = new Map<string, boolean>();

/** Whether a test file notices a change. Coming to no end counts when it isn't the machine that has become slower. */
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

test(`of ${tried} changed lines the tests notice ${100 * minKilled} % or more`, async (t) => {
  const all = mutantsOf(
    root,
    files.filter((file) => /^(engine|server)\/.*\.(ts|lua)$/.test(file)),
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
