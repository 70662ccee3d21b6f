import assert from "node:assert/strict";
import { syncBuiltinESMExports } from "node:module";
import { Writable } from "node:stream";
import { type TestContext, test } from "node:test";
import tty from "node:tty";
import { logTo, maxWaitingBytes, Output, readable } from "../../server/control/log.ts";
import { PerSecond } from "../../server/shared/per-second.ts";

/** Tests the log's lines in the form for people, what is lost of them, and the limit of logged requests. */

test("a readable log line shows time, level, message and details", () => {
  const line = JSON.stringify({
    ...{ level: "warn", time: "2026-01-02T03:04:05.006Z", version: "2024.1", ms: 7, files: ["a b"] },
    ...{ text: 'two "words"', empty: "", stack: "Error: no\n    at here", msg: "look" },
  });
  assert.equal(
    readable(`${line}\n`),
    `2026-01-02T03:04:05.006Z WARN  look version=2024.1 ms=7 files=["a b"] text="two \\"words\\"" empty=""
  Error: no
      at here
`,
  );
});

test("a readable log line contains no control characters", () => {
  const hostile = "\u001b[2J\u009b2J\r\u202e\u0000";
  const line = JSON.stringify({
    level: hostile,
    time: hostile,
    text: hostile,
    stack: `${hostile}\nat`,
    msg: hostile,
  });
  assert.match(readable(line), /^(?:(?![\p{Cc}\p{Cf}]).|\n)*$/u);
});

test("a rate of 3 lets at most three lines pass in any second", () => {
  const rate = new PerSecond(3);
  const passed = [0, 998, 999, 999, 1000, 1997, 1998, 1999, 2000, 5000].filter((ms) => rate.pass(ms));
  assert.deepEqual(passed, [0, 998, 999, 1000, 1998, 1999, 2000, 5000]);
});

test("a rate of 0 lets no line pass", () => {
  const rate = new PerSecond(0);
  assert.deepEqual(
    [0, 1000, 5000].map((ms) => rate.pass(ms)),
    [false, false, false],
  );
});

/** An output to a stream whose reader takes what the test lets it take. */
function openOutput(t: TestContext) {
  const taken: string[] = [];
  let take: ((error?: Error) => void) | undefined;
  const stream = new Writable({
    write(chunk: Buffer, _, done) {
      taken.push(String(chunk));
      take = done;
    },
  });
  // So that a run on a terminal tests the same.
  const { mock } = t.mock.method(tty, "isatty", () => false);
  syncBuiltinESMExports();
  const standard = Object.getOwnPropertyDescriptor(process, "stderr") ?? assert.fail();
  Object.defineProperty(process, "stderr", { ...standard, get: () => stream });
  let dropped = 0;
  const output = new Output(2, () => dropped++);
  Object.defineProperty(process, "stderr", standard);
  mock.restore();
  syncBuiltinESMExports();
  return { output, taken, dropped: () => dropped, goOn: (error?: Error) => take?.(error) };
}

test("lines beyond 1 MiB that wait are dropped and counted, and so is a line that can't be written", async (t) => {
  const { output, taken, dropped, goOn } = openOutput(t);
  assert.equal(maxWaitingBytes, 2 ** 20);
  output.write("x".repeat(2 ** 20 - 10));
  output.write("y".repeat(10));
  assert.equal(dropped(), 0);
  output.write("z");
  assert.equal(dropped(), 1);
  goOn();
  await new Promise(setImmediate);
  assert.equal(taken.at(-1), "y".repeat(10));
  goOn(new Error("the disk is full"));
  await new Promise(setImmediate);
  assert.equal(dropped(), 2);
});

test("at the end, an output waits while its reader reads, and for half a second if it doesn't", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { output, goOn } = openOutput(t);
  await output.flush();
  let isOver = false;
  const flush = () =>
    output.flush().then(() => {
      isOver = true;
    });
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 5) {
      t.mock.timers.tick(5);
      await new Promise(setImmediate);
    }
  };
  output.write("a");
  output.write("b");
  void flush();
  await pass(490);
  goOn();
  await pass(490);
  assert.ok(!isOver, "it has read a line");
  goOn();
  await pass(5);
  assert.ok(isOver);
  output.write("c");
  isOver = false;
  void flush();
  await pass(495);
  assert.ok(!isOver);
  await pass(20);
  assert.ok(isOver);
});

test("the log has words for levels and ISO times, as JSON, or as text on a terminal", () => {
  for (const isTerminal of [false, true]) {
    const lines: string[] = [];
    const log = logTo({ isTerminal, write: (line: string) => void lines.push(line) } as unknown as Output);
    log.warn({ version: "2024.1" }, "look");
    log.debug("not at this level");
    const time = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/;
    const [line] = lines.map((one) => one.replace(time, "T"));
    assert.equal(lines.length, 1);
    assert.equal(
      line,
      isTerminal
        ? "T WARN  look version=2024.1\n"
        : '{"level":"warn","time":"T","version":"2024.1","msg":"look"}\n',
    );
  }
});
