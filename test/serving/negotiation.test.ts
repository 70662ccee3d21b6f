import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import * as v from "valibot";
import { pricesResponse } from "../../server/api/responses.ts";
import { codingOf, rangeOf } from "../../server/serving/negotiation.ts";
import { callDocumented } from "../support/documented.ts";
import { type Answer, datasetsFolder, pricedRows, pricesPath, startServer } from "../support/server.ts";

/** Tests answers with data: bodies, headers, conditional requests, content codings and data versions. */

const server = await startServer({ datasetsDir: datasetsFolder() });
after(() => server.stop());

const ask = (request: string, headers: Record<string, string | undefined> = {}) =>
  callDocumented(server, request.startsWith("?") ? `GET ${pricesPath}${request}` : request, headers);

const tag = (await ask("?procedure=5072")).header("ETag") ?? "";

function prices(answer: Answer): v.InferOutput<typeof pricesResponse> {
  assert.equal(answer.status, 200);
  return v.parse(pricesResponse, answer.json());
}

/** The headers of an answer, without those that differ between equal requests. */
function lasting(answer: Answer): Record<string, string> {
  const headers = Object.fromEntries(answer.headers);
  delete headers.date;
  // Answers without a body close their connection at random.
  delete headers.connection;
  delete headers["x-ratelimit-remaining"];
  delete headers["x-request-id"];
  return headers;
}

test("a price response has exactly the fields of the contract", async () => {
  const body = prices(await ask("?procedure=5072"));
  assert.deepEqual(body.procedure, { code: "5072", name: "Level 2 Procedures" });
  assert.deepEqual(body.scope, { state: "national" });
  assert.deepEqual([body.source.data_year, body.source.data_version], [2024, "2024.3"]);
  assert.equal(body.summary.facilities, pricedRows["5072"].AL + pricedRows["5072"].NY);
});

test("a version without services in its snapshot gives null for them, and another gives their number", async () => {
  const [of2024, of2023] = ["2024.3", "2023.1"].map(async (version) => {
    const { summary } = prices(await ask(`GET /api/v1/versions/${version}/healthcare/prices?procedure=5073`));
    return [summary.services, summary.weighted_median_charge === null, summary.weighted_mean_charge === null];
  });
  assert.deepEqual(await of2024, [23, false, false]);
  assert.deepEqual(await of2023, [null, true, true]);
});

test("a price response has the headers of the contract", async () => {
  const answer = await ask("?procedure=5072");
  const now = new Date();
  const start = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1) / 1000;
  assert.match(answer.header("ETag") ?? "", /^"[^"]+"$/);
  assert.equal(answer.header("Content-Type"), "application/json");
  assert.equal(answer.header("Content-Length"), String(answer.body.length));
  assert.equal(answer.header("Vary"), "Accept-Encoding, Authorization");
  assert.equal(answer.header("Cache-Control"), "private, no-cache");
  assert.equal(answer.header("Content-Encoding"), undefined);
  assert.match(answer.header("X-RateLimit-Remaining") ?? "", /^\d+$/);
  assert.equal(answer.reset, start);
});

const versioned = (version: string, query = "?procedure=5072") =>
  ask(`GET /api/v1/versions/${version}/healthcare/prices${query}`);
const immutable = "private, max-age=31536000, immutable";

for (const [version, answering, cacheControl] of [
  ["2024.3", "2024.3", immutable],
  ["2023.2", "2023.2", immutable],
  ["2023.1", "2023.1", immutable],
  ["%32023%2e1", "2023.1", immutable],
  ["2024", "2024.3", "private, no-cache"],
  ["2023", "2023.2", "private, no-cache"],
])
  test(`the path of version ${version} serves ${answering} with Cache-Control ${cacheControl}`, async () => {
    const [answer, exact] = [await versioned(version), await versioned(answering)];
    assert.equal(prices(answer).source.data_version, answering);
    assert.equal(answer.header("Cache-Control"), cacheControl);
    assert.deepEqual(answer.body, exact.body);
    assert.equal(answer.header("ETag"), exact.header("ETag"));
  });

