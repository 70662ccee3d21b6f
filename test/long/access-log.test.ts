import assert from "node:assert/strict";
import { after, test } from "node:test";
import { generateKey } from "../../server/accounts/keys.ts";
import { requestShown } from "../../server/serving/access-log.ts";
import { RequestIds, withRequestId } from "../../server/serving/request-ids.ts";
import { readSettings } from "../../server/shared/settings.ts";
import { Store } from "../../server/store/store.ts";
import { type Random, seededRandom } from "../support/random.ts";
import {
  type Answer,
  createKey,
  pricesPath,
  rawRequest,
  requestText,
  startServer,
  type TestServer,
  temporaryFolder,
  until,
  withConnections,
} from "../support/server.ts";
import { preloaded } from "../support/stopping.ts";

/** Tests the log lines of requests, which have account, request and id, but no secrets. */

// Runs the core with a single part, because the core has to work with each part alone.
process.env.SERVER_PARTS = "portal";

type Line = Record<string, unknown>;

const linesOf = ({ process }: TestServer, message = "request"): Line[] =>
  process.stderr
    .split("\n")
    .slice(0, -1)
    .map((line): Line => JSON.parse(line))
    .filter(({ msg }) => msg === message);

/** Waits for the log lines of `count` requests after the first `first` lines. */
const linesWhen = (server: TestServer, count: number, first = 0) =>
  until(`${count} lines`, () => {
    const lines = linesOf(server).slice(first);
    return lines.length >= count && lines;
  });

const send = (server: TestServer, request: string, headers: Record<string, string | undefined> = {}) =>
  rawRequest(server.api, requestText(request, headers));
const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });
const idOf = (answer: Answer) => answer.header("X-Request-Id");

const randomBytes = (random: Random, count: number) =>
  Buffer.from(Array.from({ length: count }, () => random.int(256)));

/** Draws a key, a key's secret part alone, or a token in base64url, perhaps with a key's prefix. */
function secretOf(random: Random): string {
  const bytes = randomBytes(random, 32);
  const token = bytes.toString("base64url");
  const key = generateKey(bytes);
  return random.pick([token, token, token, key, key.slice("hcq_".length), `hcq_${token}`]);
}

/** Percent-encodes no, some or all letters of a text, once or twice. */
function spelled(random: Random, text: string): string {
  const escaped = (letter: string, isLower: boolean) => {
    const hex = letter.charCodeAt(0).toString(16);
    return `%${isLower ? hex : hex.toUpperCase()}`;
  };
  const share = random.pick([0, 0, 0.1, 0.5, 1]);
  const once = [...text]
    .map((letter) => (random.next() < share ? escaped(letter, random.int(2) === 0) : letter))
    .join("");
  return random.int(4) === 0 ? once.replaceAll("%", "%25") : once;
}

/** Percent-decodes a text until it doesn't change. @returns the text and all decoded texts */
function decodings(text: string): string[] {
  const decoded = text.replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return decoded === text ? [text] : [text, ...decodings(decoded)];
}

/** Number of consecutive letters of a secret that a log line mustn't have. */
const telling = 12;

function assertHidden(shown: string, secret: string, where: string): void {
  for (const text of decodings(shown))
    for (let at = 0; at + telling <= secret.length; at++)
      assert.ok(!text.includes(secret.slice(at, at + telling)), `${where}: ${shown}`);
}

