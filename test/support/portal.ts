import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { KeyTable } from "../../server/accounts/key-table.ts";
import { hashKey } from "../../server/accounts/keys.ts";
import { Accounts } from "../../server/accounts/sync.ts";
import { PortalActions, type PortalOptions } from "../../server/parts/portal/actions.ts";
import type { PortalSettings } from "../../server/parts/portal/settings.ts";
import { Store } from "../../server/store/store.ts";
import { temporaryFolder } from "./folders.ts";
import { later, now, silent } from "./quota-events.ts";
import { smallTables } from "./tables.ts";

export interface Asked {
  key?: string;
  address?: string;
  at?: Date;
}

export const form = (email: string, name = "Ann Smith") => ({ name, email, website: "", elapsedMs: 5000 });

export const closed: PortalSettings = {
  ...{ signup: "off", signupDaily: 0, webhookAllowLoopback: false, embedOrigins: [] },
  ...{ portalAccount: undefined, mayMakeAccount: false, publicUrl: undefined },
  addressLimits: { perSecond: 0, perDay: 0 },
};

export class Portal {
  readonly store: Store;
  readonly keys = new KeyTable();
  fault: string | undefined;
  /** If set, the portal is told this number of keys. */
  keyCount: number | undefined;
  /** If set, applying a stored change throws this error. */
  failure: Error | undefined;
  readonly #actions: PortalActions;
  /** By default, the next request is so much later that no rate limit refuses it. */
  #askedMs = 0;

  constructor(
    t: TestContext,
    options: Partial<PortalSettings & Pick<PortalOptions, "mailer">> = {},
    folder = temporaryFolder(),
  ) {
    const { mailer, ...settings } = options;
    this.store = Store.open(folder);
    t.after(() => this.store.close());
    const accounts = new Accounts(this.store, now.getTime(), { ...smallTables(), keys: this.keys });
    this.#actions = new PortalActions({
      store: this.store,
      log: silent,
      settings: { ...closed, signup: "open", signupDaily: 200, ...settings },
      mailer,
      publicUrl: "https://prices.example.com",
      keyCount: () => this.keyCount ?? this.keys.count,
      fault: () => this.fault,
      change: async (work) => this.store.atomically(work),
      takeEffect: async () => {
        accounts.refresh();
        if (this.failure !== undefined) throw this.failure;
      },
    });
  }

  ask(path: string, body: unknown, { key, address = "192.0.2.1", at }: Asked = {}) {
    const authorization = key === undefined ? "" : `Bearer ${key}`;
    const text = typeof body === "string" ? body : JSON.stringify(body);
    this.#askedMs += 10_000;
    return this.#actions.act(
      { path, body: text, authorization, address, requestId: "test-1" },
      at ?? later(this.#askedMs),
    );
  }

  async done(path: string, body: unknown, asked: Asked = {}): Promise<Record<string, unknown>> {
    const reply = await this.ask(path, body, asked);
    assert.ok(reply.status === 200 || reply.status === 201, JSON.stringify(reply));
    return Object.fromEntries(Object.entries(reply.body));
  }

  /** @returns the new account's key */
  async signUp(email: string, address = `198.51.100.${this.#askedMs % 250}`): Promise<string> {
    return String((await this.done("/portal/signup", form(email), { address })).key);
  }

  isTaken(key: string): boolean {
    const entry = this.keys.find(hashKey(key));
    return entry >= 0 && this.keys.slotOf(entry, now.getTime()) >= 0;
  }

  written(): number {
    return this.store.loggedFrames();
  }

  accountNames(): string[] {
    return this.store.accounts.list("2026-11", now).map(({ name }) => name);
  }
}

export function errorOf({ body }: { body: object }): { type: string; message: string; param?: string } {
  assert.ok("error" in body, JSON.stringify(body));
  return JSON.parse(JSON.stringify(body.error));
}
