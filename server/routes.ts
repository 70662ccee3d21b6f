import * as v from "valibot";
import {
  encodePrices,
  findGroup,
  type Image,
  imageFormatVersion,
  stateCodes,
  versionName,
} from "../engine/index.ts";
import { ApiError, echo } from "./errors.ts";
import { type Parameters, readParameters, wholeNumber } from "./query.ts";

/** The body of a 200, and a name for it that no other body of the same snapshot has. */
export interface Found {
  body: Uint8Array;
  name: string;
}

/** An endpoint that answers from one data version. */
export interface Route {
  /** Below `/api/v1`, and below `/api/v1/versions/{version}`. */
  path: string;
  /** @throws ApiError for bad parameters, and `not_found` */
  find(image: Image, query: string): Found;
}

function route<Schema extends Parameters>(
  path: string,
  parameters: v.ObjectSchema<Schema, undefined>,
  find: (image: Image, values: v.InferOutput<typeof parameters>) => Found,
): Route {
  return { path, find: (image, query) => find(image, readParameters(parameters, query)) };
}

const required = v.pipe(v.string(), v.nonEmpty());
const expectedState = `one of ${stateCodes.join(", ")}`;
// The pattern first: upper-casing turns some other characters into two letters.
const state = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z]{2}$/, expectedState),
  v.toUpperCase(),
  v.picklist(stateCodes, expectedState),
);

const prices = route(
  "/healthcare/prices",
  v.object({
    procedure: required,
    state: v.optional(state),
    limit: v.optional(wholeNumber(1, 50), "25"),
  }),
  (image, { procedure, state, limit }) => {
    const group = findGroup(image, procedure, state ?? null);
    if (group < 0) {
      const where = state === undefined ? "" : ` in ${state}`;
      const version = versionName(image.describe.provenance);
      throw new ApiError(
        "not_found",
        `no prices for procedure ${echo(procedure)}${where} in data version ${version}`,
      );
    }
    return { body: encodePrices(image, group, limit), name: `prices-${group}-${limit}` };
  },
);

const table: ReadonlyMap<string, Route> = new Map([prices].map((entry) => [entry.path, entry]));

/** The data versions that are served, and the one that paths without a version mean. */
export interface Versions {
  byName: ReadonlyMap<string, Image>;
  current: Image;
}

/** A request's target: a route, and the data version that its path names, undecoded; null for the current one. */
export interface Target {
  route: Route;
  version: string | null;
}

const base = "/api/v1";
const versionsBase = "/versions/";

/** The endpoint of a path. @throws ApiError `unknown_endpoint` */
export function resolve(path: string): Target {
  let rest = path.startsWith(`${base}/`) ? path.slice(base.length) : "";
  let version: string | null = null;
  if (rest.startsWith(versionsBase)) {
    const end = rest.indexOf("/", versionsBase.length);
    version = end < 0 ? "" : rest.slice(versionsBase.length, end);
    rest = end < 0 ? "" : rest.slice(end);
  }
  const route = table.get(rest);
  if (route === undefined || version === "")
    throw new ApiError("unknown_endpoint", `there is no endpoint ${echo(path)}`);
  return { route, version };
}

/** The image of a version name or of a bare year's newest revision. @throws ApiError `not_found` */
export function findVersion(versions: Versions, version: string | null): Image {
  if (version === null) return versions.current;
  const exact = versions.byName.get(version);
  if (exact !== undefined) return exact;
  let newest: Image | undefined;
  for (const image of versions.byName.values()) {
    const { dataYear, revision } = image.describe.provenance;
    if (String(dataYear) !== version) continue;
    if (newest === undefined || revision > newest.describe.provenance.revision) newest = image;
  }
  if (newest !== undefined) return newest;
  const loaded = [...versions.byName.keys()].join(", ");
  throw new ApiError("not_found", `there is no data version ${echo(version)}; loaded are ${loaded}`);
}

/** A strong ETag's text: the same bytes have it always, and other bytes never. */
export function entityTag(image: Image, found: Found): string {
  return `${image.describe.sha256.slice(0, 16)}-${imageFormatVersion}-${found.name}`;
}
