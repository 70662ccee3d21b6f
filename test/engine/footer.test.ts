import assert from "node:assert/strict";
import { test } from "node:test";
import { footerRange, parseFooter } from "../../engine/snapshot/footer.ts";

/** Footers made by hand, to cost a reader that trusts them memory or time. */

function fileWith(footer: number[]): Uint8Array {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(footer.length);
  return Buffer.concat([Buffer.from("PAR1"), Buffer.from(footer), length, Buffer.from("PAR1")]);
}

function readFooter(file: Uint8Array) {
  const { start, length } = footerRange(file.length, file.subarray(0, 4), file.subarray(-8));
  return parseFooter(file.subarray(start, start + length), start);
}

const listOfTwoHundredMillion = [0xf9, 0xff, 0xff, 0xff, 0x7f];

const hostile: [name: string, footer: number[], message: RegExp][] = [
  [
    "lists of lists, each far longer than the file",
    [0x19, ...Array(40).fill(listOfTwoHundredMillion).flat()],
    /a list of/,
  ],
  ["a number that doesn't end", [0x16, ...Array(200_000).fill(0xff), 0], /a number beyond 2\^53/],
  ["structures inside structures", Array(1000).fill(0x1c), /structures too deep/],
  ["an unknown type", [0x1d, 0], /a value of type 13/],
  ["no field at all", [0], /a list is missing/],
];

for (const [name, footer, message] of hostile)
  test(`a footer with ${name} is refused`, () => {
    assert.throws(() => readFooter(fileWith(footer)), message);
  });

test("a file without the magic bytes at both ends is refused", () => {
  assert.throws(() => readFooter(Buffer.from("PAR1 no more")), /no PAR1 at both ends/);
  assert.throws(() => readFooter(Buffer.from("PAR1PAR1")), /no PAR1 at both ends/);
});
