import assert from "node:assert/strict";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { KeyTable } from "../../server/accounts/key-table.ts";
import { generateKey, hashKey } from "../../server/accounts/keys.ts";
import type { Reply, RequestHead } from "../../server/serving/reply.ts";
import { Service } from "../../server/serving/service.ts";
import { monthOf } from "../../server/shared/months.ts";
import { maxBurst, maxQuota } from "../../server/shared/plans.ts";
import { smallTables } from "./tables.ts";

type Options = ConstructorParameters<typeof Service>[0];

/** Internal errors fail the test, unless `report` is given. */
export function serviceOf(
  options: Omit<Options, "names" | "days" | "events" | "traffic" | "report"> & Partial<Options>,
): Service {
  const report = (error: unknown) => {
    throw error;
  };
  const traffic = { refused: () => {}, unauthorized: () => {} };
  return new Service({
    ...smallTables(),
    traffic,
    report,
    ...options,
  });
}

/** The service has a key of an account that is never refused. */
export function openService(versions: Options["versions"]) {
  const keys = new KeyTable();
  const { ceilings, names } = smallTables();
  const key = generateKey(Buffer.alloc(32, 7));
  keys.put({ id: 1, hash: hashKey(key), expires_at: null, revoked_at: null }, 0);
  ceilings.configure(0, maxBurst, maxQuota);
  names.put(0, "anybody", "enterprise");
  const wallMs = Date.UTC(2026, 0, 1);
  const month = monthOf(wallMs);
  ceilings.enter(0, month, 0);
  let now = 0;
  const service = serviceOf({
    keys,
    ceilings,
    names,
    versions,
    now: () => wallMs,
    steadyNow: () => now++,
  });
  return { service, key, keys };
}

export interface Told {
  status: number;
  remaining: number;
  reset: number;
  retryAfter: string | undefined;
  etag: string | undefined;
  headers: ReadonlyMap<string, string>;
  bytes: Buffer;
  body: string;
}

/** A request with headers, which may have the same name. @param headers names in lower case */
export function requestWith(
  getQuery: RequestHead["getQuery"],
  headers: readonly (readonly [name: string, value: string])[],
): RequestHead {
  return {
    getQuery,
    getHeader: (name) => headers.find(([other]) => other === Buffer.from(name).toString())?.[1] ?? "",
    forEach: (take) => {
      for (const [name, value] of headers) take(name, value);
    },
  };
}

/**
 * @param query returns the query; undefined if the target has no `?`
 * @param others further headers by their names in camel case; a list is sent as several headers
 */
export function ask(
  service: Service,
  key: string,
  path: string,
  query: () => string | undefined,
  others: Readonly<Record<string, string | readonly string[]>> = {},
  method = "GET",
): Told {
  const headers = Object.entries(others).flatMap(([name, values]) =>
    [values]
      .flat()
      .map((value): [string, string] => [
        name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
        value,
      ]),
  );
  const request = requestWith(query, [...headers, ["authorization", `Bearer ${key}`]]);
  return read(service.answer(request, path, method, false));
}

function read({ status: counted, head, body, stream }: Reply): Told {
  const [status, ...lines] = Buffer.from(head).toString("latin1").split("\r\n");
  assert.equal(Number.parseInt(status, 10), counted, "what is sent is what is counted");
  const headers = new Map(lines.map((line) => line.split(": ", 2) as [string, string]));
  assert.equal(headers.size, lines.length, `a header twice: ${lines.join("; ")}`);
  const sent = stream === undefined ? Buffer.from(body ?? []) : Buffer.concat(copied(stream.source));
  assert.equal(stream?.length ?? sent.length, sent.length, "the announced length");
  const bytes = decoded(sent, headers.get("Content-Encoding"));
  return {
    status: Number.parseInt(status, 10),
    remaining: Number(headers.get("X-RateLimit-Remaining")),
    reset: Number(headers.get("X-RateLimit-Reset")),
    retryAfter: headers.get("Retry-After"),
    etag: headers.get("ETag"),
    headers,
    bytes,
    body: bytes.toString("utf8"),
  };
}

const copied = (source: Iterable<Uint8Array>) => Array.from(source, (chunk) => Buffer.from(chunk));

function decoded(body: Buffer, coding: string | undefined): Buffer {
  return coding === "br" ? brotliDecompressSync(body) : coding === "gzip" ? gunzipSync(body) : body;
}
