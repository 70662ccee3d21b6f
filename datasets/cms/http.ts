import http, { type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import https from "node:https";
import { DataError, isWebAddress, shown, shownAddress } from "../../engine/query.ts";

/**
 * Requests to a publisher's server, which may be slow, overloaded or down for a while. Node's `fetch` isn't used,
 * because the process crashes if a server closes the connection before the response is read (undici, issue 5360).
 */

/** An attempt is aborted after this long without receiving a byte. */
export const stallMs = 30_000;
const maxRedirects = 5;
const firstPauseMs = 1000;
const maxPauseMs = 30_000;
/** Longest Retry-After that is honoured. */
const maxRetryAfterMs = 300_000;

/** The clock, which tests replace. */
export interface Clock {
  now(): number;
  /** Resolves after a time, or when the signal is aborted. */
  wait(ms: number, signal?: AbortSignal): Promise<void>;
}

export interface Agents {
  http: http.Agent;
  https: https.Agent;
}

export interface Network {
  clock: Clock;
  agents: Agents;
  say: (line: string) => void;
}

/** A temporary failure, worth a retry. */
export class Break extends Error {
  /** Milliseconds that the server asks to wait. */
  readonly retryAfterMs: number;

  constructor(reason: string, retryAfterMs = 0) {
    super(reason);
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * Retries an attempt with backoff until it succeeds.
 *
 * @param tries maximum number of consecutive failures without progress
 * @param attempt calls `alive` for each byte that arrives; the signal aborts it after `stallMs` without a call
 * @throws DataError when a retry wouldn't help, or the last one failed
 */
export async function retried<Result>(
  url: string,
  { clock, say }: Network,
  tries: number,
  attempt: (signal: AbortSignal, alive: () => void) => Promise<Result>,
  gained = () => false,
): Promise<Result> {
  for (let failed = 1; ; failed++) {
    try {
      return await unlessStalled(clock, attempt);
    } catch (error) {
      if (!(error instanceof Break)) throw error;
      if (gained()) failed = 1;
      if (failed >= tries) {
        const often = tries === 1 ? "" : `, ${tries} times in a row`;
        throw new DataError(url, `${error.message}${often}`, "a complete answer");
      }
      const pauseMs = Math.max(Math.min(firstPauseMs * 2 ** (failed - 1), maxPauseMs), error.retryAfterMs);
      say(`${url}: ${error.message}; retrying in ${Math.ceil(pauseMs / 1000)} s`);
      await clock.wait(pauseMs);
    }
  }
}

/** Aborts an attempt that receives no byte for too long. */
async function unlessStalled<Result>(
  clock: Clock,
  attempt: (signal: AbortSignal, alive: () => void) => Promise<Result>,
): Promise<Result> {
  const [stalled, over] = [new AbortController(), new AbortController()];
  let isAlive = true;
  const watch = async () => {
    while (isAlive && !over.signal.aborted) {
      isAlive = false;
      await clock.wait(stallMs, over.signal);
    }
    if (!over.signal.aborted) stalled.abort(new Break(`nothing for ${stallMs / 1000} s`));
  };
  const watching = watch();
  try {
    return await attempt(stalled.signal, () => {
      isAlive = true;
    });
  } finally {
    over.abort();
    // An unread response would keep the process alive.
    stalled.abort();
    await watching;
  }
}

/** Turns a network error into a Break, or into a DataError if a retry wouldn't help. */
function broken(url: string, what: string, error: unknown, signal: AbortSignal): Error {
  if (signal.aborted && signal.reason instanceof Error) return signal.reason;
  if (!(error instanceof Error)) return new Break(`${what} (${error})`);
  const code = "code" in error ? String(error.code) : "";
  // OpenSSL's messages have several lines.
  const reason = error.message.trim().replace(/\s+/g, " ") || code;
  if (/CERT|SIGNATURE|ISSUER|ERR_TLS/.test(code))
    return new DataError(url, `a certificate that can't be trusted (${reason})`, "a valid one");
  if (code !== "ERR_PROXY_TUNNEL" || !("statusCode" in error)) return new Break(`${what} (${reason})`);
  // Node's message: "Failed to establish tunnel to <host> via <proxy>: " and "HTTP/1.1 <status>" or another reply.
  const [, proxy = "", status = error.statusCode] = / via (\S+):(?: HTTP\S* (.*))?/.exec(reason) ?? [];
  if (Number.isNaN(error.statusCode))
    return new DataError(url, `an answer that isn't HTTP of the proxy ${proxy}`, "an HTTP proxy");
  const refused = `status ${status} of the proxy ${proxy}`;
  return Number(error.statusCode) < 500 ? new DataError(url, refused, "a way through") : new Break(refused);
}

const connectionSettings = { keepAlive: false };
export const directAgents: Agents = {
  http: new http.Agent(connectionSettings),
  https: new https.Agent(connectionSettings),
};

/** Agents for the proxies in HTTPS_PROXY, HTTP_PROXY and NO_PROXY. @throws DataError when one of them is malformed */
export function agentsBy(environment: NodeJS.ProcessEnv): Agents {
  const [http_proxy, https_proxy] = ["HTTP_PROXY", "HTTPS_PROXY"].map((name) => proxyIn(environment, name));
  // Lower-case variables take precedence, as in other programs.
  const proxyEnv = { http_proxy, https_proxy, no_proxy: environment.no_proxy || environment.NO_PROXY };
  // An AbortSignal doesn't cover connecting to a proxy, so a timeout is set too.
  const settings = { ...connectionSettings, proxyEnv, timeout: stallMs };
  return { http: new http.Agent(settings), https: new https.Agent(settings) };
}

function proxyIn(environment: NodeJS.ProcessEnv, name: string): string | undefined {
  const variable = environment[name.toLowerCase()] ? name.toLowerCase() : name;
  const text = environment[variable];
  if (!text) return undefined;
  // The default scheme is http, as in curl.
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`);
  if (url !== null && /^https?:$/.test(url.protocol) && areEscaped(url.username + url.password))
    return url.href;
  throw new DataError(variable, shownAddress(text), "an http or https proxy, such as http://127.0.0.1:3128");
}

function areEscaped(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * Requests a URL and follows redirects. The caller must read the response (200, 206, 304 or 416) to its end or destroy
 * it.
 *
 * @throws Break when a retry may succeed, DataError when it won't
 */
export async function openAddress(
  url: string,
  headers: Record<string, string>,
  signal: AbortSignal,
  agents: Agents,
): Promise<IncomingMessage> {
  const visited = [url];
  const accepted = [
    200,
    ...("range" in headers ? [206, 416] : []),
    ...("if-none-match" in headers ? [304] : []),
  ];
  for (let address = url; ; ) {
    const response = await ask(address, headers, signal, agents).catch((error: unknown) => {
      throw broken(url, "no connection", error, signal);
    });
    const { statusCode: status = 0 } = response;
    if (accepted.includes(status)) {
      const { "content-encoding": coding = "" } = response.headers;
      if (/^(identity)?$/i.test(coding)) return response;
      response.destroy();
      throw new DataError(url, `content coding ${coding}`, "the file as it is");
    }
    response.destroy();
    if (status < 300 || status > 399 || status === 304) throw refusal(url, response);
    address = redirection(url, status, address, response.headers.location);
    if (visited.includes(address)) throw new DataError(url, "a redirect loop", "a file");
    if (visited.length > maxRedirects)
      throw new DataError(url, `more than ${maxRedirects} redirects`, "a file");
    visited.push(address);
  }
}

function ask(
  address: string,
  headers: Record<string, string>,
  signal: AbortSignal,
  agents: Agents,
): Promise<IncomingMessage> {
  const { request } = address.startsWith("https:") ? https : http;
  const agent = address.startsWith("https:") ? agents.https : agents.http;
  const all = { accept: "*/*", "accept-encoding": "identity", ...headers };
  return new Promise((resolve, reject) => {
    request(address, { headers: all, signal, agent })
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
  if (statusCode < 500 && ![408, 425, 429].includes(statusCode)) return new DataError(url, found, "a file");
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

/** The time by the server's clock, to which Retry-After dates refer. */
function serverTime(headers: IncomingHttpHeaders): number {
  return Date.parse(headers.date ?? "");
}

/** Yields the bytes of a response's body. @throws Break when the connection breaks */
export async function* bodyOf(
  url: string,
  response: IncomingMessage,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  try {
    yield* response;
  } catch (error) {
    throw broken(url, "a broken connection", error, signal);
  }
}

/** Reads a response's body as text. @throws DataError when it has more than `maxBytes` */
export async function readText(
  url: string,
  body: AsyncIterable<Buffer>,
  maxBytes: number,
  alive: (bytes: number) => void,
): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    alive(chunk.length);
    bytes += chunk.length;
    if (bytes > maxBytes) throw new DataError(url, "more", `at most ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

export const systemClock: Clock = {
  now: () => performance.now(),
  wait: (ms, signal) =>
    new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal?.addEventListener("abort", done);
      if (signal?.aborted) done();
    }),
};
