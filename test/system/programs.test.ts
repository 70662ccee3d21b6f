import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import * as v from "valibot";
import { pricesResponse } from "../../server/api/responses.ts";
import { requests } from "../../server/parts/portal/browser/programs.ts";
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
after(() => server.stop());

/** Runs the program of the API's README. */
async function run(language: string, command: string[], key = "") {
  const [program, ...others] = blocksOf(documentAt("server/api/README.md"), language);
  assert.deepEqual(others, []);
  const address = new URL(server.api).host;
  assert.equal(program.split(documentedAddress).length, 2);
  return runText(language, command, program.replace(documentedAddress, address), key);
}

/** Runs a program in a folder of its own. @returns the exit code and the output */
async function runText(language: string, [command, ...words]: string[], program: string, key: string) {
  const cwd = temporaryFolder();
  const file = path.join(cwd, `program.${language === "ts" ? "mts" : language}`);
  writeFileSync(file, program);
  const child = spawn(command, [...words, file], {
    cwd,
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
});

test("the reference page's example of a request prints the answer's error", {
  concurrency: true,
}, async () => {
  const commands = Object.values(languages);
  const asked = `${pricesPath}?procedure=5072`;
  await Promise.all(
    Object.values(requests).map(async (write, i) => {
      const language = Object.keys(languages)[i];
      const runs = async (path: string, key: string) =>
        runText(language, commands[i], write(path, server.api), key);
      const good = await runs(asked, server.key);
      assert.deepEqual([good.code, good.stderr.includes("rror")], [0, false], good.stderr);
      const { stdout, stderr } = await runs(asked, "wrong");
      assert.match(stdout + stderr, /"type":"invalid_api_key"/, language);
      const file = await runs(`/api/v1/export.csv?procedure=5072`, server.key);
      assert.equal(file.code, 0, file.stderr);
    }),
  );
});
