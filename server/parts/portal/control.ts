import { existsSync } from "node:fs";
import { databaseFile } from "../../../datasets/state.ts";
import type { Accounts } from "../../accounts/sync.ts";
import { closers, log, repeat } from "../../control/running.ts";
import type { ServingThreads } from "../../control/serving-threads.ts";
import type { Health, State } from "../../control/state.ts";
import { type Settings, trialPortalAccount } from "../../shared/settings.ts";
import type { Change } from "../notifications/control.ts";
import type { Mailer } from "../notifications/mail.ts";
import type { Shared } from "../replicas/control.ts";
import { noPortalAccount, PortalHost } from "./host.ts";

/** Opens the pages for people, where the settings want them, and keeps their key new. */

const renewMs = 60_000;
/** A change is answered when all servers have it that are heard of, or after so long. */
const maxTakenMs = 1000;

/** Before a state is made: a start with a state that can't have the pages' account leaves none. */
export function checkPortalAccount({
  portal,
  portalAccount,
  isDefaultStateDir,
  stateDir,
  redis,
}: Settings): void {
  // With Redis the accounts may be there.
  const mayBeThere = isDefaultStateDir || redis !== undefined || existsSync(databaseFile(stateDir));
  if (portal && portalAccount !== undefined && !mayBeThere) throw noPortalAccount(portalAccount);
}

export function openPortal(
  settings: Settings,
  health: Health,
  { store, guard }: State,
  { directory }: Shared,
  accounts: Accounts,
  mailer: Mailer | undefined,
  change: Change,
): PortalHost | undefined {
  if (!settings.portal) return undefined;
  const portal = new PortalHost({
    store,
    log,
    settings,
    mailer,
    portalAccount: settings.portalAccount,
    mayMakeAccount: settings.isDefaultStateDir && settings.portalAccount === trialPortalAccount,
    keyCount: () => accounts.keyCount,
    fault: () => health.fault,
    change,
    async takeOver() {
      accounts.refresh();
      guard.checkpoint(store);
      await directory?.taken(maxTakenMs);
    },
    now: () => new Date(),
  });
  // After the last answer, and before the state is closed.
  closers.push(async () => {
    if (guard.fault() === undefined) await portal.end();
  });
  return portal;
}

export function renewKeyOf(portal: PortalHost, health: Health, threads: ServingThreads): void {
  repeat("renewing the pages' key", renewMs, async () => {
    if (health.fault === undefined && (await portal.renewKey())) threads.showPortal(portal.files());
  });
}
