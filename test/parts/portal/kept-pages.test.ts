import assert from "node:assert/strict";
import { renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import { encodeSnapshot } from "../../../engine/index.ts";
import { ApiError } from "../../../server/api/errors.ts";
import type { PageSettings } from "../../../server/parts/portal/browser/context.ts";
import { PageAnswers } from "../../../server/parts/portal/page-answers.ts";
import { Portal } from "../../../server/parts/portal/serving.ts";
import type { PageTemplate } from "../../../server/shared/messages.ts";
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

/** Tests that a page is written once for each publication of data, in a server that has time for three pages. */

const writes = 3;
const budget = new URL("../../../server/shared/work-budget.ts", import.meta.url);
const stateDir = temporaryFolder();
createKey(stateDir, "visitors", { burst: 100, quota: 1000 });
const datasetsDir = datasetsFolder(["2023.2"]);
const server = await startServer({
  stateDir,
  datasetsDir,
  env: {
    PORTAL: "on",
    PORTAL_ACCOUNT: "visitors",
    ...preloaded(
      `import { WorkBudget } from "${budget}"; let left = ${writes}; WorkBudget.prototype.hasLeft = () => left-- > 0;`,
    ),
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

test("a page that is written for nobody is written with its numbers, takes no time for pages, and isn't kept", () => {
  const settings: PageSettings = {
    ...{ key: "hcq_", signup: "off", newcomers: { burst: 1, quota: 1, linkHours: 1 }, minElapsedMs: 0 },
    ...{ mail: false, embeds: false, states: "/states.svg" },
  };
  const template: PageTemplate = { parts: ["", "", ""], settings: JSON.stringify(settings) };
  const unwritten = Buffer.from("<body>loading</body>");
  const file = {
    path: "/",
    head: "Content-Type: text/html",
    etag: '"a"',
    bodies: { identity: unwritten },
    template,
  };
  let reads = 0;
  const read = () => {
    reads++;
    return assert.fail(new ApiError("not_found", "no data"));
  };
  const spent: number[] = [];
  const writing = Object.assign(new WorkBudget(0, 0), { spend: (ms: number) => spent.push(ms) });
  const portal = new Portal([file], { read, report: assert.fail }, writing);
  portal.warm("/", "procedure=5072");
  assert.ok(reads > 0);
  assert.deepEqual(spent, []);
  const request = { getHeader: () => "", getQuery: () => "procedure=5072", forEach: () => {} };
  assert.equal(portal.reply(request, "/", "GET", false).body, unwritten);
  portal.warm("/no-page", "");
});

test("pages share an answer, also that there is none, until it is forgotten; another error isn't kept", () => {
  const reads: string[] = [];
  const answers = new PageAnswers((path, query) => {
    reads.push(`${path}?${query}`);
    if (path === "/none") throw new ApiError("not_found", "no data");
    if (path === "/broken") throw new ApiError("internal_error", "broken");
    return { text: "</script>" };
  });
  const { answer, json } = answers.at("/some?state=NY");
  assert.deepEqual(answer, { text: "</script>" });
  assert.equal(json, '{"answer":{"text":"\\u003c/script>"}}');
  assert.equal(answers.at("/some?state=NY").answer, answer);
  assert.equal(answers.at("/none").json, '{"failed":[404,"not_found","no data",{"places":[],"absent":[]}]}');
  answers.at("/none");
  for (let i = 0; i < 2; i++) assert.throws(() => answers.at("/broken"), { message: "broken" });
  assert.deepEqual(reads, ["/some?state=NY", "/none?", "/broken?", "/broken?"]);
  answers.forget();
  assert.notEqual(answers.at("/some?state=NY").answer, answer);
});
