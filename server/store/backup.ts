import { existsSync } from "node:fs";
import { fileReasonOf } from "../../engine/query.ts";
import { createComplete } from "./private-files.ts";
import { isNoRoom, noRoomFor } from "./room.ts";
import { Store } from "./store.ts";

/** Makes backups of the state database and exports of its accounts, even while a server runs. */

/**
 * Copies the database as of one moment to a new file with mode 0600.
 * @throws Error when the database can't be read, or the file exists or can't be written
 */
export function backUp(folder: string, file: string): void {
  const store = Store.open(folder, { mayCreate: false });
  try {
    make(file, store, (draft) => store.copyTo(draft));
  } finally {
    store.close();
  }
}

/** Writes all accounts to a new database with mode 0600. @throws Error, for example when the file exists */
export function exportAccounts(store: Store, file: string): void {
  make(file, store, (draft) => store.consistently(() => store.records.copyTo(draft)));
}

function make(file: string, { bytes }: Store, fill: (draft: string) => void): void {
  try {
    if (existsSync(file)) throw new Error("file already exists");
    createComplete(file, fill);
  } catch (error) {
    if (isNoRoom(error)) throw noRoomFor(file, bytes);
    throw new Error(`can't write ${file}: ${fileReasonOf(error)}`);
  }
}
