/** This module is separate, so that the generator needn't be loaded. */

export const syntheticPublisher = "Healthcare Charge Query Service (synthetic)";

export function isSynthetic({ publisher }: { publisher: string }): boolean {
  return publisher === syntheticPublisher;
}
