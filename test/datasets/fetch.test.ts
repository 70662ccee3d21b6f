import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { EventEmitter } from "node:events";
import fs, { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import https from "node:https";
import { syncBuiltinESMExports } from "node:module";
import { connect } from "node:net";
import path from "node:path";
import { Readable } from "node:stream";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { knownOffers, offers, offersIn } from "../../datasets/cms/catalogue.ts";
import { downloadPath, listOf } from "../../datasets/cms/listing.ts";
import { checkEnds } from "../../datasets/cms/release.ts";
import { type Caller, downloadFile, stallMs } from "../../datasets/cms/release-download.ts";
import { download } from "../../datasets/download.ts";
import { type Clock, readText } from "../../datasets/http.ts";
import { proxiesIn } from "../../datasets/proxy.ts";
import { encodeSnapshot, syntheticPublisher } from "../../engine/index.ts";
import { byteProgress, parseOptions } from "../../server/commands/fetch.ts";
import { csv, otherRow, row } from "../support/cms-files.ts";
import { type Result, run } from "../support/commands.ts";
import { dataPath } from "../support/data.ts";
import { snapshotAs, snapshotOf, testProvenance } from "../support/fixtures.ts";
import {
  type Answer,
  catalogue,
  cutConnections,
  ended,
  file,
  Publisher,
  part,
  redirect,
  status,
} from "../support/publisher.ts";
import { listening, Running, temporaryFolder, until } from "../support/server.ts";
import { selfSigned } from "../support/smtp.ts";

/** Tests downloads of releases from a publisher whose server has faults, and the command `fetch`. */

const content = csv(
  row,
  otherRow,
  ...Array.from({ length: 40 }, (_, i) => row.replace("5072", `60${10 + i}`)),
);
const publisher = await Publisher.start();
const elsewhere = await Publisher.start("127.0.0.2");

/** A clock that records pauses instead of waiting. The test decides when a connection stalls. */
class TestClock implements Clock {
  readonly pausesMs: number[] = [];
  ms = 0;
  #isNextOver = false;
  #end = () => {};

  now(): number {
    return this.ms;
  }

  wait(ms: number, signal?: AbortSignal): Promise<void> {
    if (ms !== stallMs) this.pausesMs.push(ms);
    if (ms !== stallMs || this.#isNextOver) {
      this.#isNextOver = false;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      this.#end = resolve;
      signal?.addEventListener("abort", () => resolve());
    });
  }

  /** Two intervals pass: the interval in which the last byte arrived, and an interval without a byte. */
  stall(): void {
    this.#isNextOver = true;
    this.#end();
  }
}

class Trial implements Caller {
  readonly clock = new TestClock();
  readonly folder = temporaryFolder();
  readonly path = path.join(this.folder, "release.csv");
  readonly said: string[] = [];
  readonly progress: [number, number | undefined][] = [];
  onBytes = cutConnections;

  readonly say = (line: string) => void this.said.push(line);

  download(url: string, environment: NodeJS.ProcessEnv = {}): Promise<void> {
    return downloadFile(url, this.path, {
      clock: this.clock,
      say: this.say,
      proxyFor: proxiesIn(environment),
      onProgress: (bytes, totalBytes) => {
        this.progress.push([bytes, totalBytes]);
        if (bytes > 0) this.onBytes();
      },
      check: (file) => checkEnds(file, url, false),
    });
  }

  get files(): string[] {
    return readdirSync(this.folder).sort();
  }

  get text(): string {
    return readFileSync(this.path, "utf8");
  }
}

let paths = 0;
function serve(...answers: Answer[]): string {
  return publisher.answers(`/files/${++paths}.csv`, ...answers);
}

function asksFor(url: string): number {
  return publisher.asked.filter((asked) => publisher.origin + asked === url).length;
}

test("a download is saved complete under its final name, and progress ends at its size", async () => {
  const trial = new Trial();
  await trial.download(serve(file(content)));
  assert.equal(trial.text, content);
  assert.deepEqual(trial.files, ["release.csv"]);
  assert.deepEqual(trial.progress.at(-1), [content.length, content.length]);
  assert.deepEqual(trial.said, []);
});

test("an interrupted download is restarted after growing pauses", async () => {
  const trial = new Trial();
  const changed = csv(otherRow, row);
  const url = serve(part(content, 100), ended(content, 200), file(changed));
  await trial.download(url);
  assert.equal(trial.text, changed);
  assert.deepEqual(trial.files, ["release.csv"]);
  assert.deepEqual(trial.clock.pausesMs, [1000, 2000]);
  assert.match(trial.said[0], /\.csv: a broken connection \(.+\); retrying in 1 s$/);
});

test("a connection that ends early with much data unread restarts the download", async () => {
  const long = csv(row, ...Array.from({ length: 20_000 }, (_, i) => row.replace("5072", `${1000 + i}`)));
  const trial = new Trial();
  trial.onBytes = () => {};
  await trial.download(serve(ended(long, 500_000), file(long)));
  assert.equal(trial.text, long);
  assert.deepEqual(trial.clock.pausesMs, [1000]);
});

test("a stalled download is aborted and restarted", async () => {
  const trial = new Trial();
  const url = serve(part(content, 100), file(content));
  trial.onBytes = () => {
    trial.onBytes = () => {};
    trial.clock.stall();
  };
  await trial.download(url);
  assert.equal(trial.text, content);
  assert.deepEqual(trial.said, [`${url}: only 0 bytes in 30 s; retrying in 1 s`]);
});

test("a download is given up after six failures and leaves no file", async () => {
  const trial = new Trial();
  const url = serve(part(content, 100), status(500));
  await assert.rejects(trial.download(url), {
    message: `${url}: found status 500 Internal Server Error, 6 times in a row, expected a complete answer`,
  });
  assert.deepEqual(trial.clock.pausesMs, [1000, 2000, 4000, 8000, 16_000]);
  assert.deepEqual(trial.files, []);
});

