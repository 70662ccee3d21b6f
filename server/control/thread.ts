import { DataError, reasonOf } from "../../engine/query.ts";
import { AddressShares } from "../accounts/address-shares.ts";
import { makeKey } from "../accounts/changes.ts";
import { Limits } from "../accounts/limits.ts";
import { logEvents } from "../accounts/quota-events.ts";
import { Accounts } from "../accounts/sync.ts";
import { basePath } from "../api/endpoint.ts";
import { routes } from "../api/routes.ts";
import { type Configuration, type Core, configure, type Part, type PartContext } from "../part.ts";
import { calledAs } from "../shared/arguments.ts";
import { Connections, maxConnections } from "../shared/connections.ts";
import type { Mailer } from "../shared/mail.ts";
import type { PublishedVersion } from "../shared/messages.ts";
import { plans } from "../shared/plans.ts";
import { stepBack, threadIds } from "../shared/priority.ts";
import { OutOfMemory, watchHeap } from "../shared/runtime.ts";
import { asksForHelp, coreSettings, type Settings, settingsHelp, shownSetting } from "../shared/settings.ts";
import { Traffic } from "../shared/traffic.ts";
import type { Store } from "../store/store.ts";
import { checkSnapshots, loadData } from "./data.ts";
import { machineFaults } from "./machine.ts";
import { listenOps } from "./ops.ts";
import { claimPort } from "./port.ts";
import { closers, end, isStopping, log, metrics, repeat, stderr, stdout, unlessStopping } from "./running.ts";
import { ServingThreads, startServing } from "./serving-threads.ts";
import { onSignal } from "./signals.ts";
import { Health, keepState, openState, saveAtEnd, settleState } from "./state.ts";

const scanMs = 500;

/**
 * V8's helper threads, which compile and collect garbage for all threads. Only they and this thread exist when this
 * module is loaded.
 */
const helpers = threadIds().filter((id) => id !== process.pid);
/**
 * Nice value of V8's helper threads while requests are answered. With a lower value, their compiling would delay serving
 * threads. The value is below a loader thread's, because a serving thread's garbage collection waits for the helpers.
 */
const helperNice = 10;

/**
 * Makes the account `demo` in a trial whose state never had an account, unless servers share accounts.
 * @returns the account's key; undefined if no account was made
 */
function createDemo({ isTrial }: Settings, isShared: boolean, store: Store): string | undefined {
  if (isShared || !isTrial || store.accounts.exist()) return undefined;
  return store.atomically(() => {
    const now = new Date();
    const webhook = { webhook: null, webhook_secret: null };
    const demo = { name: "demo", plan: "developer", ...plans.developer, ...webhook } as const;
    return makeKey(store, store.accounts.create(demo, now).id, null, now).key;
  });
}

