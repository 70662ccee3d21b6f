import assert from "node:assert/strict";
import dns from "node:dns";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { syncBuiltinESMExports } from "node:module";
import { after, type TestContext, test } from "node:test";
import pino from "pino";
import { Webhook } from "standardwebhooks";
import { Accounts } from "../server/accounts.ts";
import { Directory } from "../server/directory.ts";
import { KeyTable } from "../server/keys.ts";
import { Limits, monthName, monthOf } from "../server/limits.ts";
import { type Account, Store } from "../server/store.ts";
import { maxTries, mayConnect, Webhooks, webhookFault } from "../server/webhooks.ts";
import { temporaryFolder, until } from "./server.ts";

/** Warnings that a quota comes to its end: when there is one, and how it is delivered. */

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const now = new Date();
const month = monthOf(now.getTime());
const silent = pino({ level: "silent" });
const later = (ms: number) => new Date(now.getTime() + ms);

/** A customer's server. It answers 200, or what a test says, or holds its answers back. */
class Receiver {
  readonly posts: { headers: IncomingHttpHeaders; path: string; body: string }[] = [];
  answer: number | undefined = 200;
  readonly held: ServerResponse[] = [];
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
    receiver.#server.listen(0, "127.0.0.1");
    await once(receiver.#server, "listening");
    after(() => {
      receiver.#server.closeAllConnections();
      receiver.#server.close();
    });
    return receiver;
  }

  url(host = "127.0.0.1"): string {
    const address = this.#server.address();
    assert.ok(typeof address === "object" && address !== null);
    return `http://${host}:${address.port}/hook`;
  }
}

/** State as the control thread has it; `accounts` is made anew as at a start. */
class World {
  readonly #folder = temporaryFolder();
  readonly store = Store.open(this.#folder);
  /** What another process writes with. */
  readonly operator = Store.open(this.#folder);
  readonly limits = new Limits();
  readonly webhooks = new Webhooks(this.store, silent, true);
  accounts = new Accounts(this.store, new KeyTable(), this.limits, new Directory(), now.getTime());
  #steadyMs = 0;

  constructor(t: TestContext) {
    t.after(() => {
      this.store.close();
      this.operator.close();
    });
  }

  account(quota: number, webhook: string | null = null, name = "acme"): Account {
    const webhook_secret = webhook === null ? null : secret;
    const fields = { name, plan: "enterprise", burst: 10, quota, webhook, webhook_secret } as const;
    const account = this.operator.createAccount(fields, now);
    this.accounts.refresh();
    return account;
  }

  start(at = now, limits = this.limits): void {
    this.accounts = new Accounts(this.store, new KeyTable(), limits, new Directory(), at.getTime());
  }

  /** Counts requests of the first account, and saves. @returns thresholds of the events that are new */
  use(count: number, at = now): number[] {
    this.accounts.enterMonths(at.getTime());
    for (let i = 0; i < count; i++) {
      this.#steadyMs += 1000;
      this.limits.admit(0, monthOf(at.getTime()), this.#steadyMs);
    }
    return this.save(at);
  }

  save(at = now): number[] {
    return this.accounts.save(at.getTime()).map(({ threshold }) => threshold);
  }

  /** One event that is due, for an account with a webhook. */
  event(webhook: string) {
    this.account(1, webhook);
    assert.deepEqual(this.use(1), [80, 90, 100]);
    const [event, ...others] = this.store.events();
    for (const other of others) this.store.updateDelivery({ ...other, state: "none", next_try_at: null });
    return event.id;
  }

  delivery(id: string) {
    const event = this.store.event(id) ?? assert.fail("the event is stored");
    return { state: event.state, tries: event.tries, answer: event.last_answer, next: event.next_try_at };
  }
}

/** A customer's server, and an event that is due to be posted to it. */
async function dueEvent(t: TestContext, answer: number | undefined = 200) {
  const [world, receiver] = [new World(t), await Receiver.open()];
  receiver.answer = answer;
  return { world, receiver, id: world.event(receiver.url()) };
}

for (const quota of [1, 2, 3, 7, 10, 19, 45])
  test(`the events of a quota of ${quota} come with the first request that reaches each`, (t) => {
    const world = new World(t);
    world.account(quota);
    for (let used = 1; used <= quota; used++) {
      const expected = [80, 90, 100].filter((percent) => used === Math.ceil((quota * percent) / 100));
      assert.deepEqual(world.use(1), expected, `at ${used}`);
    }
    assert.deepEqual(world.use(5), []);
  });

test("a count that jumps over thresholds brings the events of all, in their order", (t) => {
  const world = new World(t);
  const { id } = world.account(100, "https://example.com/");
  assert.deepEqual(world.use(95), [80, 90]);
  assert.deepEqual(world.use(5), [100]);
  const events = world.store.events();
  for (const [i, threshold] of [80, 90, 100].entries()) {
    const { id: name, payload, ...event } = events[i];
    assert.match(name, /^evt_[0-9a-f]{32}$/);
    assert.deepEqual([event.account, event.threshold, event.state], [id, threshold, "pending"]);
    const quota = { limit: 100, used: threshold === 100 ? 100 : 95 };
    assert.deepEqual(JSON.parse(payload), {
      type: threshold === 100 ? "quota.exhausted" : "quota.warning",
      timestamp: now.toISOString(),
      data: { account: "acme", plan: "enterprise", month: monthName(month), threshold, quota },
    });
  }
});

test("there is one event for account, threshold and month: after restarts too, and again in a new month", (t) => {
  const world = new World(t);
  world.account(10);
  assert.deepEqual(world.use(8), [80]);
  for (let i = 0; i < 3; i++) {
    const limits = new Limits();
    world.start(now, limits);
    assert.equal(limits.used(0, month), 8);
    assert.deepEqual(world.save(), []);
  }
  world.start();
  assert.deepEqual(world.use(1), [90]);
  const next = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1));
  assert.deepEqual(world.use(9, next), [80, 90]);
  world.limits.admit(0, month, 1e9);
  assert.deepEqual(world.save(next), [100], "the old month's last request was on its way");
  assert.equal(world.store.events().length, 5);
});

test("a quota that the operator lowers brings the events it reaches, and one that is raised none again", (t) => {
  const world = new World(t);
  const account = world.account(100);
  assert.deepEqual(world.use(50), []);
  const found = [60, 1000, 55, 40, 10].map((quota) => {
    world.operator.updateAccount({ ...account, quota });
    world.accounts.refresh();
    return world.save();
  });
  assert.deepEqual(found, [[80], [], [90], [100], []]);
});

test("a quota that is lowered in a new month brings no events of the month before", (t) => {
  const world = new World(t);
  const account = world.account(100);
  world.use(50);
  const next = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1));
  assert.deepEqual(world.use(1, next), []);
  world.operator.updateAccount({ ...account, quota: 40 });
  world.accounts.refresh();
  assert.deepEqual(world.save(next), []);
});

