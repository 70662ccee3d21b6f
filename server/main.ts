/** The entry point of the server. Loading all modules takes a while, so signals are handled first. */

import "./control/signals.ts";

const [{ run }, { parts }] = await Promise.all([import("./control/thread.ts"), import("./parts.ts")]);
await run(parts);
