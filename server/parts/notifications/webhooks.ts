import { Webhook } from "standardwebhooks";
import type { Account, Store, StoredEvent } from "../../store/store.ts";
import type { Sender } from "./outbox.ts";
import { type PostOptions, post } from "./post.ts";

/** Posts events to webhooks by the Standard Webhooks specification, with the same id on every try. */

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

/** After a rotation the old secret signs too, until it expires. */
function secretsOf(account: Account, now: Date): string[] {
  const { webhook_secret, webhook_old_secret, webhook_old_secret_until } = account;
  const isOverlap = webhook_old_secret_until !== null && now.getTime() < webhook_old_secret_until;
  return [webhook_secret, isOverlap ? webhook_old_secret : null].filter((secret) => secret !== null);
}

const noWebhook = {
  webhook: null,
  webhook_secret: null,
  webhook_old_secret: null,
  webhook_old_secret_until: null,
} as const;

/** If a post is answered with 410, the account's webhook is removed, unless its URL has changed since. */
export function webhookSender(store: Store, options: PostOptions): Sender {
  return {
    channel: "webhook",
    maxUnderWay: 200,
    minTryMs: 500,
    async send(event, account, now, signal) {
      const url = account?.webhook ?? null;
      const secrets = account === undefined ? [] : secretsOf(account, now);
      if (account === undefined || url === null || secrets.length === 0)
        return { kind: "impossible", answer: "no webhook" };
      const headers = signedHeaders(event, secrets, now);
      const status = await post(url, Buffer.from(event.payload), headers, options, signal);
      const answer = String(status);
      if (status >= 200 && status < 300) return { kind: "delivered", answer };
      if (status !== 410) return { kind: "retry", answer };
      const record = () => {
        const current = store.accounts.byId(account.id);
        // The account may have changed its URL since.
        if (current?.webhook === url) store.accounts.update({ ...current, ...noWebhook });
      };
      return { kind: "failed", answer, record };
    },
  };
}
