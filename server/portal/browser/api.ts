import { renewSettings, settings } from "./settings.ts";

/** Asks the API, with the visitor's own key if there is one. */

export const base = "/api/v1";
const ownKeyName = "hcqs-key";

/** Why there is no answer: an error of the API, or `offline` when the server can't be reached. */
export class Failure extends Error {
  /** 0 when there was no answer. */
  readonly status: number;
  readonly type: string;
  readonly param: string | undefined;
  /** From the Retry-After header. */
  readonly retrySeconds: number | undefined;

  constructor(status: number, type: string, message: string, param?: string, retrySeconds?: number) {
    super(message);
    this.status = status;
    this.type = type;
    this.param = param;
    this.retrySeconds = retrySeconds;
  }
}

/** Told to the window when the visitor's own key becomes another one. */
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

/** The key that requests are made with; null: none is there. */
export function currentKey(): string | null {
  return ownKey() ?? settings.key;
}

/**
 * The answer to a GET.
 *
 * @param path with `base` and query
 * @throws Failure
 */
export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return bodyOf<T>(await ask(path, { signal: signal ?? null }));
}

/** The answer to something done on the portal. @throws Failure */
export async function post<T>(path: string, body: object, key = currentKey()): Promise<T> {
  const headers = { "Content-Type": "application/json" };
  return bodyOf<T>(await send(path, { method: "POST", body: JSON.stringify(body), headers }, key));
}

/** The answer as it came, whatever its status, for who asks with the present key. @throws Failure when there is none */
export async function ask(path: string, options: RequestInit = {}): Promise<Response> {
  const response = await send(path, options, currentKey());
  const isPageKey = response.status === 401 && ownKey() === null;
  return isPageKey && (await renewSettings()) ? send(path, options, currentKey()) : response;
}

async function send(path: string, options: RequestInit, key: string | null): Promise<Response> {
  const headers = new Headers(options.headers);
  if (key !== null) headers.set("Authorization", `Bearer ${key}`);
  try {
    return await fetch(path, { ...options, headers });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Failure(0, "offline", "the server can't be reached");
  }
}

async function bodyOf<T>(response: Response): Promise<T> {
  if (!response.ok) throw await failureOf(response);
  return response.json();
}

/** What an answer says that isn't what was asked for. */
export async function failureOf(response: Response): Promise<Failure> {
  const body = await response.json().catch(() => ({}));
  const { type = "internal_error", message = response.statusText, param } = body.error ?? {};
  const retry = response.headers.get("Retry-After");
  return new Failure(response.status, type, message, param, retry === null ? undefined : Number(retry));
}
