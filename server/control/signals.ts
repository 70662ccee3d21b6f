/**
 * What signals do. They are taken as soon as this is loaded, and by then nothing is: whoever has begun something that
 * wants an orderly end says how. Until then the process just ends. SIGHUP never ends it.
 */

export const onSignal: { stop: (signal: NodeJS.Signals) => void; hangUp: () => void } = {
  stop: () => process.exit(0),
  hangUp: () => {},
};

for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => onSignal.stop(signal));
process.on("SIGHUP", () => onSignal.hangUp());
