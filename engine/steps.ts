/** Splits long work into short steps, between which a thread can answer requests. */

export type Steps<Result> = Generator<void, Result>;

/**
 * Items per step, such as facilities or words. A step takes a fraction of a millisecond, even if its code isn't compiled
 * yet.
 */
export const itemsPerStep = 8;

export function atOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}