const places: ((text: string) => string)[] = [
  (text) => `${pricesPath}?procedure=${text}`,
  (text) => `${pricesPath}?procedure=5072&state=${text}&limit=1`,
  (text) => `/api/v1/search?q=${text}`,
  (text) => `/api/v1/search?q=st+mary+${text}+hospital`,
  (text) => `/api/v1/search?q=x%20${text}%26y`,
  (text) => `${pricesPath}?token=${text}`,
  (text) => `${pricesPath}?${text}`,
  (text) => `${pricesPath}?${text}=1`,
  (text) => `${pricesPath}?&&=${text}&`,
  (text) => `/api/v1/${text}`,
  (text) => `/api/v1/versions/${text}/healthcare/prices`,
  (text) => `/api/v1/healthcare/facilities/${text}?x=${text}`,
  (text) => `/api/v1/pages/${text}`,
  (text) => `/portal/${text}`,
  (text) => `/portal/signup/confirm/${text}?token=${text}`,
  (text) => `/signup?token=${text}`,
  (text) => `/signup/${text}`,
  (text) => `/signup?procedure=${text}`,
  (text) => `/facilities/${text}`,
  (text) => `/${text}?${text}=${text}&${text}`,
];

test("logged request targets hide keys and tokens at any place and in any escaping", () => {
  const seed = 20_261_122;
  const random = seededRandom(seed);
  for (let i = 0; i < 4000; i++) {
    const secret = secretOf(random);
    const target = random.pick(places)(spelled(random, secret));
    const [path, query] = target.split(/\?(.*)/s);
    const method = random.int(20) === 0 ? secret : "GET";
    assertHidden(requestShown(method, path, query), secret, `seed ${seed}, ${i}`);
  }
});

for (const [target, shown] of [
  [`${pricesPath}?procedure=5072&state=NY&limit=3`, undefined],
  ["/api/v1/search?q=saint+mary%27s&type=facility", undefined],
  ["/api/v1/versions/2024.1/healthcare/prices?procedure=5072", undefined],
  ["/api/v1/healthcare/facilities/000001", undefined],
  ["/api/v1/export.csv?", undefined],
  [`${pricesPath}?token=abc&procedure=5072`, `${pricesPath}?token=…&procedure=5072`],
  [`${pricesPath}?%70rocedure=5072`, `${pricesPath}?%70rocedure=…`],
  ["/api/v1/nothing?procedure=5072", "/api/v1/nothing?procedure=…"],
  ["/api/v1/healthcare/facilities/000001?procedure=1", "/api/v1/healthcare/facilities/000001?procedure=…"],
  ["/?procedure=5072&state=CA", "/?procedure=…&state=…"],
  ["/signup?token=a_b-c", "/signup?token=…"],
  ["/signup/a_b-c", "/signup/…"],
  ["/signups/050441", undefined],
  ["/facilities/050441", undefined],
  ["/portal/account/email", undefined],
  ["/portal/a1b2c3d4e5f6/parts/portal/browser/try-it.ts", "/portal/…/parts/portal/browser/try-it.ts"],
  [`/${"a b".repeat(1000)}`, `/${"a b".repeat(1000).slice(0, 1998)}…`],
] as const)
  test(`the log shows ${target.slice(0, 80)} as ${shown === undefined ? "it is" : shown.slice(0, 80)}`, () => {
    const [path, query] = target.split(/\?(.*)/s);
    assert.equal(requestShown("GET", path, query), `GET ${shown ?? target}`);
  });

test("request ids are unique within and across threads", () => {
  const [one, other] = [new RequestIds(), new RequestIds()];
  const ids = Array.from({ length: 1000 }, () => [one.next(), other.next()]).flat();
  assert.equal(new Set(ids).size, 2000);
  for (const id of ids) assert.match(id, /^[0-9a-f]{16}-[0-9a-z]{1,2}$/);
  const drawn = new RequestIds(Buffer.from("0123456789abcdef", "hex"));
  assert.deepEqual([drawn.next(), drawn.next()], ["0123456789abcdef-0", "0123456789abcdef-1"]);
});

test("an announced request id is used for the next response and no other", () => {
  const ids = new RequestIds(Buffer.alloc(8));
  assert.deepEqual(
    [ids.announce(), ids.announce(), ids.next(), ids.next()],
    ["0000000000000000-0", "0000000000000000-0", "0000000000000000-0", "0000000000000000-1"],
  );
});

