import type { Logger } from "pino";
import type { Counter } from "prom-client";
import { reasonOf } from "../../../engine/query.ts";
import type { Account, Channel, Delivery, Store, StoredEvent } from "../../store/store.ts";

/**
 * Delivers events by a channel: at least once, with pauses that grow, and each account's in their order. Nothing is
 * tried while an earlier event of the same account is pending, so an account has one try under way at most.
 *
 * Slots for tries under way keep a slow receiver out of everybody else's way: tries after the first, which a receiver
 * that doesn't answer makes many of, leave half of all slots to first ones. For a first try that finds none free, the
 * try that has been running longest may be cut off.
 */

export const maxAnswerLength = 200;
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

/** Fit for a line of a list: parts of it may be a stranger's. */
function inOneLine(answer: string): string {
  return answer.replaceAll(/[^ -~]+/g, " ").slice(0, maxAnswerLength);
}

/** What came of a try: `impossible` is none at all, and there is nothing to wait for. */
interface Outcome {
  kind: "delivered" | "retry" | "failed" | "impossible";
  answer: string;
  /** Written together with the outcome. */
  record?: () => void;
}

/** A way to send events to an account's owner. */
export interface Sender {
  readonly channel: Channel;
  readonly maxUnderWay: number;
  /** What every try has, before it can be cut off for a first try that finds no slot. */
  readonly minTryMs: number;
  readonly tries: Counter<"outcome">;
  /** Tries once, until the signal gives it up. What is thrown is tried again. */
  send(
    event: StoredEvent,
    account: Account | undefined,
    now: Date,
    signal: AbortSignal,
  ): Outcome | Promise<Outcome>;
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
  /** By event, of which there is one delivery by a channel; the one that has been running longest comes first. */
  readonly #underWay = new Map<string, Try>();
  /** Outcomes that couldn't be written: they are written first, and what was delivered isn't posted again. */
  readonly #unrecorded = new Map<string, () => void>();
  /** Events whose outcomes are being written. */
  readonly #recording = new Set<string>();
  readonly #write: (work: () => void) => Promise<void>;
  /** How far the wall clock is ahead of the steady one. */
  #aheadMs: number | undefined;
  #isStopped = false;
  #oldestPending: number | undefined;

  /** @param write writes outcomes, each as one */
  constructor(
    store: Store,
    log: Logger,
    sender: Sender,
    write = async (work: () => void): Promise<void> => store.atomically(work),
  ) {
    this.#write = write;
    this.#store = store;
    this.#log = log;
    this.#sender = sender;
  }

  /**
   * Starts the tries that are due, as far as there are slots.
   *
   * @param now also the time of the signatures
   * @param steadyMs the same moment by a clock that never steps
   * @returns when those are done
   */
  async deliverDue(now: Date, steadyMs: number): Promise<void> {
    for (const [id, record] of this.#unrecorded)
      if (!this.#recording.has(id)) {
        await this.#record(id, record);
        this.#unrecorded.delete(id);
      }
    this.#followClock(now, steadyMs);
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
    this.#oldestPending = this.#store.events.oldestPending(channel);
    await Promise.all(tries);
  }

  get channel(): Channel {
    return this.#sender.channel;
  }

  /** Seconds since the oldest event was made that is still to be delivered, as of the last look; 0 where none is. */
  oldestPendingAge(now: Date): number {
    const since = this.#oldestPending;
    return since === undefined ? 0 : Math.max(0, now.getTime() - since) / 1000;
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
    this.#store.events.moveTries(this.#sender.channel, stepMs, new Date(now.getTime() + longestPauseMs));
    this.#aheadMs = aheadMs;
  }

  /** @returns whether there is a slot, after a try was cut off where that is needed */
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
    longest.cutOff.abort(new Error(`cut off after ${ranMs} ms without an answer: others were waiting`));
    // Its failure is recorded before anything else happens, so that its event isn't due meanwhile.
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
    this.#sender.tries.inc({ outcome: state === "pending" ? "retry" : state });
    const record = () => {
      // Its account was deleted meanwhile.
      if (this.#store.events.byId(id) === undefined) return;
      const before = this.#store.events.deliveries(id).find((one) => one.channel === channel);
      // Another server has taken over, and delivered it or given it up meanwhile.
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

  /** How a delivery stands after a try that was begun then. */
  #after(event: Due, { kind, answer }: Outcome, startedMs: number): Delivery {
    const { id, channel } = event;
    const tries = event.tries + (kind === "impossible" ? 0 : 1);
    const over = { id, channel, tries, next_try_at: null, last_answer: inOneLine(answer) };
    if (kind === "delivered") return { ...over, state: "delivered" };
    if (kind !== "retry" || tries >= maxTries) return { ...over, state: "failed" };
    // The wall clock may have been set meanwhile.
    const startedAt = Math.round(startedMs + (this.#aheadMs ?? 0));
    return { ...over, state: "pending", next_try_at: startedAt + pausesSeconds[tries - 1] * 1000 };
  }
}
