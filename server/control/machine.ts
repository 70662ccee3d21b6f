import { once } from "node:events";
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { createServer } from "node:net";
import * as v from "valibot";
import { coreSettings, faultsOf, folder, givenIn } from "../shared/settings.ts";

/** Checks that this machine can use the settings' addresses and folders. */

const listenable = v.checkAsync(canListen, "a name or an address of this machine, to listen on");

const table = {
  HOST: v.pipeAsync(coreSettings.HOST, listenable),
  OPS_HOST: v.pipeAsync(coreSettings.OPS_HOST, listenable),
  DATASETS_DIR: v.optional(v.pipe(folder, v.check(isFolder, "an existing folder that can be read"))),
  STATE_DIR: v.optional(
    v.pipe(
      folder,
      v.check((path) => !existsSync(path) || isFolder(path), "a folder, or nothing yet"),
    ),
  ),
};

/** Returns a line for each setting of an address or a folder that this machine can't use. */
export async function machineFaults(environment: NodeJS.ProcessEnv): Promise<string[]> {
  const given = givenIn(coreSettings, environment);
  const { issues = [] } = await v.safeParseAsync(v.objectAsync(table), given, { abortPipeEarly: true });
  return faultsOf(coreSettings, issues, given);
}

async function canListen(host: string): Promise<boolean> {
  const probe = createServer().listen({ host, port: 0, exclusive: true });
  try {
    await once(probe, "listening");
    probe.close();
    return true;
  } catch {
    return false;
  }
}

function isFolder(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.X_OK);
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
