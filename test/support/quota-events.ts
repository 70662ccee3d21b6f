import assert from "node:assert/strict";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { after, type TestContext } from "node:test";
import pino from "pino";
import { KeyTable } from "../../server/accounts/key-table.ts";
import { Accounts } from "../../server/accounts/sync.ts";
import { Outbox, triesCounter } from "../../server/parts/notifications/outbox.ts";
import type { PostOptions } from "../../server/parts/notifications/post.ts";
import { webhookSender } from "../../server/parts/notifications/webhooks.ts";
import { Metrics } from "../../server/shared/metrics.ts";
import { monthName, monthOf } from "../../server/shared/months.ts";
import { type Account, Store } from "../../server/store/store.ts";
import { listening, temporaryFolder } from "./server.ts";
import { smallTables } from "./tables.ts";

/** Quota events from both ends: the control thread's state, and a customer's web server. */

export const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
export const now = new Date();
export const month = monthOf(now.getTime());
export const silent = pino({ level: "silent" });
export const later = (ms: number) => new Date(now.getTime() + ms);

/** A customer's web server. It answers 200, or a status that a test sets, or not at all. */
export class Receiver {
  readonly posts: { headers: IncomingHttpHeaders; path: string; body: string }[] = [];
  answer: number | undefined = 200;
  readonly held: ServerResponse[] = [];
  #port = 0;
  readonly #server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    this.posts.push({ headers: request.headers, path: request.url ?? "", body });
    response.setHeader("Location", "/elsewhere");
    if (this.answer === undefined) this.held.push(response);
    else response.writeHead(this.answer).end();
  });

  static async open(): Promise<Receiver> {
    const receiver = new Receiver();
    receiver.#port = await listening(receiver.#server);
    after(() => {
      receiver.#server.closeAllConnections();
      receiver.#server.close();
    });
    return receiver;
  }

  url(host = "127.0.0.1"): string {
    return `http://${host}:${this.#port}/hook`;
  }
}

/** No test of quotas asks for a key, so one table serves them all. */
const keys = new KeyTable();

/** A test can replace `accounts`, as a restart does. */
export class World {
  readonly folder = temporaryFolder();
  readonly store = Store.open(this.folder);
  /** A second connection to the database, like that of a command's process. */
  readonly operator = Store.open(this.folder);
  readonly limits = smallTables().ceilings;
  readonly metrics = new Metrics();
  readonly posts = triesCounter(this.metrics, "webhook");
  accounts = this.#newAccounts();
  webhooks = this.#newWebhooks();
  #steadyMs = 0;

  constructor(t: TestContext) {
    t.after(() => {
      this.store.close();
      this.operator.close();
    });
  }

  #newAccounts(at = now, ceilings = this.limits): Accounts {
    return new Accounts(this.store, at.getTime(), { ...smallTables(), keys, ceilings });
  }

  account(quota: number, webhook: string | null = null, email: string | null = null): Account {
    const webhook_secret = webhook === null ? null : secret;
    const fields = {
      name: "acme",
      plan: "enterprise",
      burst: 10,
      quota,
      webhook,
      webhook_secret,
      email,
    } as const;
    const account = this.operator.accounts.create(fields, now);
    this.accounts.refresh();
    return account;
  }

  start(at = now, limits = this.limits): void {
    this.accounts = this.#newAccounts(at, limits);
  }

  /** The requests are of the first account. @returns the thresholds of new events */
  use(count: number, at = now): number[] {
    for (let i = 0; i < count; i++) {
      this.#steadyMs += 1000;
      this.limits.admit(0, monthOf(at.getTime()), this.#steadyMs);
    }
    return this.save(at);
  }

  save(at = now): number[] {
    return this.accounts.save(at.getTime()).map(({ threshold }) => threshold);
  }

  #newWebhooks(options: PostOptions = { allowLoopback: true }): Outbox {
    return new Outbox(this.store, silent, webhookSender(this.store, options), this.posts);
  }

  restart(options?: PostOptions): void {
    this.webhooks = this.#newWebhooks(options);
  }

  /** A `steadyMs` that differs from `at` means that the wall clock was set. */
  deliver(at: Date, steadyMs = at.getTime()): Promise<void> {
    return this.webhooks.deliverDue(at, steadyMs);
  }

  event(webhook: string) {
    this.account(1, webhook);
    assert.deepEqual(this.use(1), [80, 90, 100]);
    const [event, ...others] = this.store.events.list();
    for (const { id } of others)
      for (const delivery of this.store.events.deliveries(id))
        this.store.events.updateDelivery({ ...delivery, state: "delivered", next_try_at: null });
    return event.id;
  }

  /** @returns the ids of due events of a new account */
  due(name: string, webhook: string, { count = 1, tries = 0 } = {}): string[] {
    const fields = { name, plan: "enterprise", burst: 1, quota: 1, webhook, webhook_secret: secret } as const;
    return this.operator.atomically(() => {
      const account = this.operator.accounts.create(fields, now);
      return Array.from({ length: count }, (_, i) => {
        const event = {
          id: `${name} ${i}`,
          account: account.id,
          month: monthName(month),
          threshold: 80,
          quota: i + 1,
          payload: "{}",
          created_at: now.getTime(),
        };
        this.operator.events.create(event, ["webhook"]);
        for (const delivery of this.operator.events.deliveries(event.id))
          this.operator.events.updateDelivery({ ...delivery, tries });
        return event.id;
      });
    });
  }

  delivery(id: string) {
    const [{ state, tries, last_answer, next_try_at }] = this.store.events.deliveries(id);
    return { state, tries, answer: last_answer, next: next_try_at };
  }
}

export async function dueEvent(t: TestContext, answer: number | undefined = 200) {
  const [world, receiver] = [new World(t), await Receiver.open()];
  receiver.answer = answer;
  return { world, receiver, id: world.event(receiver.url()) };
}

/** Each event has its own account. */
export async function answersOf(t: TestContext, urls: string[], options: PostOptions) {
  const world = new World(t);
  const ids = urls.map((url) => world.due(url, url)[0]);
  world.restart(options);
  await world.deliver(now);
  return ids.map((id) => world.delivery(id).answer);
}
