/** The entry of the server. Loading it all takes a while, so signals are handled first. */

import "./control/signals.ts";

const [{ run }, { parts }] = await Promise.all([import("./control/thread.ts"), import("./parts.ts")]);
await run(parts);
