import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import path, { extname } from "node:path";
import { after, test } from "node:test";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { openapiDocument } from "../../../server/api/openapi.ts";
import { linkHours, minElapsedMs, newcomersPlan } from "../../../server/parts/portal/signups.ts";
import { plans } from "../../../server/shared/plans.ts";
import { Store } from "../../../server/store/store.ts";
import {
  Connection,
  createKey,
  pricesPath,
  rawRequest,
  requestText,
  spawnServer,
  startServer,
  temporaryFolder,
} from "../../support/server.ts";
import { writing } from "../../support/writing.ts";

/** Tests the portal's pages and files in the form in which a browser gets them. */

const stateDir = temporaryFolder();
const ownKey = createKey(stateDir, "visitors", { burst: 100, quota: 1000 });
const server = await startServer({
  stateDir,
  env: {
    PORTAL: "on",
    PORTAL_ACCOUNT: "visitors",
    CORS_ORIGINS: "https://example.org",
    EMBED_ORIGINS: "https://news.example.org,https://example.com",
    ...writing(true),
  },
});
after(async () => {
  assert.equal(await server.stop(), 0);
  const store = Store.open(stateDir);
  const keys = store.keys.list().filter(({ name }) => name === "visitors");
  store.close();
  assert.equal(keys.length, 2);
  const working = keys.filter(({ revoked_at }) => revoked_at === null);
  assert.deepEqual(
    working.map(({ last4 }) => last4),
    [ownKey.slice(-4)],
    "a stop ends the pages' key, and no other",
  );
});

const ask = (request: string, headers: Record<string, string> = {}) =>
  rawRequest(server.api, requestText(request, headers));
const settingsIn = (html: string) =>
  JSON.parse(/<script type="application\/json" id="settings">(.*)<\/script>/.exec(html)?.[1] ?? "");

test("the pages get what signup promises from the settings that hold it", async () => {
  const { newcomers, minElapsedMs: least } = settingsIn((await ask("GET /signup")).body.toString());
  assert.deepEqual(newcomers, { ...plans[newcomersPlan], linkHours });
  assert.equal(least, minElapsedMs);
});

test("each page path returns the page, and an unknown path returns a 404 page", async () => {
  const page = await ask("GET /");
  assert.equal(page.status, 200);
  assert.equal(page.header("Content-Type"), "text/html; charset=utf-8");
  assert.equal(page.header("Cache-Control"), "no-cache");
  for (const path of ["/data", "/reference", "/signup", "/account", "/embed", "/?procedure=5072"]) {
    const { status, body } = await ask(`GET ${path}`);
    assert.deepEqual([path, status], [path, 200]);
    assert.match(String(body), /<div id="app">/);
    // Signup is off, so no link promises a key.
    assert.doesNotMatch(String(body), /href="\/signup"|Get a key/);
    // Without JavaScript, each page has a link to the API's description, which needs no key.
    assert.match(String(body), /<noscript>.*<a href="\/openapi\.json">/s);
  }
  for (const path of [
    "/nothing",
    "/facilities/",
    "/facilities/1/2",
    "/nothing/",
    "//data/",
    "/portal/x",
    "/apix",
    "/*",
  ])
    assert.deepEqual([path, (await ask(`GET ${path}`)).status], [path, 404]);
  for (const [path, to] of [
    ["/data/", "/data"],
    ["/?procedure=5072", undefined],
    ["/reference/?x=1&y", "/reference?x=1&y"],
    ["/facilities/050441/?year=2024", "/facilities/050441?year=2024"],
  ]) {
    const answer = await ask(`GET ${path}`);
    assert.deepEqual([answer.status, answer.header("Location")], [to === undefined ? 200 : 308, to]);
  }
  const missing = String((await ask("GET /embed/nothing")).body);
  assert.match(missing, /<h1>There is no page here<\/h1>/);
  assert.doesNotMatch(missing, /needs JavaScript|<script type="module"/);
});

