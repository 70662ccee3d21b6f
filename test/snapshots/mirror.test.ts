import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fs, { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { after, test } from "node:test";
import pino from "pino";
import * as v from "valibot";
import { Mirror } from "../../server/snapshots/mirror.ts";
import { seededRandom } from "../support/random.ts";
import { listening, temporaryFolder, until } from "../support/server.ts";

/** Tests fetching snapshots from a web server that is slow, breaks connections, and sends false data. */

const logLine = v.looseObject({
  msg: v.string(),
  reason: v.optional(v.string()),
});

function bytesOf(length: number, seed: number): Buffer {
  const random = seededRandom(seed);
  return Buffer.from(Uint8Array.from({ length }, () => random.int(256)));
}

const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

class Origin {
  readonly files = new Map<string, Buffer>();
  readonly asked: { url: string; status: number }[] = [];
  faulty: Handler | undefined;
  index: unknown;
  etag = '"1"';
  readonly #server = createServer((request, response) => {
    response.on("close", () => {
      this.asked.push({ url: request.url ?? "", status: response.statusCode });
    });
    if (this.faulty !== undefined && request.url !== "/data/index.json") this.faulty(request, response);
    else this.answer(request, response);
  });

  url = "";

  async listen(): Promise<void> {
    this.url = `http://127.0.0.1:${await listening(this.#server)}/data/index.json`;
    after(() => {
      this.#server.close();
      this.#server.closeAllConnections();
    });
  }

  publish(files: Record<string, Buffer>): void {
    this.files.clear();
    for (const [version, bytes] of Object.entries(files)) this.files.set(`/data/${version}.parquet`, bytes);
    this.index = Object.entries(files).map(([version, bytes]) => ({
      ...{ version, file: `${version}.parquet` },
      ...{ bytes: bytes.length, sha256: sha256(bytes) },
    }));
    this.etag = `"${Number(this.etag.slice(1, -1)) + 1}"`;
  }

  answer({ url = "", headers }: IncomingMessage, response: ServerResponse): void {
    if (url === "/data/index.json") {
      if (headers["if-none-match"] === this.etag) response.writeHead(304).end();
      else response.writeHead(200, { ETag: this.etag }).end(JSON.stringify(this.index));
      return;
    }
    const bytes = this.files.get(url);
    if (bytes === undefined) response.writeHead(404).end();
    else response.writeHead(200).end(bytes);
  }
}

async function trial({ stallMs = 60_000 } = {}) {
  const origin = new Origin();
  await origin.listen();
  const folder = temporaryFolder();
  const lines: v.InferOutput<typeof logLine>[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(v.parse(logLine, JSON.parse(line))) });
  let hour = 0;
  return {
    origin,
    folder,
    lines,
    mirror: new Mirror({ url: origin.url, folder, log, stallMs }),
    /** Returns a time after all pauses between tries. */
    later: () => ++hour * 3_600_000,
    served: () => readdirSync(folder).filter((name) => !name.startsWith(".")),
    read: (version: string) => readFileSync(join(folder, `${version}.parquet`)),
    reasons: () => lines.flatMap(({ reason }) => reason ?? []),
  };
}

test("files in the index are fetched once, newest first, and an unchanged index gets 304", async () => {
  const { origin, mirror, served, read, later } = await trial();
  const [old, current] = [bytesOf(200_000, 1), bytesOf(5, 2)];
  origin.publish({ "2023.2": old, "2023.10": current });
  await mirror.poll(later());
  assert.deepEqual(served(), ["2023.10.parquet", "2023.2.parquet"]);
  assert.deepEqual(read("2023.2"), old);
  assert.deepEqual(read("2023.10"), current);
  await mirror.poll(later());
  assert.deepEqual(
    origin.asked.map(({ url, status }) => `${url.replace("/data/", "")} ${status}`),
    ["index.json 200", "2023.10.parquet 200", "2023.2.parquet 200", "index.json 304"],
  );
});