test("a post is signed by Standard Webhooks, and what a customer's library verifies", async (t) => {
  const { world, receiver, id } = await dueEvent(t);
  await world.webhooks.deliverDue(now);
  const [{ headers, body, path }] = receiver.posts;
  assert.equal(path, "/hook");
  assert.equal(headers["webhook-id"], id);
  assert.equal(headers["webhook-timestamp"], String(Math.floor(now.getTime() / 1000)));
  assert.deepEqual(new Webhook(secret).verify(body, JSON.parse(JSON.stringify(headers))), JSON.parse(body));
  assert.equal(body, world.store.event(id)?.payload);
  await world.webhooks.deliverDue(later(1e9));
  assert.equal(receiver.posts.length, 1, "what was delivered isn't posted again");
});

test("ten tries over about three days, with growing pauses and one id; then it has failed", async (t) => {
  const { world, receiver, id } = await dueEvent(t, 500);
  let at = now;
  const pauses: number[] = [];
  for (let tries = 1; ; tries++) {
    await world.webhooks.deliverDue(new Date(at.getTime() - 1));
    assert.equal(receiver.posts.length, tries - 1, "not before its time");
    await world.webhooks.deliverDue(at);
    const { next, ...rest } = world.delivery(id);
    assert.deepEqual(rest, { state: next === null ? "failed" : "pending", tries, answer: "500" });
    if (next === null) break;
    pauses.push(Date.parse(next) - at.getTime());
    at = new Date(next);
  }
  assert.deepEqual([receiver.posts.length, maxTries, pauses.length], [10, 10, 9]);
  assert.ok(
    pauses.every((pause, i) => i === 0 || pause > pauses[i - 1]),
    `${pauses}`,
  );
  const days = (at.getTime() - now.getTime()) / 86_400_000;
  assert.ok(days > 2.5 && days < 3.5, `${days} days`);
  assert.deepEqual(new Set(receiver.posts.map(({ headers }) => headers["webhook-id"])), new Set([id]));
  await world.webhooks.deliverDue(later(1e10));
  assert.equal(receiver.posts.length, 10);
});

