import { strict as assert } from "node:assert";
import { randomBytes } from "node:crypto";
import { sum } from "d3-array";
import { Bench, type BenchOptions } from "tinybench";
import { readPlaces } from "../datasets/places.ts";
import { defaultSampleSeed as seed, syntheticSnapshot } from "../datasets/sample/synthetic.ts";
import { attachImage, buildImage, decodeSnapshot, encodeSnapshot } from "../engine/index.ts";
import {
  arrowPieces,
  csvPieces,
  encodePrices,
  findGroup,
  groupSize,
  search,
  textOf,
} from "../engine/query.ts";
import { maxKeys } from "../server/accounts/key-table.ts";
import { hashKey } from "../server/accounts/keys.ts";
import { decodeCursor, pagesPath, pathOfPage } from "../server/api/cursor.ts";
import { endpoints } from "../server/api/endpoints/index.ts";
import { groupOfKey, readPriceKey } from "../server/api/endpoints/prices.ts";
import { checkParameters, parseQuery } from "../server/api/parameters.ts";
import { headerNames, type RequestHead } from "../server/serving/reply.ts";
import { openService } from "../test/support/asking.ts";
import { versionsOf } from "../test/support/endpoint-oracle.ts";
import { seededRandom } from "../test/support/random.ts";
import { digits } from "./figures.ts";
import { smoke } from "./options.ts";
import {
  allPriceQueries,
  answerOf,
  byMarkup,
  hotQuery,
  inDepth,
  madeAnew,
  nearest,
  searchPath,
  searchTexts,
} from "./requests.ts";
import { pricesPath, queryText } from "./rivals/rival.ts";

/*
 * Measures the engine and the service without HTTP: queries from arguments or a request to bytes, loads of a snapshot file
 * into an image, and exports. Run it with `npm run bench`. `--smoke` runs each case a few times.
 */

const rows = smoke ? 5_000 : 116_800;
const timing = smoke ? { iterations: 3, time: 0, warmup: false } : { time: 1000, warmupTime: 250 };
const slowTiming = smoke ? timing : { iterations: 15, time: 0, warmupIterations: 3 };

type Cases = Record<string, () => number | Promise<number>>;

const snapshot = syntheticSnapshot({ dataYear: 2024, revision: 1, rows, seed });
const file = encodeSnapshot(snapshot);
const image = attachImage(buildImage(snapshot, undefined, readPlaces()));
const versions = versionsOf(image);
const { service, key, keys } = openService(versions);
const authorization = `Bearer ${key}`;
const bodyOf = (query: string, path = pricesPath) => {
  const request: RequestHead = {
    getQuery: () => query,
    getHeader: (name) => (name === headerNames.authorization ? authorization : ""),
    forEach: () => {},
  };
  return service.answer(request, path, "GET", false).body ?? new Uint8Array();
};

for (let slot = 1; slot < maxKeys; slot++)
  keys.put({ id: 1, hash: randomBytes(32), expires_at: null, revoked_at: null }, slot);

// The cache keeps answers that were requested twice, so more queries are drawn than the cache has counters for.
const draws = smoke ? 1_000 : 50_000;
const random = seededRandom(seed);
const queries = allPriceQueries(image, random).slice(0, draws);
const texts = queries.map(queryText);
const searches = searchTexts({ image, snapshot }, draws, random);
const searchQueries = searches.map((text) => `q=${encodeURIComponent(text)}`);
const [pricesEndpoint] = endpoints;

let turn = 0;
const next = <T>(list: readonly T[]) => list[turn++ % list.length];

const hotText = queryText(hotQuery);
const hotGroup = findGroup(image, hotQuery.procedure, hotQuery.state);
const expected = JSON.parse(textOf(answerOf(image, hotQuery)));
assert.deepEqual({ ...JSON.parse(textOf(bodyOf(hotText))), next: null }, expected);
assert.equal(expected.procedure.code, hotQuery.procedure);
assert.equal(expected.data.length, hotQuery.limit);
const decoded = async () => (await decodeSnapshot(file, "benchmark")).snapshot;
assert.equal((await decoded()).sha256, snapshot.sha256);

