import assert from "node:assert/strict";
import { test } from "node:test";
import { citiesNamed, search, splitWords, stateNames, textAt } from "../../engine/index.ts";
import { entriesOf, meaningsOf, phrasesOf } from "../../engine/search/lexicon.ts";
import { isMedical } from "../../engine/search/procedure-terms.ts";
import { saysSomething } from "../../engine/search/text.ts";
import {
  besideNameChecker,
  checkAlternatives,
  checkCities,
  imageOfHospitals,
  literalChecker,
  literalQueries,
  wordsOfDocuments,
} from "../support/literal.ts";
import { seededRandom } from "../support/random.ts";
import { type Hospital, realHospitals } from "../support/relevance.ts";
import { rounds, sampled } from "../support/rounds.ts";
import { checkSentence, sentenceAbout } from "../support/sentences.ts";

/** Tests what searches for facilities promise, with CMS's directory. Literal matches are tested with a quarter of its words, names and cities, other promises with one of 30, and in long trials all with all. */

const seed = 20_260_401;
const hospitals = realHospitals();
const image = imageOfHospitals(hospitals);
const check = literalChecker(image, hospitals);
const { always, further } = literalQueries(hospitals, seed);
const allWords = new Set(
  [
    ...hospitals.flatMap(({ name, city }) => [name, city]),
    ...entriesOf("hospital").flatMap(({ phrases }) => phrases),
  ].flatMap(splitWords),
);

test("every word, name and city finds whatever literally has it, in the promised order, and is sure of one thing only", () => {
  for (const query of sampled(always, 4)) check(query, null);
});

test("so do beginnings and pairs of words, and everything within a state", () => {
  const random = seededRandom(seed);
  const states = Object.keys(stateNames);
  for (const query of sampled(further)) check(query, null);
  for (const query of sampled([...always, ...further])) check(query, random.pick(states));
});

test("a city's name with the word hospital finds its hospitals, and so do its state before it, and words for around", () => {
  checkCities(image, hospitals);
});

test("no hospital is sure in a search within a region, also not one that was named after it", () => {
  for (const { phrases } of entriesOf("region"))
    for (const region of phrases)
      for (const query of [`hospitals in ${region}`, `hospitals in the ${region}`]) {
        const { documents, scores } = search(image, "facility", query, 0, 1);
        // Delta is a city, too.
        const isCity = scores.length > 0 && textAt(image.city, documents[0]).toLowerCase() === region;
        assert.ok(isCity || !(scores[0] >= 0.5), `${query}: ${scores[0]}`);
      }
});

test("a region beside words of a question is no surer than alone", () => {
  for (const { phrases } of entriesOf("region"))
    for (const region of phrases) {
      const [alone] = search(image, "facility", region, 0, 1).scores;
      for (const query of [`find ${region}`, `${region} prices`]) {
        const [score] = search(image, "facility", query, 0, 1).scores;
        assert.ok(alone >= 0.5 || !(score >= 0.5), `${query}: ${score}`);
      }
    }
});

test("a region beside medical words is never set aside: no hospital elsewhere is meant", () => {
  for (const { phrases } of entriesOf("region"))
    for (const region of phrases)
      for (const medical of ["imaging", "bone", "spine"]) {
        const { ignored } = search(image, "facility", `${medical} in ${region}`, 0, 1);
        assert.deepEqual(ignored, [], `${medical} in ${region}`);
      }
});

test("a city whose name is a word of most hospitals is surely meant where it is spelt so, with words for a hospital", () => {
  for (const [city, state] of [
    ["Centre", "AL"],
    ["Many", "LA"],
    ["Price", "UT"],
  ])
    for (const way of [
      "in CITY",
      "CITY hospital",
      "hospital CITY",
      "hospitals in CITY",
      "CITY ST hospital",
      "CITY hospital ST",
    ]) {
      const query = way.replace("CITY", city).replace("ST", state);
      const { documents, scores, alternative } = search(image, "facility", query, 0, 2);
      assert.equal(textAt(image.city, documents[0]), city, query);
      assert.ok(scores[0] >= 0.5 && !(scores[1] >= 0.5), `${query}: ${scores}`);
      // LA has another meaning in any search, and IN is a state.
      if (!way.includes("ST") && way !== "in CITY") assert.equal(alternative, null, query);
    }
});

