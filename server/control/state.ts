import { existsSync } from "node:fs";
import { databaseFile, restoring } from "../../datasets/state.ts";
import { reasonOf } from "../../engine/query.ts";
import type { Accounts } from "../accounts/sync.ts";
import type { Shared } from "../parts/replicas/control.ts";
import { DirectoryAway } from "../parts/replicas/directory.ts";
import type { Settings } from "../shared/settings.ts";
import { isoTime } from "../shared/time.ts";
import { narrowAccess, StateGuard } from "../store/state-files.ts";
import { onlyACopy, Store } from "../store/store.ts";
import { closers, isStopping, log, repeat } from "./running.ts";

/** Opens the state, follows what commands write there, and saves what is counted, as long as its files are in their places. */

/** A command waits for this to come round. */
const refreshMs = 100;
/** What other servers and commands elsewhere change holds here after so long; they wait for it. */
const directoryMs = 250;
const guardMs = 300;
const saveMs = 1000;
/** At a start an older state is told of. */
const maxFreshMs = 3_600_000;
/** Longer waits for a command that writes would keep the operator's listener waiting. */
const maxStateWaitMs = 200;
const stateLost = `the state isn't what was opened: requests are counted in memory only, commands are refused, and no data version is published or retired; put back what was deleted or replaced, or stop the server, ${restoring}, and start again`;

export interface State {
  store: Store;
  guard: StateGuard;
}

/** Whether the server is fit to serve. */
export class Health {
  isReady = false;
  isSaved = true;
  savedAtMs = performance.now();
  /** Undefined while the state's files are in their places. */
  fault: string | undefined;

  get isFit(): boolean {
    return this.isReady && this.isSaved && this.fault === undefined && !isStopping();
  }
}

/** Locks and opens the state. */
export function openState({ stateDir, isDefaultStateDir, redis }: Settings): State {
  const isNew = !existsSync(databaseFile(stateDir));
  const guard = new StateGuard(stateDir);
  closers.push(() => guard.close());
  const { narrowed, open } = narrowAccess(stateDir);
  if (narrowed.length > 0) log.warn({ files: narrowed }, "other users could read the state: no longer");
  if (open.length > 0) log.warn({ files: open }, "other users can get at the state");
  const store = Store.open(stateDir, { maxWaitMs: maxStateWaitMs });
  closers.push(() => {
    try {
      guard.checkpoint(store);
    } finally {
      // SQLite would write its log into what is there now.
      if (!guard.isOverwritten) store.close();
    }
  });
  guard.watch();
  if (redis === undefined && store.directory.isCopy) throw onlyACopy(stateDir);
  // A mistyped STATE_DIR would look like this.
  if (isNew && !isDefaultStateDir)
    log.warn({ stateDir }, "made a new state: without accounts, and without a registry of data versions");
  warnOfAge(store, Date.now());
  return { store, guard };
}

/** A state from a backup has keys that were revoked since. */
function warnOfAge(store: Store, nowMs: number): void {
  const savedMs = store.progress.savedAt();
  if (savedMs === undefined || nowMs - savedMs < maxFreshMs) return;
  const hours = Math.floor((nowMs - savedMs) / 3_600_000);
  log.warn(
    { saved: isoTime(savedMs), hours },
    "the state wasn't written to for a while: if it comes from a backup, revoke again the keys that were revoked since",
  );
}

/** Saves once more when the server ends. */
export function saveAtEnd(health: Health, { store, guard }: State, save: () => void): void {
  closers.push(() => {
    try {
      health.fault ??= guard.fault();
      if (health.fault !== undefined) throw new Error(health.fault);
      save();
      store.progress.noteSaved(new Date());
    } catch (error) {
      process.exitCode = 1;
      log.error({ reason: reasonOf(error) }, "the last counts can't be saved");
    }
  });
}

/** Keeps an eye on the state, in step with it and saved, until the last answer. */
export function keepState(
  health: Health,
  { store, guard }: State,
  { directory }: Shared,
  accounts: Accounts,
  save: () => void,
): void {
  repeat("looking for the state", guardMs, () => {
    const found = guard.fault();
    if (found !== undefined && found !== health.fault) log.error({ reason: found }, stateLost);
    if (found === undefined && health.fault !== undefined) log.info("the state is back in its place");
    health.fault = found;
  });
  if (directory !== undefined)
    repeat("taking over accounts and keys", directoryMs, async () => {
      if (health.fault !== undefined) return;
      await directory.read().catch((error) => {
        // That Redis is away the ceilings say.
        if (!(error instanceof DirectoryAway)) throw error;
      });
    });
  repeat("reading accounts and keys", refreshMs, () => {
    accounts.enterMonths(Date.now());
    if (health.fault !== undefined) return;
    accounts.refresh();
    accounts.giveWord(() => guard.checkpoint(store) === undefined);
  });
  repeat("saving usage", saveMs, () => {
    health.isSaved = false;
    save();
    guard.checkpoint(store);
    health.isSaved = true;
    if (health.fault === undefined) health.savedAtMs = performance.now();
  });
}
