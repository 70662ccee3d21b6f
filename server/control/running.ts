import { setTimeout as delay } from "node:timers/promises";
import { reasonOf } from "../../engine/query.ts";
import { Metrics } from "../shared/metrics.ts";
import { safely } from "../shared/safely.ts";
import { logTo, Output } from "./log.ts";

/** What runs in this process and how it ends: its log, what is done again and again, and what undoes what was begun. */

/** From SIGTERM to the end at the latest; what is not done by then is given up. */
const maxStopMs = 9000;
/** A thread that hasn't ended by then never will; what is left, as saving the counts, is done without it. */
const maxCloseMs = 7000;

export const metrics = new Metrics();
const countDropped = () => metrics.logLinesDropped.inc();
export const [stdout, stderr] = [new Output(1, countDropped), new Output(2, countDropped)];
export const log = logTo(stderr);

/** Each undoes something that was begun; the last one comes first. */
export const closers: (() => void | Promise<void>)[] = [];
const stopping = new AbortController();

/** Whether the server is to end, at whatever moment that is. */
export function isStopping(): boolean {
  return stopping.signal.aborted;
}

/** @throws when the server is to end: then nothing more may be begun */
export function throwIfStopping(): void {
  stopping.signal.throwIfAborted();
}

/** What a start waits for. @throws when the server is to end meanwhile */
export async function unlessStopping<Result>(work: Promise<Result>): Promise<Result> {
  const result = await work;
  throwIfStopping();
  return result;
}

/** Does something again and again until the server ends; what fails is tried again. */
export function repeat(what: string, everyMs: number, work: () => void | Promise<void>): void {
  let failure: string | undefined;
  const tryOnce = async () => {
    await work();
    failure = undefined;
  };
  const onError = (error: unknown) => {
    const reason = reasonOf(error);
    // Once, not with every try.
    if (reason !== failure) log.error({ reason }, `${what} failed`);
    failure = reason;
  };
  const timer = setInterval(safely(tryOnce, onError), everyMs);
  closers.push(() => clearInterval(timer));
}

/** Ends the process in an orderly way; a failure on the way, or a second one, makes the exit code 1. */
export async function end(exitCode: number, sayWhy = () => log.info("stopped")): Promise<void> {
  if (exitCode > 0) process.exitCode = exitCode;
  if (isStopping()) return;
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
