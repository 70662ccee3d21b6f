/**
 * Handles signals from the moment this module loads. SIGTERM and SIGINT end the process at once, until `stop` is
 * replaced by an orderly end. SIGHUP never ends the process.
 */

export const onSignal: { stop: (signal: NodeJS.Signals) => void } = { stop: () => process.exit(0) };

for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => onSignal.stop(signal));
process.on("SIGHUP", () => {});
