import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { syntheticSnapshot } from "../../datasets/sample/synthetic.ts";
import { type DocumentKind, type Image, search } from "../../engine/index.ts";
import { imageOf, randomSnapshot } from "../support/fixtures.ts";
import { assertInOrder, everything, find, named } from "../support/relevance.ts";
import { rounds } from "../support/rounds.ts";

const seed = 20_260_401;

describe("any text", () => {
  test("a query without a word or with an unknown word matches nothing", () => {
    const image = named("Grace Hospital");
    for (const query of ["!!!", " ", "-", "…", "()", "'", "\u0301", "\u200b", "🏥", "xylophone", "???  ***"])
      assert.deepEqual(find(image, query), [], JSON.stringify(query));
  });

  const query = fc.oneof(
    fc.string({ unit: "binary", maxLength: 200 }),
    fc.string({ unit: "grapheme", maxLength: 100 }),
    fc.string({ unit: fc.constantFrom(..."aeinorst &.-'é0123456789"), maxLength: 200 }),
    fc.array(fc.nat(0xffff), { maxLength: 200 }).map((units) => String.fromCharCode(...units)),
  );

  test("a search for arbitrary text never throws and returns its results in order", () => {
    const images = [
      randomSnapshot(7, { facilities: 200, procedures: 40, density: 0.2 }),
      randomSnapshot(8),
    ].map(imageOf);
    const property = fc.property(
      query,
      fc.constantFrom<DocumentKind>("facility", "procedure"),
      (text, kind) => {
        for (const image of images) assertInOrder(find(image, text, kind), text);
      },
    );
    // Here scores that are rounded are equal where the points aren't.
    const examples: [string, DocumentKind][] = [["t&ér", "facility"]];
    fc.assert(property, { seed, numRuns: rounds(300), examples });
  });

  test("a page of any offset and length equals that slice of the whole result", () => {
    const sample = syntheticSnapshot({ dataYear: 2024, revision: 1, rows: 20_000, seed });
    const image = imageOf(sample);
    const words =
      "s h hea medica center hospital sample st the in near ca tx texas springs cedar regionl".split(" ");
    const property = fc.property(
      fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 0, max: 40 }),
      fc.integer({ min: 1, max: 25 }),
      (chosen, offset, limit) => {
        const text = chosen.join(" ");
        const whole = search(image, "facility", text, 0, everything);
        const page = search(image, "facility", text, offset, limit);
        assert.equal(page.total, whole.total, text);
        assert.deepEqual(page.documents, whole.documents.slice(offset, offset + limit), text);
        assert.deepEqual(page.scores, whole.scores.slice(offset, offset + limit), text);
      },
    );
    fc.assert(property, { seed, numRuns: rounds(300) });
  });

  test("a search for several words finds what the searches for each of them have in common", () => {
    const images = [1, 2].map((seed) =>
      imageOf(syntheticSnapshot({ dataYear: 2024, revision: 1, rows: 2000 * seed, seed })),
    );
    const places = ["fl", "texas", "ny"];
    const words = [
      ...["general", "generl", "sample", "community", "saint", "memrial", "willow", "hollow", "o"],
      ...[...places, "level", "implant", "without", "x-ray", "5072", "990901", "zzzzz"],
    ];
    const kinds: DocumentKind[] = ["facility", "procedure"];
    const found = (image: Image, kind: DocumentKind, text: string) =>
      [...search(image, kind, text, 0, everything).documents].sort((a, b) => a - b);
    let several = 0;
    const property = fc.property(
      fc.constantFrom(...images),
      fc.constantFrom(...kinds),
      fc.uniqueArray(fc.constantFrom(...words), { minLength: 2, maxLength: 4 }),
      (image, kind, chosen) => {
        const together = found(image, kind, chosen.join(" "));
        const apart = chosen.map((word) => new Set(found(image, kind, word)));
        const expected = [...apart[0]].filter((document) => apart.every((set) => set.has(document)));
        // A reading may add facilities. A place is taken off a search for procedures. If no procedure group has every word,
        // the most similar ones are found.
        if (kind === "facility" || expected.length === 0 || chosen.some((word) => places.includes(word)))
          assert.deepEqual(
            expected.filter((document) => !together.includes(document)),
            [],
            chosen.join(" "),
          );
        else assert.deepEqual(together, expected, chosen.join(" "));
        if (together.length > 1) several++;
      },
    );
    fc.assert(property, { seed, numRuns: rounds(500) });
    assert.ok(several > 3, `${several} found more than one`);
  });
});
