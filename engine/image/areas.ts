import type { Image } from "./image.ts";
import type { Extent, Point } from "./places.ts";

/**
 * Finds the facilities that may be around a place, without reading most others. Facilities are ascending by CCN, and a
 * CCN begins with its state's number, so consecutive facilities are mostly near each other.
 */

const facilitiesPerArea = 64;

/** The bounds of each area of `facilitiesPerArea` consecutive facilities, in millionths of a degree. */
interface Areas {
  south: Int32Array;
  north: Int32Array;
  west: Int32Array;
  east: Int32Array;
  hasUnplaced: Uint8Array;
}

const areasByImage = new WeakMap<Image, Areas>();

/** Returns an image's areas. A thread computes them when it first looks for facilities around a place, in O(facilities). */
function areasOf(image: Image): Areas {
  let areas = areasByImage.get(image);
  if (areas === undefined) {
    areas = makeAreas(image);
    areasByImage.set(image, areas);
  }
  return areas;
}

function makeAreas({ placeOf, placeLatitude, placeLongitude }: Image): Areas {
  const count = Math.ceil(placeOf.length / facilitiesPerArea);
  const none = 2 ** 31 - 1;
  const areas = {
    ...{ south: new Int32Array(count).fill(none), north: new Int32Array(count).fill(-none) },
    ...{ west: new Int32Array(count).fill(none), east: new Int32Array(count).fill(-none) },
    hasUnplaced: new Uint8Array(count),
  };
  const { south, north, west, east, hasUnplaced } = areas;
  for (const [facility, place] of placeOf.entries()) {
    const area = Math.floor(facility / facilitiesPerArea);
    if (place < 0) hasUnplaced[area] = 1;
    else {
      const [latitude, longitude] = [placeLatitude[place], placeLongitude[place]];
      south[area] = Math.min(south[area], latitude);
      north[area] = Math.max(north[area], latitude);
      west[area] = Math.min(west[area], longitude);
      east[area] = Math.max(east[area], longitude);
    }
  }
  return areas;
}

/**
 * Returns ascending ranges of facilities. They include all facilities in a circle, all facilities without a known
 * place, and perhaps others. O(facilities / 64).
 *
 * @returns pairs of the first facility and the one after the last
 */
export function facilitiesAround(image: Image, circle: Point & Extent): [from: number, to: number][] {
  const { latitude, longitude } = circle;
  const { south, north, west, east, hasUnplaced } = areasOf(image);
  const ranges: [from: number, to: number][] = [];
  let last: [from: number, to: number] | undefined;
  for (let area = 0; area < south.length; area++) {
    const isNear =
      south[area] <= latitude + circle.north &&
      north[area] >= latitude - circle.north &&
      west[area] <= longitude + circle.east &&
      east[area] >= longitude - circle.east;
    if (!isNear && hasUnplaced[area] === 0) continue;
    const from = area * facilitiesPerArea;
    const to = Math.min(image.placeOf.length, from + facilitiesPerArea);
    if (last?.[1] === from) last[1] = to;
    else {
      last = [from, to];
      ranges.push(last);
    }
  }
  return ranges;
}
