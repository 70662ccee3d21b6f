import { DataError } from "../../../engine/query.ts";
import { generateKey, hashKey } from "../../accounts/keys.ts";
import type { PortalReply, PortalRequest, WebFile } from "../../shared/messages.ts";
import { plans } from "../../shared/plans.ts";
import { DirectoryAway } from "../replicas/directory.ts";
import { PortalActions, type PortalOptions } from "./actions.ts";
import { Pages } from "./pages.ts";

/** The control thread's part of the portal: makes the pages, with a key for whoever looks, and does what people ask for. */

const hourMs = 3_600_000;
const renewedAfterMs = 24 * hourMs;
/** Pages that are open when their key is replaced go on meanwhile. A key that a crash leaves behind ends by it too. */
const keyLivesMs = 26 * hourMs;

interface HostOptions extends Omit<PortalOptions, "publicUrl"> {
  /** Whether the pages' account is made if it is missing. */
  mayMakeAccount: boolean;
  now: () => Date;
}

export function noPortalAccount(name: string): DataError {
  return new DataError(
    "PORTAL_ACCOUNT",
    `${name}, which isn't there`,
    "an account: make it with npm run keys",
  );
}

export class PortalHost {
  readonly #options: HostOptions;
  readonly #pages = new Pages();
  #actions: PortalActions | undefined;
  #key: string | null = null;
  #madeAt = 0;
  /** Of the stored key, and of the one before, which may work still. */
  #ids: number[] = [];

  /** @throws DataError when there is no such account */
  constructor(options: HostOptions) {
    const { store, portalAccount: account, mayMakeAccount } = options;
    if (account !== undefined && !mayMakeAccount && store.accounts.byName(account) === undefined)
      throw noPortalAccount(account);
    this.#options = options;
    if (account !== undefined) this.#newKey();
  }

  /** The pages and files, with the key, which works once the host has begun. */
  files(): WebFile[] {
    const { settings, mailer } = this.#options;
    return this.#pages.files({ key: this.#key, signup: settings.signup, mail: mailer !== undefined });
  }

  /** Stores the pages' key, and does what people ask for from now on. @param publicUrl where they reach the pages */
  async begin(publicUrl: string): Promise<void> {
    this.#actions = new PortalActions({ ...this.#options, publicUrl });
    try {
      await this.#storeKey();
    } catch (error) {
      if (!(error instanceof DirectoryAway)) throw error;
      // A key is tried again as soon as one is due, which is now.
      this.#madeAt = Number.NEGATIVE_INFINITY;
    }
  }

  #newKey(): void {
    this.#key = generateKey();
    this.#madeAt = this.#options.now().getTime();
  }

  async #storeKey(): Promise<void> {
    const { store, change, portalAccount: name, mayMakeAccount, now } = this.#options;
    const key = this.#key;
    if (key === null || name === undefined) return;
    const made = { plan: "portal", ...plans.portal, webhook: null, webhook_secret: null } as const;
    const id = await change(() => {
      const known = store.accounts.byName(name);
      // It may have been deleted since the start.
      if (known === undefined && !mayMakeAccount) throw noPortalAccount(name);
      const account = known ?? store.accounts.create({ name, ...made }, now());
      const expires = this.#madeAt + keyLivesMs;
      return store.keys.create(account.id, hashKey(key), key.slice(-4), expires, now());
    });
    this.#ids = [...this.#ids.slice(-1), id];
  }

  /** Replaces the pages' key once a day. @returns whether it did: then there are new files */
  async renewKey(): Promise<boolean> {
    const age = this.#options.now().getTime() - this.#madeAt;
    // A clock that was set back would keep the key for too long.
    if (this.#key === null || (age >= 0 && age < renewedAfterMs)) return false;
    const before = { key: this.#key, madeAt: this.#madeAt };
    this.#newKey();
    try {
      await this.#storeKey();
    } catch (error) {
      this.#key = before.key;
      this.#madeAt = before.madeAt;
      throw error;
    }
    await this.#options.takeOver();
    return true;
  }

  /** Ends the pages' keys, as nobody serves the pages any more; where that can't be stored, they end by themselves. */
  async end(): Promise<void> {
    const { store, change, now } = this.#options;
    if (this.#ids.length === 0) return;
    await change(() => {
      for (const id of this.#ids) store.keys.revoke(id, now());
    }).catch((error) => {
      if (!(error instanceof DirectoryAway)) throw error;
    });
  }

  /** What somebody does on a page. Never rejects. */
  async act(request: PortalRequest): Promise<PortalReply> {
    return (
      this.#actions?.act(request, this.#options.now()) ?? {
        status: 503,
        body: { error: { type: "unavailable", message: "the server is starting; try again" } },
      }
    );
  }
}
