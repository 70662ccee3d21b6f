import { DataError } from "../../engine/query.ts";

/** What the commands that write snapshots have in common. */

/**
 * Runs a command that writes snapshots. `--help` prints the help. An error in the data or the command line is one line
 * on stderr and exit code 1.
 */
export async function runDataCommand(
  help: string,
  run: (args: string[]) => void | Promise<void>,
): Promise<void> {
  // A handler runs only after a file that is being written is complete or removed.
  process.once("SIGINT", () => process.exit(130));
  process.once("SIGTERM", () => process.exit(143));
  // A reader may stop early, as head does.
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

/** Writes a line to stderr. Stdout has only the path of the snapshot. */
export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
