import assert from "node:assert/strict";
import fs, { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import https from "node:https";
import { syncBuiltinESMExports } from "node:module";
import { connect, createServer as createNetServer } from "node:net";
import path from "node:path";
import { after, test } from "node:test";
import { knownOffers, offers, offersIn } from "../../datasets/cms/catalogue.ts";
import { download } from "../../datasets/cms/download.ts";
import {
  type Agents,
  agentsBy,
  type Clock,
  directAgents,
  type Network,
  stallMs,
} from "../../datasets/cms/http.ts";
import { downloadPath, listOf } from "../../datasets/cms/listing.ts";
import { checkEnds } from "../../datasets/cms/release.ts";
import { syntheticPublisher } from "../../datasets/sample/synthetic-mark.ts";
import { encodeSnapshot } from "../../engine/index.ts";
import { byteProgress, parseOptions } from "../../server/commands/fetch.ts";
import { csv, otherRow, row } from "../support/cms-files.ts";
import { type Result, run } from "../support/commands.ts";
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

/** Downloads of releases from a publisher whose server has faults. */

const content = csv(
  row,
  otherRow,
  ...Array.from({ length: 40 }, (_, i) => row.replace("5072", `60${10 + i}`)),
);
const publisher = await Publisher.start();
const elsewhere = await Publisher.start("127.0.0.2");

/** A clock on which pauses take no time and are recorded. The test decides when a connection stalls. */
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

  /** Lets two intervals pass: one in which the last byte came, and one without any. */
  stall(): void {
    this.#isNextOver = true;
    this.#end();
  }
}

/** One download and its messages. */
class Trial implements Network {
  readonly clock = new TestClock();
  readonly agents: Agents;
  readonly folder = temporaryFolder();
  readonly path = path.join(this.folder, "release.csv");
  readonly said: string[] = [];
  readonly progress: [number, number | undefined][] = [];
  #bytes = 0;
  /** Called when bytes have arrived. */
  onBytes = cutConnections;

  constructor(agents = directAgents) {
    this.agents = agents;
  }

  readonly say = (line: string) => void this.said.push(line);

