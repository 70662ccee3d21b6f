import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { datasetsFolder, startServer, type TestServer } from "../support/server.ts";

/** What a person with curl sees. It needs curl, so it isn't part of `npm test`. */

const run = promisify(execFile);
let server: TestServer;
before(async () => {
  server = await startServer({ datasetsDir: datasetsFolder() });
});
after(() => server.stop());

async function curl(...options: string[]): Promise<{ head: string; body: string }> {
  const url = `${server.api}/api/v1/healthcare/prices?procedure=5072&limit=50`;
  const authorization = ["--header", `Authorization: Bearer ${server.key}`];
  const { stdout } = await run("curl", [
    "--silent",
    "--show-error",
    "--include",
    ...authorization,
    ...options,
    url,
  ]);
  const end = stdout.indexOf("\r\n\r\n");
  return { head: stdout.slice(0, end), body: stdout.slice(end + 4) };
}
const etagOf = (head: string) => /^etag: (.*)$/im.exec(head)?.[1] ?? assert.fail("no ETag");

test("--compressed gives the same body as none, under another ETag", async () => {
  const plain = await curl();
  const coded = await curl("--compressed");
  assert.match(coded.head, /^content-encoding: (br|gzip)$/im);
  assert.equal(coded.body, plain.body);
  assert.notEqual(etagOf(coded.head), etagOf(plain.head));
});

test("--head gives GET's headers and no body", async () => {
  const { head } = await curl();
  const { head: alone, body } = await curl("--head");
  const stable = (text: string) =>
    text
      .replace(/^(x-ratelimit-remaining|date): .*$/gim, "")
      .split("\r\n")
      .sort();
  assert.deepEqual(stable(alone), stable(head));
  assert.equal(body, "");
});

test("the ETag of an answer brings a 304 without a body", async () => {
  const { head } = await curl();
  const again = await curl("--header", `If-None-Match: ${etagOf(head)}`);
  assert.match(again.head, /^HTTP\/1\.1 304 /);
  assert.equal(again.body, "");
});

test("a POST is refused and says what is allowed", async () => {
  const { head, body } = await curl("--data", "a=b");
  assert.match(head, /^HTTP\/1\.1 405 /);
  assert.match(head, /^allow: GET, HEAD$/im);
  assert.equal(JSON.parse(body).error.type, "method_not_allowed");
});
