import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { syntheticSnapshot } from "../../datasets/sample/synthetic.ts";
import { attachImage, buildImage, stateCodes } from "../../engine/index.ts";
import { KeyTable } from "../../server/accounts/key-table.ts";
import { generateKey, hashKey } from "../../server/accounts/keys.ts";
import { Limits } from "../../server/accounts/limits.ts";
import { readPriceKey } from "../../server/api/endpoints/prices.ts";
import { keyedPaths } from "../../server/api/routes.ts";
import { AskCounter } from "../../server/serving/answer-cache.ts";
import { Answer, type RequestHead } from "../../server/serving/reply.ts";
import { monthOf } from "../../server/shared/months.ts";
import { maxBurst } from "../../server/shared/plans.ts";
import { ask as askService, serviceOf, type Told } from "../support/asking.ts";
import { versionsOf } from "../support/endpoint-oracle.ts";
import { rounds } from "../support/rounds.ts";

/** Tests that a price query gets the same answer in its common form, in other forms, and from the cache. */

const pricesPath = "/api/v1/healthcare/prices";
const seed = 20_261_120;
const [image, other] = [1, 2].map((revision) => {
  return attachImage(buildImage(syntheticSnapshot({ dataYear: 2024, revision, rows: 4000, seed })));
});
const key = generateKey(Buffer.alloc(32, 7));
const january = Date.UTC(2026, 0, 31, 23, 59, 59);

function start(quota: number) {
  const [keys, limits] = [new KeyTable(), new Limits()];
  keys.put({ id: 1, hash: hashKey(key), expires_at: null, revoked_at: null }, 0);
  limits.configure(0, maxBurst, quota);
  for (const month of [monthOf(january), monthOf(january) + 1]) limits.enter(0, month, 0);
  const clock = { wallMs: january, steadyMs: 1000 };
  const service = serviceOf({
    keys,
    ceilings: limits,
    versions: versionsOf(image),
    now: () => clock.wallMs,
    steadyNow: () => clock.steadyMs,
  });
  const get = (query: string): Omit<Told, "headers" | "bytes"> => {
    const { headers: _, bytes: __, ...told } = askService(service, key, pricesPath, () => query);
    return told;
  };
  return { service, clock, get };
}

const codes = [...image.procedureOf.keys()];
const code = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...codes) },
  fc.constantFrom("9999", "0000", "507", "50722", "", "507x", "５０７２", "-072"),
);
const state = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("", ...stateCodes.map((of) => `&state=${of}`)) },
  fc.constantFrom("&state=", "&state=ZZ", "&state=ca", "&state=C", "&state=CAA", "&state=[A", "&State=CA"),
);
const limit = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 50 }).map((rows) => `&limit=${rows}`) },
  fc.constantFrom(
    "",
    "&limit=",
    "&limit=0",
    "&limit=51",
    "&limit=07",
    "&limit=025",
    "&limit=00",
    "&limit=100",
    "&limit=1x",
    "&limit=5&",
  ),
  fc.constantFrom("&limit=4294967297", "&limit=-1", "&limit=1.5", "&limit=25&limit=25", "&limit=25&x=1"),
);

test("the prices path without a version is the only one with numeric query keys", () => {
  const [[path, keyed], ...others] = keyedPaths;
  assert.deepEqual([path, keyed.read, others], [pricesPath, readPriceKey, []]);
});

test("a query in its common form is read at one go, whatever the procedure", () => {
  const { get } = start(10_000_000);
  for (const procedure of image.codes) {
    const query = `procedure=${procedure}`;
    assert.equal(readPriceKey(image, query) >= 0, get(query).status === 200, query);
  }
});

test("a price query in its common form gets the same response as in any other form", () => {
  const { get } = start(10_000_000);
  let read = 0;
  const property = fc.property(code, state, limit, (procedure, scope, rows) => {
    const query = `procedure=${procedure}${scope}${rows}`;
    if (readPriceKey(image, query) >= 0) read++;
    const { status, body } = get(query);
    // An empty parameter only makes the service parse the query in the general way.
    const { status: expectedStatus, body: expected } = get(`&${query}`);
    assert.deepEqual([status, body], [expectedStatus, expected], query);
  });
  fc.assert(property, { seed, numRuns: rounds(3000) });
  assert.ok(read > 150, `${read} read at one go`);
});

