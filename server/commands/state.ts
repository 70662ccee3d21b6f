import { DataError } from "../../engine/query.ts";
import { parts } from "../parts.ts";
import { backUp } from "../store/backup.ts";
import { checkEnd, runCommand } from "./command.ts";

/** The command `state`: makes a backup. */

await runCommand("state", parts, {
  backup: {
    usage: "FILE",
    about:
      "Copies the state database, as it is at one moment, to a new file. A server may run on it meanwhile. Only the file's owner can read it, because the webhooks' signing secrets are in it.",
    onFolder([file, ...more], stateDir) {
      if (file === undefined) throw new DataError("state backup", "nothing", "a file to make");
      checkEnd("state backup", more, "the file");
      backUp(stateDir, file);
      return `${file}\n`;
    },
  },
});
