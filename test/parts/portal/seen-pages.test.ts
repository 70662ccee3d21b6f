import { test } from "node:test";
import { assertApproved } from "../../support/approved.ts";
import { seen } from "../../support/drawn-page.ts";

/**
 * Tests that all that other tests saw of pages was drawn as approved: each page that they opened, and each part of it in which
 * they clicked, typed or pointed. Most tests look at a few elements, and this one at all elements with all attributes.
 */

test("each page that tests open, and what their clicks change there, is drawn as it was approved", () => {
  const lines = Array.from(seen, ([page, digests]) => `${page}: ${digests.join(" ")}\n`);
  assertApproved("pages/seen.txt", lines.toSorted().join(""));
});
