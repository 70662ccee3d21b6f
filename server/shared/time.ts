/** Instants are whole Unix milliseconds everywhere inside; people and clients of the API read them as ISO 8601 in UTC. */

/** The last instant that has an ISO form with a year of four digits: the end of the year 9999 in UTC. */
export const maxTimeMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** An instant such as `2027-01-31T00:00:00.000Z`. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** The same of one that may be missing. */
export function isoTimeOrNull(ms: number | null): string | null {
  return ms === null ? null : isoTime(ms);
}
