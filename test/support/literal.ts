import assert from "node:assert/strict";
import { type Image, search, stateNames, textAt } from "../../engine/index.ts";
import { entriesOf, meaningsOf } from "../../engine/search/lexicon.ts";
import { seededRandom } from "./random.ts";
import type { Hospital } from "./relevance.ts";

/**
 * What searches for facilities promise, tried with the words of a directory: whatever a name, a city or a state literally has
 * finds the hospital, and CCNs, whole names and whole cities come first. Names are split here, and not by the engine.
 */

interface Words {
  hospital: Hospital;
  /** All words of the name, the city and the state, and the long forms of short ones. */
  words: ReadonlySet<string>;
  /** The name and the city as one word, with long forms. */
  name: string;
  city: string;
}

const letters = (text: string) =>
  text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replaceAll("&", " and ");
/** Splits a text at everything that is no letter or digit. */
const split = (text: string) =>
  letters(text)
    .split(/[^a-z0-9]+/)
    .filter(Boolean);
/** Splits a text, and joins what an apostrophe divides. */
const splitJoined = (text: string) => split(text.replace(/['’]/g, ""));

/** The forms that the lexicon lists: the test is for what is done with them. */
const longForms = meaningsOf("form");
const long = (word: string) => longForms.get(word) ?? word;
const oneWord = (text: string) => splitJoined(text).map(long).join("");

const unofficial = new Map(entriesOf("hospital").map(({ what, phrases }) => [what, phrases.map(oneWord)]));

function wordsOf(hospital: Hospital): Words {
  const { name, city, state } = hospital;
  const written = (texts: string[]) => texts.flatMap((text) => [...split(text), ...splitJoined(text)]);
  const own = written([name, city]);
  return {
    hospital,
    words: new Set([...own, ...own.map(long), ...written([state, stateNames[state]])]),
    name: oneWord(name),
    city: oneWord(city),
  };
}

/** The queries to try: `always`, and those of which a sample is enough in quick tests. */
export interface LiteralQueries {
  always: readonly string[];
  sampled: readonly string[];
}

export function literalQueries(hospitals: readonly Hospital[], seed: number): LiteralQueries {
  const random = seededRandom(seed);
  const words = new Set(
    hospitals.flatMap(({ name, city, state }) =>
      [name, city, stateNames[state]].flatMap((text) => [...split(text), ...splitJoined(text)]),
    ),
  );
  const names = hospitals.map(({ name }) => name);
  const cities = hospitals.flatMap(({ city, state }) => [city, `${city} ${state}`]);
  const beginnings = [...words].flatMap((word) =>
    Array.from({ length: Math.max(0, word.length - 3) }, (_, i) => word.slice(0, 3 + i)),
  );
  const pairs = Array.from({ length: 3000 }, () => {
    const of = splitJoined(random.pick(names));
    const at = random.int(Math.max(1, of.length - 1));
    return of.slice(at, at + 2).join(" ");
  });
  return {
    always: [...new Set([...words, ...names, ...cities])],
    sampled: [...new Set([...beginnings, ...pairs])],
  };
}

/**
 * Asserts that a search finds every hospital that literally has its words, in the promised order, and that scores don't
 * contradict the order.
 */
export function literalChecker(image: Image, hospitals: readonly Hospital[]) {
  const all = hospitals.map(wordsOf);
  const byCcn = new Map(all.map((each) => [each.hospital.ccn, each]));
  const states = new Set(Object.keys(stateNames).map((code) => code.toLowerCase()));
  const cities = new Set(all.map(({ city }) => city));

  /** Whether the words are those of a place, so that an "in" before them is no word of it. */
  const isPlace = (words: readonly string[]) =>
    cities.has(words.map(long).join("")) || states.has(words.join(""));

  /** The hospitals that have a word, by all words and by their beginnings of three letters and more. */
  const having = new Map<string, Set<Words>>();
  const enter = (word: string, each: Words) => {
    const same = having.get(word);
    if (same === undefined) having.set(word, new Set([each]));
    else same.add(each);
  };
  for (const each of all) {
    for (const word of each.words) {
      enter(word, each);
      for (let length = 3; length < word.length; length++) enter(word.slice(0, length), each);
    }
    for (const code of [each.hospital.zip, each.hospital.ccn.toLowerCase()]) if (code) enter(code, each);
  }
  const hasWord = (each: Words, word: string) =>
    having.get(word)?.has(each) === true ||
    // Words of one or two letters match whole words only.
    (word.length < 3 ? each.words.has(long(word)) : having.get(long(word))?.has(each) === true);

  /** 0 for a CCN, 1 for a whole name, 2 for a whole city, 3 for the others. @param asked the query as one word */
  function classOf({ hospital, name, city }: Words, asked: string): number {
    if (asked === hospital.ccn.toLowerCase()) return 0;
    if (asked === name || unofficial.get(hospital.ccn)?.includes(asked)) return 1;
    return asked === city || asked === `${city}${hospital.state.toLowerCase()}` ? 2 : 3;
  }

  return (query: string, state: string | null): void => {
    const subject = JSON.stringify([query, state]);
    const typed = splitJoined(query);
    const words = typed.filter((word, i) => word !== "in" || !isPlace(typed.slice(i + 1)));
    const [first = ""] = words;
    const meant = [...new Set([...(having.get(first) ?? []), ...(having.get(long(first)) ?? [])])].filter(
      (each) =>
        (state === null || each.hospital.state === state) && words.every((word) => hasWord(each, word)),
    );
    const { documents, scores } = search(image, "facility", query, 0, hospitals.length, state);
    const ccns = Array.from(documents, (facility) => textAt(image.ccn, facility));
    const found = new Set(ccns);
    assert.equal(found.size, ccns.length, `${subject} finds each hospital once`);
    const [lost] = meant.filter(({ hospital }) => !found.has(hospital.ccn));
    assert.equal(lost?.hospital, undefined, `${subject} finds ${lost?.hospital.name}`);
    const asked = oneWord(query);
    const classes = ccns.map((ccn) => classOf(byCcn.get(ccn) ?? all[0], asked));
    const early = classes.findIndex((each, i) => i > 0 && each < classes[i - 1]);
    assert.equal(early, -1, `${subject}: ${ccns[early]} is of an earlier class than what stands before it`);
    assert.ok(
      scores.every((score, i) => score > 0 && score <= (scores[i - 1] ?? 1)),
      `${subject}: scores descend`,
    );
  };
}
