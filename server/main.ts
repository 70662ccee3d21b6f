/** The entry point of the server. Loading all modules takes a while, so signals are handled first. */

import "./control/signals.ts";
import { makeEarly } from "./snapshots/loader-threads.ts";

makeEarly();

const [{ run }, { parts }] = await Promise.all([import("./control/thread.ts"), import("./parts.ts")]);
await run(parts);
