import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after } from "node:test";

/*
 * Checks at the end of a process of tests that it could still start a process on a machine with little memory. Linux
 * refuses that if one piece of the starting process's writable memory, touched or not, is larger than the machine's.
 */

const mostBytes = 3 * 2 ** 30;

after(() => {
  const pieces = readFileSync("/proc/self/smaps", "utf8").split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m);
  const counted = pieces.filter((piece) => /^VmFlags:.* ac( |$)/m.test(piece));
  const largest = Math.max(...counted.map((piece) => Number(/^Size: +(\d+) kB/m.exec(piece)?.[1]) * 1024));
  assert.ok(
    largest < mostBytes,
    `${largest} bytes in one piece, expected below ${mostBytes}; see smallTables`,
  );
});
