/** Data that can't be trusted. The message says subject, found and expected, and is fit for an operator's eyes. */
export class DataError extends Error {
  constructor(subject: string, found: string, expected: string) {
    super(`${subject}: found ${found}, expected ${expected}`);
    this.name = "DataError";
  }
}

/** Input as shown in a message: one line, quoted, at most 64 characters of it. */
export function shown(value: string): string {
  return JSON.stringify(value.length > 64 ? `${value.slice(0, 63)}…` : value);
}

/** What was thrown, in words. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
