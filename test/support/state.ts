import { readdirSync, statSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { type MovedAccount, readAccounts } from "../../server/accounts/transfer.ts";
import { exportAccounts } from "../../server/store/backup.ts";
import { Store } from "../../server/store/store.ts";
import { temporaryFolder } from "./folders.ts";

/** Returns all accounts with their rows, as an export has them. */
export function contentOf(store: Store): MovedAccount[] {
  const file = path.join(temporaryFolder(), "accounts");
  exportAccounts(store, file);
  return readAccounts(file);
}

export const modeOf = (file: string) => (statSync(file).mode & 0o777).toString(8);

export const modesIn = (folder: string) =>
  Object.fromEntries(readdirSync(folder).map((name) => [name, modeOf(path.join(folder, name))]));

export const account = { plan: "free", burst: 1, quota: 1, webhook: null, webhook_secret: null } as const;

export const namesIn = (store: Store) => store.accounts.list("2026-01", new Date()).map(({ name }) => name);

const restoring =
  "put a backup in its place, delete every -wal and -shm file beside it that isn't the backup's";

/** The message of a command that finds other files than the running server has open. */
export const otherFiles = (folder: string) => ({
  message: `state database ${folder}/state.sqlite: found other files than those that the running server has open, expected those: put them back, or stop the server, ${restoring}, and start again`,
});

/** The message about a backup that was put beside a write-ahead log. */
export const foreignLog = (folder: string) => ({
  message: `state database ${folder}/state.sqlite: found a backup beside the write-ahead log of another database, expected the backup alone: delete ${folder}/state.sqlite-wal and ${folder}/state.sqlite-shm`,
});

export const servedSha256 = "ab".repeat(32);

export function stateThatServed(...versions: string[]): string {
  const folder = temporaryFolder();
  Store.open(folder).close();
  const database = new Database(path.join(folder, "state.sqlite"));
  const insert = database.prepare(
    "INSERT INTO versions (version, sha256, content_sha256, first_served) VALUES (?, ?, ?, 1767225600000)",
  );
  for (const version of versions) insert.run(version, servedSha256, servedSha256);
  database.close();
  return folder;
}
