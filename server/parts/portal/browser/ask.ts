import type { FacilitiesAnswer } from "./answers.ts";
import { base, Failure, get } from "./api.ts";

/** Fetches answers for views, and caches the latest ones. */

/** A path of the API, without parameters that are null or empty. */
export function pathOf(
  path: string,
  parameters: Record<string, string | number | null> = {},
  year: string | null = null,
): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters))
    if (value !== null && value !== "") query.set(name, String(value));
  const version = year === null ? "" : `/versions/${encodeURIComponent(year)}`;
  return `${base}${version}${path}${query.size === 0 ? "" : `?${query}`}`;
}

/** The latest answers by path, oldest first, so that the back button shows them at once. */
const kept = new Map<string, { answer: Promise<unknown>; atMs: number }>();
const maxKeptAnswers = 60;
const maxKeptMs = 300_000;

/** An answer, perhaps some minutes old. A request that is under way isn't sent twice. @throws Failure */
export function ask<T>(path: string): Promise<T> {
  const known = kept.get(path);
  if (known !== undefined && Date.now() - known.atMs < maxKeptMs) return known.answer as Promise<T>;
  const answer = get<T>(path);
  kept.delete(path);
  kept.set(path, { answer, atMs: Date.now() });
  answer.catch(() => {
    if (kept.get(path)?.answer === answer) kept.delete(path);
  });
  const [oldest] = kept.keys();
  if (kept.size > maxKeptAnswers) kept.delete(oldest);
  return answer;
}

/** An answer, or the failure where there is no data for the arguments. @throws Failure of any other kind */
export async function askIfThere<T>(path: string): Promise<T | Failure> {
  try {
    return await ask<T>(path);
  } catch (error) {
    if (error instanceof Failure && (error.status === 404 || error.status === 400)) return error;
    throw error;
  }
}

/** An answer; null for a failure. */
export const there = <T extends object>(answer: T | Failure | null): T | null =>
  answer instanceof Failure ? null : answer;

/** A list with the rows of all its pages. */
export async function rowsAt(path: string): Promise<FacilitiesAnswer | Failure> {
  const first = await askIfThere<FacilitiesAnswer>(path);
  if (first instanceof Failure) return first;
  const data = [...first.data];
  for (let { next } = first; next !== null; ) {
    const page = await ask<FacilitiesAnswer>(next);
    data.push(...page.data);
    next = page.next;
  }
  return { ...first, data, next: null };
}
