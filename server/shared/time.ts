/** Times are whole Unix milliseconds in the code, and ISO 8601 in UTC for people and clients. */

export const maxTimeMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

export function isoTimeOrNull(ms: number | null): string | null {
  return ms === null ? null : isoTime(ms);
}
