/** The entry. All that a server consists of takes a while to load, so the signals come before it. */

import "./control/signals.ts";

await import("./control/thread.ts");