  download(url: string): Promise<void> {
    const { clock, agents } = this;
    return download(url, this.path, {
      ...{ clock, agents },
      say: this.say,
      onProgress: (bytes, totalBytes) => {
        this.progress.push([bytes, totalBytes]);
        if (bytes > this.#bytes) this.onBytes();
        this.#bytes = bytes;
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
/** Answers the next requests for an address. @returns the address */
function serve(...answers: Answer[]): string {
  return publisher.answers(`/files/${++paths}.csv`, ...answers);
}

/** The Range and If-Range headers of the requests for an address. */
function rangesOf(url: string): (string | undefined)[][] {
  return publisher.asked
    .filter((asked) => publisher.origin + asked.path === url)
    .map(({ range, ifRange }) => [range, ifRange]);
}

test("a file comes whole, under its name alone, and progress ends at its size", async () => {
  const trial = new Trial();
  await trial.download(serve(file(content)));
  assert.equal(trial.text, content);
  assert.deepEqual(trial.files, ["release.csv"]);
  assert.deepEqual(trial.progress.at(-1), [content.length, content.length]);
  assert.deepEqual(trial.said, []);
});

test("a download that is cut, and cut again, goes on where it was", async () => {
  const trial = new Trial();
  const url = serve(part(content, '"a"', 100), part(content, '"a"', 200), file(content, '"a"'));
  await trial.download(url);
  assert.equal(trial.text, content);
  assert.deepEqual(rangesOf(url), [
    [undefined, undefined],
    ["bytes=100-", '"a"'],
    ["bytes=300-", '"a"'],
  ]);
  // Each attempt got some bytes, so the pauses don't grow.
  assert.deepEqual(trial.clock.pausesMs, [1000, 1000]);
  assert.match(trial.said[0], /\.csv: a broken connection \(.+\); retrying in 1 s$/);
});

test("a connection that is ended too early, while much of what came waits to be read, is a cut as well", async () => {
  const long = csv(row, ...Array.from({ length: 20_000 }, (_, i) => row.replace("5072", `${1000 + i}`)));
  const trial = new Trial();
  trial.onBytes = () => {};
  const url = serve(
    ...[500_000, 300_000, 400_000].map((bytes) => ended(long, '"a"', bytes)),
    file(long, '"a"'),
  );
  await trial.download(url);
  assert.equal(trial.text, long);
  assert.deepEqual(trial.clock.pausesMs, [1000, 1000, 1000]);
  assert.match(rangesOf(url)[1][0] ?? "", /^bytes=[1-9]/);
});

test("a download that stalls is broken off and goes on", async () => {
  const trial = new Trial();
  const url = serve(part(content, '"a"', 100), file(content, '"a"'));
  trial.onBytes = () => {
    trial.onBytes = () => {};
    trial.clock.stall();
  };
  await trial.download(url);
  assert.equal(trial.text, content);
  assert.equal(rangesOf(url)[1][0], "bytes=100-");
  assert.deepEqual(trial.said, [`${url}: nothing for 30 s; retrying in 1 s`]);
});

test("a file that changes between two parts is downloaded anew", async () => {
  const changed = csv(otherRow, row);
  const lying: Answer = (_, response) =>
    void response
      .writeHead(206, { etag: '"b"', "content-range": `bytes 100-${content.length - 1}/${content.length}` })
      .end(content.slice(100));
  for (const second of [file(changed, '"b"'), lying, status(416, { "content-range": "bytes */5" })]) {
    const trial = new Trial();
    const url = serve(part(content, '"a"', 100), second, file(changed, '"b"'));
    await trial.download(url);
    assert.equal(trial.text, changed);
    assert.deepEqual(trial.files, ["release.csv"]);
  }
});

/** The rest of a file, from a server that ignores If-Range. */
function restOf(whole: string, headers: Record<string, string>): Answer {
  return (request, response) => {
    const start = Number(request.headers.range?.slice("bytes=".length, -1));
    const range = `bytes ${start}-${whole.length - 1}/${whole.length}`;
    response.writeHead(206, { ...headers, "content-range": range }).end(whole.slice(start));
  };
}

test("the rest is taken only from a server that says of it what it said of the first part", async () => {
  const changed = content.replaceAll("6010", "7010");
  const [old, late] = [1, 2].map((day) => `Mon, 0${day} Jun 2026 00:00:00 GMT`);
  const [dated, redated] = [old, late].map((date) => ({ "last-modified": date }));
  type Headers = Record<string, string>;
  const pairs: [first: Headers, rest: Headers, isSame: boolean][] = [
    [dated, redated, false],
    [dated, {}, false],
    [dated, { etag: '"b"', ...dated }, false],
    [{ etag: '"a"' }, {}, false],
    [{ etag: '"a"', ...dated }, dated, false],
    [{ etag: '"a"', ...dated }, { etag: 'W/"a"', ...dated }, false],
    [{ etag: '"a"', ...dated }, { etag: '"a"', ...redated }, false],
    [{ etag: 'W/"a"', ...dated }, { etag: 'W/"b"', ...dated }, false],
    [{ etag: 'W/"a"', ...dated }, dated, false],
    [dated, dated, true],
    [{ etag: 'W/"a"', ...dated }, { etag: 'W/"a"', ...dated }, true],
    [{ etag: '"a"', ...dated }, { etag: '"a"' }, true],
    [{ etag: '"a"' }, { etag: '"a"', ...redated }, true],
  ];
  for (const [first, rest, isSame] of pairs) {
    const trial = new Trial();
    const cut: Answer = (request, response) => {
      const length = { "content-length": String(content.length) };
      const { etag, ...others } = first;
      if (etag !== undefined) return part(content, etag, 100, others)(request, response);
      response.writeHead(200, { ...others, ...length });
      response.write(content.slice(0, 100), () => {
        trial.onBytes = () => void response.destroy();
      });
    };
    const url = serve(cut, restOf(isSame ? content : changed, rest), file(changed, '"c"'));
    await trial.download(url);
    const said = JSON.stringify([first, rest]);
    assert.equal(trial.text, isSame ? content : changed, said);
    assert.equal(rangesOf(url).length, isSame ? 2 : 3, said);
    assert.deepEqual(trial.files, ["release.csv"]);
  }
});

test("without an ETag the date tells a changed file, and without either nothing is gone on with", async () => {
  const date = "Mon, 01 Jun 2026 00:00:00 GMT";
  for (const [headers, second] of [
    [{ etag: 'W/"a"', "last-modified": date }, ["bytes=100-", date]],
    [{ etag: 'W/"a"' }, [undefined, undefined]],
  ] as const) {
    const trial = new Trial();
    const url = serve(part(content, "none", 100, headers), file(content));
    await trial.download(url);
    assert.equal(trial.text, content);
    assert.deepEqual(rangesOf(url)[1], second);
  }
});

test("a download that is given up is kept, and the next one goes on with it", async () => {
  const trial = new Trial();
  const url = serve(part(content, '"a"', 100), status(500));
  await assert.rejects(trial.download(url), {
    message: `${url}: found status 500 Internal Server Error, 6 times in a row, expected a complete answer`,
  });
  assert.deepEqual(trial.clock.pausesMs, [1000, 2000, 4000, 8000, 16_000]);
  assert.deepEqual(trial.files, ["release.csv.part", "release.csv.part.json"]);
  publisher.answers(new URL(url).pathname, file(content, '"a"'));
  await trial.download(url);
  assert.equal(trial.text, content);
  assert.deepEqual(rangesOf(url).at(-1), ["bytes=100-", '"a"']);
  assert.deepEqual(trial.files, ["release.csv"]);
});

test("a part that isn't of the same download, or is damaged, is not gone on with", async () => {
  for (const state of [
    "",
    "{",
    "[]",
    '{"etag":5,"lastModified":""}',
    '{"etag":"\\"a\\""}',
    '{"etag":"","lastModified":"","totalBytes":null}',
    '{"etag":"\\"a\\"","lastModified":"","totalBytes":3}',
  ]) {
    const trial = new Trial();
    writeFileSync(`${trial.path}.part`, "something");
    writeFileSync(`${trial.path}.part.json`, state);
    const url = serve(file(content, '"a"'));
    await trial.download(url);
    assert.equal(trial.text, content);
    assert.deepEqual(rangesOf(url), [[undefined, undefined]]);
  }
});

test("a length that isn't true is refused, and nothing of it kept that isn't sound", async () => {
  const short = new Trial();
  // What comes after the announced length isn't read: the last line is cut.
  const shortUrl = serve(file(content, '"a"', { "content-length": "300" }));
  await assert.rejects(short.download(shortUrl), {
    message:
      `${shortUrl}: found a last line without a line break, as in a truncated file, ` +
      "expected a complete file; --allow-unterminated accepts it as complete",
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
  assert.equal(rangesOf(longUrl).length, 6);

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

test("what isn't a release is refused by its type, its first bytes or its header, and not kept", async () => {
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
  ] as const) {
    const trial = new Trial();
    const url = serve(file(body, '"a"', { "content-type": type }));
    await assert.rejects(trial.download(url), (error: Error) => {
      if (typeof found === "string") assert.equal(error.message, `${url}: found ${found}`);
      else assert.match(error.message, found);
      return true;
    });
    assert.deepEqual(trial.files, []);
    assert.equal(rangesOf(url).length, 1);
  }
});

test("a busy server is waited for as long as it asks, within bounds", async () => {
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

test("what no further try would mend isn't tried again", async () => {
  for (const [code, text] of [
    [404, "Not Found"],
    [403, "Forbidden"],
    [206, "Partial Content"],
  ] as const) {
    const url = serve(status(code));
    await assert.rejects(new Trial().download(url), {
      message: `${url}: found status ${code} ${text}, expected a file`,
    });
    assert.equal(rangesOf(url).length, 1);
  }
});

test("redirects are followed to other hosts, but not in a circle, without end, or to anywhere", async () => {
  const trial = new Trial();
  const there = elsewhere.answers("/moved.csv", part(content, '"a"', 50), file(content, '"a"'));
  await trial.download(serve(redirect(there)));
  assert.equal(trial.text, content);
  assert.equal(elsewhere.asked.at(-1)?.range, "bytes=50-");

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

/** HTTPS connections without TLS, because following a redirect needs no certificate. */
class OpenAgent extends https.Agent {
  override createConnection({ host, port }: https.RequestOptions) {
    return connect(Number(port), host ?? undefined);
  }
}

test("a redirect from https to http is refused and not followed; all others between the two are", async () => {
  const agents = { http: directAgents.http, https: new OpenAgent() };
  const secure = (address: string) => address.replace(/^http:/, "https:");
  const plain = serve(file(content));
  const relative = secure(serve(redirect(new URL(plain).pathname)));
  for (const url of [secure(plain), relative, serve(redirect(secure(plain))), serve(redirect(relative))]) {
    const trial = new Trial(agents);
    await trial.download(url);
    assert.equal(trial.text, content, url);
  }
  const asked = rangesOf(plain).length;
  const down = secure(serve(redirect(plain)));
  for (const url of [down, secure(serve(redirect(down))), serve(redirect(down))]) {
    const trial = new Trial(agents);
    await assert.rejects(trial.download(url), {
      name: "DataError",
      message: `${url}: found a redirect to "${plain}" without encryption, expected https`,
    });
    assert.deepEqual(trial.files, [], url);
  }
  assert.equal(rangesOf(plain).length, asked, "it isn't asked for");
});

test("a disk that is full, and a folder that can't be written, are one error and leave nothing", async () => {
  const trial = new Trial();
  symlinkSync("/dev/full", `${trial.path}.part`);
  await assert.rejects(trial.download(serve(file(content))), {
    message: `${trial.path}.part: found no room for more (ENOSPC), expected a disk that can be written to, with room for the file`,
  });
  assert.deepEqual(trial.files, []);

  const taken = new Trial();
  mkdirSync(`${taken.path}.part`);
  await assert.rejects(taken.download(serve(file(content))), { message: /found a refusal \(EISDIR\)/ });
});

test("a disk without room is told before anything is written", async (t) => {
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

test("a size that the server doesn't say is told to be unknown", async () => {
  const trial = new Trial();
  const url = serve(
    (_, response) => void response.writeHead(200, { "content-type": "text/csv" }).end(content),
  );
  await trial.download(url);
  assert.equal(trial.text, content);
  assert.deepEqual(trial.said, [`${url}: size unknown, at most 1073741824 bytes are taken`]);
});

test("a coding that wasn't asked for, and an answer that is none, are refused", async () => {
  for (const [answer, found] of [
    [file(content, '"a"', { "content-encoding": "gzip" }), "content coding gzip, expected the file as it is"],
    [status(101, { upgrade: "x", connection: "upgrade" }), "status 101 Switching Protocols, expected a file"],
  ] as const) {
    const url = serve(answer);
    await assert.rejects(new Trial().download(url), { message: `${url}: found ${found}` });
  }
});

/** A proxy that refuses tunnels and answers all other requests. @returns its port and the requests */
async function startProxy(connected: string) {
  const asked: string[] = [];
  const proxy = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers["proxy-authorization"] ?? ""}`.trim());
    file(content)(request, response);
  }).on("connect", (request, socket) => {
    asked.push(`CONNECT ${request.url}`);
    socket.end(`HTTP/1.1 ${connected}\r\n\r\n`);
  });
  const port = await listening(proxy);
  after(() => {
    proxy.close();
    proxy.closeAllConnections();
  });
  return { port, asked };
}

test("requests go through the proxy of their scheme, which may be written as for curl", async () => {
  const { port, asked } = await startProxy("200 OK");
  for (const [environment, authorization] of [
    [{ HTTP_PROXY: `127.0.0.1:${port}` }, ""],
    [{ http_proxy: `http://joe:geheim@127.0.0.1:${port}`, HTTP_PROXY: "none" }, " Basic am9lOmdlaGVpbQ=="],
    [{ HTTP_PROXY: `127.0.0.1:${port}`, NO_PROXY: "example.org" }, ""],
  ] as const) {
    const trial = new Trial(agentsBy(environment));
    await trial.download("http://publisher.test/a.csv");
    assert.equal(trial.text, content);
    assert.deepEqual(asked.splice(0), [`GET http://publisher.test/a.csv${authorization}`]);
  }
  const direct = new Trial(
    agentsBy({ HTTP_PROXY: `127.0.0.1:${port}`, no_proxy: "127.0.0.1", HTTPS_PROXY: "" }),
  );
  await direct.download(serve(file(content)));
  assert.deepEqual(asked, []);
});

test("a proxy that lets nobody through is named with its status, and one that can't for now is asked again", async () => {
  for (const [connected, message, asks] of [
    ["403 Forbidden", "found status 403 Forbidden of the proxy PROXY, expected a way through", 1],
    ["407 Who are you", "found status 407 Who are you of the proxy PROXY, expected a way through", 1],
    [
      "502 Bad Gateway",
      "found status 502 Bad Gateway of the proxy PROXY, 6 times in a row, expected a complete answer",
      6,
    ],
  ] as const) {
    const { port, asked } = await startProxy(connected);
    const trial = new Trial(agentsBy({ HTTPS_PROXY: `http://joe:geheim@127.0.0.1:${port}` }));
    const url = "https://publisher.test/a.csv";
    await assert.rejects(trial.download(url), {
      message: `${url}: ${message.replace("PROXY", `http://127.0.0.1:${port}/`)}`,
    });
    assert.deepEqual(asked, Array(asks).fill("CONNECT publisher.test:443"));
  }
});

test("what answers CONNECT in no HTTP is no proxy, and isn't asked again", async () => {
  let asks = 0;
  const server = createNetServer((socket) =>
    socket.once("data", () => {
      asks++;
      socket.end("SSH-2.0-x\r\n\r\n");
    }),
  );
  const proxy = `http://127.0.0.1:${await listening(server)}/`;
  after(() => server.close());
  const url = "https://publisher.test/a.csv";
  await assert.rejects(new Trial(agentsBy({ HTTPS_PROXY: proxy })).download(url), {
    message: `${url}: found an answer that isn't HTTP of the proxy ${proxy}, expected an HTTP proxy`,
  });
  assert.equal(asks, 1);
});

test("a variable that names no proxy is one error, without its password", () => {
  const expected = "expected an http or https proxy, such as http://127.0.0.1:3128";
  for (const [environment, found] of [
    [{ HTTPS_PROXY: "socks5://127.0.0.1:1080" }, 'HTTPS_PROXY: found "socks5://127.0.0.1:1080"'],
    [{ http_proxy: "not a proxy" }, 'http_proxy: found "not a proxy"'],
    [{ HTTP_PROXY: "http://" }, 'HTTP_PROXY: found "http://"'],
    [{ HTTP_PROXY: "socks5://joe:geheim@a" }, 'HTTP_PROXY: found "socks5://…@a"'],
    [{ HTTP_PROXY: "joe:geheim@a:b" }, 'HTTP_PROXY: found "…@a:b"'],
    [{ HTTP_PROXY: "http://joe:%zz@a" }, 'HTTP_PROXY: found "http://…@a"'],
  ] as const)
    assert.throws(() => agentsBy(environment), { message: `${found}, ${expected}` });
});

test("a folder that can't be made, or read, is one error that names the option", async () => {
  const trial = new Trial();
  const inFile = path.join(trial.folder, "file");
  writeFileSync(inFile, "");
  const downloading = { ...trial, onProgress: () => {}, check: async () => {} };
  await assert.rejects(download(serve(file(content)), path.join(inFile, "downloads", "a.csv"), downloading), {
    message: `${inFile}/downloads: found a folder that can't be created (ENOTDIR), expected one that can; --out names another`,
  });
  assert.throws(() => listOf([], inFile, assert.fail), {
    message: `--out ${inFile}: found a refusal to read it (ENOTDIR), expected a folder that can be read`,
  });
});

test("one file is downloaded by one process at a time", async () => {
  const trial = new Trial();
  const url = serve(part(content, '"a"', 100), file(content, '"a"'));
  let second: Promise<unknown> | undefined;
  trial.onBytes = () => {
    trial.onBytes = () => {};
    const link = path.join(temporaryFolder(), "link");
    symlinkSync(trial.folder, link);
    const refused = [trial.folder, link].map((folder) => {
      const again = path.join(folder, "release.csv");
      return assert.rejects(
        download(url, again, { ...trial, onProgress: () => {}, say: () => {}, check: async () => {} }),
        { message: `${again}: found another process that downloads it, expected one at a time` },
      );
    });
    second = Promise.all(refused).finally(cutConnections);
  };
  await trial.download(url);
  await second;
  assert.equal(trial.text, content);
  assert.deepEqual(trial.files, ["release.csv"]);
});

test("a part that somebody else has written to never gets the file's name", async () => {
  for (const harm of ["", content + row, "x".repeat(50)]) {
    const trial = new Trial();
    trial.onBytes = () => writeFileSync(`${trial.path}.part`, harm);
    await assert.rejects(trial.download(serve(file(content))), {
      message:
        `${trial.path}.part: found ${harm.length} bytes, ` +
        `expected the ${content.length} bytes that were downloaded; another process may be writing to this file`,
    });
    assert.deepEqual(trial.files, []);
  }
});

test("a lock that can't be had, because the folder isn't writable or for another reason, is one error", async () => {
  const trial = new Trial();
  mkdirSync(`${trial.path}.part.lock`);
  await assert.rejects(trial.download(serve(file(content))), {
    message: `${trial.path}.part.lock: found no lock (unable to open database file), expected a file to be locked; --out names another folder`,
  });
});

test("the catalogue's newest file of each year is found, by title and year", () => {
  const base = "https://data.example/files";
  const text = catalogue([
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
  ]);
  assert.deepEqual(offersIn(text, "catalogue"), [
    { year: 2024, url: `${base}/2026-06/MUP_OUT_RY26_P04_V10_DY24_Prov_Svc.csv`, released: "2026-06" },
    { year: 2023, url: `${base}/2025-11/b/MUP_OUT_RY25_P04_V11_DY23_Prov_Svc.CSV`, released: "2025-11" },
    { year: 2022, url: `${base}/plain.csv`, released: null },
  ]);
});

test("fields of the catalogue may move, and be written otherwise", () => {
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
    assert.deepEqual(offersIn(JSON.stringify(moved), "catalogue"), [{ year: 2019, url, released: null }]);
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

test("the catalogue says what is offered, and known addresses where it doesn't answer", async () => {
  const trial = new Trial();
  const newer = "https://data.example/2025-11/DY23.csv";
  const url = publisher.answers(
    "/data.json",
    file(catalogue([{ url: newer }]), '"1"', { "content-type": "application/json" }),
  );
  const offered = await offers(url, trial);
  assert.deepEqual(offered, [{ year: 2023, url: newer, released: "2025-11" }]);
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

test("progress has rate and time left, in a line for each tenth", () => {
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

test("a command line is refused with what is wrong with it", () => {
  for (const [args, message] of [
    [[], "command line: found none of them, expected one of --year, --all and --list"],
    [
      ["--year", "2024", "--all"],
      "command line: found --year and --all, expected one of --year, --all and --list",
    ],
    [["--year", "24"], '--year: found "24", expected a year as YYYY'],
    [["--all", "--url", "http://a/"], "--url: found it with --all, expected it with --year"],
    [["--all", "--json"], "--json: found it with --all, expected it with --list"],
    [
      ["--year", "2024", "--url", "file:///a"],
      '--url: found "file:///a", expected an http or https URL, without a password',
    ],
    [
      ["--year", "2024", "--url", "https://joe:geheim@a/DY24.csv"],
      '--url: found "https://…@a/DY24.csv", expected an http or https URL, without a password',
    ],
    [
      ["--list", "--catalogue", "x"],
      '--catalogue: found "x", expected an http or https URL, without a password',
    ],
    [["--list", "--out", ""], "--out: found nothing, expected a folder"],
  ] as const)
    assert.throws(() => parseOptions([...args], {}), { message });
  assert.equal(parseOptions(["--list"], { DATASETS_DIR: "there" }).out, "there");
});

/** Runs the command, with a registry in the folder of the snapshots. */
const command = async (args: string[], out: string): Promise<Result> =>
  (await run(out, [["fetch", ...args, "--out", out].join(" ")]))[0];

/** The command in a process of its own, as it is typed. */
const spawnFetch = (args: string[], out: string, env = {}) =>
  new Running("server/commands/fetch.ts", [...args, "--out", out], { STATE_DIR: out, ...env });

test("the command downloads and imports, and a second time it does neither; the list says so", async () => {
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
    [lines[0], lines.at(-3)?.split(":")[0]],
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
  assert.equal(rangesOf(url).length, 1);

  const sample = snapshotAs("2020.1", [["010001", "AL", "5072", 2, 1]], { publisher: syntheticPublisher });
  writeFileSync(path.join(out, "2020.1.parquet"), encodeSnapshot(sample));
  const list = await command(["--list", "--catalogue", all], out);
  const rows = list.stdout.split("\n").map((line) => line.split("\t"));
  assert.deepEqual(rows[0], ["year", "released", "versions", "downloaded", "url"]);
  assert.deepEqual(rows[1], ["2023", "2025-08", "2023.1", "yes", url]);
  assert.deepEqual(
    rows.find(([year]) => year === "2020"),
    ["2020", "-", "2020.1 (synthetic)", "no", "-"],
  );

  const missing = await command(["--year", "2017", "--catalogue", all], out);
  assert.deepEqual(
    [missing.code, missing.stdout, missing.stderr],
    [1, "", "--year: found 2017, expected one that is offered (2023), or --url with an address\n"],
  );
});

test("a snapshot under another name than its own isn't listed, as the server refuses it", () => {
  const out = temporaryFolder();
  const told: string[] = [];
  const bytes = encodeSnapshot(snapshotOf([["010001", "AL", "5072", 2, 1]], testProvenance));
  const version = `${testProvenance.dataYear}.${testProvenance.revision}`;
  for (const name of [version, "2019.7"]) writeFileSync(path.join(out, `${name}.parquet`), bytes);
  assert.deepEqual(
    listOf([], out, (line) => told.push(line)).flatMap(({ versions }) =>
      versions.map((each) => each.version),
    ),
    [version],
  );
  const wrong = path.join(out, "2019.7.parquet");
  assert.deepEqual(told, [
    `not counted: ${wrong}: data version in its metadata: found ${version}, expected 2019.7`,
  ]);
});

test("--all takes what there is, says what there isn't, and then has exit code 1", async () => {
  const out = temporaryFolder();
  const urls = [2022, 2023].map((year) => `${publisher.origin}/all/DY${year % 100}.csv`);
  publisher.answers("/all/DY23.csv", file(content));
  const all = publisher.answers("/all.json", file(catalogue(urls.map((url) => ({ url })))));
  const { code, stdout, stderr } = await command(["--all", "--catalogue", all], out);
  assert.deepEqual([code, stdout], [1, `${path.join(out, "2023.1.parquet")}\n`]);
  assert.match(stderr, /^not offered: 2016, 2017, 2018, 2019, 2020, 2021(, 20\d\d)*\ndownloading /);
  assert.ok(stderr.includes(`${urls[0]}: found status 404 Not Found, expected a file\n`), stderr);
});

test("a signal leaves a part that the next run goes on with, and no snapshot", async () => {
  const out = temporaryFolder();
  const url = serve(part(content, '"a"', 100), file(content, '"a"'));
  const args = ["--year", "2023", "--url", url];
  const running = spawnFetch(args, out);
  const partPath = `${downloadPath(out, url)}.part`;
  await until("a part", () => existsSync(partPath) && readFileSync(partPath).length === 100);
  running.signal("SIGTERM");
  await running.finished("SIGTERM");
  assert.deepEqual(readdirSync(out), ["downloads"]);
  const beside = ["", ".json", ".lock"].map((ending) => path.basename(partPath) + ending);
  assert.deepEqual(readdirSync(path.dirname(partPath)).sort(), beside);
  const { code, stdout } = await command(args, out);
  assert.deepEqual([code, stdout], [0, `${path.join(out, "2023.1.parquet")}\n`]);
  assert.equal(rangesOf(url)[1][0], "bytes=100-");
});

test("a download that can't be imported says how to download it again", async () => {
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

test("the command goes through a proxy, and says no warnings", async () => {
  const { port, asked } = await startProxy("200 OK");
  const out = temporaryFolder();
  const url = "http://publisher.test/proxied.csv";
  const env = { HTTP_PROXY: `127.0.0.1:${port}` };
  const { code, stderr } = await spawnFetch(["--year", "2023", "--url", url], out, env).finished();
  assert.equal(code, 0, stderr);
  assert.deepEqual(asked, [`GET ${url}`]);
  assert.doesNotMatch(stderr, /warning/i);
});
