/** Tells synthetic snapshots from real ones, without loading the generator. */

/** The publisher of synthetic snapshots, and of no other. */
export const syntheticPublisher = "Healthcare Charge Query Service (synthetic)";

/** Whether a snapshot is a synthetic sample, by its publisher. */
export function isSynthetic({ publisher }: { publisher: string }): boolean {
  return publisher === syntheticPublisher;
}
