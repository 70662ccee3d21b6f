import { listFacilities, orderFacilities } from "../answers/facility-list.ts";
import { type Image, textAt } from "../image/image.ts";
import { defaultMiles, findPlace, isZip, pointAt } from "../image/places.ts";
import { facilitiesInCityOf } from "./cities.ts";
import { stateOf } from "./nicknames.ts";
import { meaningOf } from "./text.ts";
import { indexOf } from "./text-index.ts";
import { fillerWords, genericWords, questionWords } from "./vocabulary.ts";

/** Finds hospitals around a place that a search names: `mercy near 63101`, `hospitals close to boston`, `60614`. */

/** The facilities around a place, nearest first, and their distances. */
export interface Nearby {
  /** The words without the place. */
  rest: readonly string[];
  facilities: number[];
  miles: number[];
  /** The ZIP code or the city with its state, as understood. */
  name: string;
}

/**
 * Finds the facilities within `defaultMiles` of the place that a search names. Returns undefined if the search names no
 * place, an unknown place, or a city that is in several states.
 *
 * @param isNamed whether a ZIP code beside a name has to stand after a word such as near
 */
export function nearbyIn(image: Image, words: readonly string[], isNamed: boolean): Nearby | undefined {
  const named = zipIn(image, words, isNamed) ?? cityAfterNear(image, words);
  if (named === undefined) return undefined;
  const { rest, place, name } = named;
  const list = listFacilities(
    image,
    { status: "all", near: { ...pointAt(image, place), miles: defaultMiles } },
    "distance",
  );
  const order = Array.from(orderFacilities(list, false));
  return {
    rest,
    facilities: order.map((i) => list.items[i]),
    miles: order.map((i) => list.distances[i] / 10),
    name,
  };
}

interface NamedPlace {
  rest: readonly string[];
  /** The position of the place. */
  place: number;
  name: string;
}

/** A known ZIP code; with `isNamed`, only after a word such as near, or beside only words that say nothing. */
function zipIn(image: Image, words: readonly string[], isNamed: boolean): NamedPlace | undefined {
  const at = words.findIndex((word) => isZip(image, word));
  if (at < 0) return undefined;
  const before = words[at - 1] ?? "";
  const isIntroduced = /^(near|in|around|from|to|by)$/.test(before);
  // A state says nothing beside its ZIP code.
  const isSaid = isIntroduced || stateOf(before) !== undefined;
  const rest = words.filter((_, i) => i !== at && !(isSaid && i === at - 1));
  if (isNamed && !isIntroduced && !rest.every(saysNothing)) return undefined;
  return {
    rest,
    place: findPlace(image.placeZip, words[at]),
    name: words[at],
  };
}

const saysNothing = (word: string) =>
  fillerWords.has(word) || questionWords.has(word) || genericWords.facility.has(meaningOf(word));

/** The place after a word such as near: `near boston ma`, `closest to boston`, `nearest hospital to boston`. */
function cityAfterNear(image: Image, words: readonly string[]): NamedPlace | undefined {
  for (let at = 0; at + 1 < words.length; at++) {
    const isNear =
      /^(near|around)$/.test(words[at]) ||
      (words[at] === "to" && words.slice(0, at).some((word) => /^(close|closest|nearest|next)$/.test(word)));
    if (!isNear) continue;
    const where = words
      .slice(at + 1)
      .filter((word) => word !== "the" && word !== "area" && word !== "downtown");
    const found = placeOfCity(image, where);
    if (found !== undefined) return { rest: words.slice(0, at), ...found };
  }
  return undefined;
}

/** The place of a city that is in one state. */
function placeOfCity(image: Image, words: readonly string[]): Omit<NamedPlace, "rest"> | undefined {
  const there = facilitiesInCityOf(image, words);
  if (new Set(Array.from(there, (facility) => image.stateOf[facility])).size !== 1) return undefined;
  const { byName, nameSizes } = indexOf(image, "facility");
  // The facility with the shortest name stands for the city.
  const first = byName
    .filter((facility) => there.has(facility) && image.placeOf[facility] >= 0)
    .toSorted((a, b) => nameSizes[a] - nameSizes[b])
    .at(0);
  if (first === undefined) return undefined;
  return {
    place: image.placeOf[first],
    name: `${textAt(image.city, first)}, ${textAt(image.state, first)}`,
  };
}
