import assert from "node:assert/strict";
import { test } from "node:test";
import { databaseUrls } from "../../../server/parts/postgres/postgres-part.ts";

/** Tests which URLs of a database are accepted. */

test("a URL with several hosts is one URL for each host, in the same order", () => {
  assert.deepEqual(databaseUrls("postgres://u:p%40@a,b:5433,[::1]:1/d?sslmode=require"), [
    "postgres://u:p%40@a/d?sslmode=require",
    "postgres://u:p%40@b:5433/d?sslmode=require",
    "postgres://u:p%40@[::1]:1/d?sslmode=require",
  ]);
  assert.deepEqual(databaseUrls("postgresql://a/d"), ["postgresql://a/d"]);
});

for (const text of [
  "mysql://u:geheim@a/d",
  "postgres://u:geheim@a",
  "postgres://u:geheim@a,/d",
  "postgres://u:geheim@@a/d",
  "postgres://u:geh/eim@a/d",
  "postgres://u:geheim@a:x/d",
  "postgres://u:geheim@a/d?sslmode=bogus",
  "postgres://u:geheim@a/d?sslmode=verify-ca",
])
  test(`${text} is refused without its password in the message`, () => {
    assert.throws(
      () => databaseUrls(text),
      ({ message }: Error) => /^DATABASE_URL: found .*, expected /.test(message) && !/geh/.test(message),
    );
  });
