import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { after } from "node:test";
import * as v from "valibot";
import { keepingStripped, node } from "./server.ts";

/**
 * Runs all of the operator's commands in one process, because a process for each run would take long. The tests of
 * `hcqs` check each command as a process.
 */

const folder = new URL("../../server/commands/", import.meta.url);
const runner = `
  import { runProgram } from "${folder}program.ts";
  const onImport = ["keys", "accounts", "events", "state"];
  const { DATASETS_DIR, ...settings } = process.env;
  let run = 0;
  // Each command adds its own.
  process.setMaxListeners(0);
  process.on("message", async ({ name, args, env }) => {
    const result = { stdout: "", stderr: "", code: 0 };
    for (const name of ["stdout", "stderr"]) process[name].write = (text) => { result[name] += text; return true; };
    process.env = { ...settings, WEBHOOK_ALLOW_LOOPBACK: "false", DATABASE_URL: "", HTTPS_PROXY: "", ...env };
    process.argv = ["node", name, ...args];
    process.exitCode = 0;
    const file = \`${folder}\${name}.ts\`;
    // Some commands run when they are imported, so they are imported anew each time.
    const program = await import(onImport.includes(name) ? \`\${file}?\${run++}\` : file);
    if (program.run) await runProgram(() => program.help, program.run);
    result.code = process.exitCode;
    process.exitCode = 0;
    process.send(result);
  });`;
const child = spawn(node, [...keepingStripped, "--input-type=module", "--eval", runner], {
  stdio: ["ignore", "ignore", "inherit", "ipc"],
});
child.on("exit", (code) => {
  if (child.connected) assert.fail(`the commands' process ended with ${code}`);
});
after(() => child.disconnect());

const result = v.object({ stdout: v.string(), stderr: v.string(), code: v.number() });
export type Result = v.InferOutput<typeof result>;

/** The commands of earlier calls run first. `~` stands for a space within a word. */
export function run(
  stateDir: string,
  commands: readonly string[],
  env: Record<string, string> = {},
): Promise<Result[]> {
  const results = idle.then(() => runNow(stateDir, commands, env));
  idle = results.catch(() => {});
  return results;
}
/** Settles when all commands of all calls so far have run. */
let idle: Promise<unknown> = Promise.resolve();

async function runNow(
  stateDir: string,
  commands: readonly string[],
  env: Record<string, string>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const command of commands) {
    const [name, ...args] = command.split(" ").map((word) => word.replaceAll("~", " "));
    child.send({ name, args, env: { STATE_DIR: stateDir, ...env } });
    const [message]: unknown[] = await once(child, "message");
    results.push(v.parse(result, message));
  }
  return results;
}

/** @returns the stdout of each command */
export async function succeed(stateDir: string, ...commands: string[]): Promise<string[]> {
  return (await run(stateDir, commands)).map(({ stdout, stderr, code }, i) => {
    assert.equal(code, 0, `${commands[i]}: ${stderr}`);
    return stdout;
  });
}

export function fieldsOf(text: string): string[][] {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => line.split("\t"));
}

export async function shownKey(stateDir: string, id: number): Promise<Map<string, string>> {
  const [text] = await succeed(stateDir, "keys list");
  const [header, ...lines] = fieldsOf(text);
  const line = lines.find(([first]) => first === String(id)) ?? [];
  return new Map(header.map((name, i) => [name, line[i]]));
}

export async function shownAccount(stateDir: string): Promise<Map<string, string>> {
  const [text] = await succeed(stateDir, "accounts list");
  const [header, line] = fieldsOf(text);
  return new Map(header.map((name, i) => [name, line[i]]));
}

export async function keyStates(stateDir: string): Promise<string[]> {
  const [text] = await succeed(stateDir, "keys list");
  const [, ...lines] = fieldsOf(text);
  return lines.map((line) => line[4]);
}
