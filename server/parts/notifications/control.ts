import { closers, log, metrics, repeat } from "../../control/running.ts";
import type { Health } from "../../control/state.ts";
import type { Settings } from "../../shared/settings.ts";
import type { Store, StoredEvent } from "../../store/store.ts";
import { recordCrossings, type Shared } from "../replicas/control.ts";
import { emailSender } from "./emails.ts";
import type { Mailer } from "./mail.ts";
import { Outbox } from "./outbox.ts";
import { webhookSender } from "./webhooks.ts";

/** Delivers quota events, and says in the log what they are. */

/** With what a try has at least, well within a second. */
const deliverMs = 250;
const recordMs = 1000;

/** Changes the state, on every server that shares it. */
export type Change = <Result>(work: () => Result) => Promise<Result>;

/** An outbox for each way by which events are sent. */
export function openOutboxes(
  { webhookAllowLoopback }: Settings,
  store: Store,
  mailer: Mailer | undefined,
  change: Change,
): Outbox[] {
  const senders = [
    webhookSender(store, metrics, { allowLoopback: webhookAllowLoopback }),
    emailSender(mailer, metrics),
  ];
  const outboxes = senders.map((sender) => new Outbox(store, log, sender, change));
  for (const outbox of outboxes) closers.push(() => outbox.stop());
  return outboxes;
}

/** One server at a time records and delivers what all of them have counted. */
export function deliverEvents(
  health: Health,
  shared: Shared,
  store: Store,
  outboxes: readonly Outbox[],
): void {
  const { directory } = shared;
  const delivers = () =>
    health.fault === undefined && (directory === undefined || directory.delivers(performance.now()));
  if (directory !== undefined)
    repeat("recording events of all servers", recordMs, async () => {
      if (delivers()) logEvents(await recordCrossings(shared, store));
    });
  for (const outbox of outboxes)
    repeat(`delivering events by ${outbox.channel}`, deliverMs, async () => {
      if (delivers()) await outbox.deliverDue(new Date(), performance.now());
    });
}

export function logEvents(events: readonly StoredEvent[]): void {
  for (const { id, payload } of events) log.warn({ event: id, ...JSON.parse(payload) }, "quota event");
}
