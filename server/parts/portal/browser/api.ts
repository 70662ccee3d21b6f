import { type Ask, Failure, isAbsence, type Known } from "./answers.ts";
import { context, drawIn, type PageSettings } from "./context.ts";

/**
 * Reads the settings and answers that the server has put into the page. Sends requests with the visitor's key, or with the
 * pages' key if this browser has no key.
 */

function settingsIn(page: Document): PageSettings {
  return jsonIn(page, "settings");
}

function jsonIn(page: Document, id: string) {
  return JSON.parse(page.getElementById(id)?.textContent ?? "{}");
}

/** Sets a browser's context, and keeps the answers that came with the page. */
export function begin(): void {
  const typed = new Map(
    Array.from(document.querySelectorAll<HTMLInputElement>(".field > input"), (input) =>
      input.value === input.defaultValue ? [] : [[input.name, input.value] as const],
    ).flat(),
  );
  drawIn({
    settings: settingsIn(document),
    url: () => new URL(location.href),
    ownKey: () => localStorage.getItem(ownKeyName),
    ask: askKnown,
    // Each text is returned only once. Otherwise it would come back whenever its field is drawn again.
    typedIn(field) {
      const text = typed.get(field) ?? null;
      typed.delete(field);
      return text;
    },
    entitle() {},
    means() {},
    misses() {},
  });
  for (const [path, one] of Object.entries<Known[string]>(jsonIn(document, "answers")))
    know(path, "answer" in one ? one.answer : new Failure(...one.failed));
}

/** Fetches the settings again, because the server replaces the pages' key daily. @returns whether the key has changed */
async function renewSettings(): Promise<boolean> {
  const { settings } = context;
  const response = await reached(fetch("/", { cache: "no-store" }));
  if (!response.ok) return false;
  const renewed = settingsIn(new DOMParser().parseFromString(await reached(response.text()), "text/html"));
  drawIn({ ...context, settings: renewed });
  return renewed.key !== settings.key;
}

/** Maximum seconds to wait before a retry. After a longer Retry-After there is no retry. */
const maxWaitSeconds = 5;
const maxRetries = 5;

export const asFailure = (error: unknown): Failure =>
  error instanceof Failure
    ? error
    : new Failure(500, "internal_error", error instanceof Error ? error.message : String(error));

const ownKeyName = "hcqs-key";
export const keyChanged = "hcqs-key-changed";

export const ownKey = (): string | null => context.ownKey();

export function keepKey(key: string | null): void {
  if (key === null) localStorage.removeItem(ownKeyName);
  else localStorage.setItem(ownKeyName, key);
  dispatchEvent(new Event(keyChanged));
}

const currentKey = () => ownKey() ?? context.settings.key;

/** Sends a GET. Retries a few times if the rate is exceeded. @param path with `base` and query @throws Failure */
export async function get<T>(path: string): Promise<T> {
  return answerIn(await inTime(() => request(path)));
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
 * the request again. Returns the response, whatever its status.
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
  return answerIn(await inTime(() => send(path, options, key)));
}

const answerIn = async (response: Response) => JSON.parse(await reached(response.text()));

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
  const { type = "internal_error", message = response.statusText, param, places, absent } = body.error ?? {};
  const retry = response.headers.get("Retry-After");
  const retrySeconds = retry === null ? undefined : Number(retry);
  return new Failure(response.status, type, message, { param, places, absent, retrySeconds });
}

/** The latest answers by path, oldest first. With them, the back button can show a view without a request. */
const known = new Map<string, { answer: object | Failure; atMs: number }>();
const maxKnownAnswers = 60;
const maxKnownMs = 300_000;
const asked = new Map<string, Promise<object | Failure>>();

function know(path: string, answer: object | Failure): void {
  known.delete(path);
  known.set(path, { answer, atMs: Date.now() });
  const [oldest] = known.keys();
  if (known.size > maxKnownAnswers) known.delete(oldest);
}

function knownAt(path: string): object | Failure | undefined {
  const found = known.get(path);
  return found !== undefined && Date.now() - found.atMs < maxKnownMs ? found.answer : undefined;
}

/**
 * Returns an answer, or a failure that `isAbsence` accepts. Keeps the latest results for some minutes. Calls for the same
 * path share a request in flight. @throws Failure of any other kind
 */
export async function askOrFailure<T extends object>(path: string): Promise<T | Failure> {
  const found = knownAt(path) ?? asked.get(path);
  if (found !== undefined) return found as T | Failure | Promise<T | Failure>;
  const answer = get<T>(path)
    .catch((error: unknown) => {
      if (isAbsence(error)) return error;
      throw error;
    })
    .then((arrived) => {
      know(path, arrived);
      return arrived;
    })
    .finally(() => asked.delete(path));
  asked.set(path, answer);
  return answer;
}

/** Like `askOrFailure`, but throws every failure. */
export async function ask<T extends object>(path: string): Promise<T> {
  const answer = await askOrFailure<T>(path);
  if (answer instanceof Failure) throw answer;
  return answer;
}

/** Thrown when a view asks for answers that haven't arrived yet. */
export class Lacking extends Error {
  readonly paths: readonly string[];

  constructor(paths: readonly string[]) {
    super("answers are lacking");
    this.paths = paths;
  }
}

const askKnown: Ask = <Answers extends object[]>(...paths: { [I in keyof Answers]: string }) => {
  const lacking = paths.filter((path) => knownAt(path) === undefined);
  if (lacking.length > 0) throw new Lacking(lacking);
  return paths.map(knownAt) as { [I in keyof Answers]: Answers[I] | Failure };
};

/** Makes a view from the answers that have already arrived; null if some are missing. */
export function viewNow<T>(view: (ask: Ask) => T): T | null {
  try {
    return view(context.ask);
  } catch (error) {
    if (error instanceof Lacking) return null;
    throw error;
  }
}

/** Makes a view, and fetches the answers that it lacks. @throws Failure */
export async function viewOnce<T>(view: (ask: Ask) => T): Promise<T> {
  for (;;)
    try {
      return view(askKnown);
    } catch (error) {
      if (!(error instanceof Lacking)) throw error;
      await Promise.all(error.paths.map((path) => askOrFailure(path)));
    }
}
