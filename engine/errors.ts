/** An error in data, arguments or settings, for an operator. */
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

export class SizeError extends DataError {}

/** Formats input for messages: quoted, on one line, and cut to 64 characters. */
export function shown(value: string): string {
  return JSON.stringify(value.length > 64 ? `${value.slice(0, 63)}…` : value);
}

/** @throws DataError when the text isn't JSON */
export function jsonIn(text: string, subject: string, expected: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new DataError(subject, "no JSON", expected);
  }
}

export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // When connections to all addresses of a host fail, the error has only a code.
  return error.message || ("code" in error ? String(error.code) : error.name);
}

/** An operating system's reason without code and path; any other error's message. */
export function fileReasonOf(error: unknown): string {
  const reason = reasonOf(error);
  return systemCode(error) === undefined
    ? reason
    : reason.replace(/^[A-Z0-9]+: (.+?), [a-z]+(?: '.*)?$/s, "$1");
}

/** undefined for any error but an operating system's */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error && "syscall" in error && "code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}
