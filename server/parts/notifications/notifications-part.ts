import { definePart } from "../../part.ts";

/** Webhooks and e-mails for quota events as a part. */

export const notificationsPart = definePart({}, () => ({
  start: async (core) => (await import("./control.ts")).startNotifications(core),
}));