const statesOf = new Map(
  [...Map.groupBy(hospitals, ({ city }) => city.toLowerCase())].map(([city, there]) => [
    city,
    new Set(there.map(({ state }) => state)),
  ]),
);

test("a county with a state is surely a hospital of another state only if its name has the state's letters or name", () => {
  const random = seededRandom(seed);
  const states = Object.keys(stateNames);
  for (const { city } of sampled(hospitals)) {
    const state = random.pick(states);
    const query = `hospitals in ${city} County, ${state}`;
    const { documents, scores } = search(image, "facility", query, 0, 1);
    if (!(scores[0] >= 0.5)) continue;
    const [there, ...texts] = [image.state, image.facilityName, image.city].map((of) =>
      textAt(of, documents[0]),
    );
    const written = state === "LA" ? "Los Angeles" : `(${state}|${stateNames[state]})`;
    const isNamed = new RegExp(`\\b${written}\\b`, "i").test(texts.join(" "));
    assert.ok(there === state || isNamed, query);
  }
});

test("whole names within words that say nothing or ask are found, and no other hospital is sure", () => {
  const random = seededRandom(seed);
  for (let round = 0; round < rounds(1); round++)
    for (const hospital of sampled(hospitals)) checkSentence(image, sentenceAbout(hospital, random));
});

test("the country's name behind a place or a hospital's name and place leads to the same hospital", () => {
  const random = seededRandom(seed);
  for (const { name, city, state } of sampled(hospitals))
    for (const query of [
      `hospitals in ${city}, ${state}`,
      `${city}, ${state}`,
      `${name}, ${city}, ${state}`,
    ]) {
      const alone = search(image, "facility", query, 0, 5);
      const country = random.pick(["USA", "U.S.A.", "United States"]);
      const { total, documents } = search(image, "facility", `${query}, ${country}`, 0, 5);
      assert.deepEqual([query, documents[0]], [query, alone.documents[0]]);
      // A last word may be a beginning, such as the RI of New Port Richey.
      assert.ok(total > 0 && total <= alone.total, `${query}: ${total} of ${alone.total}`);
    }
});

test("the in, en or de before a city isn't a state, and a city that several states have is no sure answer", () => {
  const names = new Set(Object.values(stateNames).map((name) => name.toLowerCase()));
  for (const [city, states] of statesOf) {
    if (states.size < 2 || !states.has("IN") || names.has(city)) continue;
    for (const query of [
      `hospitals in ${city}`,
      `hospitales en ${city}`,
      `hospitals in the city of ${city}`,
    ]) {
      const { documents, scores, total } = search(image, "facility", query, 0, 50);
      assert.ok(scores[0] < 0.5, `${query}: ${scores[0]}`);
      const found = new Set(Array.from(documents, (facility) => textAt(image.state, facility)));
      assert.ok(total > 50 || [...states].every((state) => found.has(state)), query);
    }
  }
  for (const query of ["hospital de Newark", "hospital de Dover"])
    assert.ok(search(image, "facility", query, 0, 1).scores[0] < 0.5, query);
});

test("letters of a state beside words for hospitals are the state, in English and in Spanish", () => {
  for (const code of new Set(hospitals.map(({ state }) => state)))
    for (const query of [
      `${code} hospitals`,
      `hospitals in ${code}`,
      `hospitales en ${code}`,
      `hospitales en ${code.toLowerCase()}`,
    ]) {
      // LA and VA mean something else as well.
      if (["LA", "VA"].includes(code)) continue;
      const { documents, scores } = search(image, "facility", query, 0, 1);
      assert.equal(textAt(image.state, documents[0]), code, query);
      assert.ok(scores[0] >= 0.5, `${query}: ${scores[0]}`);
    }
});

test("letters of a state before or behind a procedure are the state, or the other search has it", () => {
  for (const code of new Set(hospitals.map(({ state }) => state)))
    for (const letters of [code, code.toLowerCase()])
      for (const query of [`level 2 excision ${letters}`, `${letters} Level 2 Excision`]) {
        // In small letters before a procedure, "in" and "or" are words.
        if (/^(in|or) /.test(query)) continue;
        const { place, alternative } = search(image, "procedure", query, 0, 1);
        if (code === "LA") assert.match(alternative?.q ?? "", /Louisiana/, query);
        else assert.equal(place !== null && "state" in place ? place.state : alternative?.state, code, query);
      }
});

