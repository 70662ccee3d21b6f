import assert from "node:assert/strict";
import { test } from "node:test";
import { WorkBudget } from "../../server/shared/work-budget.ts";

/** Tests a budget of work in milliseconds, which a steady clock fills. */

test("a budget that is used up fills steadily, up to its maximum", () => {
  const budget = new WorkBudget(100, 50);
  assert.ok(budget.hasLeft(1000));
  budget.spend(70);
  assert.ok(!budget.hasLeft(1000));
  assert.ok(
    !budget.hasLeft(1200),
    "100 ms of work a second: the 20 ms that were overdrawn are back, and no more",
  );
  assert.ok(budget.hasLeft(1201));
  assert.ok(budget.hasLeft(100_000));
  budget.spend(50);
  assert.ok(!budget.hasLeft(100_000), "no more than the maximum was saved up");
});

test("what a budget has at first beyond its maximum is used once", () => {
  const budget = new WorkBudget(100, 50, 200);
  assert.ok(budget.hasLeft(1000));
  budget.spend(150);
  assert.ok(budget.hasLeft(1000));
  budget.spend(100);
  assert.ok(!budget.hasLeft(1000));
  assert.ok(budget.hasLeft(10_000));
  budget.spend(50);
  assert.ok(!budget.hasLeft(10_000));
});
