import type { TestContext } from "node:test";
import { attachImage, buildImage } from "../../engine/index.ts";
import { generateKey, hashKey } from "../../server/accounts/keys.ts";
import { Accounts } from "../../server/accounts/sync.ts";
import { maxBurst } from "../../server/shared/plans.ts";
import { Store } from "../../server/store/store.ts";
import { ask, serviceOf } from "./asking.ts";
import { versionsOf } from "./endpoint-oracle.ts";
import { snapshotOf } from "./fixtures.ts";
import { account } from "./state.ts";
import { smallTables } from "./tables.ts";

const versions = versionsOf(attachImage(buildImage(snapshotOf([["000001", "CA", "5072", 1, 1]]))));

/** A control thread's and a serving thread's objects with the same database. Tests set their clocks. */
export class OnClocks {
  readonly store = Store.inMemory();
  wallMs: number;
  #steadyMs = 1e6;
  #parts: ReturnType<typeof this.start>;

  constructor(t: TestContext, wallMs: number) {
    t.after(() => this.store.close());
    this.wallMs = wallMs;
    this.#parts = this.start();
  }

  private start() {
    const accounts = new Accounts(this.store, this.wallMs, smallTables());
    const clocks = { now: () => this.wallMs, steadyNow: () => this.#steadyMs };
    return { accounts, service: serviceOf({ ...accounts.tables, versions, ...clocks }) };
  }

  /** Counts aren't saved, like at a restart after a crash. */
  restart(): void {
    this.#parts = this.start();
  }

  /** @returns the new account's key */
  account(name: string, quota: number): string {
    const at = new Date(this.wallMs);
    const { id } = this.store.accounts.create({ ...account, name, burst: maxBurst, quota }, at);
    const key = generateKey();
    this.store.keys.create(id, hashKey(key), "0000", null, at);
    this.tick();
    return key;
  }

  /** Runs the control thread's periodic work. @returns whether the months changed */
  tick(): boolean {
    const { accounts } = this.#parts;
    const { firstMonth } = accounts;
    accounts.enterMonths(this.wallMs);
    accounts.refresh();
    return accounts.firstMonth !== firstMonth;
  }

  save(): void {
    this.#parts.accounts.save(this.wallMs);
  }

  /** @param passedMs milliseconds since the last request */
  usage(key: string, passedMs = 1000) {
    this.#steadyMs += passedMs;
    return ask(this.#parts.service, key, "/api/v1/usage", () => "");
  }
}
