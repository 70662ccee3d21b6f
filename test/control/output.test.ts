import assert from "node:assert/strict";
import { syncBuiltinESMExports } from "node:module";
import { Writable } from "node:stream";
import { type TestContext, test } from "node:test";
import tty from "node:tty";
import { maxWaitingBytes, Output } from "../../server/control/log.ts";

/** Tests what is lost of the log when nobody reads it, and how long an end waits for a reader. */

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
