import { findGroup, type Image, type Snapshot, stateCodes } from "../engine/index.ts";

/** What is asked: seeded lists of targets, the same for every server. */

const pricesPath = "/api/v1/healthcare/prices";
const maxLimit = 50;
const zipfExponent = 1.1;

export const hotTarget = `${pricesPath}?procedure=5072&limit=25`;

export type Random = () => number;

/** Tommy Ettinger's mulberry32: even numbers from 0 to 1, the same for a seed on any machine. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Every procedure, state (or none) and limit that has an answer, in random order. */
export function allPriceTargets(image: Image, random: Random): string[] {
  const targets: string[] = [];
  for (const code of image.procedureOf.keys())
    for (const state of [null, ...stateCodes]) {
      if (findGroup(image, code, state) < 0) continue;
      const scope = state === null ? "" : `&state=${state}`;
      for (let limit = 1; limit <= maxLimit; limit++)
        targets.push(`${pricesPath}?procedure=${code}${scope}&limit=${limit}`);
    }
  for (let i = targets.length - 1; i > 0; i--) {
    const other = Math.floor(random() * (i + 1));
    [targets[i], targets[other]] = [targets[other], targets[i]];
  }
  return targets;
}

/** Draws by Zipf's law: the first target is asked most, the n-th 1/n^1.1 as often. */
export function drawZipf(targets: readonly string[], count: number, random: Random): string[] {
  const reached = new Float64Array(targets.length);
  let total = 0;
  for (let i = 0; i < targets.length; i++) {
    total += 1 / (i + 1) ** zipfExponent;
    reached[i] = total;
  }
  return Array.from({ length: count }, () => {
    const drawn = random() * total;
    let low = 0;
    let high = targets.length - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (reached[middle] <= drawn) low = middle + 1;
      else high = middle;
    }
    return targets[low];
  });
}

/** Different searches that each find something: words of a facility's name and place, some cut short or mistyped. */
export function searchTargets({ facilities }: Snapshot, count: number, random: Random): string[] {
  const targets = new Set<string>();
  const maxDraws = 100 * count;
  for (let draws = 0; targets.size < count && draws < maxDraws; draws++) {
    const facility = Math.floor(random() * facilities.name.length);
    const words = wordsOf(facilities.name[facility]);
    const from = Math.floor(random() * words.length);
    const chosen = words.slice(from, from + 1 + Math.floor(random() * 3));
    if (random() < 0.5) chosen.push(...wordsOf(facilities.city[facility]));
    if (random() < 0.5) chosen.push(facilities.state[facility].toLowerCase());
    const typed = chosen.map((word) => mistyped(word, random)).join(" ");
    if (typed !== "") targets.add(`/api/v1/search?q=${encodeURIComponent(typed)}`);
  }
  return [...targets];
}

/** Words of letters only: punctuation is the search's business, not the load's. */
function wordsOf(text: string): string[] {
  return text.split(" ").filter((word) => /^\p{L}{2,}$/u.test(word) && word !== "St");
}

function mistyped(word: string, random: Random): string {
  const way = random();
  if (way < 0.25 && word.length >= 4) return word.slice(0, 3 + Math.floor(random() * (word.length - 3)));
  if (way > 0.75 && /^[A-Za-z]{6,}$/.test(word)) {
    const at = 1 + Math.floor(random() * (word.length - 1));
    const letter = String.fromCharCode(97 + Math.floor(random() * 26));
    return word.slice(0, at) + letter + word.slice(at + 1);
  }
  return word;
}

/** 32 bytes to make a key from. */
export function randomBytes(random: Random): Buffer {
  return Buffer.from(Array.from({ length: 32 }, () => Math.floor(random() * 256)));
}
