import { parentPort, workerData } from "node:worker_threads";
import { reasonOf } from "../../engine/query.ts";
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
import { Posts } from "./posts.ts";
import type { Reply } from "./reply.ts";
import { RequestIds } from "./request-ids.ts";
import { type Respond, Responder } from "./responder.ts";
import { Service } from "./service.ts";
import { freeRetired, prepareVersions, versionsOf } from "./versions.ts";
import { WaitingAnswers } from "./waiting.ts";
import { apiRequestsOf, type ServiceOf, warm, warmPrices } from "./warm.ts";

/** A serving thread. It has its own HTTP server on the shared port, and answers from images that all threads share. */

/**
 * Milliseconds without a request or an unfinished answer after which a draining thread stops waiting for its open
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

/** Callbacks for the control thread's replies to posts, by the post's id. */
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
  queue: PermitQueue | undefined;
}

function start(data: ServeData, published: readonly PublishedVersion[]): Started {
  const traffic = new ThreadTraffic(data.traffic);
  const [keys, names] = [new KeyTable(data.keys), new AccountNames(data.names)];
  const ids = new RequestIds();
  const permits = data.areShared ? new PermitTable(data.ceilings) : undefined;
  const { trustedProxies } = code;
  const shares = data.shares && new AddressShares(data.shares.limits, data.shares.buffer);
  const versions = versionsOf(published);
  const steadyNow = steadyClock();
  // No closure may hold the first versions, so that their memory can be freed.
  const serviceOf: ServiceOf = (own) =>
    new Service({
      keys: own.keys,
      ceilings: own.ceilings,
      names,
      days: new UsageDays(data.days),
      events: new UsageEvents(data.events),
      versions: own.versions,
      now: Date.now,
      steadyNow,
      takeShare:
        shares &&
        ((request, nowMs, steadyMs) => {
          const parts = addressPartsOf(responder.asking, request);
          return shares.take(clientOf(clientAddress(parts, trustedProxies)), nowMs, steadyMs);
        }),
      traffic: own.traffic,
      report: (error) => report(error, ids.announce()),
    });
  const service = serviceOf({ versions, keys, ceilings: permits ?? new Limits(data.ceilings), traffic });
  const { corsOrigins } = data;
  const answer: Respond = (request, path, method, hasBody) => service.answer(request, path, method, hasBody);
  const answerApi = corsOrigins.length === 0 ? answer : withCors(answer, corsOrigins);
  const answerAll: Respond = (request, path, method, hasBody) =>
    pages === undefined || isApiPath(path)
      ? answerApi(request, path, method, hasBody)
      : pages.respond(request, path, method, hasBody);
  warmPrices(versions, serviceOf);
  warm(
    (round) => apiRequestsOf(versions.images[0], round),
    (path, query) => service.read(path, query),
    threadCpuMs,
  );
  const connections = new Connections(data.maxConnections, data.connections);
  const log =
    data.accessLog === 0
      ? undefined
      : new AccessLog({
          ...{ perSecond: data.accessLog, accounts: data.accessLogAccounts, keys, names, trustedProxies },
          tell: (access) => send({ type: "access", access }),
        });
  const waiting = new WaitingAnswers(connections, data.maxWaitingBytes, safely(collectGarbageSoon, report));
  const queue = permits && new PermitQueue(permits, (waits) => send({ type: "wait", waits }));
  const waits = queue && {
    queue,
    answerAfterWait: (slot: number, monthOrReason: number, answer: () => Reply) =>
      service.answerAfterWait(slot, monthOrReason, answer),
  };
  const responder: Responder = new Responder(traffic, isEnding, answerAll, ids, waiting, log, waits);
  const posts = pages && new Posts(pages.posts, responder, traffic);
  const server = serveHttp(
    data.host,
    data.port,
    connections,
    exactPaths,
    responder,
    report,
    pages && posts && { below: pages.postsBelow, take: (res, req, route) => posts.take(res, req, route) },
  );
  return { service, versions, traffic, server, responder, connections, queue };
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

const take = (message: ToServe) => {
  if (message.type === "start") {
    try {
      started = start(message.data, message.published);
      send({ type: "listening" });
      // New connections wait in the system's queue until the gate opens.
      Atomics.wait(state, 0, gate.shut);
      if (isEnding()) started.server.close();
    } catch (error) {
      send({ type: "failed", reason: reasonOf(error) });
      control.close();
    }
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
