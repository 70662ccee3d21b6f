import { definePart } from "../../part.ts";
import { portalSettings, settingTable } from "./settings.ts";

/** Defines the part that serves pages for people. */

export const portalPart = definePart(settingTable, (own, core) => {
  const settings = portalSettings(own, core);
  if (own.PORTAL === "off") return undefined;
  return {
    serving: new URL("./serving.ts", import.meta.url),
    async check(isShared) {
      (await import("./control.ts")).checkAccount(settings, isShared, core.STATE_DIR);
    },
    start: async (running) => (await import("./control.ts")).startPortal(settings, running),
  };
});
