import http, { type IncomingHttpHeaders, type IncomingMessage, STATUS_CODES } from "node:http";
import https from "node:https";
import { setTimeout as delay } from "node:timers/promises";
import { DataError, isWebAddress, reasonOf, shown, shownAddress } from "../engine/query.ts";
import type { HttpProxy, ProxyFor } from "./proxy.ts";

/**
 * Sends requests to a web server that may be down for a while. Node's `fetch` isn't used, because the process crashes if a
 * server closes the connection before the response is read (undici, issue 5360).
 */

const maxRedirects = 5;
const firstPauseMs = 1000;
const maxPauseMs = 30_000;
const maxRetryAfterMs = 300_000;

const certificateCodes =
  /CERT|SIGNATURE|ISSUER|ERR_TLS|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH|HOSTNAME|_TOO_SMALL|_TOO_WEAK/;
const ownCa =
  "if a proxy decrypts TLS connections, or the server has a certificate authority of its own, NODE_EXTRA_CA_CERTS names the " +
  "file with that authority's certificate (PEM)";

/** OpenSSL's messages about bytes that aren't TLS. */
const otherThanTls = /wrong version number|packet length too long/i;

export interface Clock {
  /** Milliseconds since a fixed moment in the past. */
  now(): number;
  /** Resolves after a time, or when the signal is aborted. */
  wait(ms: number, signal?: AbortSignal): Promise<void>;
}

export interface Patience {
  clock: Clock;
  /** Receives messages for the user, such as a line for each retry. */
  say: (line: string) => void;
  maxTries: number;
  /** A try is aborted if fewer than `leastBytes` arrive in this interval. */
  stallMs: number;
  leastBytes: number;
  /** Finds the proxy for an address. Without it, connections are direct. */
  proxyFor?: ProxyFor | undefined;
}

export interface Try {
  signal: AbortSignal;
  proxyFor?: ProxyFor | undefined;
  /** Counts bytes that have arrived, so that the try isn't aborted as stalled. */
  arrived(bytes: number): void;
}

/** A temporary failure, after which a retry may succeed. */
export class Break extends Error {
  /** Minimum milliseconds to wait, from the Retry-After header; 0 if none is known. */
  readonly retryAfterMs: number;

