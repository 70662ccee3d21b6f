import { existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import Database from "better-sqlite3";
import * as v from "valibot";
import { checkServed, databaseFile, isServed } from "../../datasets/state.ts";
import { DataError, reasonOf, shown } from "../../engine/query.ts";
import { maxOverlapHours } from "../accounts/changes.ts";
import { connectRedis } from "../parts/replicas/client.ts";
import { enterUsed, usedIn } from "../parts/replicas/counts.ts";
import { Directory, DirectoryAway } from "../parts/replicas/directory.ts";
import type { RedisAddress } from "../parts/replicas/redis-url.ts";
import { shards } from "../parts/replicas/sharing.ts";
import { calledAs, parsedArguments } from "../shared/arguments.ts";
import { monthName, monthOf } from "../shared/months.ts";
import { wholeNumber } from "../shared/schemas.ts";
import { asksForHelp, readSettings, type Settings } from "../shared/settings.ts";
import { narrowAccess } from "../store/state-files.ts";
import { type AccountRecord, type Changes, onlyACopy, Store } from "../store/store.ts";

/** What the operator's commands have in common: their words, their help, and a running server's word on what they did. */

/** So long a command waits for a running server; a server looks ten times a second. */
const maxObeyMs = 3000;
const askObeyedMs = 10;
/** And for several: one that died is waited for as long as it is heard of. */
const maxTakenMs = 1500;

export const overlapOptions = v.object({ overlap: v.pipe(v.string(), wholeNumber(0, maxOverlapHours)) });

export interface Context {
  store: Store;
  settings: Settings;
  now: Date;
  /** What the command has read before the state was opened. */
  input: string;
}

/** What a command has to say, each ended by a line end: what was asked for, on stdout, and words about it, on stderr. */
export interface Said {
  result: string;
  note?: string;
  /** Accounts that came with what they have used. */
  entered?: AccountRecord[];
}

interface Help {
  /** Its words and options, on one line. */
  usage: string;
  about: string;
}

/** One of a command's words that works on the state's folder, and changes nothing there. */
interface FolderSubcommand extends Help {
  /** @returns what it says on stdout */
  onFolder(args: string[], stateDir: string): string;
}

/** One of a command's words. */
interface Subcommand extends Help {
  /** Whether it may make the state's folder and database; any other on a missing one has a mistyped STATE_DIR. */
  makesState?: boolean;
  /** Whether accounts come by it that have used something. */
  brings?: boolean;
  /** Reads what it works on, where that isn't its words and the state alone. */
  read?(args: string[]): Promise<string>;
  run(args: string[], context: Context): Said;
}

// A reader that has seen enough, such as head, is no fault.
for (const stream of [process.stdout, process.stderr])
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") fail(`what the command says can't be written: ${error.message}`);
  });

function fail(message: string): void {
  process.exitCode = 1;
  process.stderr.write(`${message}\n`);
}

function helpOf(name: string, subcommands: [word: string, Subcommand | FolderSubcommand][]): string {
  const parts = subcommands.map(
    ([word, { usage, about }]) => `  ${`${word} ${usage}`.trim()}\n      ${about}\n`,
  );
  const shared = subcommands.every(([, subcommand]) => "onFolder" in subcommand)
    ? `where REDIS_URL is set,
it is this machine's STATE_DIR all the same.`
    : `where REDIS_URL is set, it
works on what all servers with that Redis have in common, from any machine.`;
  return `usage: ${calledAs(name)} COMMAND

${parts.join("")}
STATE_DIR names the folder of the state (default: var), whether a server runs on it or not; ${shared}
`;
}

/**
 * Runs the process's words as an operator's command on the state database, as one transaction, and waits until a
 * running server goes by it. A failure is one message on stderr and exit code 1, and changes nothing.
 *
 * @param name what npm calls the command
 */
export async function runCommand(
  name: string,
  subcommands: Record<string, Subcommand | FolderSubcommand>,
): Promise<void> {
  const words = process.argv.slice(2);
  const [word, ...args] = words;
  const subcommand = word !== undefined && Object.hasOwn(subcommands, word) ? subcommands[word] : undefined;
  if (asksForHelp(words)) {
    process.stdout.write(
      helpOf(name, subcommand === undefined ? Object.entries(subcommands) : [[word, subcommand]]),
    );
    return;
  }
  // Thrown by a library's callback, such as that of a connection to something that isn't Redis.
  process.once("uncaughtException", (error) => {
    fail(reasonOf(error));
    process.exit();
  });
  try {
    if (subcommand === undefined)
      throw new DataError(
        name,
        word === undefined ? "no command" : `the command ${shown(word)}`,
        `one of ${Object.keys(subcommands).join(", ")}; --help explains them`,
      );
    await run(subcommand, args);
  } catch (error) {
    fail(reasonOf(error));
  }
}

