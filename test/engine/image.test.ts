import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { measureAnswers } from "../../engine/image/answer-bytes.ts";
import { layOut, maxImageBytes } from "../../engine/image/image.ts";
import { findPlace, isZip } from "../../engine/image/places.ts";
import {
  attachImage,
  buildImage,
  csvPieces,
  DataError,
  encodePrices,
  findGroup,
  imageFormatVersion,
  stateCodes,
  stateNames,
  textAt,
  textOf,
} from "../../engine/index.ts";
import * as schema from "../../engine/snapshot/schema.ts";
import { sealSnapshot } from "../../engine/snapshot/snapshot.ts";
import { dataPath } from "../support/data.ts";
import { randomSnapshot, type ShortRow, snapshotOf } from "../support/fixtures.ts";

test("a buffer that holds no image is rejected", () => {
  for (const length of [0, 8, 4096])
    assert.throws(
      () => attachImage(new SharedArrayBuffer(length)),
      /^DataError: image: found other data, expected a buffer that layOut made$/,
    );
});

test("an image of another format is rejected", () => {
  const buffer = buildImage(randomSnapshot(1));
  new Uint32Array(buffer, 0, 2)[1]++;
  assert.throws(
    () => attachImage(buffer),
    new DataError("image", `format ${imageFormatVersion + 1}`, `format ${imageFormatVersion}`),
  );
});

test("an image with sections beyond 2 GiB gives the same results as a small one", () => {
  const small = buildImage(randomSnapshot(1));
  const beyond = 2 ** 31;
  // Most of the buffer is never written, so it takes little memory.
  const large = new SharedArrayBuffer(beyond + small.byteLength);
  new Uint8Array(large, beyond).set(new Uint8Array(small));
  // The header has magic, format, and each section's offset and length. Then come zeros, and the first section.
  const [magic, format, first] = new Uint32Array(small, 0, 3);
  const header = new Uint32Array(small, 0, first / 4);
  const moved = header.map((word, i) => (i >= 2 && i % 2 === 0 && word > 0 ? word + beyond : word));
  new Uint32Array(large, 0, moved.length).set(moved);
  assert.deepEqual([...moved.subarray(0, 3)], [magic, format, first + beyond]);
  const [expected, found] = [attachImage(small), attachImage(large)];
  assert.deepEqual(found.description, expected.description);
  const all = { procedure: null, state: null };
  assert.deepEqual([...csvPieces(found, all)].map(textOf), [...csvPieces(expected, all)].map(textOf));
  for (const code of expected.codes) {
    const answers = [found, expected].map((image) =>
      textOf(encodePrices(image, findGroup(image, code, null), 50)),
    );
    assert.equal(answers[0], answers[1]);
  }
});

test("an image as large as its limit is built, and one byte more is rejected", () => {
  const snapshot = randomSnapshot(1);
  const { byteLength } = buildImage(snapshot);
  const limits = { image: byteLength, heap: 2 ** 30 };
  assert.equal(buildImage(snapshot, limits).byteLength, byteLength);
  assert.throws(
    () => buildImage(snapshot, { ...limits, image: byteLength - 1 }),
    new DataError("image of 2024.3", `${byteLength} bytes`, `at most ${byteLength - 1}`),
  );
});

test("a snapshot whose names need more heap than the limit is rejected", () => {
  for (const letter of ["x", "-"]) {
    const snapshot = snapshotOf(
      Array.from({ length: 30 }, (_, i) => [`0100${10 + i}`, "AL", "5072", 2, 1, letter.repeat(400)]),
    );
    assert.throws(
      () => buildImage(snapshot, { image: 2 ** 30, heap: 100_000 }),
      /^DataError: texts of 2024\.3: found \d+ bytes or more, expected at most 100000$/,
    );
  }
});

test("texts that another tool has filled up with blanks lose them in the image, and checksums keep them", () => {
  const rows: ShortRow[] = [
    ["000001", "AL", "5071", 2, 1, "Mercy Hospital"],
    ["000002", "AL", "5071", 3, 1, "St. Mary"],
  ];
  const plain = snapshotOf(rows);
  const padded = snapshotOf(
    rows.map(([ccn, state, code, charge, allowed, name]) => [
      ccn,
      state,
      code,
      charge,
      allowed,
      `${name}`.padEnd(60),
    ]),
  );
  assert.notEqual(padded.contentSha256, plain.contentSha256);
  assert.equal(sealSnapshot(padded.table, padded.provenance).sha256, padded.sha256);
  const [image, other] = [padded, plain].map((snapshot) => attachImage(buildImage(snapshot)));
  for (const facility of [0, 1])
    assert.equal(textAt(image.facilityName, facility), textAt(other.facilityName, facility));
  assert.equal(image.description.sha256, padded.sha256);
});

