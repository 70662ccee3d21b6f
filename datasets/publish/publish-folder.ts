import { randomUUID } from "node:crypto";
import { constants, existsSync, linkSync, readdirSync, writeFileSync } from "node:fs";
import { copyFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { DataError, systemCode } from "../../engine/index.ts";
import { checkRegular, makeFolder, readRegular, sync } from "../folder.ts";
import { snapshotIn } from "./publish.ts";
import {
  type IndexEntry,
  indexIn,
  indexName,
  newestFirst,
  sha256Of,
  versionPattern,
} from "./snapshot-index.ts";

const extension = ".parquet";

async function place(from: string, to: string): Promise<void> {
  const draft = `${to}.${randomUUID()}.tmp`;
  try {
    try {
      linkSync(from, draft);
    } catch {
      // The folder is on another file system, or links aren't allowed.
      await copyFile(from, draft, constants.COPYFILE_FICLONE);
      sync(draft);
    }
    await rename(draft, to);
  } finally {
    await rm(draft, { force: true });
  }
}

function publishedIn(folder: string): IndexEntry[] {
  const path = join(folder, indexName);
  return existsSync(path) ? indexIn(readRegular(path, "an index of snapshots").toString(), path) : [];
}

function namesIn(from: string): string[] {
  try {
    return existsSync(from) ? readdirSync(from) : [];
  } catch (error) {
    const code = systemCode(error);
    if (code === undefined) throw error;
    throw new DataError(
      `DATASETS_DIR ${from}`,
      `a folder that can't be read (${code})`,
      "a folder that can be read",
    );
  }
}

/**
 * Links or copies snapshots into a folder, then writes and returns their index, newest first.
 *
 * @throws DataError when there is no snapshot, a snapshot is invalid, or its version was published with other content
 */
export async function publishFolder(from: string, to: string): Promise<IndexEntry[]> {
  const versions = namesIn(from).flatMap((name) => {
    const version = name.slice(0, -extension.length);
    return name.endsWith(extension) && versionPattern.test(version) ? [version] : [];
  });
  if (versions.length === 0)
    throw new DataError(`DATASETS_DIR ${from}`, "no snapshots", "at least one <year>.<revision>.parquet");
  makeFolder(to);
  const published = new Map(publishedIn(to).map((entry) => [entry.version, entry.sha256]));
  const entries: IndexEntry[] = [];
  for (const version of versions) {
    const file = version + extension;
    const [source, target] = [join(from, file), join(to, file)];
    checkRegular(source, "a snapshot");
    if (existsSync(target)) checkRegular(target, "a snapshot");
    const sha256 = await sha256Of(source);
    const before = published.get(version) ?? (existsSync(target) ? await sha256Of(target) : undefined);
    if (before !== undefined && before !== sha256)
      throw new DataError(`${source}: content`, sha256, `${before}, which was published as ${version}`);
    // A name that contradicts the content is refused.
    if (before === undefined) await snapshotIn(source);
    if (!existsSync(target)) await place(source, target);
    const { size: bytes } = await stat(target);
    entries.push({ version, file, bytes, sha256 });
  }
  entries.sort(newestFirst);
  const draft = join(to, `${indexName}.${randomUUID()}.tmp`);
  try {
    writeFileSync(draft, `${JSON.stringify(entries, null, 2)}\n`, { flag: "wx", flush: true });
    await rename(draft, join(to, indexName));
  } finally {
    await rm(draft, { force: true });
  }
  sync(to);
  return entries;
}
