import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

/** The documents, for tests that run their commands or compare them with the code. */

/** The service's address in the documents' blocks. */
export const documentedAddress = "127.0.0.1:8080";

const root = resolve(import.meta.dirname, "../..");

/** The repository's files, by their paths from the root. */
export const tracked: readonly string[] = execFileSync(
  "git",
  ["ls-files", "--cached", "--others", "--exclude-standard"],
  { cwd: root, encoding: "utf8" },
)
  .trim()
  .split("\n");

const paths = [
  "README.md",
  "bench/README.md",
  "datasets/README.md",
  "engine/README.md",
  "server/README.md",
  "server/api/README.md",
  "server/parts/replicas/README.md",
  "server/store/README.md",
];

/** The documents' texts by their paths from the root. */
export const documents: ReadonlyMap<string, string> = new Map(
  paths.map((path) => [path, readFileSync(resolve(root, path), "utf8")]),
);

/** A document's text. */
export function documentAt(path: string): string {
  return documents.get(path) ?? assert.fail(`${path} is no document`);
}

/** The code blocks of a language in a text; drawings have no language. */
export function blocksOf(text: string, language: string): string[] {
  return Array.from(text.matchAll(/^```(\w*)\n(.*?)^```$/gms))
    .filter((match) => match[1] === language)
    .map((match) => match[2]);
}

/** All documents' blocks of a language. */
export function readmeBlocks(language: string): string[] {
  return [...documents.values()].flatMap((text) => blocksOf(text, language));
}

/** The documents' only block of a language, with replacements; each replaced text must occur once. */
export function readmeBlock(language: string, replacements: Record<string, string> = {}): string {
  let [block, ...others] = readmeBlocks(language);
  assert.equal(others.length, 0, `the documents have more than one block of ${language}`);
  for (const [documented, actual] of Object.entries(replacements)) {
    assert.equal(block.split(documented).length, 2, `${documented} once in the block of ${language}`);
    block = block.replace(documented, actual);
  }
  return block;
}
