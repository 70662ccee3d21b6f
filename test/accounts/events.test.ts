import assert from "node:assert/strict";
import { test } from "node:test";
import { maxEvents, UsageEvents } from "../../server/accounts/events.ts";
import { OnClocks } from "../support/on-clocks.ts";

/** Tests the quota events of the month that `/usage` shows to an account. */

test("usage shows quota warnings to their own account only, over a restart and until the month ends", (t) => {
  const world = new OnClocks(t, Date.UTC(2027, 11, 30, 12));
  const usage = (key: string) => {
    const { status, body } = world.usage(key);
    assert.equal(status, 200, body);
    world.save();
    world.tick();
    return JSON.parse(body).events;
  };
  const [key, other] = [world.account("later", 10), world.account("other", 100)];
  for (let i = 0; i < 8; i++) assert.deepEqual(usage(key), []);
  const warning = (threshold: number) => ({
    type: "quota.warning",
    threshold,
    at: "2027-12-30T12:00:00.000Z",
  });
  assert.deepEqual(usage(key), [warning(80)]);
  assert.deepEqual(usage(other), []);
  world.restart();
  assert.deepEqual(usage(key), [warning(80), warning(90)]);
  world.wallMs = Date.UTC(2028, 0, 1);
  world.tick();
  assert.deepEqual(usage(key), []);
});

test("the event table keeps an account's newest events of the month, each once and in order", () => {
  const events = new UsageEvents();
  events.enter(1, 24_300);
  for (let i = 0; i < maxEvents + 3; i++)
    for (const _ of [1, 2]) events.put(1, { threshold: 90, created_at: 1000 + i });
  events.put(1, { threshold: 80, created_at: 1000 + maxEvents + 2 });
  const found = events.of(1, 24_300);
  assert.equal(found.length, maxEvents);
  assert.deepEqual(found.slice(-2), [
    { threshold: 80, created_at: 1000 + maxEvents + 2 },
    { threshold: 90, created_at: 1000 + maxEvents + 2 },
  ]);
  assert.deepEqual([events.of(1, 24_301), events.of(2, 24_300)], [[], []]);
});
