import { readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import type { Logger } from "pino";
import { attachImage, DataError, type Image } from "../engine/index.ts";
import type { FromLoad, LoadData } from "./messages.ts";

/** JavaScript heap of a loader thread; a file that needs more is refused. */
const maxLoaderHeapMb = 4096;

/** The snapshot files in a folder; none where there is no such folder. */
export function listSnapshots(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith(".parquet"))
      .sort();
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw new DataError(`DATASETS_DIR ${folder}`, String(error), "a folder that can be read");
  }
}

/** Loads a snapshot file in a thread of its own. @throws DataError when the file is refused, whatever the reason */
async function loadSnapshot(file: string): Promise<SharedArrayBuffer> {
  const workerData: LoadData = { file };
  const thread = new Worker(new URL("./load.ts", import.meta.url), {
    workerData,
    resourceLimits: { maxOldGenerationSizeMb: maxLoaderHeapMb },
  });
  return new Promise((resolve, reject) => {
    const refuse = (reason: string) => reject(new DataError(file, reason, "a snapshot that can be loaded"));
    thread.once("message", (message: FromLoad) =>
      message.type === "loaded" ? resolve(message.image) : reject(new Error(message.reason)),
    );
    thread.once("error", (error) => refuse(error.message));
    thread.once("exit", () => refuse("an end of its thread without a result"));
  });
}

/**
 * Loads every snapshot of a folder, as many at a time as there are cores. A file that is refused is logged and left out.
 *
 * @returns the images, newest version first
 */
export async function loadSnapshots(folder: string, log: Logger): Promise<Image[]> {
  const names = listSnapshots(folder);
  const images: Image[] = [];
  const next = names.values();
  const work = async () => {
    for (const name of next) {
      const started = performance.now();
      try {
        const image = attachImage(await loadSnapshot(join(folder, name)));
        images.push(image);
        log.info(
          { file: name, ms: Math.round(performance.now() - started), ...image.describe.counts },
          "snapshot loaded",
        );
      } catch (error) {
        log.error(
          { file: name, reason: error instanceof Error ? error.message : String(error) },
          "snapshot refused",
        );
      }
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return images.sort(newestFirst);
}

function newestFirst(a: Image, b: Image): number {
  const [x, y] = [a.describe.provenance, b.describe.provenance];
  return y.dataYear - x.dataYear || y.revision - x.revision;
}
