import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { KnownVersion } from "../../datasets/publish/publish.ts";
import { checkServed, databaseFile, hasLog } from "./served.ts";
import { Store } from "./store.ts";

/** Reads the numbers of data versions that are taken. */

/**
 * All data versions that the server with this environment has ever served; none where there is no state yet. Commands
 * that give out version numbers read them. @throws DataError when the state can't be read or isn't the server's
 */
export function registryOf(environment: NodeJS.ProcessEnv): KnownVersion[] {
  const stateDir = resolve(environment.STATE_DIR || "var");
  checkServed(stateDir);
  if (!existsSync(databaseFile(stateDir)) && !hasLog(stateDir)) return [];
  const store = Store.open(stateDir, { mayCreate: false });
  try {
    return store.versions.all();
  } finally {
    store.close();
  }
}
