import assert from "node:assert/strict";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { encodeSnapshot } from "../../../engine/index.ts";
import { maxOrdered } from "../../../server/serving/page-orders.ts";
import {
  ample,
  Connection,
  call,
  createKey,
  datasetsFolder,
  pricesPath,
  rawRequest,
  requestText,
  startServer,
  temporaryFolder,
  until,
  versionSnapshot,
} from "../../support/server.ts";
import { preloaded } from "../../support/stopping.ts";
import { heldWhile, writingWhile } from "../../support/writing.ts";

/** Tests what a server with one serving thread does while its page thread stands still. */

const stateDir = temporaryFolder();
createKey(stateDir, "visitors", ample);
const datasetsDir = datasetsFolder(["2023.2"]);
const hold = path.join(temporaryFolder(), "hold");
const server = await startServer({
  stateDir,
  datasetsDir,
  env: {
    ...{ THREADS: "1", PORTAL: "on", PORTAL_ACCOUNT: "visitors", PORTAL_ADDRESS_RATE: "0" },
    ...preloaded(heldWhile(hold) + writingWhile("true")),
  },
});
after(() => server.stop());

const stand = () => writeFileSync(hold, "");
const goOn = () => rmSync(hold);
const ask = (request: string, headers: Record<string, string> = {}) =>
  rawRequest(server.api, requestText(request, headers));
const pricesOf = async () => String((await call(server, `GET ${pricesPath}?procedure=5072`)).body);

/** In a page without numbers. */
const unwritten = /id="answers">\{\}</;

/** Sends a request for a page, and waits until the server has read it. */
async function asking(request: string, headers: Record<string, string> = {}): Promise<Connection> {
  const connection = await Connection.open(server.api);
  await connection.send(requestText(request, headers));
  await connection.allRead();
  return connection;
}

test("prices are answered while a page is written, and then the page is", async () => {
  stand();
  const page = await asking("GET /?procedure=5072");
  const head = await asking("HEAD /?procedure=5073");
  const gone = await asking("GET /facilities/000001");
  for (let i = 0; i < 50; i++) assert.match(await pricesOf(), /"data_version":"2023\.2"/);
  assert.equal(page.answeredBytes, 0);
  assert.equal(head.answeredBytes, 0);
  gone.cut();
  goOn();
  const answer = await page.answer();
  assert.equal(answer.status, 200);
  assert.doesNotMatch(String(answer.body), unwritten);
  const headed = await head.answer("HEAD");
  assert.equal(headed.status, 200);
  // Both connections go on.
  const tag = { "If-None-Match": answer.header("ETag") ?? "" };
  await page.send(requestText("GET /?procedure=5072", tag));
  assert.equal((await page.answer()).status, 304);
  await head.send(requestText("GET /?procedure=5073"));
  assert.equal(String((await head.answer()).body.length), headed.header("Content-Length"));
  page.close();
  head.close();
});

test("a page without a hospital is 404 with a request id, also when it is answered late", async () => {
  const answer = await ask("GET /facilities/999999");
  assert.equal(answer.status, 404);
  assert.notEqual(answer.header("X-Request-Id"), undefined);
});

test("a client that closes its connection by a header gets its page", async () => {
  const { status, body } = await ask("GET /?procedure=5072&state=AL", { Connection: "close, x" });
  assert.equal(status, 200);
  assert.doesNotMatch(String(body), unwritten);
});

test(`beyond ${maxOrdered} pages that wait, pages are sent at once without numbers`, async () => {
  stand();
  const limits = Array.from({ length: maxOrdered }, (_, i) => `GET /?procedure=5072&within=${i + 1}`);
  const waiting = await Promise.all(limits.map((request) => asking(request)));
  const beyond = String((await ask("GET /?procedure=5072&within=99")).body);
  assert.match(beyond, unwritten);
  assert.match(await pricesOf(), /"data_version"/);
  goOn();
  for (const connection of waiting) {
    assert.doesNotMatch(String((await connection.answer()).body), unwritten);
    connection.close();
  }
  assert.doesNotMatch(String((await ask("GET /?procedure=5072&within=99")).body), unwritten);
});

test("a page that is written during a publication is of one data version, and isn't kept", async () => {
  const target = "GET /?procedure=5072&state=NY";
  const before = String((await ask(target)).body);
  stand();
  const page = await asking(target, { "Accept-Encoding": "gzip" });
  const file = path.join(datasetsDir, "2024.3.parquet");
  writeFileSync(`${file}.new`, encodeSnapshot(versionSnapshot("2024.3")));
  renameSync(`${file}.new`, file);
  await until("the snapshot to be loaded", () =>
    /"2024\.3\.parquet".*"snapshot loaded"/.test(server.process.stderr),
  );
  assert.match(await pricesOf(), /"data_version":"2023\.2"/);
  goOn();
  assert.equal(String(gunzipSync((await page.answer()).body)), before);
  page.close();
  await until("the new version", async () => (await pricesOf()).includes('"data_version":"2024.3"'));
  const now = String((await ask(target)).body);
  assert.notEqual(now, before);
  assert.equal(String(gunzipSync((await ask(target, { "Accept-Encoding": "gzip" })).body)), now);
});

test("a stop waits for pages that are being written", async () => {
  stand();
  const page = await asking("GET /?procedure=5072&state=TX");
  const stopped = server.stop();
  await until("the server to stop listening", () =>
    fetch(server.api).then(
      () => false,
      () => true,
    ),
  );
  goOn();
  assert.doesNotMatch(String((await page.answer()).body), unwritten);
  assert.equal(await stopped, 0);
});