test("each version has its own body and ETag, and a path without version has the newest one's", async () => {
  const [current, ...exact] = [
    await ask("?procedure=5072"),
    ...(await Promise.all(["2024.3", "2023.2", "2023.1"].map((version) => versioned(version)))),
  ];
  assert.deepEqual([current.body, current.header("ETag")], [exact[0].body, exact[0].header("ETag")]);
  assert.equal(new Set(exact.map((answer) => answer.header("ETag"))).size, 3);
  assert.equal(new Set(exact.map((answer) => answer.body.toString())).size, 3);
});

for (const [condition, status] of [
  [tag, 304],
  [`"other", ${tag}`, 304],
  [`${tag},"other"`, 304],
  [`W/${tag}`, 304],
  [`W/"other" , W/${tag}`, 304],
  ["*", 304],
  [" * ", 304],
  ['"other"', 200],
  ['W/"other"', 200],
  [tag.slice(1, -1), 200],
  [`${tag.slice(0, -1)}-br"`, 200],
  ["", 200],
] as const)
  test(`If-None-Match: ${condition.replace(tag, '"it"')} gives ${status}`, async () => {
    const answer = await ask("?procedure=5072", { "If-None-Match": condition });
    assert.equal(answer.status, status);
    assert.equal(answer.header("ETag"), tag);
    assert.equal(answer.header("Cache-Control"), "private, no-cache");
    assert.equal(answer.header("Vary"), "Accept-Encoding, Authorization");
    assert.match(answer.header("X-RateLimit-Remaining") ?? "", /^\d+$/);
    assert.equal(answer.body.length > 0, status === 200);
  });

test("If-None-Match and Accept-Encoding may be sent on several lines", async () => {
  const lines = (name: string, ...values: string[]) => ({ [name]: values.join(`\r\n${name}: `) });
  for (let i = 0; i < 4; i++) {
    assert.equal((await ask("?procedure=5072", lines("If-None-Match", '"other"', tag))).status, 304);
    const coded = await ask("?procedure=5072", lines("Accept-Encoding", "deflate", "gzip;q=0.5", "br"));
    assert.equal(coded.header("Content-Encoding"), "br");
  }
});

test("If-None-Match on an error changes nothing", async () => {
  assert.equal((await ask("?procedure=9999", { "If-None-Match": "*" })).status, 404);
});

for (const [request, headers, status] of [
  [`${pricesPath}?procedure=5072`, {}, 200],
  [`${pricesPath}?procedure=5072`, { "Accept-Encoding": "br" }, 200],
  [`${pricesPath}?procedure=5072`, { "Accept-Encoding": "gzip" }, 200],
  [`${pricesPath}?procedure=5072`, { "If-None-Match": tag }, 304],
  ["/api/v1/versions/2023.1/healthcare/prices?procedure=5072", {}, 200],
  [`${pricesPath}?procedure=5072&limit=0`, {}, 400],
  [`${pricesPath}?procedure=9999`, {}, 404],
  ["/nothing", {}, 404],
  [`${pricesPath}?procedure=5072`, { Authorization: undefined }, 401],
] as const)
  test(`HEAD ${request} ${JSON.stringify(headers)} has the headers of GET, and no body`, async () => {
    const get = await ask(`GET ${request}`, headers);
    const head = await ask(`HEAD ${request}`, headers);
    assert.equal(head.status, status);
    assert.deepEqual(lasting(head), lasting(get));
    assert.equal(head.body.length, 0);
  });

const codings: [accepted: string, coding: string | undefined][] = [
  ["br", "br"],
  ["gzip", "gzip"],
  ["gzip, br", "br"],
  ["GZIP", "gzip"],
  ["gzip, deflate, br, zstd", "br"],
  ["gzip, deflate", "gzip"],
  ["deflate, zstd", undefined],
  ["br;q=0.5, gzip;q=0.9", "gzip"],
  ["br;q=0.5, gzip;q=0.5", "br"],
  ["br ; q=0.5 , gzip ; q=0.9", "gzip"],
  ["br;Q=0, gzip;Q=0.1", "gzip"],
  ["br;q=0", undefined],
  ["br;q=0.000, gzip;q=0", undefined],
  ["*", "br"],
  ["br;q=0, *", "gzip"],
  ["*;q=0", undefined],
  ["gzip, *;q=0", "gzip"],
  ["identity", undefined],
  ["identity, br;q=0.5", undefined],
  ["identity;q=0.5, br;q=0.8", "br"],
  ["identity;q=0, gzip", "gzip"],
  ["identity;q=0", undefined],
  ["identity;q=0, *;q=0", undefined],
  ["br;q=abc", undefined],
  [",, gzip,", "gzip"],
  ["", undefined],
];
for (const [accepted, coding] of codings)
  test(`Accept-Encoding: ${accepted} gives ${coding ?? "the body as it is"}`, () => {
    assert.equal(codingOf(accepted), coding ?? "identity");
  });