test("a download deletes partial files of ended processes and no others", async () => {
  const trial = new Trial();
  const ended = spawnSync("true").pid;
  for (const name of [`a.${ended}.part`, `release.csv.${process.pid}.part`, "a.1.part", "a.part"])
    writeFileSync(path.join(trial.folder, name), "something");
  await trial.download(serve(file(content)));
  assert.equal(trial.text, content);
  assert.deepEqual(trial.files, ["a.1.part", "a.part", "release.csv"]);
});

test("a download with a wrong, empty or too large Content-Length is rejected", async () => {
  const short = new Trial();
  // Bytes after the announced length aren't read, so the last line is cut off.
  const shortUrl = serve(file(content, { "content-length": "300" }));
  await assert.rejects(short.download(shortUrl), {
    message:
      `${shortUrl}: found a last line without a line end, so the file may be cut off, even within an amount, ` +
      "expected a complete file: get it again, or add --allow-unterminated if you know that nothing is missing",
  });
  assert.deepEqual(short.files, []);

  const long = new Trial();
  const longUrl = serve((_, response) => {
    response.writeHead(200, { "content-length": String(content.length + 9) });
    response.write(content, () => response.destroy());
  });
  await assert.rejects(long.download(longUrl), {
    message: /6 times in a row, expected a complete answer$/,
  });
  assert.equal(asksFor(longUrl), 6);

  for (const [length, found] of [
    ["99999999999", "99999999999 bytes, expected at most 1073741824"],
    ["0", "an empty file, expected a file with content"],
  ]) {
    const trial = new Trial();
    const url = serve((_, response) => void response.writeHead(200, { "content-length": length }).end());
    await assert.rejects(trial.download(url), { message: `${url}: found ${found}` });
    assert.deepEqual(trial.files, []);
  }
});

test("a download that is no release is rejected by type, first bytes or header and deleted", async () => {
  const html = "<!doctype html><title>Moved</title>\n";
  for (const [body, type, found] of [
    [html, "text/html; charset=utf-8", "a file of type text/html; charset=utf-8, expected text/csv"],
    [html, "text/csv", "an HTML page, expected a CSV file, as it was published"],
    [
      Buffer.from("504b03040000", "hex"),
      "text/csv",
      "a zip archive, expected a CSV file, as it was published",
    ],
    [content, "application/zip", "a file of type application/zip, expected text/csv"],
    ["a,b\n1,2\n", "application/octet-stream", /line 1: found .*, expected /],
    ["Provider Id,Average Total Payments\n1,2\n", "text/csv", /line 1: .*2011/],
    [
      'Rndrng_Prvdr_CCN,"APC_Cd\n1,2\n',
      "text/csv",
      /line 1, .*: found a quote that is never closed, expected/,
    ],
  ] as const) {
    const trial = new Trial();
    const url = serve(file(body, { "content-type": type }));
    await assert.rejects(trial.download(url), (error: Error) => {
      if (typeof found === "string") assert.equal(error.message, `${url}: found ${found}`);
      else assert.match(error.message, found);
      return true;
    });
    assert.deepEqual(trial.files, []);
    assert.equal(asksFor(url), 1);
  }
});

test("a retry waits as long as Retry-After says, and more than 300 s is an error", async () => {
  const trial = new Trial();
  const date = "Mon, 01 Jun 2026 00:00:00 GMT";
  await trial.download(
    serve(
      status(429, { "retry-after": "7" }),
      status(503, { date, "retry-after": "Mon, 01 Jun 2026 00:00:09 GMT" }),
      status(500),
      status(502, { "retry-after": "soon" }),
      file(content),
    ),
  );
  assert.deepEqual(trial.clock.pausesMs, [7000, 9000, 4000, 8000]);
  const url = serve(status(429, { "retry-after": "3600" }));
  await assert.rejects(new Trial().download(url), {
    message: `${url}: found status 429 Too Many Requests with Retry-After: 3600 s, expected an answer within 300 s`,
  });
});

test("permanent errors such as 404 aren't retried", async () => {
  for (const [code, text] of [
    [404, "Not Found"],
    [403, "Forbidden"],
    [206, "Partial Content"],
  ] as const) {
    const url = serve(status(code));
    await assert.rejects(new Trial().download(url), {
      message: `${url}: found status ${code} ${text}, expected a file`,
    });
    assert.equal(asksFor(url), 1);
  }
});

test("redirects to other hosts are followed, and loops, long chains and invalid targets are rejected", async () => {
  const trial = new Trial();
  const there = elsewhere.answers("/moved.csv", part(content, 50), file(content));
  await trial.download(serve(redirect(there)));
  assert.equal(trial.text, content);

  const circle = publisher.answers("/circle", redirect("/back"));
  publisher.answers("/back", redirect("/circle"));
  await assert.rejects(new Trial().download(circle), {
    message: `${circle}: found a redirect loop, expected a file`,
  });
  for (let i = 0; i < 9; i++) publisher.answers(`/endless/${i}`, redirect(`/endless/${i + 1}`));
  const endless = `${publisher.origin}/endless/0`;
  await assert.rejects(new Trial().download(endless), {
    message: `${endless}: found more than 5 redirects, expected a file`,
  });
  const nowhere = serve(status(302));
  await assert.rejects(new Trial().download(nowhere), {
    message: `${nowhere}: found a redirect (302) without an address, expected a file`,
  });
  const secret = serve(redirect("http://joe:geheim@127.0.0.1/a.csv"));
  await assert.rejects(new Trial().download(secret), {
    message: `${secret}: found a redirect (302) to "http://…@127.0.0.1/a.csv", expected an address without a password`,
  });
  for (const location of ["ftp://example.org/a.csv", "file:///etc/passwd", "http://"]) {
    const url = serve(redirect(location));
    await assert.rejects(new Trial().download(url), {
      message: `${url}: found a redirect (302) whose target isn't a web address, expected a file`,
    });
  }
});

/** The tests of redirects need no certificate, so there is no TLS. */
class OpenAgent extends https.Agent {
  override createConnection({ host, port }: https.RequestOptions) {
    return connect(Number(port), host ?? undefined);
  }
}

