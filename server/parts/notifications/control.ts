import type { Core, RunningPart } from "../../part.ts";
import { type Channel, channels } from "../../shared/channels.ts";
import { emailSender } from "./emails.ts";
import { Outbox, type Sender, triesCounter } from "./outbox.ts";
import { webhookSender } from "./webhooks.ts";

/** Delivers quota events, by webhook and by e-mail. */

const deliverMs = 250;

export async function startNotifications(core: Core): Promise<RunningPart> {
  const { settings, store, log, metrics, mailer, change } = core;
  const senders: Record<Channel, Sender> = {
    webhook: webhookSender(store, { allowLoopback: settings.WEBHOOK_ALLOW_LOOPBACK }),
    email: emailSender(mailer),
  };
  for (const channel of channels) {
    const outbox = new Outbox(store, log, senders[channel], triesCounter(metrics, channel), change);
    core.atEnd(() => outbox.stop());
    core.repeat(`delivering events by ${channel}`, deliverMs, async () => {
      if (core.delivers()) await outbox.deliverDue(new Date(), performance.now());
      else outbox.look(new Date(), performance.now());
    });
    metrics.gauge(
      `hcqs_${channel}_oldest_pending_seconds`,
      `Age in seconds of the oldest event that is still to be sent by ${channel}; 0 if there is none`,
      () => outbox.oldestPendingAge(new Date(), performance.now()),
    );
  }
  return {};
}
