import { basePath, type Endpoint, type Keyed } from "./endpoint.ts";
import { ApiError, echo } from "./errors.ts";
import { allEndpoints } from "./openapi.ts";
import { decodeSegment } from "./parameters.ts";

/** Routes requests: finds the endpoint and the data version of a path. */

export interface Target {
  endpoint: Endpoint;
  /** The data version or the year that the path names; null if it names none. */
  version: string | null;
  /** The parameter in the path; empty if the endpoint's path has no parameter. */
  segment: string;
}

const versionsBase = "/versions/";

/** Endpoints by path, with `*` in place of a parameter. */
const table: ReadonlyMap<string, Endpoint> = new Map(
  allEndpoints.map((endpoint) => [endpoint.path.replace(/\{\w+\}/, "*"), endpoint]),
);

const versionedPaths = allEndpoints.filter(({ kind }) => kind === "versioned").map(({ path }) => path);

/**
 * Finds the endpoint of a path. Parameters stay encoded, so that an escaped slash doesn't separate segments.
 * @throws ApiError `unknown_endpoint`
 */
export function resolve(path: string): Target {
  const target = targetOf(path);
  if (target !== undefined) return target;
  const hint = path.startsWith(basePath + versionsBase)
    ? `; below ${basePath}${versionsBase}{version} there are ${versionedPaths.join(", ")}`
    : "";
  throw new ApiError("unknown_endpoint", `there is no endpoint at ${echo(path)}${hint}`);
}

/** Decodes a target's parameters. @throws ApiError `invalid_parameter` */
export function decodeTarget({ endpoint, version, segment }: Target): Target {
  return {
    endpoint,
    version: version === null ? null : decodeSegment(version, "version"),
    segment: decodeSegment(segment, endpoint.segment?.name ?? ""),
  };
}

const noParameters: ReadonlySet<string> = new Set();
const parametersOf: ReadonlyMap<Endpoint, ReadonlySet<string>> = new Map(
  allEndpoints.map((endpoint) => [endpoint, new Set(Object.keys(endpoint.parameters.entries))]),
);

/** Returns the names of a path's query parameters; none if the path has no endpoint. */
export function parametersAt(path: string): ReadonlySet<string> {
  const target = targetOf(path);
  return (target && parametersOf.get(target.endpoint)) ?? noParameters;
}

/** Whether a path belongs to the API, even if it has no endpoint. */
export function isApiPath(path: string): boolean {
  return path.startsWith("/api/") || path === "/api";
}

function targetOf(path: string): Target | undefined {
  if (path === `${basePath}/`) return find("", null);
  const isBelow = path === basePath || path.startsWith(`${basePath}/`);
  return isBelow ? find(path.slice(basePath.length), null) : undefined;
}

function find(path: string, version: string | null): Target | undefined {
  const exact = table.get(path);
  if (exact !== undefined && exact.segment === undefined) return allowed(exact, version, "");
  if (version === null && path.startsWith(versionsBase)) {
    const end = path.indexOf("/", versionsBase.length);
    return end <= versionsBase.length
      ? undefined
      : find(path.slice(end), path.slice(versionsBase.length, end));
  }
  // A parameter is the last segment of a path, or the segment before the last.
  const last = path.lastIndexOf("/") + 1;
  return (
    withSegment(path, last, path.length, version) ??
    withSegment(path, path.lastIndexOf("/", last - 2) + 1, last - 1, version)
  );
}

function withSegment(path: string, start: number, end: number, version: string | null): Target | undefined {
  if (start >= end) return undefined;
  const endpoint = table.get(`${path.slice(0, start)}*${path.slice(end)}`);
  return endpoint && allowed(endpoint, version, path.slice(start, end));
}

function allowed(endpoint: Endpoint, version: string | null, segment: string): Target | undefined {
  return version !== null && endpoint.kind !== "versioned" ? undefined : { endpoint, version, segment };
}

/** The endpoints whose common queries are read as one number, by their path without a version. */
export const keyedPaths: ReadonlyMap<string, Keyed> = new Map(
  allEndpoints.flatMap(({ path, keyed }) => (keyed === undefined ? [] : [[basePath + path, keyed]])),
);

/** The paths of the endpoints that have no parameter in their path. The paths name no data version. */
export const exactPaths: readonly string[] = allEndpoints
  .filter(({ segment }) => segment === undefined)
  .map(({ path }) => basePath + path);

/** The templates of all paths, for the metrics. A route is an index into this list. */
export const routes: readonly string[] = [
  "unknown",
  // All paths outside the API.
  "/*",
  ...allEndpoints.map(({ path }) => basePath + path),
  ...versionedPaths.map((path) => `${basePath}${versionsBase}{version}${path}`),
];
const routeOfTemplate = new Map(routes.map((template, route) => [template, route]));

export function routeOf(path: string): number {
  if (!isApiPath(path)) return 1;
  const exact = routeOfTemplate.get(path);
  if (exact !== undefined) return exact;
  const target = targetOf(path);
  if (target === undefined) return 0;
  const below = target.version === null ? "" : `${versionsBase}{version}`;
  return routeOfTemplate.get(basePath + below + target.endpoint.path) ?? 0;
}