test("redirects from https to http are rejected, and all others between the two are followed", async (t) => {
  t.mock.property(https, "globalAgent", new OpenAgent());
  const secure = (address: string) => address.replace(/^http:/, "https:");
  const plain = serve(file(content));
  const relative = secure(serve(redirect(new URL(plain).pathname)));
  for (const url of [secure(plain), relative, serve(redirect(secure(plain))), serve(redirect(relative))]) {
    const trial = new Trial();
    await trial.download(url);
    assert.equal(trial.text, content, url);
  }
  const asked = asksFor(plain);
  const down = secure(serve(redirect(plain)));
  for (const url of [down, secure(serve(redirect(down))), serve(redirect(down))]) {
    const trial = new Trial();
    await assert.rejects(trial.download(url), {
      name: "DataError",
      message: `${url}: found a redirect to "${plain}" without encryption, expected https`,
    });
    assert.deepEqual(trial.files, [], url);
  }
  assert.equal(asksFor(plain), asked, "it isn't asked for");
});

test("a self-signed certificate is rejected without a retry, and the error names NODE_EXTRA_CA_CERTS", async () => {
  const server = https.createServer(selfSigned, (_, response) => response.end(content));
  const url = `https://127.0.0.1:${await listening(server)}/a.csv`;
  after(() => server.close());
  const trial = new Trial();
  await assert.rejects(trial.download(url), {
    name: "DataError",
    message:
      `${url}: found a certificate that can't be trusted (self-signed certificate), expected a valid one; if a proxy decrypts ` +
      "TLS connections, or the server has a certificate authority of its own, NODE_EXTRA_CA_CERTS names the file with " +
      "that authority's certificate (PEM)",
  });
  assert.deepEqual(trial.clock.pausesMs, []);
});

test("a failed connection is named with its reason, and is retried unless its certificate is wrong", async (t) => {
  const url = "https://a.test/x.csv";
  const often = ", 6 times in a row, expected a complete answer";
  const own =
    "; if a proxy decrypts TLS connections, or the server has a certificate authority of its own, NODE_EXTRA_CA_CERTS names " +
    "the file with that authority's certificate (PEM)";
  const untrusted = (reason: string, advice: string) =>
    `a certificate that can't be trusted (${reason}), expected a valid one${advice}`;
  for (const [code, said, message] of [
    ["ECONNRESET", "socket hang up", `no connection (socket hang up)${often}`],
    ["ECONNREFUSED", "", `no connection (ECONNREFUSED)${often}`],
    ["EPROTO", " a\n  b ", `no connection (a b)${often}`],
    [
      "EPROTO",
      "SSL:wrong VERSION number",
      "an answer without TLS, expected an https server; write http:// if it speaks plain http",
    ],
    [
      "EPROTO",
      "packet length too long",
      "an answer without TLS, expected an https server; write http:// if it speaks plain http",
    ],
    ["CERT_HAS_EXPIRED", "expired", untrusted("expired", "")],
    ["CERT_NOT_YET_VALID", "early", untrusted("early", "")],
    ["ERR_TLS_CERT_ALTNAME_INVALID", "another", untrusted("another", "")],
    ["HOSTNAME_MISMATCH", "another", untrusted("another", "")],
    ["SELF_SIGNED_CERT_IN_CHAIN", "own", untrusted("own", own)],
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "own", untrusted("own", own)],
    ["UNABLE_TO_GET_ISSUER", "own", untrusted("own", own)],
    ["INVALID_CA", "own", untrusted("own", own)],
    ["CA_MD_TOO_WEAK", "weak", untrusted("weak", own)],
    ["EE_KEY_TOO_SMALL", "small", untrusted("small", own)],
  ]) {
    const request = () => {
      const asked = Object.assign(new EventEmitter(), {
        end: () => asked.emit("error", Object.assign(new Error(said), { code })),
      });
      return asked;
    };
    t.mock.method(https, "request", request as unknown as typeof https.request);
    const trial = new Trial();
    await assert.rejects(trial.download(url), { name: "DataError", message: `${url}: found ${message}` });
    assert.deepEqual(trial.clock.pausesMs.length, message.endsWith(often) ? 5 : 0, code);
    t.mock.restoreAll();
  }
});

test("a catalogue or a file of unknown size may have as many bytes as its limit, and one more is refused", async () => {
  const url = "http://a.test/x";
  const read = (bytes: number) => {
    const response = Readable.from([Buffer.from("é"), Buffer.alloc(bytes - 2, "a")]) as IncomingMessage;
    return readText(url, response, 5, { signal: new AbortController().signal, arrived: () => {} });
  };
  assert.equal(await read(5), "éaaa");
  await assert.rejects(read(6), { message: `${url}: found more, expected at most 5 bytes` });

  const unsized: Answer = (_, response) =>
    void response.writeHead(200, { "content-type": "text/csv" }).end(content);
  for (const maxBytes of [content.length, content.length - 1]) {
    const trial = new Trial();
    const { clock, say } = trial;
    const patience = { clock, say, maxTries: 1, stallMs, leastBytes: 1 };
    const from = serve(unsized);
    const done = download(from, trial.path, { ...patience, maxBytes, check: async () => {} });
    if (maxBytes === content.length) await done;
    else
      await assert.rejects(done, {
        message: `${from}: found more than ${maxBytes} bytes, expected a file of that size at most`,
      });
    assert.deepEqual(trial.files, maxBytes === content.length ? ["release.csv"] : []);
  }
});

test("a full disk or an unwritable folder gives one error and leaves no file", async () => {
  const trial = new Trial();
  const partOf = (whole: string) => `${whole}.${process.pid}.part`;
  const full: Answer = (request, response) => {
    symlinkSync("/dev/full", partOf(trial.path));
    file(content)(request, response);
  };
  const expected =
    "expected a disk that can be written to, with room for the file; --out names another folder";
  await assert.rejects(trial.download(serve(full)), {
    message: `${partOf(trial.path)}: found no room for more (ENOSPC), ${expected}`,
  });
  assert.deepEqual(trial.files, []);

  const inFile = path.join(trial.folder, "file");
  writeFileSync(inFile, "");
  const release = path.join(inFile, "downloads", "a.csv");
  const downloading = { ...trial, onProgress: () => {}, check: async () => {} };
  await assert.rejects(downloadFile(serve(file(content)), release, downloading), {
    message: `${partOf(release)}: found a refusal (ENOTDIR), ${expected}`,
  });
  await assert.rejects(listOf([], inFile, assert.fail), {
    message: `--out ${inFile}: found a folder that can't be read (ENOTDIR), expected a folder that can be read`,
  });
});

