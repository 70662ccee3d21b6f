import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import pino, { type Logger } from "pino";
import { DataError } from "../engine/query.ts";
import { Accounts } from "./accounts.ts";
import { readSettings, type Settings } from "./config.ts";
import { Connections, maxConnections } from "./connections.ts";
import { Directory } from "./directory.ts";
import { generateKey, hashKey, KeyTable } from "./keys.ts";
import { Limits } from "./limits.ts";
import { lockFolder } from "./lock.ts";
import { Metrics } from "./metrics.ts";
import { opsServer } from "./ops.ts";
import { plans } from "./plans.ts";
import { listenAlone } from "./port.ts";
import { listSnapshots, SnapshotFolder } from "./snapshots.ts";
import { Store, type StoredEvent } from "./store.ts";
import { ServingThreads } from "./threads.ts";
import { Webhooks } from "./webhooks.ts";

/** The control thread: starts and stops everything, and owns what changes. */

const refreshMs = 300;
const saveMs = 1000;
const scanMs = 500;
const deliverMs = 1000;
/** Longer waits for a command that writes would keep the operator's listener waiting. */
const maxStateWaitMs = 200;
const settleStepMs = 100;
/** From SIGTERM to the end at the latest; what is not done by then is given up. */
const maxStopMs = 9000;
const sampleYears = [2023, 2024];

/** The first start without settings: a folder of synthetic snapshots. */
async function writeSample(folder: string): Promise<void> {
  // Only here, because what writes snapshots takes memory and time to load.
  const [{ publishSnapshot }, { defaultSampleRows, defaultSampleSeed, syntheticContent }, { sealSnapshot }] =
    await Promise.all([
      import("../datasets/publish.ts"),
      import("../datasets/synthetic.ts"),
      import("../engine/index.ts"),
    ]);
  process.stdout.write(
    `no snapshots in ${folder}: writing a synthetic sample (invented facilities and amounts)\n`,
  );
  for (const dataYear of sampleYears) {
    const options = { dataYear, rows: defaultSampleRows, seed: defaultSampleSeed };
    const path = publishSnapshot(folder, dataYear, (revision) =>
      sealSnapshot(syntheticContent({ ...options, revision })),
    );
    process.stdout.write(`wrote ${path}\n`);
  }
}

