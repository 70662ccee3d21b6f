import { DataError, shown } from "../engine/index.ts";

/** Requests to a publisher's server, which may be slow, overloaded or gone for a while. */

/** No byte for so long ends a try. */
export const stallMs = 30_000;
const maxRedirects = 5;
const firstPauseMs = 1000;
const maxPauseMs = 30_000;
/** What a server may ask to be waited for. */
const maxRetryAfterMs = 300_000;

/** Time, which tests have in hand. */
export interface Clock {
  now(): number;
  /** Done after so long, or when the signal is aborted. */
  wait(ms: number, signal?: AbortSignal): Promise<void>;
}

/** What requests work with beside the network itself. */
export interface Network {
  clock: Clock;
  /** Takes a line for whoever waits. */
  say: (line: string) => void;
}

/** What has broken off, and may go better next time. */
export class Break extends Error {
  /** What the server asks to be waited for. */
  readonly retryAfterMs: number;

  constructor(reason: string, retryAfterMs = 0) {
    super(reason);
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * Does something that may break off until it is done, with growing pauses.
 *
 * @param tries how many in a row may come to nothing
 * @param attempt calls `alive` whenever a byte has come, without which for `stallMs` the signal ends it
 * @param gained whether the last try brought more than all before it
 * @throws DataError what no further try would mend, or when it has been tried often enough
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
      const broken = error instanceof Break ? error : breakOf(url, error);
      if (gained()) failed = 1;
      if (failed >= tries) {
        const often = tries === 1 ? "" : `, ${tries} times in a row`;
        throw new DataError(url, `${broken.message}${often}`, "an answer to its end");
      }
      const pauseMs = Math.max(Math.min(firstPauseMs * 2 ** (failed - 1), maxPauseMs), broken.retryAfterMs);
      say(`${url}: ${broken.message}; tried again in ${Math.ceil(pauseMs / 1000)} s`);
      await clock.wait(pauseMs);
    }
  }
}

/** Ends an attempt during which no byte comes for long. */
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
    // An answer that isn't read to its end would keep the process.
    stalled.abort();
    await watching;
  }
}

/**
 * What the network says, as a reason to try again.
 *
 * @throws what isn't of the network, and what stays as it is
 */
function breakOf(url: string, error: unknown): Break {
  // fetch() throws these, and has the reason inside.
  if (!(error instanceof TypeError) || !/^(fetch failed|terminated)$/.test(error.message)) throw error;
  const { cause } = error;
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  const reason = (cause instanceof Error && cause.message) || code || error.message;
  if (/CERT|SIGNATURE|ISSUER|ERR_TLS/.test(code))
    throw new DataError(url, `a certificate that can't be trusted (${reason})`, "a valid one");
  return new Break(`${error.message === "terminated" ? "a broken" : "no"} connection (${reason})`);
}

/**
 * Asks for an address, wherever it has moved.
 *
 * @returns an answer of status 200, or for a range 206 or 416
 * @throws Break when the server may do better later
 * @throws DataError when it won't
 */
export async function openAddress(
  url: string,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<Response> {
  const visited = [url];
  for (let address = url; ; ) {
    const response = await fetch(address, {
      headers: { accept: "*/*", "accept-encoding": "identity", ...headers },
      redirect: "manual",
      signal,
    });
    const { status } = response;
    if (status === 200 || ("range" in headers && (status === 206 || status === 416))) return response;
    // Nobody reads it; the connection may be used again.
    await response.body?.cancel();
    if (status < 300 || status > 399 || status === 304) throw refusal(url, response);
    const to = URL.parse(response.headers.get("location") ?? "", address);
    if (to === null || !/^https?:$/.test(to.protocol))
      throw new DataError(url, `a redirect (${status}) to no web address`, "a file");
    if (new URL(address).protocol === "https:" && to.protocol === "http:")
      throw new DataError(url, `a redirect to ${shown(to.href)} without encryption`, "https");
    if (visited.includes(to.href) || visited.length > maxRedirects)
      throw new DataError(
        url,
        visited.includes(to.href) ? "redirects in a circle" : `more than ${maxRedirects} redirects`,
        "a file",
      );
    address = to.href;
    visited.push(address);
  }
}

function refusal(url: string, { status, statusText, headers }: Response): Error {
  const found = `status ${status}${statusText === "" ? "" : ` ${statusText}`}`;
  if (status < 500 && status !== 408 && status !== 425 && status !== 429)
    return new DataError(url, found, "a file");
  const after = headers.get("retry-after") ?? "";
  const seconds = /^[0-9]+$/.test(after) ? Number(after) : (Date.parse(after) - serverTime(headers)) / 1000;
  const retryAfterMs = Number.isFinite(seconds) ? Math.max(0, seconds * 1000) : 0;
  if (retryAfterMs > maxRetryAfterMs)
    return new DataError(
      url,
      `${found}, to be tried again after ${Math.ceil(seconds)} s`,
      `an answer within ${maxRetryAfterMs / 1000} s`,
    );
  return new Break(found, retryAfterMs);
}

/** By the server's clock, as a date to wait for is, too. */
function serverTime(headers: Headers): number {
  return Date.parse(headers.get("date") ?? "");
}

/** @throws DataError when there is more of it than `maxBytes` */
export async function readText(response: Response, maxBytes: number, alive: () => void): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    alive();
    bytes += chunk.length;
    if (bytes > maxBytes) throw new DataError(response.url, `more than ${maxBytes} bytes`, "a catalogue");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** The machine's own clock. */
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
