import { type Image, textAt } from "../../engine/query.ts";
import { KeyTable } from "../accounts/key-table.ts";
import { generateKey, hashKey } from "../accounts/keys.ts";
import { Limits } from "../accounts/limits.ts";
import { basePath, type Versions } from "../api/endpoint.ts";
import { ApiError } from "../api/errors.ts";
import { keyedPaths } from "../api/routes.ts";
import { monthOf } from "../shared/months.ts";
import { maxBurst, maxQuota } from "../shared/plans.ts";
import { headerNames, type RequestHead } from "./reply.ts";
import type { Service } from "./service.ts";

/**
 * Answers requests of each kind before clients send them, because a thread's first search takes a hundred times as long
 * as the next one.
 */

/** Milliseconds of a thread's CPU time after which no further request is answered. */
export const maxWarmingMs = 300;
/** Rounds after which answers hardly get faster. */
const rounds = 20;

/** Paths of the API or of pages, with queries. */
type Requests = [path: string, query: Record<string, string>][];

/**
 * Answers rounds of requests for at most `maxWarmingMs`.
 * @param requestsOf returns a round's requests. Rounds differ, because equal requests would tell the compiler too little
 * @param answer answers a path and an undecoded query, or throws
 * @param cpuMs returns milliseconds of CPU time that this thread has used
 */
export function warm(
  requestsOf: (round: number) => Requests,
  answer: (path: string, query: string) => unknown,
  cpuMs: () => number,
): void {
  const begun = cpuMs();
  for (let round = 0; round < rounds; round++)
    for (const [path, query] of requestsOf(round)) {
      if (cpuMs() - begun >= maxWarmingMs) return;
      try {
        answer(path, new URLSearchParams(query).toString());
      } catch (error) {
        // A procedure without prices and words without a match are answered by errors.
        if (!(error instanceof ApiError)) throw error;
      }
    }
}

function subjectsOf(image: Image, round: number) {
  const facility = round % image.description.counts.facilities;
  const [ccn, name, city, state, zip] = [
    image.ccn,
    image.facilityName,
    image.city,
    image.state,
    image.zip,
  ].map((texts) => textAt(texts, facility));
  return { ccn, name, city, state, zip, procedure: image.codes[round % image.procedures] };
}

/** Returns a round's requests of each kind for a serving thread. @param image the image of the newest data version */
export function apiRequestsOf(image: Image, round: number): Requests {
  const { ccn, name, city, state, zip, procedure } = subjectsOf(image, round);
  const requests: Requests = [
    ["/search", { q: `${name} ${city}` }],
    ["/search", { q: `hospitals in ${city}, ${state}` }],
    ["/search", { q: `${name.slice(1)} hospital` }],
    ["/search", { q: `hospital xq${round}` }],
    // Most hospitals have one of these words in their names.
    ["/search", { q: round % 2 === 0 ? "hospital" : "medical center" }],
    ["/search", { q: "knee replacement", type: "procedure" }],
    ["/healthcare/facilities", { procedure, near: `${city}, ${state}` }],
    ["/healthcare/facilities", { procedure, near: zip }],
    ["/healthcare/facilities", { procedure, sort: "markup", limit: "50" }],
    [`/healthcare/facilities/${ccn}`, {}],
    ["/healthcare/procedures", { state }],
    [`/healthcare/procedures/${procedure}`, {}],
    [`/healthcare/facilities/${ccn}/trends`, { procedure }],
    ["/healthcare/trends", { procedure }],
  ];
  return requests.map(([path, query]) => [basePath + path, query]);
}

/** Returns a round's pages for the page thread. @param image the image of the newest data version */
export function pageRequestsOf(image: Image, round: number): Requests {
  const { ccn, state, procedure } = subjectsOf(image, round);
  return [
    ["/", { procedure, state }],
    [`/facilities/${ccn}`, { procedure }],
  ];
}

/** Makes a service with other versions, keys and ceilings than the thread's own. */
export type ServiceOf = (
  own: Pick<ConstructorParameters<typeof Service>[0], "versions" | "keys" | "ceilings" | "traffic">,
) => Service;

/** Number of price queries after which further ones hardly get faster. They take some milliseconds. */
const priceQueries = 200;

/**
 * Answers price queries as clients send them, with a key and ceilings of its own, so that nothing is counted. Without
 * this, a thread's first price query would take some milliseconds, and the next ones several times as long as later ones.
 */
export function warmPrices(versions: Versions, serviceOf: ServiceOf): void {
  const [image] = versions.images;
  const [keys, ceilings] = [new KeyTable(), new Limits()];
  const key = generateKey();
  keys.put({ id: 1, hash: hashKey(key), expires_at: null, revoked_at: null }, 0);
  ceilings.configure(0, maxBurst, maxQuota);
  ceilings.enter(0, monthOf(Date.now()), 0);
  const service = serviceOf({ versions, keys, ceilings, traffic: { refused() {}, unauthorized() {} } });
  let query = "";
  const request: RequestHead = {
    getQuery: () => query,
    getHeader: (name) => (name === headerNames.authorization ? `Bearer ${key}` : ""),
    forEach() {},
  };
  const [path = ""] = keyedPaths.keys();
  for (let i = 0; i < priceQueries; i++) {
    query = `procedure=${image.codes[i % image.procedures]}&limit=${1 + (i % 50)}`;
    service.answer(request, path, "GET", false);
  }
}
