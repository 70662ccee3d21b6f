import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { test } from "node:test";
import { attachImage, buildImage, versionName } from "../../engine/index.ts";
import { imageFormatVersion } from "../../engine/query.ts";
import { KeyTable } from "../../server/accounts/key-table.ts";
import { generateKey, hashKey } from "../../server/accounts/keys.ts";
import { Limits } from "../../server/accounts/limits.ts";
import { AccountNames } from "../../server/accounts/names.ts";
import { monthOf } from "../../server/shared/months.ts";
import { maxBurst } from "../../server/shared/plans.ts";
import { ask, openService, requestWith, serviceOf, type Told } from "../support/asking.ts";
import { versionsOf, versionsWith } from "../support/endpoint-oracle.ts";
import { snapshotOf } from "../support/fixtures.ts";
import { OnClocks } from "../support/on-clocks.ts";
import { seededRandom } from "../support/random.ts";
import { pricesPath } from "../support/server.ts";
import { account as stored } from "../support/state.ts";

/** Tests the headers about ceilings, with clocks that the tests set. Tests also which part of a file is sent. */

const image = attachImage(buildImage(snapshotOf([["010001", "AL", "5072", 5000, 1000]])));
const versions = versionsOf(image);
const buffers = {
  keys: new KeyTable().buffer,
  limits: new Limits().buffer,
  names: new AccountNames().buffer,
};

/** A thread's service. All threads share memory, but each thread has its own clocks. */
class Thread {
  readonly limits = new Limits(buffers.limits);
  readonly keys = new KeyTable(buffers.keys);
  readonly failures: unknown[] = [];
  wallMs = Date.UTC(2026, 0, 15, 12);
  steadyMs = 5_000_000;
  /** How far both clocks advance at each reading of the steady clock. */
  perReadMs = 0;
  readonly #service = serviceOf({
    keys: this.keys,
    ceilings: this.limits,
    names: new AccountNames(buffers.names),
    versions,
    now: () => this.wallMs,
    steadyNow: () => {
      this.pass(this.perReadMs);
      return this.steadyMs;
    },
    report: (error) => this.failures.push(error),
  });

  /** Requests prices, or another path. A query that is a function throws, like a fault of the server. */
  ask(key: string, query: string | (() => string) = "procedure=5072", path = "healthcare/prices"): Told {
    return ask(this.#service, key, `/api/v1/${path}`, typeof query === "string" ? () => query : query);
  }

  pass(ms: number): void {
    this.wallMs += ms;
    this.steadyMs += ms;
  }
}

const writer = new KeyTable(buffers.keys);
let slots = 0;

/** Enters an account into the month of a time and into the next month, like the control thread. */
function serve(limits: Limits, slot: number, wallMs: number): void {
  for (const month of [monthOf(wallMs), monthOf(wallMs) + 1]) limits.enter(slot, month, 0);
}

function account(burst: number, quota: number): string {
  const key = generateKey();
  const slot = slots++;
  const limits = new Limits(buffers.limits);
  limits.configure(slot, burst, quota);
  serve(limits, slot, new Thread().wallMs);
  new AccountNames(buffers.names).put(slot, `account ${slot}`, "enterprise");
  writer.put({ id: 1, hash: hashKey(key), expires_at: null, revoked_at: null }, slot);
  return key;
}

const seconds = (iso: string) => Date.parse(iso) / 1000;
const february = seconds("2026-02-01T00:00:00Z");
const facts = ({ status, remaining, reset }: Told) => [status, remaining, reset];

const ceilingOf = ({ body }: Told): unknown => JSON.parse(body).error.ceiling;

function failing(): string {
  throw new TypeError("our fault");
}

