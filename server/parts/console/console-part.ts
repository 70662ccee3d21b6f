import { definePart } from "../../part.ts";

/** The operator's console as a part. */

export const consolePart = definePart({}, () => ({
  start: async (core) => (await import("./control.ts")).startConsole(core),
}));
