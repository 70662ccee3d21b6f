import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import path from "node:path";
import { test } from "node:test";
import { sizeFrom } from "../long/trial.ts";
import { keepingStripped, node } from "../support/server.ts";

/**
 * Runs the tests of pages that click several times, in a browser whose CPU is slowed. What is drawn again under a click,
 * and what a test doesn't wait for, is found so.
 */

const clickRounds = sizeFrom("CLICK_ROUNDS", 5);

for (const name of ["account", "console", "explore", "visitors", "walks"])
  test(`tests that click pass ${clickRounds} times in a slow browser: ${name}`, () => {
    const file = path.resolve(import.meta.dirname, `../system/${name}.test.ts`);
    const { NODE_TEST_CONTEXT, ...environment } = process.env;
    const { status, stdout } = spawnSync(node, [...keepingStripped, "--test-reporter=spec", file], {
      env: { ...environment, CLICK_ROUNDS: String(clickRounds) },
      encoding: "utf8",
      maxBuffer: 2 ** 28,
    });
    const [said, faults = said] = stdout.split("failing tests:\n");
    assert.equal(status, 0, faults);
    assert.match(said, new RegExp(`, ${clickRounds} of ${clickRounds} `), "the rounds were run");
  });
