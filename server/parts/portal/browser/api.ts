import type { PageSettings } from "../pages.ts";
import type { FacilitiesAnswer } from "./answers.ts";

/** Reads the server's texts in the page. Sends requests with the visitor's key, or else the key of `PORTAL_ACCOUNT`. */

export let settings: PageSettings = settingsIn(document);

function settingsIn(page: Document): PageSettings {
  return JSON.parse(page.querySelector("#settings")?.textContent ?? "{}");
}

const first = location.href;
const sentence = document.querySelector(".sentence")?.innerHTML;

/** Whether the server wrote prices into the page. If not, it wrote why there are none, or nothing. */
export const hasWrittenPrices = sentence?.includes('class="charge"') ?? false;

/** The sentence that the server wrote into the page; empty if the URL isn't the page's first URL. */
export const writtenAt = ({ href }: URL): string => (href === first && sentence) || "";

/** The server replaces the pages' key daily. @returns whether the key has changed */
async function renewSettings(): Promise<boolean> {
  const before = settings.key;
  const response = await fetch("/", { cache: "no-store" });
  settings = settingsIn(new DOMParser().parseFromString(await response.text(), "text/html"));
  return settings.key !== before;
}

export const base = "/api/v1";
/** Maximum seconds to wait before a retry. A longer Retry-After means that a limit of a day or month is used up. */
const maxWaitSeconds = 5;
const maxRetries = 5;

/** A failed request. Its type is the type of the API's error, or `offline` if the server can't be reached. */
export class Failure extends Error {
  /** The HTTP status; 0 without an answer. */
  readonly status: number;
  readonly type: string;
  readonly param: string | undefined;
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

const ownKeyName = "hcqs-key";
export const keyChanged = "hcqs-key-changed";

/** The visitor's own key; null if this browser has none. */
export function ownKey(): string | null {
  return localStorage.getItem(ownKeyName);
}

export function keepKey(key: string | null): void {
  if (key === null) localStorage.removeItem(ownKeyName);
  else localStorage.setItem(ownKeyName, key);
  dispatchEvent(new Event(keyChanged));
}

const currentKey = () => ownKey() ?? settings.key;

/** Sends a GET, and retries a few times if the rate is exceeded. @param path with `base` and query @throws Failure */
export async function get<T>(path: string): Promise<T> {
  return (await inTime(() => request(path))).json();
}

export async function getFile(path: string): Promise<Blob> {
  const response = await inTime(() => request(path));
  return reached(response.blob());
}

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

/**
 * Sends a request with the current key. If the server doesn't know the pages' key any more, renews the key and sends
 * the request again.
 * @returns the response, whatever its status
 * @throws Failure when there is no response
 */
export async function request(path: string, options: RequestInit = {}): Promise<Response> {
  const response = await send(path, options, currentKey());
  const isPageKey = response.status === 401 && ownKey() === null;
  return isPageKey && (await renewSettings()) ? send(path, options, currentKey()) : response;
}

/** @throws Failure */
export async function post<T>(path: string, body: object, key = currentKey()): Promise<T> {
  const headers = { "Content-Type": "application/json" };
  const options = { method: "POST", body: JSON.stringify(body), headers };
  return (await inTime(() => send(path, options, key))).json();
}

function send(path: string, options: RequestInit, key: string | null): Promise<Response> {
  const headers = new Headers(options.headers);
  if (key !== null) headers.set("Authorization", `Bearer ${key}`);
  return reached(fetch(path, { ...options, headers }));
}

/** @throws Failure when the connection breaks */
const reached = <T>(awaited: Promise<T>): Promise<T> =>
  awaited.catch(() => {
    throw new Failure(0, "offline", "the server can't be reached");
  });

async function failureOf(response: Response): Promise<Failure> {
  const body = await response.json().catch(() => ({}));
  const { type = "internal_error", message = response.statusText, param } = body.error ?? {};
  const retry = response.headers.get("Retry-After");
  return new Failure(response.status, type, message, param, retry === null ? undefined : Number(retry));
}

/** Leaves out parameters that are null or empty. @param version a data version or a year */
export function pathOf(
  path: string,
  parameters: Record<string, string | number | null> = {},
  version: string | null = null,
): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters))
    if (value !== null && value !== "") query.set(name, String(value));
  const of = version === null ? "" : `/versions/${encodeURIComponent(version)}`;
  return `${base}${of}${path}${query.size === 0 ? "" : `?${query}`}`;
}

/** The latest answers by path, oldest first. From them the back button shows a view at once. */
const kept = new Map<string, { answer: Promise<unknown>; atMs: number }>();
const maxKeptAnswers = 60;
const maxKeptMs = 300_000;

/** Whether an error means that there is no data for the arguments. The same request would fail again. */
const isAbsence = (error: unknown): error is Failure =>
  error instanceof Failure && (error.status === 404 || error.status === 400);

/** Keeps answers, and failures with status 400 or 404, for some minutes. Shares requests in flight. @throws Failure */
export function ask<T>(path: string): Promise<T> {
  const known = kept.get(path);
  if (known !== undefined && Date.now() - known.atMs < maxKeptMs) return known.answer as Promise<T>;
  const answer = get<T>(path);
  kept.delete(path);
  kept.set(path, { answer, atMs: Date.now() });
  answer.catch((error) => {
    if (!isAbsence(error) && kept.get(path)?.answer === answer) kept.delete(path);
  });
  const [oldest] = kept.keys();
  if (kept.size > maxKeptAnswers) kept.delete(oldest);
  return answer;
}

/** @returns a failure only if there is no data for the arguments @throws Failure of any other kind */
export async function askOrFailure<T>(path: string): Promise<T | Failure> {
  try {
    return await ask<T>(path);
  } catch (error) {
    if (isAbsence(error)) return error;
    throw error;
  }
}

export const unlessFailed = <T extends object>(answer: T | Failure | null): T | null =>
  answer instanceof Failure ? null : answer;

/** @returns an answer with the rows of all pages, or a failure if there is no data */
export async function rowsAt(path: string): Promise<FacilitiesAnswer | Failure> {
  const first = await askOrFailure<FacilitiesAnswer>(path);
  if (first instanceof Failure) return first;
  const data = [...first.data];
  for (let { next } = first; next !== null; ) {
    const page = await ask<FacilitiesAnswer>(next);
    data.push(...page.data);
    next = page.next;
  }
  return { ...first, data, next: null };
}
