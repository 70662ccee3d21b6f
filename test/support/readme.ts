import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

/** The service's address in the documents' code blocks. */
export const documentedAddress = "127.0.0.1:8080";

const root = resolve(import.meta.dirname, "../..");

/** Paths are relative to the root. */
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
  "server/parts/postgres/README.md",
  "server/store/README.md",
  "test/data/README.md",
];

export const documents: ReadonlyMap<string, string> = new Map(
  paths.map((path) => [path, readFileSync(resolve(root, path), "utf8")]),
);

export function documentAt(path: string): string {
  return documents.get(path) ?? assert.fail(`${path} is no document`);
}

/** Drawings are blocks without a language. */
export function blocksOf(text: string, language: string): string[] {
  return Array.from(text.matchAll(/^```(\w*)\n(.*?)^```$/gms))
    .filter((match) => match[1] === language)
    .map((match) => match[2]);
}

export function readmeBlocks(language: string): string[] {
  return [...documents.values()].flatMap((text) => blocksOf(text, language));
}

/** The block of the language, and each text to replace, must occur exactly once. */
export function readmeBlock(language: string, replacements: Record<string, string> = {}): string {
  let [block, ...others] = readmeBlocks(language);
  assert.equal(others.length, 0, `the documents have more than one block of ${language}`);
  for (const [documented, actual] of Object.entries(replacements)) {
    assert.equal(block.split(documented).length, 2, `${documented} once in the block of ${language}`);
    block = block.replace(documented, actual);
  }
  return block;
}