for (const answer of [200, 204, 299, 301, 302, 307, 400, 404, 429, 503, 410]) {
  const expected = answer < 300 ? "delivered" : answer === 410 ? "failed" : "pending";
  test(`a delivery that is answered ${answer} is ${expected}, after one post`, async (t) => {
    const { world, receiver, id } = await dueEvent(t, answer);
    await world.webhooks.deliverDue(now);
    assert.deepEqual(
      { ...world.delivery(id), next: 0 },
      { state: expected, tries: 1, answer: `${answer}`, next: 0 },
    );
    assert.equal(receiver.posts.map(({ path }) => path).join(), "/hook");
    const { webhook, webhook_secret } = world.store.account("acme") ?? assert.fail();
    assert.deepEqual([webhook, webhook_secret], answer === 410 ? [null, null] : [receiver.url(), secret]);
  });
}

test("410 removes the address that said so, and not one that was set meanwhile", async (t) => {
  const { world, receiver } = await dueEvent(t);
  receiver.answer = undefined;
  const delivering = world.webhooks.deliverDue(now);
  await until("the post", () => receiver.held.length === 1);
  const account = world.store.account("acme") ?? assert.fail();
  world.store.updateAccount({ ...account, webhook: "https://example.com/new" });
  receiver.held[0].writeHead(410).end();
  await delivering;
  assert.equal(world.store.account("acme")?.webhook, "https://example.com/new");
});

test("after 410 an account's next events are recorded without a delivery", async (t) => {
  const [world, receiver] = [new World(t), await Receiver.open()];
  receiver.answer = 410;
  world.account(10, receiver.url());
  assert.deepEqual(world.use(8), [80]);
  await world.webhooks.deliverDue(now);
  world.accounts.refresh();
  assert.deepEqual(world.use(1), [90]);
  assert.equal(
    world.store
      .events()
      .map(({ state }) => state)
      .join(),
    "failed,none",
  );
});

test("a try is given up after 15 seconds", async (t) => {
  const [world, receiver] = [new World(t), await Receiver.open()];
  receiver.answer = undefined;
  const controller = new AbortController();
  const timeout = t.mock.method(AbortSignal, "timeout", () => controller.signal);
  const id = world.event(receiver.url());
  const delivering = world.webhooks.deliverDue(now);
  await until("the post", () => receiver.held.length === 1);
  assert.deepEqual(timeout.mock.calls.map(({ arguments: [ms] }) => ms).join(), "15000");
  controller.abort();
  await delivering;
  const { state, tries, answer } = world.delivery(id);
  assert.deepEqual([state, tries], ["pending", 1]);
  assert.match(answer ?? "", /abort/);
});

test("at most ten posts are under way, and all arrive", async (t) => {
  const [world, receiver] = [new World(t), await Receiver.open()];
  receiver.answer = undefined;
  for (let i = 0; i < 9; i++) world.account(1, receiver.url(), `account ${i}`);
  for (let slot = 0; slot < 9; slot++) world.limits.admit(slot, month, 5000);
  assert.equal(world.save().length, 27);
  const calls: Promise<void>[] = [];
  for (const total of [10, 20, 27]) {
    for (let i = 0; i < 3; i++) calls.push(world.webhooks.deliverDue(now));
    await until(`${total} posts`, () => receiver.posts.length === total);
    calls.push(world.webhooks.deliverDue(later(500)));
    assert.ok(receiver.held.length <= 10);
    for (const response of receiver.held.splice(0)) response.writeHead(200).end();
    await Promise.all(calls);
  }
  assert.equal(new Set(receiver.posts.map(({ headers }) => headers["webhook-id"])).size, 27);
  assert.ok(world.store.events().every(({ state }) => state === "delivered"));
});

test("a delivery whose outcome can't be written isn't posted again, and written as soon as it can be", async (t) => {
  const { world, receiver, id } = await dueEvent(t);
  const write = t.mock.method(world.store, "updateDelivery", () => {
    throw new Error("disk I/O error");
  });
  await world.webhooks.deliverDue(now);
  for (let i = 0; i < 3; i++)
    await assert.rejects(world.webhooks.deliverDue(later(i * 1000)), /disk I\/O error/);
  assert.equal(world.delivery(id).state, "pending");
  write.mock.restore();
  await world.webhooks.deliverDue(later(5000));
  assert.deepEqual([world.delivery(id).state, receiver.posts.length], ["delivered", 1]);
});

