import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { calledAs } from "../../datasets/arguments.ts";
import { knownVersions } from "../../datasets/registry.ts";
import { databaseFile, restoring } from "../../datasets/state.ts";
import { DataError, reasonOf, shown } from "../../engine/query.ts";
import { UsageDays } from "../accounts/days.ts";
import { KeyTable } from "../accounts/key-table.ts";
import { generateKey, hashKey } from "../accounts/keys.ts";
import { Limits } from "../accounts/limits.ts";
import { AccountNames } from "../accounts/names.ts";
import { Sharing, shards } from "../accounts/sharing.ts";
import { Accounts } from "../accounts/sync.ts";
import { basePath } from "../api/endpoint.ts";
import { routes } from "../api/routes.ts";
import { OperatorConsole } from "../console/console.ts";
import { History } from "../console/history.ts";
import { stateOf } from "../console/state.ts";
import { emailSender } from "../notices/emails.ts";
import { Outbox } from "../notices/outbox.ts";
import { recordEvent } from "../notices/quota-events.ts";
import { webhookSender } from "../notices/webhooks.ts";
import { noPortalAccount, PortalHost } from "../portal/host.ts";
import { connectRedis, type RedisClient } from "../replicas/client.ts";
import { crossings, forget } from "../replicas/crossings.ts";
import { Directory, DirectoryAway } from "../replicas/directory.ts";
import { scriptIn } from "../replicas/redis.ts";
import { Connections, maxConnections } from "../shared/connections.ts";
import type { Published, ServeData } from "../shared/messages.ts";
import { Metrics } from "../shared/metrics.ts";
import { PerSecond } from "../shared/per-second.ts";
import { plans } from "../shared/plans.ts";
import { watchHeap } from "../shared/runtime.ts";
import {
  asksForHelp,
  readServerSettings,
  type Settings,
  serverHelp,
  trialPortalAccount,
} from "../shared/settings.ts";
import { Traffic } from "../shared/traffic.ts";
import { listSnapshots } from "../snapshots/folder.ts";
import { Loads } from "../snapshots/loads.ts";
import { Mirror } from "../snapshots/mirror.ts";
import { SnapshotFolder } from "../snapshots/snapshots.ts";
import { narrowAccess, StateGuard } from "../store/state-files.ts";
import { Store, type StoredEvent } from "../store/store.ts";
import { logTo, Output } from "./log.ts";
import { opsServer } from "./ops.ts";
import { listenAlone } from "./port.ts";
import { ServingThreads } from "./serving-threads.ts";
import { onSignal } from "./signals.ts";

/** The control thread: starts and stops everything, and owns what changes. */

/** A command waits for this to come round. */
const refreshMs = 100;
const guardMs = 300;
const saveMs = 1000;
const renewMs = 60_000;
/** Of the console's history. */
const sampleMs = 1000;
const scanMs = 500;
/** Of looking what was counted, where ceilings are shared. */
const shareMs = 10;
/** A start waits so long at most for its part of what is shared. */
const maxShareWaitMs = 6000;
const shareWaitStepMs = 20;
/** And for accounts and keys. */
const maxDirectoryWaitMs = 3000;
/** A change is answered when all servers have it that are heard of, or after so long. */
const maxTakenMs = 1000;
/** And a stop so long for giving it back. */
const maxLeaveMs = 1500;
/** With what a try has at least, well within a second. */
const deliverMs = 250;
/** Longer waits for a command that writes would keep the operator's listener waiting. */
const maxStateWaitMs = 200;
const settleStepMs = 100;
const mirrorMs = 10_000;
/** Where nothing is to serve yet. */
const firstMirrorMs = 1000;
/** From SIGTERM to the end at the latest; what is not done by then is given up. */
const maxStopMs = 9000;
/** A thread that hasn't ended by then never will; what is left, as saving the counts, is done without it. */
const maxCloseMs = 7000;
const sampleYears = [2023, 2024];
const redisAway =
  "Redis is away: requests are admitted by what this server holds, and keys by its own copy, until it is back";
