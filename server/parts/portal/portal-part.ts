import { definePart } from "../../part.ts";
import { pagesLabel, portalSettings, settingTable } from "./settings.ts";

export const portalPart = definePart(settingTable, (own, core) => {
  const settings = portalSettings(own, core);
  if (own.PORTAL === "off") return undefined;
  const { portalAccount, addressLimits: limits } = settings;
  const hasShares = portalAccount !== undefined && (limits.perSecond > 0 || limits.perDay > 0);
  return {
    ...(hasShares && {
      visitors: {
        limits,
        isTheirs: (key, account) => key.label === pagesLabel && account.name === portalAccount,
      },
    }),
    serving: new URL("./serving.ts", import.meta.url),
    // Without a key of the pages, visitors need their own key to see numbers, so the server writes none.
    ...(portalAccount !== undefined && { writing: new URL("./writing.ts", import.meta.url) }),
    async check(isShared) {
      (await import("./control.ts")).checkAccount(settings, isShared, core.STATE_DIR);
    },
    start: async (running) => (await import("./control.ts")).startPortal(settings, running),
  };
});
