import { parentPort, workerData } from "node:worker_threads";
import { prepareSearch, reasonOf } from "../../engine/query.ts";
import { AddressShares } from "../accounts/address-shares.ts";
import { UsageDays } from "../accounts/days.ts";
import { UsageEvents } from "../accounts/events.ts";
import { KeyTable } from "../accounts/key-table.ts";
import { Limits } from "../accounts/limits.ts";
import { AccountNames } from "../accounts/names.ts";
import { PermitTable } from "../accounts/permit-table.ts";
import type { Versions } from "../api/endpoint.ts";
import { exactPaths, isApiPath } from "../api/routes.ts";
import { Connections } from "../shared/connections.ts";
import {
  type FromServe,
  gate,
  type PortalReply,
  type PortalRequest,
  type PublishedVersion,
  type ServeData,
  type ThreadCode,
  type ToServe,
} from "../shared/messages.ts";
import { collectGarbageSoon, steadyClock, threadCpuMs, watchHeap } from "../shared/runtime.ts";
import { safely, stackOf } from "../shared/safely.ts";
import { ThreadTraffic } from "../shared/traffic.ts";
import { AccessLog } from "./access-log.ts";
import { addressPartsOf, clientAddress, clientOf } from "./client-address.ts";
import { withCors } from "./cors.ts";
import { type HttpServer, serveHttp } from "./listener.ts";
import { PageOrders } from "./page-orders.ts";
import type { MakePages, ServingPages } from "./pages-part.ts";
import { PermitQueue } from "./permit-queue.ts";
import { inPieces } from "./pieces.ts";
import { Posts } from "./posts.ts";
import type { Reply } from "./reply.ts";
import { RequestIds } from "./request-ids.ts";
import { type Respond, Responder } from "./responder.ts";
import { Service } from "./service.ts";
import { freeRetired, prepareVersions, versionsOf } from "./versions.ts";
import { WaitingAnswers } from "./waiting.ts";
import { apiRequestsOf, loopback, ownAccount, warm, warmingMs, warmPrices } from "./warm.ts";

/** A serving thread. It has its own HTTP server on the shared port, and answers from images that all threads share. */

/**
 * Milliseconds without a request or an unfinished answer after which a draining thread stops waiting for open
 * connections. The pause gives slow clients time to receive `Connection: close`.
 */
const quietMs = 1000;
const drainStepMs = 50;

if (parentPort === null) throw new Error("this file runs in a serving thread only");
const control = parentPort;
const send = (message: FromServe) => control.postMessage(message);

/** Sends `drained` when the connections of all threads are closed, or those of this thread are quiet. */
function drain({ server, responder, connections }: Started): void {
  server.stopListening();
  responder.drain();
  let { handled } = responder;
  let quiet = 0;
  const look = () => {
    const busy = responder.pending > 0 || responder.handled !== handled;
    handled = responder.handled;
    quiet = busy ? 0 : quiet + drainStepMs;
    if (quiet < quietMs && connections.open > 0) return;
    clearInterval(timer);
    send({ type: "drained" });
  };
  const timer = setInterval(safely(look, report), drainStepMs);
}

const code: ThreadCode = workerData;
const state = new Int32Array(code.gate);
const isEnding = () => Atomics.load(state, 0) === gate.ending;

const posted = new Map<number, (reply: PortalReply | null) => void>();
let lastPost = 0;

async function askControl(request: PortalRequest): Promise<PortalReply> {
  const id = ++lastPost;
  send({ type: "post", id, request });
  const reply = await new Promise<PortalReply | null>((resolve) => posted.set(id, resolve));
  if (reply === null) throw new Error("the control thread failed to reply to a post");
  return reply;
}

function report(error: unknown, requestId?: string): void {
  send({ type: "error", stack: stackOf(error), requestId });
}

/** What answers requests for pages; undefined if all paths belong to the API. */
const pages = code.pagesModule === undefined ? undefined : await pagesIn(code.pagesModule);

async function pagesIn(module: string): Promise<ServingPages> {
  const { pages: make }: { pages: MakePages } = await import(module);
  const orders = code.pagePort && new PageOrders(code.pagePort, steadyClock());
  const { trustedProxies } = code;
  return make({ trustedProxies, ask: askControl, write: (wanted) => orders?.write(wanted), report });
}

interface Started {
  service: Service;
  versions: Versions;
  traffic: ThreadTraffic;
  server: HttpServer;
  responder: Responder;
  connections: Connections;
  /** Undefined unless servers share the accounts. */
  permits: PermitTable | undefined;
  queue: PermitQueue | undefined;
  key: string;
}

