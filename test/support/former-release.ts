import { execFileSync } from "node:child_process";
import { symlinkSync } from "node:fs";
import path from "node:path";
import { repository } from "./deployment.ts";
import { temporaryFolder } from "./folders.ts";
import { Running } from "./server.ts";

/** Runs release 0.1.0 and this one on the same files. */

/** Unpacks release 0.1.0, without its documents. Its dependencies have the versions of this release. @returns its folder */
export function formerRelease(): string {
  const folder = temporaryFolder();
  execFileSync("tar", ["-xzf", path.join(import.meta.dirname, "0.1.0/release.tar.gz"), "-C", folder]);
  symlinkSync(path.join(repository, "node_modules"), path.join(folder, "node_modules"));
  return folder;
}

/** Runs a program of a release, whose folder is `release`. */
export const runOf = (release: string, script: string, args: string[], env: Record<string, string>) =>
  new Running(path.relative(repository, path.join(release, script)), args, env);

/** Whether an answer has all that an earlier one has. Objects may have more fields. */
export function keeps(earlier: unknown, later: unknown): boolean {
  if (typeof earlier !== "object" || earlier === null) return earlier === later;
  if (typeof later !== "object" || later === null) return false;
  if (Array.isArray(earlier) && (!Array.isArray(later) || later.length !== earlier.length)) return false;
  const fields = new Map(Object.entries(later));
  return Object.entries(earlier).every(([name, value]) => keeps(value, fields.get(name)));
}
