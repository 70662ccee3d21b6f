import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { syntheticSnapshot } from "../../datasets/sample/synthetic.ts";
import { encodeText } from "../../engine/encode.ts";
import { type DocumentKind, type Image, search } from "../../engine/index.ts";
import { isFirstMeant, textAt } from "../../engine/query.ts";
import { beginSearch, zeroBytes } from "../../engine/search/buffers.ts";
import { isCounty, isCountyNamed } from "../../engine/search/counties.ts";
import { entriesOf } from "../../engine/search/lexicon.ts";
import { foldedCase, initialsOf, literalWords, plainWords, splitWords } from "../../engine/search/text.ts";
import { indexOf } from "../../engine/search/text-index.ts";
import { allowedTypos, closeTo, codePoints, soundOf, typosBetween } from "../../engine/search/typos.ts";
import { withPrefix } from "../../engine/sorted.ts";
import { imageOf, randomSnapshot } from "../support/fixtures.ts";
import { seededRandom } from "../support/random.ts";
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

/** The optimal string alignment of two words: typos are missing, added, other and exchanged letters. */
function naiveTypos(a: readonly number[], b: readonly number[]): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    rows[i] = [i];
    for (let j = 1; j <= b.length; j++) {
      const isExchanged = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      rows[i][j] = Math.min(
        rows[i - 1][j] + 1,
        rows[i][j - 1] + 1,
        rows[i - 1][j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1),
        isExchanged ? rows[i - 2][j - 2] + 1 : Number.POSITIVE_INFINITY,
      );
    }
  }
  return rows[a.length][b.length];
}

const pointsOf = (word: string) => Array.from(word, (letter) => letter.codePointAt(0) ?? 0);

