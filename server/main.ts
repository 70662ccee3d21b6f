import { once } from "node:events";
import { createServer } from "node:net";
import { Worker } from "node:worker_threads";
import pino, { type Logger } from "pino";
import { publishSnapshot } from "../datasets/publish.ts";
import { defaultSampleRows, defaultSampleSeed, syntheticContent } from "../datasets/synthetic.ts";
import { DataError, type Image, sealSnapshot } from "../engine/index.ts";
import { Accounts } from "./accounts.ts";
import { readSettings, type Settings } from "./config.ts";
import { generateKey, hashKey, KeyTable } from "./keys.ts";
import { Limits } from "./limits.ts";
import type { FromServe, Published, ServeData, ToServe } from "./messages.ts";
import { opsServer } from "./ops.ts";
import { plans } from "./plans.ts";
import { listSnapshots, loadSnapshots } from "./snapshots.ts";
import { Store } from "./store.ts";

/** The control thread: starts and stops everything, and owns what changes. */

const refreshMs = 300;
const saveMs = 1000;
/** From SIGTERM to the end at the latest; what is not done by then is given up. */
const maxStopMs = 9000;
const sampleYears = [2023, 2024];

/** The first start without settings: a folder of synthetic snapshots. */
function writeSample(folder: string): void {
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

async function loadData(settings: Settings, log: Logger): Promise<Image[]> {
  const { datasetsDir, isDefaultDatasetsDir } = settings;
  if (listSnapshots(datasetsDir).length === 0) {
    if (!isDefaultDatasetsDir)
      throw new DataError(
        `DATASETS_DIR ${datasetsDir}`,
        "no snapshots",
        "at least one <year>.<revision>.parquet",
      );
    writeSample(datasetsDir);
  }
  const images = await loadSnapshots(datasetsDir, log);
  if (images.length === 0)
    throw new DataError(`DATASETS_DIR ${datasetsDir}`, "no snapshot that can be loaded", "at least one");
  return images;
}

/** The first start without settings makes an account to try the service with. @returns its key, once */
function createDemo(settings: Settings, store: Store): string | undefined {
  if (!settings.isDefaultStateDir || store.accounts().length > 0) return undefined;
  const key = generateKey();
  store.atomically(() => {
    const now = new Date();
    const account = store.createAccount({ name: "demo", plan: "developer", ...plans.developer }, now);
    store.createKey(account.id, hashKey(key), key.slice(-4), null, now);
  });
  return key;
}

/** The port to listen on, free at this moment: serving threads share theirs, so they wouldn't notice another process. */
async function freePort(host: string, port: number): Promise<number> {
  const probe = createServer();
  probe.listen({ host, port, exclusive: true });
  try {
    await once(probe, "listening");
  } catch (error) {
    throw new Error(
      `can't listen on ${host} port ${port}: ${error instanceof Error ? error.message : error}`,
    );
  }
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  return typeof address === "object" && address !== null ? address.port : port;
}

/** A serving thread as the control thread sees it. */
interface ServingThread {
  send(message: ToServe): void;
  drained: Promise<void>;
  ended: Promise<void>;
}

async function startServing(data: ServeData, log: Logger): Promise<ServingThread> {
  const thread = new Worker(new URL("./serve.ts", import.meta.url), { workerData: data });
  const ended = new Promise<void>((resolve) => thread.once("exit", () => resolve()));
  let setDrained = () => {};
  const drained = new Promise<void>((resolve) => {
    setDrained = resolve;
  });
  await new Promise<void>((resolve, reject) => {
    thread.once("error", reject);
    thread.on("message", (message: FromServe) => {
      if (message.type === "listening") resolve();
      else if (message.type === "failed") reject(new Error(message.reason));
      else if (message.type === "drained") setDrained();
      else log.error({ stack: message.stack }, "request failed");
    });
  });
  thread.on("error", (error) => log.fatal({ stack: error.stack }, "serving thread failed"));
  return { send: (message) => thread.postMessage(message), drained, ended };
}

async function listenOps(settings: Settings, isReady: () => boolean) {
  const server = opsServer(isReady);
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

async function start(settings: Settings, log: Logger): Promise<() => Promise<void>> {
  let ready = false;
  const store = Store.open(settings.stateDir);
  const ops = await listenOps(settings, () => ready);
  const images = await loadData(settings, log);
  const demoKey = createDemo(settings, store);

  const keys = new KeyTable();
  const limits = new Limits();
  const accounts = new Accounts(store, keys, limits, Date.now());
  const published: Published = images.map((image) => image.buffer);
  const port = await freePort(settings.host, settings.port);
  const thread = await startServing(
    { host: settings.host, port, keys: keys.buffer, limits: limits.buffer, images: published },
    log,
  );
  const guarded = (what: string, work: () => void) => () => {
    try {
      work();
    } catch (error) {
      log.error({ reason: String(error) }, `${what} failed`);
    }
  };
  const timers = [
    setInterval(
      guarded("reading accounts and keys", () => accounts.refresh()),
      refreshMs,
    ),
    setInterval(
      guarded("saving usage", () => accounts.save(Date.now())),
      saveMs,
    ),
  ];

  ready = true;
  const api = url(settings.host, port);
  if (demoKey !== undefined)
    process.stdout.write(
      `made the account "demo"; its key is shown this once: ${demoKey}\ntry: curl -H "Authorization: Bearer ${demoKey}" "${api}/api/v1/healthcare/prices?procedure=5072&limit=3"\n`,
    );
  process.stdout.write(`ready ${api} ops ${url(settings.opsHost, ops.port)}\n`);

  return async () => {
    ready = false;
    thread.send({ type: "drain" });
    await thread.drained;
    thread.send({ type: "close" });
    await thread.ended;
    for (const timer of timers) clearInterval(timer);
    accounts.save(Date.now());
    store.close();
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
try {
  const stop = await start(settings, log);
  let stopping = false;
  const onSignal = async (signal: NodeJS.Signals) => {
    if (stopping) return;
    stopping = true;
    log.info({ signal }, "stopping");
    setTimeout(() => process.exit(1), maxStopMs).unref();
    await stop();
    log.info("stopped");
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
