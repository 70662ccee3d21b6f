import { definePart } from "../../part.ts";

export const consolePart = definePart({}, () => ({
  start: async (core) => (await import("./control.ts")).startConsole(core),
}));
