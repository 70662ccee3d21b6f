import assert from "node:assert/strict";
import { test } from "node:test";
import { safely } from "../../server/shared/safely.ts";

/** Tests that an error thrown in a callback is passed to the function for errors, and nowhere else. */

const fault = new Error("a fault");

test("an error thrown by a callback is reported with the callback's arguments", () => {
  const told: unknown[] = [];
  safely(
    (_: number) => {
      throw fault;
    },
    (...all) => told.push(all),
  )(7);
  assert.deepEqual(told, [[fault, 7]]);
});

test("a rejected promise is reported, and a resolved one isn't", async () => {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  safely(() => Promise.reject(fault), resolve)();
  assert.equal(await promise, fault);
  safely(
    async () => "done",
    (error) => assert.fail(String(error)),
  )();
});

test("an error thrown by the reporting function is ignored", async () => {
  const fails = () => {
    throw new Error("another one");
  };
  safely(fails, fails)();
  safely(async () => fails(), fails)();
  // Waits a turn of the event loop, in which an unhandled rejection would fail the test.
  await new Promise(setImmediate);
});
