import type { Logger } from "pino";
import { Webhook } from "standardwebhooks";
import type { Metrics } from "../shared/metrics.ts";
import type { Account, Store, StoredEvent } from "../store/store.ts";
import { type PostOptions, post } from "./post.ts";

/** Delivers events by the Standard Webhooks specification: at least once, with the same id on every try. */

/**
 * Slots for tries under way, so that a slow receiver is in nobody's way: an account has no more of them than a month
 * has thresholds, and tries after the first, which a receiver that doesn't answer makes many of, leave half of all
 * slots to first ones. For a first try that finds none free, the try that has been running longest is cut off.
 */
export const maxTriesUnderWay = 200;
export const maxRetriesUnderWay = 100;
export const maxTriesPerAccount = 3;
/** What every try has, before it can be cut off. */
export const minTryMs = 500;
const maxAnswerLength = 200;
const second = 1;
const minute = 60 * second;
const hour = 60 * minute;
/** Pauses after each try but the last: ten tries over about three days. */
const pausesSeconds = [
  10 * second,
  minute,
  5 * minute,
  30 * minute,
  2 * hour,
  6 * hour,
  12 * hour,
  24 * hour,
  27 * hour,
];
export const maxTries = pausesSeconds.length + 1;
const longestPauseMs = Math.max(...pausesSeconds) * 1000;
/** By less than this the wall clock may differ from the steady one without having been set. */
const minStepMs = 100;

/** @param now also the time of the signatures */
function signedHeaders(event: StoredEvent, secrets: string[], now: Date): Record<string, string> {
  const signatures = secrets.map((secret) => new Webhook(secret).sign(event.id, now, event.payload));
  return {
    "Content-Type": "application/json",
    "User-Agent": "healthcare-charge-query-service",
    "webhook-id": event.id,
    "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
    "webhook-signature": signatures.join(" "),
  };
}

/** What an account's posts are signed with: for a while after a rotation, by the secret before as well. */
function secretsOf(account: Account, now: Date): string[] {
  const { webhook_secret, webhook_old_secret, webhook_old_secret_until } = account;
  const isOverlap = webhook_old_secret_until !== null && now.getTime() < Date.parse(webhook_old_secret_until);
  return [webhook_secret, isOverlap ? webhook_old_secret : null].filter((secret) => secret !== null);
}

/** What an error says, fit for a line of a list: parts of it may be a stranger's. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // When each of several addresses fails, there is only a code.
  const text = error.message || ("code" in error ? String(error.code) : error.name);
  return text.replaceAll(/[^ -~]+/g, " ").slice(0, maxAnswerLength);
}

const noWebhook = {
  webhook: null,
  webhook_secret: null,
  webhook_old_secret: null,
  webhook_old_secret_until: null,
} as const;

interface Try {
  event: StoredEvent;
  /** By the steady clock. */
  startedMs: number;
  cutOff: AbortController;
}

export class Webhooks {
  readonly #store: Store;
  readonly #log: Logger;
  readonly #metrics: Metrics;
  readonly #options: PostOptions;
  /** By event; the one that has been running longest comes first. */
  readonly #underWay = new Map<string, Try>();
  /** Outcomes that couldn't be written: they are written first, and what was delivered isn't posted again. */
  readonly #unrecorded = new Map<string, () => void>();
  /** How far the wall clock is ahead of the steady one. */
  #aheadMs: number | undefined;
  #isStopped = false;
  #oldestPending: string | undefined;

  constructor(store: Store, log: Logger, metrics: Metrics, options: PostOptions) {
    this.#store = store;
    this.#log = log;
    this.#metrics = metrics;
    this.#options = options;
  }

