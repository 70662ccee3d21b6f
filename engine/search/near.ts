import { facilityAt, listFacilities, orderFacilities } from "../answers/facility-list.ts";
import type { Image } from "../image/image.ts";
import { findPlace } from "../image/places.ts";
import { facilitiesInCity } from "./cities.ts";
import { indexOf } from "./text-index.ts";

/** Finds hospitals around a place that a search names: `mercy near 63101`, `hospitals close to boston`. */

const nearMiles = 50;
const nearPattern = /^(.*?)\b(?:near|around|close to|closest to|nearest to|next to)\s+(.+)$/iu;

/** The facilities around a place, nearest first, and their distances. */
export interface Nearby {
  /** The text before `near` or a similar word. */
  rest: string;
  facilities: number[];
  miles: number[];
}

/**
 * Finds the facilities within 50 miles of the place that a search names. Returns undefined if the search names no
 * place, an unknown place, or a city that is in several states.
 */
export function nearbyIn(image: Image, text: string): Nearby | undefined {
  const [, rest, where] = nearPattern.exec(text) ?? [];
  if (where === undefined) return undefined;
  const place = placeNamed(image, where.trim());
  if (place < 0) return undefined;
  const list = listFacilities(image, { status: "all", near: { place, miles: nearMiles } }, "distance");
  const order = Array.from(orderFacilities(list, false));
  return {
    rest,
    facilities: order.map((i) => facilityAt(image, list, i)),
    miles: order.map((i) => list.distances[i] / 10),
  };
}

/** The place of a ZIP code, or of a city that is in one state; −1 for none. */
function placeNamed(image: Image, where: string): number {
  const zip = /^\d{5}(?=$|-\d{4}$)/.exec(where)?.[0];
  if (zip !== undefined) return findPlace(image.placeZip, zip);
  const there = facilitiesInCity(image, where);
  if (new Set(Array.from(there, (facility) => image.stateOf[facility])).size !== 1) return -1;
  const { byName, nameSizes } = indexOf(image, "facility");
  // The facility with the shortest name stands for the city.
  const first = byName
    .filter((facility) => there.has(facility) && image.placeOf[facility] >= 0)
    .toSorted((a, b) => nameSizes[a] - nameSizes[b])
    .at(0);
  return first === undefined ? -1 : image.placeOf[first];
}
