import { existsSync } from "node:fs";
import { reasonOf } from "../../engine/query.ts";
import { logEvents } from "../accounts/quota-events.ts";
import type { Accounts } from "../accounts/sync.ts";
import type { Settings } from "../shared/settings.ts";
import { isoTime } from "../shared/time.ts";
import { narrowAccess } from "../store/private-files.ts";
import { isNoRoom } from "../store/room.ts";
import { databaseFile, restoring } from "../store/served.ts";
import { StateGuard } from "../store/state-guard.ts";
import { onlyACopy, Store } from "../store/store.ts";
import { closers, isStopping, log, repeat } from "./running.ts";

/** Opens the state, applies commands' changes, and saves the counts. */

/** Interval of checks for commands' changes. A command waits for the next check. */
const refreshMs = 100;
export const saveMs = 1000;
/** Interval of writes of changed counts. They reach the disk with the next save. */
export const writeMs = 100;
/** A state older than this causes a warning at start. */
const maxFreshMs = 3_600_000;
/** Maximum wait for a command that is writing. The wait blocks the operator's listener. */
const maxStateWaitMs = 200;
const stateLost = `the state isn't what was opened: requests are counted in memory only, commands are refused, and no data version is published or retired; put back what was deleted or replaced, or stop the server, ${restoring}, and start again`;

export interface State {
  store: Store;
  guard: StateGuard;
}

export class Health {
  isReady = false;
  isSaved = true;
  hasRoom = true;
  savedAtMs = performance.now();
  /** Why the state's files can't be used, by the last check; undefined if they can be used. */
  fault: string | undefined;
  /** Whether this server has never read the accounts that servers share, or can't store what it reads. */
  isUnread = () => false;
  /** Returns the data versions that were served before and can't be now, though their files are there. */
  lostVersions = (): string[] => [];

  get isFit(): boolean {
    return this.isReady && this.isSaved && this.hasRoom && !this.isUnread() && !isStopping();
  }
}

/**
 * Locks and opens the state. A shutdown step closes it.
 * @param isShared whether servers share accounts, so that this state is a copy
 * @throws DataError when the state can't be used
 */
export function openState({ STATE_DIR: stateDir, isTrial }: Settings, isShared: boolean): State {
  const isNew = !existsSync(databaseFile(stateDir));
  const guard = new StateGuard(stateDir);
  closers.push(() => guard.close());
  const narrowed = narrowAccess(stateDir);
  if (narrowed.length > 0) log.warn({ files: narrowed }, "removed other users' access to the state");
  const store = Store.open(stateDir, { maxWaitMs: maxStateWaitMs });
  closers.push(() => {
    try {
      guard.withRoom(() => guard.checkpoint(store));
    } finally {
      store.close();
    }
  });
  guard.watch();
  if (!isShared && store.directory.position() !== undefined) throw onlyACopy(stateDir);
  // A new state is logged, because STATE_DIR may be mistyped.
  if (isNew && !isTrial)
    log.warn({ stateDir }, "made a new state: without accounts, and without a registry of data versions");
  warnOfAge(store, Date.now());
  return { store, guard };
}

/** Warns of an old state. If it comes from a backup, keys that were revoked later are valid again. */
function warnOfAge(store: Store, nowMs: number): void {
  const savedMs = store.progress.savedAt();
  // A state that was saved in the future, by a clock that was ahead, isn't old.
  if (savedMs === undefined || nowMs - savedMs < maxFreshMs) return;
  const hours = Math.floor((nowMs - savedMs) / 3_600_000);
  log.warn(
    { saved: isoTime(savedMs), hours },
    "the state was last saved over an hour ago. If it was restored from a backup: keys that were revoked after the backup are valid again, so revoke them",
  );
}

/** Makes everything durable before the server is ready. With a full disk, the server isn't ready. */
export function settleState(health: Health, { store, guard }: State): void {
  try {
    guard.checkpoint(store);
    guard.keepRoom();
  } catch (error) {
    if (!isNoRoom(error)) throw error;
    health.isSaved = false;
    health.hasRoom = false;
    log.error({ reason: reasonOf(error) }, "the disk of the state is full: the server isn't ready");
  }
}

/** Registers a shutdown step that saves the last counts. If they can't be saved, the exit code is 1. */
export function saveAtEnd({ store, guard }: State, save: () => void): void {
  closers.push(() => {
    try {
      const fault = guard.fault();
      if (fault !== undefined) throw new Error(fault);
      guard.withRoom(() => {
        save();
        store.progress.noteSaved(new Date());
      });
    } catch (error) {
      process.exitCode = 1;
      log.error({ reason: reasonOf(error) }, "the last counts can't be saved");
    }
  });
}

/** Applies changes, saves counts, and watches the state's files until the server ends. */
export function keepState(
  health: Health,
  { store, guard }: State,
  accounts: Accounts,
  save: () => void,
): void {
  repeat("reading accounts and keys", refreshMs, () => {
    if (health.fault !== undefined) return;
    logEvents(log, accounts.enterMonths(Date.now()));
    accounts.refresh();
    accounts.saveApplied(() => guard.checkpoint(store));
  });
  repeat("writing usage", writeMs, () => {
    // While the state can't be written, each try may block this thread for a while.
    if (health.fault === undefined && health.isSaved) logEvents(log, accounts.writeCounts(Date.now()));
  });
  repeat("saving usage", saveMs, () => {
    health.isSaved = false;
    const before = health.fault;
    health.fault = guard.fault();
    // Counts stay in memory while the state can't be used, because counts written to a deleted file would be lost.
    if (health.fault !== undefined) {
      if (health.fault !== before) log.error({ reason: health.fault }, stateLost);
      return;
    }
    if (before !== undefined) log.info("the files of the state can be used again");
    save();
    guard.checkpoint(store);
    health.isSaved = true;
    health.savedAtMs = performance.now();
  });
  repeat("keeping a reserve of room on the state's disk", saveMs, () => {
    health.hasRoom = false;
    // The reserve must not take the room that the counts need.
    if (!health.isSaved) return;
    guard.keepRoom();
    health.hasRoom = true;
  });
}
