import { existsSync } from "node:fs";
import type { Core, RunningPart } from "../../part.ts";
import { databaseFile } from "../../store/served.ts";
import { noPortalAccount, PortalHost } from "./host.ts";
import type { PortalSettings } from "./settings.ts";

/** Runs the portal in the control thread. */

/** Interval between looks at the age of the pages' key. It is short, because the clock may jump by any time. */
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
  core.accounts.neverExpires = (key) => portal.isCurrent(key);
  core.atEnd(async () => {
    if (core.fault() === undefined) await portal.end();
  });
  return {
    pages: portal,
    async begin(apiUrl) {
      await portal.begin(settings.publicUrl ?? apiUrl);
      core.repeat("renewing the pages' key", renewMs, async () => {
        if (core.fault() === undefined && (await portal.renewKey())) core.showPages(portal.files());
      });
    },
  };
}
