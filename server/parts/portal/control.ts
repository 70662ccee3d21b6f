import { existsSync } from "node:fs";
import type { Core, RunningPart } from "../../part.ts";
import { monthOf } from "../../shared/months.ts";
import { databaseFile } from "../../store/served.ts";
import { noPortalAccount, PortalHost } from "./host.ts";
import type { PortalSettings } from "./settings.ts";

/** Interval between checks of the age of the pages' key. It is short, because the clock may jump. */
const renewMs = 1000;

/** Checks the pages' account before the server creates a state. @throws DataError when the account can't exist */
export function checkAccount(
  { portalAccount, mayMakeAccount }: PortalSettings,
  isShared: boolean,
  stateDir: string,
): void {
  // With shared accounts, the account may exist even if this server has no database yet.
  const mayExist = mayMakeAccount || isShared || existsSync(databaseFile(stateDir));
  if (portalAccount !== undefined && !mayExist) throw noPortalAccount(portalAccount);
}

export async function startPortal(settings: PortalSettings, core: Core): Promise<RunningPart> {
  const portal = new PortalHost({
    ...core,
    settings,
    keyCount: () => core.accounts.tables.keys.count,
    now: () => new Date(),
  });
  if (settings.portalAccount !== undefined) watchQuota(settings.portalAccount, core);
  core.accounts.neverExpires = (key) => portal.isCurrent(key);
  core.atEnd(async () => {
    if (core.fault() === undefined) await portal.end();
  });
  return {
    pages: portal,
    async begin(apiUrl) {
      await portal.begin(settings.publicUrl ?? apiUrl);
      core.repeat("renewing the pages' key", renewMs, async () => {
        if (core.fault() === undefined && (await portal.renewKey())) await core.showPages(portal.files());
      });
    },
  };
}

/** Adds a gauge of the share of the month's requests that the pages' account has used. */
function watchQuota(name: string, { accounts, metrics }: Core): void {
  // The last account of the name counts: earlier ones were deleted.
  const slotOf = () => Array.from(accounts.names()).findLast(([, other]) => other === name)?.[0];
  metrics.gauge(
    "hcqs_pages_quota_used_ratio",
    "Share of the month's requests of the pages' account that are used",
    () => {
      const slot = slotOf();
      if (slot === undefined) return 0;
      const { ceilings } = accounts.tables;
      const { quota } = ceilings.ceilings(slot);
      return quota === 0 ? 1 : 1 - ceilings.remaining(slot, monthOf(Date.now())) / quota;
    },
  );
}
