import { payloadOf } from "../../accounts/quota-events.ts";
import { type Email, UnknownRecipient } from "../../shared/email.ts";
import type { Mailer } from "../../shared/mail.ts";
import type { StoredEvent } from "../../store/store.ts";
import type { Sender } from "./outbox.ts";

function emailOf({ id, threshold, payload: text }: StoredEvent, to: string): Email {
  const { account, plan, month, quota } = payloadOf(text).data;
  // A small quota may already be used up at the first warning.
  const isUsedUp = quota.used >= quota.limit;
  const [used, limit] = [quota.used, quota.limit].map((count) => count.toLocaleString("en-US"));
  const meaning = isUsedUp
    ? "Requests are refused (429) until the next month begins."
    : "Requests are answered as before until the quota is used up. Then they are refused (429) until the next month begins.";
  return {
    id,
    to,
    subject: `${threshold} % of the month's requests are used: account ${account}`,
    text: `The account ${account} (plan ${plan}) has used ${used} of its ${limit} requests in ${month} (UTC).\n\n${meaning}\n`,
  };
}

/** Without a mailer, every delivery fails immediately. */
export function emailSender(mailer: Mailer | undefined): Sender {
  return {
    channel: "email",
    // Aborting a try to free a slot wouldn't help, because all e-mails go to the same server.
    maxUnderWay: 20,
    minTryMs: Number.POSITIVE_INFINITY,
    async send(event, account, _now, signal) {
      const to = account?.email ?? null;
      if (to === null) return { kind: "impossible", answer: "no e-mail address" };
      if (mailer === undefined) return { kind: "impossible", answer: "SMTP_URL isn't set" };
      try {
        return { kind: "delivered", answer: await mailer.send(emailOf(event, to), signal) };
      } catch (error) {
        if (!(error instanceof UnknownRecipient)) throw error;
        return { kind: "failed", answer: error.message };
      }
    },
  };
}
