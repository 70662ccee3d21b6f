export function stackOf(error: unknown): string {
  return error instanceof Error ? String(error.stack) : String(error);
}

/** Wraps a callback, so that its exceptions and rejections go to `onError` instead of ending the process. */
export function safely<Args extends unknown[]>(
  work: (...args: Args) => unknown,
  onError: (error: unknown, ...args: Args) => void,
): (...args: Args) => void {
  const tell = (error: unknown, args: Args) => {
    try {
      onError(error, ...args);
    } catch {
      // There is nowhere to report an error of `onError`.
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
