import type { Logger } from "pino";
import { Webhook } from "standardwebhooks";
import type { Metrics } from "./metrics.ts";
import { type PostOptions, post } from "./post.ts";
import type { Account, Store, StoredEvent } from "./store.ts";

/** Delivers events by the Standard Webhooks specification: at least once, with the same id on every try. */

/**
 * Slots for tries under way, so that a slow receiver is in nobody's way: an account has no more of them than a month
 * has thresholds, and tries after the first, which a receiver that doesn't answer makes many of, leave half of all
 * slots to first ones.
 */
export const maxTriesUnderWay = 200;
export const maxRetriesUnderWay = 100;
export const maxTriesPerAccount = 3;
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

export class Webhooks {
  readonly #store: Store;
  readonly #log: Logger;
  readonly #metrics: Metrics;
  readonly #options: PostOptions;
  readonly #underWay = new Map<string, StoredEvent>();
  /** Outcomes that couldn't be written: they are written first, and what was delivered isn't posted again. */
  readonly #unrecorded = new Map<string, () => void>();
  readonly #stopping = new AbortController();

  constructor(store: Store, log: Logger, metrics: Metrics, options: PostOptions) {
    this.#store = store;
    this.#log = log;
    this.#metrics = metrics;
    this.#options = options;
  }

  /** Starts the tries that are due, as far as there are slots. @returns when those are done */
  async deliverDue(now: Date): Promise<void> {
    for (const [id, record] of this.#unrecorded) {
      record();
      this.#unrecorded.delete(id);
    }
    // No more than so many of them find their account's slots taken, so that the rest fills what is free.
    const due = this.#store.dueEvents(now, [...this.#underWay.keys()], maxTriesPerAccount, maxTriesUnderWay);
    await Promise.all(due.filter((event) => this.#take(event)).map((event) => this.#deliver(event, now)));
  }

  /** Gives up the tries under way, without a word of them in the store: the next start makes them again. */
  stop(): void {
    this.#stopping.abort();
  }

  /** @returns whether there was a slot */
  #take(event: StoredEvent): boolean {
    const others = [...this.#underWay.values()];
    if (others.length >= maxTriesUnderWay) return false;
    if (event.tries > 0 && others.filter(({ tries }) => tries > 0).length >= maxRetriesUnderWay) return false;
    if (others.filter(({ account }) => account === event.account).length >= maxTriesPerAccount) return false;
    this.#underWay.set(event.id, event);
    return true;
  }

  async #deliver(event: StoredEvent, now: Date): Promise<void> {
    try {
      await this.#tryAndRecord(event, now);
    } finally {
      this.#underWay.delete(event.id);
    }
  }

  async #tryAndRecord(event: StoredEvent, now: Date): Promise<void> {
    const account = this.#store.accountOf(event.account);
    const outcome = await this.#try(event, account, now);
    if (this.#stopping.signal.aborted) return;
    const { id, state, tries, last_answer } = outcome;
    this.#log.info({ event: id, state, tries, answer: last_answer }, "event delivery");
    this.#metrics.webhookTries.inc({ outcome: state === "pending" ? "retry" : state });
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
  async #try(event: StoredEvent, account: Account | undefined, now: Date): Promise<StoredEvent> {
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
      const status = await post(url, body, headers, this.#options, this.#stopping.signal);
      if (status >= 200 && status < 300) return { ...over, state: "delivered", last_answer: String(status) };
      answer = String(status);
    } catch (error) {
      answer = reasonOf(error);
    }
    if (answer === "410" || tries >= maxTries) return { ...over, last_answer: answer };
    const next = new Date(now.getTime() + pausesSeconds[tries - 1] * 1000);
    return { ...over, state: "pending", next_try_at: next.toISOString(), last_answer: answer };
  }
}
