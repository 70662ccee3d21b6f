import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { systemCode } from "../../engine/query.ts";

/*
 * Looks for damage in SQLite's write-ahead log, by https://www.sqlite.org/fileformat2.html#the_write_ahead_log: a
 * header, and frames of one page each, whose checksums continue one another. What follows the first frame that doesn't
 * fit SQLite drops without a word, because a process that was killed leaves a last transaction half written. So it
 * drops all when the first frame is damaged, and starts with what the database was long ago.
 */

const headerBytes = 32;
const frameHeaderBytes = 24;
/** The last bit says which byte order the checksums are of: little-endian without it. */
const magic = 0x377f0682;

/** The checksum over more bytes, of whole pairs of words, after one over those before. */
function checksum(
  [a, b]: readonly [number, number],
  bytes: DataView,
  isLittleEndian: boolean,
): [number, number] {
  let [x, y] = [a, b];
  for (let at = 0; at < bytes.byteLength; at += 8) {
    x = (x + bytes.getUint32(at, isLittleEndian) + y) | 0;
    y = (y + bytes.getUint32(at + 4, isLittleEndian) + x) | 0;
  }
  return [x, y];
}

const looks = 5;
const lookMs = 20;

const isChecksum = ([a, b]: readonly [number, number], bytes: DataView, at: number) =>
  bytes.getInt32(at) === a && bytes.getInt32(at + 4) === b;

/**
 * Looks at a write-ahead log for damage that makes SQLite forget transactions which were on the disk. What a process or
 * a machine leaves that ends at any moment is none: a log that is empty, was begun anew over older frames, or breaks off
 * in its last transaction. Each frame is read once; only reads.
 *
 * @param known how many frames a connection that has the log open counts in it
 * @returns what is wrong; undefined when nothing is, or there is no log
 */
export function walFault(file: string, known = 0): string | undefined {
  // A FIFO would keep whoever opens it.
  if (statSync(file, { throwIfNoEntry: false })?.isFile() === false) return "no regular file";
  let descriptor: number;
  try {
    descriptor = openSync(file, "r");
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
  try {
    return faultOf(descriptor, known);
  } finally {
    closeSync(descriptor);
  }
}

const frameName = (i: number, count: number) => `frame ${i + 1} of ${count} of the write-ahead log`;

function faultOf(descriptor: number, known: number): string | undefined {
  const { size } = fstatSync(descriptor);
  // The header is on the disk before the first frame is written.
  if (size <= headerBytes) return known > 0 ? frameName(0, known) : undefined;
  const read = (at: number, length: number) => {
    const bytes = new DataView(new ArrayBuffer(length));
    readSync(descriptor, bytes, 0, length, at);
    return bytes;
  };
  const header = read(0, headerBytes);
  const isLittleEndian = header.getUint32(0) === magic;
  const pageBytes = header.getUint32(8);
  let sum = checksum([0, 0], new DataView(header.buffer, 0, 24), isLittleEndian);
  const isKnown = isLittleEndian || header.getUint32(0) === magic + 1;
  if (!isKnown || !isChecksum(sum, header, 24) || pageBytes < 512) return "the header of the write-ahead log";

  const frames = Math.floor((size - headerBytes) / (frameHeaderBytes + pageBytes));
  /** Frames that SQLite will read. */
  let whole = 0;
  /** Whether a transaction ends after these, or none is before it. */
  let isNext = false;
  for (let i = 0; i < frames; i++) {
    const frame = read(headerBytes + i * (frameHeaderBytes + pageBytes), frameHeaderBytes + pageBytes);
    // Frames of another generation lie where the log hasn't been written over yet.
    const isCurrent =
      frame.getUint32(8) === header.getUint32(16) && frame.getUint32(12) === header.getUint32(20);
    if (whole === i && isCurrent) {
      sum = checksum(sum, new DataView(frame.buffer, 0, 8), isLittleEndian);
      sum = checksum(sum, new DataView(frame.buffer, frameHeaderBytes), isLittleEndian);
      if (isChecksum(sum, frame, 16)) {
        whole++;
        continue;
      }
      if (frames === 1) return "the only frame of the write-ahead log";
    }
    if (i === 0) {
      isNext = true;
      const isGenerationBefore = frame.getUint32(8) === (header.getUint32(16) - 1) >>> 0;
      if (!isCurrent && !isGenerationBefore) return "the first frame of the write-ahead log";
    } else if (isCurrent && isNext) {
      // The next transaction is written when the one before is on the disk: that one must have been whole.
      return frameName(whole, frames);
    } else if (isCurrent && frame.getUint32(4) > 0) isNext = true;
  }
  return whole < known ? frameName(whole, known) : undefined;
}

/** A log that another process writes just now may look damaged, or not be what a connection knew, but not for long. */
export function lastingWalFault(file: string, known = () => 0): string | undefined {
  for (let look = 1; ; look++) {
    const fault = walFault(file, known());
    if (fault === undefined || look === looks) return fault;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, lookMs);
  }
}
