import { consolePart } from "./parts/console/part.ts";
import { notificationsPart } from "./parts/notifications/part.ts";
import { portalPart } from "./parts/portal/part.ts";
import { postgresPart } from "./parts/postgres/part.ts";

/** The parts, in the order in which they start. Only this module imports the parts. */

export const parts = [postgresPart, notificationsPart, portalPart, consolePart];
