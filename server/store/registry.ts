import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import Database from "better-sqlite3";
import type { KnownVersion } from "../../datasets/publish/publish.ts";
import { DataError } from "../../engine/query.ts";
import { checkServed, databaseFile } from "./served.ts";

/** Reads the registry of data versions, which records the numbers in use. */

/**
 * The registry of all data versions that were ever served. It is part of the server's state, so that a number never
 * names other content. Commands that give out numbers read it.
 */
export const versionsTable = `
  CREATE TABLE versions (
    version TEXT PRIMARY KEY, -- <year>.<revision>
    sha256 TEXT NOT NULL, -- of content and provenance
    content_sha256 TEXT NOT NULL, -- of the rows alone
    first_served INTEGER NOT NULL, -- Unix milliseconds
    retired INTEGER -- null while it is served
  ) STRICT;`;

const maxWaitMs = 5000;

/** Reads a state's registry; undefined where there is none yet. @throws DataError when it can't be read or isn't the server's */
export function knownVersions(stateDir: string): KnownVersion[] | undefined {
  const file = databaseFile(stateDir);
  const refusal = (found: string) =>
    new DataError(
      `state database ${file}`,
      found,
      "an intact state database of this service: its registry says which version numbers are taken",
    );
  let database: Database.Database | undefined;
  try {
    checkServed(stateDir);
    if (!existsSync(file)) {
      if ((statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0)
        throw refusal("nothing beside a write-ahead log");
      return undefined;
    }
    database = new Database(file, { readonly: true, timeout: maxWaitMs });
    const check = database.pragma("quick_check(1)", { simple: true });
    if (check !== "ok") throw refusal(`damage (${check})`);
    const isThere = database.prepare<[string]>(
      "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?",
    );
    if (isThere.get("versions") === undefined) throw refusal("no registry of data versions");
    return database.prepare<[], KnownVersion>("SELECT version, sha256 FROM versions").all();
  } catch (error) {
    if (error instanceof DataError || !(error instanceof Error)) throw error;
    throw refusal(error.message);
  } finally {
    database?.close();
  }
}

/** The versions that the server with this environment has served, and a notice where there is no registry. */
export function registryOf(environment: NodeJS.ProcessEnv): {
  known: readonly KnownVersion[];
  notice: string | undefined;
} {
  const stateDir = resolve(environment.STATE_DIR || "var");
  const known = knownVersions(stateDir);
  if (known !== undefined) return { known, notice: undefined };
  return {
    known: [],
    notice: `numbered after the snapshots in the folder: no server has used STATE_DIR ${stateDir} yet`,
  };
}
