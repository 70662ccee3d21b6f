import { renewSettings, settings } from "./settings.ts";

/** Sends requests to the API, with the visitor's own key or that of the pages. */

export const base = "/api/v1";
/** Seconds to wait for another try. A longer Retry-After is about the month's quota. */
const maxWaitSeconds = 5;
/** Retries of a request that exceeds the rate. */
const maxRetries = 5;
const ownKeyName = "hcqs-key";

/** A failed request: an error of the API, or `offline` where the server can't be reached. */
export class Failure extends Error {
  /** The status; 0 where there was no answer. */
  readonly status: number;
  readonly type: string;
  readonly param: string | undefined;
  /** The value of the Retry-After header. */
  readonly retrySeconds: number | undefined;

  constructor(status: number, type: string, message: string, param?: string, retrySeconds?: number) {
    super(message);
    this.status = status;
    this.type = type;
    this.param = param;
    this.retrySeconds = retrySeconds;
  }
}

export const asFailure = (error: unknown): Failure =>
  error instanceof Failure
    ? error
    : new Failure(500, "internal_error", error instanceof Error ? error.message : String(error));

export const keyChanged = "hcqs-key-changed";

/** The visitor's own key, which stays in this browser. */
export function ownKey(): string | null {
  return localStorage.getItem(ownKeyName);
}

export function keepKey(key: string | null): void {
  if (key === null) localStorage.removeItem(ownKeyName);
  else localStorage.setItem(ownKeyName, key);
  dispatchEvent(new Event(keyChanged));
}

/** The key for requests; null where there is none. */
function currentKey(): string | null {
  return ownKey() ?? settings.key;
}

/**
 * The answer to a GET. Retries while the rate is exceeded.
 *
 * @param path with `base` and query
 * @throws Failure
 */
export async function get<T>(path: string): Promise<T> {
  return (await answerTo(path)).json();
}

export async function getFile(path: string): Promise<Blob> {
  return (await answerTo(path)).blob();
}

const answerTo = (path: string) => inTime(() => request(path));

async function inTime(tryIt: () => Promise<Response>): Promise<Response> {
  for (let retries = 0; ; retries++) {
    const response = await tryIt();
    if (response.ok) return response;
    const failure = await failureOf(response);
    const { status, retrySeconds = Number.POSITIVE_INFINITY } = failure;
    if (status !== 429 || retrySeconds > maxWaitSeconds || retries === maxRetries) throw failure;
    await new Promise((resolve) => setTimeout(resolve, retrySeconds * 1000));
  }
}

/** The response to a GET with the current key, whatever its status. @throws Failure where there is none */
export async function request(path: string, options: RequestInit = {}): Promise<Response> {
  const response = await send(path, options, currentKey());
  const isPageKey = response.status === 401 && ownKey() === null;
  return isPageKey && (await renewSettings()) ? send(path, options, currentKey()) : response;
}

/** The answer to a post to the portal. @throws Failure, after which nothing was changed */
export async function post<T>(path: string, body: object, key = currentKey()): Promise<T> {
  const headers = { "Content-Type": "application/json" };
  const options = { method: "POST", body: JSON.stringify(body), headers };
  return (await inTime(() => send(path, options, key))).json();
}

async function send(path: string, options: RequestInit, key: string | null): Promise<Response> {
  const headers = new Headers(options.headers);
  if (key !== null) headers.set("Authorization", `Bearer ${key}`);
  try {
    return await fetch(path, { ...options, headers });
  } catch {
    throw new Failure(0, "offline", "the server can't be reached");
  }
}

export async function failureOf(response: Response): Promise<Failure> {
  const body = await response.json().catch(() => ({}));
  const { type = "internal_error", message = response.statusText, param } = body.error ?? {};
  const retry = response.headers.get("Retry-After");
  return new Failure(response.status, type, message, param, retry === null ? undefined : Number(retry));
}