test("a city's name that begins like a Spanish word is the city beside a procedure", () => {
  for (const city of ["Boca Raton", "Hilton Head Island", "Cape May Court House"])
    for (const query of [`level 2 excision ${city}`, `${city} level 2 excision`]) {
      const { place } = search(image, "procedure", query, 0, 1);
      assert.ok(place !== null && "near" in place && place.near.startsWith(city), query);
    }
});

test("a city that begins with a Spanish article keeps it in a Spanish search for a procedure", () => {
  for (const [city, states] of statesOf) {
    if (!/^(el|la|los|las) /.test(city) || states.size > 1) continue;
    const { place } = search(image, "procedure", `reemplazo de rodilla en ${city}`, 0, 1);
    assert.ok(place !== null && "near" in place && place.near.toLowerCase().startsWith(city), city);
  }
});

test("a city with hospitals beside a procedure isn't meant if a larger one of its name has none", () => {
  for (const city of ["carlsbad", "rockport", "sunnyvale"]) {
    const { place, ignored } = search(image, "procedure", `level 2 excision ${city}`, 0, 1);
    assert.deepEqual([place, ignored], [null, [city]]);
  }
});

test("a Spanish article before a city or state says nothing, unless a city's name begins with it", () => {
  const places = sampled(statesOf.keys());
  const allFound = (query: string) => search(image, "facility", query, 0, hospitals.length).documents;
  for (const place of ["bronx", "florida", ...places])
    for (const article of ["el", "la", "los", "las"]) {
      const words = [article, ...splitWords(place)];
      if (words.some((_, i) => i > 0 && citiesNamed(image, words.slice(0, i + 1)).length > 0)) continue;
      const query = `hospitales en ${article} ${place}`;
      const found = new Set(allFound(query));
      assert.ok(found.size > 0, query);
      for (const facility of allFound(`hospitales en ${place}`)) assert.ok(found.has(facility), query);
    }
});

test("the letters VA before a word for a hospital name Veterans Affairs and are no sure state", () => {
  for (const city of sampled(new Set(hospitals.map((each) => each.city))))
    for (const query of [`va hospital ${city}`, `VA hospital in ${city}`]) {
      const { absent, scores } = search(image, "facility", query, 0, 1);
      assert.ok(!(scores[0] >= 0.5), query);
      assert.match(absent[0].name, /Veterans/, query);
    }
  // Another city that sounds alike isn't meant.
  assert.equal(search(image, "facility", "VA hospital in Dallas", 0, 1).total, 0);
});

test("the only hospital that has the words of a kind in its name isn't the kind that is absent", () => {
  for (const query of ["Cincinnati Children's", "st jude fullerton"]) {
    const { absent, scores, total } = search(image, "facility", query, 0, 1);
    assert.deepEqual([total, absent, scores[0] >= 0.5], [1, [], true], query);
  }
});

test("the whole country lists all hospitals, and none surely", () => {
  const { total, scores } = search(image, "facility", "hospitals in the United States", 0, 1);
  assert.deepEqual([total > 3000, scores[0] >= 0.5], [true, false]);
});

test("around a city without hospitals, a search is sure, although a city of the name elsewhere has some", () => {
  for (const near of ["Evergreen, CO", "Providence, UT"]) {
    const { place, scores } = search(image, "facility", `hospitals near ${near}`, 0, 1);
    assert.deepEqual([place, scores[0] >= 0.5], [{ near }, true]);
  }
});

test("each city with a hospital has a place, also where the table of places lacks it", () => {
  for (const { city, state } of hospitals) {
    const there = citiesNamed(image, splitWords(`${city}, ${state}`));
    assert.deepEqual(new Set(there.map((each) => each.state)), new Set([state]), `${city}, ${state}`);
  }
});

test("a nickname of several words is sure of its city, and one word that begins others isn't", () => {
  for (const [query, city, isSure] of [
    ["new york city", "New York", true],
    ["nyc", "Bellevue", true],
    ["nyc ny", "New York", true],
    ["philly pa", "Pennsylvania", true],
    ["fla", "Flagler", false],
  ] as const) {
    const { documents, scores } = search(image, "facility", query, 0, 1);
    assert.match(textAt(image.facilityName, documents[0]), new RegExp(city), query);
    assert.equal(scores[0] >= 0.5, isSure, query);
  }
});

