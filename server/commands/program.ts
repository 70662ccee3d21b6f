import { reasonOf } from "../../engine/query.ts";
import { asksForHelp } from "../shared/settings.ts";

/** Shared by all commands: help, signals, one-line errors, and closed output pipes. */

/** The reaction to a signal. By default the process exits after the current synchronous work. */
export const onSignal = { stop: (exitCode: number): void => process.exit(exitCode) };
process.on("SIGINT", () => onSignal.stop(130));
process.on("SIGTERM", () => onSignal.stop(143));

/** Runs long synchronous work without side effects. Signals end the process immediately meanwhile. */
export function interruptibly<Result>(work: () => Result): Result {
  const signals = ["SIGINT", "SIGTERM"] as const;
  const handlers = signals.map((signal) => process.listeners(signal));
  for (const signal of signals) process.removeAllListeners(signal);
  try {
    return work();
  } finally {
    for (const [i, signal] of signals.entries())
      for (const handler of handlers[i]) process.on(signal, handler);
  }
}

// A reader such as head may stop reading early.
for (const stream of [process.stdout, process.stderr])
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") fail(`what the command says can't be written: ${error.message}`);
  });

/** Writes a line to stderr. Stdout has only the command's result. */
export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

function fail(message: string): void {
  process.exitCode = 1;
  say(message);
}

/** Runs a command, or prints its help. An error is one line on stderr and exit code 1. */
export async function runProgram(
  helpFor: (words: string[]) => string,
  run: (words: string[]) => void | Promise<void>,
): Promise<void> {
  const words = process.argv.slice(2);
  if (asksForHelp(words)) {
    process.stdout.write(helpFor(words));
    return;
  }
  // Thrown by a library's callback, for example when the connected server isn't Redis.
  process.once("uncaughtException", (error) => {
    fail(reasonOf(error));
    process.exit();
  });
  try {
    await run(words);
  } catch (error) {
    fail(reasonOf(error));
  }
}
