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
