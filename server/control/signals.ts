/**
 * Handles signals from the moment this module loads. Until something needs an orderly end, SIGTERM and SIGINT just
 * end the process. SIGHUP never ends it.
 */

export const onSignal: { stop: (signal: NodeJS.Signals) => void } = { stop: () => process.exit(0) };

for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => onSignal.stop(signal));
process.on("SIGHUP", () => {});