const stateLost = `the state isn't what was opened: requests are counted in memory only, commands are refused, and no data version is published or retired; put back what was deleted or replaced, or stop the server, ${restoring}, and start again`;

const metrics = new Metrics();
const countDropped = () => metrics.logLinesDropped.inc();
const [stdout, stderr] = [new Output(1, countDropped), new Output(2, countDropped)];
const log = logTo(stderr);

/** Each undoes something that was begun; the last one comes first. */
const closers: (() => void | Promise<void>)[] = [];
/** Aborted when the server is to end, at whatever moment that is. */
const stopping = new AbortController();

/** What a start waits for. @throws when the server is to end meanwhile: then nothing more may be begun */
async function unlessStopping<Result>(work: Promise<Result>): Promise<Result> {
  const result = await work;
  stopping.signal.throwIfAborted();
  return result;
}

/** Ends the process in an orderly way; a failure on the way, or a second one, makes the exit code 1. */
async function end(exitCode: number, sayWhy = () => log.info("stopped")): Promise<void> {
  if (exitCode > 0) process.exitCode = exitCode;
  if (stopping.signal.aborted) return;
  stopping.abort();
  setTimeout(giveUp, maxStopMs).unref();
  let isStuck = false;
  for (const close of closers.reverse())
    try {
      isStuck = (await Promise.race([close(), delay(maxCloseMs, true)])) || isStuck;
    } catch (error) {
      process.exitCode = 1;
      log.error({ reason: reasonOf(error) }, "stopping failed");
    }
  if (isStuck) log.fatal("a thread doesn't end: the process is killed");
  else sayWhy();
  await Promise.all([stdout.flush(), stderr.flush()]);
  if (isStuck) giveUp();
  process.exit();
}

function giveUp(): void {
  process.kill(process.pid, "SIGKILL");
  // As process 1 of a container it can't be killed from inside.
  process.abort();
}

/** The first start without settings: a folder of synthetic snapshots. */
async function writeSample(folder: string, stateDir: string): Promise<void> {
  // Only here, because what writes snapshots takes memory and time to load.
  const [{ publishSnapshot }, { defaultSampleRows, defaultSampleSeed, syntheticContent }, engine] =
    await Promise.all([
      import("../../datasets/publish.ts"),
      import("../../datasets/synthetic.ts"),
      import("../../engine/index.ts"),
    ]);
  const known = knownVersions(stateDir) ?? [];
  stdout.write(`no snapshots in ${folder}: writing a synthetic sample (invented facilities and amounts)\n`);
  for (const dataYear of sampleYears) {
    const options = { dataYear, rows: defaultSampleRows, seed: defaultSampleSeed };
    const path = publishSnapshot(folder, dataYear, known, (revision) =>
      engine.encodeSnapshot(engine.sealSnapshot(syntheticContent({ ...options, revision }))),
    );
    stdout.write(`wrote ${path}\n`);
  }
}

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

/** @returns its port */
async function listenOps(
  settings: Settings,
  isReady: () => boolean,
  operatorConsole: () => OperatorConsole | undefined,
): Promise<number> {
  const server = opsServer(isReady, metrics, operatorConsole, settings.opsAllowedHosts);
  closers.push(() => {
    server.close();
    server.closeAllConnections();
  });
  server.listen(settings.opsPort, settings.opsHost);
  try {
    await once(server, "listening");
  } catch (error) {
    throw new Error(`can't listen on ${settings.opsHost} port ${settings.opsPort} (ops): ${reasonOf(error)}`);
  }
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : settings.opsPort;
}

