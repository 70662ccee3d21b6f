import { existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import * as v from "valibot";
import { reasonOf, shown } from "../../engine/query.ts";
import { maxOverlapHours } from "../accounts/changes.ts";
import type { MovedAccount } from "../accounts/transfer.ts";
import { type CommandOutput, configure, type Part } from "../part.ts";
import { calledAs } from "../shared/arguments.ts";
import { wholeNumber } from "../shared/schemas.ts";
import type { Settings } from "../shared/settings.ts";
import { withReserve } from "../store/room.ts";
import { checkServed, databaseFile, isServed } from "../store/served.ts";
import { type Changes, onlyACopy, Store } from "../store/store.ts";
import { runProgram } from "./program.ts";

/** Runs operators' commands on the state, and waits until a running server has applied the change. */

export const maxApplyMs = 3000;
const askAppliedMs = 10;

export const overlapOptions = v.object({ overlap: v.pipe(v.string(), wholeNumber(0, maxOverlapHours)) });

export interface Context {
  store: Store;
  settings: Settings;
  now: Date;
  /** Accounts that the command read before the state was opened. */
  accounts: readonly MovedAccount[];
}

interface Help {
  usage: string;
  about: string;
}

/** A command on the folder STATE_DIR. It is refused if DATABASE_URL is set. */
interface FolderSubcommand extends Help {
  /** The error's text if DATABASE_URL is set. It says what to use instead. */
  sharedInstead: string;
  onFolder(args: string[], stateDir: string): string;
}

interface Subcommand extends Help {
  /**
   * Whether the command may create the state. Otherwise a missing state is an error, because STATE_DIR may be mistyped.
   */
  makesState?: boolean;
  /**
   * Whether the command only reads. From STATE_DIR, it then reads everything as of one moment, without keeping a server
   * from writing.
   */
  onlyReads?: boolean;
  /** Whether the command's change may use the reserve of room on a full disk, because it ends somebody's access. */
  endsAccess?: boolean;
  read?(args: string[]): MovedAccount[];
  run(args: string[], context: Context): CommandOutput;
}

type AnySubcommand = Subcommand | FolderSubcommand;

function helpOf(name: string, subcommands: [word: string, AnySubcommand][]): string {
  const parts = subcommands.map(
    ([word, { usage, about }]) => `  ${`${word} ${usage}`.trim()}\n      ${about}\n`,
  );
  const shared = subcommands.every(([, subcommand]) => "onFolder" in subcommand)
    ? `where DATABASE_URL is set,
it names the tools to use instead.`
    : `where DATABASE_URL is set,
it works on what all servers with that database have in common, from any machine.`;
  return `usage: ${calledAs(name)} COMMAND

${parts.join("")}
STATE_DIR names the folder of the state (default: var), whether a server runs on it or not; ${shared}
`;
}

/** Runs an operator's command. Without DATABASE_URL, a subcommand's `run` is one transaction. */
export async function runCommand(
  name: string,
  parts: readonly Part[],
  subcommands: Record<string, AnySubcommand>,
): Promise<void> {
  const chosen = (word: string | undefined) =>
    word !== undefined && Object.hasOwn(subcommands, word) ? subcommands[word] : undefined;
  const helpFor = ([word]: string[]) => {
    const subcommand = chosen(word);
    return helpOf(name, subcommand === undefined ? Object.entries(subcommands) : [[word, subcommand]]);
  };
  await runProgram(helpFor, ([word, ...args]) => {
    const subcommand = chosen(word);
    if (subcommand !== undefined) return run(parts, subcommand, args);
    const fault = word === undefined ? "needs a command" : `has no command ${shown(word)}`;
    throw new Error(`${name} ${fault}: use ${Object.keys(subcommands).join(", ")}; --help explains them`);
  });
}

async function run(parts: readonly Part[], subcommand: AnySubcommand, args: string[]): Promise<void> {
  const configuration = configure(parts, process.env);
  if (Array.isArray(configuration)) throw new Error(configuration.join("\n"));
  const { settings } = configuration;
  const stateDir = settings.STATE_DIR;
  const shared = configuration.parts.find(({ runCommand }) => runCommand !== undefined);
  if ("onFolder" in subcommand) {
    if (shared !== undefined) throw new Error(subcommand.sharedInstead);
    checkServed(stateDir);
    process.stdout.write(subcommand.onFolder(args, stateDir));
    return;
  }
  const context = { settings, now: new Date(), accounts: subcommand.read?.(args) ?? [] };
  const work = (store: Store) => subcommand.run(args, { ...context, store });
  if (shared?.runCommand !== undefined) {
    const { result, note = "" } = await shared.runCommand({
      run: work,
      readsDays: subcommand.onlyReads === true,
      now: context.now,
    });
    process.stdout.write(result);
    process.stderr.write(note);
    return;
  }
  checkServed(stateDir);
  // No database is made while a server runs: a starting server makes its own database.
  const mayCreate = subcommand.makesState === true && !isServed(stateDir);
  const isNew = !existsSync(databaseFile(stateDir));
  // First tries the command in memory, so that a failing command creates no database in a mistyped STATE_DIR.
  if (isNew && mayCreate) rehearse(work);
  const store = Store.open(stateDir, { mayCreate });
  try {
    if (store.directory.position() !== undefined) throw onlyACopy(stateDir);
    const runCounted = () => {
      const before = store.progress.latest();
      const output = runAll(work, store);
      const changes = store.progress.latest();
      if (reaches(before, changes)) return { output, changes: undefined };
      store.progress.noteSaved(context.now);
      return { output, changes };
    };
    const change = () => store.atomically(runCounted);
    const { output, changes } =
      subcommand.onlyReads === true
        ? store.consistently(runCounted)
        : subcommand.endsAccess === true
          ? withReserve(stateDir, change)
          : change();
    // The result is printed before the wait, so that an interruption loses no key.
    process.stdout.write(output.result);
    if (isNew) process.stderr.write(`made a new state in STATE_DIR ${stateDir}\n`);
    process.stderr.write(output.note ?? "");
    const doubt = changes === undefined ? undefined : await doubtAbout(store, stateDir, changes);
    if (doubt !== undefined) process.stderr.write(`${doubt}\n`);
  } finally {
    store.close();
  }
}

function rehearse(work: Work): void {
  const store = Store.inMemory();
  try {
    store.atomically(() => runAll(work, store));
  } finally {
    store.close();
  }
}

type Work = (store: Store) => CommandOutput;

function runAll(work: Work, store: Store): CommandOutput {
  let output = work(store);
  while (output.rest !== undefined) output = output.rest.run(store);
  return output;
}

const reaches = (done: Changes, wanted: Changes) =>
  done.accounts >= wanted.accounts && done.keys >= wanted.keys;

/** Waits until a running server has applied a change. Returns a warning if it hasn't in time, or can't be asked. */
async function doubtAbout(store: Store, folder: string, changes: Changes): Promise<string | undefined> {
  const stored = "this is stored, but the running server";
  try {
    for (const end = performance.now() + maxApplyMs; performance.now() < end; await delay(askAppliedMs)) {
      if (reaches(store.progress.applied(), changes) || !isServed(folder)) return undefined;
    }
    return `${stored} hasn't applied it within ${maxApplyMs / 1000} s; it will as soon as it can`;
  } catch (error) {
    return `${stored} can't be asked whether it has applied it: ${reasonOf(error)}`;
  }
}

export function checkEnd(command: string, more: string[], last = "the id"): void {
  if (more.length > 0)
    throw new Error(`${command} takes nothing after ${last}, but has ${shown(more.join(" "))}`);
}

type Cell = string | number | null;

/**
 * Formats a list: as a JSON array with `--json`, otherwise as tab-separated rows with a header.
 * @param inWords formats a cell of a tab-separated row; null is shown as a dash
 * @throws Error for other arguments than `--json`
 */
export function listed<Item>(
  command: string,
  args: string[],
  items: readonly Item[],
  columns: Readonly<Record<string, (item: Item) => Cell>>,
  inWords: (cell: Cell, column: string) => Cell = (cell) => cell,
): string {
  const names = Object.keys(columns);
  const rows = items.map((item) => names.map((name) => columns[name](item)));
  if (args.length === 1 && args[0] === "--json") {
    const objects = rows.map((row) => Object.fromEntries(row.map((cell, i) => [names[i], cell])));
    return `${JSON.stringify(objects, null, 2)}\n`;
  }
  if (args.length > 0) throw new Error(`${command} takes only --json, not ${shown(args.join(" "))}`);
  const header = names.map((name) => name.replaceAll("_", " "));
  const lines = rows.map((row) => row.map((cell, i) => inWords(cell, names[i]) ?? "-"));
  return [header, ...lines].map((fields) => `${fields.join("\t")}\n`).join("");
}
