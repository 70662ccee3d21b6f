import assert from "node:assert/strict";
import { test } from "node:test";
import { openService, requestWith } from "../support/asking.ts";
import { imageOf, versionsOf } from "../support/endpoint-oracle.ts";
import { type ShortRow, snapshotOf } from "../support/fixtures.ts";
import { pricesPath } from "../support/server.ts";

/** Tests that an answer is cached after a few requests, and not made again. */

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
