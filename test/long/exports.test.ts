import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { get, type IncomingMessage } from "node:http";
import path from "node:path";
import { after, before, test } from "node:test";
import { defaultSampleRows, syntheticSnapshot } from "../../datasets/sample/synthetic.ts";
import { encodeSnapshot, type Snapshot } from "../../engine/index.ts";
import { callDocumented } from "../support/documented.ts";
import { readers } from "../support/export-readers.ts";
import { expectedRows } from "../support/exported-rows.ts";
import { asReal, asVersion, randomSnapshot, rowsOf } from "../support/fixtures.ts";
import { memoryBytes } from "../support/memory.ts";
import { metadataOf } from "../support/parquet-file.ts";
import {
  type Answer,
  Connection,
  rawRequest,
  requestText,
  settled,
  startServer,
  type TestServer,
  temporaryFolder,
  until,
} from "../support/server.ts";
import { sizeFrom } from "./trial.ts";

/** Tests the content of exports of whole data versions, and their transmission to slow readers. */

const exportRows = sizeFrom("EXPORT_ROWS", defaultSampleRows);

const tables = [
  asReal(syntheticSnapshot({ dataYear: 2030, revision: 1, rows: 40_000, seed: 1 })),
  ...Array.from({ length: 9 }, (_, i) => {
    return asVersion(randomSnapshot(i + 1), 2020 + i, 1);
  }),
];
const [largest] = tables;

const formats = ["csv", "arrow", "parquet"] as const;
const nameOf = ({ provenance }: Snapshot) => `${provenance.dataYear}.${provenance.revision}`;

let server: TestServer;
const datasetsDir = temporaryFolder();
before(async () => {
  for (const table of tables)
    writeFileSync(path.join(datasetsDir, `${nameOf(table)}.parquet`), encodeSnapshot(table));
  server = await startServer({ datasetsDir });
});
after(() => server.stop());

const download = async (target: string) => {
  const answer = await callDocumented(server, `GET /api/v1${target}`);
  assert.equal(answer.status, 200, target);
  assert.equal(Number(answer.header("Content-Length")), answer.body.length);
  return answer.body;
};

for (const [reader, { format, read }] of Object.entries(readers)) {
  if (format === "parquet") continue;

  test(`${reader} reads the exported rows of every table, in both schemas`, async () => {
    for (const table of tables) {
      const rows = await read(await download(`/versions/${nameOf(table)}/export.${format}`));
      assert.deepEqual(rows, expectedRows(table), nameOf(table));
    }
  });
}

