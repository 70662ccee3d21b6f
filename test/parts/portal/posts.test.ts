import assert from "node:assert/strict";
import { test } from "node:test";
import { portalPosts } from "../../../server/parts/portal/serving.ts";
import { clientOf } from "../../../server/serving/client-address.ts";
import { maxPosts, type Post } from "../../../server/serving/posts.ts";
import type { PortalReply, PortalRequest } from "../../../server/shared/messages.ts";

const post: Post = {
  path: "/portal/x",
  authorization: "",
  contentType: "application/json",
  forwardedFor: "",
  address: "192.0.2.9",
  body: Buffer.from("{}"),
};
const done: PortalReply = { status: 200, body: {} };

function posts(trustedProxies = 0, answer: () => Promise<PortalReply> = async () => done) {
  const asked: PortalRequest[] = [];
  const ask = (request: PortalRequest) => {
    asked.push(request);
    return answer();
  };
  const report = (error: unknown) => assert.fail(String(error));
  const handler = portalPosts({ trustedProxies, ask, report });
  return {
    asked,
    busy: handler.busy,
    reply: (part: Partial<Post>) => handler.reply({ ...post, ...part }, "test-1"),
  };
}

for (const [proxies, forwardedFor, client] of [
  [0, "198.51.100.1", "192.0.2.9"],
  [1, "", "192.0.2.9"],
  [1, "198.51.100.1", "198.51.100.1"],
  [1, "10.0.0.1, 198.51.100.1", "198.51.100.1"],
  [2, "10.0.0.1,198.51.100.1 , 203.0.113.1", "198.51.100.1"],
  [1, "198.51.100.1,", "unknown"],
  [1, "198.51.100.1, ", "unknown"],
  [1, "nonsense", "unknown"],
  [2, "198.51.100.1", "unknown"],
] as const)
  test(`behind ${proxies} proxies, X-Forwarded-For "${forwardedFor}" gives client ${client}`, async () => {
    const { asked, reply } = posts(proxies);
    await reply({ forwardedFor });
    assert.equal(clientOf(asked[0].address), client);
  });

test("as many POSTs as a thread takes may wait for the control thread", async () => {
  const { promise, resolve } = Promise.withResolvers<PortalReply>();
  const { asked, reply } = posts(0, () => promise);
  const waiting = Array.from({ length: maxPosts }, () => reply({}));
  assert.equal(asked.length, maxPosts);
  resolve(done);
  assert.deepEqual(new Set((await Promise.all(waiting)).map(({ status }) => status)), new Set([200]));
});

test("a post that fails is reported with its request's id, and answered with 500", () => {
  const reported: unknown[][] = [];
  const ask = async () => done;
  const handler = portalPosts({ trustedProxies: 0, ask, report: (...told) => reported.push(told) });
  const error = new Error("broken");
  assert.equal(handler.failed(error, "test-1").status, 500);
  assert.deepEqual(reported, [[error, "test-1"]]);
});

test("a client with too many POSTs gets 429, and anyone gets 503 while there are too many in all", () => {
  const { busy } = posts();
  const told = (["client", "all"] as const).map(busy).map(({ status, head, body }) => {
    assert.match(String(head), /\r\nRetry-After: 1$/);
    return [status, JSON.parse(String(body)).error.type];
  });
  assert.deepEqual(told, [
    [429, "rate_limit_exceeded"],
    [503, "service_unavailable"],
  ]);
});

for (const [contentType, status] of [
  ["application/json", 200],
  ["Application/JSON ; charset=UTF-8", 200],
  ['application/json;charset="utf-8"', 200],
  ["application/json; charset=utf8; v=1", 200],
  ["application/json;", 200],
  ["application/json; charset=utf-16", 415],
  ["application/json; charset=latin1", 415],
  ["application/jsonp", 415],
  ["text/plain; application/json", 415],
  ["", 415],
] as const)
  test(`a body with Content-Type ${JSON.stringify(contentType)} gets ${status}`, async () => {
    const { asked, reply } = posts();
    assert.equal((await reply({ contentType })).status, status);
    assert.equal(asked.length, status === 200 ? 1 : 0);
  });

test("a body that isn't UTF-8 is rejected", async () => {
  const { asked, reply } = posts();
  await reply({ body: Buffer.from('{"name":"Zoë \u{1f600}"}') });
  assert.equal(asked[0].body, '{"name":"Zoë \u{1f600}"}');
  for (const bytes of [[0xe9], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf0, 0x9f, 0x98]]) {
    const answer = await reply({ body: Buffer.from([0x22, ...bytes, 0x22]) });
    assert.deepEqual(
      [answer.status, JSON.parse(String(answer.body)).error],
      [400, { type: "invalid_parameter", message: "the body isn't UTF-8" }],
    );
  }
  assert.equal(asked.length, 1);
});

test("what is wrong with a post is said, and the control thread gets what is right with the client's address", async () => {
  const { asked, busy, reply } = posts(0, async () => ({
    status: 201,
    body: { é: 1 },
    headers: { "Retry-After": "5" },
  }));
  const made = await reply({ path: "/portal/keys", authorization: "Bearer x" });
  const head = [
    "Content-Type: application/json",
    "Cache-Control: no-store",
    "X-Content-Type-Options: nosniff",
  ];
  assert.deepEqual(
    [made.status, String(made.head).split("\r\n"), String(made.body)],
    [201, ["201 Created", ...head, "Retry-After: 5"], '{"é":1}'],
  );
  assert.deepEqual(asked, [
    {
      path: "/portal/keys",
      body: "{}",
      authorization: "Bearer x",
      address: asked[0].address,
      requestId: "test-1",
    },
  ]);
  for (const [refused, status, message] of [
    [await reply({ body: undefined }), "413 Payload Too Large", "a body has at most 16384 bytes"],
    [
      await reply({ contentType: "text/plain" }),
      "415 Unsupported Media Type",
      "a body is JSON in UTF-8: send Content-Type: application/json",
    ],
    [busy("client"), "429 Too Many Requests", "too many posts from your address at once; retry in 1 s"],
    [busy("all"), "503 Service Unavailable", "too many posts at once; try again"],
  ] as const) {
    assert.equal(String(refused.head).split("\r\n")[0], status);
    assert.equal(refused.status, Number(status.slice(0, 3)));
    assert.equal(JSON.parse(String(refused.body)).error.message, message);
  }
  assert.equal(asked.length, 1);
});