/** The first start without settings makes an account to try the service with. @returns its key, once */
function createDemo(settings: Settings, store: Store): string | undefined {
  if (!settings.isDefaultStateDir || store.hasAccounts()) return undefined;
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

async function listenOps(settings: Settings, isReady: () => boolean, metrics: Metrics) {
  const server = opsServer(isReady, metrics);
  server.listen(settings.opsPort, settings.opsHost);
  try {
    await once(server, "listening");
  } catch (error) {
    const reason = error instanceof Error ? error.message : error;
    throw new Error(`can't listen on ${settings.opsHost} port ${settings.opsPort} (ops): ${reason}`);
  }
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : settings.opsPort;
  return { server, port };
}

function url(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** What SIGHUP does; it never ends the process. */
let onHangup = () => {};

async function start(
  settings: Settings,
  log: Logger,
  onFailure: (reason: string) => void,
): Promise<() => Promise<void>> {
  let ready = false;
  const store = Store.open(settings.stateDir, { maxWaitMs: maxStateWaitMs });
  const unlock = lockFolder(settings.stateDir);
  const metrics = new Metrics();
  let saved = true;
  const ops = await listenOps(settings, () => ready && saved, metrics);

  const { datasetsDir } = settings;
  if (listSnapshots(datasetsDir).length === 0) {
    if (!settings.isDefaultDatasetsDir)
      throw new DataError(
        `DATASETS_DIR ${datasetsDir}`,
        "no snapshots",
        "at least one <year>.<revision>.parquet",
      );
    await writeSample(datasetsDir);
  }
  let threads: ServingThreads | undefined;
  const snapshots = new SnapshotFolder(datasetsDir, log, metrics, async (images) => threads?.publish(images));
  while ((await snapshots.scan()) && snapshots.images().length === 0) await delay(settleStepMs);
  if (snapshots.images().length === 0)
    throw new DataError(`DATASETS_DIR ${datasetsDir}`, "no snapshot that can be loaded", "at least one");

  const keys = new KeyTable();
  const limits = new Limits();
  const directory = new Directory();
  const accounts = new Accounts(store, keys, limits, directory, Date.now());
  const connections = new Connections(maxConnections(settings.threads));
  metrics.watch(connections);
  let port = settings.port;
  threads = await listenAlone(settings.host, settings.port, (free) => {
    port = free;
    return ServingThreads.start(
      settings.threads,
      {
        host: settings.host,
        port,
        connections: connections.buffer,
        maxConnections: connections.max,
        keys: keys.buffer,
        limits: limits.buffer,
        directory: directory.buffer,
      },
      snapshots.published(),
      onFailure,
      (stack) => {
        metrics.requestsFailed.inc();
        log.error({ stack }, "request failed");
      },
    );
  });

  const repeat = (what: string, everyMs: number, work: () => void) =>
    setInterval(() => {
      try {
        work();
      } catch (error) {
        log.error({ reason: error instanceof Error ? error.message : String(error) }, `${what} failed`);
      }
    }, everyMs);
  const logEvents = (events: StoredEvent[]) => {
    for (const { id, payload } of events) log.warn({ event: id, ...JSON.parse(payload) }, "quota event");
  };
  const webhooks = new Webhooks(store, log, settings.webhookAllowLoopback);
  const reportDelivery = (error: unknown) => log.error({ reason: String(error) }, "delivering events failed");
  const reportScan = (error: unknown) => log.error({ reason: String(error) }, "looking for snapshots failed");
  const scan = () => void snapshots.scan().catch(reportScan);
  onHangup = scan;
  const timers = [
    repeat("reading accounts and keys", refreshMs, () => {
      accounts.enterMonths(Date.now());
      accounts.refresh();
    }),
    repeat("saving usage", saveMs, () => {
      saved = false;
      logEvents(accounts.save(Date.now()));
      saved = true;
    }),
    repeat("delivering events", deliverMs, () => void webhooks.deliverDue(new Date()).catch(reportDelivery)),
    setInterval(scan, scanMs),
  ];

  // Last, so that no failed start uses up the one time that the key is shown.
  const demoKey = createDemo(settings, store);
  accounts.refresh();
  ready = true;
  const api = url(settings.host, port);
  if (demoKey !== undefined)
    process.stdout.write(
      `made the account "demo"; its key is shown this once: ${demoKey}\ntry: curl -H "Authorization: Bearer ${demoKey}" "${api}/api/v1/healthcare/prices?procedure=5072&limit=3"\n`,
    );
  process.stdout.write(`ready ${api} ops ${url(settings.opsHost, ops.port)}\n`);

  const serving = threads;
  return async () => {
    ready = false;
    await serving.stop();
    for (const timer of timers) clearInterval(timer);
    onHangup = () => {};
    try {
      logEvents(accounts.save(Date.now()));
    } catch (error) {
      log.error({ reason: String(error) }, "the last counts can't be saved");
      process.exitCode = 1;
    }
    store.close();
    unlock();
    ops.server.close();
    ops.server.closeAllConnections();
  };
}

const settings = readSettings(process.env);
if (Array.isArray(settings)) {
  process.stderr.write(`${settings.join("\n")}\n`);
  process.exit(1);
}
const log = pino({ base: null }, pino.destination({ fd: 2, sync: true }));
process.on("SIGHUP", () => onHangup());
try {
  let stopping = false;
  const end = async (exitCode: number) => {
    if (stopping) return;
    stopping = true;
    process.exitCode = exitCode;
    setTimeout(() => process.kill(process.pid, "SIGKILL"), maxStopMs).unref();
    await stop();
    log.info("stopped");
    process.exit();
  };
  const stop = await start(settings, log, (reason) => {
    log.fatal({ reason }, "a serving thread failed");
    void end(1);
  });
  for (const signal of ["SIGTERM", "SIGINT"] as const)
    process.on(signal, () => {
      log.info({ signal }, "stopping");
      void end(0);
    });
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