function url(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** Locks and opens the state. */
function openState({ stateDir, isDefaultStateDir }: Settings): { store: Store; guard: StateGuard } {
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
  // A mistyped STATE_DIR would look like this.
  if (isNew && !isDefaultStateDir)
    log.warn({ stateDir }, "made a new state: without accounts, and without a registry of data versions");
  return { store, guard };
}

/** Before a state is made: a start that can't come to anything leaves none. */
function checkSnapshots({ datasetsDir, datasetsUrl, isDefaultDatasetsDir }: Settings): void {
  if (isDefaultDatasetsDir || datasetsUrl !== undefined || listSnapshots(datasetsDir).length > 0) return;
  throw new DataError(
    `DATASETS_DIR ${datasetsDir}`,
    "no snapshots",
    "at least one <year>.<revision>.parquet",
  );
}

/** The same for a state that can't have the account. */
function checkPortalAccount({ portal, portalAccount, isDefaultStateDir, stateDir, redis }: Settings): void {
  // With Redis the accounts may be there.
  const mayBeThere = isDefaultStateDir || redis !== undefined || existsSync(databaseFile(stateDir));
  if (portal && portalAccount !== undefined && !mayBeThere) throw noPortalAccount(portalAccount);
}

/** Loads what is in the folder; where nothing is, what is fetched into it, or else a sample. */
async function loadData(
  { datasetsDir, datasetsUrl, includeSample, stateDir }: Settings,
  registry: Store,
  guard: StateGuard,
  publish: (images: Published) => Promise<void>,
): Promise<SnapshotFolder> {
  const mirror =
    datasetsUrl === undefined ? undefined : new Mirror({ url: datasetsUrl, folder: datasetsDir, log });
  if (mirror !== undefined) closers.push(() => mirror.close());
  if (listSnapshots(datasetsDir).length === 0)
    await unlessStopping(mirror?.poll(performance.now()) ?? writeSample(datasetsDir, stateDir));
  const snapshots = new SnapshotFolder(datasetsDir, {
    log,
    metrics,
    registry,
    guard: { fault: () => guard.fault(), checkpoint: () => guard.checkpoint(registry) },
    loads: new Loads(),
    includeSample,
    publish,
  });
  closers.push(() => snapshots.close());
  const settle = async () => (await unlessStopping(snapshots.settle())) || mirror !== undefined;
  while ((await settle()) && snapshots.images().length === 0) {
    await unlessStopping(delay(mirror === undefined ? settleStepMs : firstMirrorMs));
    if (mirror !== undefined) await unlessStopping(mirror.poll(performance.now()));
  }
  if (snapshots.images().length === 0)
    throw new DataError(`DATASETS_DIR ${datasetsDir}`, "no snapshot that can be loaded", "at least one");
  if (mirror !== undefined)
    repeat("looking at the index of snapshots", mirrorMs, () => mirror.poll(performance.now()));
  return snapshots;
}

/** Takes over accounts, keys and events that servers have in common; undefined for one that is alone. */
async function startDirectory(
  { redis }: Settings,
  store: Store,
): Promise<{ client?: RedisClient; directory?: Directory }> {
  if (redis === undefined) return {};
  // One of its own: what is much to read doesn't hold up the ceilings.
  const client = await connectRedis(redis, () => {});
  const directory = new Directory(store, client, randomBytes(6).toString("base64url"));
  closers.push(async () => {
    await Promise.race([directory.leave().catch(() => {}), delay(maxLeaveMs)]);
    client.disconnect();
  });
  for (
    const end = performance.now() + maxDirectoryWaitMs;
    performance.now() < end;
    await delay(shareWaitStepMs)
  )
    try {
      await unlessStopping(directory.read());
      return { client, directory };
    } catch (error) {
      if (!(error instanceof DirectoryAway)) throw error;
    }
  log.warn(
    { accounts: store.accountIds().length },
    "accounts and keys can't be read from Redis: this server's copy holds until they can",
  );
  return { client, directory };
}

/** Records events of thresholds that were crossed by what all servers have counted; one of them does it at a time. */
async function recordCrossings(client: RedisClient, directory: Directory, store: Store): Promise<void> {
  const found = await crossings(client, shards);
  if (found.length === 0) return;
  const events = await directory.change(() =>
    found.flatMap(({ account: id, month, threshold, quota, used }) => {
      const account = store.accountOf(id);
      if (account === undefined) return [];
      return recordEvent(store, { ...account, quota }, month, threshold, used, new Date()) ?? [];
    }),
  );
  logEvents(events);
  await forget(client, found);
}

/** Shares ceilings with other servers from now on, as long as this one answers; undefined for one that is alone. */
async function startSharing(
  { redis, isFreeWithoutRedis }: Settings,
  tables: { store: Store; accounts: Accounts; limits: Limits },
  save: () => void,
): Promise<Sharing | undefined> {
  if (redis === undefined) return undefined;
  let reason: string | undefined;
  const client = await connectRedis(redis, (fault) => {
    reason = fault;
  });
  const script = scriptIn(client);
  const sharing = new Sharing({
    ...tables,
    isFreeWithoutRedis,
    nowMs: performance.now(),
    async send(...call) {
      try {
        return await script(...call);
      } catch (error) {
        reason = reasonOf(error);
        throw error;
      }
    },
  });
  closers.push(async () => {
    await Promise.race([sharing.leave(performance.now(), save), delay(maxLeaveMs)]);
    client.disconnect();
  });
  let isAway: boolean | undefined;
  const untilMs = performance.now() + maxShareWaitMs;
  repeat("sharing ceilings", shareMs, () => {
    const nowMs = performance.now();
    sharing.step(nowMs, Date.now());
    const isLost = sharing.isAway;
    // A start is given time to connect.
    if (isLost === isAway || (isLost && isAway === undefined && reason === undefined && nowMs < untilMs))
      return;
    if (isLost) log.warn({ reason: reason ?? "no answer" }, redisAway);
    else if (isAway) log.info({ replicas: sharing.members }, "Redis is back");
    isAway = isLost;
    reason = undefined;
  });
  // Until this server has its part of what is shared, or Redis is found to be away.
  while (!sharing.isReady && isAway !== true && performance.now() < untilMs)
    await unlessStopping(delay(shareWaitStepMs));
  return sharing;
}

/** Starts the threads that answer requests, on one port. */
async function startServing(
  settings: Settings,
  tables: Pick<ServeData, "keys" | "limits" | "names" | "days">,
  snapshots: SnapshotFolder,
  portal: PortalHost | undefined,
  connections: Connections,
  traffic: Traffic,
): Promise<{ threads: ServingThreads; port: number }> {
  const accessLines = new PerSecond(settings.accessLog);
  return unlessStopping(
    listenAlone(settings.host, settings.port, async (port) => {
      stopping.signal.throwIfAborted();
      const threads = new ServingThreads(
        {
          ...tables,
          areLimitsShared: settings.redis !== undefined,
          host: settings.host,
          port,
          connections: connections.buffer,
          maxConnections: connections.max,
          trustedProxies: settings.trustedProxies,
          corsOrigins: settings.corsOrigins,
          accessLog: settings.accessLog,
        },
        traffic.buffers,
        // Asked for here: what the functions below can see stays in memory as long as they do.
        snapshots.published(),
        portal,
        {
          fail(reason) {
            log.fatal({ reason }, "a serving thread failed");
            void end(1);
          },
          error: (stack) => log.error({ stack }, "request failed"),
          access(access) {
            // Each thread alone tells of as many.
            if (accessLines.pass(performance.now())) log.info(access, "request");
          },
        },
      );
      closers.push(() => threads.stop());
      await threads.listening();
      stopping.signal.throwIfAborted();
      // After all that can fail, and before the first answer.
      snapshots.beginServing();
      threads.answer();
      return { threads, port };
    }),
  );
}

/** Does something again and again until the server ends; what fails is tried again. */
function repeat(what: string, everyMs: number, work: () => void | Promise<void>): void {
  let failure: string | undefined;
  const timer = setInterval(async () => {
    try {
      await work();
      failure = undefined;
    } catch (error) {
      const reason = reasonOf(error);
      // Once, not with every try.
      if (reason !== failure) log.error({ reason }, `${what} failed`);
      failure = reason;
    }
  }, everyMs);
  closers.push(() => clearInterval(timer));
}

function logEvents(events: StoredEvent[]): void {
  for (const { id, payload } of events) log.warn({ event: id, ...JSON.parse(payload) }, "quota event");
}

async function start(settings: Settings): Promise<void> {
  let isReady = false;
  let isSaved = true;
  let savedAtMs = performance.now();
  /** Undefined while the state's files are in their places. */
  let fault: string | undefined;
  let operatorConsole: OperatorConsole | undefined;
  const isFit = () => isReady && isSaved && fault === undefined && !stopping.signal.aborted;
  const opsPort = await unlessStopping(listenOps(settings, isFit, () => operatorConsole));
  checkSnapshots(settings);
  checkPortalAccount(settings);
  const { store, guard } = openState(settings);
  let threads: ServingThreads | undefined;
  const snapshots = await loadData(settings, store, guard, async (images) => threads?.publish(images));

  const { client, directory } = await startDirectory(settings, store);
  const keys = new KeyTable();
  const limits = new Limits(undefined, settings.redis !== undefined);
  const names = new AccountNames();
  const days = new UsageDays();
  const accounts = new Accounts(store, keys, limits, names, days, Date.now());
  let sharing: Sharing | undefined;
  const save = () => {
    // What is written to a file that isn't there any more is lost: in memory it isn't.
    if (fault === undefined) logEvents(accounts.save(Date.now(), sharing));
  };
  closers.push(() => {
    try {
      fault ??= guard.fault();
      if (fault !== undefined) throw new Error(fault);
      save();
    } catch (error) {
      process.exitCode = 1;
      log.error({ reason: reasonOf(error) }, "the last counts can't be saved");
    }
  });
  sharing = await unlessStopping(startSharing(settings, { store, accounts, limits }, save));
  const mailer = settings.mail && new (await import("../notices/mail.ts")).Mailer(settings.mail);
  const change = async <Result>(work: () => Result) =>
    directory === undefined ? store.atomically(work) : directory.change(work);
  /** One server at a time delivers what all of them have recorded. */
  const delivers = () => directory === undefined || directory.delivers(performance.now());
  const outboxes = [
    webhookSender(store, metrics, { allowLoopback: settings.webhookAllowLoopback }),
    emailSender(mailer, metrics),
  ].map((sender) => ({ sender, outbox: new Outbox(store, log, sender, change) }));
  for (const { outbox } of outboxes) closers.push(() => outbox.stop());
  const scan = async () => void (await snapshots.scan());

  // Before the threads: these go on until the last answer.
  repeat("looking for the state", guardMs, () => {
    const found = guard.fault();
    if (found !== undefined && found !== fault) log.error({ reason: found }, stateLost);
    if (found === undefined && fault !== undefined) log.info("the state is back in its place");
    fault = found;
  });
  repeat("reading accounts and keys", refreshMs, async () => {
    accounts.enterMonths(Date.now());
    if (fault !== undefined) return;
    await directory?.read().catch((error) => {
      // That Redis is away the ceilings say.
      if (!(error instanceof DirectoryAway)) throw error;
    });
    accounts.refresh();
    accounts.giveWord(() => guard.checkpoint(store) === undefined);
  });
  repeat("saving usage", saveMs, () => {
    isSaved = false;
    save();
    guard.checkpoint(store);
    isSaved = true;
    if (fault === undefined) savedAtMs = performance.now();
  });
  if (client !== undefined && directory !== undefined)
    repeat("recording events of all servers", saveMs, async () => {
      if (fault === undefined && delivers()) await recordCrossings(client, directory, store);
    });
  for (const { sender, outbox } of outboxes)
    repeat(`delivering events by ${sender.channel}`, deliverMs, async () => {
      if (fault === undefined && delivers()) await outbox.deliverDue(new Date(), performance.now());
    });
  const tables = { keys: keys.buffer, limits: limits.buffer, names: names.buffer, days: days.buffer };
  const portal = settings.portal
    ? new PortalHost({
        store,
        log,
        settings,
        mailer,
        portalAccount: settings.portalAccount,
        mayMakeAccount: settings.isDefaultStateDir && settings.portalAccount === trialPortalAccount,
        fault: () => fault,
        change,
        async takeOver() {
          accounts.refresh();
          guard.checkpoint(store);
          await directory?.taken(maxTakenMs);
        },
        now: () => new Date(),
      })
    : undefined;
  // After the last answer, and before the state is closed.
  closers.push(async () => {
    if (guard.fault() === undefined) await portal?.end();
  });
  const connections = new Connections(maxConnections(settings.threads));
  const traffic = new Traffic(routes, settings.threads);
  metrics.watch({
    connections,
    traffic,
    stateAge: () => (performance.now() - savedAtMs) / 1000,
    snapshotAge: () => Math.max(0, Date.now() - Date.parse(snapshots.published()[0].loadedAt)) / 1000,
    outboxes: outboxes.map(({ outbox }) => outbox),
    sharing,
  });
  const serving = await startServing(settings, tables, snapshots, portal, connections, traffic);
  threads = serving.threads;
  if (portal !== undefined)
    repeat("renewing the pages' key", renewMs, async () => {
      if (fault === undefined && (await portal.renewKey())) serving.threads.showPortal(portal.files());
    });
  repeat("looking for snapshots", scanMs, scan);
  onSignal.hangUp = () =>
    void scan().catch((error) => log.error({ reason: reasonOf(error) }, "looking for snapshots failed"));

  // Last, so that no failed start uses up the one time that the key is shown.
  const demoKey = createDemo(settings, store);
  const api = url(settings.host, serving.port);
  await portal?.begin(settings.publicUrl ?? api);
  guard.checkpoint(store);
  accounts.refresh();
  isReady = true;
  const startedAt = new Date().toISOString();
  const history = new History(
    traffic,
    () => ({ connections: connections.open, memory: process.memoryUsage.rss() }),
    performance.now(),
  );
  const shown = new OperatorConsole(history, () =>
    stateOf(
      {
        node: process.version,
        threads: settings.threads,
        started_at: startedAt,
        ready: isFit(),
        fault: fault ?? null,
      },
      snapshots,
      store,
      new Date(),
    ),
  );
  operatorConsole = shown;
  repeat("looking at what is served", sampleMs, () => shown.tick(performance.now(), Date.now()));
  if (demoKey !== undefined)
    stdout.write(
      `made the account "demo"; its key is shown this once: ${demoKey}\ntry: curl -H "Authorization: Bearer ${demoKey}" "${api}${basePath}/healthcare/prices?procedure=5072&limit=3"\n`,
    );
  if (portal !== undefined && settings.isDefaultStateDir) stdout.write(`look: ${api}/\n`);
  stdout.write(`ready ${api} ops ${url(settings.opsHost, opsPort)}\n`);
}

process.on("uncaughtException", ({ stack }) => {
  log.fatal({ stack }, "the control thread failed");
  void end(1);
});
watchHeap();
onSignal.stop = (signal) => {
  if (!stopping.signal.aborted) log.info({ signal }, "stopping");
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
  if (!stopping.signal.aborted) void end(1, () => stderr.write(`${reasonOf(error)}\n`));
}
