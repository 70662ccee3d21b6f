export const dayMs = 86_400_000;

/** Returns the number of a moment's UTC month: the months since the start of year 0. */
export function monthOf(wallMs: number): number {
  const date = new Date(wallMs);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

export function startOfMonth(month: number): number {
  return Date.UTC(Math.floor(month / 12), month % 12);
}

/** Writes the UTC day of a moment as `YYYY-MM-DD`. */
export function dayName(wallMs: number): string {
  return new Date(wallMs).toISOString().slice(0, 10);
}

/** Writes a month as `YYYY-MM`. */
export function monthName(month: number): string {
  return `${Math.floor(month / 12)}-${String((month % 12) + 1).padStart(2, "0")}`;
}
