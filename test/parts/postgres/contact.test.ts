import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { Contact } from "../../../server/parts/postgres/contact.ts";

/** Tests when a server holds the database to be away. */

let contact = new Contact();

beforeEach(() => {
  contact = new Contact();
  contact.read(0);
});

test("before the first read there is no contact", () => {
  assert.ok(new Contact().isNone);
  assert.ok(!contact.isNone);
});

test("the database is away when no read has succeeded for more than 2 s", () => {
  assert.ok(!contact.isLost(2000));
  assert.ok(contact.isLost(2001));
  contact.read(1500);
  assert.ok(!contact.isLost(3500));
});

/** Reads succeed all the time, and calls are sent from one time to another. */
function call(fromMs: number, toMs: number): void {
  for (let ms = fromMs; ms <= toMs; ms += 500) {
    contact.read(ms);
    contact.calling(ms);
  }
}

test("a database that answers reads is away when calls fail for more than 2 s", () => {
  call(0, 2000);
  assert.ok(!contact.isLost(2000));
  call(2500, 2500);
  assert.ok(contact.isLost(2500));
});

test("a call that succeeds ends the failures", () => {
  call(0, 2500);
  contact.answered();
  assert.ok(!contact.isLost(2500));
  call(3000, 4500);
  assert.ok(!contact.isLost(4500));
});

test("a call that failed tells nothing if no further one was due", () => {
  call(0, 0);
  contact.read(5000);
  assert.ok(!contact.isLost(5000));
  call(6000, 6000);
  assert.ok(!contact.isLost(6500));
});

/** Looks ten times a second, as a server does. @returns whether the database was away at any look */
function look(fromMs: number, toMs: number): boolean {
  let isLost = false;
  for (let ms = fromMs; ms <= toMs; ms += 100) isLost = contact.isLost(ms) || isLost;
  return isLost;
}

for (const pausedMs of [2100, 60_000])
  test(`a pause of this thread of ${pausedMs} ms isn't silence of the database`, () => {
    assert.ok(!look(100, 1000));
    contact.read(900);
    const resumedMs = 1000 + pausedMs;
    assert.ok(!look(resumedMs, resumedMs + 1400));
    assert.ok(look(resumedMs + 1500, resumedMs + 2500));
  });

test("a pause while a call has no answer isn't a failure of calls", () => {
  for (let ms = 0; ms <= 600; ms += 100) {
    contact.read(ms);
    contact.calling(ms);
    assert.ok(!contact.isLost(ms));
  }
  // The first call after the pause is sent before the look.
  contact.calling(2500);
  contact.read(2500);
  assert.ok(!contact.isLost(2500));
  call(2600, 3100);
  assert.ok(!contact.isLost(3100));
  contact.answered();
  assert.ok(!look(3200, 4000));
});

test("a read that was sent before a pause and answered after it is a success", () => {
  assert.ok(!look(100, 1000));
  assert.ok(!contact.isLost(4000));
  contact.read(1000);
  assert.ok(!look(4100, 4400));
});

test("after a pause, the last read isn't later than now", () => {
  assert.ok(!look(100, 1000));
  contact.read(59_900);
  assert.ok(!contact.isLost(60_000));
  assert.ok(!look(60_100, 62_000));
  assert.ok(look(62_100, 62_200));
});

test("pauses again and again don't hide that the database is away", () => {
  let looks = 0;
  while (!contact.isLost(3000 * looks)) looks++;
  assert.equal(looks, 5);
});
