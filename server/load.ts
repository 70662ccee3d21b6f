import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import { buildImage, DataError, decodeSnapshot, versionName } from "../engine/index.ts";
import type { FromLoad, LoadData } from "./messages.ts";

/** A loader thread: reads one snapshot file, verifies it, builds its image, and ends. WebAssembly keeps its memory until then. */

function load(file: string): SharedArrayBuffer {
  const name = basename(file);
  const snapshot = decodeSnapshot(readFileSync(file), name);
  const version = versionName(snapshot.provenance);
  if (name !== `${version}.parquet`)
    throw new DataError(`${name}: data version in its metadata`, version, name.replace(/\.parquet$/, ""));
  return buildImage(snapshot);
}

if (parentPort === null) throw new Error("load.ts runs in a thread");
const { file }: LoadData = workerData;
let result: FromLoad;
try {
  result = { type: "loaded", image: load(file) };
} catch (error) {
  result = { type: "refused", reason: error instanceof Error ? error.message : String(error) };
}
parentPort.postMessage(result);
