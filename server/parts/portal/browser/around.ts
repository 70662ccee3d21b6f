import { printable } from "../../../shared/browser/format.ts";
import {
  type Ask,
  type FacilitiesAnswer,
  Failure,
  type Priced,
  pathOf,
  type SearchAnswer,
  unlessFailed,
} from "./answers.ts";
import {
  type Doubtful,
  defaultMiles,
  farthest,
  isShort,
  type Option,
  radiusesInMiles,
  shortText,
} from "./choice.ts";
import { countyText, isAlike, namesakesIn, namesCounty, stateOf, states, withStateName } from "./states.ts";
import { isPriced } from "./words.ts";

/** Finds places, and hospitals around them. */

export const maxPageRows = 100;

/** Looks for a place in the words that a search has ignored. Returns the search with that place, or unchanged. */
export function understood(found: SearchAnswer | Failure, year: string | null, ask: Ask) {
  if (found instanceof Failure || found.absent !== undefined) return found;
  const { place, ignored } = found.query;
  const state = place !== null && "state" in place ? place.state : null;
  if (ignored.length === 0 || (place !== null && state === null)) return found;
  const words = ignored.join(" ");
  const zips = state === null ? ignored.filter((word) => /^\d{5}$/.test(word)) : [];
  for (const text of [...zips, state === null ? words : `${words}, ${state}`]) {
    const [first, ...others] = placesNamed(text, year, ask);
    const likely = state === null ? [] : likelyPlaces(text, year, ask);
    if (first === undefined && likely.length === 0) continue;
    const one = first ?? (likely.length === 1 ? likely[0] : text);
    const near = others.length > 0 ? one.replace(/, [A-Z]{2}$/, "") : one;
    const left = ignored.filter((word) => !text.split(/[ ,]+/).includes(word));
    return { ...found, query: { ...found.query, place: { near }, ignored: left } };
  }
  return found;
}

export function nearestOf(procedure: string, near: string, year: string | null, ask: Ask): Priced | null {
  const parameters = { procedure, near, within: farthest, sort: "distance", limit: 1 };
  const found = unlessFailed(ask<[FacilitiesAnswer]>(pathOf("/healthcare/facilities", parameters, year))[0]);
  return found?.data.find(isPriced) ?? null;
}

/** Writes a distance. Below a mile, it is too inexact for a number. */
export function milesText(miles: number | undefined, isSameZip: boolean): string {
  if (miles === undefined) return "–";
  return miles >= 1 ? miles.toFixed(1) : isSameZip ? "same ZIP" : "under 1";
}

const around = (text: string, year: string | null, ask: Ask) =>
  ask<[FacilitiesAnswer]>(
    pathOf("/healthcare/facilities", { near: text, within: farthest, limit: 1 }, year),
  )[0];

/** Returns the ZIP code or the cities that a text names: several if several states have the city, none if it is unknown. */
export function placesNamed(text: string, year: string | null, ask: Ask): string[] {
  const found = around(text, year, ask);
  if (!(found instanceof Failure)) return [found.query.near ?? text];
  return found.status === 404 ? [text] : namesakesIn(text, found);
}

/** Returns the places that a text may mean if it names no known place, such as `Springfield, IL` for `Sprinfield`. */
export function likelyPlaces(text: string, year: string | null, ask: Ask): string[] {
  const found = around(text, year, ask);
  const isUnknown = found instanceof Failure && namesakesIn(text, found).length === 0;
  return isUnknown ? found.places.map(({ near }) => near) : [];
}

const citiesLikeStates = ["new york", "washington"];

