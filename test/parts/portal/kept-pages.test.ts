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