test("/openapi.json returns the API description without a key", async () => {
  const described = await ask("GET /openapi.json");
  assert.deepEqual([described.status, described.header("Content-Type")], [200, "application/json"]);
  assert.deepEqual(described.body, openapiDocument());
});

/** The words that a page shows, without its elements. */
async function wordsOf(target: string): Promise<string> {
  const html = (await ask(`GET ${target}`)).body.toString();
  const [, body] = /<body>(.*)<\/body>/s.exec(html) ?? [];
  return (body ?? "")
    .replaceAll(/<(script|pre)\b.*?<\/\1>/gs, "")
    .replaceAll(/<[^>]*>/g, "")
    .replaceAll(/\s+/g, " ");
}

test("a page says how many hospitals and which states its amounts leave out, and why", async () => {
  const words = await wordsOf("/?procedure=5073");
  assert.match(
    words,
    /2 of 3 hospitals in the data that do it have a price\. 1 row is incomplete\. Its charge isn't zero: it isn't published, and no figure counts it\./,
  );
  assert.match(
    words,
    /Maryland sets its own hospital prices, [^.]+\. No hospital with a price: 48 states, DC and Puerto Rico\./,
  );
});

test("links to a page show its own title, and the sentence that it begins with", async () => {
  for (const [target, title] of [
    ["/?procedure=5072", "Skin growth removal or biopsy, 2024"],
    ["/?procedure=5072&state=NY", "Skin growth removal or biopsy in New York, 2024"],
    ["/embed/states?procedure=5072", "Skin growth removal or biopsy, 2024"],
    ["/facilities/000001", "Hospital 000001"],
  ]) {
    const html = (await ask(`GET ${target}`)).body.toString();
    const [, heading = ""] = /<h1>(.*?)<\/h1>/s.exec(html) ?? [];
    const [, shown] = /<title>(.*)<\/title>/.exec(html) ?? [];
    assert.equal(shown, `${title} – What hospitals charge`, target);
    const descriptions = [...html.matchAll(/ content="([^"]*)"/g)].map(([, text]) => text);
    const sentence = heading.replaceAll(/<[^>]*>/g, "");
    const begin = target.startsWith("/facilities") ? "City in AL, AL · CCN 000001." : sentence;
    assert.equal(descriptions.filter((text) => text.startsWith(begin)).length, 2, target);
  }
});

test("no page shows a value that isn't a text", async () => {
  for (const target of ["/?procedure=5072&state=NY", "/?procedure=5073", "/facilities/000001"]) {
    const words = await wordsOf(target);
    assert.ok(words.length > 1000, `${target}: ${words}`);
    assert.doesNotMatch(words, /\b(true|false|undefined|NaN|\[object)\b/, target);
  }
});

test("paths below /api get the API's 401 response and not a page", async () => {
  for (const path of ["/api", "/api/", "/api/v2", "/api/v1/nothing"]) {
    const { status, body } = await ask(`GET ${path}`);
    assert.deepEqual([path, status], [path, 401]);
    assert.equal(JSON.parse(String(body)).error.type, "missing_api_key");
  }
});

test("the page's files exist in each content coding and are cached as immutable", async () => {
  const html = String((await ask("GET /")).body);
  const paths = [...html.matchAll(/"(\/portal\/[^"]+)"/g)].map(([, path]) => path);
  assert.deepEqual(paths.map((path) => extname(path)).sort(), [".css", ".js", ".svg"]);
  for (const path of new Set(paths)) {
    const answer = await ask(`GET ${path}`);
    const { status, body } = answer;
    assert.deepEqual([path, status], [path, 200]);
    assert.equal(answer.header("Cache-Control"), "public, max-age=31536000, immutable");
    if (body.length < 1024) continue;
    const brotli = await ask(`GET ${path}`, { "Accept-Encoding": "gzip, deflate, br" });
    assert.equal(brotli.header("Content-Encoding"), "br");
    assert.deepEqual(brotliDecompressSync(brotli.body), body);
    const gzip = await ask(`GET ${path}`, { "Accept-Encoding": "gzip" });
    assert.deepEqual(gunzipSync(gzip.body), body);
    assert.equal(new Set([answer.header("ETag"), brotli.header("ETag"), gzip.header("ETag")]).size, 3);
  }
});

test("a page has one script and one style sheet, with all that they import", async () => {
  for (const target of ["/", "/facilities/000001", "/embed", "/data", "/reference", "/signup", "/account"]) {
    const html = String((await ask(`GET ${target}`)).body);
    const linked = (pattern: RegExp) => [...html.matchAll(pattern)].map(([, url]) => url);
    const [[script, ...scripts], [style, ...styles]] = [
      linked(/<script type="module" src="([^"]+)">/g),
      linked(/<link rel="stylesheet" href="([^"]+)">/g),
    ];
    assert.deepEqual([scripts, styles], [[], []], target);
    assert.doesNotMatch(html, /importmap|modulepreload/);
    const code = await ask(`GET ${script}`);
    assert.equal(code.header("Content-Type"), "text/javascript; charset=utf-8");
    assert.doesNotMatch(String(code.body), /^\s*(import|export|interface) |\bimport\{/m);
    assert.doesNotMatch(String((await ask(`GET ${style}`)).body), /@import/);
  }
});

