import assert from "node:assert/strict";
import { after, test } from "node:test";
import { freePort } from "../support/connection.ts";
import { documentedAddress, readmeBlock } from "../support/readme.ts";
import { maxIdleSeconds, nginxCommand, startProxied, testProxy } from "./proxy.ts";

const listening = await freePort();
const proxied = await startProxied((folder, upstream, port) => {
  const block = readmeBlock("nginx", {
    [documentedAddress]: upstream,
    "listen 80;": `listen 127.0.0.1:${port};`,
  });
  return nginxCommand(folder, block);
}, listening);
after(() => proxied.stop());

test("the nginx block closes idle connections before the service does", () => {
  const [, seconds] = /upstream [^}]*keepalive_timeout (\d+)s;/s.exec(readmeBlock("nginx")) ?? [];
  assert.ok(Number(seconds) < maxIdleSeconds, `${seconds} s`);
});

testProxy(proxied);
