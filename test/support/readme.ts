import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

/** Blocks of the README, for tests to run. */

/** What the README's blocks have in place of the service's address. */
export const documentedAddress = "127.0.0.1:8080";

/** The README's blocks of a language. */
export function readmeBlocks(language: string): string[] {
  const readme = readFileSync(resolve(import.meta.dirname, "../../README.md"), "utf8");
  const blocks = readme.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, "gms"));
  return Array.from(blocks, ([, block]) => block);
}

/** The README's one block of a language, with each of some texts, which have to be there once, replaced. */
export function readmeBlock(language: string, replacements: Record<string, string> = {}): string {
  let [block, ...others] = readmeBlocks(language);
  assert.equal(others.length, 0, `the README has more than one block of ${language}`);
  for (const [documented, actual] of Object.entries(replacements)) {
    assert.equal(block.split(documented).length, 2, `${documented} once in the block of ${language}`);
    block = block.replace(documented, actual);
  }
  return block;
}
