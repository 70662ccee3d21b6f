import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { MessageChannel } from "node:worker_threads";
import { PageOrders, PageWriter } from "../../server/serving/page-orders.ts";
import type { WantedPage } from "../../server/serving/pages-part.ts";

/** Tests the way of pages from a serving thread to the page thread and back, in one thread. */

const wantedOf = (path: string): WantedPage => ({ path, query: "", coding: "identity" });

/** @param write returns a page's text */
function ordersWith(t: TestContext, write: (path: string) => string) {
  const { port1, port2 } = new MessageChannel();
  t.after(() => {
    port1.close();
    port2.close();
  });
  const clock = { ms: 0 };
  const errors: unknown[] = [];
  let cpuMs = 0;
  const writer = new PageWriter(
    ({ path }) => {
      cpuMs += 3;
      const body = new Uint8Array(Buffer.from(write(path)));
      return { body, etag: '"a"', isMissing: false };
    },
    (error) => errors.push(error),
    () => clock.ms,
    () => cpuMs,
  );
  return {
    orders: new PageOrders(port1, () => clock.ms),
    begin: () => writer.takeFrom(port2),
    end() {
      // Nothing else keeps the test's thread from ending.
      port1.ref();
      port2.close();
    },
    clock,
    errors,
  };
}

test("pages come back with their CPU time, in the order in which they were ordered", async (t) => {
  const { orders, begin, errors } = ordersWith(t, (path) => `page ${path}`);
  begin();
  const come: string[] = [];
  await Promise.all(
    ["/a", "/b"].map(async (path) => {
      const result = await orders.write(wantedOf(path));
      assert.equal(result?.cpuMs, 3);
      come.push(String(Buffer.from(result.page?.body ?? "")));
    }),
  );
  assert.deepEqual(come, ["page /a", "page /b"]);
  assert.deepEqual(errors, []);
});

test("an error of a page is reported, and the next page is written", async (t) => {
  const { orders, begin, errors } = ordersWith(t, (path) => (path === "/a" ? assert.fail("a fault") : path));
  begin();
  const [failed, next] = await Promise.all([orders.write(wantedOf("/a")), orders.write(wantedOf("/b"))]);
  assert.deepEqual(failed, { page: undefined, cpuMs: 3 });
  assert.notEqual(next?.page, undefined);
  assert.deepEqual(errors.map(String), ["AssertionError [ERR_ASSERTION]: a fault"]);
});

test("32 pages wait at most, and none is written that has waited for more than a second", async (t) => {
  const written: string[] = [];
  const { orders, begin, clock } = ordersWith(t, (path) => {
    written.push(path);
    return path;
  });
  const early = orders.write(wantedOf("/early"));
  clock.ms = 1;
  const flood = Array.from({ length: 32 }, (_, i) => orders.write(wantedOf(`/${i}`)));
  assert.equal(flood.filter((order) => order === undefined).length, 1);
  clock.ms = 1001;
  begin();
  assert.deepEqual(await early, { page: undefined, cpuMs: 0 });
  await Promise.all(flood);
  assert.deepEqual(
    written,
    Array.from({ length: 31 }, (_, i) => `/${i}`),
  );
  assert.notEqual((await orders.write(wantedOf("/next")))?.page, undefined);
});

test("when the page thread has ended, no page waits for it", async (t) => {
  const { orders, end } = ordersWith(t, (path) => path);
  const waiting = [orders.write(wantedOf("/a")), orders.write(wantedOf("/b"))];
  end();
  const unwritten = { page: undefined, cpuMs: 0 };
  assert.deepEqual(await Promise.all(waiting), [unwritten, unwritten]);
  assert.equal(orders.write(wantedOf("/next")), undefined);
});
