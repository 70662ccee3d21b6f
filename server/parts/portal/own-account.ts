import * as v from "valibot";
import { DataError, withoutCredentials } from "../../../engine/query.ts";
import {
  checkToCome,
  keyState,
  makeKey,
  maxOverlapHours,
  type NewKey,
  rotateKey,
  webhookAt,
} from "../../accounts/changes.ts";
import { webhookFault } from "../../accounts/webhook-url.ts";
import { ApiError, constantError, echo } from "../../api/errors.ts";
import type { Core } from "../../part.ts";
import type { PortalReply } from "../../shared/messages.ts";
import { emailAddress, time } from "../../shared/schemas.ts";
import { isoTime, isoTimeOrNull } from "../../shared/time.ts";
import type { Account, StoredKey } from "../../store/store.ts";
import { invalid } from "./fields.ts";
import { tooMany } from "./rate-limits.ts";
import type { PortalSettings } from "./settings.ts";

/** Shows and changes an account and its keys, for callers who have a key of the account. */

export const maxKeysPerDay = 20;
const dayMs = 86_400_000;

export interface Caller {
  account: Account;
  key: StoredKey;
}

export interface OwnAccountOptions extends Pick<Core, "store"> {
  settings: PortalSettings;
  /** Runs a change in a transaction, perhaps several times. When the promise resolves, the change is stored. */
  write<Result>(caller: Caller, now: Date, work: () => Result): Promise<Result>;
  /** @throws ApiError when no more keys may be made */
  checkRoom(): void;
}

export const noFields = v.strictObject({});
export const emailFields = v.strictObject({ email: v.nullable(emailAddress) });
export const webhookFields = v.strictObject({ url: v.nullable(v.string("a URL or null")) });
const keyId = v.pipe(v.number("a key's id"), v.safeInteger("a key's id"), v.minValue(1, "a key's id"));
export const idFields = v.strictObject({ id: keyId });
/** The time at which a new key expires, in ISO 8601. It is parsed into Unix milliseconds. Null or absent means never. */
export const expiryFields = v.strictObject({ expires: v.nullish(time()) });
const hours = `a whole number from 0 to ${maxOverlapHours}`;
export const rotationFields = v.strictObject({
  id: keyId,
  overlap_hours: v.pipe(
    v.number(hours),
    v.integer(hours),
    v.minValue(0, hours),
    v.maxValue(maxOverlapHours, hours),
  ),
});

export const invalidKey = constantError("invalid_api_key");

type Fields<Schema extends v.GenericSchema> = v.InferOutput<Schema>;

export class OwnAccount {
  readonly #options: OwnAccountOptions;

  constructor(options: OwnAccountOptions) {
    this.#options = options;
  }

  account({ account }: Caller): PortalReply {
    const { name, plan, quota, burst, email, webhook, webhook_secret } = account;
    const webhook_secret_set = webhook_secret !== null;
    return done({ account: name, plan, quota, burst, email, webhook, webhook_secret_set });
  }

  async setEmail(caller: Caller, { email }: Fields<typeof emailFields>, now: Date): Promise<PortalReply> {
    if (email !== caller.account.email) await this.#change(caller, now, () => ({ email }));
    return done({ email });
  }