describe("words", () => {
  test("typos between words of any length are counted as by a whole table, or are too many", () => {
    const random = seededRandom(seed);
    const letters = (count: number) => Array.from({ length: count }, () => 97 + random.int(3));
    for (let i = 0; i < 3000; i++) {
      const a = letters(i % 50 === 0 ? 60 + random.int(10) : random.int(9));
      const b = [...a];
      for (let change = random.int(4); change > 0; change--)
        b.splice(random.int(b.length + 1), random.int(2), ...letters(random.int(2)));
      const [expected, most] = [naiveTypos(a, b), random.int(4)];
      const around = [...letters(2), ...b, ...letters(1)];
      for (const found of [typosBetween(a, b, most), typosBetween(a, around, most, 2, 2 + b.length)])
        if (expected <= most) assert.equal(found, expected, `${a} ${b} ${most}`);
        else assert.ok(found > most, `${a} ${b} ${most}`);
    }
  });

  test("the words of an index close to a word are those of a comparison with each of them", () => {
    const index = indexOf(
      named("Mercy", "Mercer", "Mercy's 24", "Marcy 243", "Ærø Łódź", "Merkur", "Mecry Cy", "A-b C-d"),
      "facility",
    );
    const all = Array.from({ length: index.words.offsets.length - 1 }, (_, i) => textAt(index.words, i));
    for (const typed of [
      "mercy",
      "merc",
      "mecry",
      "merkur",
      "日本国",
      "aero",
      "24",
      "234",
      "me2cy",
      "xq",
      "",
      "mércy",
    ])
      for (const allowed of [1, 2, 3]) {
        const expected = all.flatMap((word, i) => {
          const typos = naiveTypos(pointsOf(typed), pointsOf(word));
          const isOther = /^[0-9]+$/.test(word) && !/[0-9]/.test(typed);
          return typos > allowed || isOther ? [] : [{ word: i, typos }];
        });
        const found = [...closeTo(index, typed, allowed)].sort((a, b) => a.word - b.word);
        assert.deepEqual(found, expected, `${typed} ${allowed}`);
        assert.equal(closeTo(index, typed, allowed), closeTo(index, typed, allowed), "it is compared once");
      }
    assert.deepEqual(Array.from(codePoints(Buffer.from("aé🏥"))), [97, 233, 127973]);
    assert.deepEqual([0, 4, 5, 8, 9, 30].map(allowedTypos), [0, 0, 1, 1, 2, 2]);
  });

  test("words that sound alike have one sound", () => {
    for (const [sound, ...words] of [
      ["flp", "philip", "filip", "phillyp"],
      ["mkld", "mccloud", "mcleod", "mkld"],
      ["sns", "cinzia", "sinsia", "zinzya"],
      ["ksvr", "xavier", "ksavier"],
      ["kn", "queen", "keen", "kohen"],
      ["wlng", "wheeling", "weling"],
      ["at", "auto", "ato"],
    ])
      assert.deepEqual(
        words.map(soundOf),
        words.map(() => sound),
      );
  });

  test("texts are split into words with initials, possessives, codes and letters of procedures in one", () => {
    for (const [text, split, plain, literal] of [
      ["St. Mary's & M. D. Anderson", "st marys and md anderson", "st marys and m d anderson", "mary s"],
      ["T & A, D&C, i and d", "tanda dandc iandd", "t and a d and c i and d", ""],
      ["band and cape", "band and cape", "band and cape", ""],
      [
        "apc5072 hcpcs0616T ccn010001 cpt27447 xcpt1",
        "apc 5072 hcpcs 0616t ccn 010001 cpt 27447 xcpt1",
        "apc5072 hcpcs0616t ccn010001 cpt27447 xcpt1",
        "",
      ],
      [
        "62704-1234 x62704-1234 62704-12345",
        "62704 x62704 1234 62704 12345",
        "62704 x62704 1234 62704 12345",
        "",
      ],
      ["Peter s Hospital of s Anne", "peters hospital of s anne", "peter s hospital of s anne", ""],
      ["J. P. s b Mercy s c", "jpsb mercy sc", "j p s b mercy s c", ""],
      ["O`Brien´s O’Hara ‘x", "obriens ohara x", "obriens ohara x", "o brien s hara"],
      ["🏥 -", "", "", ""],
    ]) {
      const words = (of: string) => of.split(" ").filter((word) => word !== "");
      assert.deepEqual(splitWords(text), words(split), text);
      assert.deepEqual(plainWords(text), words(plain), text);
      assert.deepEqual(literalWords(text), [...new Set([...words(plain), ...words(literal)])], text);
    }
    assert.equal(foldedCase("ØST ŁÓDŹ ß Æ œ þ ð đ ħ ı ﬁ"), "ost lodz ss ae oe th d d h i fi");
    assert.deepEqual(
      [
        "Beth Israel Deaconess Medical Center",
        "Hospital of the University of Iowa",
        "St Mary",
        "3M Clinic of Zed",
        "Big of Bay of Cal",
      ].map((name) => initialsOf(splitWords(name))),
      [["bidmc"], ["hotuoi", "hui"], [], ["coz"], ["boboc", "bbc"]],
    );
  });

  test("texts with a beginning are found among sorted texts", () => {
    const random = seededRandom(seed);
    const text = (most: number) =>
      Array.from({ length: random.int(most) }, () => random.pick(["a", "b", "é"])).join("");
    for (let i = 0; i < 300; i++) {
      const bytes = Array.from({ length: random.int(12) }, () => Buffer.from(text(5))).sort(Buffer.compare);
      const texts = bytes.map(String);
      const start = text(4);
      const { start: from, end } = withPrefix(encodeText(texts), Buffer.from(start));
      assert.deepEqual(
        texts.slice(from, end),
        texts.filter((each) => each.startsWith(start)),
      );
      assert.ok(bytes.slice(0, from).every((each) => each.compare(Buffer.from(start)) < 0));
    }
  });

  test("a search gets zeros however many it asks for, and no two at a time are the same", () => {
    for (const count of [3, 9, 5]) {
      beginSearch();
      const lent = Array.from({ length: 40 }, () => zeroBytes(count));
      assert.equal(new Set(lent).size, 40);
      for (const each of lent) {
        assert.ok(each.length >= count && each.subarray(0, count).every((byte) => byte === 0));
        each.fill(7);
      }
    }
  });

  test("a county has a name before its word, and perhaps a state before or after it", () => {
    const isState = (words: readonly string[]) => ["il", "new york"].includes(words.join(" "));
    for (const [text, isAlone, isNamed] of [
      ["county", false, false],
      ["cook county", true, true],
      ["saint landry parish", true, true],
      ["cook counties", true, true],
      ["cook county il", false, true],
      ["il cook county", true, true],
      ["kings county new york", false, true],
      ["new york county", true, true],
      ["cook county hospital", false, false],
      ["county il", false, false],
      ["county of cook", false, false],
    ] as const) {
      const words = text.split(" ");
      assert.deepEqual([isCounty(words), isCountyNamed(words, isState)], [isAlone, isNamed], text);
    }
    assert.throws(() => entriesOf("nothing"), {
      message: "no file of the lexicon has lines of the kind nothing",
    });
  });

  test("the first match alone is meant from 0.5 on, and 0.01 above the second", () => {
    for (const [scores, isMeant] of [
      [[], false],
      [[0.5], true],
      [[0.499], false],
      [[0.51, 0.5], true],
      [[0.6, 0.591], false],
      [[0.6, 0.59, 0.59], true],
    ] as const)
      assert.equal(isFirstMeant(scores), isMeant, `${scores}`);
  });
});
