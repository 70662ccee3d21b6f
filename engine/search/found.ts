import {
  guessedScoreOf,
  inOrderOfKeys,
  type Matches,
  orderKey,
  type Ranked,
  sureScoreOf,
  type Wanted,
} from "./find.ts";
import type { SearchIndex } from "./text-index.ts";

/** What a search for facilities has found: how each facility was found, and which facilities are surely meant. */

/** The ways of finding a facility, the best first. A name or place is whole if the search says nothing else. */
export const ranks = {
  code: 0,
  /** A whole name, official or unofficial, in the same spelling. */
  speltName: 1,
  /** A whole name in another spelling, with fewer small words, or with other words that say nothing. */
  wholeName: 2,
  wholeCity: 3,
  /**
   * A whole name, an unofficial name or a CCN, with the hospital's place; or an unofficial name alone, perhaps without
   * words for a hospital.
   */
  nameInPlace: 4,
  /**
   * A whole name except for words for a hospital, with its city, ZIP code or region. Or a CCN or an unofficial name,
   * with other words that the hospital has.
   */
  plainNameInPlace: 5,
  /** A place, perhaps with words for a hospital or of a question; or a name around a place. */
  place: 6,
  /** Every word as a whole word; or a whole name except for words for a hospital, with its state. */
  allWords: 7,
  /**
   * Every word that says something; a name's initials with its place; or a name that is left when words are set aside.
   */
  significantWords: 8,
  allBegun: 9,
  significantBegun: 10,
  oneTypo: 11,
  /** Two typos, a word that sounds alike, or the Spanish name of a saint that may be a city. */
  guess: 12,
  /**
   * The weakest ways: one of several places; one typo more; a name that is left when words are set aside, if something else
   * was found before; or any hospital.
   */
  rest: 13,
} as const;

export type Rank = (typeof ranks)[keyof typeof ranks];

/** The lowest and the highest score of each rank, before sure matches and guesses are separated. */
const bands: Readonly<Record<Rank, readonly [number, number]>> = {
  [ranks.code]: [1, 1],
  [ranks.speltName]: [0.995, 0.995],
  [ranks.wholeName]: [0.98, 0.985],
  [ranks.wholeCity]: [0.95, 0.975],
  [ranks.nameInPlace]: [0.935, 0.945],
  [ranks.plainNameInPlace]: [0.925, 0.93],
  [ranks.place]: [0.78, 0.92],
  [ranks.allWords]: [0.58, 0.77],
  [ranks.significantWords]: [0.42, 0.57],
  [ranks.allBegun]: [0.3, 0.41],
  [ranks.significantBegun]: [0.2, 0.29],
  [ranks.oneTypo]: [0.09, 0.19],
  [ranks.guess]: [0.04, 0.08],
  [ranks.rest]: [0.005, 0.03],
};

interface RankedFacility extends Ranked {
  rank: Rank;
}

/** What is found so far. The best way of finding a facility counts, so nothing that is found is lost later. */
export class Found {
  readonly ranked = new Map<number, RankedFacility>();
  /** Facilities that match, but that `isWanted` refuses, such as those in another state or without prices. */
  readonly unwanted = new Set<number>();
  ignored: readonly string[] = [];
  /**
   * The facilities of the only place that the search means, perhaps with unwanted facilities elsewhere; empty if there is
   * no such place.
   */
  onePlace: ReadonlySet<number> = new Set();
  place: Matches["place"] = null;
  /** The best rank of the facilities found; `rest` if there are none. */
  top: Rank = ranks.rest;
  readonly isWanted: Wanted;

  constructor(isWanted: Wanted) {
    this.isWanted = isWanted;
  }

  /** @param score from 0 to 1, among facilities of the rank */
  enter(facility: number, rank: Rank, score: number): void {
    if (!this.isWanted(facility)) {
      this.unwanted.add(facility);
      return;
    }
    if (rank < this.top) this.top = rank;
    const before = this.ranked.get(facility);
    if (before === undefined || rank < before.rank) this.ranked.set(facility, { rank, score });
    else if (rank === before.rank && score > before.score) before.score = score;
  }

  get isEmpty(): boolean {
    return this.ranked.size === 0;
  }

  get isOnePlace(): boolean {
    return this.onePlace.size > 0;
  }

  /** Whether the best facilities are found by a CCN or a whole name, perhaps without words for a hospital. */
  get isNamed(): boolean {
    return this.top <= ranks.plainNameInPlace && this.top !== ranks.wholeCity;
  }
}

/**
 * Returns the last rank whose facilities are surely meant, or −1 if none are. A facility found by a CCN alone is meant.
 * Facilities found by a place are meant if the search means only one place. For any other best rank before `guess`, the
 * facilities up to the rank in `lastAlike` are meant if there is only one, or if all are in the one place.
 */
function lastMeant({ ranked, top, onePlace }: Found): number {
  if (top === ranks.code) return top;
  if (top === ranks.wholeCity || top === ranks.place) return onePlace.size > 0 ? top : -1;
  if (top >= ranks.guess) return -1;
  const last = lastAlike[top] ?? ranks.guess;
  let [alike, elsewhere] = [0, 0];
  for (const [facility, { rank }] of ranked) {
    if (rank > last) continue;
    alike++;
    if (!onePlace.has(facility)) elsewhere++;
  }
  return alike === 1 || elsewhere === 0 ? last : -1;
}

/** For a best rank, the last rank that counts as similar to it. The default is `guess`. */
const lastAlike: { [rank in Rank]?: Rank } = {
  [ranks.speltName]: ranks.wholeName,
  [ranks.wholeName]: ranks.wholeName,
  [ranks.nameInPlace]: ranks.nameInPlace,
  [ranks.plainNameInPlace]: ranks.significantBegun,
  [ranks.allWords]: ranks.significantBegun,
  [ranks.significantWords]: ranks.significantBegun,
  [ranks.allBegun]: ranks.significantBegun,
  [ranks.significantBegun]: ranks.significantBegun,
};

/** Factor for words that fit many hospitals. */
const saysLittle = 0.2;

/**
 * Orders and scores the facilities found. A facility that is surely meant has a score of 0.5 or more.
 *
 * @param isDoubted whether no facility can be surely meant
 * @param isAll whether no word says which hospital is meant
 */
export function scored(index: SearchIndex, found: Found, isDoubted: boolean, isAll: boolean): Matches {
  const last = isDoubted ? -1 : lastMeant(found);
  // No object is made for a match: a common word matches thousands.
  const keys = new Float64Array(found.ranked.size);
  let size = 0;
  for (const [facility, { rank, score }] of found.ranked) {
    const [least, most] = bands[rank];
    const within = least + (most - least) * (Math.round(1000 * score) / 1000);
    const weight = isAll && rank >= ranks.allWords ? saysLittle : 1;
    const final = rank <= last ? sureScoreOf(within) : guessedScoreOf(weight * within);
    keys[size++] = orderKey(index, facility, 0, final);
  }
  return {
    ...inOrderOfKeys(index, keys),
    unwanted: [...found.unwanted],
    ignored: found.ignored,
    place: found.place,
  };
}
