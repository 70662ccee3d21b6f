import assert from "node:assert/strict";
import { allEndpoints } from "../../server/api/openapi.ts";
import type { Random } from "./random.ts";
import { pricedRows, suppressedProcedure, versions } from "./server.ts";

/** Draws requests from a seed, from correct requests to noise. */

/**
 * A `plain` request gets an answer from the service. A `last` request announces a body: it gets at most one answer,
 * which is the connection's last answer. A `rough` request, and all requests after it on the connection, may get any
 * answer.
 */
export type Kind = "plain" | "last" | "rough";

export interface Message {
  bytes: Buffer;
  kind: Kind;
  method: string;
  path: string;
}

export interface Exchange {
  messages: Message[];
  /** The messages' bytes, divided into the writes to the socket. */
  segments: Buffer[];
  end: "read" | "half-close" | "cut";
}

export interface FuzzKeys {
  ample: string;
  /** Keys of accounts whose rate or quota is soon used up, and an unknown key. */
  others: string[];
}

/** The server refuses heads over 4,096 bytes or 100 headers. */
const maxPlainHeadBytes = 3500;
const maxPlainHeaders = 40;
const maxPipelined = 20;
const latin1 = "latin1";

const octets = (random: Random, length: number, from = 0, below = 256) =>
  Buffer.from(Array.from({ length }, () => from + random.int(below - from))).toString(latin1);
const odd = ["%", "%zz", "%00", "%0d%0a", "%C0%80", "%F0%9F%8F%A5", "+", "&", "=", "?", "#", ";", "..", "//"];
const oddText = (random: Random) =>
  Array.from({ length: 1 + random.int(6) }, () =>
    random.int(2) === 0 ? random.pick(odd) : octets(random, 1 + random.int(4), 0x21),
  ).join("");

const procedures = [
  ...Object.keys(pricedRows),
  ...Object.keys(pricedRows),
  suppressedProcedure,
  "9999",
  "507",
  "",
  "%20",
];
const states = ["AL", "ny", "TX", "WY", "zz", "national", "", "A", "%EF%AC%82"];
const words = "hospital hospitl city in al alabama level 2 000003 5072 st é".split(" ");

const parameters: Record<string, (random: Random) => string> = {
  procedure: (random) => random.pick(procedures),
  state: (random) => random.pick(states),
  sort: (random) =>
    random.pick(["code", "name", "spread", "facilities", "median_charge", "charge", "distance", "CODE", ""]),
  order: (random) => random.pick(["asc", "desc", "up", ""]),
  status: (random) => random.pick(["priced", "suppressed", "incomplete", "all", ""]),
  city: phrase,
  ccn: (random) => random.pick(["000001", "000001,000042,999999", "000001,", "x", ""]),
  near: (random) => random.pick(["60601", "10001", "00000", "6060", ""]),
  versions: (random) => random.pick([...versions, versions.join(","), "2024", "1999.1", "x", ""]),
  type: (random) => random.pick(["facility", "procedure", "city", ""]),
  q: (random) => (random.int(4) > 0 ? phrase(random) : oddText(random).repeat(random.int(40))),
};

function number(random: Random): string {
  return String(random.pick([1, 1, 2, 7, 25, 50, 0, 51, 100, 101, 1e6, 1e9, "-1", "1.5", "x", ""]));
}

function phrase(random: Random): string {
  return Array.from({ length: 1 + random.int(3) }, () => random.pick(words)).join("+");
}

/** The query parameters of each operation, by its name. */
const namesOf = new Map(allEndpoints.map(({ name, parameters }) => [name, Object.keys(parameters.entries)]));

/** Draws some parameters of an operation, and sometimes others. A parameter without draws of its own is a number. */
function some(random: Random, operation: string): string {
  const names = namesOf.get(operation) ?? assert.fail(operation);
  return Array.from({ length: random.int(3) }, () => {
    const kind = random.int(12);
    if (kind === 0) return `&${oddText(random)}=${oddText(random)}`;
    const name = random.pick(kind === 1 ? Object.keys(parameters) : names);
    return `&${name}=${(parameters[name] ?? number)(random)}`;
  }).join("");
}

