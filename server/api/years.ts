import { isSynthetic } from "../../datasets/sample/synthetic-mark.ts";
import { type Image, type Provenance, statusOf, versionName } from "../../engine/query.ts";
import type { Versions } from "./endpoint.ts";
import { unknownVersion } from "./not-found.ts";

/** Chooses the data versions that trends compare, and describes them as a source. */

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
 * Returns the images of the named data versions, oldest first.
 * @throws ApiError `not_found` when a version isn't loaded
 */
export function versionsNamed(versions: Versions, names: readonly string[]): Image[] {
  for (const name of names) if (!versions.byName.has(name)) throw unknownVersion(versions, name);
  return versions.images
    .filter(({ description }) => names.includes(versionName(description.provenance)))
    .toReversed();
}

const isInvented = ({ description }: Image) => isSynthetic(description.provenance);

/** Makes the fields that name the source of an answer about several images. @param images oldest first */
export function sourceOfYears(images: readonly Image[]) {
  const provenances = images.map(({ description }) => description.provenance);
  return {
    data_years: provenances.map(({ dataYear }) => dataYear),
    data_versions: provenances.map(versionName),
    caveat: caveatOf(provenances),
  };
}

/** Joins distinct caveats. Caveats that differ only in the data year become one caveat that names all years. */
function caveatOf(provenances: readonly Provenance[]): string {
  const distinct = new Map(provenances.map((provenance) => [provenance.caveat, provenance])).values();
  const alike = Map.groupBy(distinct, ({ caveat, dataYear }) => caveat.replaceAll(String(dataYear), ""));
  return Array.from(alike.values(), ([{ caveat, dataYear }, ...others]) =>
    caveat.replaceAll(String(dataYear), [dataYear, ...others.map((other) => other.dataYear)].join(", ")),
  ).join(" ");
}
