import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import * as v from "valibot";
import { pricesResponse } from "../../server/api/responses.ts";
import { blocksOf, documentAt, documentedAddress } from "../support/readme.ts";
import { call, createKey, pricesPath, startServer, temporaryFolder } from "../support/server.ts";

/** Tests the programs in the API's README, on a server whose rate is smaller than the number of pages of a list. */

const stateDir = temporaryFolder();
const burst = 2;
const languages = { bash: ["bash"], python: ["python3"], ts: [process.execPath] };
const keyOf = (account: string, quota: number) => createKey(stateDir, account, { burst, quota });
const keys = new Map(Object.keys(languages).map((language) => [language, keyOf(language, 1000)]));
const poor = new Map(Object.keys(languages).map((language) => [language, keyOf(`poor ${language}`, 1)]));
const server = await startServer({ stateDir });

/** @returns the exit code and the output */
async function run(language: string, [command, ...words]: string[], key = "") {
  const [program, ...others] = blocksOf(documentAt("server/api/README.md"), language);
  assert.deepEqual(others, []);
  const address = new URL(server.api).host;
  assert.equal(program.split(documentedAddress).length, 2);
  const file = path.join(temporaryFolder(), `program.${language === "ts" ? "mts" : language}`);
  writeFileSync(file, program.replace(documentedAddress, address));
  const child = spawn(command, [...words, file], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, KEY: key },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  return { code, stdout, stderr };
}

test("the TypeScript example compiles in strict mode", () => {
  const file = path.join(temporaryFolder(), "program.mts");
  writeFileSync(file, blocksOf(documentAt("server/api/README.md"), "ts")[0]);
  const root = path.resolve(import.meta.dirname, "../..");
  const types = ["--typeRoots", path.join(root, "node_modules/@types"), "--types", "node"];
  const words = [
    "--ignoreConfig",
    "--noEmit",
    "--strict",
    "--module",
    "nodenext",
    "--target",
    "es2024",
    ...types,
    file,
  ];
  execFileSync(path.join(root, "node_modules/.bin/tsc"), words, { stdio: ["ignore", "inherit", "inherit"] });
});

test("the example programs of the API description", { concurrency: true }, async (t) => {
  const answer = await call(server, `GET ${pricesPath}?procedure=5072&limit=50`);
  const rest = v.parse(pricesResponse, JSON.parse(answer.body.toString()));
  const all = await call(server, `GET ${rest.next}`);
  const lines = [rest, v.parse(pricesResponse, JSON.parse(all.body.toString()))]
    .flatMap(({ data }) => data)
    .map(({ ccn, submitted_charge }) => `${ccn} ${submitted_charge}\n`);
  assert.ok(lines.length > 25 * burst, "more pages than a burst has requests");
  await Promise.all(
    Object.entries(languages).map(([language, command]) =>
      t.test(`the ${language} program reads all pages, and stops when the quota is used up`, async () => {
        const [done, stopped] = await Promise.all([
          run(language, command, keys.get(language)),
          run(language, command, poor.get(language)),
        ]);
        assert.equal(done.code, 0, done.stderr);
        assert.equal(done.stdout, lines.join(""));
        assert.equal(stopped.stdout, lines.slice(0, 25).join(""));
        assert.equal(stopped.code, 1);
        assert.match(stopped.stderr, /429/);
      }),
    ),
  );
  await server.stop();
});
