import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { freePort } from "../support/connection.ts";
import { documentedAddress, readmeBlock } from "../support/readme.ts";
import { maxIdleSeconds, startProxied, testProxy } from "./proxy.ts";

/** Tests the README's Caddy block as a proxy in front of the service, without TLS. */

const listening = await freePort();
const proxied = await startProxied((folder, upstream, port) => {
  const block = readmeBlock("caddy", {
    [documentedAddress]: upstream,
    "api.example.com": `http://:${port}`,
  });
  const file = join(folder, "Caddyfile");
  writeFileSync(file, `{\n\tadmin off\n\tdefault_bind 127.0.0.1\n}\n${block}`);
  return ["caddy", "run", "--config", file, "--adapter", "caddyfile"];
}, listening);
after(() => proxied.stop());

test("the Caddy block closes idle connections before the service does", () => {
  const [, seconds] = /keepalive (\d+)s$/m.exec(readmeBlock("caddy")) ?? [];
  assert.ok(Number(seconds) < maxIdleSeconds, `${seconds} s`);
});

testProxy(proxied);
