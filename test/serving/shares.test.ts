import assert from "node:assert/strict";
import { test } from "node:test";
import type { ShareRefusal } from "../../server/accounts/address-shares.ts";
import { KeyTable } from "../../server/accounts/key-table.ts";
import { generateKey, hashKey } from "../../server/accounts/keys.ts";
import { Limits } from "../../server/accounts/limits.ts";
import { monthOf } from "../../server/shared/months.ts";
import { ask, requestWith, serviceOf } from "../support/asking.ts";
import { versionsOf } from "../support/endpoint-oracle.ts";
import { imageOf, snapshotOf } from "../support/fixtures.ts";

const nowMs = Date.UTC(2026, 10, 3, 12);
const versions = versionsOf(imageOf(snapshotOf([["000001", "CA", "5072", 10, 1]])));

test("the visitors' key passes a share before its account's ceilings, and the account's other keys don't", () => {
  const [keys, ceilings] = [new KeyTable(), new Limits()];
  ceilings.configure(0, 100, 10);
  ceilings.enter(0, monthOf(nowMs), 0);
  const [visitors, own] = [7, 8].map((byte) => generateKey(Buffer.alloc(32, byte)));
  const stored = { expires_at: null, revoked_at: null };
  keys.put({ id: 1, hash: hashKey(visitors), ...stored }, 0, false, true);
  keys.put({ id: 2, hash: hashKey(own), ...stored }, 0);
  const refusals: (ShareRefusal | undefined)[] = [];
  const counted: string[] = [];
  const service = serviceOf({
    ...{ keys, ceilings, versions, now: () => nowMs, steadyNow: () => 0 },
    takeShare: () => refusals.shift(),
    traffic: { refused: (why) => counted.push(why), unauthorized: (why) => counted.push(why) },
  });
  const told = (key: string) => ask(service, key, "/api/v1/datasets", () => undefined);
  refusals.push(undefined, { ceiling: "burst", nextMs: nowMs + 100 });
  assert.deepEqual([told(visitors).status, told(own).remaining], [200, 8]);
  const refused = told(visitors);
  assert.deepEqual(
    [refused.status, refused.remaining, refused.reset, refused.retryAfter],
    [429, 0, nowMs / 1000 + 1, "1"],
  );
  const { type, ceiling, message } = JSON.parse(refused.body).error;
  assert.deepEqual([type, ceiling], ["rate_limit_exceeded", "burst"]);
  assert.match(message, /per second; with a key of your own/);
  assert.equal(told(own).remaining, 7, "the refused request doesn't count");
  assert.deepEqual(counted, ["address"]);
  keys.setSlots(new Map([[0, "suspended"]]));
  assert.equal(told(visitors).status, 401);
  keys.setSlots(new Map([[0, "active"]]));
  refusals.push({ ceiling: "quota", nextMs: nowMs + 3_600_000 });
  assert.deepEqual([told(visitors).retryAfter, told(visitors).status], ["3600", 200]);
});

test("a request that has waited for a permit takes one request from the share", () => {
  const [keys, ceilings] = [new KeyTable(), new Limits()];
  const key = generateKey(Buffer.alloc(32, 7));
  keys.put({ id: 1, hash: hashKey(key), expires_at: null, revoked_at: null }, 0, false, true);
  ceilings.configure(0, 100, 10);
  ceilings.enter(0, monthOf(nowMs), 0);
  let taken = 0;
  const service = serviceOf({
    ...{ keys, ceilings, versions, now: () => nowMs, steadyNow: () => 0 },
    takeShare: () => {
      taken++;
      return undefined;
    },
  });
  const request = requestWith(() => undefined, [["authorization", `Bearer ${key}`]]);
  const answer = () => service.answer(request, "/api/v1/datasets", "GET", false);
  assert.equal(answer().status, 200);
  assert.equal(service.answerAfterWait(0, monthOf(nowMs), answer).status, 200);
  assert.equal(taken, 1);
});
