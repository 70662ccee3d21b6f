import { type Image, textAt } from "../../engine/query.ts";
import { ApiError } from "../api/errors.ts";

/** Answers requests of each kind before clients send them: the first search of a thread takes a hundred times as long as the next. */

/** Milliseconds of a thread's CPU time after which no further request is answered. */
export const maxWarmingMs = 300;
/** Rounds after which answers hardly get faster. */
const rounds = 20;

/**
 * @param image the newest data version's
 * @param read answers a path and an undecoded query, or throws
 * @param cpuMs returns milliseconds of CPU time that this thread has used
 */
export function warm(
  image: Image,
  read: (path: string, query: string) => unknown,
  cpuMs: () => number,
): void {
  const begun = cpuMs();
  for (let round = 0; round < rounds; round++)
    for (const [path, query] of requestsOf(image, round)) {
      if (cpuMs() - begun >= maxWarmingMs) return;
      try {
        read(`/api/v1${path}`, new URLSearchParams(query).toString());
      } catch (error) {
        // A procedure without prices and words without a match are answered by errors.
        if (!(error instanceof ApiError)) throw error;
      }
    }
}

/** Returns other requests in each round, because equal ones would tell the compiler too little. */
function requestsOf(image: Image, round: number): [path: string, query: Record<string, string>][] {
  const facility = round % image.description.counts.facilities;
  const [ccn, name, city, state, zip] = [
    image.ccn,
    image.facilityName,
    image.city,
    image.state,
    image.zip,
  ].map((texts) => textAt(texts, facility));
  const procedure = image.codes[round % image.procedures];
  return [
    ["/search", { q: `${name} ${city}` }],
    ["/search", { q: `hospitals in ${city}, ${state}` }],
    ["/search", { q: `${name.slice(1)} hospital` }],
    ["/search", { q: `hospital xq${round}` }],
    ["/search", { q: "knee replacement", type: "procedure" }],
    ["/healthcare/facilities", { procedure, near: `${city}, ${state}` }],
    ["/healthcare/facilities", { procedure, near: zip }],
    [`/healthcare/facilities/${ccn}`, {}],
    ["/healthcare/procedures", { state }],
    [`/healthcare/procedures/${procedure}`, {}],
  ];
}
