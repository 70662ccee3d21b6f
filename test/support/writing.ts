import { preloaded } from "./stopping.ts";

/** Decides whether a server writes numbers into pages. */

const urlOf = (file: string) => new URL(`../../server/${file}`, import.meta.url);

/** A script for a server whose requests wait for pages however long it takes. */
const patient = `
  import { Portal } from "${urlOf("parts/portal/serving.ts")}";
  Portal.prototype.inTime = (written) => written;`;

/** A script for a server whose pages wait for their turn however long it takes. */
export const unhurried = `${patient}
  import { PageWriter } from "${urlOf("serving/page-orders.ts")}";
  PageWriter.prototype.isLate = () => false;`;

/** A script for a server whose page thread writes nothing while a file is there. */
export const heldWhile = (file: string) => `${patient}
  import { existsSync } from "node:fs";
  import { PageWriter } from "${urlOf("serving/page-orders.ts")}";
  const never = new Int32Array(new SharedArrayBuffer(4));
  PageWriter.prototype.isLate = () => {
    while (existsSync(${JSON.stringify(file)})) Atomics.wait(never, 0, 0, 5);
    return false;
  };`;

/** A script for a server that writes numbers into a page if an expression is true. */
export const writingWhile = (condition: string) => `
  import { WorkBudget } from "${urlOf("shared/work-budget.ts")}";
  WorkBudget.prototype.hasLeft = () => ${condition};`;

/**
 * Settings of a server that writes the numbers into each page, or into none. Without them it depends on how busy the
 * server is.
 */
export function writing(isAlways: boolean): Record<string, string> {
  return preloaded(unhurried + writingWhile(`${isAlways}`));
}
