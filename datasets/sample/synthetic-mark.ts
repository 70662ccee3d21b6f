/** Recognises synthetic snapshots. This module is separate, so that the generator needn't be loaded. */

/** The publisher of all synthetic snapshots. */
export const syntheticPublisher = "Healthcare Charge Query Service (synthetic)";

/** Whether a snapshot is a synthetic sample, by its publisher. */
export function isSynthetic({ publisher }: { publisher: string }): boolean {
  return publisher === syntheticPublisher;
}
