import { parentPort, workerData } from "node:worker_threads";
import { reasonOf } from "../../engine/query.ts";
import type { Versions } from "../api/endpoint.ts";
import type { FromServe, PageThreadCode, PublishedVersion, ToPageThread } from "../shared/messages.ts";
import { ownThread, stepBack } from "../shared/priority.ts";
import { steadyClock, threadCpuMs, watchHeap } from "../shared/runtime.ts";
import { safely, stackOf } from "../shared/safely.ts";
import { Answers } from "./answers.ts";
import { PageWriter } from "./page-orders.ts";
import type { MakeWriting } from "./pages-part.ts";
import { freeRetired, prepareVersions, versionsOf } from "./versions.ts";
import { pageRequestsOf, warm, warmingMs } from "./warm.ts";

/**
 * The page thread writes pages for all serving threads. A page takes some milliseconds, and a serving thread would answer
 * no other request meanwhile.
 */

/** Nice value of this thread once it has started, the same as for a load in the background. */
const pageNice = 15;

if (parentPort === null) throw new Error("this file runs in the page thread only");
const control = parentPort;
const send = (message: FromServe) => control.postMessage(message);

function report(error: unknown): void {
  send({ type: "error", stack: stackOf(error), requestId: undefined });
}

const code: PageThreadCode = workerData;
const { writing: make }: { writing: MakeWriting } = await import(code.writingModule);

interface Started {
  answers: Answers;
  versions: Versions;
}
let started: Started | undefined;

const writing = make((path, query) => {
  if (started === undefined) throw new Error("a page was asked for before this thread had any data");
  return started.answers.read(path, query);
});

function start(published: readonly PublishedVersion[]): void {
  const versions = versionsOf(published);
  const noAccount = () => {
    throw new Error("a page was asked for an account's usage");
  };
  started = { answers: new Answers(versions, noAccount), versions };
  warm(
    (round) => pageRequestsOf(versions.images[0], round),
    (path, query) => writing.write({ path, query, coding: "br" }),
    threadCpuMs,
    warmingMs.pages,
  );
  stepBack(ownThread(), pageNice);
  const writer = new PageWriter((wanted) => writing.write(wanted), report, steadyClock(), threadCpuMs);
  for (const port of code.ports) writer.takeFrom(port);
}

/** Switches to other data versions. Until their searches are prepared, pages are written from the previous versions. */
async function publish(published: readonly PublishedVersion[]): Promise<void> {
  if (started === undefined) start(published);
  else {
    const { answers, versions: before } = started;
    const versions = await prepareVersions(published, before, () => {});
    answers.publish(versions);
    writing.forget();
    started.versions = versions;
    freeRetired(before, versions, report);
  }
  send({ type: "published" });
}

const take = async (message: ToPageThread) => {
  if (message.type === "publish") await publish(message.published);
  else if (message.type === "pages") {
    writing.show(message.files);
    send({ type: "shown" });
  } else {
    for (const port of code.ports) port.close();
    control.close();
  }
};
const takeFailed = (error: unknown) => {
  if (started === undefined) send({ type: "failed", reason: reasonOf(error) });
  else report(error);
};
control.on("message", safely(take, takeFailed));

process.on("unhandledRejection", report);
process.on("uncaughtException", (error) => {
  send({ type: "failed", reason: String(error.stack) });
  process.exit();
});
watchHeap();
