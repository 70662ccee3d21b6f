/** What tells a synthetic snapshot from one of real data, without what makes one. */

/** The publisher of synthetic snapshots, and of no other. */
export const syntheticPublisher = "Healthcare Charge Query Service (synthetic)";

/** Whether a snapshot is a sample, whose facilities and amounts are invented, by what it says of itself. */
export function isSynthetic({ publisher }: { publisher: string }): boolean {
  return publisher === syntheticPublisher;
}
