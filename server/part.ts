import type { ServerResponse } from "node:http";
import type { Logger } from "pino";
import { DataError } from "../engine/query.ts";
import type { PermitTable } from "./accounts/permit-table.ts";
import type { Accounts, IsForVisitors } from "./accounts/sync.ts";
import type { Connections } from "./shared/connections.ts";
import type { Mailer } from "./shared/mail.ts";
import type { PermitAnswer, PortalReply, PortalRequest, Wait, WebFile } from "./shared/messages.ts";
import type { Metrics } from "./shared/metrics.ts";
import type { ShareLimits } from "./shared/plans.ts";
import {
  readSettings,
  readTable,
  type Settings,
  type SettingTable,
  type ValuesOf,
} from "./shared/settings.ts";
import type { Traffic } from "./shared/traffic.ts";
import type { SnapshotFolder } from "./snapshots/snapshots.ts";
import type { Store } from "./store/store.ts";

/** How a part plugs into the core. `server/parts.ts` lists the parts. The core works without any part. */

export interface Part {
  readonly settings: SettingTable;
  /**
   * Reads the part's settings. Returns undefined if they are wrong or disable the part.
   * @throws DataError when settings contradict each other
   */
  configure(environment: NodeJS.ProcessEnv, core: Settings): PartRun | undefined;
}

export interface PartRun {
  /** The module that runs in serving threads; see `serving/pages-part.ts`. */
  readonly serving?: URL;
  /** The module that writes numbers into pages, in the page thread. Absent if no page has numbers. */
  readonly writing?: URL;
  /** `isTheirs` recognises the keys that all visitors of the part's pages share. `limits` are those of each address. */
  readonly visitors?: { limits: ShareLimits; isTheirs: IsForVisitors };
  /**
   * Runs the part's checks that don't open the state, before a state is made.
   * @param isShared whether servers share the state
   * @throws DataError when a check fails
   */
  check?(isShared: boolean): Promise<void>;
  /** Shares the state among several servers. At most one part does this. */
  shareState?(ground: PartContext): Promise<SharedState>;
  /** Runs an operator's command on the state that servers share. Present if `shareState` is present. */
  runCommand?(command: SharedCommand): Promise<CommandOutput>;
  start?(core: Core): Promise<RunningPart>;
}

export interface RunningPart {
  /** Serves all paths outside the API. At most one part does this. */
  pages?: Pages;
  /** Serves the paths of the operator's listener that the core doesn't serve. At most one part does this. */
  opsPages?: OpsPages;
  /** Called once, when the server listens and before it prints the ready line. */
  begin?(apiUrl: string): void | Promise<void>;
}

export interface Pages {
  files(): readonly WebFile[];
  act(request: PortalRequest): Promise<PortalReply>;
}

export interface OpsPages {
  file(path: string): WebFile | undefined;
  readonly streamPath: string;
  stream(response: ServerResponse): void;
}

/** A command's work on a copy of the state that servers share. */
export interface SharedCommand {
  run(store: Store): CommandOutput;
  /** Whether the work may read the accounts' use by day. */
  readsDays: boolean;
  now: Date;
}

/** What a command prints. `result` and `note` end with a line break, or are empty. */
export interface CommandOutput {
  /** For stdout. */
  result: string;
  /** For stderr. */
  note?: string;
  /** The ids of accounts that an import has added. */
  entered?: readonly number[];
  /** The rest of the work, if it is done in several changes. Only the output of the last change is printed. */
  rest?: {
    run(store: Store): CommandOutput;
    /** What was done before, and how to do the rest if it fails. */
    state: string;
  };
}

/**
 * Changes the state that servers share, or this server's own if none is shared. `work` may run several times. If `work`
 * throws, nothing changes.
 */
export type Change = <Result>(work: () => Result) => Promise<Result>;

export interface SharedState {
  readonly permits: PermitTable;
  change: Change;
  /** Waits until the changes made so far are in effect on every server that reaches the database. */
  settle(): Promise<void>;
  /** Whether this server may begin to deliver events now. */
  delivers(): boolean;
  /** Whether this server has never read the accounts, or can't store what it reads. */
  isUnread(): boolean;
  /** Begins to get permits. @param answer sends answers to requests that wait in a serving thread */
  begin(accounts: Accounts, answer: (thread: number, answers: PermitAnswer[]) => void): Promise<void>;
  wait(thread: number, waits: readonly Wait[]): void;
}

export interface PartContext {
  readonly settings: Settings;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly store: Store;
  /** Returns why the state's files can't be used, such as a file that was deleted; undefined while they can be used. */
  fault(): string | undefined;
  /** Runs work that writes little. If the disk is full, deletes the state's reserve and runs the work again. */
  withRoom<Result>(work: () => Result): Result;
  repeat(what: string, everyMs: number, work: () => void | Promise<void>): void;
  /** Registers a shutdown step. The step that is registered last runs first. */
  atEnd(close: () => void | Promise<void>): void;
  unlessStopping<Result>(work: Promise<Result>): Promise<Result>;
}

export interface Core extends PartContext {
  readonly accounts: Accounts;
  readonly snapshots: SnapshotFolder;
  readonly connections: Connections;
  readonly traffic: Traffic;
  readonly mailer: Mailer | undefined;
  isReady(): boolean;
  change: Change;
  /** Waits until a change is applied in every thread, and on every server that reaches the database. */
  takeEffect(): Promise<void>;
  /** Whether this server may deliver events now. */
  delivers(): boolean;
  showPages(files: readonly WebFile[]): Promise<void>;
}

/**
 * @param configure returns undefined if the settings disable the part; throws a DataError when they contradict each other
 */
export function definePart<Table extends SettingTable>(
  settings: Table,
  configure: (own: ValuesOf<Table>, core: Settings) => PartRun | undefined,
): Part {
  return {
    settings,
    configure(environment, core) {
      const own = readTable(settings, environment);
      return Array.isArray(own) ? undefined : configure(own, core);
    },
  };
}

export interface Configuration {
  settings: Settings;
  parts: PartRun[];
}

/** Reads the settings of the core and of all parts. Returns the configuration, or a line for each wrong setting. */
export function configure(parts: readonly Part[], environment: NodeJS.ProcessEnv): Configuration | string[] {
  const settings = readSettings(environment);
  const faults = [settings, ...parts.map((part) => readTable(part.settings, environment))]
    .filter(Array.isArray)
    .flat();
  if (Array.isArray(settings) || faults.length > 0) return faults;
  const running = parts.flatMap((part) => {
    try {
      return part.configure(environment, settings) ?? [];
    } catch (error) {
      if (!(error instanceof DataError)) throw error;
      faults.push(`${error.subject} is ${error.found}, expected ${error.expected}`);
      return [];
    }
  });
  return faults.length > 0 ? faults : { settings, parts: running };
}