test("an export has a file name, length and ETag, counts as one request, and isn't compressed", async () => {
  const first = await callDocumented(server, "HEAD /api/v1/export.csv", { "Accept-Encoding": "br" });
  assert.equal(first.header("Content-Disposition"), `attachment; filename="opps-${nameOf(largest)}.csv"`);
  assert.equal(first.header("Content-Type"), "text/csv; charset=utf-8; header=present");
  assert.equal(first.header("Cache-Control"), "private, no-cache");
  const whole = await callDocumented(server, "GET /api/v1/export.csv", { "Accept-Encoding": "br" });
  assert.equal(whole.remaining, first.remaining - 1);
  assert.equal(whole.header("ETag"), first.header("ETag"));
  assert.equal(whole.header("Content-Length"), first.header("Content-Length"));
  assert.equal(whole.header("Content-Encoding"), undefined);
  const unchanged = await callDocumented(server, "GET /api/v1/export.csv", {
    "If-None-Match": whole.header("ETag"),
  });
  assert.equal(unchanged.status, 304);
  const other = await callDocumented(
    server,
    `GET /api/v1/export.csv?state=${largest.table.facilities.state[0]}`,
  );
  assert.notEqual(other.header("ETag"), whole.header("ETag"));
  const part = await callDocumented(server, "HEAD /api/v1/export.arrow?procedure=5072&state=ca");
  assert.match(String(part.header("Content-Disposition")), /-5072-CA\.arrow"$/);
});

test("the Parquet export is the snapshot file, and every reader gets the same rows from it", async () => {
  for (const table of tables) {
    const bytes = await download(`/versions/${nameOf(table)}/export.parquet`);
    assert.ok(bytes.equals(readFileSync(path.join(datasetsDir, `${nameOf(table)}.parquet`))));
    for (const [reader, { format, read }] of Object.entries(readers))
      if (format === "parquet")
        assert.deepEqual(await read(bytes), rowsOf(table), `${nameOf(table)}, ${reader}`);
  }
});

test("range requests let a client read the Parquet footer first", async () => {
  const target = "GET /api/v1/export.parquet";
  const file = readFileSync(path.join(datasetsDir, `${nameOf(largest)}.parquet`));
  const head = await callDocumented(server, target.replace("GET", "HEAD"));
  assert.equal(head.header("Accept-Ranges"), "bytes");
  const size = Number(head.header("Content-Length"));
  assert.equal(size, file.length);
  const part = async (range: string, [start, end]: [number, number]) => {
    const answer = await callDocumented(server, target, { Range: range });
    assert.equal(answer.status, 206, range);
    assert.equal(answer.header("Content-Range"), `bytes ${start}-${end - 1}/${size}`);
    assert.ok(answer.body.equals(file.subarray(start, end)), range);
    return answer.body;
  };
  const tail = await part("bytes=-8", [size - 8, size]);
  const start = size - 8 - tail.readUInt32LE(0);
  const footer = await part(`bytes=${start}-${size - 9}`, [start, size - 8]);
  const rows = metadataOf(Buffer.concat([footer, tail])).get("rows");
  assert.equal(rows, String(largest.counts.rows));
});

const asking = (target: string, headers = {}) =>
  requestText(`GET /api/v1${target}`, { Authorization: `Bearer ${server.key}`, ...headers });

test("an export pipelined behind unread responses is correct up to the connection's end", async () => {
  const small = "/healthcare/procedures?limit=3";
  const [first, last] = await Promise.all(
    [small, "/export.csv"].map((target) => callDocumented(server, `GET /api/v1${target}`)),
  );
  const textOf = ({ head, body }: Answer) => settled(`${head}\r\n\r\n${body.toString("latin1")}`);
  for (const count of [0, 1, 20, 600, 3000]) {
    const connection = await Connection.open(server.api);
    connection.pause();
    const closing = asking("/export.csv", { Connection: "close" });
    await connection.send(asking(small).repeat(count) + closing);
    assert.equal((await callDocumented(server, `GET /api/v1${small}`)).status, 200);
    connection.resume();
    const received = settled((await connection.rest()).toString("latin1"));
    const whole = textOf(first).repeat(count) + textOf(last);
    assert.ok(whole.startsWith(received), `of ${count}`);
    if (count <= 20) assert.equal(received.length, whole.length);
  }
});

test(`a CSV export of ${exportRows} rows takes at most 1 MB of memory for each slow reader`, async () => {
  const trial = temporaryFolder();
  const table = syntheticSnapshot({ dataYear: 2031, revision: 1, rows: exportRows, seed: 1 });
  writeFileSync(path.join(trial, `${nameOf(table)}.parquet`), encodeSnapshot(table));
  const other = await startServer({ datasetsDir: trial });
  const open = async () => {
    const headers = { Authorization: `Bearer ${other.key}` };
    const sent = get(`${other.api}/api/v1/export.csv`, { headers, agent: false });
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    return response;
  };
  let lines = 0;
  for await (const bytes of await open()) for (const byte of bytes) if (byte === 10) lines++;
  assert.equal(lines, 1 + exportRows);
  const held = () => memoryBytes("VmRSS", other.process.pid);
  const before = held();
  const readers = await Promise.all(Array.from({ length: 16 }, open));
  let most = 0;
  for (let piece = 0; piece < 100; piece++) {
    for (const reader of readers) if (reader.read() === null) await once(reader, "readable");
    most = Math.max(most, held());
  }
  for (const reader of readers) reader.destroy();
  assert.equal(await other.stop(), 0);
  const grown = most - before;
  console.log(`memory grew by ${grown / readers.length} bytes for each of ${readers.length} readers`);
  assert.ok(grown <= readers.length * 2 ** 20, `${grown} bytes for ${readers.length} readers`);
});

for (const format of formats)
  test(`an export as ${format} is sent completely even if its version is retired meanwhile`, async () => {
    const body = await download(`/versions/${nameOf(largest)}/export.${format}`);
    const connection = await Connection.open(server.api);
    connection.pause();
    await connection.send(asking(`/versions/${nameOf(largest)}/export.${format}`));
    await connection.allRead();
    rmSync(path.join(datasetsDir, `${nameOf(largest)}.parquet`));
    await until("the version to be retired", async () => {
      const answer = await rawRequest(server.api, asking(`/versions/${nameOf(largest)}/export.csv?state=CA`));
      return answer.status === 404;
    });
    connection.resume();
    assert.ok((await connection.answer()).body.equals(body));
    connection.close();
    writeFileSync(path.join(datasetsDir, `${nameOf(largest)}.parquet`), encodeSnapshot(largest));
    await until("the version to be back", async () => {
      const answer = await rawRequest(server.api, asking(`/versions/${nameOf(largest)}/export.csv?state=CA`));
      return answer.status === 200;
    });
  });

test("a server that stops waits for exports that clients read and cuts off unread ones", async () => {
  const other = await startServer({ datasetsDir });
  const text = requestText("GET /api/v1/export.csv", { Authorization: `Bearer ${other.key}` });
  const [read, unread] = [await Connection.open(other.api), await Connection.open(other.api)];
  for (const connection of [read, unread]) {
    connection.pause();
    await connection.send(text);
    await connection.allRead();
  }
  other.process.signal("SIGTERM");
  await until("the stop", () => other.process.stderr.includes("stopping"));
  read.resume();
  assert.equal((await read.answer()).status, 200);
  assert.equal((await other.process.finished()).code, 0);
  unread.resume();
  const rest = await unread.rest();
  assert.ok(rest.length < Number(/content-length: (\d+)/i.exec(rest.toString("latin1"))?.[1]));
});
