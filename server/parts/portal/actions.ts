import Database from "better-sqlite3";
import type { Logger } from "pino";
import * as v from "valibot";
import { DataError, reasonOf } from "../../../engine/query.ts";
import {
  checkToCome,
  keyState,
  makeKey,
  maxOverlapHours,
  type NewKey,
  rotateKey,
  webhookAt,
} from "../../accounts/changes.ts";
import { maxKeys } from "../../accounts/key-table.ts";
import { bearerKey, hashKey, isWellFormed } from "../../accounts/keys.ts";
import { webhookFault } from "../../accounts/webhook-url.ts";
import { ApiError, constantError, echo } from "../../api/errors.ts";
import type { Mailer } from "../../shared/mail.ts";
import type { PortalReply, PortalRequest } from "../../shared/messages.ts";
import { emailAddress, time } from "../../shared/schemas.ts";
import { StateUnavailable } from "../../shared/state-unavailable.ts";
import { isoTime, isoTimeOrNull } from "../../shared/time.ts";
import type { Account, Store, StoredKey } from "../../store/store.ts";
import { invalid, readFields } from "./fields.ts";
import { Buckets, clientOf, tooMany } from "./rate-limits.ts";
import { errorReply, unavailable } from "./reply.ts";
import type { PortalSettings } from "./settings.ts";
import { checkOpen, confirmSignup, linkFields, type SignupOptions, signUp, signupFields } from "./signups.ts";

/** Does what people ask for on the portal: they sign up, and change their account and its keys. */

export interface PortalOptions {
  store: Store;
  log: Logger;
  settings: PortalSettings;
  /** Undefined where the server sends no e-mail. */
  mailer: Mailer | undefined;
  /** The portal's URL, such as `http://127.0.0.1:8080`. */
  publicUrl: string;
  keyCount(): number;
  /** Why the state can't be written now; undefined where it can. */
  fault(): string | undefined;
  /** Runs a change of the state in one transaction. */
  change<Result>(work: () => Result): Promise<Result>;
  /** Makes a change durable, and known to every thread and server. Called after each change, before the reply. */
  takeOver(): void | Promise<void>;
}

const maxClients = 10_000;
const maxKeysPerDay = 20;
const dayMs = 86_400_000;
/** Keys that people can make. The rest of the key table is for the operator. */
const maxOwnKeys = Math.floor(maxKeys * 0.9);

interface Caller {
  account: Account;
  key: StoredKey;
}

const noFields = v.strictObject({});
const emailFields = v.strictObject({ email: v.nullable(emailAddress) });
const webhookFields = v.strictObject({ url: v.nullable(v.string("a URL or null")) });
const keyId = v.pipe(v.number("a key's id"), v.safeInteger("a key's id"), v.minValue(1, "a key's id"));
const idFields = v.strictObject({ id: keyId });
const expiryFields = v.strictObject({ expires: v.nullish(time()) });
const hours = `a whole number from 0 to ${maxOverlapHours}`;
const rotationFields = v.strictObject({
  id: keyId,
  overlap_hours: v.pipe(
    v.number(hours),
    v.integer(hours),
    v.minValue(0, hours),
    v.maxValue(maxOverlapHours, hours),
  ),
});

const missingKey = constantError("missing_api_key");
const invalidKey = constantError("invalid_api_key");

type Fields<Schema extends v.GenericSchema> = v.InferOutput<Schema>;
type Reply = PortalReply | Promise<PortalReply>;

/** Checks the caller and the fields of the body, and does what the request asks for. */
type Route = (request: PortalRequest, now: Date) => Reply;