test("too little disk space is reported before anything is written", async (t) => {
  const { bsize } = fs.statfsSync(".");
  t.mock.method(fs, "statfsSync", () => ({ bavail: 1, bsize }));
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.reset();
    syncBuiltinESMExports();
  });
  const trial = new Trial();
  const needed = content.length + 2 ** 24;
  await assert.rejects(trial.download(serve(file(content))), {
    message: `${trial.folder}: found no room (${bsize} bytes free), expected at least ${needed} bytes; --out names another folder`,
  });
  assert.deepEqual(trial.files, []);
});

test("a download without a Content-Length is reported as of unknown size", async () => {
  const trial = new Trial();
  const url = serve(
    (_, response) => void response.writeHead(200, { "content-type": "text/csv" }).end(content),
  );
  await trial.download(url);
  assert.equal(trial.text, content);
  assert.deepEqual(trial.said, [`${url}: size unknown, at most 1073741824 bytes are taken`]);
});

test("a response with a content coding or with status 101 is rejected", async () => {
  for (const [answer, found] of [
    [
      file(content, { "content-encoding": "gzip" }),
      "content coding gzip, expected the file without a content coding",
    ],
    [status(101, { upgrade: "x", connection: "upgrade" }), "status 101 Switching Protocols, expected a file"],
  ] as const) {
    const url = serve(answer);
    await assert.rejects(new Trial().download(url), { message: `${url}: found ${found}` });
  }
});

test("a partial file that another process changed isn't renamed to its final name", async () => {
  const trial = new Trial();
  const partPath = `${trial.path}.${process.pid}.part`;
  trial.onBytes = () => writeFileSync(partPath, content + row);
  await assert.rejects(trial.download(serve(file(content))), {
    message: `${partPath}: found ${content.length + row.length} bytes, expected the ${content.length} that were downloaded`,
  });
  assert.deepEqual(trial.files, []);
});

test("a download has its address's file name in plain letters, cut to 100, and eight digits of the address's hash", () => {
  for (const [address, name] of [
    ["https://a.example/b/DY23_Prov-Svc.v1.csv", "DY23_Prov-Svc.v1"],
    ["https://a.example/a%20b(1)é.CSV?x=1.csv#y", "a_20b_1__C3_A9"],
    ["https://a.example/x.csv.zip", "x.csv.zip"],
    [`https://a.example/${"x".repeat(101)}.csv`, "x".repeat(100)],
  ]) {
    const digest = createHash("sha256").update(address).digest("hex").slice(0, 8);
    assert.equal(downloadPath("out", address), path.join("out", "downloads", `${name}.${digest}.csv`));
  }
});

test("the catalogue's newest file of each year is found, by title and year", () => {
  const base = "https://data.example/files";
  const releases = [
    { url: `${base}/2026-06/MUP_OUT_RY26_P04_V10_DY24_Prov_Svc.csv`, temporal: "2024-01-01/2024-12-31" },
    {
      url: `${base}/2025-08/a/MUP_OUT_RY25_P04_V10_DY23_Prov_Svc.csv`,
      temporal: "2023-01-01/2023-12-31",
      modified: "2025-08-01",
    },
    {
      url: `${base}/2025-11/b/MUP_OUT_RY25_P04_V11_DY23_Prov_Svc.CSV`,
      temporal: "2023-01-01/2023-12-31",
      modified: "2025-11-01",
    },
    { url: `${base}/plain.csv`, temporal: "2022-01-01/2022-12-31" },
    { url: `${base}/MUP_OUT_RY17_P04_V10_DY15_Prov_Svc.csv`, temporal: "2015-01-01/2015-12-31" },
    { url: `${base}/MUP_OUT_DY21_Prov_Svc.zip`, temporal: "2021-01-01/2021-12-31" },
    { url: "ftp://data.example/DY20.csv", temporal: "2020-01-01/2020-12-31" },
    { url: "https://joe:geheim@data.example/DY19.csv", temporal: "2019-01-01/2019-12-31" },
  ];
  const totals = [
    { url: `${base}/2025-06/MUP_OUT_RY25_P04_V10_DY23_Geo.csv`, modified: "2025-06-01" },
    { url: `${base}/2025-08/MUP_OUT_RY25_P04_V10_DY23_Geo.csv`, modified: "2025-08-01" },
    { url: `${base}/totals.csv`, temporal: "2022-01-01/2022-12-31" },
    { url: `${base}/MUP_OUT_RY21_P04_V10_DY19_Geo.csv` },
  ];
  assert.deepEqual(offersIn(catalogue(releases, totals), "catalogue"), [
    {
      ...{ year: 2024, url: `${base}/2026-06/MUP_OUT_RY26_P04_V10_DY24_Prov_Svc.csv` },
      ...{ released: "2026-06", totalsUrl: null },
    },
    {
      ...{ year: 2023, url: `${base}/2025-11/b/MUP_OUT_RY25_P04_V11_DY23_Prov_Svc.CSV` },
      ...{ released: "2025-11", totalsUrl: `${base}/2025-08/MUP_OUT_RY25_P04_V10_DY23_Geo.csv` },
    },
    { year: 2022, url: `${base}/plain.csv`, released: null, totalsUrl: `${base}/totals.csv` },
  ]);
});

