import { strict as assert } from "node:assert";
import { Bench } from "tinybench";
import { defaultSampleSeed, syntheticContent } from "../datasets/synthetic.ts";
import {
  attachImage,
  buildImage,
  decodeSnapshot,
  encodePrices,
  encodeSnapshot,
  findGroup,
  type Image,
  sealSnapshot,
  search,
  textOf,
} from "../engine/index.ts";
import { KeyTable } from "../server/accounts/key-table.ts";
import { generateKey, hashKey } from "../server/accounts/keys.ts";
import { Limits } from "../server/accounts/limits.ts";
import { AccountNames } from "../server/accounts/names.ts";
import { decodeCursor, pagesPath, pathOfPage } from "../server/api/cursor.ts";
import { endpoints } from "../server/api/endpoints/index.ts";
import { checkParameters, parseQuery } from "../server/api/parameters.ts";
import { groupOfKey, readPriceKey } from "../server/api/price-key.ts";
import { headerNames, type RequestHead } from "../server/serving/reply.ts";
import { Service } from "../server/serving/service.ts";
import { monthOf } from "../server/shared/months.ts";
import { maxBurst, maxQuota } from "../server/shared/plans.ts";
import { seededRandom } from "../test/support/random.ts";
import { digits } from "./figures.ts";
import { smoke } from "./options.ts";

/*
 * What the engine costs: a price query from its arguments to bytes, and a snapshot from its file to an attached image.
 * Run `npm run bench`; `--smoke` runs each case a few times, to see that it works and answers rightly.
 */

const rows = smoke ? 5_000 : 116_800;
const timing = smoke ? { iterations: 3, time: 0, warmup: false } : { time: 1000, warmupTime: 250 };
const slowTiming = smoke ? timing : { iterations: 15, time: 0, warmupIterations: 3 };
const seed = defaultSampleSeed;

interface Query {
  code: string;
  state: string | null;
  limit: number;
}

/** Queries drawn evenly from every group that has rows and every limit. */
function drawQueries(image: Image, count: number): Query[] {
  const random = seededRandom(seed);
  const codes = [...image.procedureOf.keys()];
  const states = ["CA", "TX", "NY", "FL", "IL", "PA", "OH", "GA", "NC", "MI", "WY", "VT", null];
  const queries: Query[] = [];
  while (queries.length < count) {
    const query = { code: random.pick(codes), state: random.pick(states), limit: 1 + random.int(50) };
    if (findGroup(image, query.code, query.state) >= 0) queries.push(query);
  }
  return queries;
}

const keys = new KeyTable();
const limits = new Limits();
const key = generateKey(Buffer.alloc(32, 7));
keys.put({ hash: hashKey(key), expires_at: null, revoked_at: null }, 0);
limits.configure(0, maxBurst, maxQuota);
const month = monthOf(Date.UTC(2026, 0, 1));
limits.enter(0, month, 0);

/** What asks a service with one account that is never refused. */
function serviceOver(image: Image) {
  let now = Date.UTC(2026, 0, 1);
  const service = new Service({
    keys,
    limits,
    names: new AccountNames(),
    versions: { images: [image], byName: new Map(), loadedAt: new Map(), files: new Map() },
    now: () => now,
    steadyNow: () => now++,
    report: (error) => {
      throw error;
    },
  });
  const authorization = `Bearer ${key}`;
  return (query: string, path = "/api/v1/healthcare/prices") => {
    const request: RequestHead = {
      getQuery: () => query,
      getHeader: (name) => (name === headerNames.authorization ? authorization : ""),
    };
    return service.answer(request, path, "GET", false);
  };
}

const snapshot = sealSnapshot(syntheticContent({ dataYear: 2024, revision: 1, rows, seed }));
const file = encodeSnapshot(snapshot);
const image = attachImage(buildImage(snapshot));
// Many more than the service counts: one asked again would be kept.
const draws = 50_000;
const queries = drawQueries(image, draws);
const ask = serviceOver(image);
const [pricesEndpoint] = endpoints;
const texts = queries.map(
  ({ code, state, limit }) => `procedure=${code}${state === null ? "" : `&state=${state}`}&limit=${limit}`,
);

const searchPath = "/api/v1/search";

let turn = 0;
const next = <T>(list: readonly T[]) => list[turn++ % list.length];
const answerOf = ({ code, state, limit }: Query) => encodePrices(image, findGroup(image, code, state), limit);
const bodyOf = (query: string, path?: string) => ask(query, path).body ?? new Uint8Array();

