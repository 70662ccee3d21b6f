import { test } from "node:test";
import { stateNames } from "../../engine/index.ts";
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
import { realHospitals } from "../support/relevance.ts";
import { checkSentence, sentenceAbout } from "../support/sentences.ts";

/** Tests what searches for facilities promise, with every word, beginning, name, city and many pairs of CMS's directory. */

const seed = 20_260_401;
const hospitals = realHospitals();
const image = imageOfHospitals(hospitals);

test("whatever literally has the words of a query is found, in the promised order, also within a state", () => {
  const check = literalChecker(image, hospitals);
  const { always, sampled } = literalQueries(hospitals, seed);
  const random = seededRandom(seed);
  const states = Object.keys(stateNames);
  for (const query of [...always, ...sampled])
    for (const state of [null, random.pick(states)]) check(query, state);
});

test("a city's name with the word hospital finds its hospitals, and so do its state before it, and words for around", () => {
  checkCities(image, hospitals, () => true);
});

test("any word beside a hospital's whole name and city is set aside, and the hospital is found", () => {
  const checkBeside = besideNameChecker(image, hospitals);
  const random = seededRandom(seed);
  const words = wordsOfDocuments();
  for (const word of words) checkBeside(word, random.pick(hospitals));
  for (const hospital of hospitals) checkBeside(random.pick(words), hospital);
});

test("whole names within words that say nothing or ask are found, and no other hospital is sure", () => {
  const random = seededRandom(seed);
  for (let round = 0; round < 10; round++)
    for (const hospital of hospitals) checkSentence(image, sentenceAbout(hospital, random));
});

test("letters with two meanings have another search that finds something else, and null where the state leads", () => {
  checkAlternatives(image, hospitals, seededRandom(seed), 20_000);
});