test("pages support HEAD and If-None-Match, and reject other methods with 405", async () => {
  const page = await ask("GET /data");
  const connection = await Connection.open(server.api);
  await connection.send(requestText("HEAD /data", {}));
  const head = await connection.answer("HEAD");
  assert.deepEqual([head.status, head.header("Content-Length")], [200, String(page.body.length)]);
  connection.close();
  const known = await ask("GET /data", { "If-None-Match": page.header("ETag") ?? "" });
  assert.deepEqual([known.status, known.body.length], [304, 0]);
  const posted = await ask("POST /data", { "Content-Length": "0" });
  assert.deepEqual([posted.status, posted.header("Allow")], [405, "GET, HEAD"]);
  assert.equal((await ask("DELETE /portal/signup")).status, 405);
  assert.equal((await ask("BREW /")).status, 405);
});

test("the content security policy allows only own resources, and embedding by EMBED_ORIGINS", async () => {
  const page = await ask("GET /");
  const policy = page.header("Content-Security-Policy") ?? "";
  assert.deepEqual(policy.split("; "), [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ]);
  const picture = (await ask("GET /embed/charges?procedure=5072")).header("Content-Security-Policy") ?? "";
  assert.equal(
    picture,
    policy.replace("frame-ancestors 'none'", "frame-ancestors https://news.example.org https://example.com"),
  );
});

test("the page's key belongs to the portal account and expires", async () => {
  const { key } = settingsIn(String((await ask("GET /")).body));
  const headers = { Authorization: `Bearer ${key}` };
  const usage = JSON.parse(String((await ask("GET /api/v1/usage", headers)).body));
  assert.equal(usage.account, "visitors");
  const store = Store.open(stateDir);
  const stored = store.keys.list().filter(({ name, last4 }) => name === "visitors" && key.endsWith(last4));
  store.close();
  assert.equal(stored.length, 1);
  assert.ok((stored[0].expires_at ?? Number.POSITIVE_INFINITY) - stored[0].created_at < 27 * 3_600_000);
});