test("two characters that aren't an upper-case state code are never read as a state", () => {
  const query = (of: string) => `procedure=${codes[0]}&state=${of}`;
  const characters = Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i));
  const states = new Set(stateCodes);
  const taken = characters
    .flatMap((first) => characters.map((second) => first + second))
    .filter((of) => readPriceKey(image, query(of)) >= 0);
  assert.ok(taken.length > 0);
  assert.deepEqual(
    taken.filter((of) => !states.has(of)),
    [],
  );
});

test("characters next to the digits in ASCII are rejected in codes and limits", () => {
  // If `:` and `/` were read as the digits 10 and −1, the codes below would exist.
  for (const [digit, beside, more] of [
    ["0", ":", -1],
    ["9", "/", 1],
  ] as const) {
    const madeUp = codes.flatMap((code) =>
      [1, 2, 3]
        .filter((at) => code[at] === digit && /[1-8]/.test(code[at - 1]))
        .map((at) => `${code.slice(0, at - 1)}${Number(code[at - 1]) + more}${beside}${code.slice(at + 1)}`),
    );
    assert.ok(madeUp.length > 0);
    for (const code of madeUp) assert.equal(readPriceKey(image, `procedure=${code}`), -1, code);
  }
  const query = (limit: string) => `procedure=${codes[0]}&limit=${limit}`;
  assert.ok(readPriceKey(image, query("10")) >= 0);
  for (const beside of ["/", ":", "-", "+", " ", "%", "a"])
    for (const limit of [beside, `1${beside}`, `${beside}1`])
      assert.equal(readPriceKey(image, query(limit)), -1, limit);
});

test("every price query has its own ETag", () => {
  const { get } = start(10_000_000);
  const seen = new Map<string, string>();
  for (const procedure of codes)
    for (const scope of ["", "&state=CA", "&state=TX", "&state=NY"])
      for (const rows of [1, 2, 15, 16, 17, 25, 50]) {
        const query = `procedure=${procedure}${scope}&limit=${rows}`;
        const { status, etag = "" } = get(query);
        if (status !== 200) continue;
        assert.match(etag, /^"[0-9a-f]{16}-\d+-[!#-+\--~]+"$/);
        assert.equal(seen.get(etag), undefined, query);
        seen.set(etag, query);
      }
  assert.ok(seen.size > 20, `${seen.size} answers`);
});

for (const form of ["", "&"])
  test(`cached responses to ${form}procedure=… count against the quota and expire with their data and month`, () => {
    const quota = 1203;
    const { service, clock, get } = start(quota);
    const query = `${form}procedure=${codes[0]}`;
    const first = get(query);
    assert.equal(first.status, 200);
    for (let left = quota - 2; left >= 900; left--)
      assert.deepEqual(get(query), { ...first, remaining: left }, `${left} left`);

    service.publish(versionsOf(other));
    const changed = get(query);
    assert.notEqual(changed.etag, first.etag);
    service.publish(versionsOf(image));
    assert.deepEqual(get(query), { ...first, remaining: 898 });
    for (let left = 897; left >= 800; left--) get(query);

    // After a second, the service reads the wall clock again.
    clock.wallMs += 1000;
    clock.steadyMs += 1000;
    const { remaining, reset } = get(query);
    assert.deepEqual([remaining, reset], [quota - 1, Date.UTC(2026, 2, 1) / 1000]);
    for (let left = quota - 2; left >= 0; left--) assert.equal(get(query).remaining, left);
    assert.equal(get(query).status, 429);
  });

const ways = [{}, { acceptEncoding: "br" }, { acceptEncoding: "gzip" }, { ifNoneMatch: '"x"' }];

