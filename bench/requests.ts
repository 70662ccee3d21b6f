import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { bisect, cumsum } from "d3-array";
import { defaultSampleSeed } from "../datasets/sample/synthetic.ts";
import { encodePrices, findGroup, type Image, search, stateCodes } from "../engine/index.ts";
import { generateKey } from "../server/accounts/keys.ts";
import { basePath, Context } from "../server/api/endpoint.ts";
import { decodeTarget, resolve } from "../server/api/routes.ts";
import { findVersion } from "../server/api/years.ts";
import { versionsOf } from "../test/support/endpoint-oracle.ts";
import { type Random, seededRandom } from "../test/support/random.ts";
import { type loadSnapshot, pricesPath, type Query, queryText } from "./rivals/rival.ts";

/** Makes the lists of requests, which are the same for all servers. */

const maxLimit = 50;
const zipfExponent = 1.1;

export const searchPath = `${basePath}/search`;
export const exportPath = `${basePath}/export`;
export const hotQuery: Query = { procedure: "5072", state: null, limit: 25 };
const hotTarget = `${pricesPath}?${queryText(hotQuery)}`;

type Data = Awaited<ReturnType<typeof loadSnapshot>>;

export type ListName = keyof ReturnType<typeof writeLists>;

export interface List {
  file: string;
  lines: readonly string[];
  refused: boolean;
}

/** Writes each list into a file. A line has a request target, and optionally a tab and a header. */
export function writeLists(
  folder: string,
  data: Data,
  sizes: { zipf: number; warm: number; cold: number; keys: number },
) {
  const queries = allPriceQueries(data.image, seededRandom(defaultSampleSeed));
  const prices = queries.map((query) => `${pricesPath}?${queryText(query)}`);
  const random = seededRandom(defaultSampleSeed + 1);
  // All warm texts fit in the service's cache. The load `search-cold` has many times more texts than the cache can hold.
  const texts = searchTexts(data, sizes.warm + sizes.cold, random);
  const searches = texts.map((text) => `${searchPath}?q=${encodeURIComponent(text)}`);
  const bytes = () => Buffer.from(Array.from({ length: 32 }, () => random.int(256)));
  const withKey = () => `${hotTarget}\tAuthorization: Bearer ${generateKey(bytes())}`;
  const unknown = Array.from({ length: sizes.keys }, withKey);
  const list = (name: string, lines: readonly string[], refused = false): List => {
    const file = join(folder, `${name}.txt`);
    writeFileSync(file, `${lines.join("\n")}\n`);
    return { file, lines, refused };
  };
  return {
    hot: list("hot", [hotTarget]),
    zipf: list("zipf", drawZipf(prices, sizes.zipf, random)),
    uniform: list("uniform", prices),
    "search-warm": list("search-warm", searches.slice(0, sizes.warm)),
    "search-cold": list("search-cold", searches.slice(sizes.warm)),
    // Keys that are well-formed but unknown are the most expensive to refuse.
    unauthorized: list("unauthorized", unknown, true),
    "one-unauthorized": list("one-unauthorized", unknown.slice(0, 1), true),
    "export-csv": list("export-csv", [`${exportPath}.csv`]),
    "export-arrow": list("export-arrow", [`${exportPath}.arrow`]),
    "export-parquet": list("export-parquet", [`${exportPath}.parquet`]),
  };
}

export function answerOf(image: Image, { procedure, state, limit }: Query): Uint8Array {
  return encodePrices(image, findGroup(image, procedure, state), limit);
}

const scratch = Buffer.alloc(2 ** 16);

/** Computes an endpoint's answer anew. @param target path and query below `basePath` */
export function madeAnew(image: Image, target: string): Uint8Array {
  const [path, query = ""] = target.split("?");
  const versions = versionsOf(image);
  const found = decodeTarget(resolve(basePath + path));
  const usage = () => assert.fail("nobody asks for the usage");
  const body = found.endpoint.answer(
    new Context(versions, found.segment, scratch, usage, () => findVersion(versions, found.version)),
    query,
  );
  return body instanceof Uint8Array ? body : assert.fail(`${target} is a file`);
}

export const byMarkup = "/healthcare/facilities?procedure=8011&sort=markup";
/** Lists of the hospitals within 500 or 50 miles of Chicago that have a price for a frequent procedure. */
export const nearest = "/healthcare/facilities?procedure=8011&near=60601&within=500&sort=distance";
export const nearer = "/healthcare/facilities?procedure=8011&near=60601&within=50&sort=distance";
export const inDepth = "/healthcare/procedures/8011";

export function allPriceQueries(image: Image, random: Random): Query[] {
  const queries: Query[] = [];
  for (const procedure of image.procedureOf.keys())
    for (const state of [null, ...stateCodes])
      if (findGroup(image, procedure, state) >= 0)
        for (let limit = 1; limit <= maxLimit; limit++) queries.push({ procedure, state, limit });
  return random.shuffled(queries);
}

/** Draws targets at random. The n-th target is 1/n^`zipfExponent` times as likely as the first. */
function drawZipf(targets: readonly string[], count: number, random: Random): string[] {
  const reached = cumsum(targets, (_, i) => 1 / (i + 1) ** zipfExponent);
  const total = reached[reached.length - 1];
  return Array.from({ length: count }, () => targets[bisect(reached, random.next() * total)]);
}

/**
 * Makes up to `count` different search texts with matches, from words of a facility's name, and perhaps its city and
 * state. Some words are cut or have a typo.
 */
export function searchTexts({ image, snapshot }: Data, count: number, random: Random): string[] {
  const { facilities } = snapshot.table;
  const texts = new Set<string>();
  for (let draws = 0; texts.size < count && draws < 100 * count; draws++) {
    const facility = random.int(facilities.name.length);
    const words = wordsOf(facilities.name[facility]);
    const from = random.int(words.length);
    const chosen = words.slice(from, from + 1 + random.int(3));
    if (random.next() < 0.5) chosen.push(...wordsOf(facilities.city[facility]));
    if (random.next() < 0.5) chosen.push(facilities.state[facility].toLowerCase());
    const typed = chosen.map((word) => mistyped(word, random)).join(" ");
    if (typed !== "" && search(image, "facility", typed, 0, 1).total > 0) texts.add(typed);
  }
  return [...texts];
}

function wordsOf(text: string): string[] {
  return text.split(" ").filter((word) => /^\p{L}{2,}$/u.test(word) && word !== "St");
}

function mistyped(word: string, random: Random): string {
  const way = random.next();
  if (way < 0.25 && word.length >= 4) return word.slice(0, 3 + random.int(word.length - 3));
  if (way <= 0.75 || !/^[A-Za-z]{6,}$/.test(word)) return word;
  const at = 1 + random.int(word.length - 1);
  return word.slice(0, at) + random.pick([..."abcdefghijklmnopqrstuvwxyz"]) + word.slice(at + 1);
}