test("the me of a sentence isn't Maine, and the state alone is", () => {
  for (const [query, isMaine] of [
    ["help me find mercy", false],
    ["tell me about mercy hospitals", false],
    ["show me medical center", false],
    ["list me hospital", false],
    ["show me maine hospitals", true],
    ["hospitals in ME", true],
  ] as const) {
    const { documents } = search(image, "facility", query, 0, 1);
    assert.equal(textAt(image.state, documents[0]) === "ME", isMaine, query);
  }
});

test("any word beside a hospital's whole name and city is set aside, and the hospital is found", () => {
  const checkBeside = besideNameChecker(image, hospitals);
  const random = seededRandom(seed);
  const words = wordsOfDocuments();
  for (const word of sampled(words)) checkBeside(word, random.pick(hospitals));
  for (const hospital of sampled(hospitals)) checkBeside(random.pick(words), hospital);
});

test("small letters, capitals and titles give the same answer", () => {
  const places = hospitals.flatMap(({ name, city, state }) =>
    [name, city, `NAME ST`, "CITY hospital ST", "ST CITY hospital"].map((way) =>
      way.replace("NAME", name).replace("CITY", city).replace("ST", state),
    ),
  );
  const states = Object.keys(stateNames).flatMap((code) =>
    ["ST hospital", "hospitals in ST", "clinic ST"].map((way) => way.replace("ST", code)),
  );
  const title = (text: string) => text.toLowerCase().replace(/\b[a-z]/g, (letter) => letter.toUpperCase());
  for (const query of new Set([...sampled(places), ...states])) {
    const [own, ...others] = [query, query.toLowerCase(), query.toUpperCase(), title(query)].map((text) => {
      const { total, documents, scores } = search(image, "facility", text, 0, 25);
      return { total, documents, scores };
    });
    for (const other of others) assert.deepEqual(other, own, query);
  }
});

test("letters of a state and a word for hospitals list the state's hospitals, also where the letters are a word", () => {
  for (const code of new Set(hospitals.map(({ state }) => state)))
    for (const query of [`${code} hospitals`, `${code} hospital`, `${code} clinic`])
      for (const text of [query, query.toLowerCase()]) {
        const { documents, scores } = search(image, "facility", text, 0, 1);
        // LA and VA mean something else as well.
        if (!["LA", "VA"].includes(code))
          assert.deepEqual([textAt(image.state, documents[0]), scores[0] >= 0.5], [code, true], text);
        else assert.ok(scores.length > 0, text);
      }
});

test("nurses in a city ask for all of its hospitals, also where one is named after it", () => {
  for (const there of sampled(Map.groupBy(hospitals, ({ city, state }) => `${city}, ${state}`).values())) {
    const [{ city, state }] = there;
    if (!splitWords(city).every(saysSomething)) continue;
    for (const query of [`nurses in ${city}, ${state}`, `${city} ${state} nurse`]) {
      const { documents, scores } = search(image, "facility", query, 0, hospitals.length);
      const found = new Set(Array.from(documents, (facility) => textAt(image.ccn, facility)));
      for (const { ccn, name } of there) assert.ok(found.has(ccn), `${query} finds ${name}`);
      assert.ok(scores[0] < 0.5, query);
    }
  }
});

test("the s of a city's hospitals is no letter of the city", () => {
  for (const city of sampled(statesOf.keys())) {
    // Centre is another form of a word of names.
    if (
      !/[a-z]{3}$/.test(city) ||
      meaningsOf("form").has(city) ||
      allWords.has(`${splitWords(city).at(-1)}s`)
    )
      continue;
    const [possessive, plain] = [`${city}'s hospitals`, `${city} hospitals`].map((query) => {
      const { total, documents, scores } = search(image, "facility", query, 0, 25);
      return { total, documents, scores };
    });
    assert.deepEqual(possessive, plain, city);
  }
});

test("a word of a name whose last letters are exchanged finds the hospital, also where the letters are several words", () => {
  for (const { name, city, state } of sampled(hospitals))
    for (const word of new Set(splitWords(name).filter((each) => /^[a-z]{5,}$/.test(each)))) {
      const mistyped = word.replace(/(.)(.)$/, "$2$1");
      if (allWords.has(mistyped)) continue;
      const query = `${splitWords(name).join(" ").replace(word, mistyped)} ${city} ${state}`;
      const { documents } = search(image, "facility", query, 0, hospitals.length);
      const found = Array.from(documents, (facility) => textAt(image.facilityName, facility));
      assert.ok(found.includes(name), query);
    }
});