function nearTarget(random: Random): string {
  const known = ["", "", "", "", "", ...versions, "2024", "2023"];
  const version = random.pick(random.int(12) > 0 ? known : ["1999.1", "x", "%00"]);
  const base = version === "" ? "/api/v1" : `/api/v1/versions/${version}`;
  switch (random.int(9)) {
    case 0:
      return `${base}/search?q=${phrase(random)}${some(random, "search")}`;
    case 1:
      return random.int(2) === 0
        ? `${base}/healthcare/procedures?${some(random, "procedures")}`
        : random.int(2) === 0
          ? `/api/v1/healthcare/trends?procedure=${random.pick(procedures)}${some(random, "trends")}`
          : `${base}/healthcare/procedures/${random.pick(procedures)}?${some(random, "procedure")}`;
    case 2: {
      const ccn = random.pick(["000001", "000042", "999999", "%30", "x"]);
      if (random.int(2) === 0) return `${base}/healthcare/facilities/${ccn}`;
      return `/api/v1/healthcare/facilities/${ccn}/trends?procedure=${random.pick(procedures)}`;
    }
    case 5: {
      const place = random.pick(["", "&near=60601", "&near=10001&within=500"]);
      const procedure = random.pick(["", `&procedure=${random.pick(procedures)}`]);
      return `${base}/healthcare/facilities?${place}${procedure}${some(random, "facilities")}`;
    }
    case 3:
      return `/api/v1/${random.pick(["datasets", "usage", "versions", "openapi.json"])}`;
    case 4:
      return `/api/v1/pages/${octets(random, 1 + random.int(60), 0x30, 0x7b).replaceAll("?", "_")}`;
    default:
      return `${base}/healthcare/prices?procedure=${random.pick(procedures)}${some(random, "prices")}`;
  }
}

function target(random: Random, keys: FuzzKeys): string {
  const near = nearTarget(random);
  switch (random.int(20)) {
    case 0: {
      const at = 1 + random.int(near.length);
      return near.slice(0, at) + oddText(random) + near.slice(at);
    }
    case 1:
      return near.slice(0, 1 + random.int(near.length));
    case 2:
      return `/${octets(random, random.int(80), 0x21)}`;
    case 3:
      return `${near}${random.pick(["/", "?", "&", "#"])}${"x/".repeat(random.int(1200))}`;
    case 4: {
      const key = random.pick([keys.ample, ...keys.others]);
      const shown = random.pick([key, `%68${key.slice(1)}`, key.replace("_", "%5F"), `${key}%zz`]);
      return random.pick([`${near}${shown}`, `/${shown}`, `${near}&${shown}=1`, `/api/v1/pages/${shown}`]);
    }
    default:
      return near;
  }
}

const codings = [
  "br",
  "gzip",
  "gzip, br;q=0.5",
  "identity",
  "*",
  "br;q=0",
  "zstd",
  "gzip;q=x",
  ",,;",
  "*;q=0",
];
const tags = ["*", "*", "*", '"x"', 'W/"x"', '"a", "b"', '"', "x".repeat(200), ",,,", 'W/*, "x"'];

function header(random: Random): string {
  switch (random.int(6)) {
    case 0:
      return `Accept-Encoding: ${random.pick(codings)}`;
    case 1:
      return `If-None-Match: ${random.pick(tags)}`;
    case 2:
      return `${random.pick(["accept", "Cookie", "Range", "Upgrade", "Expect"])}: ${octets(random, random.int(60), 0x21)}`;
    case 3:
      return `Host: ${octets(random, 1 + random.int(20), 0x61, 0x7b)}`;
    case 4:
      return `X-${octets(random, 1 + random.int(20), 0x61, 0x7b)}:${" ".repeat(random.int(3))}${octets(random, random.int(200), 0x21, 0x7f)}`;
    default:
      return `Connection: ${random.pick(["keep-alive", "upgrade", "x"])}`;
  }
}

