import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { freePort } from "../support/connection.ts";
import { documentedAddress, readmeBlock } from "../support/readme.ts";
import { maxIdleSeconds, startProxied, testProxy } from "./proxy.ts";

/** The README's nginx block, in front of the service. */

const temporaryPaths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];

/** Writes a configuration around the block, with Debian's own settings of `http` and the defaults of all else. */
function configure(folder: string, block: string): string {
  const file = join(folder, "nginx.conf");
  writeFileSync(
    file,
    `${process.getuid?.() === 0 ? "user root;" : ""}
daemon off;
worker_processes 1;
pid ${join(folder, "nginx.pid")};
error_log stderr warn;
events {}
http {
  access_log off;
  sendfile on;
  tcp_nopush on;
  gzip on;
${temporaryPaths.map((name) => `  ${name}_temp_path ${join(folder, name)};`).join("\n")}
${block}
}
`,
  );
  return file;
}

const listening = await freePort();
const proxied = await startProxied((folder, upstream, port) => {
  const block = readmeBlock("nginx", {
    [documentedAddress]: upstream,
    "listen 80;": `listen 127.0.0.1:${port};`,
  });
  return ["nginx", "-p", folder, "-c", configure(folder, block)];
}, listening);
after(() => proxied.stop());

test("the block lets go of idle connections soon enough", () => {
  const [, seconds] = /upstream [^}]*keepalive_timeout (\d+)s;/s.exec(readmeBlock("nginx")) ?? [];
  assert.ok(Number(seconds) < maxIdleSeconds, `${seconds} s`);
});

testProxy(proxied);
