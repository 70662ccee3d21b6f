import { writeFileSync } from "node:fs";
import path from "node:path";

/** Moves this process into a control group, and then is the server. */

writeFileSync(path.join(process.argv[2], "cgroup.procs"), String(process.pid));
await import("../../server/main.ts");
