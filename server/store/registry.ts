import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { KnownVersion } from "../../datasets/revisions.ts";
import { pathIn } from "../shared/paths.ts";
import { checkServed, databaseFile, hasLog } from "./served.ts";
import { Store } from "./store.ts";

/**
 * Returns the data versions that the server with this environment has ever served; none if there is no state yet.
 * @throws Error when the state can't be read, or isn't the state that the server uses
 */
export function registryOf(environment: NodeJS.ProcessEnv): KnownVersion[] {
  const stateDir = resolve(pathIn(environment, "STATE_DIR", "var"));
  checkServed(stateDir);
  if (!existsSync(databaseFile(stateDir)) && !hasLog(stateDir)) return [];
  const store = Store.open(stateDir, { mayCreate: false });
  try {
    return store.versions.all();
  } finally {
    store.close();
  }
}
