import { DataError } from "../../../engine/query.ts";
import { generateKey, hashKey } from "../../accounts/keys.ts";
import type { PortalReply, PortalRequest, WebFile } from "../../shared/messages.ts";
import { plans } from "../../shared/plans.ts";
import { StateUnavailable } from "../../shared/state-unavailable.ts";
import { isNoRoom } from "../../store/room.ts";
import type { StoredKey } from "../../store/store.ts";
import { PortalActions, type PortalOptions } from "./actions.ts";
import { Pages } from "./pages.ts";
import { errorReply, unavailable } from "./reply.ts";
import { pagesLabel } from "./settings.ts";
import { linkHours, minElapsedMs, newcomersPlan } from "./signups.ts";

/** Runs the portal in the control thread: makes the pages, with their API key, and handles visitors' posts. */

const hourMs = 3_600_000;
const renewedAfterMs = 24 * hourMs;
/** Milliseconds that a replaced key still works, for pages that are open in a browser. */
const overlapMs = 2 * hourMs;
/** Milliseconds until a key expires if nobody replaces it, for example after its server was killed. */
const keyLivesMs = renewedAfterMs + overlapMs;

interface HostOptions extends Omit<PortalOptions, "publicUrl"> {
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
  /** The last two keys that were stored. */
  #stored: { id: number; madeAt: number }[] = [];

  /** @throws DataError when the account doesn't exist and the server may not create it */
  constructor(options: HostOptions) {
    const { store, settings } = options;
    const { portalAccount: account, mayMakeAccount } = settings;
    if (account !== undefined && !mayMakeAccount && store.accounts.byName(account) === undefined)
      throw noPortalAccount(account);
    this.#options = options;
    if (account !== undefined) this.#newKey();
  }

  /** Makes the assets, and the pages with their key. The key is valid once `begin` or `renewKey` has stored it. */
  files(): WebFile[] {
    const { settings, mailer } = this.#options;
    const shown = {
      key: this.#key,
      signup: settings.signup,
      newcomers: { ...plans[newcomersPlan], linkHours },
      minElapsedMs,
      mail: mailer !== undefined,
    };
    return this.#pages.files(shown, settings.embedOrigins);
  }

  /** Starts to accept posts, and tries to store the pages' key. */
  async begin(publicUrl: string): Promise<void> {
    this.#actions = new PortalActions({ ...this.#options, publicUrl });
    try {
      await this.#storeKey();
    } catch (error) {
      if (!(error instanceof StateUnavailable) && !isNoRoom(error)) throw error;
      // Then the next `renewKey` replaces the key.
      this.#madeAt = Number.NEGATIVE_INFINITY;
    }
  }

  /**
   * Whether a stored key is the pages' current key. This server doesn't let that key expire, because after a jump of the
   * clock the key would stop working before it is replaced.
   */
  isCurrent({ hash, expires_at }: Pick<StoredKey, "hash" | "expires_at">): boolean {
    return this.#key !== null && expires_at === this.#madeAt + keyLivesMs && hashKey(this.#key).equals(hash);
  }

  #newKey(): void {
    this.#key = generateKey();
    this.#madeAt = this.#options.now().getTime();
  }

  async #storeKey(): Promise<void> {
    const { store, change, settings, now } = this.#options;
    const { portalAccount: name, mayMakeAccount } = settings;
    const [key, madeAt, replaced] = [this.#key, this.#madeAt, this.#stored.at(-1)];
    if (key === null || name === undefined) return;
    const made = { plan: "portal", ...plans.portal, webhook: null, webhook_secret: null } as const;
    const id = await change(() => {
      const known = store.accounts.byName(name);
      // The account may have been deleted since the start.
      if (known === undefined && !mayMakeAccount) throw noPortalAccount(name);
      const account = known ?? store.accounts.create({ name, ...made }, now());
      // This also makes the server let the replaced key expire. If the clock was set back, the expiry doesn't change.
      if (replaced !== undefined)
        store.keys.expire(
          replaced.id,
          Math.max(now().getTime(), replaced.madeAt + renewedAfterMs) + overlapMs,
        );
      return store.keys.create(
        account.id,
        hashKey(key),
        key.slice(-4),
        madeAt + keyLivesMs,
        now(),
        pagesLabel,
      );
    });
    this.#stored = [...this.#stored.slice(-1), { id, madeAt }];
  }

  /**
   * Replaces the pages' API key if it is a day old, was made by a clock that was ahead, or wasn't stored by `begin`.
   * @returns whether the key has changed; then the pages change, too
   */
  async renewKey(): Promise<boolean> {
    const age = this.#options.now().getTime() - this.#madeAt;
    // A negative age means that the clock was set back.
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
    await this.#options.takeEffect();
    return true;
  }

  /** Revokes the pages' keys. If the state isn't available, the keys expire by themselves. */
  async end(): Promise<void> {
    const { store, change, now } = this.#options;
    if (this.#stored.length === 0) return;
    await change(() => {
      for (const { id } of this.#stored) store.keys.revoke(id, now());
    }).catch((error) => {
      if (!(error instanceof StateUnavailable)) throw error;
    });
  }

  /** Never rejects. */
  async act(request: PortalRequest): Promise<PortalReply> {
    return (
      this.#actions?.act(request, this.#options.now()) ??
      errorReply(unavailable("the server is starting; try again", 1))
    );
  }
}
