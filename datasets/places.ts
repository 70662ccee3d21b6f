import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Places, stateIndex } from "../engine/query.ts";

/** The npm package with the places, in the version of package.json. */
const version = "8.0.0";
const name = `GeoNames postal codes (CC BY 4.0), as in npm's zipcodes ${version}`;
/** A ZIP code with its coordinates and its state, as they stand in the package's JSON. */
const place =
  /"zip":"(\d{5})","latitude":(-?[\d.]+),"longitude":(-?[\d.]+),"city":"[^"]*","state":"([A-Z]{2})"/g;
/** The United States lie west of this longitude, or east of the other. */
const [eastmost, westmost] = [-60, 140];

let places: Places | undefined;

/**
 * The places of ZIP codes in the states and territories, read once in a thread. The package's file is read as text: to
 * import its 42,000 objects takes 22 MB of heap and many times longer.
 */
export function readPlaces(): Places {
  places ??= placesIn(
    readFileSync(createRequire(import.meta.url).resolve("zipcodes/lib/codes.js"), "latin1"),
  );
  return places;
}

/** The ZIP codes with a place, by their first two digits. */
export function zipsByStart(): Map<string, string[]> {
  const zips = Array.from(readPlaces().zip, (zip) => String(zip).padStart(5, "0"));
  return Map.groupBy(zips, (zip) => zip.slice(0, 2));
}

function placesIn(text: string): Places {
  const found = new Map<number, [latitude: number, longitude: number]>();
  for (const [, zip, latitude, longitude, state] of text.matchAll(place)) {
    const east = Number(longitude);
    // Left out are military addresses, whose places are abroad, and a longitude without its sign.
    if (stateIndex.has(state) && (east < eastmost || east > westmost))
      found.set(Number(zip), [Number(latitude), east]);
  }
  const zip = Int32Array.from(found.keys()).sort();
  const column = (axis: 0 | 1) =>
    Int32Array.from(zip, (code) => Math.round(1e6 * (found.get(code)?.[axis] ?? 0)));
  return { name, zip, latitude: column(0), longitude: column(1) };
}