/** Suggests states and circles around places for a text. @param priced codes of the states with prices; null if unknown */
export function placesFor(
  text: string,
  year: string | null,
  priced: ReadonlySet<string> | null,
  ask: Ask,
): Doubtful {
  const [, zip] = /(?<!\d)(\d{5})(?!\d)/.exec(text) ?? [];
  if (zip && placesNamed(zip, year, ask).length > 0) return { doubt: "", options: circlesAround(zip) };
  if (/^\d/.test(text)) {
    const doubt = zip ? `The ZIP code ${zip} isn't known here.` : "A ZIP code has five digits.";
    return { doubt, options: likelyPlaces(text, year, ask).flatMap((zip) => circlesAround(zip)) };
  }
  const words = text.toLowerCase().replace(/^state of | state$/, "");
  const meant = stateOf(words) ?? stateOf(words.replaceAll(".", ""));
  const optionOf = ([id, { name }]: (typeof all)[number]): Option => ({
    ...{ id, title: name, more: { state: id } },
    detail: priced && !priced.has(id) ? "no prices" : undefined,
  });
  const all = Object.entries(states).sort(([, a], [, b]) => (a.name < b.name ? -1 : 1));
  if (text === "")
    return { doubt: "", options: [{ id: "", title: "Whole nation", more: {} }, ...all.map(optionOf)] };
  // A state whose code or name is the whole text comes first, such as California for "CA".
  const begun = all
    .filter(([code, { name }]) => code === meant || name.toLowerCase().startsWith(words))
    .sort(([a], [b]) => Number(b === meant) - Number(a === meant));
  const inside = all.filter((one) => !begun.includes(one) && one[1].name.toLowerCase().includes(` ${words}`));
  const isState = begun.length > 0 && !citiesLikeStates.includes(text.toLowerCase());
  const cities = isState || isShort(text) ? { doubt: "", options: [] } : citiesFor(text, year, ask);
  const isBoth = cities.options.length > 0;
  const wholly = begun.map(optionOf).map((one) => (isBoth ? { ...one, detail: "the whole state" } : one));
  const options = [...wholly, ...cities.options, ...inside.map(optionOf)];
  if (options.length > 0) return begun.length > 0 ? { doubt: "", options } : { ...cities, options };
  const alike = all.filter(([, { name }]) => isAlike(name, words));
  const unknown = isShort(text)
    ? shortText(text)
    : namesCounty(text)
      ? countyText(printable(text))
      : `No place “${printable(text)}” is known here.`;
  return { doubt: alike.length > 0 ? "" : unknown, options: alike.map(optionOf) };
}

const offeredMiles = [...new Set([defaultMiles, ...radiusesInMiles])];

/** @param near a ZIP code or a city */
const circle = (near: string, miles: number): Option => ({
  ...{ id: `${near} ${miles}`, title: `Within ${miles} miles of ${near}` },
  more: { near, within: String(miles) },
});

const circlesAround = (near: string) => offeredMiles.map((miles) => circle(near, miles));

/** A title continues its group's heading. */
const among = (city: string): Option => ({
  ...circle(city, defaultMiles),
  ...{ title: withStateName(city), group: `Within ${defaultMiles} miles of` },
});

/**
 * Suggests several circles around the only city that a text may mean, or one circle for each of several cities. The city
 * that is probably meant comes first.
 */
function citiesFor(text: string, year: string | null, ask: Ask): Doubtful {
  const named = placesNamed(text, year, ask);
  const cities = named.length > 0 ? named : likelyPlaces(text, year, ask);
  if (cities.length === 1) return { doubt: "", options: circlesAround(cities[0]) };
  if (cities.length === 0) return { doubt: "", options: [] };
  const meant = named.length > 0 ? meantOf(text, named, year, ask) : undefined;
  const doubt =
    meant !== undefined
      ? ""
      : named.length > 0
        ? `Several states have a place “${named[0].slice(0, -", IL".length)}”.`
        : `No place “${printable(text)}” is known here.`;
  const first = cities.filter((city) => city === meant);
  const options = [...new Set([...first, ...cities])].map(among);
  return { doubt, options, isQuestion: doubt !== "" };
}

/** Returns the city among namesakes that a search means; undefined if a search means none of them. */
export function meantOf(
  text: string,
  named: readonly string[],
  year: string | null,
  ask: Ask,
): string | undefined {
  const path = pathOf("/search", { q: `biopsy in ${text}`, type: "procedure", limit: 1 }, year);
  const place = unlessFailed(ask<[SearchAnswer]>(path)[0])?.query.place ?? {};
  // A search takes Washington for the state. As a city, Washington is the capital.
  const name = "near" in place ? place.near : "Washington, DC";
  return named.find((one) => one === name);
}