test("a whole name is meant beside words of a question as it is alone", () => {
  const firstOf = (query: string) => {
    const { documents, scores } = search(image, "facility", query, 0, 1);
    return [textAt(image.ccn, documents[0]), scores[0] >= 0.5];
  };
  for (const name of sampled([...new Set(hospitals.map(({ name }) => name))])) {
    const [first, isSure] = firstOf(name);
    // The Saint Vincent Hospital isn't the only St Vincent Hospital.
    for (const query of [`find ${name}`, `${name} prices`, `what does ${name} charge`]) {
      const [beside, isSureBeside] = firstOf(query);
      assert.deepEqual([isSure ? beside : first, isSureBeside], [first, isSure], query);
    }
  }
  for (const name of ["Mayo Clinic", "Medical Center Hospital", "Metropolitan Hospital Center", "Sanford"])
    for (const query of [`find ${name}`, `where is ${name}`]) assert.deepEqual(firstOf(query), firstOf(name));
});

test("words for a hospital find as many beside a word of a question as alone, unless both are a place", () => {
  const find = (query: string) => search(image, "facility", query, 0, 1);
  for (const kind of ["hospital", "medical center", "clinic"]) {
    const alone = find(kind).total;
    for (const word of sampled([...phrasesOf("question"), ...phrasesOf("filler")])) {
      // "Next hospital" asks for the nearest one.
      if (phrasesOf("nearest").has(word)) continue;
      for (const query of [`${word} ${kind}`, `${kind} ${word}`]) {
        const { total, scores } = find(query);
        assert.ok(total >= alone || scores[0] >= 0.5, `${query}: ${total}, alone ${alone}`);
      }
    }
  }
});

test("Spanish words of a question beside the word hospitals list all hospitals", () => {
  for (const query of ["buscar hospitales", "todos los hospitales", "precios de hospitales"])
    assert.equal(search(image, "facility", query, 0, 1).total, hospitals.length, query);
});

test("a city and another state are no place, and several places list the hospitals of each", () => {
  const isOf =
    (...places: string[]) =>
    ({ city, state }: Hospital) =>
      places.some((place) => [city, state, `${city}, ${state}`].includes(place));
  for (const [query, ...places] of [
    ["Marietta, OK"],
    ["Ogden, KS"],
    ["Odessa, OR"],
    ["Marietta, OK and Boston"],
    ["Texas, Oklahoma", "TX", "OK"],
    ["New York, New Jersey", "NY", "NJ"],
    ["Boston and Texas", "Boston", "TX"],
    // Some hospitals have all of these words.
    ["Louisiana and TX", "LA", "TX"],
    ["Texas & MD", "TX", "MD"],
    ["Boston or Crescent City", "Boston", "Crescent City"],
    ["texas, boston", "Boston", "TX"],
    ["Boston, MA, Chicago, IL", "Boston, MA", "Chicago, IL"],
    ["dallas, fort worth, and austin", "Dallas", "Fort Worth", "Austin"],
    ["show me hospitals in Boston vs. Chicago", "Boston", "Chicago"],
    ["hospitales en dallas y houston", "Dallas", "Houston"],
    ["Pensacola / New York", "Pensacola", "New York"],
  ] as const) {
    const { documents, scores } = search(image, "facility", query, 0, hospitals.length);
    const found = Array.from(documents, (facility) => textAt(image.ccn, facility)).sort();
    const there = hospitals.filter(isOf(...places)).map(({ ccn }) => ccn);
    assert.deepEqual([found, scores[0] >= 0.5], [there.sort(), false], query);
  }
});

test("two cities with their states list the hospitals of both", () => {
  const random = seededRandom(seed);
  for (const one of sampled(hospitals)) {
    const other = random.pick(hospitals);
    const [here, there] = [one, other].map(({ city, state }) => `${city}, ${state}`);
    // Country is a part of the city Town and Country.
    if (/ and /i.test(here + there)) continue;
    for (const query of [`${here}, ${there}`, `hospitals in ${here} and ${there}`]) {
      const { documents } = search(image, "facility", query, 0, hospitals.length);
      const found = new Set(Array.from(documents, (facility) => textAt(image.ccn, facility)));
      for (const { ccn, name, city, state } of hospitals)
        if ([here, there].includes(`${city}, ${state}`)) assert.ok(found.has(ccn), `${query} finds ${name}`);
    }
  }
});