test("adding a request id doesn't change the bytes of a reused response head", () => {
  const head = Buffer.from("401 Unauthorized\r\nA: b");
  const reply = { status: 401, head, body: undefined };
  for (const id of ["x-0", "x-1"]) {
    const { head: withId } = withRequestId(reply, id);
    assert.equal(String(withId), `401 Unauthorized\r\nA: b\r\nX-Request-Id: ${id}`);
  }
  assert.equal(String(head), "401 Unauthorized\r\nA: b");
});

test("ACCESS_LOG_ACCOUNTS takes account names separated by commas and needs ACCESS_LOG", () => {
  const named = readSettings({ ACCESS_LOG: "5", ACCESS_LOG_ACCOUNTS: "acme, big one ,x" });
  assert.ok(!Array.isArray(named));
  assert.deepEqual([named.ACCESS_LOG, named.ACCESS_LOG_ACCOUNTS], [5, ["acme", "big one", "x"]]);
  assert.ok(!Array.isArray(readSettings({ ACCESS_LOG: "1", ACCESS_LOG_ACCOUNTS: "acme" })));
  const without = readSettings({ ACCESS_LOG_ACCOUNTS: "" });
  assert.ok(!Array.isArray(without) && without.ACCESS_LOG_ACCOUNTS === undefined);
  assert.deepEqual(readSettings({ ACCESS_LOG_ACCOUNTS: "acme" }), [
    'ACCESS_LOG is "0", expected at least 1, as ACCESS_LOG_ACCOUNTS is set',
  ]);
  assert.deepEqual(readSettings({ ACCESS_LOG: "5", ACCESS_LOG_ACCOUNTS: "acme,,x" }), [
    'ACCESS_LOG_ACCOUNTS is "acme,,x", expected accounts\' names, with commas between them',
  ]);
});

const stateDir = temporaryFolder();
const spent = createKey(stateDir, "spent", { burst: 1000, quota: 1 });
const acme = createKey(stateDir, "acme", { burst: 1000, quota: 2 });
const revoked = createKey(stateDir, "acme");
const store = Store.open(stateDir);
store.keys.revoke(3, new Date());
store.close();
const server = await startServer({
  stateDir,
  env: {
    ...{ ACCESS_LOG: "1000", PORTAL: "on", SIGNUP: "open", CORS_ORIGINS: "*" },
    TRUSTED_PROXIES: "2",
  },
});
after(() => server.stop());

test("every error response has its own request id, as in the log, and other responses have none", async () => {
  const key = bearer(server.key);
  const json = { "Content-Type": "application/json", "Content-Length": "2" };
  await send(server, "GET /api/v1/usage", bearer(spent));
  const answers: [expected: number, answer: Answer][] = [];
  const post = async (path: string, headers: Record<string, string>, body = "{}") =>
    rawRequest(
      server.api,
      requestText(`POST ${path}`, { ...json, "Content-Length": String(body.length), ...headers }) + body,
    );
  for (let i = 0; i < 6; i++)
    for (const [request, headers, status] of [
      [`GET ${pricesPath}?procedure=5072`, key, 200],
      [`HEAD ${pricesPath}?procedure=5072`, key, 200],
      ["GET /", {}, 200],
      ["GET /api/v1/usage", { ...key, "If-None-Match": "*" }, 304],
      [`GET ${pricesPath}`, key, 400],
      [`HEAD ${pricesPath}`, key, 400],
      [`GET ${pricesPath}`, { ...key, Connection: "close" }, 400],
      ["GET /api/v1/usage", {}, 401],
      ["GET /api/v1/usage", { Authorization: "Bearer x" }, 401],
      ["HEAD /api/v1/usage", {}, 401],
      ["GET /api/v1/usage", { Origin: "https://example.org" }, 401],
      ["GET /api/v1/nothing", key, 404],
      ["DELETE /api/v1/usage", key, 405],
      ["GET /api/v1/export.parquet", { ...key, Range: "bytes=99999999-" }, 416],
      ["GET /api/v1/usage", bearer(spent), 429],
      ["GET /nothing", {}, 404],
      ["DELETE /", {}, 405],
    ] as const)
      answers.push([status, await send(server, request, headers)]);
  for (const [path, headers, body, status] of [
    ["/portal/account", key, "{}", 200],
    ["/portal/account", {}, "{}", 401],
    ["/portal/account", key, "[]", 400],
    ["/portal/nothing", key, "{}", 404],
    ["/portal/account", { ...key, "Content-Type": "text/plain" }, "{}", 415],
    ["/portal/account", key, " ".repeat(17_000), 413],
  ] as const)
    answers.push([status, await post(path, headers, body)]);
  assert.deepEqual(
    answers.map(([, { status }]) => status),
    answers.map(([expected]) => expected),
  );
  const errors = answers.map(([, answer]) => answer).filter(({ status }) => status >= 400);
  for (const [, answer] of answers)
    if (answer.status < 400) assert.equal(idOf(answer), undefined, answer.head);
  assert.equal(new Set(errors.map(idOf)).size, errors.length);
  const lines = await linesWhen(server, answers.length + 1);
  assert.equal(new Set(lines.map(({ requestId }) => requestId)).size, lines.length);
  const statusById = new Map(lines.map(({ requestId, status }) => [requestId, status]));
  for (const { request, bytes } of lines) if (/^HEAD /.test(String(request))) assert.equal(bytes, 0);
  for (const answer of errors) assert.equal(statusById.get(idOf(answer)), answer.status, answer.head);
});

