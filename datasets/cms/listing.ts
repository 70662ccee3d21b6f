import { createHash } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { DataError, reasonOf, systemCode, versionIn, versionName } from "../../engine/index.ts";
import { isSyntheticFile } from "../revisions.ts";
import type { Offer } from "./catalogue.ts";

const downloadsFolder = "downloads";
const maxNameCharacters = 100;

/** The path contains a hash of the URL, because different releases have had the same file name. */
export function downloadPath(out: string, url: string): string {
  const named = basename(new URL(url).pathname)
    .replace(/\.csv$/i, "")
    .replace(/[^\w.-]/g, "_");
  const digest = createHash("sha256").update(url).digest("hex").slice(0, 8);
  return join(out, downloadsFolder, `${named.slice(0, maxNameCharacters)}.${digest}.csv`);
}

export type Listed = Awaited<ReturnType<typeof listOf>>[number];

/**
 * Lists the years of the offered releases and of the snapshots in the folder `out`, newest year first.
 *
 * @param say receives a warning for each file that has a snapshot's name and can't be read as a snapshot
 * @throws DataError when the folder can't be read
 */
export async function listOf(offered: readonly Offer[], out: string, say: (line: string) => void) {
  const loaded = await versionsIn(out, say);
  const others = new Set(loaded.map(({ year }) => year));
  for (const { year } of offered) others.delete(year);
  const rows = [...offered, ...Array.from(others, (year) => ({ year, url: null, released: null }))];
  return rows
    .sort((a, b) => b.year - a.year)
    .map(({ year, url, released }) => {
      const path = url === null ? null : downloadPath(out, url);
      return {
        year,
        released,
        versions: loaded
          .filter((version) => version.year === year)
          .map(({ version, synthetic }) => ({ version, synthetic })),
        downloaded: path !== null && existsSync(path) ? path : null,
        url,
      };
    });
}

async function versionsIn(
  out: string,
  say: (line: string) => void,
): Promise<{ year: number; version: string; synthetic: boolean }[]> {
  const versions = [];
  for (const name of namesIn(out).sort()) {
    const named = versionIn(name);
    if (named === undefined) continue;
    try {
      const synthetic = await isSyntheticFile(join(out, name));
      versions.push({ year: named.dataYear, version: versionName(named), synthetic });
    } catch (error) {
      say(`not counted: ${reasonOf(error)}`);
    }
  }
  return versions;
}

function namesIn(out: string): string[] {
  try {
    return existsSync(out) ? readdirSync(out) : [];
  } catch (error) {
    const code = systemCode(error);
    if (code === undefined) throw error;
    throw new DataError(`--out ${out}`, `a folder that can't be read (${code})`, "a folder that can be read");
  }
}
