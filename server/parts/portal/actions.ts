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
import { constantError, echo } from "../../api/errors.ts";
import type { PortalReply, PortalRequest } from "../../shared/messages.ts";
import { emailAddress, time } from "../../shared/schemas.ts";
import type { Settings } from "../../shared/settings.ts";
import { isoTime, isoTimeOrNull } from "../../shared/time.ts";
import type { Account, Store, StoredKey } from "../../store/store.ts";
import type { Mailer } from "../notifications/mail.ts";
import { webhookFault } from "../notifications/post.ts";
import { DirectoryAway } from "../replicas/directory.ts";
import { Buckets, clientOf } from "./floods.ts";
import { invalid, Refusal, readFields, tooMany } from "./refusal.ts";
import { confirmSignup, type SignupOptions, signUp } from "./signups.ts";

/** What people do on the portal without an operator: they sign up, and change their account and its keys. */

export interface PortalOptions {
  store: Store;
  log: Logger;
  settings: Pick<Settings, "signup" | "signupDaily" | "webhookAllowLoopback">;
  /** Undefined where no mail is sent. */
  mailer: Mailer | undefined;
  /** The account whose key the pages carry: it changes nothing. */
  portalAccount: string | undefined;
  /** Where people find the portal, such as `http://127.0.0.1:8080`. */
  publicUrl: string;
  /** Places in the table of keys that are taken. */
  keyCount(): number;
  /** Why the state can't be written now; undefined when it can. */
  fault(): string | undefined;
  /** Does what changes the state, as one. */
  change<Result>(work: () => Result): Promise<Result>;
  /** Runs after each change: makes it last, and hold in every thread, and on every server, before it is answered. */
  takeOver(): void | Promise<void>;
}

/** Clients whose requests are remembered. */
const maxClients = 10_000;
const maxKeysPerDay = 20;
const dayMs = 86_400_000;
/** The last keys that there is room for are the operator's. */
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

const authenticate = { headers: { "WWW-Authenticate": "Bearer" } };
const missingKey = new Refusal("missing_api_key", constantError("missing_api_key").message, authenticate);
const invalidKey = new Refusal("invalid_api_key", constantError("invalid_api_key").message, authenticate);

/** The control thread's side of the portal. What is refused writes nothing. */
export class PortalActions {
  readonly #options: PortalOptions;
  readonly #signup: SignupOptions;
  readonly #requestsOfClient = new Buckets(30, 1, maxClients);
  readonly #requests = new Buckets(1000, 500, 1);
  readonly #writesOfAccount = new Buckets(20, 0.2, maxClients);
  /** Each waits for the disk. */
  readonly #writes = new Buckets(50, 10, 1);
  readonly #routes: Record<
    string,
    (caller: Caller, body: string, now: Date) => PortalReply | Promise<PortalReply>
  > = {
    "/portal/account": (caller, body) => this.#account(caller, body),
    "/portal/account/email": (caller, body, now) => this.#setEmail(caller, body, now),
    "/portal/account/webhook": (caller, body, now) => this.#setWebhook(caller, body, now),
    "/portal/keys": (caller, body, now) => this.#keys(caller, body, now),
    "/portal/keys/create": (caller, body, now) => this.#createKey(caller, body, now),
    "/portal/keys/rotate": (caller, body, now) => this.#rotateKey(caller, body, now),
    "/portal/keys/revoke": (caller, body, now) => this.#revokeKey(caller, body, now),
  };

  constructor(options: PortalOptions) {
    this.#options = options;
    const { store, log, settings, mailer, publicUrl } = options;
    const write: SignupOptions["write"] = async (now, work) => {
      this.#checkRoom();
      return this.#write(now, work);
    };
    this.#signup = { store, log, settings, mailer, letters: { underWay: 0 }, publicUrl, write };
  }

