import { reasonOf } from "../../engine/query.ts";
import { asksForHelp } from "../shared/settings.ts";

/** What all commands share: help, errors on stderr, and closed output pipes. */

// A reader such as head may stop reading early.
for (const stream of [process.stdout, process.stderr])
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") fail(`the command's output can't be written: ${error.message}`);
  });

export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

function fail(message: string): void {
  process.exitCode = 1;
  say(message);
}

/** Runs a command, or prints its help. After an error, the exit code is 1, and stderr has the message. */
export async function runProgram(
  helpFor: (words: string[]) => string,
  run: (words: string[]) => void | Promise<void>,
): Promise<void> {
  const words = process.argv.slice(2);
  if (asksForHelp(words)) {
    process.stdout.write(helpFor(words));
    return;
  }
  // Catches what a library's callback throws.
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
