import { setTimeout as delay } from "node:timers/promises";
import { reasonOf } from "../../engine/query.ts";
import { Metrics } from "../shared/metrics.ts";
import { safely } from "../shared/safely.ts";
import { logTo, Output } from "./log.ts";

/** Maximum seconds from SIGTERM to the end of the process. */
export const maxStopSeconds = 10;
/** Maximum time of all shutdown steps. A second is left for what runs before and after them. */
const maxStopMs = (maxStopSeconds - 1) * 1000;
/** Maximum time for one shutdown step. The next steps, such as saving counts, then run anyway. */
const maxCloseMs = 7000;

export const metrics = new Metrics();
const countDropped = () => metrics.logLinesDropped.inc();
export const [stdout, stderr] = [new Output(1, countDropped), new Output(2, countDropped)];
export const log = logTo(stderr);

/** The shutdown steps. The last one registered runs first. */
export const closers: (() => void | Promise<void>)[] = [];
const stopping = new AbortController();

export function isStopping(): boolean {
  return stopping.signal.aborted;
}

/** Waits for the end of a step of the start. @throws an AbortError if the server is stopping then */
export async function unlessStopping<Result>(work: Promise<Result>): Promise<Result> {
  const result = await work;
  stopping.signal.throwIfAborted();
  return result;
}

/** Runs `work` every `everyMs` until the server stops, also after failures, and while an earlier run isn't done. */
export function repeat(what: string, everyMs: number, work: () => void | Promise<void>): void {
  let failure: string | undefined;
  const tryOnce = async () => {
    await work();
    failure = undefined;
  };
  const onError = (error: unknown) => {
    const reason = reasonOf(error);
    // A repeated failure is logged once.
    if (reason !== failure) log.error({ reason }, `${what} failed; retrying`);
    failure = reason;
  };
  const timer = setInterval(safely(tryOnce, onError), everyMs);
  closers.push(() => clearInterval(timer));
}

/**
 * Runs the shutdown steps and ends the process. The exit code is 1 if a step fails. If a step takes too long, the process
 * is killed. A second call only sets the exit code.
 */
export async function end(exitCode: number, logEnd = () => log.info("stopped")): Promise<void> {
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
  else logEnd();
  await Promise.all([stdout.flush(), stderr.flush()]);
  if (isStuck) giveUp();
  process.exit();
}

function giveUp(): void {
  process.kill(process.pid, "SIGKILL");
  // A signal from inside a container doesn't kill its process 1, so the process aborts.
  process.abort();
}
