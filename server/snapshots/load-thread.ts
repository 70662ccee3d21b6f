import { hash } from "node:crypto";
import { readSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { readPlaces } from "../../datasets/places.ts";
import { loadNeed, snapshotHead } from "../../engine/head.ts";
import { type BuildLimits, buildImage, decodeSnapshot } from "../../engine/load.ts";
import { attachImage, DataError, encodePrices, reasonOf, textOf } from "../../engine/query.ts";
import type { FromLoad, LoadData, LoadedSnapshot } from "../shared/messages.ts";
import { kept } from "../strip-cache.js";

/** Runs in a loader thread: reads a snapshot file, verifies it, and builds its image. */

/** Heap of a thread that has read nothing yet. */
const minHeapBytes = 40 * 2 ** 20;
/** Share of a load's free memory for strings on the heap. The rest is for the image. */
const heapShare = 0.25;

/** Reads a file, which the control thread has opened, into memory that serving threads share. */
function readFile({ name, fd, size }: LoadData): Uint8Array {
  const bytes = new Uint8Array(new SharedArrayBuffer(size));
  for (let filled = 0; filled < size; ) {
    const count = readSync(fd, bytes, filled, size - filled, filled);
    if (count === 0) throw new DataError(name, `the end of the file after ${filled} bytes`, `${size} bytes`);
    filled += count;
  }
  return bytes;
}

/**
 * Divides the memory of a load between texts on the heap and the image. @throws DataError when the file needs more
 * memory before the image is built
 */
function limitsOf({ name, maxBytes }: LoadData, bytes: Uint8Array): BuildLimits {
  const { buffers, heap } = loadNeed(snapshotHead(bytes, name));
  const least = buffers + heap + minHeapBytes;
  if (least > maxBytes)
    throw new DataError(
      `${name}: memory needed for the load`,
      `${mebibytes(least)} MiB`,
      `at most ${mebibytes(maxBytes)} MiB, the limit on this machine`,
    );
  const free = maxBytes - least;
  return { heap: heap + Math.floor(free * heapShare), image: Math.floor(free * (1 - heapShare)) };
}

const mebibytes = (bytes: number) => Math.ceil(bytes / 2 ** 20);

function load(data: LoadData): LoadedSnapshot {
  const { name } = data;
  const bytes = readFile(data);
  const limits = limitsOf(data, bytes);
  const onRows = (rows: number) => send({ type: "progress", rows });
  const image = buildImage(decodeSnapshot(bytes, name, onRows), limits, readPlaces(kept));
  checkQuery(name, image);
  return { image, file: { bytes, sha256: hash("sha256", bytes) } };
}

/** Runs one price query on the image before it is served. @throws DataError when it fails, or no row has a price */
function checkQuery(name: string, buffer: SharedArrayBuffer): void {
  const image = attachImage(buffer);
  const group = image.groupStart.findIndex((start, i) => i > 0 && start > image.groupStart[i - 1]) - 1;
  if (group < 0) throw new DataError(name, "no priced row", "at least one");
  const facilities = image.groupStart[group + 1] - image.groupStart[group];
  const { summary, data } = JSON.parse(textOf(encodePrices(image, group, facilities)));
  if (summary.facilities !== facilities || data.length !== facilities)
    throw new DataError(`${name}: a price query`, `${data.length} rows`, `${facilities}`);
}

function failed(name: string, error: unknown): FromLoad {
  if (error instanceof DataError) {
    const { subject, found, expected } = error;
    return { type: "failed", cause: "file", words: [subject, found, expected] };
  }
  const reason = reasonOf(error);
  // A failed system call or a failed allocation isn't the file's fault.
  if ((error instanceof Error && "syscall" in error) || /allocation failed/.test(reason))
    return { type: "failed", cause: "system", words: [name, reason] };
  return { type: "failed", cause: "file", words: [name, reason, "a snapshot that can be loaded"] };
}

if (parentPort === null) throw new Error("this file runs in a loader thread only");
const control = parentPort;
const send = (message: FromLoad) => control.postMessage(message);
const data: LoadData = workerData;
try {
  send({ type: "loaded", ...load(data) });
} catch (error) {
  send(failed(data.name, error));
}
