import { readSync } from "node:fs";
import { parentPort } from "node:worker_threads";
import { buildImage, decodeSnapshot } from "../../engine/load.ts";
import { attachImage, DataError, encodePrices, reasonOf, SizeError, textOf } from "../../engine/query.ts";
import type { FromLoad, LoadData, ToLoad } from "../shared/messages.ts";

/** A loader thread: reads a snapshot file, verifies it, builds its image; perhaps another one, and ends. */

/** Reads a part of a file, which the control thread has opened. */
function read({ name, fd, size }: LoadData, start: number, length: number): Uint8Array {
  const bytes = Buffer.allocUnsafeSlow(length);
  for (let filled = 0; filled < length; ) {
    const count = readSync(fd, bytes, filled, length - filled, start + filled);
    if (count === 0) throw new DataError(`${name}: size`, `${start + filled} bytes`, `${size} bytes`);
    filled += count;
  }
  return bytes;
}

function load(data: LoadData): SharedArrayBuffer {
  const { name, size, limits } = data;
  const onRows = (rows: number) => send({ type: "progress", rows });
  const image = buildImage(
    decodeSnapshot({ size, read: (start, length) => read(data, start, length) }, name, onRows),
    limits,
  );
  checkQuery(name, image);
  return image;
}

/** Asks the image one price query, as a client would get it, before any client can. */
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
    const cause = error instanceof SizeError ? "size" : "content";
    return { type: "failed", cause, words: [subject, found, expected] };
  }
  const reason = reasonOf(error);
  // Of the system are what its calls return, and memory that it doesn't give.
  if ((error instanceof Error && "syscall" in error) || /allocation failed/.test(reason))
    return { type: "failed", cause: "system", words: [name, reason] };
  return { type: "failed", cause: "content", words: [name, reason, "a snapshot that can be loaded"] };
}

if (parentPort === null) throw new Error("this file runs in a loader thread only");
const control = parentPort;
const send = (message: FromLoad) => control.postMessage(message);
control.on("message", (data: ToLoad) => {
  if (data === null) return control.close();
  try {
    send({ type: "loaded", image: load(data) });
  } catch (error) {
    send(failed(data.name, error));
  }
});