test("a response has the same body in every content coding, cached or not", () => {
  const [query] = codes.map((of) => `procedure=${of}&limit=50`).filter((of) => readPriceKey(image, of) >= 0);
  const { body: expected, etag } = start(1000).get(query);
  const tagOf = { br: etag?.replace(/"$/, '-br"'), gzip: etag?.replace(/"$/, '-gzip"') };
  const asks = fc.array(fc.constantFrom(...ways), { minLength: 70, maxLength: 90 });
  const property = fc.property(asks, (order) => {
    const { service } = start(1000);
    for (const others of order) {
      const told = askService(service, key, pricesPath, () => query, others);
      const tag = "acceptEncoding" in others ? tagOf[others.acceptEncoding as "br" | "gzip"] : etag;
      assert.deepEqual([told.status, told.body, told.etag], [200, expected, tag]);
      const same = askService(service, key, pricesPath, () => query, { ...others, ifNoneMatch: `W/${tag}` });
      assert.deepEqual([same.status, same.body, same.etag], [304, "", tag]);
    }
  });
  fc.assert(property, { seed, numRuns: rounds(6) });
});

test("keys that collide in the cache of recent keys are told apart", () => {
  const [keys, limits] = [new KeyTable(), new Limits()];
  const letters = (of: string) => [14, 16, 18].map((at) => `Bearer ${of}`[at]).join("");
  const byLetters = new Map<string, string>();
  let pair: [string, string] | undefined;
  for (let i = 0; pair === undefined; i++) {
    const random = createHash("sha256").update(String(i)).digest();
    const made = generateKey(random);
    const twin = byLetters.get(letters(made));
    if (twin !== undefined) pair = [twin, made];
    byLetters.set(letters(made), made);
  }
  const expires_at = null;
  for (const [slot, of] of pair.entries()) {
    keys.put({ id: 1, hash: hashKey(of), expires_at, revoked_at: null }, slot);
    limits.configure(slot, maxBurst, 1000 * (slot + 1));
    limits.enter(slot, monthOf(january), 0);
  }
  const service = serviceOf({
    keys,
    ceilings: limits,
    versions: versionsOf(image),
    now: () => january,
    steadyNow: () => 1000,
  });
  const left = () => pair.map((of) => askService(service, of, pricesPath, () => "").remaining);
  assert.deepEqual(
    [left(), left()],
    [
      [999, 1999],
      [998, 1998],
    ],
  );
  keys.put({ id: 1, hash: hashKey(pair[1]), expires_at, revoked_at: 1 }, 1);
  assert.deepEqual(
    [left(), left()],
    [
      [997, 0],
      [996, 0],
    ],
  );
});

test("the reset time for an invalid key is the end of the current month", () => {
  const { service, clock } = start(10);
  const refused = () => askService(service, "x", pricesPath, () => "");
  assert.deepEqual([refused().status, refused().reset], [401, Date.UTC(2026, 1, 1) / 1000]);
  clock.wallMs += 1000;
  clock.steadyMs += 1000;
  assert.deepEqual([refused().status, refused().reset], [401, Date.UTC(2026, 2, 1) / 1000]);
});

const noHeaders: RequestHead = { getQuery: () => "", getHeader: () => "", forEach: () => {} };
const head = (tag: string) => ({ tag, cacheControl: "no-cache", lastLines: "\r\nleft: " });

test("price queries are counted by their number, and another query with the same counter resets the count", () => {
  const asks = new AskCounter();
  const counts = Array.from({ length: 300 }, () => asks.count(5072));
  assert.deepEqual(counts.slice(0, 3), [1, 2, 3]);
  assert.equal(counts[299], 300);
  for (let key = 0; key < 200_000; key++) if (key !== 5072) asks.count(key);
  assert.equal(asks.count(5072), 1);
});

test("a cached response shows the current number of remaining requests", () => {
  const answer = new Answer(head("x"), Buffer.from("x"), true);
  for (const left of [0, 1, 9, 10, 99, 100, 2_000_000_000, 5, 1_999_999_999, 12]) {
    const { head } = answer.replyTo(noHeaders, left);
    assert.ok(Buffer.from(head).toString().endsWith(`\r\nleft: ${left}`), String(left));
  }
});