test("in a tie br comes first, then gzip, then the plain body", () => {
  for (const [accepted, coding] of [
    ["gzip, br", "br"],
    ["br;q=0.5, gzip;q=0.5", "br"],
    ["gzip;q=0.6, br;q=0.5", "gzip"],
    ["*", "br"],
    ["*;q=0.5, br;q=0.4", "gzip"],
    ["gzip, identity", "gzip"],
    ["gzip;q=0.5, identity;q=0.5", "gzip"],
    ["gzip;q=0.4, identity;q=0.5", "identity"],
    ["br;q=0, gzip;q=0", "identity"],
    ["br;q=x, gzip", "gzip"],
    ["deflate", "identity"],
    ["", "identity"],
  ] as const)
    assert.equal(codingOf(accepted), coding, accepted);
});

test("ever-changing Accept-Encoding headers don't leak memory", () => {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  const usedAfter = (headers: number) => {
    for (let i = 0; i < headers; i++) assert.equal(codingOf(`gzip, ${i}${"x".repeat(2000)}`), "gzip");
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = usedAfter(1);
  // Measures the memory after the cache of 10,000 headers was emptied several times. A full cache takes only 20 MB.
  const grown = usedAfter(39_990) - before;
  assert.ok(grown < 30 * 2 ** 20, `${grown} bytes more`);
});

test("each content coding has the same body and its own ETag, and If-None-Match matches only that one", async () => {
  const plain = await ask("?procedure=5072");
  const tags: string[] = [];
  const decoders = { identity: (body: Buffer) => body, br: brotliDecompressSync, gzip: gunzipSync };
  for (const [accepted, decoded] of Object.entries(decoders)) {
    const answer = await ask("?procedure=5072", { "Accept-Encoding": accepted });
    const coding = accepted === "identity" ? undefined : accepted;
    assert.equal(answer.header("Content-Encoding"), coding);
    assert.equal(answer.header("Content-Length"), String(answer.body.length));
    assert.deepEqual(decoded(answer.body), plain.body);
    if (coding !== undefined) assert.ok(answer.body.length < plain.body.length / 2);
    tags.push(answer.header("ETag") ?? "");
  }
  assert.equal(new Set(tags).size, 3);
  for (const [i, accepted] of Object.keys(decoders).entries())
    for (const [j, condition] of tags.entries()) {
      const headers = { "Accept-Encoding": accepted, "If-None-Match": condition };
      const answer = await ask("?procedure=5072", headers);
      assert.equal(answer.status, i === j ? 304 : 200);
      assert.equal(answer.header("ETag"), tags[i]);
    }
});

for (const [header, part] of [
  ["bytes=0-0", [0, 1]],
  ["bytes=0-9", [0, 10]],
  ["bytes=9-9", [9, 10]],
  ["bytes=9-10", [9, 10]],
  ["bytes=0-1000", [0, 10]],
  ["bytes=4-", [4, 10]],
  ["BYTES= 4-5 ", [4, 6]],
  ["bytes=-1", [9, 10]],
  ["bytes=-10", [0, 10]],
  ["bytes=-11", [0, 10]],
  ["bytes=-1000", [0, 10]],
  ["bytes=-0", null],
  ["bytes=10-", null],
  ["bytes=10-11", null],
  ["bytes=5-4", undefined],
  ["bytes=11-10", undefined],
  ["bytes=-", undefined],
  ["bytes=0-1,4-5", undefined],
  ["bytes=a-b", undefined],
  ["lines=0-1", undefined],
  ["", undefined],
] as const)
  test(`for a file of ten bytes, Range: ${header} is ${part === null ? "none" : (part?.join(" up to ") ?? "not a range")}`, () => {
    assert.deepEqual(rangeOf(header, 10), part);
  });
