import { definePart } from "../../part.ts";

/** Defines the part that serves the operator's console. */

export const consolePart = definePart({}, () => ({
  start: async (core) => (await import("./control.ts")).startConsole(core),
}));