test("the access log shows account, key id, address and user agent, also for refused and revoked keys", async () => {
  const first = linesOf(server).length;
  const agent = { "User-Agent": "curl/8.5 (test)", "X-Forwarded-For": "192.0.2.1, 192.0.2.2, 192.0.2.3" };
  for (const [key, headers] of [
    [acme, agent],
    [acme, { "User-Agent": `a\tb\x80${"é".repeat(3)} ${"x".repeat(20)} ${"y z".repeat(100)}` }],
    [acme, agent],
    [revoked, agent],
    [generateKey(), agent],
    ["", agent],
  ] as const)
    await send(server, "GET /api/v1/usage", { ...bearer(key), ...headers });
  const lines = await linesWhen(server, 6, first);
  for (const { bytes, ms } of lines) {
    assert.ok(Number(bytes) > 50);
    assert.match(String(ms), /^\d+(\.\d{1,3})?$/);
  }
  assert.deepEqual(
    lines.map(({ status, account, keyId, address }) => [status, account, keyId, address]),
    [
      [200, "acme", 2, "192.0.2.2"],
      [200, "acme", 2, "127.0.0.1"],
      [429, "acme", 2, "192.0.2.2"],
      [401, "acme", 3, "192.0.2.2"],
      [401, undefined, undefined, "192.0.2.2"],
      [401, undefined, undefined, "192.0.2.2"],
    ],
  );
  assert.deepEqual([lines[0].userAgent, lines[5].userAgent], ["curl/8.5 (test)", "curl/8.5 (test)"]);
  assert.match(String(lines[1].userAgent), /^a\?b[?]+ x{20} y zy [ yz]*…$/);
  assert.equal(String(lines[1].userAgent).length, 200);
  assert.deepEqual(Object.keys(lines[0]), [
    ...["level", "time", "requestId", "account", "keyId", "address", "userAgent", "request", "status"],
    ...["bytes", "ms", "msg"],
  ]);
});