function authorization(random: Random, keys: FuzzKeys): string[] {
  const { ample, others } = keys;
  switch (random.int(48)) {
    case 0:
      return [];
    case 1:
      return [
        `Authorization: ${random.pick(["Basic", "Bearers", "Bearer", ""])} ${octets(random, random.int(60), 0x21)}`,
      ];
    case 2:
      return [`Authorization: Bearer ${wrongKey(random)}`];
    case 3:
      return [`Authorization: Bearer ${ample.slice(0, random.int(ample.length))}`];
    case 4:
      return [`Authorization: Bearer ${"x".repeat(random.int(1500))}`];
    case 5:
      return [`Authorization: ${random.pick(["bearer", "BEARER", "Bearer  "])} ${ample}`];
    case 6:
      return [`Authorization: Bearer ${wrongKey(random)}`, `Authorization: Bearer ${ample}`];
    case 7:
    case 8:
      return [`Authorization: Bearer ${random.pick(others)}`];
    default:
      return [`authorization: Bearer ${ample}`];
  }
}

const wrongKey = (random: Random) => `hcq_${octets(random, 49, 0x30, 0x3a)}`;

const methods = "HEAD HEAD POST PUT DELETE PATCH OPTIONS TRACE BREW get M-SEARCH".split(" ");

function plain(random: Random, keys: FuzzKeys, only?: string, path = target(random, keys)): Message {
  const method = only ?? (random.int(6) > 0 ? "GET" : random.pick(methods));
  const headers = [
    `Host: ${random.pick(["localhost", "x", "127.0.0.1:80"])}`,
    ...authorization(random, keys),
  ];
  const more = random.int(3) > 0 ? random.int(3) : random.int(maxPlainHeaders - headers.length);
  for (let i = 0; i < more; i++) headers.splice(1 + random.int(headers.length), 0, header(random));
  const text = (lines: string[]) =>
    `${method} ${path} HTTP/1.1\r\n${lines.map((line) => `${line}\r\n`).join("")}\r\n`;
  while (text(headers).length > maxPlainHeadBytes && headers.length > 1) headers.pop();
  return { bytes: Buffer.from(text(headers), latin1), kind: "plain", method, path };
}

function withLines({ bytes, ...message }: Message, kind: Kind, lines: string, body = ""): Message {
  const head = bytes.toString(latin1, 0, bytes.length - 2);
  return { ...message, kind, bytes: Buffer.from(`${head}${lines}\r\n\r\n${body}`, latin1) };
}

function withBody(random: Random, keys: FuzzKeys, methods: string[]): Message {
  const message = plain(random, keys, random.pick(methods));
  const smuggled = plain(random, keys, "GET").bytes.toString(latin1);
  const body = random.pick(["x", "{}", octets(random, 1 + random.int(300)), smuggled, smuggled + smuggled]);
  const chunk = `${body.length.toString(16)}\r\n${body}\r\n`;
  const length = `Content-Length: ${body.length}`;
  const [lines, sent] = random.pick([
    [length, body],
    [length, body.slice(0, body.length >> 1)],
    [`Content-Length: 0\r\nContent-Length: ${smuggled.length}`, smuggled],
    [`${length}\r\nContent-Length: ${1 + random.int(50)}`, body],
    [`Content-Length: ${random.pick(["-1", "x", "1e3", "0x10", "9".repeat(30), "1, 2", "+5"])}`, body],
    ["Transfer-Encoding: chunked", `${chunk}0\r\n\r\n`],
    ["Transfer-Encoding: chunked", chunk],
    ["Transfer-Encoding: chunked", body],
    [
      `Transfer-Encoding: ${random.pick(["identity", "xchunked", "gzip, chunked", "chunked, x", "Chunked"])}`,
      chunk,
    ],
    [`Transfer-Encoding: chunked\r\n${length}`, chunk],
    [`${length}\r\nTransfer-Encoding: chunked`, body],
  ]);
  return withLines(message, "last", lines, sent);
}

