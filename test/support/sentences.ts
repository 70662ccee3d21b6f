import assert from "node:assert/strict";
import { type Image, search, stateNames, textAt } from "../../engine/index.ts";
import {
  beforePlace,
  fillers,
  kinds,
  meaningsOf,
  phrasesOf,
  questions,
} from "../../engine/search/lexicon.ts";
import type { Random } from "./random.ts";
import type { Hospital } from "./relevance.ts";

/**
 * Sentences about a hospital by its whole name, such as "how much does NAME charge", and what a search may be sure of. The words
 * beside the name are the lexicon's small words, words of questions, and words for a hospital.
 */

/** Words of one letter beside each other make initials, which are another word. */
const groups = [fillers, questions, new Set([...kinds, ...phrasesOf("any")])].map((group) =>
  [...group].filter((word) => word.length > 1),
);
/** Behind words such as in and near, a city is meant, and not a hospital that is named after it. */
const groupsBefore = groups.map((group) => group.filter((word) => !beforePlace.has(word)));
/** Letters of a state behind a city are the state. */
const groupsBehind = groups.map((group) => group.filter((word) => !(word.toUpperCase() in stateNames)));
const mostBeside = 3;
const ways = ["NAME", "NAME in CITY, ST", "NAME, CITY ST", "NAME CITY"];

export interface Sentence {
  text: string;
  hospital: Hospital;
  /** Whether the sentence names the hospital's city. */
  hasPlace: boolean;
}

/** Draws a sentence about a hospital. */
export function sentenceAbout(hospital: Hospital, random: Random): Sentence {
  const words = (from: string[][]) =>
    Array.from({ length: random.int(mostBeside + 1) }, () => random.pick(random.pick(from)));
  const hasPlace = random.int(2) === 0;
  const { name, city, state } = hospital;
  const way = hasPlace ? random.pick(ways.slice(1)) : ways[0];
  const named = way.replace("NAME", name).replace("CITY", city).replace("ST", state);
  return { text: [...words(groupsBefore), named, ...words(groupsBehind)].join(" "), hospital, hasPlace };
}

const longForms = meaningsOf("form");

/** The words of a text in their long forms, without small ones. */
const significant = (text: string) =>
  text
    .normalize("NFKD")
    .replace(/[\p{M}'’]/gu, "")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "" && !fillers.has(word))
    .map((word) => longForms.get(word) ?? word);

/**
 * Asserts that a search for a sentence finds something, and is sure of no other hospital than the one that is named: of one with
 * the same name, in the city if the sentence has one, or of one whose longer name the sentence has. Beside words such as closest,
 * a name of words that say nothing asks for a place.
 */
export function checkSentence(image: Image, { text, hospital, hasPlace }: Sentence): void {
  const { documents, scores, total, why } = search(image, "facility", text, 0, 1);
  assert.ok(total > 0 || why?.isHere, `${text} finds something`);
  if (!(scores[0] >= 0.5)) return;
  const [name, city, state] = [image.facilityName, image.city, image.state].map((texts) =>
    textAt(texts, documents[0]),
  );
  const [asked, found] = [hospital.name, name].map((each) => significant(each).join(" "));
  const isThere = !hasPlace || (city === hospital.city && state === hospital.state);
  const isLonger = found.length > asked.length && ` ${significant(text).join(" ")} `.includes(` ${found} `);
  assert.ok((found === asked && isThere) || isLonger, `${text} is sure of ${name} in ${city}, ${state}`);
}