test("a catalogue with moved or renamed fields is read, and one without files is rejected", () => {
  const url = "https://data.example/DY19.csv";
  const title = "Medicare outpatient hospitals, by provider & service".replace("&", "and");
  for (const moved of [
    [{ title, downloadURL: url }],
    {
      "dcat:dataset": [
        { "dct:title": { "@value": title }, "dcat:distribution": { "dcat:downloadURL": { "@id": url } } },
      ],
    },
    { results: { datasets: [{ Title: title, resources: [{ download_url: url, name: "2019" }] }] } },
    { dataset: [{ title, distribution: [{ accessURL: url }] }] },
  ])
    assert.deepEqual(offersIn(JSON.stringify(moved), "catalogue"), [
      { year: 2019, url, released: null, totalsUrl: null },
    ]);
  for (const none of [
    "{}",
    "[]",
    "null",
    '"x"',
    '{"dataset":[null,1,{"title":7}]}',
    "[".repeat(900) + "]".repeat(900),
  ])
    assert.throws(() => offersIn(none, "catalogue"), {
      message: /^catalogue: found no file of the data set, /,
    });
  assert.throws(() => offersIn("<html>", "catalogue"), {
    message: "catalogue: found no JSON, expected a catalogue in JSON",
  });
});

test("offers come from the catalogue, or from built-in addresses if it fails", async () => {
  const trial = new Trial();
  const newer = "https://data.example/2025-11/DY23.csv";
  const url = publisher.answers(
    "/data.json",
    file(catalogue([{ url: newer }]), { "content-type": "application/json" }),
  );
  const offered = await offers(url, trial);
  assert.deepEqual(offered, [{ year: 2023, url: newer, released: "2025-11", totalsUrl: null }]);
  assert.deepEqual(trial.said, []);
  for (const [answer, found] of [
    [status(503), /^\S+: found status 503 Service Unavailable, 2 times in a row/],
    [status(404), /^\S+: found status 404/],
    [file("{}"), /^\S+: found no file of the data set/],
    [file("<html>"), /^\S+: found no JSON/],
  ] as const) {
    const silent = new Trial();
    assert.deepEqual(await offers(publisher.answers("/data.json", answer), silent), knownOffers);
    assert.match(silent.said.at(-1) ?? "", found);
    assert.match(silent.said.at(-1) ?? "", /; the known addresses serve instead of the catalogue$/);
  }
});

test("progress lines show rate and time left, with at most one line per tenth", () => {
  const clock = new TestClock();
  const told: string[] = [];
  const update = byteProgress(clock, (line) => told.push(line));
  for (const megabytes of [0, 1, 2, 5]) {
    clock.ms = megabytes * 500;
    update(megabytes * 1e6, 20e6);
  }
  assert.deepEqual(told, [
    "2.0 of 20.0 MB, 10 %, 2.0 MB/s, 9 s left",
    "5.0 of 20.0 MB, 25 %, 2.0 MB/s, 8 s left",
  ]);
});

test("an invalid command line is rejected with its mistake", () => {
  for (const [args, message] of [
    [[], "fetch needs one of --year, --all and --list"],
    [["--year", "2024", "--all"], "fetch needs one of --year, --all and --list, not --year and --all"],
    [["--year", "24"], '--year is "24", expected a year as YYYY'],
    [["--all", "--url", "http://a/"], "--url goes with --year, not with --all"],
    [["--all", "--json"], "--json goes with --list, not with --all"],
    [
      ["--year", "2024", "--url", "file:///a"],
      '--url is "file:///a", expected an http or https URL, without a password',
    ],
    [
      ["--year", "2024", "--url", "https://joe:geheim@a/DY24.csv"],
      '--url is "https://…@a/DY24.csv", expected an http or https URL, without a password',
    ],
    [["--list", "--catalogue", "x"], '--catalogue is "x", expected an http or https URL, without a password'],
    [["--list", "--out", ""], "--out needs a folder"],
  ] as const)
    assert.throws(() => parseOptions([...args], {}), { message });
  assert.equal(parseOptions(["--list"], { DATASETS_DIR: "there" }).out, "there");
});

/** The folder of the snapshots is also the state's folder. */
const command = async (args: string[], out: string): Promise<Result> =>
  (await run(out, [["fetch", ...args, "--out", out].join(" ")]))[0];

test("fetch downloads and imports a year only once, and --list shows it", async () => {
  const out = temporaryFolder();
  const name = "MUP_OUT_RY25_P04_V10_DY23_Prov_Svc.csv";
  const url = publisher.answers(`/2025-08/${name}`, file(content));
  const all = publisher.answers("/all.json", file(catalogue([{ url }])));
  const args = ["--year", "2023", "--catalogue", all];
  const first = await command(args, out);
  const snapshot = path.join(out, "2023.1.parquet");
  const kept = downloadPath(out, url);
  assert.deepEqual([first.code, first.stdout], [0, `${snapshot}\n`], first.stderr);
  const lines = first.stderr.split("\n");
  assert.deepEqual(
    [lines[0], lines.at(-4)?.split(":")[0]],
    [`downloading ${url}`, "columns that are not in the file, so unknown for every row"],
  );
  assert.ok(lines.includes(`downloaded ${kept}`), first.stderr);
  assert.equal(readFileSync(kept, "utf8"), content);

  const second = await command(args, out);
  assert.deepEqual([second.code, second.stdout], [0, `${snapshot}\n`]);
  assert.match(
    second.stderr,
    /^downloaded before: .*\n[\s\S]*nothing written: 2023\.1 has these rows already/,
  );
  assert.equal(asksFor(url), 1);

  const sample = snapshotAs("2020.1", [["010001", "AL", "5072", 2, 1]], { publisher: syntheticPublisher });
  writeFileSync(path.join(out, "2020.1.parquet"), encodeSnapshot(sample));
  // Invented hospitals tell it, whoever publishes them.
  const invented = snapshotAs("2019.1", [["990001", "AL", "5072", 2, 1]], { publisher: "CMS" });
  writeFileSync(path.join(out, "2019.1.parquet"), encodeSnapshot(invented));
  const list = await command(["--list", "--catalogue", all], out);
  const rows = list.stdout.split("\n").map((line) => line.split("\t"));
  assert.deepEqual(rows[0], ["year", "released", "versions", "downloaded", "url"]);
  assert.deepEqual(rows[1], ["2023", "2025-08", "2023.1", "yes", url]);
  assert.deepEqual(
    rows.find(([year]) => year === "2020"),
    ["2020", "-", "2020.1 (synthetic)", "no", "-"],
  );
  assert.equal(rows.find(([year]) => year === "2019")?.[2], "2019.1 (synthetic)");

  const missing = await command(["--year", "2017", "--catalogue", all], out);
  assert.deepEqual(
    [missing.code, missing.stdout, missing.stderr],
    [1, "", "--year: found 2017, expected one that is offered (2023), or --url with an address\n"],
  );
});

