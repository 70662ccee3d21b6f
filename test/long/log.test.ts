import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, openSync, readFileSync, readSync, writeSync } from "node:fs";
import path from "node:path";
import { type TestContext, test } from "node:test";
import { metricsText } from "../support/metrics-text.ts";
import {
  call,
  createKey,
  currentOnly,
  datasetsFolder,
  freePort,
  keepingStripped,
  pricesPath,
  temporaryFolder,
  until,
} from "../support/server.ts";

/** Tests that the service keeps running when nobody reads its log, or when the log can't be written. */

const datasetsDir = datasetsFolder(currentOnly);
const repository = path.resolve(import.meta.dirname, "../..");

class Pipe {
  readonly #file = path.join(temporaryFolder(), "pipe");
  readonly #end: number;

  constructor() {
    execFileSync("mkfifo", [this.#file]);
    this.#end = openSync(this.#file, constants.O_RDWR | constants.O_NONBLOCK);
  }

  /** Opens a descriptor for another process to write. */
  writingEnd(): number {
    return openSync(this.#file, "w");
  }

  /** Fills the pipe, so that the next write has no room. */
  fill(): void {
    const byte = Buffer.from("\n");
    for (;;)
      try {
        writeSync(this.#end, byte.length < 4096 ? Buffer.alloc(4096, byte) : byte);
      } catch {
        return;
      }
  }

  read(): string {
    const bytes = Buffer.alloc(2 ** 20);
    try {
      return bytes.toString("utf8", 0, readSync(this.#end, bytes));
    } catch {
      return "";
    }
  }

  close(): void {
    closeSync(this.#end);
  }
}

type Stdio = "ignore" | "pipe" | number;

function run(t: TestContext, words: string[], stdout: Stdio, stderr: Stdio, env = {}): ChildProcess {
  const child = spawn(process.execPath, [...keepingStripped, ...words], {
    cwd: repository,
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...env },
    stdio: ["ignore", stdout, stderr],
  });
  t.after(() => child.kill("SIGKILL"));
  return child;
}

async function ended(child: ChildProcess): Promise<string> {
  await until("the end", () => child.exitCode !== null || child.signalCode !== null);
  return child.signalCode ?? String(child.exitCode);
}

/** Waits until the server answers, instead of reading its ready line. */
async function startServer(t: TestContext, stdout: Stdio, stderr: Stdio) {
  const stateDir = temporaryFolder();
  const key = createKey(stateDir, "acme", { burst: 1000, quota: 1000 });
  const [port, opsPort] = [await freePort(), await freePort()];
  const env = {
    ...{ PORT: String(port), OPS_PORT: String(opsPort), THREADS: "1" },
    ...{ DATASETS_DIR: datasetsDir, STATE_DIR: stateDir },
  };
  const child = run(t, ["server/main.ts"], stdout, stderr, env);
  const ops = `http://127.0.0.1:${opsPort}`;
  await until("the server to be ready", async () => {
    assert.deepEqual([child.exitCode, child.signalCode], [null, null]);
    return (
      (await fetch(`${ops}/readyz`, { signal: AbortSignal.timeout(1000) }).catch(() => undefined))?.status ===
      200
    );
  });
  const api = `http://127.0.0.1:${port}`;
  return {
    stateDir,
    status: async () => (await call({ api, key }, `GET ${pricesPath}?procedure=5072`)).status,
    async dropped() {
      const metrics = await metricsText(ops);
      return Number(/^hcqs_log_lines_dropped_total (\d+)$/m.exec(metrics)?.[1]);
    },
    async stop() {
      child.kill("SIGTERM");
      return ended(child);
    },
  };
}

/** The command writes numbered lines of the given length to stderr, and the number of lost lines to stdout. */
function writing(lines: number, bytes: number, before = ""): string[] {
  const script = `
    import { Output } from ${JSON.stringify(path.join(repository, "server/control/log.ts"))};
    let dropped = 0;
    const output = new Output(2, () => dropped++);
    ${before}
    for (let i = 0; i < ${lines}; i++) output.write(String(i).padEnd(${bytes - 1}, ".") + "\\n");
    await output.flush();
    process.stdout.write(String(dropped), () => process.exit());`;
  return ["--input-type=module", "--eval", script];
}

async function textOf(child: ChildProcess): Promise<string> {
  let text = "";
  child.stdout?.setEncoding("utf8").on("data", (part: string) => {
    text += part;
  });
  await once(child, "close");
  assert.deepEqual([child.exitCode, child.signalCode], [0, null]);
  return text;
}

const numbersIn = (text: string) => [...text.matchAll(/^(\d+)\.*$/gm)].map(([, number]) => Number(number));

test("an unread log pipe buffers 1 MiB, drops further lines and doesn't block the exit", async (t) => {
  const pipe = new Pipe();
  pipe.fill();
  assert.equal(await textOf(run(t, writing(2000, 1024), "pipe", pipe.writingEnd())), String(2000 - 1024));
  pipe.close();
});

test("a log pipe that is read late gets every buffered line in order", async (t) => {
  const pipe = new Pipe();
  pipe.fill();
  const child = run(t, writing(900, 1000), "pipe", pipe.writingEnd());
  let text = "";
  const reading = setInterval(() => {
    text += pipe.read();
  }, 1);
  assert.equal(await textOf(child), "0");
  clearInterval(reading);
  text += pipe.read();
  assert.deepEqual(
    numbersIn(text),
    Array.from({ length: 900 }, (_, i) => i),
  );
  pipe.close();
});

test("a log file on a temporarily full disk gets the lines before and after", async (t) => {
  const file = path.join(temporaryFolder(), "log");
  const limit = (bytes: string) =>
    `execFileSync("prlimit", ["--pid=" + process.pid, "--fsize=${bytes}:unlimited"]);`;
  const before = `
    const { execFileSync } = await import("node:child_process");
    output.write("first\\n");
    ${limit("6")}
    for (let i = 0; i < 10; i++) output.write("lost\\n");
    await new Promise(setImmediate);
    ${limit("unlimited")}`;
  const log = openSync(file, "a");
  assert.equal(await textOf(run(t, writing(3, 4, before), "pipe", log)), "10");
  assert.equal(readFileSync(file, "utf8"), "first\n0..\n1..\n2..\n");
});

test("a stopped terminal doesn't block the program that logs to it", async (t) => {
  // The terminal is recorded into a full pipe, so that the recording program stops reading the terminal.
  const pipe = new Pipe();
  pipe.fill();
  const result = path.join(temporaryFolder(), "result");
  const quoted = [process.execPath, ...keepingStripped, ...writing(2000, 1024)].map(
    (word) => `'${word.replaceAll("'", "'\\''")}'`,
  );
  const command = `exec ${quoted.join(" ")} > ${result}`;
  const child = spawn("script", ["-qec", command, "/dev/null"], {
    stdio: ["ignore", pipe.writingEnd(), "ignore"],
  });
  t.after(() => child.kill("SIGKILL"));
  const dropped = await until("the program to end", () => {
    try {
      return readFileSync(result, "utf8") || undefined;
    } catch {
      return undefined;
    }
  });
  assert.ok(Number(dropped) > 2000 - 1100);
  pipe.close();
});

test("a server with an unwritable log and a closed stdout serves requests and stops cleanly", async (t) => {
  const [full, pipe] = [openSync("/dev/full", "w"), new Pipe()];
  const stdout = pipe.writingEnd();
  pipe.close();
  const server = await startServer(t, stdout, full);
  closeSync(full);
  assert.equal(await server.status(), 200);
  assert.ok((await server.dropped()) > 0);
  assert.equal(await server.stop(), "0");
});
