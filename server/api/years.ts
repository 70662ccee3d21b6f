import { type Image, type Provenance, statusOf, versionName } from "../../engine/query.ts";
import type { Versions } from "./endpoint.ts";
import { unknownVersion } from "./not-found.ts";

/** Finds data versions by name, and chooses those that trends compare. */

/**
 * @param version null for the current version; a bare year for its newest revision
 * @throws ApiError `not_found`
 */
export function findVersion(versions: Versions, version: string | null): Image {
  if (version === null) return versions.images[0];
  const image = isYear(version)
    ? versions.images.find(({ description }) => String(description.provenance.dataYear) === version)
    : versions.byName.get(version)?.image;
  if (image !== undefined) return image;
  throw unknownVersion(versions, version);
}

/** Whether a data version's name is a bare year, which means its newest revision. */
export const isYear = (version: string): boolean => /^\d{4}$/.test(version);

/**
 * Returns the newest revision of each year, oldest year first. Synthetic versions are left out if a real version is
 * loaded.
 */
export function newestOfYears({ images }: Versions): Image[] {
  const real = images.filter((image) => !isInvented(image));
  const ofOneKind = real.length > 0 ? real : images;
  return ofOneKind.filter((image) => statusOf(ofOneKind, image) !== "superseded").toReversed();
}

/**
 * Returns the images of the named data versions, oldest first, each once.
 * @throws ApiError `not_found` when a version isn't loaded
 */
export function versionsNamed(versions: Versions, names: readonly string[]): Image[] {
  const named = new Set(names.map((name) => findVersion(versions, name)));
  return versions.images.filter((image) => named.has(image)).toReversed();
}

const isInvented = ({ description }: Image) => description.isSynthetic;

/** @param images oldest first */
export function sourceOfYears(images: readonly Image[]) {
  const provenances = images.map(({ description }) => description.provenance);
  return {
    data_years: provenances.map(({ dataYear }) => dataYear),
    data_versions: provenances.map(versionName),
    caveat: caveatOf(provenances),
  };
}

/** Joins distinct caveats. Caveats that differ only in the data year become one, with all the years. */
function caveatOf(provenances: readonly Provenance[]): string {
  const distinct = new Map(provenances.map((provenance) => [provenance.caveat, provenance])).values();
  const alike = Map.groupBy(distinct, ({ caveat, dataYear }) => caveat.replaceAll(String(dataYear), ""));
  return Array.from(alike.values(), ([{ caveat, dataYear }, ...others]) =>
    caveat.replaceAll(String(dataYear), [dataYear, ...others.map((other) => other.dataYear)].join(", ")),
  ).join(" ");
}
