import type { Logger } from "pino";
import type { Counter } from "prom-client";
import { reasonOf } from "../../../engine/query.ts";
import type { Channel } from "../../shared/channels.ts";
import type { Metrics } from "../../shared/metrics.ts";
import type { Account, Delivery, Store, StoredEvent } from "../../store/store.ts";

/**
 * Delivers events by a channel. Retries come with backoff, and end when `Delivery.tries` reaches `maxTries`. A receiver
 * may get an event twice. An event waits while earlier events of its account are pending. Retries get at most half of
 * the slots, so that slow receivers don't delay first tries. If all slots are taken, a first try may abort the try that
 * has run longest.
 */

const minute = 60;
const hour = 60 * minute;
/** Seconds from the start of each try of a delivery until the next try is due. They add up to about three days. */
export const pausesSeconds = [
  10,
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
const maxAnswerCharacters = 200;

const pausesMs = pausesSeconds.map((seconds) => seconds * 1000);
/** The wall clock counts as set if its difference from the steady clock changes by at least this many milliseconds. */
const minStepMs = 100;

/** The result of a try. `impossible` means that nothing was sent, and that a retry wouldn't help. */
interface Outcome {
  kind: "delivered" | "retry" | "failed" | "impossible";
  answer: string;
  /** Further writes in the transaction that stores the result. */
  record?: () => void;
}

export interface Sender {
  readonly channel: Channel;
  readonly maxUnderWay: number;
  /** Milliseconds that a try gets before it may be aborted in favour of another. */
  readonly minTryMs: number;
  /** An exception counts as the outcome `retry`. */
  send(
    event: StoredEvent,
    account: Account | undefined,
    now: Date,
    signal: AbortSignal,
  ): Outcome | Promise<Outcome>;
}

const outcomes = ["delivered", "retry", "failed"] as const;

/** The counter starts with zeros, so that alerts see the first failure as an increase. */
export function triesCounter(metrics: Metrics, channel: Channel): Counter<"outcome"> {
  const tries = metrics.counter(
    `hcqs_${channel}_deliveries_total`,
    `Outcomes of tries to send an event by ${channel}: delivered, to be retried, or failed for good`,
    "outcome",
  );
  for (const outcome of outcomes) tries.inc({ outcome }, 0);
  return tries;
}

type Due = StoredEvent & Delivery;

interface Try {
  event: Due;
  /** By the steady clock. */
  startedMs: number;
  cutOff: AbortController;
}

export class Outbox {
  readonly #store: Store;
  readonly #log: Logger;
  readonly #sender: Sender;
  readonly #tries: Counter<"outcome">;
  /** The tries that take slots, by event id, longest running first. */
  readonly #underWay = new Map<string, Try>();
  /** Functions that store results which couldn't be stored before, by event id. `deliverDue` first calls them again. */
  readonly #unrecorded = new Map<string, () => void>();
  readonly #recording = new Set<string>();
  readonly #write: (work: () => void) => Promise<void>;
  /** Milliseconds by which the wall clock is ahead of the steady clock. */
  #aheadMs: number | undefined;
  #isStopped = false;
  /**
   * The time at which the oldest pending event was made, and the steady time at which `look` found it to be the oldest.
   */
  #oldestPending: { createdAt: number; knownMs: number } | undefined;

  /** @param tries made by `triesCounter` @param write runs a function that stores a result in a transaction */
  constructor(
    store: Store,
    log: Logger,
    sender: Sender,
    tries: Counter<"outcome">,
    write = async (work: () => void): Promise<void> => store.atomically(work),
  ) {
    this.#write = write;
    this.#store = store;
    this.#log = log;
    this.#sender = sender;
    this.#tries = tries;
  }

  /** Starts the due deliveries for which there is a slot. Resolves when the started deliveries are finished. */
  async deliverDue(now: Date, steadyMs: number): Promise<void> {
    for (const [id, record] of this.#unrecorded)
      if (!this.#recording.has(id)) {
        await this.#record(id, record);
        this.#unrecorded.delete(id);
      }
    this.look(now, steadyMs);
    const { channel, maxUnderWay } = this.#sender;
    const due = this.#store.events.due(
      channel,
      now,
      [...this.#underWay.keys(), ...this.#recording],
      maxUnderWay,
    );
    const tries: Promise<void>[] = [];
    for (const event of due)
      if (this.#findSlot(event, steadyMs)) tries.push(this.#deliver(event, now, steadyMs));
    await Promise.all(tries);
  }

  /** Follows the clock, and looks for the oldest pending event. A server that mustn't deliver now calls only this. */
  look(now: Date, steadyMs: number): void {
    this.#followClock(now, steadyMs);
    const createdAt = this.#store.events.oldestPending(this.#sender.channel);
    if (createdAt === undefined) this.#oldestPending = undefined;
    else if (createdAt !== this.#oldestPending?.createdAt)
      this.#oldestPending = { createdAt, knownMs: steadyMs };
  }

  /**
   * Returns the age in seconds of the oldest event that was pending at the last call of `look`; 0 if no event was pending.
   */
  oldestPendingAge(now: Date, steadyMs: number): number {
    if (this.#oldestPending === undefined) return 0;
    const { createdAt, knownMs } = this.#oldestPending;
    return Math.max(now.getTime() - createdAt, steadyMs - knownMs) / 1000;
  }

  /** Aborts the tries in flight. The result of a try that hasn't ended isn't stored, so the try is repeated later. */
  stop(): void {
    this.#isStopped = true;
    for (const { cutOff } of this.#underWay.values()) cutOff.abort(new Error("given up"));
  }

  /**
   * Moves the times of planned tries when the wall clock is set. Another server, or this server before a restart, may have
   * planned a try by a clock that was ahead. Such a try is moved, so that it waits no longer than its pause.
   */
  #followClock(now: Date, steadyMs: number): void {
    const { channel } = this.#sender;
    const aheadMs = now.getTime() - steadyMs;
    const stepMs = aheadMs - (this.#aheadMs ?? aheadMs);
    if (Math.abs(stepMs) >= minStepMs) this.#store.events.moveTries(channel, stepMs);
    if (this.#aheadMs === undefined || Math.abs(stepMs) >= minStepMs) this.#aheadMs = aheadMs;
    this.#store.events.shortenPauses(channel, now, pausesMs);
  }

  /** @returns whether the event's try gets a slot; another try may be aborted for it */
  #findSlot(event: Due, steadyMs: number): boolean {
    const { maxUnderWay, minTryMs } = this.#sender;
    const others = [...this.#underWay.values()];
    const isFull = others.length >= maxUnderWay;
    if (event.tries > 0)
      return !isFull && others.filter(({ event: { tries } }) => tries > 0).length < maxUnderWay / 2;
    if (!isFull) return true;
    const [longest] = others;
    const ranMs = Math.round(steadyMs - longest.startedMs);
    if (ranMs < minTryMs) return false;
    longest.cutOff.abort(
      new Error(`aborted after ${ranMs} ms without an answer, because other deliveries were waiting`),
    );
    // Frees the slot immediately. The aborted event isn't sent again before its result is recorded.
    this.#underWay.delete(longest.event.id);
    return true;
  }

  async #deliver(event: Due, now: Date, startedMs: number): Promise<void> {
    const cutOff = new AbortController();
    this.#underWay.set(event.id, { event, startedMs, cutOff });
    try {
      await this.#tryAndRecord(event, now, startedMs, cutOff.signal);
    } finally {
      this.#underWay.delete(event.id);
    }
  }

  async #tryAndRecord(event: Due, now: Date, startedMs: number, signal: AbortSignal): Promise<void> {
    const account = this.#store.accounts.byId(event.account);
    const outcome = await this.#try(event, account, now, signal);
    if (this.#isStopped) return;
    const delivery = this.#after(event, outcome, startedMs);
    const { id, channel, state, tries, last_answer } = delivery;
    this.#log.info({ event: id, channel, state, tries, answer: last_answer }, "event delivery");
    const counted: (typeof outcomes)[number] = state === "pending" ? "retry" : state;
    this.#tries.inc({ outcome: counted });
    const record = () => {
      // The account may have been deleted during the try.
      if (this.#store.events.byId(id) === undefined) return;
      const before = this.#store.events.deliveries(id).find((one) => one.channel === channel);
      // Another server may have delivered the event during the try, or given up.
      if (before !== undefined && before.state !== "pending" && state !== "delivered") return;
      this.#store.events.updateDelivery(delivery);
      outcome.record?.();
    };
    try {
      await this.#record(id, record);
    } catch (error) {
      this.#unrecorded.set(id, record);
      this.#log.error({ event: id, reason: reasonOf(error) }, "event delivery can't be recorded yet");
    }
  }

  async #record(id: string, record: () => void): Promise<void> {
    this.#recording.add(id);
    try {
      await this.#write(record);
    } finally {
      this.#recording.delete(id);
    }
  }

  async #try(event: Due, account: Account | undefined, now: Date, signal: AbortSignal): Promise<Outcome> {
    try {
      return await this.#sender.send(event, account, now, signal);
    } catch (error) {
      return { kind: "retry", answer: reasonOf(error) };
    }
  }

  #after(event: Due, { kind, answer }: Outcome, startedMs: number): Delivery {
    const { id, channel } = event;
    const tries = event.tries + (kind === "impossible" ? 0 : 1);
    const last_answer = answer.replaceAll(/[^ -~]+/g, " ").slice(0, maxAnswerCharacters);
    const over = { id, channel, tries, next_try_at: null, last_answer };
    if (kind === "delivered") return { ...over, state: "delivered" };
    if (kind !== "retry" || tries >= maxTries) return { ...over, state: "failed" };
    // Converts the try's start to the wall clock as it is now. The clock may have been set after the start.
    const startedAt = Math.round(startedMs + (this.#aheadMs ?? 0));
    return { ...over, state: "pending", next_try_at: startedAt + pausesSeconds[tries - 1] * 1000 };
  }
}