test("the access log hides keys and tokens in targets and headers", async () => {
  const seed = 20_261_123;
  const random = seededRandom(seed);
  const first = linesOf(server).length;
  const secrets: string[] = [];
  for (let i = 0; i < 200; i++) {
    const secret = secretOf(random);
    secrets.push(secret);
    const text = spelled(random, secret);
    const headers = random.pick([
      {},
      { "User-Agent": `x/1 (${text})` },
      { "User-Agent": `${"x ".repeat(random.int(100))}${text}` },
      { "X-Forwarded-For": `${text}, 192.0.2.9` },
      { Authorization: text },
      { Authorization: `Bearer ${text}` },
      { Cookie: text, Referer: text },
    ]);
    await send(server, `GET ${random.pick(places)(text)}`, { ...bearer(server.key), ...headers });
  }
  const lines = await linesWhen(server, secrets.length, first);
  for (const [i, { request, userAgent, address, account }] of lines.entries())
    for (const text of [request, userAgent, address, account])
      assertHidden(String(text ?? ""), secrets[i], `seed ${seed}, ${i}`);
  const own = server.key.slice("hcq_".length);
  assertHidden(server.process.stderr, own, "the whole log");
});

test("with ACCESS_LOG_ACCOUNTS, every request of these accounts is logged and no other", async () => {
  const stateDir = temporaryFolder();
  const [acme, big] = ["acme", "big one"].map((name) =>
    createKey(stateDir, name, { burst: 1000, quota: 300 }),
  );
  const env = { ACCESS_LOG: "1000", ACCESS_LOG_ACCOUNTS: "big one,acme,acne", PORTAL: "on" };
  const server = await startServer({ stateDir, env });
  for (const [request, headers] of [
    ["GET /", {}],
    ["GET /nothing", {}],
    ["GET /api/v1/usage", bearer(server.key)],
    ["GET /api/v1/usage", {}],
    ["GET /api/v1/usage", bearer(generateKey())],
    ["GET /api/v1/usage", bearer(big)],
    ["GET /api/v1/nothing", bearer(big)],
  ] as const)
    await send(server, request, headers);
  // More than 1,000 requests, with those of another account, so that the server doesn't time all of them.
  const [asked, others] = [400, 5];
  const text = requestText(`GET ${pricesPath}?procedure=5073`, bearer(server.key)).repeat(others);
  const round = text + requestText("GET /api/v1/usage", bearer(acme));
  const statuses = await withConnections(server, 1, async ([connection]) => {
    await connection.send(round.repeat(asked));
    const all: number[] = [];
    for (let i = 0; i < asked * (others + 1); i++) all.push((await connection.answer()).status);
    return all.filter((_, i) => i % (others + 1) === others);
  });
  const lines = await linesWhen(server, asked + 2);
  assert.equal(lines.length, asked + 2);
  assert.deepEqual(
    lines.slice(0, 2).map(({ account, status }) => [account, status]),
    [
      ["big one", 200],
      ["big one", 404],
    ],
  );
  assert.deepEqual(
    lines.slice(2).map(({ account, status }) => [account, status]),
    statuses.map((status) => ["acme", status]),
  );
  const unknown = linesOf(server, "ACCESS_LOG_ACCOUNTS names an account that doesn't exist yet");
  assert.deepEqual(
    unknown.map(({ account }) => account),
    ["acne"],
  );
  assert.ok(statuses.includes(200) && statuses.includes(429), "refused ones too");
  assert.equal(await server.stop(), 0);
});

test("a request that gets 500 is logged with the request id of its response", async () => {
  const fault = 'String.prototype.toWellFormed = () => { throw new Error("our fault"); };';
  const server = await startServer({ env: preloaded(fault) });
  const failing = `GET ${pricesPath}?procedure=5072&state=${"a.".repeat(50)}`;
  const ids = [];
  for (const request of [failing, "GET /api/v1/nothing", failing]) {
    const answer = await send(server, request, bearer(server.key));
    if (request === failing) {
      assert.equal(answer.status, 500);
      ids.push(idOf(answer));
    }
  }
  const failed = await until("the lines", () => {
    const lines = linesOf(server, "request failed");
    return lines.length === 2 && lines;
  });
  assert.deepEqual(
    failed.map(({ requestId }) => requestId),
    ids,
  );
  assert.equal(new Set(ids).size, 2);
  for (const { stack } of failed) assert.match(String(stack), /our fault/);
  assert.equal(await server.stop(), 0);
});
