import assert from "node:assert/strict";
import { test } from "node:test";
import { brotliCompressSync, brotliDecompressSync, constants, gunzipSync, gzipSync } from "node:zlib";
import { WallClock } from "../../server/serving/clock.ts";
import { withCors } from "../../server/serving/cors.ts";
import { type Coding, codingOf, compress, formOf } from "../../server/serving/negotiation.ts";
import type { Reply } from "../../server/serving/reply.ts";
import { RequestIds, withRequestId } from "../../server/serving/request-ids.ts";
import { webFile } from "../../server/shared/web-file.ts";
import { requestWith } from "../support/asking.ts";

/** Tests the heads of web files, and lines that are added to the heads of other replies. */

const read: Record<Coding, (body: Uint8Array) => string> = {
  identity: (body) => Buffer.from(body).toString(),
  br: (body) => brotliDecompressSync(body).toString(),
  gzip: (body) => gunzipSync(body).toString(),
};

for (const bytes of [10, 1023, 1024, 5000])
  test(`a web file of ${bytes} bytes is sent in the best coding, unless the client has that form`, () => {
    const content = "a word ".repeat(bytes).slice(0, bytes);
    const file = webFile("/a", "text/html", content, "changing", ["X-More: 1"]);
    assert.match(file.etag, /^"[\w-]{22}"$/);
    const tags = new Set<string>();
    for (const accepted of ["", "br", "gzip", "gzip, br", "br;q=0.1, gzip", "deflate"]) {
      const coding = bytes < 1024 ? "identity" : codingOf(accepted);
      const tag = coding === "identity" ? file.etag : file.etag.replace(/"$/, `-${coding}"`);
      tags.add(tag);
      for (const condition of ["", '"other"', `W/"other", ${tag.slice(0, -1)}x"`]) {
        const { head, body } = formOf(file, accepted, condition);
        assert.equal(read[coding](body ?? assert.fail()), content, accepted);
        const [, sent] = /\r\nContent-Encoding: (\w+)$/.exec(head) ?? [];
        assert.equal(sent, coding === "identity" ? undefined : coding);
        assert.ok(head.includes(`\r\nETag: ${tag}`) && head.includes("\r\nX-More: 1\r\n"));
        assert.match(
          head,
          /^Content-Type: text\/html\r\nCache-Control: no-cache\r\nVary: Accept-Encoding\r\n/,
        );
        for (const line of [
          "X-Content-Type-Options: nosniff",
          "Referrer-Policy: same-origin",
          "Cross-Origin-Opener-Policy: same-origin",
        ])
          assert.ok(head.includes(`\r\n${line}\r\n`), line);
      }
      for (const condition of [tag, `W/${tag}`, "*", `"other", ${tag}`]) {
        const { head, body } = formOf(file, accepted, condition);
        assert.equal(body, undefined, condition);
        assert.doesNotMatch(head, /Content-Encoding/);
        assert.ok(head.endsWith(`ETag: ${tag}`));
      }
    }
    assert.equal(tags.size, bytes < 1024 ? 1 : 3);
    assert.match(
      webFile("/a", "b", content, "immutable").head,
      /Cache-Control: public, max-age=31536000, immutable/,
    );
  });

test("an answer's compression is undone to the same bytes", () => {
  const body = Buffer.from("charge ".repeat(500));
  for (const coding of ["br", "gzip"] as const) {
    const coded = compress(body, coding);
    assert.equal(read[coding](coded), String(body));
    assert.ok(coded.length < 200 && coded.buffer.byteLength === coded.length, `${coded.length}`);
  }
  // Better codings would hold the thread up for longer.
  const [quality, hint] = [constants.BROTLI_PARAM_QUALITY, constants.BROTLI_PARAM_SIZE_HINT];
  const params = { [quality]: 3, [hint]: body.length };
  assert.deepEqual(compress(body, "br"), new Uint8Array(brotliCompressSync(body, { params })));
  assert.deepEqual(compress(body, "gzip"), new Uint8Array(gzipSync(body, { level: 1 })));
});

