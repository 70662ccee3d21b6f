import { readSettings, type Settings } from "./config.ts";
import { checkServed } from "./state-files.ts";
import { Store } from "./store.ts";

/**
 * Runs an operator's command on the state database, as one transaction: its words in, what it says out. A failure is
 * one message on stderr and exit code 1, and changes nothing.
 */
export function runCommand(run: (words: string[], store: Store, settings: Settings) => string): void {
  try {
    const settings = readSettings(process.env);
    if (Array.isArray(settings)) throw new Error(settings.join("\n"));
    checkServed(settings.stateDir);
    const store = Store.open(settings.stateDir);
    try {
      process.stdout.write(store.atomically(() => run(process.argv.slice(2), store, settings)));
    } finally {
      store.close();
    }
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}
