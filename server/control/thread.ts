import { DataError, reasonOf, shown } from "../../engine/query.ts";
import { UsageDays } from "../accounts/days.ts";
import { UsageEvents } from "../accounts/events.ts";
import { KeyTable } from "../accounts/key-table.ts";
import { generateKey, hashKey } from "../accounts/keys.ts";
import { Limits } from "../accounts/limits.ts";
import { AccountNames } from "../accounts/names.ts";
import { Accounts } from "../accounts/sync.ts";
import { basePath } from "../api/endpoint.ts";
import { routes } from "../api/routes.ts";
import { type Change, deliverEvents, logEvents, openOutboxes } from "../parts/notifications/control.ts";
import { checkPortalAccount, openPortal, renewKeyOf } from "../parts/portal/control.ts";
import { startDirectory, startSharing } from "../parts/replicas/control.ts";
import type { Sharing } from "../parts/replicas/sharing.ts";
import { calledAs } from "../shared/arguments.ts";
import { Connections, maxConnections } from "../shared/connections.ts";
import type { Published } from "../shared/messages.ts";
import { plans } from "../shared/plans.ts";
import { OutOfMemory, watchHeap } from "../shared/runtime.ts";
import { asksForHelp, readServerSettings, type Settings, serverHelp } from "../shared/settings.ts";
import { Traffic } from "../shared/traffic.ts";
import type { Store } from "../store/store.ts";
import { checkSnapshots, loadData, watchFolder } from "./data.ts";
import { listenOps, openConsole } from "./operator.ts";
import { checkPort } from "./port.ts";
import { end, isStopping, log, metrics, stderr, stdout, unlessStopping } from "./running.ts";
import { startServing } from "./serving.ts";
import type { ServingThreads } from "./serving-threads.ts";
import { onSignal } from "./signals.ts";
import { Health, keepState, openState, saveAtEnd } from "./state.ts";

/** The control thread: starts everything in its order, and owns what changes. */

/** The first start without settings makes an account to try the service with. @returns its key, once */
function createDemo(settings: Settings, store: Store): string | undefined {
  // What several servers have in common is no trial.
  if (settings.redis !== undefined || !settings.isDefaultStateDir || store.hasAccounts()) return undefined;
  const key = generateKey();
  store.atomically(() => {
    const now = new Date();
    const demo = {
      name: "demo",
      plan: "developer",
      ...plans.developer,
      webhook: null,
      webhook_secret: null,
    } as const;
    const account = store.createAccount(demo, now);
    store.createKey(account.id, hashKey(key), key.slice(-4), null, now);
  });
  return key;
}

function changeAlone<Result>(store: Store, work: () => Result): Result {
  return store.atomically(() => {
    store.noteSaved(new Date());
    return work();
  });
}

