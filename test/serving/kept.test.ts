import assert from "node:assert/strict";
import { test } from "node:test";
import { openService, requestWith } from "../support/asking.ts";
import { imageOf, versionsOf } from "../support/endpoint-oracle.ts";
import { type ShortRow, snapshotOf } from "../support/fixtures.ts";
import { pricesPath } from "../support/server.ts";

/** Tests that an answer is cached, and not made again. */

const rows = Array.from({ length: 50 }, (_, i): ShortRow => [String(i).padStart(6, "0"), "AL", "5072", i, i]);
const versions = versionsOf(imageOf(snapshotOf(rows)));

/** Number of requests for an answer. An answer is cached after fewer requests. */
const asks = 100;

for (const [path, query, acceptEncoding] of [
  ["/api/v1/search", "q=hosp", ""],
  ["/api/v1/search", "q=hosp", "br"],
  [pricesPath, "procedure=5072&limit=50", ""],
  [pricesPath, "procedure=5072&limit=50", "gzip"],
])
  test(`${path} with Accept-Encoding "${acceptEncoding}" is served from the cache until data is published`, () => {
    const { service, key } = openService(versions);
    const request = requestWith(
      () => query,
      [
        ["authorization", `Bearer ${key}`],
        ["accept-encoding", acceptEncoding],
      ],
    );
    const ask = () => service.answer(request, path, "GET", false);
    const first = Buffer.from(ask().body ?? []);
    for (let i = 0; i < asks; i++) ask();
    const kept = ask().body;
    assert.deepEqual(Buffer.from(kept ?? []), first);
    assert.equal(ask().body, kept, "the same bytes in the same memory");
    service.publish(versions);
    assert.notEqual(ask().body, kept);
  });

test("searches that are asked again are all served from the cache, although they take turns", () => {
  const { service, key } = openService(versions);
  const authorization = `Bearer ${key}`;
  const bodies = () =>
    Array.from({ length: 250 }, (_, i) => {
      const query = `q=${["hosp", "Hosp", "HOsp", "HOSp", "HOSP"][i % 5]}&limit=${1 + Math.floor(i / 5)}`;
      const request = requestWith(() => query, [["authorization", authorization]]);
      const { status, body } = service.answer(request, "/api/v1/search", "GET", false);
      assert.equal(status, 200, query);
      return body;
    });
  const first = bodies();
  for (const [i, body] of bodies().entries())
    assert.equal(body, first[i], "the same bytes in the same memory");
});
