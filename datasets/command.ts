import { DataError } from "../engine/index.ts";

/**
 * Runs a command that writes snapshots. `--help` prints the help; what is wrong with the data or the command line is
 * one line on stderr and exit code 1.
 */
export async function runCommand(help: string, run: (args: string[]) => void | Promise<void>): Promise<void> {
  // With a handler, a signal waits until a file that is being written is whole or gone.
  process.once("SIGINT", () => process.exit(130));
  process.once("SIGTERM", () => process.exit(143));
  // A reader that has seen enough, such as head, is no fault.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") return;
    say(`what the command says can't be written: ${error.message}`);
    process.exitCode = 1;
  });
  const args = process.argv.slice(2);
  if (args.includes("--help") || args.includes("-h")) {
    process.stdout.write(help);
    return;
  }
  try {
    await run(args);
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    say(error.message);
    process.exitCode = 1;
  }
}

/** A line on stderr: stdout has the path alone. */
export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