for (const burst of [1, 2, 3, 7, 50, 1000])
  test(`a request beyond ${burst} a second gets 429 with the time from which requests are accepted again`, () => {
    for (const millisecond of [0, 1, 499, 998, 999]) {
      const thread = new Thread();
      thread.pass(millisecond);
      const key = account(burst, 1_000_000);
      for (let i = 0; i < burst; i++) assert.equal(thread.ask(key).status, 200);
      const refused = thread.ask(key);
      assert.deepEqual([refused.status, refused.remaining], [429, 0]);
      const again = thread.wallMs + Math.ceil(1000 / burst);
      assert.equal(refused.reset, Math.ceil(again / 1000));
      assert.equal(refused.retryAfter, "1");
      assert.match(refused.body, /per second are used up; retry in 1 s"/);
      assert.equal(ceilingOf(refused), "burst");
      thread.pass(refused.reset * 1000 - thread.wallMs);
      assert.deepEqual(facts(thread.ask(key)), [200, 1_000_000 - burst - 1, february]);
    }
  });

for (const [last, first, next] of [
  ["2026-01-31T23:59:59.999Z", "2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"],
  ["2026-12-31T23:59:59.999Z", "2027-01-01T00:00:00Z", "2027-02-01T00:00:00Z"],
  ["2028-02-29T23:59:59.999Z", "2028-03-01T00:00:00Z", "2028-04-01T00:00:00Z"],
])
  test(`a quota that is used up at ${last} is available again a millisecond later`, () => {
    const thread = new Thread();
    const key = account(100, 2);
    thread.wallMs = Date.parse(last);
    serve(thread.limits, slots - 1, thread.wallMs);
    const replies = [thread.ask(key), thread.ask(key), thread.ask(key)];
    assert.deepEqual(replies.map(facts), [
      [200, 1, seconds(first)],
      [200, 0, seconds(first)],
      [429, 0, seconds(first)],
    ]);
    assert.equal(replies[2].retryAfter, "1");
    assert.match(replies[2].body, new RegExp(`per month are used up until ${first}; retry in 1 s"`));
    thread.pass(1);
    assert.deepEqual(facts(thread.ask(key)), [200, 1, seconds(next)]);
  });

test("two threads with different clocks at a month's end each count in their own month", () => {
  const [early, late] = [new Thread(), new Thread()];
  const key = account(100, 2);
  early.wallMs = february * 1000 - 1;
  late.wallMs = february * 1000;
  const march = seconds("2026-03-01T00:00:00Z");
  const replies = [late, early, late, early, late, early].map((thread) => thread.ask(key));
  assert.deepEqual(replies.map(facts), [
    [200, 1, march],
    [200, 1, february],
    [200, 0, march],
    [200, 0, february],
    [429, 0, march],
    [429, 0, february],
  ]);
});

test("a request that gets 500 doesn't count against the quota", () => {
  const thread = new Thread();
  const key = account(100, 2);
  const replies = [undefined, failing, undefined, failing].map((query) => thread.ask(key, query));
  assert.deepEqual(replies.map(facts), [
    [200, 1, february],
    [500, 1, february],
    [200, 0, february],
    [429, 0, february],
  ]);
  assert.equal(thread.failures.length, 1);
  assert.doesNotMatch(replies[1].body, /our fault|TypeError/);
});

test("an error before a request is admitted gives 500 and uses no quota", (t) => {
  const thread = new Thread();
  const key = account(100, 2);
  const fault = () => {
    throw new Error("our fault");
  };
  for (const fail of [
    () => t.mock.method(thread.keys, "find", fault),
    () => t.mock.method(thread.limits, "admit", fault),
  ]) {
    const { mock } = fail();
    const reply = thread.ask(key);
    assert.deepEqual([reply.status, reply.remaining], [500, 0]);
    assert.doesNotMatch(reply.body, /our fault/);
    mock.restore();
  }
  assert.equal(thread.failures.length, 2);
  assert.deepEqual(facts(thread.ask(key)), [200, 1, february]);
});

test("the number of remaining requests falls by one per request over all threads", () => {
  const random = seededRandom(20_260_115);
  const threads = [new Thread(), new Thread(), new Thread()];
  const quota = 400;
  const key = account(20, quota);
  let admitted = 0;
  for (let i = 0; admitted < quota || i < 2000; i++) {
    const thread = random.pick(threads);
    for (const each of threads) each.pass(random.int(30));
    const isFailing = random.int(10) === 0;
    const reply = thread.ask(key, isFailing ? failing : undefined);
    if (reply.status === 200) admitted++;
    assert.ok(reply.remaining >= 0 && reply.remaining <= quota);
    assert.equal(reply.remaining, reply.status === 429 ? 0 : quota - admitted);
    assert.ok(reply.reset > thread.wallMs / 1000 && reply.reset <= february);
    if (reply.status === 429) assert.ok(Number(reply.retryAfter) >= 1);
  }
  assert.equal(admitted, quota);
});

test("a quota lowered below its use leaves no requests, and a raised one leaves the rest", () => {
  const thread = new Thread();
  const key = account(100, 10);
  const slot = slots - 1;
  for (let i = 0; i < 5; i++) thread.ask(key);
  thread.limits.configure(slot, 100, 3);
  assert.deepEqual(facts(thread.ask(key)), [429, 0, february]);
  assert.deepEqual(facts(thread.ask(key, failing)), [429, 0, february]);
  thread.limits.configure(slot, 100, 8);
  assert.deepEqual(facts(thread.ask(key)), [200, 2, february]);
});

test("usage requested as the month ends has all days of that month and none of the next", () => {
  const thread = new Thread();
  const key = account(100, 10);
  thread.wallMs = Date.parse("2026-01-31T23:59:59.998Z");
  thread.perReadMs = 1;
  const { days } = JSON.parse(thread.ask(key, "", "usage").body);
  assert.equal(thread.wallMs, february * 1000, "the month ended meanwhile");
  assert.equal(days.length, 31);
  assert.deepEqual(days.at(-1), { date: "2026-01-31", used: 1 });
});

function fileService(content: string) {
  const file = { bytes: Buffer.from(content), sha256: hash("sha256", content), isChecked: true };
  const { service, key } = openService(versionsWith(file, image));
  return (headers: Parameters<typeof ask>[4] = {}, method = "GET", target = "export.parquet") =>
    ask(service, key, `/api/v1/${target}`, () => undefined, headers, method);
}

test("a range of a file is sent unless If-Range names another file", () => {
  const download = fileService("0123456789");
  const etag = download().etag ?? "";
  const whole = [200, "0123456789", undefined];
  for (const [headers, expected] of [
    [{ range: "bytes=4-5" }, [206, "45", "bytes 4-5/10"]],
    [{ range: "bytes=-11" }, [206, "0123456789", "bytes 0-9/10"]],
    [{ range: "bytes=5-4" }, whole],
    [{ range: "bytes=4-", ifRange: etag }, [206, "456789", "bytes 4-9/10"]],
    [{ range: "bytes=4-", ifRange: '"another"' }, whole],
    [{ range: "bytes=4-", ifRange: `W/${etag}` }, whole],
    [{ range: "bytes=4-", ifRange: "Sat, 01 Jan 2000 00:00:00 GMT" }, whole],
    [{ range: "bytes=10-", ifRange: '"another"' }, whole],
    [{ range: "bytes=4-", ifNoneMatch: etag }, [304, "", undefined]],
  ] as const) {
    const { status, body, headers: given } = download(headers);
    assert.deepEqual([status, body, given.get("Content-Range")], expected, JSON.stringify(headers));
  }
  const refused = download({ range: "bytes=10-", ifRange: etag });
  assert.deepEqual([refused.status, refused.headers.get("Content-Range")], [416, "bytes */10"]);
  assert.equal(download({ range: "bytes=4-5" }, "HEAD").status, 200);
  assert.equal(download({ range: "bytes=4-5" }, "GET", "export.csv").status, 200);
});

test("a file is sent if If-Match names it by a strong comparison, on any of its lines; otherwise the answer is 412", () => {
  const download = fileService("0123456789");
  for (const target of ["export.parquet", "export.csv", "export.arrow"]) {
    const etag = download({}, "GET", target).etag ?? "";
    for (const [ifMatch, isMet] of [
      ...[etag, "*", " * ", `"other", ${etag}`, `${etag},"other"`, `"other" , W/"other" ,${etag} `, ""].map(
        (condition) => [condition, true] as const,
      ),
      ...[`W/${etag}`, '"other"', etag.slice(1, -1), `"other", W/${etag}`, `${etag.slice(0, -1)}-br"`].map(
        (condition) => [condition, false] as const,
      ),
      [['"other"', etag], true],
      [["", '"other"'], false],
      [['"other"', '"another"', `W/${etag}`], false],
    ] as const)
      for (const method of ["GET", "HEAD"]) {
        const { status, headers } = download({ ifMatch }, method, target);
        const told = `${method} ${target} ${ifMatch}`;
        assert.equal(status, isMet ? 200 : 412, told);
        assert.ok(headers.has("X-RateLimit-Remaining"), told);
      }
  }
});

test("If-Match is checked after the data, and before If-None-Match and Range", () => {
  const download = fileService("0123456789");
  const etag = download().etag ?? "";
  for (const [headers, status] of [
    [{ ifMatch: '"other"', ifNoneMatch: etag }, 412],
    [{ ifMatch: '"other"', range: "bytes=10-" }, 412],
    [{ ifMatch: '"other"', range: "bytes=4-", ifRange: etag }, 412],
    [{ ifMatch: etag, ifNoneMatch: etag, range: "bytes=4-" }, 304],
    [{ ifMatch: etag, range: "bytes=4-" }, 206],
    [{ ifMatch: etag, range: "bytes=10-" }, 416],
  ] as const)
    assert.equal(download(headers).status, status, JSON.stringify(headers));
  const other = { ifMatch: '"other"' };
  assert.equal(download(other, "GET", "export.parquet/").status, 404);
  assert.equal(download(other, "POST").status, 405);
  const { body } = download(other);
  assert.equal(JSON.parse(body).error.type, "precondition_failed");
});

test("If-None-Match and Accept-Encoding on several lines count as one list", () => {
  const { service, key } = openService(
    versionsWith({ bytes: Buffer.from("x"), sha256: "x", isChecked: true }, image),
  );
  const codingOf = (path: string, acceptEncoding: readonly string[], query = "") =>
    ask(service, key, path, () => query, { acceptEncoding }).headers.get("Content-Encoding");
  for (const path of ["/api/v1/openapi.json", "/api/v1"])
    for (let i = 0; i < 5; i++)
      for (const [lines, coding] of [
        [["gzip"], "gzip"],
        [["deflate", "br"], "br"],
        [["gzip", "br"], "br"],
        [["br", "gzip"], "br"],
        [["br;q=0.5", "gzip"], "gzip"],
        [["gzip, br;q=0.1", "deflate", "br;q=0, identity;q=0.1"], "gzip"],
        [["identity", "deflate"], undefined],
      ] as const)
        assert.equal(codingOf(path, lines), coding, `${path} ${lines.join(" | ")}`);
  for (const [path, query] of [
    ["/api/v1/datasets", ""],
    ["/api/v1/export.parquet", ""],
    ["/api/v1/export.csv", ""],
    [pricesPath, "procedure=5072"],
  ])
    for (let i = 0; i < 5; i++) {
      const { etag = "" } = ask(service, key, path, () => query);
      const statusOf = (...ifNoneMatch: string[]) =>
        ask(service, key, path, () => query, { ifNoneMatch }).status;
      assert.equal(statusOf(etag, '"other"'), 304, path);
      assert.equal(statusOf('"other"', etag), 304, path);
      assert.equal(statusOf('"other"', '"another"', `"third" , W/${etag}`), 304, path);
      assert.equal(statusOf('"other"', '"another"'), 200, path);
    }
});

test("a download resumed with another file of the same version starts from the beginning", () => {
  const [first, second] = [fileService("0123456789"), fileService("abcdefghij")];
  const etag = first().etag ?? "";
  assert.notEqual(second().etag, etag);
  assert.equal(first({ range: "bytes=4-", ifRange: etag }).body, "456789");
  const resumed = second({ range: "bytes=4-", ifRange: etag });
  assert.deepEqual([resumed.status, resumed.body], [200, "abcdefghij"]);
  assert.equal(second({ ifNoneMatch: etag }).status, 200);
  assert.equal(first({}, "GET", "export.csv").etag, second({}, "GET", "export.csv").etag);
});

test("a snapshot file has the ETag of its bytes at every path, and is never immutable", () => {
  const download = fileService("0123456789");
  const version = versionName(image.description.provenance);
  for (const target of ["export.parquet", `versions/${version}/export.parquet`]) {
    const { etag, headers } = download({}, "GET", target);
    assert.equal(etag, `"${hash("sha256", "0123456789")}"`);
    assert.equal(headers.get("Cache-Control"), "private, no-cache");
  }
  const csv = download({}, "GET", `versions/${version}/export.csv`);
  assert.equal(csv.headers.get("Cache-Control"), "private, max-age=31536000, immutable");
});

test("a request is refused by its key, then by its path, then by its method and body, and none of these is free", () => {
  const { service, key } = openService(versions);
  const told = (path: string, method: string, hasBody = false, authorization = `Bearer ${key}`) => {
    const request = requestWith(() => undefined, [["authorization", authorization]]);
    const { status, head, body } = service.answer(request, path, method, hasBody);
    const { type, message } = JSON.parse(Buffer.from(body ?? []).toString() || "{}").error ?? {};
    const [, allow] = /\r\nAllow: (.*)/.exec(Buffer.from(head).toString()) ?? [];
    return [status, type, message, allow];
  };
  const usage = "/api/v1/usage";
  assert.deepEqual(told(usage, "POST", true, "")[0], 401);
  assert.equal(told("/api/v1/nothing", "POST", true)[1], "unknown_endpoint");
  for (const method of ["GET", "HEAD"])
    assert.deepEqual(told(usage, method, true), [
      ...[400, "invalid_parameter"],
      "a GET or HEAD request can't have a body: send no Content-Length or Transfer-Encoding",
      undefined,
    ]);
  for (const [method, shown] of [
    ["POST", "POST"],
    ["get", "get"],
    ["ABCDEFGHIJKLMNOPQ", "ABCDEFGHIJKLMNOP"],
    ["hcq_1", "…"],
  ])
    assert.deepEqual(told(usage, method, true), [
      ...[405, "method_not_allowed", `the method ${shown} isn't allowed, only GET and HEAD`, "GET, HEAD"],
    ]);
  const { used } = JSON.parse(ask(service, key, usage, () => undefined).body).quota;
  assert.equal(used, 8, "each but the one without a key counts");
});

test("the usage tells the account, its month, what it used and has left of its ceilings, its days and warnings", (t) => {
  const world = new OnClocks(t, Date.UTC(2026, 1, 2, 12));
  const key = world.account("acme", 10);
  const usage = () => JSON.parse(world.usage(key).body);
  for (let used = 1; used < 8; used++)
    assert.deepEqual(usage().quota, { limit: 10, used, remaining: 10 - used });
  usage();
  world.save();
  world.tick();
  world.wallMs += 86_400_000;
  assert.deepEqual(usage(), {
    account: "acme",
    plan: stored.plan,
    period: { start: "2026-02-01T00:00:00.000Z", end: "2026-03-01T00:00:00.000Z" },
    quota: { limit: 10, used: 9, remaining: 1 },
    burst: { limit: maxBurst },
    days: [
      { date: "2026-02-01", used: 0 },
      { date: "2026-02-02", used: 8 },
      { date: "2026-02-03", used: 1 },
    ],
    events: [{ type: "quota.warning", threshold: 80, at: "2026-02-02T12:00:00.000Z" }],
  });
  assert.equal(usage().quota.remaining, 0);
});

test("each account's slot keeps its own name and plan", () => {
  const names = new AccountNames();
  const told = [0, 1, 2, 999].map((slot) => ({ slot, name: `account-${slot}`, plan: `plan${slot}` }));
  for (const { slot, name, plan } of told) names.put(slot, name, plan);
  for (const { slot, name, plan } of told) assert.deepEqual(names.get(slot), { name, plan });
});

test("what pages read without a key are objects, and no account's use", () => {
  const { service } = openService(versions);
  const datasets = service.read("/api/v1/datasets", "");
  assert.ok(JSON.stringify(datasets).includes(`"${versionName(image.description.provenance)}"`));
  assert.throws(() => service.read("/api/v1/usage", ""), { type: "missing_api_key" });
  for (const [path, query] of [
    ["/api/v1/export.csv", ""],
    [pricesPath, "procedure=5072"],
  ])
    assert.throws(() => service.read(path, query), {
      message: `${path} answers with bytes, expected an object`,
    });
});

test("an answer's ETag has the request if it is short, and its digest if it is longer or has other characters", () => {
  const { service, key } = openService(versions);
  const start = `${image.description.sha256.slice(0, 16)}-${imageFormatVersion}-`;
  for (const [length, end, isShown] of [
    [80, "+", true],
    [81, "+", false],
    [60, ",", false],
    [60, '"', false],
  ] as const) {
    const request = "/search?q=facility".padEnd(length - end.length, "+") + end;
    const query = request.slice("/search?".length);
    const { status, etag } = ask(service, key, "/api/v1/search", () => query);
    const expected = isShown ? request : hash("sha256", request, "base64url");
    assert.deepEqual([status, etag], [200, `"${start}${expected}"`], request);
  }
});
