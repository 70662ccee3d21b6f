import { firstNotBefore } from "../sorted.ts";

export interface Places {
  name: string | null;
  /** ZIP codes as ascending numbers. */
  zip: Int32Array;
  /** Coordinates in millionths of a degree. */
  latitude: Int32Array;
  longitude: Int32Array;
  /** The cities of the ZIP codes, from `citiesOf`. If undefined, only cities with hospitals are known. */
  cities?: Cities;
}

/**
 * Cities, ascending by key. A city's coordinates are the means of its ZIP codes' coordinates, in millionths of a
 * degree.
 */
export interface Cities {
  /** The city as one word, a space and the state, such as `newyork NY`; see `cityKey`. */
  key: readonly string[];
  /** The city and its state, such as `Boston, MA`. */
  name: readonly string[];
  zips: readonly number[];
  latitude: readonly number[];
  longitude: readonly number[];
}

/** Coordinates in millionths of a degree. */
export interface Point {
  latitude: number;
  longitude: number;
}

export const defaultMiles = 50;
export const maxMiles = 500;

const none = new Int32Array(0);
export const noCities: Cities = { key: [], name: [], zips: [], latitude: [], longitude: [] };
export const noPlaces: Places = { name: null, zip: none, latitude: none, longitude: none };

/** Finds a five-digit ZIP code among ascending ZIP codes. Returns its position, or −1 if there is none. O(log places). */
export function findPlace(placeZip: Int32Array, zip: string): number {
  if (zip === "") return -1;
  const wanted = Number(zip);
  const found = firstNotBefore(0, placeZip.length, (i) => placeZip[i] < wanted);
  return placeZip[found] === wanted ? found : -1;
}

/** Mean radius of the Earth (IUGG), 6,371.0088 km, in miles. */
const earthMiles = 3958.7613;
const radiansPerMillionth = Math.PI / 180e6;

/**
 * Computes the great-circle distance in tenths of a mile, by the haversine formula. Coordinates are in millionths of a
 * degree.
 */
export function tenthsBetween(
  latitude: number,
  longitude: number,
  otherLatitude: number,
  otherLongitude: number,
): number {
  const north = Math.sin(((otherLatitude - latitude) * radiansPerMillionth) / 2);
  const east = Math.sin(((otherLongitude - longitude) * radiansPerMillionth) / 2);
  const squared =
    north * north +
    Math.cos(latitude * radiansPerMillionth) * Math.cos(otherLatitude * radiansPerMillionth) * east * east;
  return Math.round(20 * earthMiles * Math.asin(Math.sqrt(Math.min(1, squared))));
}

/** Bounds of a circle, as differences from its center in millionths of a degree. */
export interface Extent {
  north: number;
  east: number;
}

/**
 * Miles by which the bounds reach beyond the circle. The bounds have to include a place whose distance is rounded down to
 * the radius.
 */
const marginMiles = 1;

/** Returns the bounds of a circle. `east` is infinite if the circle may include a pole or cross the 180th meridian. */
export function extentOf({ latitude, longitude }: Point, miles: number): Extent {
  const angle = (miles + marginMiles) / earthMiles;
  const ratio = Math.sin(angle) / Math.cos(latitude * radiansPerMillionth);
  const east = ratio < 1 ? Math.asin(ratio) / radiansPerMillionth : Number.POSITIVE_INFINITY;
  return {
    north: angle / radiansPerMillionth,
    east: Math.abs(longitude) + east < 180e6 ? east : Number.POSITIVE_INFINITY,
  };
}

export function isZip({ placeZip }: { placeZip: Int32Array }, word: string): boolean {
  return /^[0-9]{5}$/.test(word) && findPlace(placeZip, word) >= 0;
}

/** @param place position in the table of places */
export function pointAt(
  { placeLatitude, placeLongitude }: { placeLatitude: Int32Array; placeLongitude: Int32Array },
  place: number,
): Point {
  return { latitude: placeLatitude[place], longitude: placeLongitude[place] };
}