/** The control thread's side of the portal. A request that fails writes nothing. */
export class PortalActions {
  readonly #options: PortalOptions;
  readonly #signup: SignupOptions;
  readonly #requestsOfClient = new Buckets(30, 1, maxClients);
  readonly #requests = new Buckets(1000, 500, 1);
  readonly #writesOfAccount = new Buckets(20, 0.2, maxClients);
  /** Each write waits for the disk. */
  readonly #writes = new Buckets(50, 10, 1);
  /** Each path with who may ask, the fields of the body, and the action. */
  readonly #routes: ReadonlyMap<string, Route> = new Map([
    [
      "/portal/signup",
      this.#forNewcomers(signupFields, (form, address, now) => signUp(form, address, this.#signup, now)),
    ],
    [
      "/portal/signup/confirm",
      this.#forNewcomers(linkFields, ({ token }, _, now) => confirmSignup(token, this.#signup, now)),
    ],
    ["/portal/account", this.#forOwners(noFields, this.#account)],
    ["/portal/account/email", this.#forOwners(emailFields, this.#setEmail)],
    ["/portal/account/webhook", this.#forOwners(webhookFields, this.#setWebhook)],
    ["/portal/keys", this.#forOwners(noFields, this.#keys)],
    ["/portal/keys/create", this.#forOwners(expiryFields, this.#createKey)],
    ["/portal/keys/rotate", this.#forOwners(rotationFields, this.#rotateKey)],
    ["/portal/keys/revoke", this.#forOwners(idFields, this.#revokeKey)],
  ]);

  constructor(options: PortalOptions) {
    this.#options = options;
    const { store, log, settings, mailer, publicUrl } = options;
    const write: SignupOptions["write"] = async (now, work) => {
      this.#checkRoom();
      return this.#write(now, work);
    };
    this.#signup = { store, log, settings, mailer, emails: { underWay: 0 }, publicUrl, write };
  }

  async act(request: PortalRequest, now: Date): Promise<PortalReply> {
    try {
      return await this.#act(request, now);
    } catch (error) {
      if (error instanceof ApiError) return errorReply(error);
      this.#options.log.error(
        { path: request.path, reason: reasonOf(error), requestId: request.requestId },
        "a request to the portal failed",
      );
      const isStored = !(error instanceof Database.SqliteError || error instanceof StateUnavailable);
      return errorReply(
        isStored
          ? constantError("internal_error")
          : unavailable("the change can't be stored now; try again", 1),
      );
    }
  }

  async #act(request: PortalRequest, now: Date): Promise<PortalReply> {
    const { path, address } = request;
    this.#take(this.#requestsOfClient, clientOf(address), now, "too many requests from your address");
    this.#take(this.#requests, "", now, "too many requests");
    const route = this.#routes.get(path);
    if (route === undefined) throw new ApiError("unknown_endpoint", `there is no endpoint at ${echo(path)}`);
    return route(request, now);
  }

  /** A route for people without an account, while signup is open. */
  #forNewcomers<Entries extends v.ObjectEntries>(
    fields: v.StrictObjectSchema<Entries, undefined>,
    act: (values: v.InferOutput<typeof fields>, address: string, now: Date) => Reply,
  ): Route {
    return ({ body, address }, now) => {
      checkOpen(this.#signup);
      return act(readFields(fields, body), address, now);
    };
  }

  /** A route for whoever has a key of an account, except the key of the pages. */
  #forOwners<Entries extends v.ObjectEntries>(
    fields: v.StrictObjectSchema<Entries, undefined>,
    act: (caller: Caller, values: v.InferOutput<typeof fields>, now: Date) => Reply,
  ): Route {
    return ({ body, authorization }, now) => {
      const caller = this.#authenticate(authorization, now);
      return act.call(this, caller, readFields(fields, body), now);
    };
  }

  #take(buckets: Buckets, name: string, now: Date, message: string): void {
    const seconds = buckets.take(name, now.getTime());
    if (seconds > 0) throw tooMany(message, seconds);
  }

  #authenticate(authorization: string, now: Date): Caller {
    const { store, settings } = this.#options;
    const text = bearerKey(authorization);
    if (text === undefined) throw missingKey;
    const key = isWellFormed(text) ? store.keys.byHash(hashKey(text)) : undefined;
    if (key === undefined || keyState(key, now) !== "active") throw invalidKey;
    const account = store.accounts.byId(key.account);
    if (account === undefined || account.suspended_at !== null) throw invalidKey;
    // The key of the pages, which all visitors share, can't change anything.
    if (account.name === settings.portalAccount)
      throw new ApiError("forbidden", "this key is the portal's own: sign up for one of yours");
    return { account, key };
  }