  async setWebhook(caller: Caller, { url }: Fields<typeof webhookFields>, now: Date): Promise<PortalReply> {
    if (url === caller.account.webhook) return done({ webhook: url });
    const { webhookAllowLoopback } = this.#options.settings;
    // An invalid URL doesn't count as a change, so it is checked before the rate limit.
    if (url !== null) {
      const fault = webhookFault(url, webhookAllowLoopback);
      if (fault !== undefined) throw invalid("url", echo(withoutCredentials(url)), fault);
    }
    const changed = await this.#change(caller, now, (account) =>
      webhookAt(url, account, webhookAllowLoopback, "url"),
    );
    const secret = changed.webhook_secret;
    return done({ webhook: url, ...(secret === null ? {} : { secret }) });
  }

  async #change<Part extends Partial<Account>>(
    caller: Caller,
    now: Date,
    partOf: (account: Account) => Part,
  ): Promise<Part> {
    const { store } = this.#options;
    return this.#options.write(caller, now, () => {
      // The account may have been changed or deleted since the caller was checked.
      const account = store.accounts.byId(caller.account.id);
      if (account === undefined) throw invalidKey;
      const part = partOf(account);
      store.accounts.update({ ...account, ...part });
      return part;
    });
  }

  keys({ account, key }: Caller, _: object, now: Date): PortalReply {
    const keys = this.#options.store.keys.ofAccount(account.id).map((one) => ({
      id: one.id,
      last4: one.last4,
      label: one.label,
      state: keyState(one, now),
      created: isoTime(one.created_at),
      expires: isoTimeOrNull(one.expires_at),
      is_this: one.id === key.id,
    }));
    return done({ keys });
  }

  async createKey(
    caller: Caller,
    { expires: asked }: Fields<typeof expiryFields>,
    now: Date,
  ): Promise<PortalReply> {
    const expires = asked ?? null;
    withError(
      () => expires !== null && checkToCome("expires", expires, now),
      ({ found, expected }) => invalid("expires", found, expected),
    );
    this.#checkMayMakeKey(caller, now);
    const { store } = this.#options;
    const made = await this.#options.write(caller, now, () => {
      // Other keys may have been made since the first check.
      this.#checkMayMakeKey(caller, now);
      return makeKey(store, caller.account.id, expires, now);
    });
    return newKey(made);
  }

  async rotateKey(
    caller: Caller,
    { id, overlap_hours }: Fields<typeof rotationFields>,
    now: Date,
  ): Promise<PortalReply> {
    this.#ownKey(caller, id);
    this.#checkMayMakeKey(caller, now);
    const { store } = this.#options;
    const made = await this.#options.write(caller, now, () => {
      this.#checkMayMakeKey(caller, now);
      return withError(
        () => rotateKey(store, this.#ownKey(caller, id), overlap_hours, now),
        ({ message }) => new ApiError("conflict", message, { param: "id" }),
      );
    });
    return newKey(made, { old: { id, expires: isoTime(made.oldEnds) } });
  }

  async revokeKey(caller: Caller, { id }: Fields<typeof idFields>, now: Date): Promise<PortalReply> {
    const key = this.#ownKey(caller, id);
    if (key.revoked_at === null)
      await this.#options.write(caller, now, () => this.#options.store.keys.revoke(id, now));
    return done({ id, state: "revoked" });
  }

  #ownKey({ account }: Caller, id: number): StoredKey {
    const key = this.#options.store.keys.byId(id);
    if (key === undefined || key.account !== account.id)
      throw new ApiError("not_found", `the account has no key ${id}`, { param: "id" });
    return key;
  }

  #checkMayMakeKey({ account }: Caller, now: Date): void {
    // The account may have been deleted since the caller was checked.
    if (this.#options.store.accounts.byId(account.id) === undefined) throw invalidKey;
    const since = now.getTime() - dayMs;
    const made = this.#options.store.keys.ofAccount(account.id).filter((key) => key.created_at > since);
    if (made.length >= maxKeysPerDay)
      throw tooMany(`the account got ${maxKeysPerDay} keys within a day`, dayMs / 1000);
    this.#options.checkRoom();
  }
}

function done(body: object): PortalReply {
  return { status: 200, body };
}

function newKey({ id, key, expires }: NewKey, more: object = {}): PortalReply {
  const shown = { id, key, last4: key.slice(-4), expires: isoTimeOrNull(expires) };
  return { status: 201, body: { ...shown, ...more } };
}

/** Runs code that commands also use. Its errors name arguments of commands, so `errorOf` turns them into API errors. */
function withError<Result>(work: () => Result, errorOf: (error: DataError) => ApiError): Result {
  try {
    return work();
  } catch (error) {
    throw error instanceof DataError ? errorOf(error) : error;
  }
}
