import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import {
  attachImage,
  buildImage,
  citiesNamed,
  type Image,
  search,
  splitWords,
  stateNames,
  textAt,
} from "../../engine/index.ts";
import { entriesOf, fillers, kinds, meaningsOf, questions } from "../../engine/search/lexicon.ts";
import { placesNamed } from "../../engine/search/places.ts";
import { isMedical, medicalIn } from "../../engine/search/procedure-terms.ts";
import { places } from "./places.ts";
import { type Random, seededRandom } from "./random.ts";
import { find, type Hospital, snapshotOfHospitals } from "./relevance.ts";
import { sampled } from "./rounds.ts";

/**
 * What searches for facilities promise, tried with the words of a directory: whatever a name, a city or a state literally has
 * finds the hospital, and CCNs, whole names and whole cities come first. Names are split here, and not by the engine.
 */

interface Words {
  hospital: Hospital;
  /** All words of the name, the city and the state, and the long forms of short ones. */
  words: ReadonlySet<string>;
  /** The words of unofficial names and of systems. */
  otherWords: readonly string[];
  /** The name and the city as one word, with long forms. */
  name: string;
  city: string;
  /** All names, and the city, in their own spelling. */
  spelledNames: readonly string[];
  spelledCity: string;
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
const spelled = (text: string) => splitJoined(text).join(" ");
const oneWord = (text: string) => splitJoined(text).map(long).join("");

/** A short form, such as joes, and what it may mean, both ways. */
const shortForms = new Map<string, string[]>();
for (const { what, phrases } of entriesOf("short"))
  for (const phrase of phrases)
    for (const [word, other] of [
      [phrase, what],
      [what, phrase],
    ])
      shortForms.set(word, [...(shortForms.get(word) ?? []), other]);

/** The words of each institution, such as louisiana state university, by the short words of its name. */
const institutionsOf = new Map(
  entriesOf("institution").flatMap(({ what, phrases }) =>
    what.split(" ").map((word) => [word, phrases.flatMap(split)]),
  ),
);

const unofficialNames = new Map(entriesOf("hospital").map(({ what, phrases }) => [what, phrases]));
/** The names of systems that hospitals' names lack. */
const systemNames = new Map(
  entriesOf("system").flatMap(({ what, phrases }) => what.split(" ").map((ccn) => [ccn, phrases])),
);
const unofficial = new Map([...unofficialNames].map(([ccn, names]) => [ccn, names.map(oneWord)]));

/** Words without small ones and, in `telling`, without words for a hospital. */
const plain = (words: readonly string[]) =>
  words.filter((word) => !fillers.has(word) && !questions.has(word));
const telling = (words: readonly string[]) => plain(words).filter((word) => !kinds.has(long(word)));

function wordsOf(hospital: Hospital): Words {
  const { ccn, name, city, state } = hospital;
  const others = [...(unofficialNames.get(ccn) ?? []), ...(systemNames.get(ccn) ?? [])];
  const written = (texts: string[]) => texts.flatMap((text) => [...split(text), ...splitJoined(text)]);
  const own = written([name, city]);
  return {
    hospital,
    words: new Set([...own, ...own.map(long), ...written([state, stateNames[state]])]),
    otherWords: written(others).flatMap((word) => [word, ...(shortForms.get(word) ?? [])]),
    name: oneWord(name),
    city: oneWord(city),
    spelledNames: [name, ...(unofficialNames.get(hospital.ccn) ?? [])].map(spelled),
    spelledCity: spelled(city),
  };
}

/** The queries to try: `always`, and those of which quick tests try a part. */
export interface LiteralQueries {
  always: readonly string[];
  further: readonly string[];
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
  const saying = ["region", "cities", "city", "state", "form", "kind", "any"].flatMap((kind) =>
    entriesOf(kind).flatMap(({ phrases }) => phrases),
  );
  const beginnings = [...words].flatMap((word) =>
    Array.from({ length: Math.max(0, word.length - 3) }, (_, i) => word.slice(0, 3 + i)),
  );
  const pairs = Array.from({ length: 3000 }, () => {
    const of = splitJoined(random.pick(names));
    const at = random.int(Math.max(1, of.length - 1));
    return of.slice(at, at + 2).join(" ");
  });
  return {
    always: [...new Set([...words, ...names, ...cities, ...saying])],
    further: [...new Set([...beginnings, ...pairs])],
  };
}

/**
 * Asserts that a search finds every hospital that literally has its words, in the promised order, that scores don't
 * contradict the order, and that they are below 0.5 unless one thing is meant.
 */
export function literalChecker(image: Image, hospitals: readonly Hospital[]) {
  const all = hospitals.map(wordsOf);
  const byCcn = new Map(all.map((each) => [each.hospital.ccn, each]));
  const codeOf = new Map(
    Object.entries(stateNames).flatMap(([code, name]) => [code, name].map((way) => [oneWord(way), code])),
  );
  const cities = new Set(all.map(({ city }) => city));

  /** Whether the words are those of a place, so that an "in" before them is no word of it. */
  const isPlace = (words: readonly string[]) =>
    cities.has(words.map(long).join("")) || codeOf.has(words.join(""));

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

  /** 0 for a CCN, 1 for a whole name in the same spelling, 2 in another one, 3 for a whole city, 4 for the others. */
  const classesOf = (query: string) => {
    const [asked, typed] = [oneWord(query), spelled(query)];
    return ({ hospital, name, city, spelledNames, spelledCity }: Words): number => {
      if (asked === hospital.ccn.toLowerCase()) return 0;
      if (spelledNames.includes(typed)) return 1;
      if (asked === name || unofficial.get(hospital.ccn)?.includes(asked)) return 2;
      // Center is no other form of the city Centre.
      if (kinds.has(asked)) return typed === spelledCity ? 3 : 4;
      return asked === city || asked === `${city}${hospital.state.toLowerCase()}` ? 3 : 4;
    };
  };

  const isIn = (state: string | null) => (each: Words) => state === null || each.hospital.state === state;

  const joined = (words: readonly string[]) => words.map(long).join("");
  const byName = Map.groupBy(
    all.flatMap((each) => {
      const names = [each.hospital.name, ...(unofficialNames.get(each.hospital.ccn) ?? [])];
      const ways = names
        .map(splitJoined)
        .flatMap((words) => [words, words.filter((word) => !fillers.has(word))]);
      const short = names.slice(1).map((name) => telling(splitJoined(name)));
      return [...new Set([...ways, ...short].map(joined))].map((name) => ({ name, each }));
    }),
    ({ name }) => name,
  );

  /** Nicknames of cities, and other names of states, with their state. */
  const otherPlaces = new Map([
    ...meaningsOf("state"),
    ...[...meaningsOf("city")].map(([nickname, what]): [string, string] => [nickname, what.slice(0, 2)]),
  ]);

  /** The hospitals of each place as one word: a city, a state, a city with its state, or a ZIP code. */
  const byPlace = Map.groupBy(
    all.flatMap((each) => {
      const { state, zip = "" } = each.hospital;
      const states = [state, stateNames[state]].map(oneWord);
      const withStates = states.flatMap((name) => [each.city + name, name + each.city]);
      return [...new Set([each.city, zip, ...states, ...withStates])].map((place) => ({ place, each }));
    }),
    ({ place }) => place,
  );
  const hospitalsIn = (words: readonly string[]): Words[] => {
    const place = joined(words);
    const state = otherPlaces.get(place);
    const inState = state === undefined ? [] : all.filter(({ hospital }) => hospital.state === state);
    return [...(byPlace.get(place) ?? []).map(({ each }) => each), ...inState];
  };

  const stateOf = (words: readonly string[]) => codeOf.get(joined(words));
  const isOnly = (first: Words, of: readonly Words[]) => of.length > 0 && of.every((each) => each === first);

  /** Whether a search may be sure of its first result: a CCN, a name that one hospital has, one place, or one hospital left. */
  function isOneMeant(typed: readonly string[], ccns: readonly string[], state: string | null): boolean {
    const first = byCcn.get(ccns[0]) ?? all[0];
    if (ccns.length === 1 || typed.includes(first.hospital.ccn.toLowerCase())) return true;
    const named = (words: readonly string[]) =>
      (byName.get(joined(words)) ?? []).map(({ each }) => each).filter(isIn(state));
    for (const words of [typed, plain(typed), telling(typed)]) {
      if (words.length === 0) continue;
      if (isOnly(first, named(words))) return true;
      for (let at = 1; at < words.length; at++)
        for (const [name, place] of [
          [words.slice(0, at), words.slice(at)],
          [words.slice(at), words.slice(0, at)],
        ]) {
          const there = new Set(hospitalsIn(place));
          const namedThere = named(name).filter((each) => there.has(each));
          if (isOnly(first, namedThere)) return true;
        }
      // Washington hospitals are in the state, and not in a city of its name.
      const isState = words.length < typed.length && stateOf(words) !== undefined;
      const there = hospitalsIn(words)
        .filter(({ hospital }) => !isState || hospital.state === stateOf(words))
        .filter(isIn(state));
      if (there.includes(first) && new Set(there.map(({ hospital }) => hospital.state)).size === 1)
        return true;
    }
    const significant = telling(typed);
    // Words for any hospital within a state ask for its hospitals.
    if (significant.length === 0 && state !== null && typed.some((word) => kinds.has(long(word))))
      return true;
    const left = all
      .filter(isIn(state))
      .filter(
        (each) =>
          each.city.startsWith(joined(significant)) ||
          significant.every(
            (word) => hasWord(each, word) || each.otherWords.some((other) => other.startsWith(word)),
          ),
      );
    return significant.length > 0 && isOnly(first, left);
  }

  return (query: string, state: string | null): void => {
    const subject = JSON.stringify([query, state]);
    const typed = splitJoined(query);
    const words = typed.filter((word, i) => word !== "in" || !isPlace(typed.slice(i + 1)));
    const [first = ""] = words;
    const meant = [...new Set([...(having.get(first) ?? []), ...(having.get(long(first)) ?? [])])].filter(
      (each) => isIn(state)(each) && words.every((word) => hasWord(each, word)),
    );
    const { documents, scores } = search(image, "facility", query, 0, hospitals.length, state);
    const ccns = Array.from(documents, (facility) => textAt(image.ccn, facility));
    const found = new Set(ccns);
    assert.equal(found.size, ccns.length, `${subject} finds each hospital once`);
    const [lost] = meant.filter(({ hospital }) => !found.has(hospital.ccn));
    assert.equal(lost?.hospital, undefined, `${subject} finds ${lost?.hospital.name}`);
    const classOf = classesOf(query);
    const classes = ccns.map((ccn) => classOf(byCcn.get(ccn) ?? all[0]));
    const early = classes.findIndex((each, i) => i > 0 && each < classes[i - 1]);
    assert.equal(early, -1, `${subject}: ${ccns[early]} is of an earlier class than what stands before it`);
    assert.ok(
      scores.every((score, i) => score > 0 && score <= (scores[i - 1] ?? 1)),
      `${subject}: scores descend`,
    );
    assert.ok((scores[0] ?? 0) < 0.5 || isOneMeant(typed, ccns, state), `${subject}: ${ccns[0]} is sure`);
  };
}

/** The images that the tests of all words, names and cities search, with the coordinates of ZIP codes. */
export const imageOfHospitals = (hospitals: readonly Hospital[]): Image =>
  attachImage(buildImage(snapshotOfHospitals(hospitals), undefined, places));

/**
 * Asserts that a city's name and the word hospital find all of its hospitals, surely if its state stands there, that the
 * state may stand before it, and that a search around it is one for a place.
 */
export function checkCities(image: Image, hospitals: readonly Hospital[]): void {
  for (const there of sampled(Map.groupBy(hospitals, ({ city, state }) => `${city}, ${state}`).values())) {
    const [{ city, state, zip = "" }] = there;
    const withState = ["hospital ST", "ST hospital"].map((way) => `${city} ${way.replace("ST", state)}`);
    withState.push(`${city} ${state.toLowerCase()} hospital`, `hospitals in ${city}, ${state}`);
    for (const query of [`${city} hospital`, ...withState]) {
      const matches = find(image, query);
      const found = new Set(matches.map(({ code }) => code));
      for (const { ccn, name } of there) assert.ok(found.has(ccn), `${query} finds ${name}`);
      assert.ok(query === `${city} hospital` || matches[0].score >= 0.5, `${query} is sure`);
    }
    // The table of places may lack a ZIP code.
    const isKnown = search(image, "facility", zip, 0, 1).place !== null;
    for (const way of [`${zip} ${state}`, `${state} ${zip}`, `hospitals in ${zip} ${stateNames[state]}`]) {
      if (!isKnown) continue;
      const { place, scores } = search(image, "facility", way, 0, 1);
      assert.ok(place !== null && "near" in place && place.near === zip && scores[0] >= 0.5, way);
    }
    const around = [`hospitals around ${city}, ${state}`, `around ${zip}`, `hospitals 20 miles from ${zip}`];
    for (const way of around) {
      const { place, total, scores } = search(image, "facility", way, 0, 1);
      // The table of places may lack a city or a ZIP code.
      if (place === null && citiesNamed(image, splitWords(`${city} ${state}`)).length === 0) continue;
      assert.ok(total > 0 && scores[0] >= 0.5, way);
    }
  }
}

/** The words of texts in English, without their examples: these may be hospitals' names. */
export function wordsOfDocuments(): readonly string[] {
  const files = ["README.md", "CHANGELOG.md", "engine/README.md", "server/README.md", "server/api/README.md"];
  const texts = files.map((file) => readFileSync(new URL(`../../${file}`, import.meta.url), "utf8"));
  return [...new Set(texts.map((text) => text.replaceAll(/`[^`]*`/g, " ")).flatMap(splitJoined))];
}

/**
 * Returns a function that asserts that a word beside a hospital's whole name and city takes nothing from what is found: the
 * hospital is found, and a word that finds nothing by itself is set aside, unless it is a small one.
 */
export function besideNameChecker(image: Image, hospitals: readonly Hospital[]) {
  const places = new Set(
    hospitals.flatMap(({ city, state }) => [city, state, stateNames[state]]).flatMap(splitJoined),
  );
  const wordsByCcn = new Map(hospitals.map((each) => [each.ccn, wordsOf(each)]));
  const hasAll = (ccn: string, query: string) => {
    const { words = new Set<string>(), otherWords = [] } = wordsByCcn.get(ccn) ?? {};
    const short = [...words, ...otherWords];
    const own = short.flatMap((word) => [word, ...(institutionsOf.get(word) ?? [])]);
    return telling(splitJoined(query)).every((each) =>
      own.some((one) => one === each || one === long(each) || (each.length > 2 && one.startsWith(each))),
    );
  };
  /** Whether a word may be set aside: it is no number, no place and not medical. */
  const isOther = (word: string) =>
    /^[a-z]{3,}$/.test(word) &&
    !places.has(word) &&
    !isMedical(word) &&
    splitWords(word).every((each) => placesNamed(image, [each]).length === 0);
  return (word: string, { ccn, name, city, state }: Hospital): void => {
    if (!isOther(word)) return;
    const isAlone = search(image, "facility", word, 0, 1).total === 0;
    const isSmall = fillers.has(word) || questions.has(word) || kinds.has(long(word));
    for (const query of [`${name} ${city} ${word}`, `${word} ${name}, ${city} ${state}`]) {
      // The letters of a state may make it a part of a term, as in "PA catheter".
      if (medicalIn(splitWords(query))(word)) continue;
      const { documents, ignored } = search(image, "facility", query, 0, hospitals.length);
      const found = Array.from(documents, (facility) => textAt(image.ccn, facility));
      // Another hospital may have all the words, such as University of Mississippi Medical Center in Jackson.
      const isAnother = !isAlone && !ignored.includes(word) && found.some((each) => hasAll(each, query));
      assert.ok(found.includes(ccn) || isAnother, `${query} finds ${name}`);
      if (isAlone && !isSmall) assert.deepEqual(ignored, [word], query);
    }
  };
}

const codes = Object.keys(stateNames).map((code) => code.toLowerCase());

/** Asserts that each alternative to a search that ends with letters of a state finds something else. */
export function checkAlternatives(
  image: Image,
  hospitals: readonly Hospital[],
  random: Random,
  rounds: number,
): void {
  let offered = 0;
  for (let i = 0; i < rounds; i++) {
    const { name, city } = random.pick(hospitals);
    const [first] = name.split(" ");
    const code = random.pick(codes);
    const query = random.pick([
      `${first} ${code}`,
      `${city} ${code.toUpperCase()}`,
      `${first} ${code} hospital`,
    ]);
    const { alternative, documents } = search(image, "facility", query, 0, 1);
    if (alternative === null) continue;
    offered++;
    const other = search(image, "facility", alternative.q, 0, 1, alternative.state ?? null);
    const subject = `${query}, ${JSON.stringify(alternative)}`;
    assert.ok(other.total > 0, subject);
    assert.notEqual(other.documents[0], documents[0], subject);
  }
  assert.ok(offered > 0, "none was offered");
}
