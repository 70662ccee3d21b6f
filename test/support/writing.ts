import { preloaded } from "./stopping.ts";

/** Decides whether a server writes numbers into pages. */

/**
 * Settings of a server that writes the numbers into each page, or into none. Without them it depends on how busy the
 * server is.
 */
export function writing(isAlways: boolean): Record<string, string> {
  const url = new URL("../../server/shared/work-budget.ts", import.meta.url);
  return preloaded(`import { WorkBudget } from "${url}"; WorkBudget.prototype.hasLeft = () => ${isAlways};`);
}