test("names and cities without blanks find the same as with blanks, also with short forms or long ones", () => {
  const longForms = meaningsOf("form");
  const shortForms = Map.groupBy(longForms.keys(), (form) => longForms.get(form));
  const random = seededRandom(seed);
  const long = (word: string) => longForms.get(word) ?? word;
  const short = (word: string) => random.pick([word, ...(shortForms.get(long(word)) ?? [])]);
  const firstOf = (query: string) => {
    const { documents, scores } = search(image, "facility", query, 0, 1);
    const [name, city, state] = [image.facilityName, image.city, image.state].map((of) =>
      textAt(of, documents[0]),
    );
    return {
      name: splitWords(name).map(long).join(""),
      place: `${splitWords(city).join(" ")}, ${state}`,
      isSure: scores[0] >= 0.5,
    };
  };
  for (const { name, city, state } of sampled(hospitals)) {
    const [words, there] = [name, city].map(splitWords);
    const ways = [words, words.map(long), words.map(short)].map((way) => way.join(""));
    const isSeveral = words.length > 1;
    for (const way of isSeveral ? [name.replaceAll(" ", ""), ...ways] : []) {
      const [together, apart] = [way, name].map(firstOf);
      assert.deepEqual([together.name, together.isSure], [apart.name, apart.isSure], `${way} as ${name}`);
    }
    // The beginning of a city is one of others, too: suncitycent.
    const isBeginning = (way: readonly string[]) =>
      there.map(long).join("").startsWith(way.join("")) && way.join("") !== there.map(long).join("");
    for (const way of there.length > 1
      ? [there, there.map(long), there.map(short)].filter((each) => !isBeginning(each))
      : [])
      for (const text of [`CITY ${state}`, `CITY hospital ${state}`]) {
        const query = text.replace("CITY", way.join(""));
        const [together, apart] = [query, text.replace("CITY", city)].map(firstOf);
        assert.deepEqual([together.place, together.isSure], [apart.place, apart.isSure], query);
      }
  }
});

test("a medical word beside a hospital's whole name is never set aside", () => {
  const random = seededRandom(seed);
  const phrases = (...kinds: string[]) => kinds.flatMap(entriesOf).flatMap((entry) => entry.phrases);
  const absent = entriesOf("absent").filter(({ what }) => !what.startsWith("nothing"));
  const terms = [
    ...phrases("procedure", "body", "word", "aside"),
    ...absent.flatMap((entry) => entry.phrases),
  ];
  // Words that say nothing about a procedure, and nouns of hospitals.
  const others = phrases("generic", "filler", "question", "kind", "department", "doctor", "aside-other");
  const isOther = new Set(others.flatMap((phrase) => phrase.split(" ")));
  for (const { what, phrases } of entriesOf("word"))
    if (isOther.has(what)) for (const form of phrases) isOther.add(form);
  for (const term of sampled(new Set(terms))) {
    const words = splitWords(term);
    const medical = words.filter((word) => !isOther.has(word) && !isOther.has(`${word}s`));
    const isUnknown = medical.length > 0 && search(image, "facility", medical[0], 0, 1).total === 0;
    const { name, city } = random.pick(hospitals);
    for (const query of [`${name} ${term}`, `${term} at ${name}, ${city}`]) {
      const { ignored, total } = search(image, "facility", query, 0, 1);
      for (const word of medical) assert.ok(!ignored.includes(word), `${query}: ${ignored}`);
      if (isUnknown) assert.equal(total, 0, query);
    }
  }
});

test("no department in the lexicon is a medical word", () => {
  for (const phrase of phrasesOf("department"))
    for (const word of phrase.split(" ")) assert.ok(!isMedical(word), phrase);
});

test("letters with two meanings have another search that finds something else, and null where the state leads", () => {
  checkAlternatives(image, hospitals, seededRandom(seed), rounds(1000));
  const alternativeTo = (query: string) => search(image, "facility", query, 0, 1).alternative;
  for (const query of ["va", "va hospital", "hospitals in VA", "mercy in", "cleveland ok"])
    assert.equal(alternativeTo(query), null, query);
  assert.deepEqual(alternativeTo("la"), { q: "Los Angeles" });
  assert.deepEqual(alternativeTo("la hospital"), { q: "Louisiana hospital" });
  assert.deepEqual(alternativeTo("memorial la"), { q: "memorial Louisiana" });
});
