import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { assertApproved } from "../support/approved.ts";
import { run } from "../support/commands.ts";
import { repository } from "../support/deployment.ts";
import { temporaryFolder } from "../support/server.ts";

/** Tests the package's description, and its only command `hcqs`. */

const description = JSON.parse(readFileSync(join(repository, "package.json"), "utf8"));
const program = join(repository, description.bin.hcqs);

function hcqs(words: string[], path = program) {
  const cwd = temporaryFolder();
  const env = { PATH: "/usr/bin:/bin", NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE };
  const { status, stdout, stderr } = spawnSync(path, words, { cwd, env, encoding: "utf8" });
  return { status, stdout, stderr };
}

const listed = [...hcqs(["--help"]).stdout.matchAll(/^ {2}([a-z]+) {2,}[a-z]/gm)].map(([, word]) => word);

test("hcqs --help lists the commands, each has its own help, and npm has the same commands", async () => {
  assert.deepEqual(listed.slice(0, 3), ["start", "fetch", "import"]);
  for (const name of listed) assert.equal(description.scripts[name], `exec server/hcqs ${name}`);
  const [start, ...others] = listed;
  const { status, stdout, stderr } = hcqs([start, "--help"]);
  const helps = await run(
    temporaryFolder(),
    others.map((name) => `${name} --help`),
  );
  for (const [i, help] of [{ code: status, stdout, stderr }, ...helps].entries()) {
    assert.deepEqual([help.code, help.stderr], [0, ""]);
    assert.ok(help.stdout.startsWith(`usage: hcqs ${listed[i]}`), help.stdout);
  }
  const texts = [
    hcqs(["--help"]).stdout,
    stdout.replace(/THREADS \(\d+\)/, "THREADS (…)"),
    ...helps.map((help) => help.stdout),
  ];
  assertApproved("helps.txt", texts.join("\n"));
  assert.deepEqual(hcqs(["-h"]), hcqs(["--help"]));
  assert.match(hcqs(["--help"]).stdout, /^ {2}accounts +lists, suspends, deletes, exports and imports /m);
});

test("hcqs --version prints the package's version, also through a symbolic link", () => {
  const version = { status: 0, stdout: `${description.version}\n`, stderr: "" };
  for (const words of [["--version"], ["-v"], ...listed.map((name) => [name, "--version"])])
    assert.deepEqual(hcqs(words), version);
  const link = join(temporaryFolder(), "hcqs");
  symlinkSync(program, link);
  assert.deepEqual(hcqs(["--version"], link), version);
});

test("hcqs rejects a missing or unknown command with a list of the commands", () => {
  const expected = `expected ${listed.slice(0, -1).join(", ")} or ${listed.at(-1)}; hcqs --help explains them\n`;
  assert.deepEqual(hcqs([]), { status: 1, stdout: "", stderr: `hcqs: found no command, ${expected}` });
  for (const word of ["", "--port", "*"])
    assert.deepEqual(hcqs([word]), { status: 1, stdout: "", stderr: `hcqs: found "${word}", ${expected}` });
});

test("hcqs runs from a folder with special characters in its name", () => {
  const folder = join(temporaryFolder(), "c#, 100%41 sure?");
  mkdirSync(join(folder, "server"), { recursive: true });
  for (const file of [description.bin.hcqs, "server/node", "server/strip-cache.js"])
    copyFileSync(join(repository, file), join(folder, file));
  for (const linked of ["datasets", "node_modules", "package.json", "server/commands"])
    symlinkSync(join(repository, linked), join(folder, linked));
  const { status, stderr } = hcqs(["sample", "--help"], join(folder, description.bin.hcqs));
  assert.deepEqual([status, stderr], [0, ""]);
});

test("hcqs reports in one line that its Node isn't installed", () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "server"));
  const copy = join(folder, description.bin.hcqs);
  copyFileSync(program, copy);
  copyFileSync(join(repository, "server/node"), join(folder, "server/node"));
  const { status, stdout, stderr } = hcqs(["start"], copy);
  assert.deepEqual([status, stdout], [1, ""]);
  assert.match(stderr, /^hcqs: found no Node in [^\n]*, expected [^\n]*\n$/);
});

test("the newest dated changelog entry has the package's version, and the package is private", () => {
  const [, version] =
    /^## ([\d.]+), \d{4}/m.exec(readFileSync(join(repository, "CHANGELOG.md"), "utf8")) ?? [];
  assert.equal(version, description.version);
  assert.equal(description.private, true);
});

test("a command whose output isn't read ends quietly, and one that fails says why", async (t) => {
  // The streams are the test runner's, too, so their events are told to the new listeners alone.
  const streams = [process.stdout, process.stderr];
  const known = streams.map((stream) => stream.listeners("error"));
  const { runProgram, say } = await import("../../server/commands/program.ts");
  const listeners = streams.flatMap((stream, i) =>
    stream.listeners("error").filter((listener) => !known[i].includes(listener)),
  );
  assert.equal(listeners.length, 2);
  const said: string[] = [];
  const printed: string[] = [];
  t.mock.method(process.stderr, "write", (text: string) => said.push(text));
  const { argv } = process;
  t.after(() => {
    process.exitCode = undefined;
    process.argv = argv;
  });
  const outcome = () => {
    const { exitCode } = process;
    process.exitCode = undefined;
    return [exitCode, said.splice(0).join("")];
  };
  say("a line");
  assert.deepEqual(outcome(), [undefined, "a line\n"]);
  const error = (code: string) => Object.assign(new Error("no room"), { code });
  for (const listener of listeners) {
    listener(error("EPIPE"));
    assert.deepEqual(outcome(), [undefined, ""]);
    listener(error("ENOSPC"));
    assert.deepEqual(outcome(), [1, "the command's output can't be written: no room\n"]);
  }
  const thrown: ((error: Error) => void)[] = [];
  t.mock.method(process, "once", (event: string, handler: () => void) => {
    assert.equal(event, "uncaughtException");
    thrown.push(handler);
  });
  const exits = t.mock.method(process, "exit", () => {});
  const run = async (words: string[], work: (words: string[]) => void) => {
    process.argv = ["node", "program", ...words];
    const { mock } = t.mock.method(process.stdout, "write", (text: string) => printed.push(text));
    await runProgram(([word]) => `help for ${word}`, work);
    mock.restore();
  };
  await run(["a", "-h"], () => assert.fail("it isn't run"));
  assert.deepEqual([printed, thrown.length, ...outcome()], [["help for a"], 0, undefined, ""]);
  await run(["a", "b"], (words) => {
    throw new Error(words.join());
  });
  assert.deepEqual(outcome(), [1, "a,b\n"]);
  thrown[0](new Error("a library's fault"));
  assert.deepEqual([exits.mock.callCount(), ...outcome()], [1, 1, "a library's fault\n"]);
});
