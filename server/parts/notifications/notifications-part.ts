import { definePart } from "../../part.ts";

/** The part that sends quota events by webhook and by e-mail. */

export const notificationsPart = definePart({}, () => ({
  start: async (core) => (await import("./control.ts")).startNotifications(core),
}));