test("the wall clock is read again after 100 ms of the steady clock", () => {
  let wallMs = 1000;
  const clock = new WallClock(
    () => wallMs,
    () => 250,
  );
  assert.equal(clock.at(100), 1000);
  wallMs += 50_000;
  assert.deepEqual(
    [clock.at(199), clock.at(200), clock.at(250), clock.now()],
    [1099, 51_000, 51_050, 51_050],
  );
});

test("pages of allowed origins may read answers, and a preflight says what they may send", () => {
  const plain: Reply = { status: 200, head: "200 OK\r\nVary: Accept-Encoding", body: Buffer.from("a") };
  const heads = [plain.head, Buffer.from(plain.head), "404 Not Found"];
  const asked: string[] = [];
  const ask = (
    origins: string[],
    headers: [string, string][],
    method = "GET",
    head: Reply["head"] = plain.head,
  ) =>
    withCors(() => {
      asked.push(method);
      return { ...plain, head };
    }, origins)(
      requestWith(() => "", headers),
      "/a",
      method,
      false,
    );
  const own: [string, string] = ["origin", "https://a.example"];
  const exposed =
    "\r\nAccess-Control-Allow-Origin: https://a.example\r\nAccess-Control-Expose-Headers: Accept-Ranges, Allow, Content-Disposition, Content-Encoding, Content-Range, ETag, Retry-After, Vary, WWW-Authenticate, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id";
  for (const [i, head] of heads.entries()) {
    const varied = i === 2 ? "404 Not Found\r\nVary: Origin" : "200 OK\r\nVary: Origin, Accept-Encoding";
    for (const origins of [["https://a.example"], ["*"], ["https://b.example", "https://a.example"]])
      assert.equal(ask(origins, [own], "GET", head).head, varied + exposed);
    assert.equal(ask(["https://b.example"], [own], "GET", head).head, varied);
    assert.equal(ask(["*"], [], "GET", head).head, varied);
  }
  asked.length = 0;
  const preflight: [string, string][] = [own, ["access-control-request-method", "GET"]];
  const many = Array.from({ length: 40 }, (_, i) => `X-N${i}`);
  const more: [string, string][] = [
    ["access-control-request-headers", `traceparent, a b, ${"y".repeat(65)}`],
    ["access-control-request-headers", many.join(",")],
  ];
  const allowed = ask(["*"], [...preflight, ...more], "OPTIONS");
  assert.deepEqual([allowed.status, allowed.body, asked], [204, undefined, []]);
  assert.deepEqual(String(allowed.head).split("\r\n"), [
    ...["204 No Content", "Access-Control-Allow-Origin: https://a.example"],
    "Access-Control-Allow-Methods: GET, HEAD",
    `Access-Control-Allow-Headers: Authorization, If-Match, If-None-Match, If-Range, Range, traceparent, ${many.slice(0, 31).join(", ")}`,
    ...["Access-Control-Max-Age: 86400", "Vary: Origin"],
  ]);
  // Other requests with OPTIONS are answered as without CORS.
  ask(["*"], [own], "OPTIONS");
  ask(["https://b.example"], preflight, "OPTIONS");
  ask(["*"], preflight, "GET");
  assert.deepEqual(asked, ["OPTIONS", "OPTIONS", "GET"]);
});

test("request ids count up after a prefix, and one that is announced is the next one", () => {
  const ids = new RequestIds(Buffer.from("0123456789abcdef", "hex"));
  const made = Array.from({ length: 37 }, () => ids.next());
  assert.deepEqual(
    [made[0], made[35], made[36]],
    ["0123456789abcdef-0", "0123456789abcdef-z", "0123456789abcdef-10"],
  );
  const announced = ids.announce();
  assert.deepEqual([ids.announce(), ids.next(), ids.next()], [announced, announced, "0123456789abcdef-12"]);
  assert.match(new RequestIds().next(), /^[0-9a-f]{16}-0$/);
  for (const head of ["200 OK", Buffer.from("200 OK")]) {
    const reply = withRequestId({ status: 200, head, body: undefined }, "a-1");
    assert.equal(Buffer.from(reply.head).toString(), "200 OK\r\nX-Request-Id: a-1");
    assert.equal(String(head), "200 OK");
  }
});
