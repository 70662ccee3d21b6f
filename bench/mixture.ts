import { strict as assert } from "node:assert";
import { once } from "node:events";
import { renameSync } from "node:fs";
import { Agent, request } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";

/*
 * Sends requests other than price queries, in its own process: 20 pages and 20 searches per second, and a list by markup,
 * page after page. Half of the pages and searches weren't requested before. Meanwhile it moves a snapshot into the server's
 * folder. Every answer must have status 200, and the snapshot must be served at the end.
 */

export interface Mixture {
  port: number;
  key: string;
  seconds: number;
  pages: readonly string[];
  searches: readonly string[];
  list: string;
  versions: string;
  snapshot: { from: string; to: string; version: string };
}

const perSecond = 20;
/** Number of pages, and also of searches, per request for the list. */
const listEvery = 5;
const maxPublishingMs = 30_000;

const { port, key, seconds, pages, searches, list, versions, snapshot }: Mixture = JSON.parse(
  process.argv[2],
);
const agent = new Agent({ keepAlive: true });

async function get(path: string, headers = {}): Promise<string> {
  const all = { authorization: `Bearer ${key}`, ...headers };
  const sent = request({ host: "127.0.0.1", port, path, headers: all, agent }).end();
  const [response] = await once(sent, "response");
  response.setEncoding("latin1");
  const body = await text(response);
  assert.equal(response.statusCode, 200, `${path}: ${body}`);
  return body;
}

const asBrowser = { "accept-encoding": "br" };
let next = list;
async function getList(): Promise<void> {
  next = JSON.parse(await get(next)).next ?? list;
}

console.log("begun");
const ticks = seconds * perSecond;
const startMs = performance.now();
const answers: Promise<unknown>[] = [];
for (let i = 0; i < ticks; i++) {
  answers.push(get(pages[i % pages.length], asBrowser), get(searches[i % searches.length], asBrowser));
  if (i % listEvery === 0) answers.push(getList());
  if (i === Math.floor(ticks / 3)) renameSync(snapshot.from, snapshot.to);
  await delay(Math.max(0, startMs + ((i + 1) * 1000) / perSecond - performance.now()));
}
await Promise.all(answers);
while (!(await get(versions)).includes(`"${snapshot.version}"`)) {
  assert.ok(
    performance.now() - startMs < seconds * 1000 + maxPublishingMs,
    `${snapshot.version} isn't served`,
  );
  await delay(100);
}
process.exit();