test("a stalled download is aborted and retried, and other files are fetched meanwhile", async () => {
  const { origin, mirror, served, read, later, reasons } = await trial({ stallMs: 1500 });
  const [old, current] = [bytesOf(100_000, 4), bytesOf(100_000, 5)];
  origin.publish({ "2023.1": old, "2024.1": current });
  origin.faulty = (request, response) => {
    if (request.url?.includes("2023")) origin.answer(request, response);
    else response.writeHead(200).write(current.subarray(0, 50_000));
  };
  await mirror.poll(later());
  assert.deepEqual(served(), ["2023.1.parquet"]);
  assert.match(reasons()[0], /2024\.1\.parquet: found only \d+ bytes in 1\.5 s, expected a complete answer$/);
  origin.faulty = undefined;
  await mirror.poll(later());
  assert.deepEqual(read("2024.1"), current);
});

test("closing the mirror aborts its download and deletes the partial file", async () => {
  const { origin, folder, mirror, served, later, lines } = await trial();
  const bytes = bytesOf(100_000, 3);
  origin.publish({ "2024.1": bytes });
  const fetched = join(folder, ".fetched");
  origin.faulty = (_, response) => void response.writeHead(200).write(bytes.subarray(0, 50_000));
  const polled = mirror.poll(later());
  await until("a part", () => existsSync(fetched) && readdirSync(fetched).length > 0);
  await mirror.close();
  await polled;
  assert.deepEqual([readdirSync(fetched), served(), lines], [[], [], []]);
});

test("a download that doesn't match the index is deleted and retried after growing pauses", async () => {
  const { origin, folder, mirror, served, read, reasons } = await trial();
  const bytes = bytesOf(100_000, 6);
  const other = bytesOf(100_000, 7);
  origin.publish({ "2024.1": bytes });
  const lies: [Handler, RegExp][] = [
    [(_, response) => response.writeHead(200).end(other), /SHA-256 of 100000 bytes that were fetched: found/],
    [
      (_, response) => response.writeHead(200).end(Buffer.concat([bytes, other])),
      /found more than 100000 bytes, expected a file of that size at most$/,
    ],
    [
      (_, response) => response.writeHead(200).end(bytes.subarray(1)),
      /: found an end after 99999 of 100000 bytes, expected a complete answer$/,
    ],
    [
      (_, response) => response.writeHead(200, { "Content-Length": 5 }).end("wrong"),
      /found 5 bytes, expected 100000$/,
    ],
    [(_, response) => response.writeHead(404).end(), /found status 404 Not Found, expected a file/],
    [(_, response) => response.destroy(), /2024\.1\.parquet: /],
  ];
  let now = 0;
  let pause = 1000;
  for (const [i, [lie, reason]] of lies.entries()) {
    origin.faulty = lie;
    await mirror.poll(now);
    assert.match(reasons()[i], reason);
    assert.deepEqual(served(), []);
    const asked = origin.asked.filter(({ url }) => url.endsWith(".parquet")).length;
    await mirror.poll(now + pause - 1);
    assert.equal(origin.asked.filter(({ url }) => url.endsWith(".parquet")).length, asked);
    now += pause;
    pause *= 2;
  }
  assert.deepEqual(readdirSync(join(folder, ".fetched")), []);
  assert.deepEqual(served(), []);
  // The age counts from the start, because the folder has never had all files of the index.
  assert.equal(mirror.syncAgeMs(now), now);
  origin.faulty = undefined;
  await mirror.poll(now);
  assert.deepEqual(read("2024.1"), bytes);
  assert.equal(mirror.syncAgeMs(now), 0);
});

test("a download fails on a redirect with a password or without disk space, and leaves no file", async (t) => {
  const { origin, folder, mirror, served, later, reasons } = await trial();
  origin.publish({ "2024.1": bytesOf(10, 14) });
  origin.faulty = (_, response) =>
    void response.writeHead(302, { Location: "http://joe:geheim@127.0.0.1/" }).end();
  await mirror.poll(later());
  assert.match(
    reasons()[0],
    /2024\.1\.parquet: found a redirect \(302\) to "http:\/\/…@127\.0\.0\.1\/", expected an address without a password$/,
  );
  origin.faulty = undefined;
  t.mock.method(fs, "statfsSync", () => ({ bavail: 3, bsize: 512 }));
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.reset();
    syncBuiltinESMExports();
  });
  await mirror.poll(later());
  assert.equal(
    reasons()[1],
    `${join(folder, ".fetched")}: found no room (1536 bytes free), expected at least ${10 + (64 << 20)} bytes; DATASETS_DIR may name another folder`,
  );
  assert.deepEqual(readdirSync(join(folder, ".fetched")), []);
  assert.deepEqual(served(), []);
});

