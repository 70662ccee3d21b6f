import type { Image } from "../image/image.ts";
import type { Steps } from "../steps.ts";
import { makeNames } from "./names.ts";
import { deriveIndex, documentKinds } from "./text-index.ts";

/**
 * Derives in steps the indexes and names that searches need. Otherwise, a thread's first searches derive them without a
 * pause.
 */
export function* prepareSearch(image: Image): Steps<void> {
  for (const kind of documentKinds) yield* deriveIndex(image, kind);
  yield* makeNames(image);
}
