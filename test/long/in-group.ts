import { writeFileSync } from "node:fs";
import path from "node:path";

/** Moves this process into a control group, and then is the server. */

// The server itself takes no words.
const [group] = process.argv.splice(2, 1);
writeFileSync(path.join(group, "cgroup.procs"), String(process.pid));
await import("../../server/main.ts");
