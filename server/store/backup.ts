import { randomUUID } from "node:crypto";
import { closeSync, existsSync, fsyncSync, linkSync, openSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { DataError, fileReasonOf } from "../../engine/query.ts";
import { makePrivateFile } from "./state-files.ts";
import { Store } from "./store.ts";

/** Copies the state database while a server runs on it, or while none does. */

/**
 * Copies the database of a folder to a new file with mode 0600, as it is at one moment.
 *
 * @throws DataError when there is no sound state, or the file is there or can't be made; then nothing is left
 */
export function backUp(folder: string, file: string): void {
  const store = Store.open(folder, { mayCreate: false });
  const draft = `${file}.${randomUUID()}`;
  try {
    if (existsSync(file)) throw new Error("file already exists");
    makePrivateFile(draft);
    store.copyTo(draft);
    flush(draft);
    // Unlike a rename, it never takes the place of another file.
    linkSync(draft, file);
    rmSync(draft);
    flush(dirname(file));
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

/** Has a file or folder on the disk. */
function flush(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