  /** Runs a change in one transaction. It is in force everywhere when the promise resolves. */
  async #write<Result>(now: Date, work: () => Result): Promise<Result> {
    const { log, fault, change, takeOver } = this.#options;
    if (fault() !== undefined) throw unavailable("nothing can be changed now; try again later", 60);
    this.#take(this.#writes, "", now, "too many changes");
    const result = await change(work);
    try {
      await takeOver();
    } catch (error) {
      // The change is stored, and takes effect as those of commands do. An error would lose a new key, which is
      // shown only once.
      log.error({ reason: reasonOf(error) }, "a change by the portal isn't confirmed by all servers yet");
    }
    return result;
  }

  async #writeFor<Result>({ account }: Caller, now: Date, work: () => Result): Promise<Result> {
    this.#take(this.#writesOfAccount, String(account.id), now, "too many changes of your account");
    return this.#write(now, work);
  }

  /** A full key table would keep all other changes from taking effect. */
  #checkRoom(): void {
    if (this.#options.keyCount() >= maxOwnKeys)
      throw new ApiError("unavailable", "there is no room for more keys: ask the operator");
  }

  #account({ account }: Caller): PortalReply {
    const { name, plan, quota, burst, email, webhook, webhook_secret } = account;
    const webhook_secret_set = webhook_secret !== null;
    return done({ account: name, plan, quota, burst, email, webhook, webhook_secret_set });
  }

  async #setEmail(caller: Caller, { email }: Fields<typeof emailFields>, now: Date): Promise<PortalReply> {
    if (email !== caller.account.email) await this.#change(caller, now, () => ({ email }));
    return done({ email });
  }

  async #setWebhook(caller: Caller, { url }: Fields<typeof webhookFields>, now: Date): Promise<PortalReply> {
    if (url === caller.account.webhook) return done({ webhook: url });
    const { webhookAllowLoopback } = this.#options.settings;
    // Checked first, so that an invalid URL doesn't count as a change.
    const fault = url === null ? undefined : webhookFault(url, webhookAllowLoopback);
    if (fault !== undefined) throw invalid("url", echo(url ?? ""), fault);
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
    return this.#writeFor(caller, now, () => {
      // The account is read again, because an operator may have changed it.
      const account = store.accounts.byId(caller.account.id) ?? caller.account;
      const part = partOf(account);
      store.accounts.update({ ...account, ...part });
      return part;
    });
  }

  #keys({ account, key }: Caller, _: object, now: Date): PortalReply {
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

  async #createKey(
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
    const made = await this.#writeFor(caller, now, () => {
      // Other keys may have been made meanwhile.
      this.#checkMayMakeKey(caller, now);
      return makeKey(store, caller.account.id, expires, now);
    });
    return newKey(made);
  }

  async #rotateKey(
    caller: Caller,
    { id, overlap_hours }: Fields<typeof rotationFields>,
    now: Date,
  ): Promise<PortalReply> {
    this.#ownKey(caller, id);
    this.#checkMayMakeKey(caller, now);
    const { store } = this.#options;
    const made = await this.#writeFor(caller, now, () => {
      this.#checkMayMakeKey(caller, now);
      return withError(
        () => rotateKey(store, this.#ownKey(caller, id), overlap_hours, now),
        ({ message }) => new ApiError("conflict", message, { param: "id" }),
      );
    });
    return newKey(made, { old: { id, expires: isoTime(made.oldEnds) } });
  }

  async #revokeKey(caller: Caller, { id }: Fields<typeof idFields>, now: Date): Promise<PortalReply> {
    const key = this.#ownKey(caller, id);
    if (key.revoked_at === null)
      await this.#writeFor(caller, now, () => this.#options.store.keys.revoke(id, now));
    return done({ id, state: "revoked" });
  }

  #ownKey({ account }: Caller, id: number): StoredKey {
    const key = this.#options.store.keys.byId(id);
    if (key === undefined || key.account !== account.id)
      throw new ApiError("not_found", `the account has no key ${id}`, { param: "id" });
    return key;
  }

  #checkMayMakeKey({ account }: Caller, now: Date): void {
    // The account may have been deleted meanwhile.
    if (this.#options.store.accounts.byId(account.id) === undefined) throw invalidKey;
    const since = now.getTime() - dayMs;
    const made = this.#options.store.keys.ofAccount(account.id).filter((key) => key.created_at > since);
    if (made.length >= maxKeysPerDay)
      throw tooMany(`the account got ${maxKeysPerDay} keys within a day`, dayMs / 1000);
    this.#checkRoom();
  }
}

function done(body: object): PortalReply {
  return { status: 200, body };
}

/** The reply with a new key, which is shown only once. */
function newKey({ id, key, expires }: NewKey, more: object = {}): PortalReply {
  const shown = { id, key, last4: key.slice(-4), expires: isoTimeOrNull(expires) };
  return { status: 201, body: { ...shown, ...more } };
}

/** Runs code that commands share. Its errors name arguments of commands, and are turned into errors of fields. */
function withError<Result>(work: () => Result, errorOf: (error: DataError) => ApiError): Result {
  try {
    return work();
  } catch (error) {
    throw error instanceof DataError ? errorOf(error) : error;
  }
}
