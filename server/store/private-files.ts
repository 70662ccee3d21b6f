import { randomUUID } from "node:crypto";
import {
  chmodSync,
  closeSync,
  existsSync,
  fchmodSync,
  linkSync,
  mkdirSync,
  openSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import { makeFolder, sync } from "../../datasets/files.ts";
import { reserveFile } from "./room.ts";
import { filesOf, lockFile, servedFile } from "./served.ts";

const folderMode = 0o700;
const fileMode = 0o600;
const stickyBit = 0o1000;

/** Makes the state folder if it is missing, readable by its owner only, whatever the umask. */
export function makeStateFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  try {
    mkdirSync(folder);
    chmodSync(folder, folderMode);
  } catch (error) {
    // Another process may have made the folder meanwhile.
    if (!existsSync(folder)) throw error;
  }
}

/**
 * Makes an empty file that only its owner can read, unless it exists. SQLite's -wal and -shm files get their database's
 * mode.
 */
export function makePrivateFile(file: string): void {
  if (existsSync(file)) return;
  const descriptor = openSync(file, "a", fileMode);
  fchmodSync(descriptor, fileMode);
  closeSync(descriptor);
}

/**
 * Makes a private file, which appears only when it is complete.
 * @param fill writes the content to a draft
 * @throws Error EEXIST when the file exists, because a link never replaces a file
 */
export function createComplete(file: string, fill: (draft: string) => void): void {
  const draft = `${file}.${randomUUID()}`;
  try {
    makePrivateFile(draft);
    fill(draft);
    sync(draft);
    linkSync(draft, file);
  } finally {
    for (const end of ["", "-journal"]) rmSync(draft + end, { force: true });
  }
  sync(dirname(file));
}

/** Removes other users' access to the state where possible. @returns the paths whose mode was changed */
export function narrowAccess(folder: string): string[] {
  const ours = [...filesOf(folder), lockFile(folder), servedFile(folder), reserveFile(folder)];
  return [folder, ...ours].filter((path) => {
    const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
    // A shared folder such as /tmp keeps its mode.
    if ((mode & 0o077) === 0 || (mode & stickyBit) !== 0) return false;
    try {
      chmodSync(path, path === folder ? folderMode : fileMode);
      return true;
    } catch {
      // `chmodSync` fails if the folder is mounted and belongs to another user.
      return false;
    }
  });
}
