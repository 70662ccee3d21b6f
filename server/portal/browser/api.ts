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

/** The visitor's own key, which stays in this browser. */
export function ownKey(): string | null {
  return localStorage.getItem(ownKeyName);
}

export function keepKey(key: string | null): void {
  if (key === null) localStorage.removeItem(ownKeyName);
  else localStorage.setItem(ownKeyName, key);
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
  const ask = () => request<T>(path, { signal: signal ?? null }, currentKey());
  try {
    return await ask();
  } catch (error) {
    const isPageKey = error instanceof Failure && error.status === 401 && ownKey() === null;
    if (isPageKey && (await renewSettings())) return ask();
    throw error;
  }
}

/** The answer to something done on the portal. @throws Failure */
export function post<T>(path: string, body: object, key = currentKey()): Promise<T> {
  const headers = { "Content-Type": "application/json" };
  return request(path, { method: "POST", body: JSON.stringify(body), headers }, key);
}

async function request<T>(path: string, options: RequestInit, key: string | null): Promise<T> {
  const headers = new Headers(options.headers);
  if (key !== null) headers.set("Authorization", `Bearer ${key}`);
  let response: Response;
  try {
    response = await fetch(path, { ...options, headers });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Failure(0, "offline", "the server can't be reached");
  }
  const body = await response.json().catch(() => ({}));
  if (response.ok) return body;
  const { type = "internal_error", message = response.statusText, param } = body.error ?? {};
  const retry = response.headers.get("Retry-After");
  throw new Failure(response.status, type, message, param, retry === null ? undefined : Number(retry));
}
