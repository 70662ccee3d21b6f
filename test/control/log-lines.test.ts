import assert from "node:assert/strict";
import { test } from "node:test";
import { logTo, type Output, readable } from "../../server/control/log.ts";
import { PerSecond } from "../../server/shared/per-second.ts";

/** Tests the log's lines in the form for people, and the limit of logged requests. */

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
