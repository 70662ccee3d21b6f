import { connect } from "node:net";
import { type Image, textAt } from "../../engine/query.ts";
import { KeyTable } from "../accounts/key-table.ts";
import { generateKey, hashKey } from "../accounts/keys.ts";
import { Limits } from "../accounts/limits.ts";
import { basePath } from "../api/endpoint.ts";
import { ApiError } from "../api/errors.ts";
import { keyedPaths } from "../api/routes.ts";
import { monthOf } from "../shared/months.ts";
import { maxBurst, maxQuota } from "../shared/plans.ts";

/**
 * Answers requests of the commonest kinds before clients send them, because a thread's first requests take much longer
 * than the next ones.
 */

/**
 * Milliseconds of CPU time after which warming ends: `prices` and `others` in a serving thread, `pages` in the page
 * thread.
 */
export const warmingMs = { prices: 200, others: 100, pages: 300 };
/** Rounds after which answers hardly get faster. */
const rounds = 20;

type Requests = [path: string, query: Record<string, string>][];

/**
 * Answers rounds of requests.
 * @param requestsOf returns a round's requests. Rounds differ, because equal requests would tell the compiler too little
 * @param answer answers a path and an undecoded query. An `ApiError` that it throws is ignored
 * @param cpuMs returns milliseconds of CPU time that this thread has used
 * @param maxMs milliseconds of CPU time after which no further request is answered
 */
export function warm(
  requestsOf: (round: number) => Requests,
  answer: (path: string, query: string) => unknown,
  cpuMs: () => number,
  maxMs: number,
): void {
  const begun = cpuMs();
  for (let round = 0; round < rounds; round++)
    for (const [path, query] of requestsOf(round)) {
      if (cpuMs() - begun >= maxMs) return;
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

export function pageRequestsOf(image: Image, round: number): Requests {
  const { ccn, state, procedure } = subjectsOf(image, round);
  return [
    ["/", { procedure, state }],
    [`/facilities/${ccn}`, { procedure }],
  ];
}

/** Makes an account that no client has, with the highest ceilings. */
export function ownAccount(): { keys: KeyTable; ceilings: Limits; key: string } {
  const [keys, ceilings, key] = [new KeyTable(), new Limits(), generateKey()];
  keys.put({ id: 1, hash: hashKey(key), expires_at: null, revoked_at: null }, 0);
  ceilings.configure(0, maxBurst, maxQuota);
  ceilings.enter(0, monthOf(Date.now()), 0);
  return { keys, ceilings, key };
}

/** Price queries after which V8 has optimized the code for them. */
const priceQueries = 20_000;
/** Number of price queries that are sent without waiting for an answer. */
const priceQueriesEach = 32;
const differentBatches = 16;
export const loopback = "127.0.0.1";
const beginOfAnswer = "HTTP/1.1 ";

/**
 * Sends price queries to a server of this thread, and waits for the answers, so that V8 optimizes the code before clients
 * send queries. Resolves early if there are no answers.
 *
 * @param key a key of the server
 * @param cpuMs returns milliseconds of CPU time that this thread has used
 * @param maxMs milliseconds of CPU time after which no further query is sent
 * @param maxSilenceMs maximum milliseconds without an answer
 */
export async function warmPrices(
  { codes, procedures }: Image,
  port: number,
  key: string,
  cpuMs: () => number,
  maxMs: number,
  maxSilenceMs = 1000,
): Promise<void> {
  const [path = ""] = keyedPaths.keys();
  const query = (i: number) => `procedure=${codes[i % procedures]}&limit=${1 + (i % 8)}`;
  const request = (i: number) =>
    `GET ${path}?${query(i)} HTTP/1.1\r\nHost: ${loopback}\r\nAuthorization: Bearer ${key}\r\n\r\n`;
  const batches = Array.from({ length: differentBatches }, (_, batch) =>
    Array.from({ length: priceQueriesEach }, (_, i) => request(batch * priceQueriesEach + i)).join(""),
  );
  const begun = cpuMs();
  const socket = connect({ host: loopback, port, noDelay: true });
  let [sent, answered, rest] = [0, 0, ""];
  const send = () => {
    if (sent >= priceQueries || cpuMs() - begun >= maxMs) {
      socket.destroy();
      return;
    }
    socket.write(batches[(sent / priceQueriesEach) % differentBatches]);
    sent += priceQueriesEach;
  };
  socket.on("connect", send);
  socket.on("data", (bytes) => {
    const text = rest + bytes.toString("latin1");
    answered += text.split(beginOfAnswer).length - 1;
    rest = text.slice(1 - beginOfAnswer.length);
    if (answered === sent) send();
  });
  socket.on("error", () => {});
  socket.setTimeout(maxSilenceMs, () => socket.destroy());
  await new Promise((resolve) => socket.on("close", resolve));
}