  /** Does what a request asks for. Never rejects. */
  async act(request: PortalRequest, now: Date): Promise<PortalReply> {
    try {
      return await this.#act(request, now);
    } catch (error) {
      if (error instanceof Refusal) return error.reply;
      this.#options.log.error(
        { path: request.path, reason: reasonOf(error), requestId: request.requestId },
        "a request to the portal failed",
      );
      return error instanceof Database.SqliteError || error instanceof DirectoryAway
        ? new Refusal("unavailable", "the change can't be stored now; try again", {
            headers: { "Retry-After": "1" },
          }).reply
        : new Refusal("internal_error", constantError("internal_error").message).reply;
    }
  }

  async #act({ path, body, authorization, address }: PortalRequest, now: Date): Promise<PortalReply> {
    this.#take(this.#requestsOfClient, clientOf(address), now, "too many requests from your address");
    this.#take(this.#requests, "", now, "too many requests");
    if (path === "/portal/signup") return signUp(body, address, this.#signup, now);
    if (path === "/portal/signup/confirm") return confirmSignup(body, this.#signup, now);
    if (!Object.hasOwn(this.#routes, path))
      throw new Refusal("unknown_endpoint", `there is no endpoint at ${echo(path)}`);
    return this.#routes[path](this.#authenticate(authorization, now), body, now);
  }

  #take(buckets: Buckets, name: string, now: Date, refusal: string): void {
    const seconds = buckets.take(name, now.getTime());
    if (seconds > 0) throw tooMany(refusal, seconds);
  }

  #authenticate(authorization: string, now: Date): Caller {
    const { store, portalAccount } = this.#options;
    const text = bearerKey(authorization);
    if (text === undefined) throw missingKey;
    const key = isWellFormed(text) ? store.keys.byHash(hashKey(text)) : undefined;
    if (key === undefined || keyState(key, now) !== "active") throw invalidKey;
    const account = store.accounts.byId(key.account);
    if (account === undefined || account.suspended_at !== null) throw invalidKey;
    if (account.name === portalAccount)
      throw new Refusal("forbidden", "this key is the portal's own: sign up for one of yours");
    return { account, key };
  }

  /** Writes, as one, what the work does; it holds everywhere when this returns. */
  async #write<Result>(now: Date, work: () => Result): Promise<Result> {
    const { log, fault, change, takeOver } = this.#options;
    if (fault() !== undefined)
      throw new Refusal("unavailable", "nothing can be changed now; try again later", {
        headers: { "Retry-After": "60" },
      });
    this.#take(this.#writes, "", now, "too many changes");
    const result = await change(work);
    try {
      await takeOver();
    } catch (error) {
      // It is stored, and taken over as commands' changes are: a new key that isn't shown now would be lost.
      log.error({ reason: reasonOf(error) }, "a change by the portal isn't taken over yet");
    }
    return result;
  }

  async #writeFor<Result>({ account }: Caller, now: Date, work: () => Result): Promise<Result> {
    this.#take(this.#writesOfAccount, String(account.id), now, "too many changes of your account");
    return this.#write(now, work);
  }

  /** A table that is full would keep every other change from taking effect. */
  #checkRoom(): void {
    if (this.#options.keyCount() >= maxOwnKeys)
      throw new Refusal("unavailable", "there is no room for more keys: ask the operator");
  }

  #account({ account }: Caller, body: string): PortalReply {
    readFields(noFields, body);
    const { name, plan, quota, burst, email, webhook, webhook_secret } = account;
    const webhook_secret_set = webhook_secret !== null;
    return done({ account: name, plan, quota, burst, email, webhook, webhook_secret_set });
  }

  async #setEmail(caller: Caller, body: string, now: Date): Promise<PortalReply> {
    const { email } = readFields(emailFields, body);
    if (email !== caller.account.email) await this.#change(caller, now, () => ({ email }));
    return done({ email });
  }

  async #setWebhook(caller: Caller, body: string, now: Date): Promise<PortalReply> {
    const { url } = readFields(webhookFields, body);
    if (url === caller.account.webhook) return done({ webhook: url });
    const { webhookAllowLoopback } = this.#options.settings;
    // Before the change: one that is refused is none of those that the account may make.
    const fault = url === null ? undefined : webhookFault(url, webhookAllowLoopback);
    if (fault !== undefined) throw invalid("url", echo(url ?? ""), fault);
    const changed = await this.#change(caller, now, (account) =>
      webhookAt(url, account, webhookAllowLoopback, "url"),
    );
    const secret = changed.webhook_secret;
    return done({ webhook: url, ...(secret === null ? {} : { secret }) });
  }

  /** Writes what changes of the caller's account. @returns that */
  async #change<Part extends Partial<Account>>(
    caller: Caller,
    now: Date,
    partOf: (account: Account) => Part,
  ): Promise<Part> {
    const { store } = this.#options;
    return this.#writeFor(caller, now, () => {
      // Read again: an operator may have changed it.
      const account = store.accounts.byId(caller.account.id) ?? caller.account;
      const part = partOf(account);
      store.accounts.update({ ...account, ...part });
      return part;
    });
  }

  #keys({ account, key }: Caller, body: string, now: Date): PortalReply {
    readFields(noFields, body);
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

  async #createKey(caller: Caller, body: string, now: Date): Promise<PortalReply> {
    const { expires: asked } = readFields(expiryFields, body);
    const expires = asked ?? null;
    refusing(
      () => expires !== null && checkToCome("expires", expires, now),
      ({ found, expected }) => invalid("expires", found, expected),
    );
    this.#checkMayMakeKey(caller, now);
    const { store } = this.#options;
    const made = await this.#writeFor(caller, now, () => {
      // Others may have been made meanwhile.
      this.#checkMayMakeKey(caller, now);
      return makeKey(store, caller.account.id, expires, now);
    });
    return newKey(made);
  }

  async #rotateKey(caller: Caller, body: string, now: Date): Promise<PortalReply> {
    const { id, overlap_hours } = readFields(rotationFields, body);
    this.#ownKey(caller, id);
    this.#checkMayMakeKey(caller, now);
    const { store } = this.#options;
    const made = await this.#writeFor(caller, now, () => {
      this.#checkMayMakeKey(caller, now);
      return refusing(
        () => rotateKey(store, this.#ownKey(caller, id), overlap_hours, now),
        ({ message }) => new Refusal("conflict", message, { param: "id" }),
      );
    });
    return newKey(made, { old: { id, expires: isoTime(made.oldEnds) } });
  }

  async #revokeKey(caller: Caller, body: string, now: Date): Promise<PortalReply> {
    const { id } = readFields(idFields, body);
    const key = this.#ownKey(caller, id);
    if (key.revoked_at === null)
      await this.#writeFor(caller, now, () => this.#options.store.keys.revoke(id, now));
    return done({ id, state: "revoked" });
  }

  #ownKey({ account }: Caller, id: number): StoredKey {
    const key = this.#options.store.keys.byId(id);
    if (key === undefined || key.account !== account.id)
      throw new Refusal("not_found", `the account has no key ${id}`, { param: "id" });
    return key;
  }

  #checkMayMakeKey({ account }: Caller, now: Date): void {
    // It may have been deleted meanwhile.
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

/** Shows a key, which nothing does a second time. */
function newKey({ id, key, expires }: NewKey, more: object = {}): PortalReply {
  const shown = { id, key, last4: key.slice(-4), expires: isoTimeOrNull(expires) };
  return { status: 201, body: { ...shown, ...more } };
}

/** Does something whose errors an operator would read. @throws Refusal as a person has to read it */
function refusing<Result>(work: () => Result, refusal: (error: DataError) => Refusal): Result {
  try {
    return work();
  } catch (error) {
    throw error instanceof DataError ? refusal(error) : error;
  }
}
