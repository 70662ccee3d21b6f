import { pathOfPage } from "./cursor.ts";
import type { Context } from "./endpoint.ts";
import { ApiError, echo } from "./errors.ts";

export function badCursor(segment: string): ApiError {
  const message = `${echo(segment)} is no cursor, expected the next of a page`;
  return new ApiError("invalid_parameter", message, { param: "cursor" });
}

/** Makes the error for a cursor of a release that sorted the list otherwise. */
export function cursorOfOtherRelease(segment: string): ApiError {
  const message = `${echo(segment)} is a cursor of another release, whose list has another order: begin again with the first page`;
  return new ApiError("invalid_parameter", message, { param: "cursor" });
}

/**
 * Returns the path of the next page, valid until the next call; null if there is no next page.
 * @param query returns the list's parameters, percent-encoded; called only if there is a next page
 * @throws ApiError when this page would begin at the list's end or after it
 */
export function nextPage(
  { image, offset: start, segment }: Pick<Context, "image" | "offset" | "segment">,
  list: string,
  total: number,
  limit: number,
  query: () => string,
): Buffer | null {
  if (start >= total) throw badCursor(segment);
  const offset = start + limit;
  return offset < total ? pathOfPage(image, list, offset, query()) : null;
}

export function queryOf(values: object): string {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  return new URLSearchParams(
    given.map(([name, value]): [string, string] => [name, String(value)]),
  ).toString();
}
