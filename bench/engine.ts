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
import { headerNames, type RequestHead } from "../server/answer.ts";
import { decodeCursor, pagesPath, pathOfPage } from "../server/cursor.ts";
import { Directory } from "../server/directory.ts";
import { endpoints } from "../server/endpoints.ts";
import { generateKey, hashKey, KeyTable } from "../server/keys.ts";
import { Limits, monthOf } from "../server/limits.ts";
import { maxBurst, maxQuota } from "../server/plans.ts";
import { groupOfUsual, readUsual } from "../server/prices.ts";
import { checkParameters, parseQuery } from "../server/query.ts";
import { Service } from "../server/service.ts";
import { randomFrom } from "./requests.ts";

/*
 * What the engine costs: a price query from its arguments to bytes, and a snapshot from its file to an attached image.
 * Run `npm run bench`; `--smoke` runs each case a few times, to see that it works and answers rightly.
 */

const smoke = process.argv.includes("--smoke");
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
  const pick = randomFrom(seed);
  const codes = [...image.procedureOf.keys()];
  const states = ["CA", "TX", "NY", "FL", "IL", "PA", "OH", "GA", "NC", "MI", "WY", "VT", null];
  const queries: Query[] = [];
  while (queries.length < count) {
    const code = codes[Math.floor(pick() * codes.length)];
    const state = states[Math.floor(pick() * states.length)];
    const limit = 1 + Math.floor(pick() * 50);
    if (findGroup(image, code, state) >= 0) queries.push({ code, state, limit });
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
    directory: new Directory(),
    versions: { images: [image], byName: new Map(), loadedAt: new Map() },
    now: () => now,
    steadyNow: () => now++,
    report: (error) => {
      throw error;
    },
  });
  const authorization = `Bearer ${key}`;
  return (query: string, path = "/api/v1/healthcare/prices") => {
    const request: RequestHead = {
      getUrl: () => path,
      getQuery: () => query,
      getHeader: (name) => (name === headerNames.authorization ? authorization : ""),
    };
    return service.answer(request, "GET", false);
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
const asText = ({ code, state, limit }: Query) =>
  `procedure=${code}${state === null ? "" : `&state=${state}`}&limit=${limit}`;
const texts = queries.map(asText);

const searchPath = "/api/v1/search";

// Each case counts the bytes it made, so that none of the work can be optimized away, and checks an answer first.
let sink = 0;
let turn = 0;
const first = queries[0];
const expected = textOf(encodePrices(image, findGroup(image, first.code, first.state), first.limit));
const { next: _, ...answered } = JSON.parse(textOf(ask(texts[0]).body ?? new Uint8Array()));
assert.deepEqual({ ...answered, next: null }, JSON.parse(expected));
assert.equal(JSON.parse(expected).procedure.code, first.code);
assert.equal(
  JSON.parse(expected).data.length,
  Math.min(first.limit, JSON.parse(expected).summary.facilities),
);
assert.equal(decodeSnapshot(file, "benchmark").sha256, snapshot.sha256);

const words = [...new Set(snapshot.facilities.name.flatMap((name) => name.split(" ")))];
const pickWord = randomFrom(seed + 1);
const typed = () => {
  const word = words[Math.floor(pickWord() * words.length)];
  const at = Math.floor(pickWord() * word.length);
  // One letter less, now and then: a typo.
  return pickWord() < 0.3 ? word.slice(0, at) + word.slice(at + 1) : word;
};
const searches = Array.from({ length: draws }, () => `${typed()} ${typed()}`);
assert.equal(search(image, "facility", snapshot.facilities.ccn[0], 0, 1).documents[0], 0);
const firstGroup = findGroup(image, first.code, first.state);
assert.equal(groupOfUsual(readUsual(image, texts[0])), firstGroup);
assert.equal(checkParameters(pricesEndpoint.parameters, parseQuery(texts[0])).procedure, first.code);
const page = () => pathOfPage(image, "prices", 25, texts[turn++ % texts.length]);
assert.equal(decodeCursor(page().toString().slice(pagesPath.length))?.query, texts[0]);
assert.equal(keys.slotOf(keys.find(hashKey(key)), 0), 0);
assert.ok(limits.admit(0, month, 0) > 0);
const found = JSON.parse(textOf(ask("q=general+hospital", searchPath).body ?? new Uint8Array()));
assert.equal(found.summary.matches, search(image, "facility", "general hospital", 0, 25).total);

const lookups = new Bench({ name: "queries", ...timing });
lookups
  .add("engine: look up a group, any procedure and state", () => {
    const { code, state } = queries[turn++ % queries.length];
    sink += findGroup(image, code, state);
  })
  .add("engine: encode 25 rows, the same again (in the processor's cache)", () => {
    sink += encodePrices(image, firstGroup, 25).length;
  })
  .add("engine: arguments to bytes, any procedure, state and limit", () => {
    const { code, state, limit } = queries[turn++ % queries.length];
    sink += encodePrices(image, findGroup(image, code, state), limit).length;
  })
  .add("read a price query in its usual form", () => {
    sink += readUsual(image, texts[turn++ % texts.length]);
  })
  .add("path of a next page", () => {
    sink += page().length;
  })
  .add("parse and check a query in any form", () => {
    sink +=
      checkParameters(pricesEndpoint.parameters, parseQuery(texts[turn++ % texts.length])).limit === 0
        ? 0
        : 1;
  })
  .add("look up a key never seen before (SHA-256 and table)", () => {
    sink += keys.find(hashKey(key)) + 1;
  })
  .add("limiter: admit one request", () => {
    sink += limits.admit(0, month, turn++) === 0 ? 0 : 1;
  })
  .add("request to reply, one hot query (prepared)", () => {
    sink += ask(texts[0]).body?.length ?? 0;
  })
  .add("request to reply, any query (made anew)", () => {
    sink += ask(texts[turn++ % texts.length]).body?.length ?? 0;
  })
  .add("engine: search never seen before", () => {
    sink += search(image, "facility", searches[turn++ % searches.length], 0, 25).total;
  })
  .add("request to reply, search never seen before", () => {
    sink += ask(`q=${searches[turn++ % searches.length]}`, searchPath).body?.length ?? 0;
  })
  .add("request to reply, one search (prepared)", () => {
    sink += ask("q=general+hospital", searchPath).body?.length ?? 0;
  });
await lookups.run();

const loads = new Bench({ name: "load", ...slowTiming });
loads
  .add(`decode and verify ${rows} rows of Parquet`, () => {
    sink += decodeSnapshot(file, "benchmark").counts.rows;
  })
  .add(`build the image of ${rows} rows`, () => {
    sink += buildImage(snapshot).byteLength;
  })
  .add(`Parquet to attached image, ${rows} rows`, () => {
    sink += attachImage(buildImage(decodeSnapshot(file, "benchmark"))).procedures;
  })
  .add("attach an image", () => {
    sink += attachImage(image.buffer).procedures;
  });
await loads.run();

assert.ok(sink > 0);
for (const bench of [lookups, loads]) {
  for (const task of bench.tasks) {
    if (task.result.state !== "completed") throw new Error(`${task.name}: ${task.result.state}`);
    const { p50, p99 } = task.result.latency;
    const figures = [p50 * 1000, p99 * 1000].map((us) =>
      us.toLocaleString("en", { maximumSignificantDigits: 4 }),
    );
    console.log(`${task.name}: median ${figures[0]} µs, p99 ${figures[1]} µs`);
  }
}
console.log(
  `snapshot ${file.length.toLocaleString("en")} bytes, image ${image.buffer.byteLength.toLocaleString("en")} bytes, seed ${seed}`,
);