/** Makes the objects that answer requests. At first they know only an account of the thread's own, with the key `key`. */
function make(data: ServeData, versions: Versions): Started {
  const traffic = new ThreadTraffic(data.traffic);
  const ids = new RequestIds();
  const { trustedProxies } = code;
  const shares = data.shares && new AddressShares(data.shares.limits, data.shares.buffer);
  const { key, ...own } = ownAccount();
  // No closure may hold the first versions, so that their memory can be freed.
  const service = new Service({
    ...own,
    names: new AccountNames(data.names),
    days: new UsageDays(data.days),
    events: new UsageEvents(data.events),
    versions,
    now: Date.now,
    steadyNow: steadyClock(),
    takeShare:
      shares &&
      ((request, nowMs, steadyMs) => {
        const parts = addressPartsOf(responder.asking, request);
        return shares.take(clientOf(clientAddress(parts, trustedProxies)), nowMs, steadyMs);
      }),
    traffic,
    report: (error) => report(error, ids.announce()),
  });
  const { corsOrigins } = data;
  const answer: Respond = (request, path, method, hasBody) => service.answer(request, path, method, hasBody);
  const answerApi = corsOrigins.length === 0 ? answer : withCors(answer, corsOrigins);
  const answerAll: Respond = (request, path, method, hasBody) =>
    pages === undefined || isApiPath(path)
      ? answerApi(request, path, method, hasBody)
      : pages.respond(request, path, method, hasBody);
  const connections = new Connections(data.maxConnections, data.connections);
  const waiting = new WaitingAnswers(connections, data.maxWaitingBytes, safely(collectGarbageSoon, report));
  const permits = data.areShared ? new PermitTable(data.ceilings) : undefined;
  const queue = permits && new PermitQueue(permits, (waits) => send({ type: "wait", waits }));
  const waits = queue && {
    queue,
    answerAfterWait: (slot: number, monthOrReason: number, answer: () => Reply) =>
      service.answerAfterWait(slot, monthOrReason, answer),
  };
  const responder: Responder = new Responder(traffic, isEnding, answerAll, ids, waiting, undefined, waits);
  const posts = pages && new Posts(pages.posts, responder, traffic);
  const server = serveHttp(
    connections,
    exactPaths,
    responder,
    report,
    pages && posts && { below: pages.postsBelow, take: (res, req, route) => posts.take(res, req, route) },
  );
  return { key, service, versions, traffic, server, responder, connections, permits, queue };
}

async function warmUp({ key, service, server, versions }: Started): Promise<void> {
  const [image] = versions.images;
  await inPieces(prepareSearch(image), () => {});
  warm(
    (round) => apiRequestsOf(image, round),
    (path, query) => service.read(path, query),
    threadCpuMs,
    warmingMs.others,
  );
  // A server that is closed may not listen again.
  if (isEnding()) return;
  const port = server.listen(loopback, 0);
  await warmPrices(image, port, key, threadCpuMs, warmingMs.prices);
}

/** Takes over the clients' accounts, and listens on the clients' port. */
function admit({ service, responder, server, traffic, permits }: Started, data: ServeData): void {
  const keys = new KeyTable(data.keys);
  service.useAccounts({ keys, ceilings: permits ?? new Limits(data.ceilings) });
  const { trustedProxies } = code;
  if (data.accessLog > 0)
    responder.accessLog = new AccessLog({
      ...{ perSecond: data.accessLog, accounts: data.accessLogAccounts, keys, trustedProxies },
      names: new AccountNames(data.names),
      tell: (access) => send({ type: "access", access }),
    });
  traffic.forget();
  server.stopListening();
  server.listen(data.host, data.port);
}

let started: Started | undefined;

/**
 * Changes to other data versions. Until their searches are prepared, requests are answered from the previous versions.
 */
async function publish(published: readonly PublishedVersion[]): Promise<void> {
  if (started !== undefined) {
    const { service, versions: before, traffic } = started;
    const versions = await prepareVersions(published, before, (ms) => traffic.worked("publication", ms));
    const begunMs = performance.now();
    service.publish(versions);
    pages?.forget();
    started.versions = versions;
    traffic.worked("publication", performance.now() - begunMs);
    freeRetired(before, versions, report);
  }
  send({ type: "published" });
}

async function begin(data: ServeData, published: readonly PublishedVersion[]): Promise<void> {
  try {
    started = make(data, versionsOf(published));
    await warmUp(started);
    // The message `close` has closed the server, or will.
    if (isEnding()) return;
    admit(started, data);
    send({ type: "listening" });
    // New connections wait in the system's queue until the gate opens.
    Atomics.wait(state, 0, gate.shut);
    if (isEnding()) started.server.close();
  } catch (error) {
    send({ type: "failed", reason: reasonOf(error) });
    started?.server.close();
    control.close();
  }
}

const take = (message: ToServe) => {
  if (message.type === "start") {
    void begin(message.data, message.published);
  } else if (message.type === "publish") {
    void publish(message.published).catch(report);
  } else if (message.type === "pages") {
    pages?.show(message.files);
  } else if (message.type === "posted") {
    posted.get(message.id)?.(message.reply);
    posted.delete(message.id);
  } else if (message.type === "permits") {
    started?.queue?.take(message.answers);
  } else if (message.type === "drain") {
    if (started !== undefined) drain(started);
  } else {
    code.pagePort?.close();
    // The app has to be closed in its own thread, and the thread has to end by itself. Otherwise the process aborts.
    started?.server.close();
    control.close();
  }
};
control.on(
  "message",
  safely(take, (error) => report(error)),
);

// The app is closed, because a thread that ends with an open app aborts the process without a message that says why.
process.on("exit", () => started?.server.close());
process.on("unhandledRejection", (error) => report(error));
process.on("uncaughtException", (error) => {
  send({ type: "failed", reason: String(error.stack) });
  process.exit();
});
watchHeap();
