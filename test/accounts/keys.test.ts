import assert from "node:assert/strict";
import { test } from "node:test";
import { crc32 } from "node:zlib";
import { bearerKey, generateKey, isWellFormed } from "../../server/accounts/keys.ts";

/** Tests the form of API keys. */

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

function fromBase62(text: string): bigint {
  return [...text].reduce((value, digit) => value * 62n + BigInt(alphabet.indexOf(digit)), 0n);
}

test("a key is hcq_, 256 random bits in 43 characters and their CRC-32 in 6", () => {
  for (let i = 0; i < 200; i++) {
    const key = generateKey();
    assert.match(key, /^hcq_[0-9A-Za-z]{49}$/);
    assert.ok(fromBase62(key.slice(4, 47)) < 2n ** 256n);
    assert.equal(fromBase62(key.slice(47)), BigInt(crc32(key.slice(4, 47))));
    assert.ok(isWellFormed(key));
  }
});

test("known random bytes give known keys", () => {
  const vectors = {
    [`${"00".repeat(32)}`]: "hcq_00000000000000000000000000000000000000000002CZclj",
    [`${"00".repeat(31)}01`]: "hcq_00000000000000000000000000000000000000000010HNUPx",
    [`80${"00".repeat(31)}`]: "hcq_ULrwNTJa3CHVaAVmO8lHlO4Afd3drtx651MXvhT4GuW1RLqoT",
    [`${"ff".repeat(32)}`]: "hcq_yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp13sRzl1",
    "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f":
      "hcq_003aUlTJC7tjlCTQj2uNU3MFagCXG9LRKRcwGkBIDlf1Yo7hP",
  };
  for (const [hex, key] of Object.entries(vectors)) {
    assert.equal(generateKey(Buffer.from(hex, "hex")), key);
    assert.equal(fromBase62(key.slice(4, 47)), BigInt(`0x${hex}`));
  }
});

test("every wrong character makes a key malformed", () => {
  // The second key's checksum has zeros.
  for (const key of [generateKey(), generateKey(Buffer.from("01".padStart(64, "0"), "hex"))])
    for (let at = 0; at < key.length; at++)
      for (const other of `${alphabet}-_ \0\x7f\x80é€`) {
        if (other === key[at]) continue;
        assert.ok(!isWellFormed(key.slice(0, at) + other + key.slice(at + 1)), `${other} at ${at}`);
      }
});

test("swapped, missing or added characters make a key malformed", () => {
  const key = generateKey();
  for (let at = 0; at < key.length; at++) {
    assert.ok(!isWellFormed(key.slice(0, at) + key.slice(at + 1)));
    assert.ok(!isWellFormed(`${key.slice(0, at)}0${key.slice(at)}`));
    const [a, b] = key.slice(at, at + 2);
    if (b !== undefined && a !== b) assert.ok(!isWellFormed(key.slice(0, at) + b + a + key.slice(at + 2)));
  }
  for (const text of ["", "hcq_", ` ${key}`, `${key}\n`, key.toUpperCase()]) assert.ok(!isWellFormed(text));
});

test("the key is read from an Authorization header with the scheme Bearer", () => {
  assert.equal(bearerKey("Bearer abc"), "abc");
  assert.equal(bearerKey("bEARER   abc"), "abc");
  for (const header of ["", "abc", "Basic abc", "Bearerabc", "Bearers abc"])
    assert.equal(bearerKey(header), undefined);
});
