import {
  type Circle,
  citiesNamed,
  defaultMiles,
  findPlace,
  type Image,
  likelyCities,
  namesCounty,
  pointAt,
  splitWords,
} from "../../engine/query.ts";
import type { Versions } from "./endpoint.ts";
import { ApiError, echo } from "./errors.ts";
import { aPlace, missingZeros, withHint, zipDigits } from "./parameters.ts";

export interface Around extends Circle {
  /** The ZIP code, or the city with its state. */
  name: string;
}

/**
 * Finds the circle around the place that `near` means; undefined without `near`. Looks the place up in the newest
 * version, so that a bad `near` is reported before an unknown version.
 * @throws ApiError `invalid_parameter`
 */
export function aroundOf(
  { images: [newest] }: Versions,
  { near, within = defaultMiles }: { near?: string | undefined; within?: number | undefined },
): Around | undefined {
  return near === undefined ? undefined : { ...placeOf(newest, near), miles: within };
}

function placeOf(image: Image, asked: string) {
  const zip = zipIn(asked);
  const at = zip === undefined ? -1 : findPlace(image.placeZip, zip);
  if (zip !== undefined && at >= 0) return { name: zip, ...pointAt(image, at) };
  const hasDigits = /\d/.test(asked);
  const words = splitWords(asked).filter((word) => !/\d/.test(word));
  const cities = citiesNamed(image, words);
  if (cities.length === 1 && !hasDigits) return cities[0];
  const isCounty = cities.length === 0 && namesCounty(words);
  const cityNames = isCounty ? [] : likelyCities(image, words).map(({ name }) => name);
  const whole = asked.padStart(zipDigits, "0");
  const lost = missingZeros(asked, zipDigits);
  const likely = lost !== undefined && findPlace(image.placeZip, whole) >= 0 ? [whole] : cityNames;
  const { places } = image.description;
  const known = `expected a ZIP code, or a city with its state, whose coordinates are known (${places})`;
  const perhaps = likely.length > 0 ? `perhaps ${likely.join(" or ")}` : undefined;
  const reason =
    hasDigits && zip === undefined
      ? withHint(`expected ${aPlace}`, lost ?? perhaps)
      : places === null
        ? "but this data version has no coordinates of ZIP codes: omit near"
        : cities.length > 1 && !hasDigits
          ? `a city in several states: ${likely.map((name) => name.slice(-2)).join(", ")}; add one, as in ${likely[0]}`
          : isCounty
            ? `a county, which isn't known: ${known}`
            : withHint(known, perhaps);
  throw new ApiError("invalid_parameter", `near is ${echo(asked)}, ${reason}`, {
    param: "near",
    ...(likely.length > 0 && { places: likely.map((near) => ({ near })) }),
  });
}

/** Returns the last ZIP code in a text, such as `Springfield, IL 62704` or `62704-1234`. */
const zipIn = (text: string): string | undefined =>
  [...text.matchAll(/(?<!\d)(\d{5})(?:-\d{4})?(?!\d)/g)].at(-1)?.[1];