async function run(subcommand: Subcommand | FolderSubcommand, args: string[]): Promise<void> {
  const settings = readSettings(process.env);
  if (Array.isArray(settings)) throw new Error(settings.join("\n"));
  const { stateDir } = settings;
  if ("onFolder" in subcommand) {
    checkServed(stateDir);
    process.stdout.write(subcommand.onFolder(args, stateDir));
    return;
  }
  const input = (await subcommand.read?.(args)) ?? "";
  if (settings.redis !== undefined)
    return runShared(subcommand, args, { settings, now: new Date(), input }, settings.redis);
  checkServed(stateDir);
  // A server whose database is gone doesn't see a new one.
  const mayCreate = subcommand.makesState === true && !isServed(stateDir);
  const isNew = !existsSync(databaseFile(stateDir));
  const context = { settings, now: new Date(), input };
  // What is refused makes no state, which would hide that STATE_DIR is mistyped.
  if (isNew && mayCreate) rehearse(subcommand, args, context);
  const store = Store.open(stateDir, { mayCreate });
  // From here on an interruption ends the waiting only: what is stored is said.
  const interruption = new AbortController();
  const interrupt = () => interruption.abort();
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, interrupt);
  try {
    if (store.isCopy) {
      const { result, rows } = store.rehearse(() => subcommand.run(args, { ...context, store }));
      if (rows.length > 0) throw onlyACopy(stateDir);
      process.stdout.write(result.result);
      process.stderr.write(
        `${result.note ?? ""}this is what one server knows, and what it has counted itself; with REDIS_URL it is what all have\n`,
      );
      return;
    }
    const { said, changes } = transact(store, stateDir, () => {
      const before = store.latest();
      const said = subcommand.run(args, { ...context, store });
      const changes = store.latest();
      if (!reaches(before, changes)) store.noteSaved(context.now);
      return { said, changes: reaches(before, changes) ? undefined : changes };
    });
    const { narrowed, open } = narrowAccess(stateDir);
    const doubt =
      changes === undefined ? undefined : await doubtAbout(store, stateDir, changes, interruption.signal);
    process.stdout.write(said.result);
    if (isNew) process.stderr.write(`made a new state in STATE_DIR ${stateDir}\n`);
    process.stderr.write(said.note ?? "");
    if (narrowed.length > 0)
      process.stderr.write(`other users could read the state: no longer (${narrowed.join(", ")})\n`);
    if (open.length > 0) process.stderr.write(`other users can get at the state (${open.join(", ")})\n`);
    if (doubt !== undefined) process.stderr.write(`${doubt}\n`);
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"]) process.off(signal, interrupt);
    store.close();
  }
}

/**
 * The same on what servers have in common, from any machine: on a copy in memory, whose changes are written to Redis,
 * and waited for until all servers that are heard of have taken them over.
 */
async function runShared(
  subcommand: Subcommand,
  args: string[],
  context: Omit<Context, "store">,
  address: RedisAddress,
): Promise<void> {
  let reason = "no answer";
  const client = await connectRedis(address, (fault) => {
    reason = fault;
  });
  const store = Store.inMemory();
  try {
    for (const end = performance.now() + maxObeyMs; client.status !== "ready"; await delay(askObeyedMs))
      if (performance.now() > end) throw new DirectoryAway(reason);
    const directory = new Directory(store, client, "");
    await directory.settle();
    const wasNew = directory.isNew;
    const month = monthOf(context.now.getTime());
    const months = [monthName(month), monthName(month + 1)] as const;
    store.saveUsage(months[0], await usedIn(client, store.accountIds(), months[0], shards));
    const before = store.position().version;
    const work = () => subcommand.run(args, { ...context, store });
    // What comes with accounts is entered before anybody can use their keys.
    const { entered = [] } = subcommand.brings === true ? store.rehearse(work).result : {};
    const counted = entered.flatMap(({ id, burst, quota, usage }) =>
      usage
        .filter((each) => each.month === months[0])
        .map(({ used }) => ({ account: id, burst, quota, used })),
    );
    if (counted.length > 0) await enterUsed(client, counted, months, shards);
    const said = await directory.change(work);
    const behind = store.position().version === before ? 0 : await directory.taken(maxTakenMs);
    process.stdout.write(said.result);
    process.stderr.write(said.note ?? "");
    if (wasNew && !directory.isNew)
      process.stderr.write(
        "Redis had no accounts: this began a new set of them, and a server that has others in its STATE_DIR won't start with it\n",
      );
    if (directory.isUnconfirmed)
      process.stderr.write(
        "Redis was started anew or emptied, and no server has said since what it may have lost: servers may know more\n",
      );
    if (behind > 0)
      process.stderr.write(
        `this is stored, but ${behind} of the running servers ${behind === 1 ? "hasn't" : "haven't"} taken it over within ${maxTakenMs / 1000} s; they will when they can\n`,
      );
  } catch (error) {
    if (!(error instanceof DirectoryAway)) throw error;
    throw new DataError("REDIS_URL", `a Redis that can't be used (${error.message})`, error.expected);
  } finally {
    client.disconnect();
    store.close();
  }
}

