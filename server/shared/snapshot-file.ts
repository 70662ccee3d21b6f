import { closeSync, constants, fstatSync, openSync, readSync, type Stats, statSync } from "node:fs";

/** Reads the file that a data version was loaded from. */

const pieceBytes = 16 * 2 ** 10;

/** A file, and what it was when it was loaded. */
export interface SnapshotFile {
  path: string;
  signature: string;
}

/** Changes whenever a regular file does: whatever is put into a folder changes its times. */
export function signatureOf({ ino, size, mtimeMs }: Pick<Stats, "ino" | "size" | "mtimeMs">): string {
  return `${ino} ${size} ${mtimeMs}`;
}

/** The size of a file in bytes; undefined when it isn't what was loaded any more. */
export function sizeOf({ path, signature }: SnapshotFile): number | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats?.isFile() && signatureOf(stats) === signature ? stats.size : undefined;
}

/** A descriptor for all who read a file at a time: clients may be as many as the process may have descriptors. */
interface Shared {
  fd: number;
  readers: number;
}
const open = new Map<string, Shared>();

/**
 * The bytes of a file from `start` up to `end`, each piece valid until the next one. Once the first one is read, the
 * file may be deleted.
 *
 * @throws Error when it can't be read, or isn't what was loaded
 */
export function* piecesOf(file: SnapshotFile, start: number, end: number): Generator<Uint8Array, void> {
  const key = `${file.path} ${file.signature}`;
  const shared = open.get(key) ?? { fd: openLoaded(file), readers: 0 };
  open.set(key, shared);
  shared.readers++;
  try {
    const buffer = new Uint8Array(Math.min(pieceBytes, end - start));
    for (let at = start; at < end; ) {
      const count = readSync(shared.fd, buffer, 0, Math.min(buffer.length, end - at), at);
      if (count === 0) throw new Error(`${file.path} ends at ${at}, expected ${end} bytes`);
      // Overwritten in place: what was read may be of either. Its name may be gone, which changes other times.
      if (signatureOf(fstatSync(shared.fd)) !== file.signature)
        throw new Error(`${file.path} has changed, expected what was loaded`);
      at += count;
      yield buffer.subarray(0, count);
    }
  } finally {
    if (--shared.readers === 0) {
      open.delete(key);
      closeSync(shared.fd);
    }
  }
}

function openLoaded({ path, signature }: SnapshotFile): number {
  // Should it have become a FIFO by now, opening it doesn't wait.
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  if (signatureOf(fstatSync(fd)) === signature) return fd;
  closeSync(fd);
  throw new Error(`${path} isn't the file that was loaded`);
}
