import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import { buildImage, decodeSnapshot } from "../engine/load.ts";
import { attachImage, DataError, encodePrices, textOf, versionName } from "../engine/query.ts";
import type { FromLoad, LoadData } from "./messages.ts";

/** A loader thread: reads one snapshot file, verifies it, builds its image, and ends. WebAssembly keeps its memory until then. */

function load(file: string, onRows: (rows: number) => void): SharedArrayBuffer {
  const name = basename(file);
  const snapshot = decodeSnapshot(readFileSync(file), name, onRows);
  const version = versionName(snapshot.provenance);
  if (name !== `${version}.parquet`)
    throw new DataError(`${name}: data version in its metadata`, version, name.replace(/\.parquet$/, ""));
  const image = buildImage(snapshot);
  checkQuery(image, name);
  return image;
}

/** Asks the image one price query, as a client would get it, before any client can. */
function checkQuery(buffer: SharedArrayBuffer, name: string): void {
  const image = attachImage(buffer);
  const group = image.groupStart.findIndex((start, i) => i > 0 && start > image.groupStart[i - 1]) - 1;
  if (group < 0) throw new DataError(name, "no priced row", "at least one");
  const facilities = image.groupStart[group + 1] - image.groupStart[group];
  const { summary, data } = JSON.parse(textOf(encodePrices(image, group, facilities)));
  if (summary.facilities !== facilities || data.length !== facilities)
    throw new DataError(`${name}: a price query`, `${data.length} rows`, `${facilities}`);
}

if (parentPort === null) throw new Error("load.ts runs in a thread, started by the control thread");
const control = parentPort;
const send = (message: FromLoad) => control.postMessage(message);
const { file }: LoadData = workerData;
try {
  send({ type: "loaded", image: load(file, (rows) => send({ type: "progress", rows })) });
} catch (error) {
  send({ type: "refused", reason: error instanceof Error ? error.message : String(error) });
}
