import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Constant, pricesPath } from "./rival.ts";

/** Configures nginx to send the answer as a static file. @returns the configuration's path */
export function writeNginx(folder: string, port: number, sent: Constant): string {
  const file = join(folder, "root", pricesPath);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, sent.body);
  const configuration = join(folder, "nginx.conf");
  const text = `${process.getuid?.() === 0 ? "user root;" : ""}
daemon off;
worker_processes 1;
pid ${join(folder, "nginx.pid")};
error_log stderr crit;
events { worker_connections 4096; }
http {
  access_log off;
  sendfile on;
  tcp_nodelay on;
  open_file_cache max=1000;
  open_file_cache_valid 1h;
  keepalive_timeout 60s;
  keepalive_requests 1000000000;
  server_tokens off;
  etag off;
  max_ranges 0;
${["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `  ${name}_temp_path ${name};`).join("\n")}
  server {
    listen 127.0.0.1:${port} backlog=4096;
    root ${join(folder, "root")};
${sent.headers.map((header) => `    ${directive(header)}`).join("\n")}
  }
}
`;
  writeFileSync(configuration, text);
  return configuration;
}

function directive([name, value]: readonly [string, string]): string {
  if (/[$\n]/.test(value)) throw new Error(`${name} is ${JSON.stringify(value)}, expected no variable`);
  const quoted = `"${value.replace(/["\\]/g, "\\$&")}"`;
  // nginx sets Content-Type itself, so `add_header` would send it twice.
  return name.toLowerCase() === "content-type"
    ? `default_type ${quoted};`
    : `add_header ${name} ${quoted} always;`;
}
