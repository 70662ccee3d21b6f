import assert from "node:assert/strict";
import { once } from "node:events";
import { cpSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import path from "node:path";
import { after, test } from "node:test";
import type { Sample } from "../../server/parts/console/browser/sample.ts";
import type { State } from "../../server/parts/console/state.ts";
import {
  Connection,
  call,
  datasetsFolder,
  pricesPath,
  Running,
  rawRequest,
  ready,
  requestText,
  startServer,
  temporaryFolder,
  until,
} from "../support/server.ts";

// The core has to work with each part alone.
process.env.SERVER_PARTS = "console";

const datasetsDir = datasetsFolder();
const server = await startServer({ datasetsDir, env: { OPS_ALLOWED_HOSTS: "ops.example.org" } });
after(() => server.stop());

const ask = (target: string, headers: Record<string, string> = {}, method = "GET") =>
  rawRequest(server.ops, requestText(`${method} ${target}`, { Connection: "close", ...headers }));

interface Event {
  name: string;
  data: unknown;
}

async function eventsUntil(isLast: (event: Event) => boolean, during = () => {}): Promise<Event[]> {
  const request = get(`${server.ops}/console/stream`);
  const [response] = await once(request, "response");
  assert.equal(response.headers["content-type"], "text/event-stream");
  response.setEncoding("utf8");
  const events: Event[] = [];
  let text = "";
  during();
  for await (const chunk of response) {
    text += chunk;
    const parts = text.split("\n\n");
    text = parts.pop() ?? "";
    for (const part of parts) {
      const [, name, data] = /^event: (\w+)\ndata: (.*)$/.exec(part) ?? assert.fail(part);
      events.push({ name, data: JSON.parse(data) });
    }
    if (events.some(isLast)) break;
  }
  request.destroy();
  return events;
}

test("the console serves its page and files, and rejects other paths, hosts and methods", async () => {
  const page = await ask("/");
  assert.equal(page.status, 200);
  const html = String(page.body);
  assert.match(page.header("Content-Security-Policy") ?? "", /default-src 'none'/);
  for (const [, file] of html.matchAll(/"(\/console\/[^"]+\.[a-z]+)"/g)) {
    const { status } = await ask(file);
    assert.deepEqual([file, status], [file, 200]);
  }
  assert.equal((await ask("/", { "If-None-Match": page.header("ETag") ?? "" })).status, 304);
  assert.equal((await ask("/", { Host: "OPS.example.org:9090" })).status, 200);
  assert.equal((await ask("/", { Host: "evil.example" })).status, 403);
  assert.equal((await ask("/console/nothing")).status, 404);
  assert.equal((await ask("/nothing")).status, 404);
  assert.equal((await ask("/", {}, "POST")).status, 405);
});

test("the console still works after its program and libraries are deleted while the server runs", async () => {
  const copy = temporaryFolder();
  const root = path.resolve(import.meta.dirname, "../..");
  for (const part of ["server", "engine", "datasets", "package.json"])
    cpSync(path.join(root, part), path.join(copy, part), {
      recursive: true,
      filter: (source) => !source.includes("snapshots/2"),
    });
  symlinkSync(path.join(root, "node_modules"), path.join(copy, "node_modules"));
  const env = { PORT: "0", OPS_PORT: "0", THREADS: "1", PORTAL: "off", DATASETS_DIR: datasetsDir };
  const process = new Running(path.relative(root, path.join(copy, "server/main.ts")), [], {
    ...env,
    STATE_DIR: path.join(copy, "state"),
  });
  const { ops } = await ready(process);
  const get = (target: string) => rawRequest(ops, requestText(`GET ${target}`, { Connection: "close" }));
  // The server has read the console's files before the ready line, because to make them may block its control thread.
  rmSync(path.join(copy, "node_modules"));
  rmSync(path.join(copy, "server/parts/console"), { recursive: true });
  assert.equal((await get("/")).status, 200);
  assert.equal((await get("/metrics")).status, 200);
  process.signal("SIGTERM");
  assert.equal((await process.finished()).code, 0);
});

test("200 idle connections don't block health probes", async () => {
  const idle = await Promise.all(Array.from({ length: 200 }, () => Connection.open(server.ops)));
  await until("a place", async () => {
    const answer = await ask("/livez").catch(() => undefined);
    return answer?.status === 200;
  });
  for (const connection of idle) connection.close();
});

test("the event stream sends the history, the server's state, and then a sample each second", async () => {
  const asked = "GET /api/v1/healthcare/prices?procedure=5072";
  await call(server, asked);
  const isCounted = ({ name, data }: Event) =>
    (name === "sample"
      ? [data as Sample]
      : name === "history"
        ? (data as { samples: Sample[] }).samples
        : []
    ).some(({ requests }) => (requests[`${pricesPath} 200`] ?? 0) > 0);
  const events = await eventsUntil(isCounted, () => void call(server, asked));
  assert.deepEqual(
    events.slice(0, 2).map(({ name }) => name),
    ["history", "state"],
  );
  const state = events[1].data as State;
  assert.deepEqual(
    state.versions.map(({ version, status }) => [version, status]),
    [
      ["2024.3", "current"],
      ["2023.2", "available"],
      ["2023.1", "superseded"],
    ],
  );
  assert.equal(state.server.ready, true);
  assert.equal(state.accounts[0].keys, 1);
  assert.doesNotMatch(JSON.stringify(events), /hcq_/);
});

test("a refused snapshot file is shown with its reason", async () => {
  writeFileSync(path.join(datasetsDir, "2025.1.parquet"), "no snapshot");
  const isShown = ({ name, data }: Event) =>
    name === "state" && (data as State).refused.some(({ file }) => file === "2025.1.parquet");
  const events = await eventsUntil(isShown);
  const shown = events.find(isShown) ?? assert.fail("it is shown");
  const [{ reason, version, isServed, isLost }] = (shown.data as State).refused;
  assert.match(reason, /2025\.1\.parquet/);
  assert.deepEqual([version, isServed, isLost], ["2025.1", false, false]);
});