/** Runs on a new database in memory what is to run on one in a file. */
function rehearse(subcommand: Subcommand, args: string[], context: Omit<Context, "store">): void {
  const store = Store.inMemory();
  try {
    subcommand.run(args, { ...context, store });
  } finally {
    store.close();
  }
}

/** @throws DataError when the database can't be written */
function transact<Result>(store: Store, folder: string, work: () => Result): Result {
  try {
    return store.atomically(work);
  } catch (error) {
    if (!(error instanceof Database.SqliteError)) throw error;
    throw new DataError(`state database in ${folder}`, error.message, "one that can be written");
  }
}

const reaches = (done: Changes, wanted: Changes) =>
  done.accounts >= wanted.accounts && done.keys >= wanted.keys;

/** What an operator has to know when a running server doesn't go by what is stored; undefined when it does, or there is none. */
async function doubtAbout(
  store: Store,
  folder: string,
  changes: Changes,
  interruption: AbortSignal,
): Promise<string | undefined> {
  const stored = "this is stored, but the running server";
  try {
    for (const end = performance.now() + maxObeyMs; performance.now() < end; await delay(askObeyedMs)) {
      if (reaches(store.obeyed(), changes) || !isServed(folder)) return undefined;
      if (interruption.aborted) return `${stored} hasn't taken it over yet; it will when it can`;
    }
    return `${stored} hasn't taken it over within ${maxObeyMs / 1000} s; it will when it can`;
  } catch (error) {
    return `${stored} can't be asked whether it has taken it over: ${reasonOf(error)}`;
  }
}

/**
 * Reads `--name value` options by a schema.
 *
 * @param command what the message is about
 * @throws DataError when they aren't as the schema says
 */
export function readOptions<Entries extends v.ObjectEntries>(
  command: string,
  schema: v.ObjectSchema<Entries, undefined>,
  args: string[],
): v.InferOutput<typeof schema> {
  const values = parseValues(command, args, Object.keys(schema.entries));
  const parsed = v.safeParse(schema, values, { abortEarly: true });
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  const name = v.getDotPath(issue) ?? "";
  const given = values[name];
  if (given === undefined) throw new DataError(`--${name}`, "nothing", "a value");
  throw new DataError(`--${name}`, shown(given), issue.message);
}

function parseValues(command: string, args: string[], names: string[]): Record<string, string | undefined> {
  const options = Object.fromEntries(names.map((name) => [name, { type: "string" } as const]));
  return {
    ...parsedArguments(command, { args, options }, `${optionsNamed(names)}, each with a value`).values,
  };
}

export function optionsNamed(names: string[]): string {
  return names.map((name) => `--${name}`).join(", ");
}

/** @throws DataError when words follow the last one that a command takes */
export function checkEnd(command: string, more: string[], last = "the id"): void {
  if (more.length > 0) throw new DataError(command, `${shown(more.join(" "))} after ${last}`, "nothing more");
}

type Row<Column extends string> = Record<Column, string | number | null>;

/**
 * A list: with `--json` an array of its rows, else lines with a header, their fields parted by tabs.
 *
 * @param inWords a row as a line shows it; null is a dash
 */
export function listed<Column extends string, Given extends Row<Column>>(
  command: string,
  args: string[],
  columns: readonly Column[],
  rows: Given[],
  inWords: (row: Given) => Row<Column> = (row) => row,
): string {
  if (args.length === 1 && args[0] === "--json") return `${JSON.stringify(rows, null, 2)}\n`;
  if (args.length > 0) throw new DataError(command, shown(args.join(" ")), "--json or nothing more");
  const header = columns.map((column) => column.replaceAll("_", " "));
  const lines = rows.map(inWords).map((row) => columns.map((column) => row[column] ?? "-"));
  return [header, ...lines].map((fields) => `${fields.join("\t")}\n`).join("");
}
