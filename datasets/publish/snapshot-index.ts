import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import * as v from "valibot";
import { DataError, jsonIn, shown } from "../../engine/index.ts";

export const indexName = "index.json";

/** A server downloads such a file, but loads only files up to 2 GiB. */
const maxFileBytes = 2 ** 32;

/** Matches a data version, `<year>.<revision>`, such as 2024.1. */
export const versionPattern = /^[0-9]{4}\.[1-9][0-9]{0,3}$/;

const expected = {
  version: "a version such as 2024.1",
  file: "a path below the index",
  bytes: `a whole number from 1 to ${maxFileBytes}`,
  sha256: "64 hexadecimal digits in lower case",
};

const entry = v.object(
  {
    version: v.pipe(v.string(expected.version), v.regex(versionPattern, expected.version)),
    /** A path relative to the index. */
    file: v.pipe(v.string(expected.file), v.regex(/^\w[\w.-]*(?:\/\w[\w.-]*)*$/, expected.file)),
    bytes: v.pipe(
      v.number(expected.bytes),
      v.safeInteger(expected.bytes),
      v.minValue(1, expected.bytes),
      v.maxValue(maxFileBytes, expected.bytes),
    ),
    /** SHA-256 of the file's bytes. */
    sha256: v.pipe(v.string(expected.sha256), v.regex(/^[0-9a-f]{64}$/, expected.sha256)),
  },
  // The message for an entry that isn't an object or lacks a field.
  ({ path }) =>
    Object.entries(expected).find(([name]) => name === path?.at(-1)?.key)?.[1] ??
    `an object with ${Object.keys(expected).join(", ")}`,
);
export type IndexEntry = v.InferOutput<typeof entry>;

const snapshotIndex = v.pipe(
  v.array(entry, "a list of versions"),
  v.minLength(1, "at least one version"),
  v.check(
    (entries) => new Set(entries.map(({ version }) => version)).size === entries.length,
    "each version once",
  ),
);

/** Parses an index of snapshots. @throws DataError when the text isn't an index */
export function indexIn(text: string, where: string): IndexEntry[] {
  const result = v.safeParse(snapshotIndex, jsonIn(text, where, "an index of snapshots"));
  if (result.success) return result.output;
  const [issue] = result.issues;
  const path = v.getDotPath(issue);
  const { input, received, message } = issue;
  const found = typeof input === "string" ? shown(input) : input === undefined ? "nothing" : received;
  throw new DataError(path === null ? where : `${where}: ${path}`, found, message);
}

export function newestFirst(a: { version: string }, b: { version: string }): number {
  const [[year, revision], [otherYear, otherRevision]] = [a, b].map(({ version }) =>
    version.split(".").map(Number),
  );
  return otherYear - year || otherRevision - revision;
}

/** Returns the SHA-256 of a file in hexadecimal. */
export async function sha256Of(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}