test("an image or rows of 4 GiB are rejected before memory is taken, as positions have 32 bits", () => {
  const most = `at most ${2 ** 32 - 1}, as positions have 32 bits`;
  const { description, ...image } = attachImage(buildImage(randomSnapshot(1)));
  const contents = (length: number) => ({
    ...image,
    description: Buffer.from(JSON.stringify(description)),
    answers: { length, writeTo: () => assert.fail("nothing is written") },
  });
  const bytesOf = (length: number) => {
    try {
      layOut(contents(length), "2024.1", 2 ** 20);
    } catch (error) {
      if (error instanceof DataError && error.subject === "image of 2024.1") return error;
    }
    return assert.fail("it is too large");
  };
  const { found } = bytesOf(2 ** 30);
  const others = Number.parseInt(found, 10) - 2 ** 30;
  // Sections begin at multiples of 64 bytes.
  const length = 64 * Math.floor((maxImageBytes - others) / 64);
  assert.equal(bytesOf(length).expected, `at most ${2 ** 20}`);
  assert.equal(bytesOf(length + 128).expected, most);

  const { rows } = snapshotOf([["000001", "AL", "5071", 10, 2.5]]).table;
  const text = (...offsets: number[]) => ({ offsets: Int32Array.from(offsets), bytes: Buffer.alloc(0) });
  const twice = { order: Uint32Array.of(0, 0), groupStart: Uint32Array.of(0, 2) };
  const measured = (head: number, each: number) => measureAnswers(rows, twice, text(0, head), text(0, each));
  const numbers = "10,2.5".length - 1 + ',"medicare_allowed":}'.length;
  // A comma is between the two rows.
  assert.deepEqual(measured(7, 1000), {
    ...{ headStart: Uint32Array.of(0), headEnd: Uint32Array.of(7) },
    ...{ rowEnd: Uint32Array.of(1007 + numbers, 2008 + 2 * numbers), answerBytes: 2008 + 2 * numbers },
  });
  const each = (maxImageBytes - 1) / 2 - numbers;
  assert.equal(measured(0, each).answerBytes, maxImageBytes);
  assert.throws(() => measured(1, each), {
    message: `encoded rows: found ${2 ** 32} bytes, expected ${most}`,
  });
});

test("a five-digit ZIP code is found among ascending ones, and no other text is", () => {
  const zips = Int32Array.of(501, 2115, 99_950);
  for (const [zip, place] of [
    ["00501", 0],
    ["02115", 1],
    ["99950", 2],
    ["00500", -1],
    ["02116", -1],
    ["99951", -1],
    ["", -1],
  ] as const)
    assert.equal(findPlace(zips, zip), place, zip);
  const words = ["02115", "2115", "021155", "0211x", "02116"];
  assert.deepEqual(
    words.map((word) => isZip({ placeZip: zips }, word)),
    [true, false, false, false, false],
  );
});

test("a file with fewer than 2,000 hospitals has a caveat that says so", () => {
  const part = (facilities: number) =>
    schema.standardCaveat(2024, facilities).slice(schema.standardCaveat(2024, 2000).length);
  assert.match(schema.standardCaveat(2024, 2000), / in calendar year 2024; .* take no part in any figure\.$/);
  const rest = ", where a whole release has some 3,000: hospitals and states may be missing.";
  assert.equal(part(1999), ` This file has only 1999 hospitals${rest}`);
  assert.equal(part(1), ` This file has only 1 hospital${rest}`);
});

test("a state's name is that in CMS's file, and territories and their codes are known", () => {
  const places = readFileSync(dataPath("geo_apc_dy23.csv"), "utf8").matchAll(/^State,\d+,([^,]+),/gm);
  const names = new Set(Array.from(places, ([, name]) => name));
  const territories = {
    AS: "American Samoa",
    GU: "Guam",
    MP: "Northern Mariana Islands",
    PR: "Puerto Rico",
    VI: "U.S. Virgin Islands",
  };
  assert.deepEqual(
    Object.values(stateNames).filter((name) => !names.has(name)),
    ["American Samoa", "Guam", "Maryland", "Northern Mariana Islands", "Puerto Rico", "U.S. Virgin Islands"],
  );
  for (const [code, name] of Object.entries({ ...territories, MD: "Maryland", DC: "District of Columbia" }))
    assert.equal(stateNames[code], name);
  assert.deepEqual([...stateCodes], stateCodes.toSorted());
  assert.equal(new Set(stateCodes).size, 56);
});

test("the limits of snapshots stay as they are, because files of earlier releases have to be read", () => {
  const limits = Object.entries(schema).filter(([, value]) => typeof value === "number");
  assert.deepEqual(Object.fromEntries(limits), {
    ...{ schemaVersion: 2, blank: -1, maxCount: 2_147_483_647, maxCents: 2_147_483_647 },
    ...{ maxSnapshotFileBytes: 2_147_483_647, maxSnapshotRows: 50_000_000, maxImageRows: 22_369_621 },
    ...{ maxColumnBytesPerRow: 512, columnBytesAllowance: 1_048_576 },
    ...{ maxNameCharacters: 500, maxMetadataCharacters: 4000, maxStatusCharacters: 10 },
    ...{ minDataYear: 2016, maxDataYear: 2099, maxRevision: 9999, leastFacilities: 2000 },
  });
});
