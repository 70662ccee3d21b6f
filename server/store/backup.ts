import { randomUUID } from "node:crypto";
import { existsSync, linkSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { sync } from "../../datasets/folder.ts";
import { DataError, fileReasonOf } from "../../engine/query.ts";
import { makePrivateFile } from "./state-files.ts";
import { Store } from "./store.ts";

/** Makes backups of the state database, even while a server runs. */

/** Copies the database, as of one moment, to a new file with mode 0600. @throws DataError, and leaves nothing then */
export function backUp(folder: string, file: string): void {
  const store = Store.open(folder, { mayCreate: false });
  const draft = `${file}.${randomUUID()}`;
  try {
    if (existsSync(file)) throw new Error("file already exists");
    makePrivateFile(draft);
    store.copyTo(draft);
    sync(draft);
    // Unlike a rename, a link never replaces another file.
    linkSync(draft, file);
    rmSync(draft);
    sync(dirname(file));
  } catch (error) {
    throw new DataError(
      `file ${file}`,
      fileReasonOf(error).replaceAll(draft, file),
      "a name that is free, where a file can be made",
    );
  } finally {
    for (const path of [draft, `${draft}-journal`]) if (existsSync(path)) rmSync(path);
    store.close();
  }
}