function rough(random: Random, keys: FuzzKeys): Message {
  // The target has no key. A key whose first letters are changed isn't recognised, so the log wouldn't mask it.
  const message = plain(random, keys, "GET", nearTarget(random));
  const text = message.bytes.toString(latin1);
  const as = (bytes: string): Message => ({ ...message, kind: "rough", bytes: Buffer.from(bytes, latin1) });
  switch (random.int(12)) {
    case 0:
      return as(octets(random, 1 + random.int(500)));
    case 1:
      return as(
        text.replace(
          "HTTP/1.1",
          random.pick(["HTTP/1.0", "HTTP/2.0", "HTTP/1.2", "http/1.1", "", "HTTP/1.1 "]),
        ),
      );
    case 2:
      return as(text.replaceAll("\r\n", random.pick(["\n", "\r", "\r\r\n", "\n\r"])));
    case 3:
      return as(text.replace(/Host: .*?\r\n/, ""));
    case 4:
      return as(text.slice(0, random.int(text.length)));
    case 5:
      return withLines(message, "rough", `X-Long: ${"x".repeat(4096 + random.int(8192))}`);
    case 6:
      return withLines(
        message,
        "rough",
        Array.from({ length: 101 + random.int(50) }, (_, i) => `x${i}: 1`).join("\r\n"),
      );
    case 7:
      return withLines(
        message,
        "rough",
        random.pick(["rubbish", " folded: 1", "a b: 1", ": 1", "x\0: 1", "x: a\0b", "x : 1"]),
      );
    case 8:
      return withLines(
        message,
        "rough",
        random.pick(["Content-Length:", "Transfer-Encoding:", "Connection: close"]),
        text,
      );
    default: {
      const bytes = [...text];
      for (let i = 1 + random.int(5); i > 0; i--) {
        const at = random.int(bytes.length);
        const other = random.pick([octets(random, 1), "\r\n", " ", ":", "\0", ""]);
        bytes.splice(at, random.int(3), other);
      }
      return as(bytes.join(""));
    }
  }
}

function cut(random: Random, bytes: Buffer): Buffer[] {
  const kind = random.int(40);
  if (kind < 24) return [bytes];
  if (kind === 24 && bytes.length < 800) return Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
  const places = Array.from({ length: 1 + random.int(5) }, () => random.int(bytes.length)).sort(
    (a, b) => a - b,
  );
  const ends = [...places, bytes.length];
  return ends.map((end, i) => bytes.subarray(ends[i - 1] ?? 0, end)).filter(({ length }) => length > 0);
}

export function exchange(random: Random, keys: FuzzKeys): Exchange {
  const count = random.int(3) > 0 ? 1 + random.int(3) : 1 + random.int(maxPipelined);
  const messages: Message[] = [];
  let known = true;
  for (let i = 0; i < count; i++) {
    const kind = random.int(30);
    // After a message that isn't plain, it isn't certain which answer belongs to a request, so no HEAD is drawn.
    const next: Message =
      kind === 0
        ? withBody(random, keys, known ? ["GET", "HEAD", "POST"] : ["GET", "POST"])
        : kind < 3
          ? rough(random, keys)
          : plain(random, keys, known ? undefined : "GET");
    known &&= next.kind === "plain";
    messages.push(next);
  }
  const bytes = Buffer.concat(messages.map((message) => message.bytes));
  const end = random.int(12) === 0 ? "cut" : known && random.int(4) > 0 ? "read" : "half-close";
  return { messages, segments: cut(random, bytes), end };
}
