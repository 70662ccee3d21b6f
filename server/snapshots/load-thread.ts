import { hash } from "node:crypto";
import { readSync } from "node:fs";
import { parentPort } from "node:worker_threads";
import { readPlaces } from "../../datasets/places.ts";
import { buildImage, DecoderError, decodeSnapshot } from "../../engine/load.ts";
import { attachImage, DataError, encodePrices, reasonOf, textOf } from "../../engine/query.ts";
import type { FailedLoad, FromLoad, LoadData, LoadedSnapshot } from "../shared/messages.ts";
import { safely } from "../shared/safely.ts";
import { kept } from "../strip-cache.js";

/** Runs in a loader thread: reads and verifies a snapshot file, and builds its image. */

function readFile({ name, fd, size, maxBytes }: LoadData): Uint8Array {
  if (size > maxBytes)
    throw new DataError(`${name}: size`, `${size} bytes`, `at most ${maxBytes} for a load on this machine`);
  const bytes = new Uint8Array(new SharedArrayBuffer(size));
  for (let filled = 0; filled < size; ) {
    const count = readSync(fd, bytes, filled, size - filled, filled);
    if (count === 0) throw new DataError(name, `the end of the file after ${filled} bytes`, `${size} bytes`);
    filled += count;
  }
  return bytes;
}

async function load(data: LoadData): Promise<LoadedSnapshot> {
  const { name, maxBytes } = data;
  const bytes = readFile(data);
  const month = new Date().toISOString().slice(0, 7);
  const onRows = (rows: number) => send({ type: "progress", rows });
  const { snapshot, isChecked, warnings, left } = await decodeSnapshot(bytes, name, {
    maxBytes,
    month,
    onRows,
  });
  const image = buildImage(snapshot, left, readPlaces(kept));
  checkQuery(name, image);
  return { image, file: { bytes, sha256: hash("sha256", bytes), isChecked }, warnings };
}

/**
 * Runs one price query on the image before it is served.
 * @throws DataError when the answer has a wrong number of rows, or no row has a price
 */
function checkQuery(name: string, buffer: SharedArrayBuffer): void {
  const image = attachImage(buffer);
  const group = image.groupStart.findIndex((start, i) => i > 0 && start > image.groupStart[i - 1]) - 1;
  if (group < 0) throw new DataError(name, "no priced row", "at least one");
  const facilities = image.groupStart[group + 1] - image.groupStart[group];
  const { summary, data } = JSON.parse(textOf(encodePrices(image, group, facilities)));
  if (summary.facilities !== facilities || data.length !== facilities)
    throw new DataError(`${name}: a price query`, `${data.length} rows`, `${facilities}`);
}

function failed(name: string, error: unknown): FailedLoad {
  if (error instanceof DataError) {
    const { subject, found, expected } = error;
    const isThreadFit = !(error instanceof DecoderError);
    return { type: "failed", isRefused: true, isThreadFit, words: [subject, found, expected] };
  }
  const reason = reasonOf(error);
  // A failed system call or a failed allocation isn't the file's fault.
  const isRefused = !(error instanceof Error && "syscall" in error) && !/allocation failed/.test(reason);
  const words = isRefused ? [name, reason, "a snapshot that can be loaded"] : [name, reason];
  return { type: "failed", isRefused, isThreadFit: false, words };
}

if (parentPort === null) throw new Error("this file runs in a loader thread only");
const control = parentPort;
const send = (message: FromLoad) => control.postMessage(message);
const take = async (data: LoadData) => send({ type: "loaded", ...(await load(data)) });
control.on(
  "message",
  safely(take, (error, { name }) => send(failed(name, error))),
);
