import "../../server/control/signals.ts";

/** Runs only the parts that `SERVER_PARTS` names, separated by commas. With `none` no part runs. */

const [{ run }, { consolePart }, { notificationsPart }, { portalPart }, { postgresPart }] = await Promise.all(
  [
    import("../../server/control/thread.ts"),
    import("../../server/parts/console/console-part.ts"),
    import("../../server/parts/notifications/notifications-part.ts"),
    import("../../server/parts/portal/portal-part.ts"),
    import("../../server/parts/postgres/postgres-part.ts"),
  ],
);
const parts = {
  console: consolePart,
  notifications: notificationsPart,
  portal: portalPart,
  postgres: postgresPart,
};
const names = (process.env.SERVER_PARTS ?? "").split(",");
await run(Object.entries(parts).flatMap(([name, part]) => (names.includes(name) ? [part] : [])));
