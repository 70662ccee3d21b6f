import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { tracked } from "./readme.ts";

export const repository = resolve(import.meta.dirname, "../..");
export const deployFile = (name: string) => readFileSync(join(repository, "server/deploy", name), "utf8");

interface Instruction {
  name: string;
  words: string;
}

function instructionsIn(text: string): Instruction[] {
  return text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [, name, words] = /^([A-Z]+) (.*[^\\])$/.exec(line) ?? assert.fail(`no instruction: ${line}`);
      return { name, words };
    });
}

const all = instructionsIn(deployFile("Dockerfile"));
const stageStarts = all.flatMap(({ name }, i) => (name === "FROM" ? [i] : []));
assert.equal(stageStarts.length, 2);

export const head = all.slice(0, stageStarts[0]);
export const buildStage = all.slice(stageStarts[0], stageStarts[1]);
export const finalStage = all.slice(stageStarts[1]);

export function wordsOf(stage: readonly Instruction[], name: string): string[] {
  return stage.filter((one) => one.name === name).map(({ words }) => words);
}

function only(name: string): string {
  const [words, ...more] = wordsOf(finalStage, name);
  assert.ok(words !== undefined && more.length === 0, `${name} once`);
  return words;
}

const healthcheck = /^(?:--\S+ )*CMD (\[.*\])$/.exec(only("HEALTHCHECK")) ?? assert.fail("no command");

export const image: {
  env: Record<string, string>;
  user: string;
  folder: string;
  volumes: string[];
  entrypoint: string[];
  command: string[];
  healthcheck: string[];
} = {
  env: Object.fromEntries(
    wordsOf(finalStage, "ENV").flatMap((words) => words.split(" ").map((pair) => pair.split("="))),
  ),
  user: only("USER"),
  folder: only("WORKDIR"),
  volumes: only("VOLUME").split(" "),
  entrypoint: JSON.parse(only("ENTRYPOINT")),
  command: JSON.parse(only("CMD")),
  healthcheck: JSON.parse(healthcheck[1]),
};

export function unitValues(name: string, unit = "hcqs.service"): string[] {
  const lines = deployFile(unit).matchAll(new RegExp(`^${name}=(.*)$`, "gm"));
  return Array.from(lines, ([, value]) => value);
}

export const unitEnvironment: Record<string, string> = Object.fromEntries(
  unitValues("Environment").flatMap((words) => words.split(" ").map((pair) => pair.split("="))),
);

function isMatch(pattern: string, path: string): boolean {
  const source = pattern
    .split(/(\*\*\/|\*)/)
    .map((part) => ({ "**/": "(?:.*/)?", "*": "[^/]*" })[part] ?? part.replace(/[.]/g, "\\$&"))
    .join("");
  return new RegExp(`^${source}(?:/|$)`).test(path);
}

/** The repository's files that `.dockerignore` leaves for a build of the image. */
export function buildContext(): string[] {
  const patterns = readFileSync(join(repository, ".dockerignore"), "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
  return tracked.filter((path) => {
    let isSeen = true;
    // The last pattern that matches decides.
    for (const pattern of patterns)
      if (isMatch(pattern.replace(/^!/, ""), path)) isSeen = pattern.startsWith("!");
    return isSeen;
  });
}
