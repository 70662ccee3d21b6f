import { randomBytes } from "node:crypto";
import * as v from "valibot";
import { DataError, shownAddress } from "../../engine/query.ts";
import { isoTime } from "../shared/time.ts";
import type { Account, Store, StoredKey } from "../store/store.ts";
import { generateKey, hashKey } from "./keys.ts";
import { maxNameLength } from "./names.ts";
import { webhookFault } from "./webhook-url.ts";

/** The rules by which operators and customers change keys and accounts. */

const maxLabelLength = 64;

function printableText(maxLength: number, what: string) {
  const expected = `1 to ${maxLength} ${what}, without a space at the start or end`;
  const form = /^[!-~](?:[ -~]*[!-~])?$/;
  return v.pipe(v.string(expected), v.regex(form, expected), v.maxLength(maxLength, expected));
}

export const keyLabel = printableText(maxLabelLength, "printable ASCII characters");
export const accountName = printableText(maxNameLength, "ASCII characters");

/** Maximum hours for which a replaced key or secret stays valid: a year. */
export const maxOverlapHours = 8760;
const hourMs = 3_600_000;

export function keyState(key: StoredKey, now: Date): "active" | "revoked" | "expired" {
  if (key.revoked_at !== null) return "revoked";
  return key.expires_at !== null && key.expires_at <= now.getTime() ? "expired" : "active";
}

/** @param at Unix milliseconds @throws DataError when the time is now or in the past */
export function checkToCome(what: string, at: number, now: Date): void {
  if (at <= now.getTime()) throw new DataError(what, isoTime(at), "a time in the future");
}

export interface NewKey {
  /** The key's text. It is stored nowhere, so it is shown only once. */
  key: string;
  id: number;
  /** Unix milliseconds; null for never. */
  expires: number | null;
}

/** @param expires Unix milliseconds; null for never */
export function makeKey(
  store: Store,
  account: number,
  expires: number | null,
  now: Date,
  label: string | null = null,
): NewKey {
  const key = generateKey();
  return { key, id: store.keys.create(account, hashKey(key), key.slice(-4), expires, now, label), expires };
}

/**
 * Replaces a key by a new key with the same expiry. The old key ends after the overlap, or at its expiry if that is
 * earlier. `oldEnds` is that time in Unix milliseconds.
 * @throws DataError when the old key isn't active, or was rotated before
 */
export function rotateKey(
  store: Store,
  old: StoredKey,
  overlapHours: number,
  now: Date,
): NewKey & { oldEnds: number } {
  if (keyState(old, now) !== "active")
    throw new DataError(`key ${old.id}`, keyState(old, now), "an active one");
  // A rotation may have made the old key expire earlier. A second new key would get that expiry.
  if (old.replaced_by !== null)
    throw new DataError(
      `key ${old.id}`,
      `a rotation before, which made key ${old.replaced_by}`,
      "one that wasn't rotated: rotate the newest",
    );
  const expires = old.expires_at;
  const made = makeKey(store, old.account, expires, now, old.label);
  store.keys.replace(old.id, made.id);
  const end = now.getTime() + overlapHours * hourMs;
  if (overlapHours === 0) store.keys.revoke(old.id, now);
  else if (expires === null || end < expires) store.keys.expire(old.id, end);
  return { ...made, oldEnds: expires === null || end < expires ? end : expires };
}

/** Makes a secret in the form of the Standard Webhooks specification. */
export function newWebhookSecret(): string {
  return `whsec_${randomBytes(24).toString("base64")}`;
}

type Webhook = Pick<
  Account,
  "webhook" | "webhook_secret" | "webhook_old_secret" | "webhook_old_secret_until"
>;

/**
 * Returns the webhook's fields after its URL is set. Null removes the webhook. A new URL gets a new secret.
 * @param what the input's name in the error
 * @throws DataError when a new URL isn't allowed
 */
export function webhookAt(
  url: string | null,
  known: Webhook | undefined,
  allowLoopback: boolean,
  what: string,
): Webhook {
  if (known !== undefined && url === known.webhook) {
    const { webhook, webhook_secret, webhook_old_secret, webhook_old_secret_until } = known;
    return { webhook, webhook_secret, webhook_old_secret, webhook_old_secret_until };
  }
  const fault = url === null ? undefined : webhookFault(url, allowLoopback);
  if (fault !== undefined) throw new DataError(what, shownAddress(url ?? ""), fault);
  return {
    webhook: url,
    webhook_secret: url === null ? null : newWebhookSecret(),
    webhook_old_secret: null,
    webhook_old_secret_until: null,
  };
}
