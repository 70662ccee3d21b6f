import { existsSync } from "node:fs";
import { DataError, fileReasonOf } from "../../engine/query.ts";
import { isNoRoom, noRoomFor } from "./room.ts";
import { createComplete } from "./state-files.ts";
import { Store } from "./store.ts";

/** Makes backups of the state database, even while a server runs. */

/** Copies the database as of one moment to a new file with mode 0600. @throws DataError; then no copy is left */
export function backUp(folder: string, file: string): void {
  const store = Store.open(folder, { mayCreate: false });
  try {
    if (existsSync(file)) throw new Error("file already exists");
    createComplete(file, (draft) => store.copyTo(draft));
  } catch (error) {
    if (isNoRoom(error)) throw noRoomFor(file, store.bytes);
    throw new DataError(`file ${file}`, fileReasonOf(error), "a name that is free, where a file can be made");
  } finally {
    store.close();
  }
}
