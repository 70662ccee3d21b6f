import assert from "node:assert/strict";
import { test } from "node:test";
import { isSourceUrl, isWebAddress, shownAddress, withoutCredentials } from "../../engine/address.ts";
import { fileReasonOf, reasonOf, shown, systemCode } from "../../engine/errors.ts";

/** Tests how input and other errors are shown in messages. */

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

test("an error's reason is its message, or else its code or name, and a file's has neither code nor path", () => {
  const failed = (message: string, more: object, error = new Error(message)) => Object.assign(error, more);
  const missing = "ENOENT: no such file or directory";
  for (const [error, reason, ofFile, code] of [
    ["a text", "a text", "a text", undefined],
    [7, "7", "7", undefined],
    [failed("wrong", {}), "wrong", "wrong", undefined],
    [failed("wrong", { code: "ERR_A" }), "wrong", "wrong", undefined],
    [failed("", { code: "ECONNREFUSED" }), "ECONNREFUSED", "ECONNREFUSED", undefined],
    [new TypeError(""), "TypeError", "TypeError", undefined],
    [
      failed(`${missing}, open '/a\nb'`, { syscall: "open", code: "ENOENT" }),
      `${missing}, open '/a\nb'`,
      "no such file or directory",
      "ENOENT",
    ],
    [
      failed("E2BIG: too long, spawn", { syscall: "spawn", code: "E2BIG" }),
      "E2BIG: too long, spawn",
      "too long",
      "E2BIG",
    ],
    [failed("other, open", { syscall: "open", code: "ENOENT" }), "other, open", "other, open", "ENOENT"],
    [failed("wrong", { syscall: "open", code: 2 }), "wrong", "wrong", undefined],
    [{ syscall: "open", code: "ENOENT" }, "[object Object]", "[object Object]", undefined],
  ] as const) {
    assert.equal(reasonOf(error), reason);
    assert.equal(fileReasonOf(error), ofFile);
    assert.equal(systemCode(error), code);
  }
});

test("a source's address is a web address of at most 2,000 characters of ASCII, without a user or a password", () => {
  const long = (length: number) => "https://a.example/".padEnd(length, "x");
  for (const [text, isWeb, isSource] of [
    ["https://a.example/b?c#d", true, true],
    ["HTTP://a.example", true, true],
    ["http://a:80", true, true],
    ["https://é.example/ ü", true, false],
    ["https://a.example/a b", true, false],
    [long(2000), true, true],
    [long(2001), true, false],
    ["https://me@a.example/", false, false],
    ["https://:secret@a.example/", false, false],
    ["https:///a.example/", false, false],
    ["https:\\\\a.example/", false, false],
    ["https:a.example", false, false],
    ["ftp://a.example/", false, false],
    [" https://a.example/", false, false],
    ["https://a:b", false, false],
    ["", false, false],
  ] as const)
    assert.deepEqual([isWebAddress(text), isSourceUrl(text)], [isWeb, isSource], text);
  for (const [text, without] of [
    ["postgres://me:secret@db/x", "postgres://…@db/x"],
    ["SMTP+x:\\\\me@se@db", "SMTP+x:\\\\…@db"],
    ["me:secret@db", "…@db"],
    ["me:a\nb@db", "…@db"],
    ["https://db/x", "https://db/x"],
  ]) {
    assert.equal(withoutCredentials(text), without);
    assert.equal(shownAddress(text), JSON.stringify(without));
  }
});
