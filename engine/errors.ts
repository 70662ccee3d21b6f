/** An error for an operator, mostly in data, arguments or settings. */
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

/**
 * A DataError of a file that made the decoder fail. The decoder's memory can no longer be trusted, so its thread must
 * end.
 */
export class DecoderError extends DataError {}

/** Formats input for messages: quoted, on one line, without the credentials of a URL, and cut to 64 characters. */
export function shown(text: string): string {
  const value = text.replace(/(:[/\\]{2}).*@/s, "$1…@");
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

/** Returns an error's message, or its code or name if the message is empty. Converts any other value to text. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // When connections to all addresses of a host fail, the error has only a code.
  return error.message || ("code" in error ? String(error.code) : error.name);
}

/**
 * Returns a file system error's reason without code and path, or the result of `reasonOf` for any other error.
 */
export function fileReasonOf(error: unknown): string {
  const reason = reasonOf(error);
  return systemCode(error) === undefined
    ? reason
    : reason.replace(/^[A-Z0-9]+: (.+?), [a-z]+(?: '.*)?$/s, "$1");
}

/** Returns the code, such as ENOENT, of an error that names a system call; undefined for other errors. */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error && "syscall" in error && "code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}
