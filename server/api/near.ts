import {
  type Circle,
  citiesNamed,
  defaultMiles,
  findPlace,
  type Image,
  likelyCities,
  pointAt,
  splitWords,
  zipPattern,
} from "../../engine/query.ts";
import type { Versions } from "./endpoint.ts";
import { ApiError, echo } from "./errors.ts";

/** Finds the circle that the parameters `near` and `within` ask for. */

export interface Around extends Circle {
  /** The ZIP code, or the city with its state. */
  name: string;
}

/**
 * Finds the circle around the place that `near` means; undefined without `near`. The place is looked up in the newest
 * version, so that a bad `near` is reported before an unknown version. All versions have the same table of places.
 *
 * @throws ApiError `invalid_parameter`
 */
export function aroundOf(
  { images: [newest] }: Versions,
  { near, within = defaultMiles }: { near?: string | undefined; within?: number | undefined },
): Around | undefined {
  return near === undefined ? undefined : { ...placeOf(newest, near), miles: within };
}

function placeOf(image: Image, asked: string) {
  const zip = zipPattern.test(asked) ? findPlace(image.placeZip, asked) : -1;
  if (zip >= 0) return { name: asked, ...pointAt(image, zip) };
  const words = splitWords(asked);
  const cities = citiesNamed(image, words);
  if (cities.length === 1) return cities[0];
  const likely = likelyCities(image, words);
  const { places } = image.description;
  const expected = `expected a ZIP code, or a city with its state, whose coordinates are known (${places})`;
  const reason =
    places === null
      ? "but this data version has no coordinates of ZIP codes: omit near"
      : cities.length > 1
        ? `a city in several states: ${likely.map(({ state }) => state).join(", ")}; add one, as in ${likely[0].name}`
        : likely.length > 0
          ? `${expected}; perhaps ${likely.map(({ name }) => name).join(" or ")}`
          : expected;
  throw new ApiError("invalid_parameter", `near is ${echo(asked)}, ${reason}`, {
    param: "near",
    ...(likely.length > 0 && { places: likely.map(({ name }) => ({ near: name })) }),
  });
}
