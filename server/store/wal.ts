import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { systemCode } from "../../engine/query.ts";

/*
 * Finds damage in SQLite's write-ahead log (https://www.sqlite.org/fileformat2.html#the_write_ahead_log): a header, and
 * frames of one page each, whose checksums continue one another. SQLite silently drops everything after the first bad
 * frame, because a killed process leaves its last transaction half written. If an earlier frame is damaged, committed
 * transactions are lost that way.
 */

const headerBytes = 32;
const frameHeaderBytes = 24;
/** In a log with little-endian checksums; one more in a log with big-endian ones. */
const magic = 0x377f0682;

/** Continues a checksum over more bytes, which have to be whole pairs of 32-bit words. */
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

/** How often a log that seems damaged is read, and the pause in between. */
const looks = 5;
const lookMs = 20;

const isChecksum = ([a, b]: readonly [number, number], bytes: DataView, at: number) =>
  bytes.getInt32(at) === a && bytes.getInt32(at + 4) === b;

/**
 * Finds damage in a write-ahead log that would make SQLite drop committed transactions. What any crash may leave is sound:
 * a log that is empty, was restarted over older frames, or ends within its last transaction. Each frame is read once.
 * @returns what is damaged; undefined when nothing is, or there is no log
 */
export function walFault(file: string): string | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(file, "r");
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
  try {
    return faultOf(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

const frameName = (i: number, count: number) => `frame ${i + 1} of ${count} of the write-ahead log`;

function faultOf(descriptor: number): string | undefined {
  const { size } = fstatSync(descriptor);
  // The header is on the disk before the first frame is written.
  if (size <= headerBytes) return undefined;
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
  /** The number of frames that SQLite will read. */
  let whole = 0;
  /** Whether a transaction ends after those frames, or there are none. */
  let isNext = false;
  for (let i = 0; i < frames; i++) {
    const frame = read(headerBytes + i * (frameHeaderBytes + pageBytes), frameHeaderBytes + pageBytes);
    // Frames of an earlier generation remain where the log hasn't been overwritten yet.
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
      // A transaction is written only when the one before it is on the disk, so that one was complete.
      return frameName(whole, frames);
    } else if (isCurrent && frame.getUint32(4) > 0) isNext = true;
  }
  return undefined;
}

/** Looks again after a short wait, because a log that another process is writing to may look damaged. */
export function lastingWalFault(file: string): string | undefined {
  for (let look = 1; ; look++) {
    const fault = walFault(file);
    if (fault === undefined || look === looks) return fault;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, lookMs);
  }
}
