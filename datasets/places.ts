import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { citiesOf, imageFormatVersion, type Places, stateIndex } from "../engine/query.ts";

/** The version of npm's package `zipcodes` in package.json. */
const version = "8.0.0";
const name = `GeoNames postal codes (CC BY 4.0), as in npm's zipcodes ${version}`;
const place =
  /"zip":"(\d{5})","latitude":(-?[\d.]+),"longitude":(-?[\d.]+),"city":"([^"]*)","state":"([A-Z]{2})"/g;
/** Longitudes in degrees. The states and territories are west of the first or east of the second. */
const [eastmost, westmost] = [-60, 140];

let places: Places | undefined;

/** Caches bytes under a name that identifies their content. */
type Keep = (name: string, make: () => Buffer) => Buffer;

/**
 * Returns the coordinates and cities of ZIP codes in the states and territories. npm's `zipcodes` is read as text,
 * because importing its 42,000 objects is many times slower and takes 22 MB of heap.
 *
 * @param keep caches tables for other threads and later starts, because reading the text takes 0.1 s
 */
export function readPlaces(keep: Keep = (_, make) => make()): Places {
  if (places !== undefined) return places;
  let read: Map<number, Entry> | undefined;
  const entries = () => {
    read ??= readEntries();
    return read;
  };
  const all = new Int32Array(new Uint8Array(keep(`zipcodes-${version}`, () => tableOf(entries()))).buffer);
  const count = all.length / 3;
  const [zip, latitude, longitude] = [0, 1, 2].map((i) => all.subarray(i * count, (i + 1) * count));
  const makeCities = () => {
    const city = Array.from(entries().values(), (entry) => entry.city);
    return Buffer.from(JSON.stringify(citiesOf(city, { latitude, longitude })));
  };
  // The keys of cities may change with the image's format.
  const cities = JSON.parse(keep(`zipcodes-${version}-cities-${imageFormatVersion}`, makeCities).toString());
  places = { name, zip, latitude, longitude, cities };
  return places;
}

export function zipsByStart(): Map<string, string[]> {
  const zips = Array.from(readPlaces().zip, (zip) => String(zip).padStart(5, "0"));
  return Map.groupBy(zips, (zip) => zip.slice(0, 2));
}

interface Entry {
  latitude: number;
  longitude: number;
  city: string;
}

function readEntries(): Map<number, Entry> {
  const text = readFileSync(createRequire(import.meta.url).resolve("zipcodes/lib/codes.js"), "utf8");
  const found = new Map<number, Entry>();
  for (const [, zip, latitude, longitude, city, state] of text.matchAll(place)) {
    const east = Number(longitude);
    // Leaves out military addresses abroad, and an entry whose longitude lacks its minus sign.
    if (stateIndex.has(state) && (east < eastmost || east > westmost))
      found.set(Number(zip), { latitude: Number(latitude), longitude: east, city: `${city}, ${state}` });
  }
  return new Map([...found].sort(([a], [b]) => a - b));
}

/**
 * Returns the ascending ZIP codes, then their latitudes, then their longitudes, as 32-bit integers in this machine's
 * byte order. Coordinates are in millionths of a degree.
 */
function tableOf(entries: Map<number, Entry>): Buffer {
  const column = (axis: "latitude" | "longitude") =>
    Int32Array.from(entries.values(), (entry) => Math.round(1e6 * entry[axis]));
  const columns = [Int32Array.from(entries.keys()), column("latitude"), column("longitude")];
  return Buffer.concat(columns.map(({ buffer }) => Buffer.from(buffer)));
}
