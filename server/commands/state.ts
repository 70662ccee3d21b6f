import { parts } from "../parts.ts";
import { readFileName } from "../shared/arguments.ts";
import { backUp } from "../store/backup.ts";
import { runCommand } from "./command.ts";

await runCommand("state", parts, {
  backup: {
    usage: "FILE",
    about:
      "Copies the state database, as it is at one moment, to a new file. A server may run on it meanwhile. Only the file's owner can read it, because the webhooks' signing secrets are in it.",
    sharedInstead:
      "with DATABASE_URL, accounts are in PostgreSQL: back that up by its own tools, such as pg_dump; without it, state backup copies this machine's STATE_DIR",
    onFolder(args, stateDir) {
      const file = readFileName("state backup", args, "a file to make");
      backUp(stateDir, file);
      return `${file}\n`;
    },
  },
});
