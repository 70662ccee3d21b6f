import assert from "node:assert/strict";
import { renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import { encodeSnapshot } from "../../../engine/index.ts";
import { ApiError } from "../../../server/api/errors.ts";
import { PageAnswers } from "../../../server/parts/portal/page-answers.ts";
import { Portal } from "../../../server/parts/portal/serving.ts";
import { maxTurnMs } from "../../../server/serving/page-orders.ts";
import type { WantedPage, WritingResult } from "../../../server/serving/pages-part.ts";
import type { Reply } from "../../../server/serving/reply.ts";
import { WorkBudget } from "../../../server/shared/work-budget.ts";
import {
  createKey,
  datasetsFolder,
  rawRequest,
  requestText,
  startServer,
  temporaryFolder,
  until,
  versionSnapshot,
} from "../../support/server.ts";
import { preloaded } from "../../support/stopping.ts";
import { unhurried, writingWhile } from "../../support/writing.ts";

/** Tests that a page is written once for each publication of data, in a server that has time for three pages. */

const writes = 3;
const stateDir = temporaryFolder();
createKey(stateDir, "visitors", { burst: 100, quota: 1000 });
const datasetsDir = datasetsFolder(["2023.2"]);
const server = await startServer({
  stateDir,
  datasetsDir,
  env: {
    PORTAL: "on",
    PORTAL_ACCOUNT: "visitors",
    ...preloaded(`${unhurried} let left = ${writes}; ${writingWhile("left-- > 0")}`),
  },
});
after(async () => {
  assert.equal(await server.stop(), 0);
});

const ask = (target: string, headers: Record<string, string> = {}) =>
  rawRequest(server.api, requestText(`GET ${target}`, headers));
const textOf = async (target: string, headers: Record<string, string> = {}) => {
  const { status, body } = await ask(target, headers);
  assert.equal(status, 200);
  return body.toString();
};

test("a page is written once, whatever the order of its parameters and the host, until other data is published", async () => {
  const first = await textOf("/?procedure=5072&state=NY");
  const unknown = await textOf("/?procedure=5073&campaign=spring");
  const compressed = await ask("/?procedure=5072&state=NY", { "Accept-Encoding": "gzip" });
  assert.equal(compressed.header("Content-Encoding"), "gzip");

  const unwritten = await textOf("/?procedure=5073");
  assert.notEqual(first, unwritten);
  assert.notEqual(unknown, unwritten);
  assert.equal(await textOf("/?state=NY&procedure=5072"), first);
  assert.equal(await textOf("/?procedure=5072&state=NY", { Host: "charges.example:8443" }), first);
  const again = await ask("/?state=NY&procedure=5072", { "Accept-Encoding": "gzip" });
  assert.deepEqual(again.body, compressed.body);
  const tag = { "If-None-Match": again.header("ETag") ?? "" };
  assert.equal((await ask("/?procedure=5072&state=NY", { "Accept-Encoding": "gzip", ...tag })).status, 304);
  assert.equal(
    await textOf("/?procedure=5073&campaign=spring"),
    unwritten,
    "an unknown parameter isn't kept",
  );

  const file = path.join(datasetsDir, "2024.3.parquet");
  writeFileSync(`${file}.new`, encodeSnapshot(versionSnapshot("2024.3")));
  renameSync(`${file}.new`, file);
  await until(
    "the kept page to be forgotten",
    async () => (await textOf("/?procedure=5072&state=NY")) !== first,
  );
  assert.equal(await textOf("/?procedure=5072&state=NY"), unwritten);
});

const blank = Buffer.from("<body>loading</body>");
const template = { parts: ["", "", ""], settings: "{}" } as const;
const file = {
  path: "/",
  head: "Content-Type: text/html",
  etag: '"a"',
  bodies: { identity: blank },
  template,
};

/** A portal whose pages are written when a test says so. */
function portalWith(writing = new WorkBudget(100, 100)) {
  const orders: { wanted: WantedPage; deliver: (result: WritingResult) => void }[] = [];
  const write = (wanted: WantedPage) =>
    new Promise<WritingResult>((deliver) => {
      orders.push({ wanted, deliver });
    });
  let expire = (): void => {};
  const after = (ms: number, callback: () => void) => {
    assert.equal(ms, maxTurnMs);
    expire = callback;
    return () => {
      expire = () => assert.fail("the page was delivered before");
    };
  };
  const portal = new Portal([file], { write }, writing, () => 1000, after);
  const ask = (query: string) => {
    const request = { getHeader: () => "", getQuery: () => query, forEach: () => {} };
    return portal.reply(request, "/", "GET", false);
  };
  const page = (text: string) => ({
    page: { body: new Uint8Array(Buffer.from(text)), etag: '"b"', isMissing: false },
    cpuMs: 1,
  });
  return { portal, orders, ask, page, expire: () => expire() };
}

const bodyOf = async (reply: Reply) => String(Buffer.from((await (reply.later ?? reply)).body ?? ""));

test("requests for a page that is being written wait for it, and later ones get it at once", async () => {
  const { orders, ask, page } = portalWith();
  const replies = [ask("procedure=5072&state=NY"), ask("state=NY&procedure=5072")];
  assert.deepEqual(
    orders.map(({ wanted }) => wanted),
    [{ path: "/", query: "procedure=5072&state=NY", coding: "identity" }],
  );
  orders[0].deliver(page("first"));
  assert.deepEqual(await Promise.all(replies.map(bodyOf)), ["first", "first"]);
  const again = ask("state=NY&procedure=5072");
  assert.equal(again.later, undefined);
  assert.equal(await bodyOf(again), "first");
  assert.equal(orders.length, 1);
});

test("a page that is written while other data is published is answered, not kept, and no later request waits for it", async () => {
  const { portal, orders, ask, page } = portalWith();
  const before = ask("procedure=5072");
  portal.forget();
  const after = ask("procedure=5072");
  assert.equal(orders.length, 2);
  orders[0].deliver(page("before"));
  assert.equal(await bodyOf(before), "before");
  orders[1].deliver(page("after"));
  assert.equal(await bodyOf(after), "after");
  assert.equal(await bodyOf(ask("procedure=5072")), "after");
  assert.equal(orders.length, 2);
});

test("a page that can't be written is sent without numbers, and written for the next request", async () => {
  const { orders, ask, page } = portalWith();
  const failed = ask("procedure=5072");
  orders[0].deliver({ page: undefined, cpuMs: 1 });
  assert.equal(await bodyOf(failed), String(blank));
  const next = ask("procedure=5072");
  orders[1].deliver(page("next"));
  assert.equal(await bodyOf(next), "next");
});

test("a page that isn't delivered in time is sent without numbers, and kept when it comes", async () => {
  const { orders, ask, page, expire } = portalWith();
  const [first, second] = [ask("procedure=5072"), ask("procedure=5072")];
  expire();
  assert.equal(await bodyOf(first), String(blank));
  assert.equal(await bodyOf(second), String(blank));
  // It isn't ordered again while it may still come.
  assert.equal(await bodyOf(ask("procedure=5072")), String(blank));
  assert.equal(orders.length, 1);
  orders[0].deliver(page("late"));
  await Promise.resolve();
  const next = ask("procedure=5072");
  assert.equal(next.later, undefined);
  assert.equal(await bodyOf(next), "late");
});

test("a page takes its CPU time from the time for pages, without which pages have no numbers", async () => {
  const { orders, ask, page } = portalWith(new WorkBudget(0, 0.5));
  const first = ask("procedure=5072");
  orders[0].deliver(page("first"));
  assert.equal(await bodyOf(first), "first");
  const second = ask("procedure=5073");
  assert.equal(second.later, undefined);
  assert.equal(await bodyOf(second), String(blank));
});

test("pages share an answer of the nation, also that there is none, until it is forgotten; another error isn't kept", () => {
  const reads: string[] = [];
  const answers = new PageAnswers((path, query) => {
    reads.push(`${path}?${query}`);
    if (path === "/none") throw new ApiError("not_found", "no data");
    if (path === "/broken") throw new ApiError("internal_error", "broken");
    return { text: "</script>" };
  });
  const { answer, json } = answers.at("/some?procedure=5072");
  assert.deepEqual(answer, { text: "</script>" });
  assert.equal(json, '{"answer":{"text":"\\u003c/script>"}}');
  assert.equal(answers.at("/some?procedure=5072").answer, answer);
  assert.equal(answers.at("/none").json, '{"failed":[404,"not_found","no data",{"places":[],"absent":[]}]}');
  answers.at("/none");
  for (let i = 0; i < 2; i++) assert.throws(() => answers.at("/broken"), { message: "broken" });
  assert.deepEqual(reads, ["/some?procedure=5072", "/none?", "/broken?", "/broken?"]);
  answers.forget();
  assert.notEqual(answers.at("/some?procedure=5072").answer, answer);
});

test("answers of a place, a hospital or a search are asked again, because pages hardly share them", () => {
  let reads = 0;
  const answers = new PageAnswers(() => ({ reads: ++reads }));
  const targets = [
    "/procedures/5072?state=NY",
    "/trends?procedure=5072&near=10001",
    "/facilities/330101",
    "/search?q=knee",
  ];
  for (const target of [...targets, ...targets]) answers.at(target);
  assert.equal(reads, 2 * targets.length);
});

test("a page's query is kept in one order, with repeated parameters, and never with an unknown one", async () => {
  const { orders, ask, page } = portalWith();
  const same = ["with=2&with=1&procedure=5072", "procedure=5072&with=2&with=1"];
  const others = [
    "procedure=5072&with=1&with=2",
    "procedure=5072&with=2",
    "procedure=5072&with=2&with=1&x=1",
    "x",
    "x",
  ];
  for (const query of [...same, ...others]) ask(query);
  assert.deepEqual(
    orders.map(({ wanted }) => wanted.query),
    ["procedure=5072&with=2&with=1", ...others],
  );
  for (const { deliver } of orders) deliver(page("made"));
  await new Promise(setImmediate);
  for (const query of [...same, ...others]) ask(query);
  assert.deepEqual(
    orders.slice(6).map(({ wanted }) => wanted.query),
    ["procedure=5072&with=2&with=1&x=1", "x", "x"],
  );
});

test("a request for a page is answered by its path, its method and what the client has", async () => {
  const html = { head: "Content-Type: text/html", etag: '"f"' };
  const fileAt = (path: string, text: string) => ({ ...html, path, bodies: { identity: Buffer.from(text) } });
  const hospital = { ...fileAt("/facilities/*", "hospital"), template };
  const files = [
    fileAt("/data", "data"),
    hospital,
    fileAt("/embed/*", "frame"),
    fileAt("/*", "missing"),
    fileAt("/a.css", "style"),
  ];
  const orders: WantedPage[] = [];
  const write = (wanted: WantedPage) => {
    orders.push(wanted);
    const isMissing = wanted.path.endsWith("9");
    return Promise.resolve({
      page: { body: new Uint8Array(Buffer.from("written")), etag: '"w"', isMissing },
      cpuMs: 1,
    });
  };
  const portal = new Portal(
    files,
    { write },
    new WorkBudget(100, 100),
    () => 1000,
    () => () => {},
  );
  const ask = async (
    path: string,
    { method = "GET", hasBody = false, query = "", headers = {} as Record<string, string> } = {},
  ) => {
    const request = {
      getHeader: () => "",
      getQuery: () => query,
      forEach: (each: (name: string, value: string) => void) => {
        for (const [name, value] of Object.entries(headers)) each(name, value);
      },
    };
    const reply = portal.reply(request, path, method, hasBody);
    const { status, head, body } = await (reply.later ?? reply);
    return [
      status,
      String(head).split("\r\n"),
      body === undefined ? undefined : String(Buffer.from(body)),
    ] as const;
  };
  const none = ["Content-Type: text/plain; charset=utf-8", "Cache-Control: no-store"];
  assert.deepEqual(await ask("/data", { method: "PUT" }), [
    405,
    ["405 Method Not Allowed", ...none, "Allow: GET, HEAD"],
    "only GET and HEAD are allowed here\n",
  ]);
  assert.deepEqual(await ask("/data", { hasBody: true }), [
    400,
    ["400 Bad Request", ...none],
    "a request for a page can't have a body\n",
  ]);
  for (const [path, status, text] of [
    ["/data", 200, "data"],
    ["/a.css", 200, "style"],
    ["/embed", 200, "frame"],
    ["/embed/charges", 200, "frame"],
    ["/embed/states", 200, "frame"],
    ["/embed/years", 200, "frame"],
    ["/embed/hospitals", 200, "frame"],
    ["/embed/map", 404, "missing"],
    ["/embed/years/x", 404, "missing"],
    ["/*", 404, "missing"],
    ["/nothing", 404, "missing"],
    ["/facilities/", 404, "missing"],
    ["/facilities/1/2", 404, "missing"],
    ["/x/facilities/1", 404, "missing"],
    ["/facilities/000001", 200, "written"],
    ["/facilities/000009", 404, "written"],
  ] as const) {
    const [got, [line], body] = await ask(path);
    assert.deepEqual([got, line, body], [status, status === 200 ? "200 OK" : "404 Not Found", text], path);
    const [head] = await ask(path, { method: "HEAD" });
    assert.equal(head, status, path);
  }
  for (const [path, query, to] of [
    ["/data/", "", "/data"],
    ["/data/", "a=1&b", "/data?a=1&b"],
    ["/facilities/000001/", "year=2021", "/facilities/000001?year=2021"],
    ["/nothing/", "", undefined],
    ["/data//", "", undefined],
  ] as const) {
    const [status, lines, body] = await ask(path, { query });
    if (to === undefined) assert.deepEqual([status, body], [404, "missing"], path);
    else
      assert.deepEqual(
        [status, lines, body],
        [
          308,
          ["308 Permanent Redirect", ...none, `Location: ${to}`],
          `this page is at ${to.split("?")[0]}\n`,
        ],
      );
  }
  for (const [path, tag, status] of [
    ["/data", '"f"', 304],
    ["/data", '"x"', 200],
    ["/facilities/000001", '"w"', 304],
    ["/facilities/000001", '"f"', 200],
    ["/facilities/000009", '"w"', 404],
    ["/nothing", '"f"', 404],
  ] as const) {
    const [got, [line], body] = await ask(path, { headers: { "if-none-match": tag } });
    assert.deepEqual(
      [got, line, body === undefined],
      [status, { 200: "200 OK", 304: "304 Not Modified", 404: "404 Not Found" }[status], status === 304],
      `${path} ${tag}`,
    );
  }
  const before = orders.length;
  await ask("/facilities/000001");
  assert.equal(orders.length, before, "a written page is kept");
  await ask("/facilities/000009");
  assert.equal(orders.length, before + 1, "and that of a hospital that isn't there is not");
});

test("an answer that fails for another reason than the request isn't taken for absent data", () => {
  const answers = new PageAnswers(() => {
    throw new TypeError("a fault");
  });
  assert.throws(() => answers.at("/some"), { name: "TypeError", message: "a fault" });
});