test("fetch compares a release with CMS's totals of its year, which it downloads once", async () => {
  const out = temporaryFolder();
  const release = publisher.answers(
    "/compared/DY23_Prov_Svc.csv",
    file(readFileSync(dataPath("prov_svc_dy23_subset.csv"))),
  );
  const totals = publisher.answers(
    "/compared/DY23_Geo.csv",
    file(readFileSync(dataPath("geo_apc_dy23.csv"))),
  );
  const all = publisher.answers("/all.json", file(catalogue([{ url: release }], [{ url: totals }])));
  for (const done of ["downloaded", "downloaded before:"]) {
    const { code, stderr } = await command(["--year", "2023", "--catalogue", all, "--force"], out);
    assert.equal(code, 0, stderr);
    assert.ok(stderr.includes(`${done} ${downloadPath(out, totals)}\n`), stderr);
    assert.match(stderr, /\n3165 of 3165 totals of CMS by nation and state agree\n/);
  }
  assert.equal(asksFor(totals), 1);
});

test("without totals that can be read, fetch imports the release and says why it isn't compared", async () => {
  const url = publisher.answers("/alone/DY23.csv", file(content));
  for (const [answer, message] of [
    [undefined, /^no address of totals is known, so the release isn't compared with CMS's totals$/m],
    [status(404), /: found status 404 Not Found, expected a file; the release isn't compared/],
    [
      file(content),
      /: found a header without all of its columns, expected CMS's CSV file by .*; the release isn't compared/,
    ],
  ] as const) {
    const out = temporaryFolder();
    const totals = answer === undefined ? [] : [{ url: publisher.answers("/alone/DY23_Geo.csv", answer) }];
    const all = publisher.answers("/all.json", file(catalogue([{ url }], totals)));
    const { code, stdout, stderr } = await command(["--year", "2023", "--catalogue", all], out);
    assert.deepEqual([code, stdout], [0, `${path.join(out, "2023.1.parquet")}\n`], stderr);
    assert.match(stderr, message);
    assert.equal(readdirSync(path.join(out, "downloads")).length, 1);
  }
});

test("a release that its totals refuse leads to the totals' file", async () => {
  const out = temporaryFolder();
  const release = serve(file(readFileSync(dataPath("prov_svc_dy23_subset.csv"))));
  const few = readFileSync(dataPath("geo_apc_dy23.csv"), "utf8").replace(",316770,334117,", ",1,1,");
  const totals = serve(file(few));
  const files = [release, totals].map((url) => ({ url, temporal: "2023-01-01/2023-12-31" }));
  const all = publisher.answers("/all.json", file(catalogue([files[0]], [files[1]])));
  const { code, stdout, stderr } = await command(["--year", "2023", "--catalogue", all], out);
  assert.deepEqual([code, stdout], [1, ""]);
  assert.ok(
    stderr.endsWith(
      `; delete ${downloadPath(out, totals)} to download it again, or import ${downloadPath(out, release)} without --totals\n`,
    ),
    stderr,
  );
});

test("fetch passes on what the import may accept, and whether it has to write", async () => {
  const out = temporaryFolder();
  const args = ["--year", "2023", "--url", serve(file(content.trimEnd()))];
  const refused = await command(args, out);
  assert.deepEqual([refused.code, refused.stdout], [1, ""]);
  assert.match(refused.stderr, /add --allow-unterminated if you know that nothing is missing/);
  for (const [i, options] of [["--allow-unterminated"], ["--allow-unterminated", "--force"]].entries()) {
    const { code, stdout, stderr } = await command([...args, ...options], out);
    assert.deepEqual([code, stdout], [0, `${path.join(out, `2023.${i + 1}.parquet`)}\n`], stderr);
  }
});

test("a snapshot whose file name differs from its version isn't listed", async () => {
  const out = temporaryFolder();
  const told: string[] = [];
  const bytes = encodeSnapshot(snapshotOf([["010001", "AL", "5072", 2, 1]], testProvenance));
  const version = `${testProvenance.dataYear}.${testProvenance.revision}`;
  for (const name of [version, "2019.7"]) writeFileSync(path.join(out, `${name}.parquet`), bytes);
  assert.deepEqual(
    (await listOf([], out, (line) => told.push(line))).flatMap(({ versions }) =>
      versions.map((each) => each.version),
    ),
    [version],
  );
  const wrong = path.join(out, "2019.7.parquet");
  assert.deepEqual(told, [
    `not counted: ${wrong}: metadata data_year: found 2024, expected 2019, as in the file's name`,
  ]);
});

test("--all imports the available years, reports the missing ones and then exits with 1", async () => {
  const out = temporaryFolder();
  const urls = [2022, 2023].map((year) => `${publisher.origin}/all/DY${year % 100}.csv`);
  publisher.answers("/all/DY23.csv", file(content));
  const all = publisher.answers("/all.json", file(catalogue(urls.map((url) => ({ url })))));
  const { code, stdout, stderr } = await command(["--all", "--catalogue", all], out);
  assert.deepEqual([code, stdout], [1, `${path.join(out, "2023.1.parquet")}\n`]);
  assert.match(stderr, /^not offered: 2016, 2017, 2018, 2019, 2020, 2021(, 20\d\d)*\ndownloading /);
  assert.ok(stderr.includes(`${urls[0]}: found status 404 Not Found, expected a file\n`), stderr);
});

test("SIGTERM during a download leaves only a partial file, and the next run deletes it", async () => {
  const out = temporaryFolder();
  const url = serve(part(content, 100), file(content));
  const args = ["--year", "2023", "--url", url];
  const running = new Running("server/commands/fetch.ts", [...args, "--out", out], { STATE_DIR: out });
  const kept = downloadPath(out, url);
  const partPath = `${kept}.${running.pid}.part`;
  await until("a part", () => existsSync(partPath) && readFileSync(partPath).length === 100);
  running.signal("SIGTERM");
  await running.finished("SIGTERM");
  assert.deepEqual(readdirSync(out), ["downloads"]);
  const { code, stdout } = await command(args, out);
  assert.deepEqual([code, stdout], [0, `${path.join(out, "2023.1.parquet")}\n`]);
  assert.deepEqual(readdirSync(path.dirname(kept)), [path.basename(kept)]);
});

test("an import error in a downloaded file says how to download it again", async () => {
  const out = temporaryFolder();
  const url = serve(file(content.replace(/,5072,/, ",no code,")));
  const args = ["--year", "2023", "--url", url];
  const kept = downloadPath(out, url);
  const { code, stderr } = await command(args, out);
  assert.equal(code, 1);
  const last = stderr.split("\n").at(-2) ?? "";
  assert.match(last, / line 2.*: found .*, expected .*; delete .* to download it again$/);
  assert.ok(last.endsWith(`; delete ${kept} to download it again`), last);
  assert.deepEqual(readdirSync(out), ["downloads"]);
});

test("fetch uses a proxy with its credentials, however it is spelt, and prints no warnings", async () => {
  const asked: string[] = [];
  const proxy = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers["proxy-authorization"]}`);
    file(content)(request, response);
  });
  const HTTP_PROXY = `joe:geh%40im@127.0.0.1:${await listening(proxy)}`;
  after(() => proxy.close());
  const out = temporaryFolder();
  const url = "http://publisher.test/proxied.csv";
  const args = ["server/hcqs", "fetch", "--year", "2023", "--url", url, "--out", out];
  const env = { ...process.env, HTTP_PROXY, NODE_USE_ENV_PROXY: "1", STATE_DIR: out };
  const { stderr } = await promisify(execFile)("sh", args, { env });
  const credentials = Buffer.from("joe:geh@im").toString("base64");
  assert.deepEqual(asked, [`GET ${url} Basic ${credentials}`]);
  assert.doesNotMatch(stderr, /\(node:|Warning/);
});

const proxied = (address: string, environment: NodeJS.ProcessEnv) => proxiesIn(environment)(address);

test("the proxy is read from the variables that curl knows", () => {
  const cases: [environment: NodeJS.ProcessEnv, address: string, url: string | undefined][] = [
    [{}, "https://a.example/", undefined],
    [{ HTTPS_PROXY: "proxy.example:3128" }, "https://a.example/", "http://proxy.example:3128/"],
    [{ HTTPS_PROXY: "proxy.example:3128" }, "http://a.example/", undefined],
    [{ https_proxy: "10.1.2.3:8080" }, "https://a.example/", "http://10.1.2.3:8080/"],
    [{ https_proxy: " [::1]:3128 " }, "https://a.example/", "http://[::1]:3128/"],
    [{ HTTPS_PROXY: "HTTPS://proxy.example" }, "https://a.example/", "https://proxy.example/"],
    [{ http_proxy: "proxy" }, "http://a.example/", "http://proxy/"],
    [{ HTTP_PROXY: "u:p@proxy:1/" }, "http://a.example/", "http://u:p@proxy:1/"],
    [{ ALL_PROXY: "proxy:1" }, "https://a.example/", "http://proxy:1/"],
    [{ all_proxy: "proxy:1", HTTP_PROXY: "other:2" }, "http://a.example/", "http://other:2/"],
    [{ https_proxy: "low:1", HTTPS_PROXY: "high:2" }, "https://a.example/", "http://low:1/"],
    [{ https_proxy: "", HTTPS_PROXY: "high:2" }, "https://a.example/", "http://high:2/"],
    [{ HTTPS_PROXY: "", ALL_PROXY: " " }, "https://a.example/", undefined],
  ];
  for (const [environment, address, url] of cases)
    assert.equal(proxied(address, environment)?.url, url, JSON.stringify(environment));
});

test("NO_PROXY covers hosts as in curl", () => {
  const covered: [entry: string, address: string, isCovered: boolean][] = [
    ["*", "https://a.example/", true],
    ["a.example", "https://a.example/", true],
    ["A.Example.", "https://a.example/", true],
    ["example", "https://a.example/", true],
    [".example", "https://a.example/", true],
    ["*.example", "https://a.example/", true],
    ["xample", "https://a.example/", false],
    ["b.a.example", "https://a.example/", false],
    ["b.example, a.example", "https://a.example/", true],
    ["b.example a.example", "https://a.example/", true],
    ["a.example:443", "https://a.example/", true],
    ["a.example:8443", "https://a.example/", false],
    ["a.example:80", "http://a.example/", true],
    ["127.0.0.1", "http://127.0.0.1:8080/", true],
    ["127.0.0.1:8080", "http://127.0.0.1:8080/", true],
    ["127.0.0.0/8", "http://127.4.5.6/", true],
    ["10.0.0.0/8", "http://127.0.0.1/", false],
    ["10.0.0.0/99", "http://10.0.0.1/", false],
    ["0.0.1", "http://127.0.0.1/", false],
    ["::1", "http://[::1]/", true],
    ["[::1]", "http://[::1]:80/", true],
    ["fe80::/10", "http://[fe80::7]/", true],
    ["127.0.0.1", "http://[::1]/", false],
    ["/, :, ., /8", "https://a.example/", false],
  ];
  for (const [entry, address, isCovered] of covered)
    for (const name of ["NO_PROXY", "no_proxy"]) {
      const proxy = proxied(address, { ALL_PROXY: "proxy:1", [name]: entry });
      assert.equal(proxy === undefined, isCovered, `${entry} ${address}`);
    }
});

const proxyForm =
  "expected [http://][USER:PASSWORD@]HOST[:PORT], or https://… (in user and password, %40 stands for @, %3A for : and " +
  "%2F for /)";

test("a wrong address of a proxy gives one error, without the password in it", async () => {
  for (const variable of ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
    for (const [value, found] of [
      [":::", "another form"],
      ["proxy:99999", "another form"],
      ["proxy:0", "another form"],
      ["http://", "another form"],
      ["joe:geheim@", "another form"],
      ["http:proxy:3128", "another form"],
      ["joe:geheim#1@proxy:3128", "another form"],
      ["joe:geheim%zz@proxy:3128", "another form"],
      ["joe:geheim%ff@proxy:3128", "another form"],
      ["socks5://joe:geheim@proxy:1080", 'a proxy of the kind "socks5"'],
    ]) {
      const message = `${variable}: found ${found}, ${proxyForm}`;
      assert.throws(() => proxiesIn({ [variable]: value }), { name: "DataError", message }, value);
    }
  const args = ["fetch", "--year", "2023", "--url", serve(file(content)), "--out", temporaryFolder()];
  const [refused] = await run(temporaryFolder(), [args.join(" ")], { HTTPS_PROXY: "joe:geheim@:::" });
  assert.deepEqual(refused, {
    code: 1,
    stdout: "",
    stderr: `HTTPS_PROXY: found another form, ${proxyForm}\n`,
  });
});

/** A proxy that answers every CONNECT and every other request with a status. */
async function refusingProxy(line: string): Promise<{ port: number; asked: string[] }> {
  const asked: string[] = [];
  const proxy = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.writeHead(Number(line.slice(0, 3))).end();
  }).on("connect", ({ method, url }, socket) => {
    asked.push(`${method} ${url}`);
    socket.end(`HTTP/1.1 ${line}\r\nContent-Length: 0\r\n\r\n`);
  });
  const port = await listening(proxy);
  after(() => proxy.close());
  return { port, asked };
}

test("a refusal by the proxy is final, and the error says what to do", async () => {
  const allow =
    "expected a proxy that allows a.test; its administrator can allow it, or NO_PROXY=a.test goes without the proxy";
  for (const [address, line, user, expected] of [
    ["https://a.test/x.csv", "403 Forbidden", "", allow],
    ["https://a.test/x.csv", "404 Not Found", "", allow],
    // A status without a name.
    ["https://a.test/x.csv", "499", "", allow],
    [
      "https://a.test/x.csv",
      "407 Proxy Authentication Required",
      "",
      "expected a user and a password, as ALL_PROXY=http://USER:PASSWORD@HOST:PORT",
    ],
    [
      "https://a.test/x.csv",
      "407 Proxy Authentication Required",
      "joe:geheim@",
      "expected another user and password, as ALL_PROXY=http://USER:PASSWORD@HOST:PORT",
    ],
    [
      "http://a.test/x.csv",
      "407 Proxy Authentication Required",
      "",
      "expected a user and a password, as ALL_PROXY=http://USER:PASSWORD@HOST:PORT",
    ],
  ]) {
    const { port, asked } = await refusingProxy(line);
    const environment = { ALL_PROXY: `${user}127.0.0.1:${port}` };
    const trial = new Trial();
    await assert.rejects(trial.download(address, environment), {
      name: "DataError",
      message: `${address}: found a refusal by the proxy http://127.0.0.1:${port} (${line}), ${expected}`,
    });
    assert.deepEqual([trial.clock.pausesMs, asked.length, trial.said], [[], 1, []]);
    // The catalogue's known addresses would be refused, too.
    const caller = { ...trial, say: trial.say, proxyFor: proxiesIn(environment) };
    await assert.rejects(offers(address, caller), /found a refusal by the proxy/);
    assert.deepEqual(trial.said, []);
  }
});