function url(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

async function start({ settings, parts }: Configuration): Promise<void> {
  const connections = new Connections(maxConnections(settings.THREADS));
  const health = new Health();
  const operator = await unlessStopping(listenOps(settings, health));
  const sharing = parts.find(({ shareState }) => shareState !== undefined);
  const isShared = sharing !== undefined;
  // These checks run before a state is made, so that a start that fails here leaves no state.
  checkSnapshots(settings);
  for (const part of parts) await part.check?.(isShared);
  if (settings.PORT !== 0) await unlessStopping(claimPort(settings.HOST, settings.PORT));
  const state = openState(settings, isShared);
  const { store, guard } = state;
  const pagesPart = parts.find(({ serving }) => serving !== undefined);
  // The threads load their modules while the data is loaded.
  const threads = new ServingThreads(settings, pagesPart);
  const publish = (published: readonly PublishedVersion[]) => threads.publish(published);
  const snapshots = await loadData(settings, state, health, publish);
  health.lostVersions = () => snapshots.lost();

  const context: PartContext = {
    ...{ settings, log, metrics, store, repeat, unlessStopping },
    fault: () => health.fault,
    withRoom: (work) => guard.withRoom(work),
    atEnd: (close) => closers.push(close),
  };
  const shared = await sharing?.shareState?.(context);
  for (const account of settings.ACCESS_LOG_ACCOUNTS ?? [])
    if (store.accounts.byName(account) === undefined)
      log.warn({ account }, "ACCESS_LOG_ACCOUNTS names an account that doesn't exist yet");
  const ceilings = shared?.permits ?? new Limits();
  const visitors = parts.find((part) => part.visitors !== undefined)?.visitors;
  const shares = visitors && new AddressShares(visitors.limits);
  const accounts = new Accounts(store, Date.now(), { ceilings }, visitors?.isTheirs);
  const save = () => logEvents(log, accounts.save(Date.now()));
  saveAtEnd(state, save);
  health.isUnread = () => shared?.isUnread() ?? false;
  await shared?.begin(accounts, (thread, answers) => threads.answerWaits(thread, answers));

  const traffic = new Traffic(routes, settings.THREADS);
  const changeAlone: Core["change"] = async (work) =>
    store.atomically(() => {
      store.progress.noteSaved(new Date());
      return work();
    });
  const core: Core = {
    ...context,
    ...{ accounts, snapshots, connections, traffic },
    change: shared?.change ?? changeAlone,
    mailer: await mailerOf(settings),
    isReady: () => health.isFit,
    async takeEffect() {
      accounts.refresh();
      guard.checkpoint(store);
      await shared?.settle();
    },
    delivers: () => health.fault === undefined && (shared?.delivers() ?? true),
    showPages: (files) => threads.showPages(files),
  };
  // `keepState` is called before the serving threads start, because shutdown steps run in reverse order. So counts are
  // saved until the last answer.
  keepState(health, state, accounts, save);
  const running = [];
  for (const part of parts) if (part.start !== undefined) running.push(await part.start(core));
  metrics.watch({
    connections,
    traffic,
    stateAge: () => (performance.now() - health.savedAtMs) / 1000,
    snapshotAge: () => Math.max(0, Date.now() - Date.parse(snapshots.published()[0].loadedAt)) / 1000,
  });
  const { keys, names, days, events } = accounts.tables;
  const tables = {
    ...{ keys: keys.buffer, ceilings: ceilings.buffer, areShared: isShared },
    ...{ names: names.buffer, days: days.buffer, events: events.buffer },
    shares: shares && { limits: shares.limits, buffer: shares.buffer },
  };
  const pages = running.find((part) => part.pages !== undefined)?.pages;
  threads.onWait = (thread, waits) => shared?.wait(thread, waits);
  const port = await startServing(settings, threads, tables, snapshots, pages, connections, traffic);
  stepBack(helpers, helperNice);
  repeat("looking for snapshots", scanMs, () => snapshots.scan());

  // The account is made late, so that few failures of a start lose its key.
  const demoKey = createDemo(settings, isShared, store);
  const api = url(settings.HOST, port);
  for (const part of running) await part.begin?.(api);
  settleState(health, state);
  accounts.refresh();
  health.isReady = true;
  operator.pages = running.find((part) => part.opsPages !== undefined)?.opsPages ?? noPages;
  if (demoKey !== undefined)
    stdout.write(
      `made the account "demo"; its key is shown this once: ${demoKey}\ntry: curl -H "Authorization: Bearer ${demoKey}" "${api}${basePath}/healthcare/prices?procedure=5072&limit=3"\n`,
    );
  if (pages !== undefined && settings.isTrial) stdout.write(`look: ${api}/\n`);
  stdout.write(`ready ${api} ops ${url(settings.OPS_HOST, operator.port)}\n`);
}

const noPages = { file: () => undefined, streamPath: "", stream() {} };

async function mailerOf({ SMTP_URL: smtpUrl, MAIL_FROM: from }: Settings): Promise<Mailer | undefined> {
  if (smtpUrl === undefined || from === undefined) return undefined;
  return new (await import("../shared/mail.ts")).Mailer({ smtpUrl, from });
}

// Only `watchHeap` throws from a callback on purpose: its OutOfMemory ends the server. Any other error that arrives here
// comes from a library's callback, and the server continues.
process.on("unhandledRejection", (error) => log.error({ reason: reasonOf(error) }, "unhandled error"));
process.on("uncaughtException", (error) => {
  const { stack } = error;
  if (!(error instanceof OutOfMemory)) {
    log.error({ stack }, "unhandled error");
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

async function main(parts: readonly Part[], words: string[]): Promise<void> {
  if (asksForHelp(words)) {
    const settings = settingsHelp([coreSettings, ...parts.map((part) => part.settings)]);
    stdout.write(
      `usage: ${calledAs("start")}\n\nSettings are environment variables, with these defaults:\n\n${settings}`,
    );
    return end(0, () => {});
  }
  if (words.length > 0)
    throw new DataError(calledAs("start"), shownSetting(words.join(" ")), "--help or nothing more");
  const configuration = configure(parts, process.env);
  const faults = await unlessStopping(machineFaults(process.env));
  // The set removes duplicates, because both lists of faults may have a malformed address.
  const wrong = new Set([...(Array.isArray(configuration) ? configuration : []), ...faults]);
  if (Array.isArray(configuration) || wrong.size > 0) throw new Error([...wrong].join("\n"));
  log.level = configuration.settings.LOG_LEVEL;
  await start(configuration);
}

/** Starts the server by the process's arguments and environment. If that fails, ends the process. */
export async function run(parts: readonly Part[]): Promise<void> {
  try {
    await main(parts, process.argv.slice(2));
  } catch (error) {
    // No error is reported while the server is stopping, because stopping makes a start fail.
    if (!isStopping()) void end(1, () => stderr.write(`${reasonOf(error)}\n`));
  }
}
