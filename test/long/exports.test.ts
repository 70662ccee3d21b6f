import assert from "node:assert/strict";
import { once } from "node:events";
import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { get, type IncomingMessage } from "node:http";
import path from "node:path";
import { after, before, test } from "node:test";
import { type AsyncBuffer, parquetMetadataAsync, parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { importFile } from "../../datasets/cms/import.ts";
import { defaultSampleRows, syntheticSnapshot } from "../../datasets/sample/synthetic.ts";
import { encodeSnapshot, partsOf, type Snapshot } from "../../engine/index.ts";
import { parseFooter } from "../../engine/snapshot/footer.ts";
import { fullCsv, more, optionsFor, otherRow, row } from "../support/cms-files.ts";
import { exportedRow, readers, sourceRows } from "../support/export-readers.ts";
import { expectedRows, type ExportedRow as Row } from "../support/exported-rows.ts";
import { asVersion, randomSnapshot, rowsOf } from "../support/fixtures.ts";
import { memoryBytes } from "../support/memory.ts";
import {
  type Answer,
  Connection,
  call,
  rawRequest,
  requestText,
  settled,
  startServer,
  type TestServer,
  temporaryFolder,
  until,
} from "../support/server.ts";

/** Whole files: what is in them, and how they are sent. */

/** Of the table that slow readers are sent. */
const exportRows = Number(process.env.EXPORT_ROWS || defaultSampleRows);
assert.ok(Number.isInteger(exportRows) && exportRows > 0, `EXPORT_ROWS is ${process.env.EXPORT_ROWS}`);

const _folder = temporaryFolder();

const tables = [
  syntheticSnapshot({ dataYear: 2030, revision: 1, rows: 40_000, seed: 1 }),
  ...Array.from({ length: 9 }, (_, i) => {
    return asVersion(randomSnapshot(i + 1), 2020 + i, 1);
  }),
];
const [largest] = tables;

const excerpt = path.resolve(import.meta.dirname, "../../../shared/data/prov_svc_dy23_subset.csv");
/** Rows as the publisher's files may have them. */
const oddRows = [
  `${row},${more}`,
  `${otherRow},10001,1,"Core, ""first""",,,,,`,
  '010002,"Señor ""Médico"", Inc.",,Ünter,AL,5072,Level 2 Excision,,1854.35,,,,,11,,,',
  "020001,Zero Hospital,9 Ice St,Nome,AK,5073,Level 3 Excision,0,0,99762,10,Rural,11,12,0,0,0",
  "020001,Zero Hospital,9 Ice St,Nome,AK,5072,Level 2 Excision,1234567.895,0.01,99762,10,Rural,2000000,3,1.1,,",
];
const comparable = (row: Row) => JSON.stringify(row, Object.keys(row).sort());

const formats = ["csv", "arrow", "parquet"] as const;
const nameOf = ({ provenance }: Snapshot) => `${provenance.dataYear}.${provenance.revision}`;

let server: TestServer;
const datasetsDir = temporaryFolder();
/** The largest one is synthetic. */
const env = { INCLUDE_SAMPLE: "true" };
before(async () => {
  for (const table of tables)
    writeFileSync(path.join(datasetsDir, `${nameOf(table)}.parquet`), encodeSnapshot(table));
  server = await startServer({ datasetsDir, env });
});
after(() => server.stop());

const download = async (target: string) => {
  const answer = await call(server, `GET /api/v1${target}`);
  assert.equal(answer.status, 200, target);
  assert.equal(Number(answer.header("Content-Length")), answer.body.length);
  return answer.body;
};

for (const [reader, { format, read }] of Object.entries(readers)) {
  if (format === "parquet") continue;

  test(`${reader} reads the rows of every table, of both schemas`, async () => {
    for (const table of tables) {
      const rows = await read(await download(`/versions/${nameOf(table)}/export.${format}`));
      assert.deepEqual(rows, expectedRows(table), nameOf(table));
    }
  });

  test(`procedure and state leave the rows that they name, as ${reader} reads them`, async () => {
    for (const table of tables) {
      const all = expectedRows(table);
      const base = `/versions/${nameOf(table)}/export.${format}`;
      for (const { code, state } of [all[0], all[all.length >> 1]]) {
        const [ofProcedure, inState] = [`procedure=${code}`, `state=${String(state).toLowerCase()}`];
        const assertRows = async (query: string, of: (row: Row) => boolean) =>
          assert.deepEqual(await read(await download(`${base}?${query}`)), all.filter(of), query);
        await assertRows(ofProcedure, (row) => row.code === code);
        await assertRows(inState, (row) => row.state === state);
        await assertRows(`${ofProcedure}&${inState}`, (row) => row.code === code && row.state === state);
      }
    }
  });
}

test("an export without rows, of an unknown version or with a bad parameter is refused", async () => {
  for (const [target, status] of [
    ["/export.csv?procedure=9999x", 404],
    ["/export.csv?state=GU", 404],
    ["/versions/1999/export.csv", 404],
    ["/export.csv?state=XX", 400],
    ["/export.csv?limit=1", 400],
    ["/export.arrow?procedure=9999", 404],
    ["/export.arrow?limit=1", 400],
    ["/export.parquet?state=CA", 400],
    ["/export.csv?procedure=", 400],
  ] as const)
    assert.equal((await call(server, `GET /api/v1${target}`)).status, status, target);
  assert.equal((await call(server, "POST /api/v1/export.csv")).status, 405);
  assert.equal((await call(server, "GET /api/v1/export.csv", { Authorization: undefined })).status, 401);
});

test("a part of a data version is named by its procedure and state", async () => {
  for (const [query, part] of [
    ["procedure=5072", "-5072"],
    ["state=ca", "-CA"],
    ["procedure=5072&state=CA", "-5072-CA"],
  ])
    for (const ending of ["csv", "arrow"]) {
      const filtered = await call(server, `HEAD /api/v1/export.${ending}?${query}`);
      assert.equal(
        filtered.header("Content-Disposition"),
        `attachment; filename="opps-${nameOf(largest)}${part}.${ending}"`,
      );
    }
});

test("an export has a name, a length and an ETag, counts once, and isn't compressed", async () => {
  const first = await call(server, "HEAD /api/v1/export.csv", { "Accept-Encoding": "br" });
  assert.equal(first.header("Content-Disposition"), `attachment; filename="opps-${nameOf(largest)}.csv"`);
  assert.equal(first.header("Content-Type"), "text/csv; charset=utf-8; header=present");
  assert.equal(first.header("Cache-Control"), "private, no-cache");
  const whole = await call(server, "GET /api/v1/export.csv", { "Accept-Encoding": "br" });
  assert.equal(whole.remaining, first.remaining - 1);
  assert.equal(whole.header("ETag"), first.header("ETag"));
  assert.equal(whole.header("Content-Length"), first.header("Content-Length"));
  assert.equal(whole.header("Content-Encoding"), undefined);
  const unchanged = await call(server, "GET /api/v1/export.csv", { "If-None-Match": whole.header("ETag") });
  assert.equal(unchanged.status, 304);
  const other = await call(
    server,
    `GET /api/v1/export.csv?state=${partsOf(largest.table).facilities.state[0]}`,
  );
  assert.notEqual(other.header("ETag"), whole.header("ETag"));
});

test("the Parquet file is the snapshot's own, and every program reads the same rows from it", async () => {
  for (const table of tables) {
    const bytes = await download(`/versions/${nameOf(table)}/export.parquet`);
    assert.ok(bytes.equals(readFileSync(path.join(datasetsDir, `${nameOf(table)}.parquet`))));
    for (const [reader, { format, read }] of Object.entries(readers))
      if (format === "parquet")
        assert.deepEqual(await read(bytes), rowsOf(table), `${nameOf(table)}, ${reader}`);
  }
});

test("a program that reads the footer first asks for no more of the file than it needs", async () => {
  const target = "GET /api/v1/export.parquet";
  const byteLength = Number((await call(server, target.replace("GET", "HEAD"))).header("Content-Length"));
  let fetched = 0;
  const file: AsyncBuffer = {
    byteLength,
    async slice(start, end = byteLength) {
      // Each on a connection of its own: the server closes one that waits while its reader is busy.
      const { body } = await call(server, target, { Range: `bytes=${start}-${end - 1}` });
      fetched += body.length;
      return new Uint8Array(body).buffer;
    },
  };
  // Without a size it takes half a megabyte for the footer.
  const metadata = await parquetMetadataAsync(file, { initialFetchSize: 8 });
  const options = { file, metadata, compressors };
  const rows = rowsOf(largest);
  const names = ["ccn", "services"];
  const chosen = (row: Row) => Object.fromEntries(names.map((name) => [name, row[name]]));
  assert.deepEqual(await parquetReadObjects({ ...options, columns: names }), rows.map(chosen));
  assert.ok(fetched < byteLength / 2, `${fetched} of ${byteLength} bytes`);
  assert.deepEqual(await parquetReadObjects(options), rows);
});

test("every program reads what was imported, row by row", async () => {
  const imports = [fullCsv(...oddRows), ...(existsSync(excerpt) ? [readFileSync(excerpt)] : [])];
  for (const content of imports) {
    const options = optionsFor(content);
    await importFile(options, []);
    const expected = await sourceRows(options.file);
    const other = await startServer({ datasetsDir: options.out });
    for (const [reader, { format, read }] of Object.entries(readers)) {
      const rows = await read((await call(other, `GET /api/v1/export.${format}`)).body);
      const found = format === "parquet" ? rows.map((row) => exportedRow(row, 2023)) : rows;
      assert.deepEqual(found.map(comparable).sort(), expected.map(comparable).sort(), reader);
    }
    assert.equal(await other.stop(), 0);
  }
});

test("a client that reads the footer first finds its way by ranges", async () => {
  const target = "GET /api/v1/export.parquet";
  const file = readFileSync(path.join(datasetsDir, `${nameOf(largest)}.parquet`));
  const size = Number((await call(server, target.replace("GET", "HEAD"))).header("Content-Length"));
  assert.equal(size, file.length);
  const part = async (range: string, [start, end]: [number, number]) => {
    const answer = await call(server, target, { Range: range });
    assert.equal(answer.status, 206, range);
    assert.equal(answer.header("Content-Range"), `bytes ${start}-${end - 1}/${size}`);
    assert.ok(answer.body.equals(file.subarray(start, end)), range);
    return answer.body;
  };
  const tail = await part("bytes=-8", [size - 8, size]);
  const start = size - 8 - tail.readUInt32LE(0);
  const footer = await part(`bytes=${start}-${size - 9}`, [start, size - 8]);
  assert.equal(parseFooter(footer, start).metadata.get("rows"), String(largest.counts.rows));
  await part("bytes=0-0", [0, 1]);
  await part("BYTES=4-", [4, size]);
  await part(`bytes=${size - 1}-${10 * size}`, [size - 1, size]);
  await part(`bytes=-${10 * size}`, [0, size]);
});

test("a range that can't be had is refused, and one that doesn't hold is left out", async () => {
  const target = "GET /api/v1/export.parquet";
  const whole = await call(server, target);
  assert.equal(whole.header("Accept-Ranges"), "bytes");
  for (const range of [`bytes=${whole.body.length}-`, "bytes=-0"]) {
    const answer = await call(server, target, { Range: range });
    assert.equal(answer.status, 416);
    assert.equal(answer.error().type, "range_not_satisfiable");
    assert.equal(answer.header("Content-Range"), `bytes */${whole.body.length}`);
  }
  for (const headers of [
    { Range: "bytes=5-4" },
    { Range: "bytes=-" },
    { Range: "bytes=0-1,4-5" },
    { Range: "lines=0-1" },
    { Range: "bytes=0-1", "If-Range": '"another"' },
    { Range: "bytes=0-1", "If-Range": "Sat, 01 Jan 2000 00:00:00 GMT" },
  ])
    assert.equal((await call(server, target, headers)).status, 200, JSON.stringify(headers));
  const headers = { Range: "bytes=0-1" };
  assert.equal((await call(server, target.replace("GET", "HEAD"), headers)).status, 200);
  assert.equal((await call(server, "GET /api/v1/export.csv?state=CA", headers)).status, 200);
  const still = await call(server, target, { ...headers, "If-Range": whole.header("ETag") });
  assert.equal(still.status, 206);
  const known = await call(server, target, { ...headers, "If-None-Match": whole.header("ETag") });
  assert.equal(known.status, 304);
});

test("an export doesn't need the file any more: it is sent whole after the file is gone", async () => {
  const trial = temporaryFolder();
  const [table] = tables.slice(1, 2);
  const name = nameOf(table);
  const file = path.join(trial, `${name}.parquet`);
  copyFileSync(path.join(datasetsDir, `${name}.parquet`), file);
  const other = await startServer({ datasetsDir: trial });
  const target = `GET /api/v1/versions/${name}/export.parquet`;
  const before = await call(other, target);
  assert.ok(before.body.equals(readFileSync(file)));
  rmSync(file);
  await until("the server to see that the file is gone", () =>
    other.process.stderr.includes("the last data version stays, though its file is gone"),
  );
  const after = await call(other, target);
  assert.ok(after.body.equals(before.body));
  assert.equal(after.header("ETag"), before.header("ETag"));
  assert.equal(await other.stop(), 0);
});

const asking = (target: string, headers = {}) =>
  requestText(`GET /api/v1${target}`, { Authorization: `Bearer ${server.key}`, ...headers });

test("one connection takes one export after the other, and then ends", async () => {
  const connection = await Connection.open(server.api);
  for (const state of ["CA", "TX"]) {
    await connection.send(asking(`/export.csv?state=${state}`));
    assert.equal((await connection.answer()).status, 200);
  }
  await connection.send(asking("/export.csv?state=NY", { Connection: "close" }));
  assert.equal((await connection.answer()).status, 200);
  await connection.rest();
});

test("an export behind answers that nobody reads for a while is right up to the connection's end", async () => {
  const small = "/healthcare/procedures?limit=3";
  const [first, last] = await Promise.all(
    [small, "/export.csv"].map((target) => call(server, `GET /api/v1${target}`)),
  );
  const textOf = ({ head, body }: Answer) => settled(`${head}\r\n\r\n${body.toString("latin1")}`);
  for (const count of [0, 1, 20, 600, 3000]) {
    const connection = await Connection.open(server.api);
    connection.pause();
    const closing = asking("/export.csv", { Connection: "close" });
    await connection.send(asking(small).repeat(count) + closing);
    assert.equal((await call(server, `GET /api/v1${small}`)).status, 200);
    connection.resume();
    const received = settled((await connection.rest()).toString("latin1"));
    const whole = textOf(first).repeat(count) + textOf(last);
    assert.ok(whole.startsWith(received), `of ${count}`);
    if (count <= 20) assert.equal(received.length, whole.length);
  }
});

test("readers that don't read hold up nobody and cost little memory; resets leave nothing behind", async () => {
  const body = await download("/export.csv");
  const before = memoryBytes("VmRSS", server.process.pid);
  const slow = await Promise.all(Array.from({ length: 40 }, () => Connection.open(server.api)));
  for (const connection of slow) {
    connection.pause();
    await connection.send(asking("/export.csv"));
    await connection.allRead();
  }
  assert.deepEqual(await download("/export.csv"), body);
  const grown = memoryBytes("VmRSS", server.process.pid) - before;
  assert.ok(grown < 40 * 2 ** 20, `${grown} bytes for 40 connections`);
  for (const connection of slow.slice(0, 36)) connection.cut();
  for (const connection of slow.slice(36)) {
    connection.resume();
    assert.ok((await connection.answer()).body.equals(body));
    connection.close();
  }
  assert.equal((await call(server, "GET /api/v1/datasets")).status, 200);
});

test(`${exportRows} rows as CSV hold at most 1 MB for each slow reader`, async () => {
  const trial = temporaryFolder();
  const table = syntheticSnapshot({ dataYear: 2031, revision: 1, rows: exportRows, seed: 1 });
  writeFileSync(path.join(trial, `${nameOf(table)}.parquet`), encodeSnapshot(table));
  const other = await startServer({ datasetsDir: trial, env });
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
  // All of them go on, none fast, while what they hold is watched.
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
  test(`a version that is retired meanwhile is sent to its end as ${format}`, async () => {
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

test("a stop waits for an export that is read, and cuts one that isn't", async () => {
  const other = await startServer({ datasetsDir, env });
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
