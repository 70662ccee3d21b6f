/** Data that can't be trusted. The message says subject, found and expected, and is fit for an operator's eyes. */
export class DataError extends Error {
  readonly subject: string;
  readonly found: string;
  readonly expected: string;

  constructor(subject: string, found: string, expected: string) {
    super(`${subject}: found ${found}, expected ${expected}`);
    this.name = "DataError";
    this.subject = subject;
    this.found = found;
    this.expected = expected;
  }
}

/** Data that may be good, and need more memory than there is for them. */
export class SizeError extends DataError {}

/** Input as shown in a message: one line, quoted, at most 64 characters of it. */
export function shown(value: string): string {
  return JSON.stringify(value.length > 64 ? `${value.slice(0, 63)}…` : value);
}

/** @throws DataError when a text isn't JSON */
export function jsonIn(text: string, subject: string, expected: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new DataError(subject, "no JSON", expected);
  }
}

/** What was thrown, in words. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // When each of several addresses fails, there is only a code.
  return error.message || ("code" in error ? String(error.code) : error.name);
}

/** What the operating system had against a file, without the code and the path; of any other error its words. */
export function fileReasonOf(error: unknown): string {
  const reason = reasonOf(error);
  return systemCode(error) === undefined
    ? reason
    : reason.replace(/^[A-Z0-9]+: (.+?), [a-z]+(?: '.*)?$/s, "$1");
}

/** The code of an operating system's error, such as ENOENT; undefined for anything else. */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error && "syscall" in error && "code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}
