import { consolePart } from "./parts/console/console-part.ts";
import { notificationsPart } from "./parts/notifications/notifications-part.ts";
import { portalPart } from "./parts/portal/portal-part.ts";
import { postgresPart } from "./parts/postgres/postgres-part.ts";

/** The parts, in the order in which they start. Other modules of the server get the parts from here. */

export const parts = [postgresPart, notificationsPart, portalPart, consolePart];