// Each case checks an answer first.
const first = queries[0];
const expected = JSON.parse(textOf(answerOf(first)));
assert.deepEqual({ ...JSON.parse(textOf(bodyOf(texts[0]))), next: null }, expected);
assert.equal(expected.procedure.code, first.code);
assert.equal(expected.data.length, Math.min(first.limit, expected.summary.facilities));
assert.equal(decodeSnapshot(file, "benchmark").sha256, snapshot.sha256);

const words = [...new Set(snapshot.facilities.name.flatMap((name) => name.split(" ")))];
const random = seededRandom(seed + 1);
const typed = () => {
  const word = random.pick(words);
  const at = random.int(word.length);
  // One letter less, now and then: a typo.
  return random.next() < 0.3 ? word.slice(0, at) + word.slice(at + 1) : word;
};
const searches = Array.from({ length: draws }, () => `${typed()} ${typed()}`);
assert.equal(search(image, "facility", snapshot.facilities.ccn[0], 0, 1).documents[0], 0);
const firstGroup = findGroup(image, first.code, first.state);
assert.equal(groupOfKey(readPriceKey(image, texts[0])), firstGroup);
assert.equal(checkParameters(pricesEndpoint.parameters, parseQuery(texts[0])).procedure, first.code);
const page = () => pathOfPage(image, "prices", 25, next(texts));
assert.equal(decodeCursor(page().toString().slice(pagesPath.length))?.query, texts[0]);
assert.equal(keys.slotOf(keys.find(hashKey(key)), 0), 0);
assert.ok(limits.admit(0, month, 0) > 0);
const found = JSON.parse(textOf(bodyOf("q=general+hospital", searchPath)));
assert.equal(found.summary.matches, search(image, "facility", "general hospital", 0, 25).total);

// Each case counts what it made, so that none of the work can be optimized away.
let sink = 0;
const count = (made: number | { length: number }) => {
  sink += typeof made === "number" ? made : made.length;
};

const lookups = new Bench({ name: "queries", ...timing });
lookups
  .add("engine: look up a group, any procedure and state", () => {
    const { code, state } = next(queries);
    count(findGroup(image, code, state));
  })
  .add("engine: encode 25 rows, the same again (in the processor's cache)", () =>
    count(encodePrices(image, firstGroup, 25)),
  )
  .add("engine: arguments to bytes, any procedure, state and limit", () => count(answerOf(next(queries))))
  .add("read a price query in its common form", () => count(readPriceKey(image, next(texts))))
  .add("path of a next page", () => count(page()))
  .add("parse and check a query in any form", () =>
    count(checkParameters(pricesEndpoint.parameters, parseQuery(next(texts))).limit === 0 ? 0 : 1),
  )
  .add("look up a key never seen before (SHA-256 and table)", () => count(keys.find(hashKey(key)) + 1))
  .add("limiter: admit one request", () => count(limits.admit(0, month, turn++) === 0 ? 0 : 1))
  .add("request to reply, one hot query (kept)", () => count(bodyOf(texts[0])))
  .add("request to reply, any query (made anew)", () => count(bodyOf(next(texts))))
  .add("engine: search never seen before", () =>
    count(search(image, "facility", next(searches), 0, 25).total),
  )
  .add("request to reply, search never seen before", () => count(bodyOf(`q=${next(searches)}`, searchPath)))
  .add("request to reply, one search (kept)", () => count(bodyOf("q=general+hospital", searchPath)));
await lookups.run();

const loads = new Bench({ name: "load", ...slowTiming });
loads
  .add(`decode and verify ${rows} rows of Parquet`, () =>
    count(decodeSnapshot(file, "benchmark").counts.rows),
  )
  .add(`build the image of ${rows} rows`, () => count(buildImage(snapshot).byteLength))
  .add(`Parquet to attached image, ${rows} rows`, () =>
    count(attachImage(buildImage(decodeSnapshot(file, "benchmark"))).procedures),
  )
  .add("attach an image", () => count(attachImage(image.buffer).procedures));
await loads.run();

assert.ok(sink > 0);
for (const { name, result } of [...lookups.tasks, ...loads.tasks]) {
  if (result.state !== "completed") throw new Error(`${name}: ${result.state}`);
  const { p50, p99 } = result.latency;
  console.log(`${name}: median ${digits(p50 * 1000, 4)} µs, p99 ${digits(p99 * 1000, 4)} µs`);
}
console.log(
  `snapshot ${file.length.toLocaleString("en")} bytes, image ${image.buffer.byteLength.toLocaleString("en")} bytes, seed ${seed}`,
);
