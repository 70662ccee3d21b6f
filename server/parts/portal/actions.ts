import Database from "better-sqlite3";
import type * as v from "valibot";
import { reasonOf } from "../../../engine/query.ts";
import { keyState } from "../../accounts/changes.ts";
import { maxKeys } from "../../accounts/key-table.ts";
import { bearerKey, hashKey, isWellFormed } from "../../accounts/keys.ts";
import { ApiError, constantError, echo } from "../../api/errors.ts";
import type { Core } from "../../part.ts";
import { clientOf } from "../../serving/client-address.ts";
import { maxPostsPerClient } from "../../serving/posts.ts";
import type { PortalReply, PortalRequest } from "../../shared/messages.ts";
import { StateUnavailable } from "../../shared/state-unavailable.ts";
import { readFields } from "./fields.ts";
import {
  type Caller,
  emailFields,
  expiryFields,
  idFields,
  invalidKey,
  noFields,
  OwnAccount,
  rotationFields,
  webhookFields,
} from "./own-account.ts";
import { Buckets, tooMany } from "./rate-limits.ts";
import { errorReply, unavailable } from "./reply.ts";
import type { PortalSettings } from "./settings.ts";
import { checkOpen, confirmSignup, linkFields, type SignupOptions, signUp, signupFields } from "./signups.ts";

/** Limits and authenticates the callers of the portal's actions, and runs the actions. */

export interface PortalOptions
  extends Pick<Core, "store" | "log" | "mailer" | "change" | "takeEffect" | "fault"> {
  settings: PortalSettings;
  /** Without a slash at the end. */
  publicUrl: string;
  keyCount(): number;
}

const maxClients = 10_000;
/** Maximum requests in a row from an address, or changes in a row of an account. After that, one per second is allowed. */
const clientBurst = maxPostsPerClient;
/**
 * Limits for the changes of all accounts and newcomers together: in a row, and per second. Each change waits for the
 * disk.
 */
export const [changesBurst, changesPerSecond] = [50, 10];
/** When the key table has this many keys, people can't create more here. The rest of the table is for the operator. */
const maxOwnKeys = Math.floor(maxKeys * 0.9);

const missingKey = constantError("missing_api_key");

type Reply = PortalReply | Promise<PortalReply>;

type Route = (request: PortalRequest, now: Date) => Reply;

export class PortalActions {
  readonly #options: PortalOptions;
  readonly #signup: SignupOptions;
  readonly #ofClients = new Buckets(clientBurst, 1, maxClients);
  readonly #changes = new Buckets(changesBurst, changesPerSecond, 1);
  readonly #routes: ReadonlyMap<string, Route>;

  constructor(options: PortalOptions) {
    this.#options = options;
    const write: SignupOptions["write"] = async (now, work) => {
      this.#checkRoom();
      return this.#write(now, work);
    };
    this.#signup = { ...options, write };
    const own = new OwnAccount({
      ...options,
      write: (caller, now, work) => {
        this.#takeOf(`account ${caller.account.id}`, now, "too many changes of your account");
        return this.#write(now, work);
      },
      checkRoom: () => this.#checkRoom(),
    });
    this.#routes = new Map([
      [
        "/portal/signup",
        this.#forNewcomers(signupFields, (form, address, now) => signUp(form, address, this.#signup, now)),
      ],
      [
        "/portal/signup/confirm",
        this.#forNewcomers(linkFields, ({ token }, _, now) => confirmSignup(token, this.#signup, now)),
      ],
      ["/portal/account", this.#forOwners(noFields, (caller) => own.account(caller))],
      ["/portal/account/email", this.#forOwners(emailFields, (...given) => own.setEmail(...given))],
      ["/portal/account/webhook", this.#forOwners(webhookFields, (...given) => own.setWebhook(...given))],
      ["/portal/keys", this.#forOwners(noFields, (...given) => own.keys(...given))],
      ["/portal/keys/create", this.#forOwners(expiryFields, (...given) => own.createKey(...given))],
      ["/portal/keys/rotate", this.#forOwners(rotationFields, (...given) => own.rotateKey(...given))],
      ["/portal/keys/revoke", this.#forOwners(idFields, (...given) => own.revokeKey(...given))],
    ]);
  }

  /** A failure becomes a reply with an error. */
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
    this.#takeOf(clientOf(address), now, "too many requests from your address");
    const route = this.#routes.get(path);
    if (route === undefined) throw new ApiError("unknown_endpoint", `there is no endpoint at ${echo(path)}`);
    return route(request, now);
  }

  /** The route refuses requests while signup is off. */
  #forNewcomers<Entries extends v.ObjectEntries>(
    fields: v.StrictObjectSchema<Entries, undefined>,
    act: (values: v.InferOutput<typeof fields>, address: string, now: Date) => Reply,
  ): Route {
    return ({ body, address }, now) => {
      checkOpen(this.#signup);
      return act(readFields(fields, body), address, now);
    };
  }

  /** The route refuses the key of the pages. */
  #forOwners<Entries extends v.ObjectEntries>(
    fields: v.StrictObjectSchema<Entries, undefined>,
    act: (caller: Caller, values: v.InferOutput<typeof fields>, now: Date) => Reply,
  ): Route {
    return ({ body, authorization }, now) => {
      const caller = this.#authenticate(authorization, now);
      return act(caller, readFields(fields, body), now);
    };
  }

  #takeOf(client: string, now: Date, message: string): void {
    const seconds = this.#ofClients.take(client, now.getTime());
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
    // All visitors share the key of the pages, so it must not change anything.
    if (account.name === settings.portalAccount)
      throw new ApiError("forbidden", "this key is the portal's own: sign up for one of yours");
    return { account, key };
  }

  /** Runs a change in a transaction, and waits until it takes effect. If the wait fails, the error is only logged. */
  async #write<Result>(now: Date, work: () => Result): Promise<Result> {
    const { log, fault, change, takeEffect } = this.#options;
    if (fault() !== undefined) throw unavailable("nothing can be changed now; try again later", 60);
    const seconds = this.#changes.take("", now.getTime());
    if (seconds > 0) throw unavailable("too many people change something at once; try again", seconds);
    const result = await change(work);
    try {
      await takeEffect();
    } catch (error) {
      // The change is stored and takes effect later. An error would lose a new key, which is shown only once.
      log.error({ reason: reasonOf(error) }, "a change by the portal isn't confirmed by all servers yet");
    }
    return result;
  }

  /** Refuses new keys when the key table is nearly full. If it overflowed, later changes of keys wouldn't take effect. */
  #checkRoom(): void {
    if (this.#options.keyCount() >= maxOwnKeys)
      throw new ApiError(
        "service_unavailable",
        "the server has no room for more keys: no key can be created until the operator makes room",
      );
  }
}