function url(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

async function start(settings: Settings): Promise<void> {
  // First: what lacks descriptors fails later without saying so.
  const connections = new Connections(maxConnections(settings.threads));
  const health = new Health();
  const operator = await unlessStopping(listenOps(settings, health));
  checkSnapshots(settings);
  checkPortalAccount(settings);
  // Before a state is made: a start that can't listen leaves none.
  await unlessStopping(checkPort(settings.host, settings.port));
  const state = openState(settings);
  const { store, guard } = state;
  let threads: ServingThreads | undefined;
  const publish = async (published: Published) => threads?.publish(published);
  const { snapshots, mirror } = await loadData(settings, state, publish);

  const shared = await startDirectory(settings, store);
  for (const account of settings.accessLogAccounts ?? [])
    if (store.account(account) === undefined)
      log.warn({ account }, "ACCESS_LOG_ACCOUNTS names an account that isn't there yet");
  const [keys, limits] = [new KeyTable(), new Limits(undefined, settings.redis !== undefined)];
  const [names, days, events] = [new AccountNames(), new UsageDays(), new UsageEvents()];
  const accounts = new Accounts(store, keys, limits, names, days, Date.now(), events);
  let sharing: Sharing | undefined;
  const save = () => {
    // What is written to a file that isn't there any more is lost: in memory it isn't.
    if (health.fault === undefined) logEvents(accounts.save(Date.now(), sharing));
  };
  saveAtEnd(health, state, save);
  sharing = await unlessStopping(startSharing(settings, shared, { store, accounts, limits }, save));

  const mailer = settings.mail && new (await import("../parts/notifications/mail.ts")).Mailer(settings.mail);
  const { directory } = shared;
  const change: Change = async (work) =>
    directory === undefined ? changeAlone(store, work) : directory.change(work);
  const outboxes = openOutboxes(settings, store, mailer, change);
  // Before the threads: these go on until the last answer.
  keepState(health, state, shared, accounts, save);
  deliverEvents(health, shared, store, outboxes);
  const portal = openPortal(settings, health, state, shared, accounts, mailer, change);
  const traffic = new Traffic(routes, settings.threads);
  metrics.watch({
    connections,
    traffic,
    stateAge: () => (performance.now() - health.savedAtMs) / 1000,
    snapshotAge: () =>
      Math.max(0, Date.now() - Date.parse(snapshots.published().versions[0].loadedAt)) / 1000,
    outboxes,
    sharing,
    directory,
    mirror,
  });
  const tables = {
    keys: keys.buffer,
    limits: limits.buffer,
    names: names.buffer,
    days: days.buffer,
    events: events.buffer,
  };
  const serving = await startServing(settings, tables, snapshots, portal, connections, traffic);
  threads = serving.threads;
  if (portal !== undefined) renewKeyOf(portal, health, threads);
  watchFolder(snapshots);

  // Last, so that no failed start uses up the one time that the key is shown.
  const demoKey = createDemo(settings, store);
  const api = url(settings.host, serving.port);
  await portal?.begin(settings.publicUrl ?? api);
  guard.checkpoint(store);
  accounts.refresh();
  health.isReady = true;
  openConsole(operator, settings, health, store, snapshots, connections, traffic);
  sayReady(settings, api, operator.port, demoKey);
}

function sayReady(settings: Settings, api: string, opsPort: number, demoKey: string | undefined): void {
  if (demoKey !== undefined)
    stdout.write(
      `made the account "demo"; its key is shown this once: ${demoKey}\ntry: curl -H "Authorization: Bearer ${demoKey}" "${api}${basePath}/healthcare/prices?procedure=5072&limit=3"\n`,
    );
  if (settings.portal && settings.isDefaultStateDir) stdout.write(`look: ${api}/\n`);
  stdout.write(`ready ${api} ops ${url(settings.opsHost, opsPort)}\n`);
}

// Our own callbacks are wrapped. What comes here was thrown by a library's callback, such as that of a connection to
// something that isn't Redis, and leaves nothing of ours half done: the server goes on.
process.on("unhandledRejection", (error) =>
  log.error({ reason: reasonOf(error) }, "an error was handled by nobody"),
);
process.on("uncaughtException", (error) => {
  const { stack } = error;
  if (!(error instanceof OutOfMemory)) {
    log.error({ stack }, "an error was handled by nobody");
    return;
  }
  log.fatal({ stack }, "the control thread is out of memory");
  void end(1);
});
watchHeap();
onSignal.stop = (signal) => {
  if (!isStopping()) log.info({ signal }, "stopping");
  void end(0);
};

async function main(words: string[]): Promise<void> {
  if (asksForHelp(words)) {
    stdout.write(serverHelp());
    return end(0, () => {});
  }
  if (words.length > 0)
    throw new DataError(calledAs("start"), shown(words.join(" ")), "--help or nothing more");
  const settings = await unlessStopping(readServerSettings(process.env));
  if (Array.isArray(settings)) throw new Error(settings.join("\n"));
  log.level = settings.logLevel;
  await start(settings);
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  // A start that is stopped fails on the way.
  if (!isStopping()) void end(1, () => stderr.write(`${reasonOf(error)}\n`));
}
