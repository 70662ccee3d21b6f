import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import * as v from "valibot";

/** The index of snapshots that are fetched from elsewhere: a file beside them, `index.json`. */

export const indexName = "index.json";

/** An image has no more, and is larger than its file. */
export const maxFileBytes = 2 ** 32;

/** `<year>.<revision>`, as a snapshot's metadata can have it. */
export const versionPattern = /^[0-9]{4}\.[1-9][0-9]{0,3}$/;

const entry = v.object({
  version: v.pipe(v.string(), v.regex(versionPattern, "a version such as 2024.1")),
  /** Relative to the index. */
  file: v.pipe(v.string(), v.regex(/^\w[\w.-]*(?:\/\w[\w.-]*)*$/, "a path below the index")),
  bytes: v.pipe(
    v.number(),
    v.safeInteger(),
    v.minValue(1),
    v.maxValue(maxFileBytes, `at most ${maxFileBytes}`),
  ),
  /** Of the file's bytes. */
  sha256: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/, "64 hexadecimal digits in lower case")),
});
export type IndexEntry = v.InferOutput<typeof entry>;

/** One that is empty is no index: nothing would be served by it. */
export const snapshotIndex = v.pipe(
  v.array(entry, "a list of versions"),
  v.minLength(1, "at least one version"),
  v.check(
    (entries) => new Set(entries.map(({ version }) => version)).size === entries.length,
    "each version once",
  ),
);

export function newestFirst(a: { version: string }, b: { version: string }): number {
  const [[year, revision], [otherYear, otherRevision]] = [a, b].map(({ version }) =>
    version.split(".").map(Number),
  );
  return otherYear - year || otherRevision - revision;
}

/** The SHA-256 of a file, in hexadecimal digits; without holding up anything else for long. */
export async function sha256Of(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}