test("an https proxy or server that answers without TLS gives one error, which says what to write", async () => {
  const { port, asked } = await refusingProxy("502 Bad Gateway");
  const at = `127.0.0.1:${port}`;
  const found = `found an answer without TLS from the proxy https://${at}, expected a proxy that speaks TLS, because its address begins with https://; if it speaks plain http, set `;
  for (const [variable, user, address, way] of [
    ["HTTPS_PROXY", "", "https://a.test/x.csv", `HTTPS_PROXY=http://${at}`],
    ["HTTP_PROXY", "", "http://a.test/x.csv", `HTTP_PROXY=http://${at}`],
    ["ALL_PROXY", "joe:geheim@", "https://a.test/x.csv", `ALL_PROXY=http://USER:PASSWORD@${at}`],
  ]) {
    const environment = { [variable]: `https://${user}${at}` };
    const trial = new Trial();
    await assert.rejects(trial.download(address, environment), {
      name: "DataError",
      message: `${address}: ${found}${way}`,
    });
    const caller = { ...trial, say: trial.say, proxyFor: proxiesIn(environment) };
    await assert.rejects(offers(address, caller), /found an answer without TLS from the proxy/);
    assert.deepEqual([trial.clock.pausesMs, trial.said], [[], []]);
  }
  const trial = new Trial();
  await assert.rejects(trial.download(`https://${at}/x.csv`), {
    name: "DataError",
    message: `https://${at}/x.csv: found an answer without TLS, expected an https server; write http:// if it speaks plain http`,
  });
  assert.deepEqual([trial.clock.pausesMs, trial.said, asked], [[], [], []]);
});

test("a proxy's temporary failure, or one that can't be reached, is retried", async () => {
  const { port, asked } = await refusingProxy("502 Bad Gateway");
  const trial = new Trial();
  const url = "https://a.test/x.csv";
  await assert.rejects(trial.download(url, { ALL_PROXY: `joe:geheim@127.0.0.1:${port}` }), {
    message: `${url}: found no connection through the proxy http://127.0.0.1:${port} (502 Bad Gateway), 6 times in a row, expected a complete answer`,
  });
  assert.equal(asked.length, 6);
  await assert.rejects(new Trial().download(url, { ALL_PROXY: "joe:geheim@127.0.0.1:1" }), {
    message: `${url}: found no connection through the proxy http://127.0.0.1:1 (connect ECONNREFUSED 127.0.0.1:1), 6 times in a row, expected a complete answer`,
  });
});
