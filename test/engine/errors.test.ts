import assert from "node:assert/strict";
import { test } from "node:test";
import { shown } from "../../engine/errors.ts";

/** Tests how input is shown in messages. */

test("of a URL's user and password nothing is shown, whatever characters they have", () => {
  for (const secret of ["me:secret", "me:sec@ret", "@se:cret@", "me:a\nsecret", "me:secret/?#@secret"])
    for (const scheme of ["postgres://", "smtp:\\\\", "https://"]) {
      const text = shown(`${scheme}${secret}@db.example.com/charges`);
      assert.equal(JSON.parse(text), `${scheme}…@db.example.com/charges`);
    }
});

test("a long text is cut, and a text of several lines is shown on one", () => {
  assert.equal(shown("a".repeat(64)), `"${"a".repeat(64)}"`);
  assert.equal(shown("a".repeat(65)), `"${"a".repeat(63)}…"`);
  assert.equal(shown('a\n"b"'), String.raw`"a\n\"b\""`);
});