test("a try that couldn't read the database is made again", async (t) => {
  const { world, receiver, id } = await dueEvent(t);
  const read = t.mock.method(world.store, "accountOf", () => {
    throw new Error("disk I/O error");
  });
  await world.webhooks.deliverDue(now).catch(() => {});
  read.mock.restore();
  await world.webhooks.deliverDue(later(1000));
  await world.webhooks.deliverDue(later(86_400_000));
  assert.deepEqual([world.delivery(id).state, receiver.posts.length], ["delivered", 1]);
});

const refusedAddresses =
  "0.0.0.0 0.1.2.3 10.1.2.3 100.64.0.1 100.100.100.200 127.0.0.1 127.9.9.9 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.192 192.0.2.1 192.168.1.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 240.0.0.1 255.255.255.255 :: ::1 ::7f00:1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:a9fe:a9fe ::ffff:0.0.0.0 64:ff9b::a00:1 64:ff9b::169.254.169.254 64:ff9b:1::1 100::1 2001::1 2001:db8::1 2002:a00:1:: fc00::1 fd00:ec2::254 fe80::1 fec0::1 ff02::1 nonsense 10.0.0";
const publicAddresses =
  "1.1.1.1 93.184.216.34 172.32.0.1 100.128.0.1 ::ffff:1.1.1.1 2606:4700::1111 2a00:1450::1";

test("addresses that aren't public are refused, in IPv6 form as well", () => {
  for (const address of refusedAddresses.split(" ")) assert.ok(!mayConnect(address, false), address);
  for (const address of publicAddresses.split(" ")) assert.ok(mayConnect(address, false), address);
  const allowed = refusedAddresses.split(" ").filter((address) => mayConnect(address, true));
  assert.equal(allowed.join(" "), "127.0.0.1 127.9.9.9 ::1 ::ffff:127.0.0.1");
});

test("an address of this machine or network is found out in whatever form a URL has it", () => {
  const hosts =
    "0 127.1 0x7f000001 0x7f.0.0.1 2130706433 017700000001 0177.1 127.0.0.1. 10.1 0xa9fea9fe 2852039166 [::ffff:7f00:1] [0:0::1] [::ffff:192.168.0.1] [64:ff9b::a00:1] １２７.1";
  for (const host of hosts.split(" "))
    assert.equal(webhookFault(`https://${host}/`, false), "a public address", host);
  assert.equal(webhookFault("https://hooks.example.com/", false), undefined);
});

test("a host that resolves to an address that isn't public is refused when it is connected to", async (t) => {
  const [world, receiver] = [new World(t), await Receiver.open()];
  const id = world.event(receiver.url("localhost"));
  await world.webhooks.deliverDue(now);
  assert.equal(world.delivery(id).state, "delivered");
  let addresses: { address: string }[] = [];
  type Done = (error: null, found: typeof addresses) => void;
  const lookup = t.mock.method(dns, "lookup", (_host: string, _options: object, done: Done) =>
    done(null, addresses),
  );
  syncBuiltinESMExports();
  for (const answer of ["10.0.0.1", "1.1.1.1 169.254.169.254", "::ffff:10.0.0.1"]) {
    addresses = answer.split(" ").map((address) => ({ address }));
    const event = world.store.event(id) ?? assert.fail();
    world.store.updateDelivery({ ...event, state: "pending", tries: 0, next_try_at: now.toISOString() });
    await world.webhooks.deliverDue(now);
    assert.equal(world.delivery(id).answer, `${answer.split(" ").at(-1)} isn't a public address`);
  }
  lookup.mock.restore();
  syncBuiltinESMExports();
  assert.equal(receiver.posts.length, 1);
});

test("without the setting nothing goes to this machine, whatever was set as address before", async (t) => {
  const [world, receiver] = [new World(t), await Receiver.open()];
  const strict = new Webhooks(world.store, silent, false);
  const id = world.event(receiver.url());
  for (const [url, answer] of [
    [receiver.url(), /isn't an https URL$/],
    [receiver.url().replace("http:", "https:"), /isn't a public address$/],
    [receiver.url("localhost").replace("http:", "https:"), /^(127\.0\.0\.1|::1) isn't a public address$/],
  ] as const) {
    const account = world.store.account("acme") ?? assert.fail();
    world.store.updateAccount({ ...account, webhook: url });
    await strict.deliverDue(later(1e9));
    assert.match(world.delivery(id).answer ?? "", answer);
    const event = world.store.event(id) ?? assert.fail();
    world.store.updateDelivery({ ...event, next_try_at: now.toISOString() });
  }
  assert.equal(receiver.posts.length, 0);
});
