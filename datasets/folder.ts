import { closeSync, existsSync, fsyncSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";

/** Makes a folder and those above it. Node's own `recursive` never returns where a file system refuses new names, as /proc does. */
export function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  try {
    mkdirSync(folder);
  } catch (error) {
    // Another process was faster.
    if (!existsSync(folder)) throw error;
  }
}

/** Has the system bring a file's bytes, or a folder's names, to the disk. */
export function sync(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