assert.equal(search(image, "facility", snapshot.table.facilities.ccn[0], 0, 1).documents[0], 0);
assert.equal(groupOfKey(readPriceKey(image, hotText)), hotGroup);
assert.equal(checkParameters(pricesEndpoint.parameters, parseQuery(hotText)).procedure, hotQuery.procedure);
const page = () => pathOfPage(image, "prices", 25, next(texts));
assert.equal(decodeCursor(page().toString().slice(pagesPath.length))?.query, texts[0]);
assert.equal(keys.slotOf(keys.find(hashKey(key)), 0), 0);
const found = JSON.parse(textOf(bodyOf("q=general+hospital", searchPath)));
assert.equal(found.summary.matches, search(image, "facility", "general hospital", 0, 25).total);

const byMarkupFound = JSON.parse(textOf(madeAnew(image, byMarkup)));
assert.equal(byMarkupFound.summary.facilities, groupSize(image, findGroup(image, "8011", null)));
const markups: number[] = byMarkupFound.data.map(({ markup }: { markup: number }) => markup);
assert.deepEqual(
  markups,
  markups.toSorted((a, b) => a - b),
);
assert.ok(JSON.parse(textOf(madeAnew(image, nearest))).summary.facilities > 0);
const [ccn] = snapshot.table.facilities.ccn;
const [{ code }] = JSON.parse(textOf(madeAnew(image, `/healthcare/facilities/${ccn}`))).data;
const trend = `/healthcare/facilities/${ccn}/trends?procedure=${code}`;

const lookups: Cases = {
  "engine: look up a group, any procedure and state": () => {
    const { procedure, state } = next(queries);
    return findGroup(image, procedure, state);
  },
  "engine: encode 25 rows, the same again (in the processor's cache)": () =>
    encodePrices(image, hotGroup, 25).length,
  "engine: arguments to bytes, any procedure, state and limit": () => answerOf(image, next(queries)).length,
  "read a price query in its common form": () => readPriceKey(image, next(texts)),
  "path of a next page": () => page().length,
  "parse and check a query in any form": () =>
    Number(checkParameters(pricesEndpoint.parameters, parseQuery(next(texts))).limit),
  "look up a key never seen before (SHA-256 and table)": () => keys.find(hashKey(key)),
  "request to reply, one hot query (kept)": () => bodyOf(hotText).length,
  "request to reply, any query (made anew)": () => bodyOf(next(texts)).length,
  "engine: search never seen before": () => search(image, "facility", next(searches), 0, 25).total,
  "request to reply, search never seen before": () => bodyOf(next(searchQueries), searchPath).length,
  "request to reply, one search (kept)": () => bodyOf("q=general+hospital", searchPath).length,
  "all hospitals with a procedure by markup, 25 rows (made anew)": () => madeAnew(image, byMarkup).length,
  "hospitals with a procedure within 500 miles by distance, 25 rows (made anew)": () =>
    madeAnew(image, nearest).length,
  "one procedure's details (made anew)": () => madeAnew(image, inDepth).length,
  "one facility over the years, one year (made anew)": () => madeAnew(image, trend).length,
};
const bytesOf = (pieces: Iterable<Uint8Array>) => sum(pieces, ({ length }) => length);
const all = { procedure: null, state: null };
const loads: Cases = {
  [`decode and verify ${rows} rows of Parquet`]: async () => (await decoded()).counts.rows,
  [`build the image of ${rows} rows`]: () => buildImage(snapshot).byteLength,
  [`Parquet to attached image, ${rows} rows`]: async () =>
    attachImage(buildImage(await decoded())).procedures,
  "attach an image": () => attachImage(image.buffer).procedures,
  "export as CSV": () => bytesOf(csvPieces(image, all)),
  "export as Arrow": () => bytesOf(arrowPieces(image, all)),
};

// The compiler can't optimize the work away, because the results are summed.
let sink = 0;
async function run(cases: Cases, options: BenchOptions) {
  const bench = new Bench(options);
  for (const [name, make] of Object.entries(cases))
    bench.add(name, async () => {
      sink += await make();
    });
  await bench.run();
  for (const { name, result } of bench.tasks) {
    if (result.state !== "completed") throw new Error(`${name}: ${result.state}`);
    const { p50, p99 } = result.latency;
    const rate = name.startsWith("export") ? `, ${digits((await cases[name]()) / (p50 * 1000))} MB/s` : "";
    console.log(`${name}: median ${digits(p50 * 1000, 4)} µs, p99 ${digits(p99 * 1000, 4)} µs${rate}`);
  }
}
await run(lookups, timing);
await run(loads, slowTiming);
assert.ok(sink > 0);
console.log(
  `snapshot ${file.length.toLocaleString("en")} bytes, image ${image.buffer.byteLength.toLocaleString("en")} bytes, seed ${seed}`,
);