  /**
   * Starts the tries that are due, as far as there are slots.
   *
   * @param now also the time of the signatures
   * @param steadyMs the same moment by a clock that never steps
   * @returns when those are done
   */
  async deliverDue(now: Date, steadyMs: number): Promise<void> {
    for (const [id, record] of this.#unrecorded) {
      record();
      this.#unrecorded.delete(id);
    }
    this.#followClock(now, steadyMs);
    const due = this.#store.dueEvents(now, [...this.#underWay.keys()], maxTriesPerAccount, maxTriesUnderWay);
    const tries: Promise<void>[] = [];
    for (const event of due)
      if (this.#findSlot(event, steadyMs)) tries.push(this.#deliver(event, now, steadyMs));
    this.#oldestPending = this.#store.oldestPending();
    await Promise.all(tries);
  }

  /** Seconds since the oldest event was made that is still to be delivered, as of the last look; 0 where none is. */
  oldestPendingAge(now: Date): number {
    const since = this.#oldestPending;
    return since === undefined ? 0 : Math.max(0, now.getTime() - Date.parse(since)) / 1000;
  }

  /** Gives up the tries under way, without a word of them in the store: the next start makes them again. */
  stop(): void {
    this.#isStopped = true;
    for (const { cutOff } of this.#underWay.values()) cutOff.abort(new Error("given up"));
  }

  /**
   * Moves the times of the tries to come along with a wall clock that is set, so that every pause is as long as
   * planned. How it was set while no process ran, nobody knows: no pause is longer than the longest then.
   */
  #followClock(now: Date, steadyMs: number): void {
    const aheadMs = now.getTime() - steadyMs;
    const stepMs = aheadMs - (this.#aheadMs ?? aheadMs);
    if (this.#aheadMs !== undefined && Math.abs(stepMs) < minStepMs) return;
    this.#store.moveTries(stepMs, new Date(now.getTime() + longestPauseMs));
    this.#aheadMs = aheadMs;
  }

  /** @returns whether there is a slot, after a try was cut off where that is needed */
  #findSlot(event: StoredEvent, steadyMs: number): boolean {
    const others = [...this.#underWay.values()];
    const isFull = others.length >= maxTriesUnderWay;
    if (event.tries > 0)
      return !isFull && others.filter(({ event: { tries } }) => tries > 0).length < maxRetriesUnderWay;
    if (!isFull) return true;
    const [longest] = others;
    const ranMs = Math.round(steadyMs - longest.startedMs);
    if (ranMs < minTryMs) return false;
    longest.cutOff.abort(new Error(`cut off after ${ranMs} ms without an answer: others were waiting`));
    // Its failure is recorded before anything else happens, so that its event isn't due meanwhile.
    this.#underWay.delete(longest.event.id);
    return true;
  }

  async #deliver(event: StoredEvent, now: Date, startedMs: number): Promise<void> {
    const cutOff = new AbortController();
    this.#underWay.set(event.id, { event, startedMs, cutOff });
    try {
      await this.#tryAndRecord(event, now, startedMs, cutOff.signal);
    } finally {
      this.#underWay.delete(event.id);
    }
  }

  async #tryAndRecord(event: StoredEvent, now: Date, startedMs: number, signal: AbortSignal): Promise<void> {
    const account = this.#store.accountOf(event.account);
    const outcome = await this.#try(event, account, now, startedMs, signal);
    if (this.#isStopped) return;
    const { id, state, tries, last_answer } = outcome;
    this.#log.info({ event: id, state, tries, answer: last_answer }, "event delivery");
    this.#metrics.webhookDeliveries.inc({ outcome: state === "pending" ? "retry" : state });
    const record = () =>
      this.#store.atomically(() => {
        this.#store.updateDelivery(outcome);
        const current = this.#store.accountOf(event.account);
        // Gone for good: but only the address that said so.
        if (last_answer === "410" && current !== undefined && current.webhook === account?.webhook)
          this.#store.updateAccount({ ...current, ...noWebhook });
      });
    try {
      record();
    } catch (error) {
      this.#unrecorded.set(id, record);
      this.#log.error({ event: id, reason: String(error) }, "event delivery can't be recorded yet");
    }
  }

  /** Tries once. @returns how the delivery stands then */
  async #try(
    event: StoredEvent,
    account: Account | undefined,
    now: Date,
    startedMs: number,
    signal: AbortSignal,
  ): Promise<StoredEvent> {
    const tries = event.tries + 1;
    const url = account?.webhook ?? null;
    const secrets = account === undefined ? [] : secretsOf(account, now);
    const over: StoredEvent = { ...event, tries, next_try_at: null, state: "failed" };
    if (url === null || secrets.length === 0)
      return { ...over, tries: event.tries, last_answer: "no webhook" };
    let answer: string;
    try {
      const headers = signedHeaders(event, secrets, now);
      const body = Buffer.from(event.payload);
      const status = await post(url, body, headers, this.#options, signal);
      if (status >= 200 && status < 300) return { ...over, state: "delivered", last_answer: String(status) };
      answer = String(status);
    } catch (error) {
      answer = reasonOf(error);
    }
    if (answer === "410" || tries >= maxTries) return { ...over, last_answer: answer };
    // The wall clock may have been set meanwhile.
    const startedAt = Math.round(startedMs + (this.#aheadMs ?? 0));
    const next = new Date(startedAt + pausesSeconds[tries - 1] * 1000);
    return { ...over, state: "pending", next_try_at: next.toISOString(), last_answer: answer };
  }
}
