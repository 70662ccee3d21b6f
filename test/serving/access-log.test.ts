import assert from "node:assert/strict";
import { test } from "node:test";
import { generateKey } from "../../server/accounts/keys.ts";
import { requestShown } from "../../server/serving/access-log.ts";

/** Tests how the access log writes requests. */

const key = generateKey(Buffer.alloc(32, 7));
const prices = "/api/v1/healthcare/prices";

for (const [method, path, query, shown] of [
  ["GET", prices, "procedure=5072&state=CA", `GET ${prices}?procedure=5072&state=CA`],
  ["GET", prices, "", `GET ${prices}?`],
  ["GET", prices, undefined, `GET ${prices}`],
  ["GET", prices, "secret=abc&procedure&x=", `GET ${prices}?secret=…&procedure&x=…`],
  ["GET", `${prices}/${key}`, `procedure=${key}`, `GET ${prices}/…?procedure=…`],
  ["GET", "/signup/Ab-12_cd", "token=abc", "GET /signup/…?token=…"],
  ["GET", "/signup", undefined, "GET /signup"],
  ["POST", "/portal/signup.confirm/a/b9", undefined, "POST /portal/signup.confirm/a/…"],
  ["POST", `/portal/${"a".repeat(24)}/${"a".repeat(25)}`, undefined, `POST /portal/${"a".repeat(24)}/…`],
  ["GET", "/portals/Ab-12", undefined, "GET /portals/Ab-12"],
  ["A".repeat(20), "/", undefined, `${"A".repeat(16)} /`],
  ["GET", "/a".repeat(1000), undefined, `GET ${"/a".repeat(1000)}`],
  ["GET", "/a".repeat(1001), undefined, `GET ${"/a".repeat(1000).slice(0, -1)}…`],
] as const)
  test(`the log shows ${method.slice(0, 4)} ${path.slice(0, 40)} ${query} without secrets`, () => {
    assert.equal(requestShown(method, path, query).replaceAll(/hcq_\S*?…/g, "…"), shown);
  });
