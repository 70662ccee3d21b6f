/** Handles signals as soon as this module is loaded. ../README.md lists what each signal does. */

/** Signals that ask the server to stop. They end the process immediately until `onSignal.stop` is replaced. */
const stopSignals = ["SIGTERM", "SIGINT", "SIGQUIT", "SIGPWR", "SIGXCPU"] as const;
/**
 * Signals to ignore, because the system's default would end the process without saving. On SIGUSR1, Node would open its
 * debugger; `server/node` turns this off until this module is loaded.
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
