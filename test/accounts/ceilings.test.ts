import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  type Answer,
  Connection,
  call,
  createKey,
  pricesPath,
  requestText,
  startServer,
  temporaryFolder,
} from "../support/server.ts";

// The core keeps this part of the contract without any part.
process.env.SERVER_PARTS = "none";

/** Which requests count, and what happens at the two ceilings of an account. */

const stateDir = temporaryFolder();
const unhurried = 10_000;
const wide = { burst: unhurried, quota: 5 };
const keys = {
  quota: createKey(stateDir, "quota", wide),
  shared: createKey(stateDir, "shared quota", wide),
  sharedToo: createKey(stateDir, "shared quota"),
  burst: createKey(stateDir, "burst", { burst: 1, quota: 1000 }),
};
const server = await startServer({ stateDir });
after(() => server.stop());

const request = `GET ${pricesPath}?procedure=5073`;
const ask = (key: string, asked = request, headers: Record<string, string | undefined> = {}) =>
  call(server, asked, { Authorization: `Bearer ${key}`, ...headers });

/** Asks with each key in turn, all in one segment. */
async function atOnce(...used: string[]): Promise<Answer[]> {
  const connection = await Connection.open(server.api);
  await connection.send(used.map((key) => requestText(request, { Authorization: `Bearer ${key}` })).join(""));
  const answers: Answer[] = [];
  for (const _ of used) answers.push(await connection.answer());
  connection.close();
  return answers;
}

const statuses = (answers: Answer[]) => answers.map((answer) => answer.status);

function checkRefused(answer: Answer, ceiling = "quota"): void {
  assert.equal(answer.status, 429);
  const { type, ceiling: reached } = answer.error();
  assert.deepEqual([type, reached], ["rate_limit_exceeded", ceiling]);
  assert.equal(answer.header("Content-Type"), "application/json");
  assert.equal(answer.header("X-RateLimit-Remaining"), "0");
  assert.match(answer.header("Retry-After") ?? "", /^[1-9]\d*$/);
}

const nextMonth = () => Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth() + 1) / 1000;

const etag = (await ask(server.key)).header("ETag");
for (const [asked, headers, status] of [
  [request, {}, 200],
  [request, { "If-None-Match": etag }, 304],
  [`HEAD ${pricesPath}?procedure=5073`, {}, 200],
  [`GET ${pricesPath}`, {}, 400],
  [`HEAD ${pricesPath}?limit=0`, {}, 400],
  [`GET ${pricesPath}?procedure=9999`, {}, 404],
  ["GET /nothing", {}, 404],
  [`POST ${pricesPath}`, {}, 405],
  [`POST ${pricesPath}`, { "Content-Length": "0" }, 405],
] as const)
  test(`${asked} with status ${status} counts ${JSON.stringify(headers)}`, async () => {
    const before = await ask(server.key);
    const answer = await ask(server.key, asked, headers);
    assert.equal(answer.status, status);
    assert.equal(answer.remaining, before.remaining - 1);
  });

test("a 401 doesn't count", async () => {
  const before = await ask(server.key);
  for (const authorization of [undefined, "Basic x", `Bearer ${server.key}x`])
    assert.equal((await ask(server.key, request, { Authorization: authorization })).status, 401);
  assert.equal((await ask(server.key)).remaining, before.remaining - 1);
});

test("a used up quota gives 429 until next month", async () => {
  const answers = await atOnce(...Array(7).fill(keys.quota));
  assert.deepEqual(statuses(answers), [200, 200, 200, 200, 200, 429, 429]);
  assert.deepEqual(
    answers.map((answer) => answer.remaining),
    [4, 3, 2, 1, 0, 0, 0],
  );
  for (const answer of answers) assert.equal(answer.reset, nextMonth());
  for (const answer of answers.slice(5)) {
    checkRefused(answer);
    assert.match(answer.error().message, /per month/);
    const wait = Number(answer.header("Retry-After"));
    assert.ok(Math.abs(nextMonth() - Date.now() / 1000 - wait) < 60, `${wait} s lead to the next month`);
  }
});

test("a refusal comes before every other error but the key's", async () => {
  for (const asked of ["GET /nothing", `POST ${pricesPath}`, `GET ${pricesPath}?bad=1`])
    checkRefused(await ask(keys.quota, asked));
  assert.equal((await ask(keys.quota, request, { Authorization: undefined })).status, 401);
});

test("a refused HEAD has no body", async () => {
  const answer = await ask(keys.quota, `HEAD ${pricesPath}?procedure=5073`);
  assert.equal(answer.status, 429);
  assert.match(answer.header("Retry-After") ?? "", /^[1-9]\d*$/);
});

test("errors use up a quota as well, and two keys of one account share it", async () => {
  const remaining: number[] = [];
  for (const [key, asked, status] of [
    [keys.shared, request, 200],
    [keys.sharedToo, `GET ${pricesPath}`, 400],
    [keys.shared, "GET /nothing", 404],
    [keys.sharedToo, `POST ${pricesPath}`, 405],
    [keys.sharedToo, `HEAD ${pricesPath}?procedure=5073`, 200],
  ] as const) {
    const answer = await ask(key, asked);
    assert.equal(answer.status, status);
    remaining.push(answer.remaining);
  }
  assert.deepEqual(remaining, [4, 3, 2, 1, 0]);
  for (const key of [keys.shared, keys.sharedToo]) checkRefused(await ask(key));
});

test("a burst beyond the ceiling gives 429 for about a second", async () => {
  const before = Date.now() / 1000;
  const answers = await atOnce(keys.burst, keys.burst);
  const after = Date.now() / 1000;
  assert.deepEqual(statuses(answers), [200, 429]);
  const [, refused] = answers;
  checkRefused(refused, "burst");
  assert.match(refused.error().message, /per second/);
  assert.equal(refused.header("Retry-After"), "1");
  const { reset } = refused;
  assert.ok(reset > before - 1 && reset <= after + 2, `asked from ${before} to ${after}, reset at ${reset}`);
});