  constructor(reason: string, retryAfterMs = 0) {
    super(reason);
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * Calls `work` and returns its result. When `work` throws a Break, `work` is called again after a pause, at most
 * `maxTries` times in all.
 *
 * @throws DataError if the last try failed; any error of `work` that isn't a Break
 */
export async function retried<Result>(
  url: string,
  patience: Patience,
  work: (currentTry: Try) => Promise<Result>,
): Promise<Result> {
  const { clock, say, maxTries } = patience;
  for (let tries = 1; ; tries++) {
    try {
      return await unlessStalled(patience, work);
    } catch (error) {
      if (!(error instanceof Break)) throw error;
      if (tries === maxTries)
        throw new DataError(url, `${error.message}, ${tries} times in a row`, "a complete answer");
      const pauseMs = Math.max(Math.min(firstPauseMs * 2 ** (tries - 1), maxPauseMs), error.retryAfterMs);
      say(`${url}: ${error.message}; retrying in ${Math.ceil(pauseMs / 1000)} s`);
      await clock.wait(pauseMs);
    }
  }
}

async function unlessStalled<Result>(
  { clock, stallMs, leastBytes, proxyFor }: Patience,
  work: (currentTry: Try) => Promise<Result>,
): Promise<Result> {
  const [stalled, over] = [new AbortController(), new AbortController()];
  let bytes = 0;
  const watch = async () => {
    do {
      bytes = 0;
      await clock.wait(stallMs, over.signal);
    } while (bytes >= leastBytes && !over.signal.aborted);
    stalled.abort(new Break(`only ${bytes} bytes in ${stallMs / 1000} s`));
  };
  const watching = watch();
  try {
    return await work({
      signal: stalled.signal,
      proxyFor,
      arrived(more) {
        bytes += more;
      },
    });
  } finally {
    over.abort();
    // An unread response would keep the process alive.
    stalled.abort();
    await watching;
  }
}

function broken(url: string, what: string, error: unknown, signal: AbortSignal, proxy?: HttpProxy): Error {
  if (signal.aborted && signal.reason instanceof Error) return signal.reason;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  // OpenSSL's messages may have several lines.
  const reason = reasonOf(error).trim().replace(/\s+/g, " ");
  if (certificateCodes.test(code)) {
    const advice = /EXPIRED|NOT_YET_VALID|ALTNAME|HOSTNAME/.test(code) ? "" : `; ${ownCa}`;
    return new DataError(url, `a certificate that can't be trusted (${reason})`, `a valid one${advice}`);
  }
  return otherThanTls.test(reason) ? withoutTls(url, proxy) : new Break(`${what} (${reason})`);
}

/** Makes the error for a server or proxy that answers without TLS at an https address. A retry wouldn't help. */
function withoutTls(url: string, proxy: HttpProxy | undefined): Error {
  if (proxy === undefined || !proxy.url.startsWith("https:"))
    return new DataError(
      url,
      "an answer without TLS",
      "an https server; write http:// if it speaks plain http",
    );
  const plain = `${proxy.variable}=http://${proxy.hasPassword ? "USER:PASSWORD@" : ""}${new URL(proxy.url).host}`;
  return new ProxyRefusal(
    url,
    `an answer without TLS from the proxy ${proxy.shown}`,
    `a proxy that speaks TLS, because its address begins with https://; if it speaks plain http, set ${plain}`,
  );
}

/**
 * The error for a proxy that can't be used for a host. A retry wouldn't help, and other addresses of the host would
 * fail in the same way.
 */
export class ProxyRefusal extends DataError {}

function proxyRefusal(url: string, address: string, proxy: HttpProxy, status: number): Error {
  const answer = `${status} ${STATUS_CODES[status] ?? ""}`.trim();
  if (mayRetry(status)) return new Break(`no connection through the proxy ${proxy.shown} (${answer})`);
  const { variable, hasPassword } = proxy;
  const { hostname } = new URL(address);
  const expected =
    status === 407
      ? `${hasPassword ? "another user and password" : "a user and a password"}, as ${variable}=http://USER:PASSWORD@HOST:PORT`
      : `a proxy that allows ${hostname}; its administrator can allow it, or NO_PROXY=${hostname} goes without the proxy`;
  return new ProxyRefusal(url, `a refusal by the proxy ${proxy.shown} (${answer})`, expected);
}

const mayRetry = (status: number) => status >= 500 || [408, 425, 429].includes(status);

/**
 * Requests a URL and follows redirects. The response has status 200. The caller must read it to its end or destroy it.
 *
 * @throws Break when a retry may succeed, DataError when it won't; the signal's reason after an abort
 */
export async function openAddress(url: string, { signal, proxyFor }: Try): Promise<IncomingMessage> {
  const visited = [url];
  for (let address = url; ; ) {
    const proxy = proxyFor?.(address);
    const response = await ask(address, signal, proxy).catch((error: unknown) => {
      if (proxy === undefined) throw broken(url, "no connection", error, signal);
      const status = error instanceof Error && "statusCode" in error ? Number(error.statusCode) : 0;
      if (status > 0) throw proxyRefusal(url, address, proxy, status);
      throw broken(url, `no connection through the proxy ${proxy.shown}`, error, signal, proxy);
    });
    const { statusCode: status = 0 } = response;
    if (status === 200) {
      const { "content-encoding": coding = "" } = response.headers;
      if (/^(identity)?$/i.test(coding)) return response;
      response.destroy();
      throw new DataError(url, `content coding ${coding}`, "the file without a content coding");
    }
    response.destroy();
    if (status === 407 && proxy !== undefined) throw proxyRefusal(url, address, proxy, status);
    if (status < 300 || status > 399 || status === 304) throw refusal(url, response);
    address = redirection(url, status, address, response.headers.location);
    if (visited.includes(address)) throw new DataError(url, "a redirect loop", "a file");
    if (visited.length > maxRedirects)
      throw new DataError(url, `more than ${maxRedirects} redirects`, "a file");
    visited.push(address);
  }
}

function ask(address: string, signal: AbortSignal, proxy: HttpProxy | undefined): Promise<IncomingMessage> {
  const { request, Agent } = address.startsWith("https:") ? https : http;
  const agentOptions = { keepAlive: false, proxyEnv: { HTTP_PROXY: proxy?.url, HTTPS_PROXY: proxy?.url } };
  const agent = proxy === undefined ? undefined : new Agent(agentOptions);
  // The server could close a reused connection just when it is used.
  const headers = { accept: "*/*", "accept-encoding": "identity", connection: "close" };
  return new Promise((resolve, reject) => {
    request(address, { headers, signal, agent })
      .on("response", resolve)
      .on("upgrade", (response, socket) => {
        socket.destroy();
        resolve(response);
      })
      .on("error", reject)
      .end();
  });
}

function redirection(url: string, status: number, from: string, location: string | undefined): string {
  const found = `a redirect (${status})`;
  if (location === undefined) throw new DataError(url, `${found} without an address`, "a file");
  const to = URL.parse(location, from);
  if (to === null || !/^https?:$/.test(to.protocol))
    throw new DataError(url, `${found} whose target isn't a web address`, "a file");
  if (!isWebAddress(to.href))
    throw new DataError(url, `${found} to ${shownAddress(to.href)}`, "an address without a password");
  if (from.startsWith("https:") && to.protocol === "http:")
    throw new DataError(url, `a redirect to ${shown(to.href)} without encryption`, "https");
  return to.href;
}

function refusal(url: string, { statusCode = 0, statusMessage = "", headers }: IncomingMessage): Error {
  const found = `status ${statusCode} ${statusMessage}`.trim();
  if (!mayRetry(statusCode)) return new DataError(url, found, "a file");
  const after = headers["retry-after"] ?? "";
  const seconds = /^[0-9]+$/.test(after) ? Number(after) : (Date.parse(after) - serverTime(headers)) / 1000;
  const retryAfterMs = Number.isFinite(seconds) ? Math.max(0, seconds * 1000) : 0;
  if (retryAfterMs > maxRetryAfterMs)
    return new DataError(
      url,
      `${found} with Retry-After: ${Math.ceil(seconds)} s`,
      `an answer within ${maxRetryAfterMs / 1000} s`,
    );
  return new Break(found, retryAfterMs);
}

function serverTime(headers: IncomingHttpHeaders): number {
  return Date.parse(headers.date ?? "");
}

/** Yields a response's body in chunks. @throws Break when the connection breaks; the signal's reason after an abort */
export async function* bodyOf(
  url: string,
  response: IncomingMessage,
  { signal, arrived }: Try,
): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of response) {
      arrived(chunk.length);
      yield chunk;
    }
  } catch (error) {
    throw broken(url, "a broken connection", error, signal);
  }
}

/**
 * Reads a response's body as UTF-8 text.
 *
 * @throws DataError when the body has more than `maxBytes`, otherwise like `bodyOf`
 */
export async function readText(
  url: string,
  response: IncomingMessage,
  maxBytes: number,
  currentTry: Try,
): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of bodyOf(url, response, currentTry)) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new DataError(url, "more", `at most ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

export const systemClock: Clock = {
  now: () => performance.now(),
  // `delay` rejects when the signal is aborted, but `wait` resolves.
  wait: (ms, signal) => delay(ms, undefined, signal && { signal }).catch(() => {}),
};