test("pages of an allowed CORS origin can call the API, and preflights aren't counted", async () => {
  const authorization = { Authorization: `Bearer ${server.key}` };
  const origin = { Origin: "https://example.org" };
  const before = await ask("GET /api/v1/usage", authorization);
  const preflight = await ask(`OPTIONS ${pricesPath}`, {
    ...origin,
    "Access-Control-Request-Method": "GET",
    "Access-Control-Request-Headers": "authorization",
  });
  assert.equal(preflight.status, 204);
  assert.equal(preflight.header("Access-Control-Allow-Origin"), "https://example.org");
  assert.match(preflight.header("Access-Control-Allow-Headers") ?? "", /Authorization/);
  const answer = await ask("GET /api/v1/usage", { ...authorization, ...origin });
  assert.equal(answer.header("Access-Control-Allow-Origin"), "https://example.org");
  assert.match(answer.header("Access-Control-Expose-Headers") ?? "", /X-RateLimit-Remaining.*X-Request-Id/);
  const used = ({ body }: { body: Buffer }) => JSON.parse(String(body)).quota.used;
  assert.equal(used(answer), used(before) + 1);
  const refused = await ask("GET /api/v1/usage", origin);
  assert.deepEqual(
    [refused.status, refused.header("Access-Control-Allow-Origin")],
    [401, "https://example.org"],
  );
  const other = await ask("GET /api/v1/usage", { ...authorization, Origin: "https://example.com" });
  assert.equal(other.header("Access-Control-Allow-Origin"), undefined);
  assert.equal(
    (await ask(`OPTIONS ${pricesPath}`, { ...authorization, Origin: "https://example.com" })).status,
    405,
  );
});

test("a preflight allows the headers that it asks for, if they are names of headers", async () => {
  const allowedFor = async (asked: string) => {
    const answer = await ask(`OPTIONS ${pricesPath}`, {
      ...{ Origin: "https://example.org", "Access-Control-Request-Method": "GET" },
      "Access-Control-Request-Headers": asked,
    });
    assert.equal(answer.status, 204);
    return (answer.header("Access-Control-Allow-Headers") ?? "").split(", ");
  };
  const always = ["Authorization", "If-Match", "If-None-Match", "If-Range", "Range"];
  assert.deepEqual(await allowedFor(""), always);
  assert.deepEqual(await allowedFor("traceparent,x-requested-with ,\tx-a.b"), [
    ...always,
    ...["traceparent", "x-requested-with", "x-a.b"],
  ]);
  for (const bad of ["a b", "a:b", "(a)", "é", '"a"', "a;b", "a\\b", "x".repeat(65), "", "*/*"])
    assert.deepEqual(await allowedFor(`good,${bad}`), [...always, "good"], bad);
  const many = Array.from({ length: 100 }, (_, i) => `x-${i}`);
  assert.deepEqual(await allowedFor(many.join()), [...always, ...many.slice(0, 32)]);
});

test("pages of an allowed origin can read the headers of a download", async () => {
  const answer = await ask("GET /api/v1/export.parquet", {
    ...{ Authorization: `Bearer ${server.key}`, Origin: "https://example.org", Range: "bytes=0-3" },
  });
  assert.equal(answer.status, 206);
  const exposed = (answer.header("Access-Control-Expose-Headers") ?? "").split(", ");
  for (const name of ["Accept-Ranges", "Content-Disposition", "Content-Range", "ETag", "Retry-After"]) {
    assert.ok(exposed.includes(name), name);
    if (name !== "Retry-After") assert.ok(answer.header(name), name);
  }
});

test("the server doesn't start if PORTAL_ACCOUNT names a missing account", async () => {
  const stateDir = path.join(temporaryFolder(), "state");
  const env = { PORTAL: "on", PORTAL_ACCOUNT: "nobody" };
  const failed = await spawnServer({ stateDir, datasetsDir: server.datasetsDir, env }).finished();
  assert.equal(failed.code, 1);
  assert.match(failed.stderr, /PORTAL_ACCOUNT: found nobody, which isn't there, expected an account/);
  assert.equal(existsSync(stateDir), false, "it leaves no state");
});

test("a POST with another request pipelined behind it isn't executed", async () => {
  const body = JSON.stringify({});
  const headers = {
    Authorization: `Bearer ${server.key}`,
    "Content-Type": "application/json",
    "Content-Length": String(body.length),
  };
  const keysOf = async () => {
    const text = requestText("POST /portal/keys", headers) + body;
    return JSON.parse(String((await rawRequest(server.api, text)).body)).keys.length;
  };
  const before = await keysOf();
  const connection = await Connection.open(server.api);
  await connection.send(requestText("POST /portal/keys/create", headers) + body + requestText("GET /", {}));
  assert.equal((await connection.rest()).length, 0);
  assert.equal(await keysOf(), before);
});
