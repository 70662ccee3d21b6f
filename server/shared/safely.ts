/** Keeps the failure of a callback from ending the process. */

/** The stack of an error, for the log; of anything else that was thrown its text. */
export function stackOf(error: unknown): string {
  return error instanceof Error ? String(error.stack) : String(error);
}

/**
 * Wraps a callback of an event, a message or a timer. Without it, an exception that leaves the callback, or a rejected
 * promise that it returns, ends the process.
 *
 * @param onError called with what was thrown, and with the arguments of the callback
 */
export function safely<Args extends unknown[]>(
  work: (...args: Args) => unknown,
  onError: (error: unknown, ...args: Args) => void,
): (...args: Args) => void {
  const tell = (error: unknown, args: Args) => {
    try {
      onError(error, ...args);
    } catch {
      // There is nobody left to tell.
    }
  };
  return (...args) => {
    try {
      const result = work(...args);
      if (result instanceof Promise) result.catch((error) => tell(error, args));
    } catch (error) {
      tell(error, args);
    }
  };
}