test("an invalid index changes nothing and is logged once", async () => {
  const { origin, mirror, served, later, reasons } = await trial();
  const bytes = bytesOf(10, 8);
  origin.publish({ "2024.1": bytes });
  await mirror.poll(later());
  const entry = { version: "2024.1", file: "a", bytes: 1, sha256: "0".repeat(64) };
  for (const index of [
    [],
    {},
    null,
    [{ ...entry, version: "../1" }],
    [{ ...entry, file: "../a" }],
    [{ ...entry, file: "http://127.0.0.1/" }],
    [{ ...entry, bytes: -1 }],
    [{ ...entry, bytes: 2 ** 32 + 1 }],
    [{ ...entry, bytes: Number.MAX_SAFE_INTEGER }],
    [{ ...entry, sha256: "x" }],
    [entry, entry],
    "x".repeat(2 ** 20),
    [1],
    ...Object.keys(entry).map((name) => [{ ...entry, [name]: undefined }]),
    [{ ...entry, bytes: "1" }],
  ]) {
    origin.index = index;
    origin.etag = `"${JSON.stringify(index).length} x"`;
    const before = reasons().length;
    for (let i = 0; i < 3; i++) {
      await mirror.poll(later());
      assert.equal(reasons().length, before + 1, JSON.stringify(index).slice(0, 100));
    }
    assert.deepEqual(served(), ["2024.1.parquet"]);
  }
  assert.deepEqual(
    [reasons()[0], reasons()[1], reasons()[3]],
    [
      `${origin.url}: found 0, expected at least one version`,
      `${origin.url}: found Object, expected a list of versions`,
      `${origin.url}: 0.version: found "../1", expected a version such as 2024.1`,
    ],
  );
  assert.deepEqual(
    reasons().slice(-6),
    [
      "0: found 1, expected an object with version, file, bytes, sha256",
      "0.version: found nothing, expected a version such as 2024.1",
      "0.file: found nothing, expected a path below the index",
      "0.bytes: found nothing, expected a whole number from 1 to 4294967296",
      "0.sha256: found nothing, expected 64 hexadecimal digits in lower case",
      '0.bytes: found "1", expected a whole number from 1 to 4294967296',
    ].map((reason) => `${origin.url}: ${reason}`),
  );
});

test("a fetched version that leaves the index is deleted, and the operator's own files stay", async () => {
  const { origin, folder, mirror, served, read, later, lines, reasons } = await trial();
  const [one, two, three] = [bytesOf(10, 9), bytesOf(10, 10), bytesOf(10, 11)];
  writeFileSync(join(folder, "2022.1.parquet"), "mine");
  writeFileSync(join(folder, "2021.1.parquet"), one);
  origin.publish({ "2021.1": one, "2022.1": two, "2023.1": two, "2024.1": three });
  await mirror.poll(later());
  assert.deepEqual(read("2022.1").toString(), "mine");
  assert.match(reasons()[0], /^2022\.1\.parquet: SHA-256: found .*the server keeps this file; delete it/);
  assert.ok(!origin.asked.some(({ url }) => url.includes("2021")));
  const [ended, running] = [process.pid, process.ppid].map((pid) => `2023.1.parquet.${pid}.part`);
  for (const part of [ended, running]) writeFileSync(join(folder, ".fetched", part), "half");
  origin.publish({ "2024.1": three });
  await mirror.poll(later());
  assert.deepEqual(readdirSync(join(folder, ".fetched")).toSorted(), [running, "2024.1.parquet"]);
  assert.deepEqual(served(), ["2021.1.parquet", "2022.1.parquet", "2024.1.parquet"]);
  assert.ok(lines.some(({ msg }) => msg.startsWith("snapshot removed")));
});
