/** Handles signals from the moment this module loads. The table in ../README.md says what each signal does. */

/**
 * Signals that ask the server to stop. Before `onSignal.stop` is set to an orderly end, they end the process immediately.
 */
const stopSignals = ["SIGTERM", "SIGINT", "SIGQUIT", "SIGPWR", "SIGXCPU"] as const;
/**
 * Signals that don't ask the server to stop. The system's default would end the process without saving. Node would open
 * its debugger on SIGUSR1; `server/node` turns this off for the time before this module loads.
 */
const ignoredSignals = [
  "SIGUSR1",
  "SIGUSR2",
  "SIGALRM",
  "SIGVTALRM",
  "SIGPROF",
  "SIGIO",
  "SIGSTKFLT",
  "SIGHUP",
] as const;

export const onSignal: { stop: (signal: NodeJS.Signals) => void } = { stop: () => process.exit(0) };

for (const signal of stopSignals) process.on(signal, () => onSignal.stop(signal));
for (const signal of ignoredSignals) process.on(signal, () => {});
