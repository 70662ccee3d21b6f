import { DataError } from "../../engine/query.ts";
import { generateKey, hashKey } from "../accounts/keys.ts";
import type { PortalReply, PortalRequest, WebFile } from "../shared/messages.ts";
import { plans } from "../shared/plans.ts";
import type { Store } from "../store/store.ts";
import { type PageSettings, Pages } from "./pages.ts";

/** The control thread's part of the portal: makes the pages, with a key for whoever looks. */

const hourMs = 3_600_000;
const renewedAfterMs = 24 * hourMs;
/** Pages that are open when their key is replaced go on meanwhile. A key that a crash leaves behind ends by it too. */
const keyLivesMs = 26 * hourMs;
/** In a trial, whoever looks shares ten times what the plan free has. */
const trialCeilings = { burst: 10 * plans.free.burst, quota: 10 * plans.free.quota };

export interface HostOptions {
  store: Store;
  /** The account whose ceilings hold for whoever looks; undefined: explore asks for a key. */
  account: string | undefined;
  /** Whether the account is made if it is missing. */
  mayMakeAccount: boolean;
  signup: PageSettings["signup"];
  now: () => Date;
}

export class PortalHost {
  readonly #options: HostOptions;
  readonly #pages = new Pages();
  #key: string | null = null;
  #madeAt = 0;

  /** @throws DataError when there is no such account */
  constructor(options: HostOptions) {
    const { store, account, mayMakeAccount } = options;
    if (account !== undefined && !mayMakeAccount && store.account(account) === undefined)
      throw new DataError(
        "PORTAL_ACCOUNT",
        `${account}, which isn't there`,
        "an account: make it with npm run keys",
      );
    this.#options = options;
    if (account !== undefined) this.#newKey();
  }

  /** The pages and files, with the key, which works once it is stored. */
  files(): WebFile[] {
    return this.#pages.files({ key: this.#key, signup: this.#options.signup });
  }

  #newKey(): void {
    this.#key = generateKey();
    this.#madeAt = this.#options.now().getTime();
  }

  /** Stores the pages' key, and makes the trial's account. */
  storeKey(): void {
    const { store, account: name } = this.#options;
    const key = this.#key;
    if (key === null || name === undefined) return;
    store.atomically(() => {
      const now = this.#options.now();
      const account =
        store.account(name) ??
        store.createAccount(
          { name, plan: "free", ...trialCeilings, webhook: null, webhook_secret: null },
          now,
        );
      const expires = new Date(this.#madeAt + keyLivesMs);
      store.createKey(account.id, hashKey(key), key.slice(-4), expires, now);
    });
  }

  /** Replaces the pages' key once a day. @returns whether it did: then there are new files */
  renewKey(): boolean {
    const age = this.#options.now().getTime() - this.#madeAt;
    // A clock that was set back would keep the key for too long.
    if (this.#key === null || (age >= 0 && age < renewedAfterMs)) return false;
    const before = { key: this.#key, madeAt: this.#madeAt };
    this.#newKey();
    try {
      this.storeKey();
    } catch (error) {
      this.#key = before.key;
      this.#madeAt = before.madeAt;
      throw error;
    }
    return true;
  }

  /** What somebody does on a page. Never rejects. */
  async act({ path }: PortalRequest): Promise<PortalReply> {
    return {
      status: 404,
      body: { error: { type: "unknown_endpoint", message: `there is nothing at ${path}` } },
    };
  }
}
