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
  for (const url of [
    "postgresql://a/d",
    "postgres://u@a/d",
    "postgres://u:a%23%3F%25%2F%3A%40b@a:65535/d",
    "postgres://u:a:b@db_1.example.com/d?sslmode=verify-full&sslrootcert=/etc/a%20b.pem",
    "postgres://u@%2Fvar%2Frun%2Fpostgresql/d",
    "postgres://a/d?sslmode=verify-full&channel_binding=require&connect_timeout=10",
    "postgres://a/d?application_name=hcqs&target_session_attrs=read-write&keepalives=1&options=-c%20a=b",
  ])
    assert.deepEqual(databaseUrls(url), [url]);
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
  "postgres://u:geheim@a/d?host=geh",
  "postgres://u:geheim@a/d?sslmode=require&port=0",
  "postgres://a/d?user=u&password=geheim",
  "postgres://u:12#geh@a/d",
  "postgres://u:geh#34@a/d",
  "postgres://u:geheim@a/d#",
  "postgres://u:geheim@a/d#geh",
  "postgres://u:geheim@a/d?sslmode=require#geh",
  "postgres://u:geh?eim@a/d",
  "postgres://u:geh?sslmode=require@a/d",
  "postgres://u:geh@eim@a/d",
  "postgres://u:geheim@a:0/d",
  "postgres://u:geheim@a,b:0/d",
  "postgres://u:geheim@a:00/d",
  "postgres://u:geheim@a:65536/d",
  "postgres://u:geheim@a:/d",
  "postgres://u:geh eim@a/d",
  "postgres://u:geh\teim@a/d",
  "postgres://u:geheim@a/d\n",
  " postgres://u:geheim@a/d",
  "postgres://u:geh\\eim@a/d",
  "postgres://u:geh%eim@a/d",
  "postgres://u:geheim%@a/d",
  "postgres://u:geheim%ff@a/d",
  "postgres://u:geheim@$HOST/d",
  '"postgres://u:geheim@a/d"',
  "postgres://u:geheim@a/..",
  "postgres://u:geheim@a/%2e?sslmode=require",
  "postgres://u:geheim@a/d?sslMode=verify-full",
  "postgres://u:geheim@a/d?sslmode=disable&sslmode=verify-full",
  "postgres://u:geheim@a/d?sslmode=verify-full&sslRootCert=/geh.pem",
  "postgres://u:geheim@a/d?ssl=true",
  "postgres://u:geheim@a/d?sslmode=disable&ssl=1",
  "postgres://u:geheim@a/d?sslmode=require&sslnegotiation=direct",
  "postgres://u:geheim@a/d?requiressl=1",
  "postgres://u:geheim@a/d?useSSL=true",
  "postgres://u:geheim@a/d?tls=true",
  "postgres://u:geheim@a/d?ssl_min_protocol_version=TLSv1.3",
  "postgres://u:geheim@a/d?%73sl=true",
  "postgres://u:geheim@a/d?channel_binding=require",
  "postgres://u:geheim@a/d?sslmode=require&channel_binding=require",
  "postgres://u:geheim@a/d?gssencmode=require",
  "postgres://u:geheim@a/d?slmode=verify-full",
  "postgres://u:geheim@a/d?secure=true",
  "postgres://u:geheim@a/d?encrypt=true",
  "postgres://u:geheim@a/d?hostaddr=10.0.0.1",
  "postgres://u:geheim@a/d?query_timeout=1",
  "postgres://u:geheim@a/d&sslmode=require",
  "postgres://u%3Ageheim%40a/d",
  "postgres://u%40a/d",
  "postgres://u:geheim@a,b%2ec/d",
  "postgres://u:geheim@a/d?application_name=x%00user%00root",
  "postgres://u:geheim@a/d?sslrootcert=~/geh.pem",
  "postgres://u:geheim@a/d?sslmode=verify-ca&sslrootcert='geh.pem'",
])
  test(`${text} is refused without its password in the message`, () => {
    assert.throws(
      () => databaseUrls(text),
      ({ message }: Error) => /^DATABASE_URL: found .*, expected /.test(message) && !/geh/.test(message),
    );
  });

test("a refused URL's message says which rule it breaks", () => {
  const form =
    "another form, expected postgres://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]…]/DATABASE[?sslmode=…], in a password %23 for #, %3F for ?, %25 for %, %2F for /, %3A for :, %40 for @";
  const known =
    "sslmode, sslrootcert, sslcert, sslkey, channel_binding, application_name, fallback_application_name, connect_timeout, options, target_session_attrs, keepalives, keepalives_idle, keepalives_interval, keepalives_count, tcp_user_timeout, each once";
  const path =
    "a path without a blank or quote at its beginning or end, ~ or $ at its beginning, a comment or a control character";
  for (const [end, expected] of [
    ["", form],
    ["/", form],
    ["/..", form],
    ["/d?ssl=1", `a parameter that isn't known, or is there twice, expected ${known}`],
    ["/d?keepalives=1&keepalives=1", `a parameter that isn't known, or is there twice, expected ${known}`],
    ["/d?sslmode=bogus", "another sslmode, expected disable, allow, prefer, require, verify-ca, verify-full"],
    [
      "/d?sslmode=require&channel_binding=require",
      "channel_binding without sslmode=verify-full, expected both, or neither",
    ],
    ["/d?sslmode=verify-ca", "sslmode=verify-ca without sslrootcert, expected both, or verify-full"],
    ["/d?sslrootcert=~/a", `another sslrootcert, expected ${path}`],
    ["/d?sslkey=", `another sslkey, expected ${path}`],
  ])
    assert.throws(
      () => databaseUrls(`postgres://u@a${end}`),
      { message: `DATABASE_URL: found ${expected}` },
      end,
    );
  for (const [i, name] of known.replace(", each once", "").split(", ").entries()) {
    const value = name === "sslmode" ? "allow" : i;
    const beside = name === "channel_binding" ? "&sslmode=verify-full" : "";
    assert.equal(databaseUrls(`postgres://a/d?${name}=${value}${beside}`).length, 1, name);
  }
});
