import assert from "node:assert/strict";
import { Resolver } from "node:dns/promises";
import { once } from "node:events";
import { createServer } from "node:net";
import { test } from "node:test";
import pino from "pino";
import { Webhook } from "standardwebhooks";
import type { Core } from "../../../server/part.ts";
import { startNotifications } from "../../../server/parts/notifications/control.ts";
import { emailSender } from "../../../server/parts/notifications/emails.ts";
import {
  maxTries,
  Outbox,
  pausesSeconds,
  type Sender,
  triesCounter,
} from "../../../server/parts/notifications/outbox.ts";
import { webhookSender } from "../../../server/parts/notifications/webhooks.ts";
import { Metrics } from "../../../server/shared/metrics.ts";
import { Store } from "../../../server/store/store.ts";
import {
  answersOf,
  dueEvent,
  later,
  now,
  Receiver,
  secret,
  silent,
  World,
} from "../../support/quota-events.ts";
import { listening, until } from "../../support/server.ts";

const [hourMs, monthMs] = [3_600_000, 31 * 24 * 3_600_000];

test("a webhook is signed by Standard Webhooks, and a standard library verifies it", async (t) => {
  const { world, receiver, id } = await dueEvent(t);
  await world.deliver(now);
  const [{ headers, body, path }] = receiver.posts;
  assert.equal(path, "/hook");
  assert.equal(headers["webhook-id"], id);
  assert.equal(headers["webhook-timestamp"], String(Math.floor(now.getTime() / 1000)));
  assert.deepEqual(new Webhook(secret).verify(body, JSON.parse(JSON.stringify(headers))), JSON.parse(body));
  assert.equal(body, world.store.events.byId(id)?.payload);
  await world.deliver(later(1e9));
  assert.equal(receiver.posts.length, 1, "what was delivered isn't posted again");
});

test("after a secret rotation, webhooks carry both signatures until the overlap ends", async (t) => {
  const { world, receiver, id } = await dueEvent(t);
  const old = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
  const account = world.store.accounts.byName("acme") ?? assert.fail();
  const until = later(3_600_000).getTime();
  world.store.accounts.update({ ...account, webhook_old_secret: old, webhook_old_secret_until: until });
  const post = async (at: Date) => {
    const [delivery] = world.store.events.deliveries(id);
    world.store.events.updateDelivery({ ...delivery, state: "pending", next_try_at: now.getTime() });
    await world.deliver(at);
    return receiver.posts.at(-1) ?? assert.fail();
  };
  const { body, headers } = await post(now);
  assert.match(String(headers["webhook-signature"]), /^v1,[\w+/=]{44} v1,[\w+/=]{44}$/);
  for (const each of [secret, old])
    assert.deepEqual(
      new Webhook(each).verify(body, JSON.parse(JSON.stringify(headers))),
      JSON.parse(body),
      "either secret verifies it",
    );
  const last = await post(later(3_600_000 - 1));
  assert.equal(String(last.headers["webhook-signature"]).split(" ").length, 2);
  const over = await post(later(3_600_000));
  const signature = new Webhook(secret).sign(id, later(3_600_000), body);
  assert.equal(over.headers["webhook-signature"], signature, "only the new one");
});

test("a delivery fails after ten tries over about three days, with growing pauses and one id", async (t) => {
  const { world, receiver, id } = await dueEvent(t, 500);
  let at = now;
  const pauses: number[] = [];
  for (let tries = 1; ; tries++) {
    if (tries > 1) await world.deliver(new Date(at.getTime() - 1));
    assert.equal(receiver.posts.length, tries - 1, "not before its time");
    await world.deliver(at);
    const { next, ...rest } = world.delivery(id);
    assert.deepEqual(rest, { state: next === null ? "failed" : "pending", tries, answer: "500" });
    if (next === null) break;
    pauses.push(next - at.getTime());
    at = new Date(next);
  }
  assert.equal(receiver.posts.length, maxTries);
  assert.deepEqual(
    pauses,
    pausesSeconds.map((seconds) => seconds * 1000),
  );
  assert.deepEqual(new Set(receiver.posts.map(({ headers }) => headers["webhook-id"])), new Set([id]));
  await world.deliver(later(1e10));
  assert.equal(receiver.posts.length, 10);
});

test("while first tries take most slots, a retry gets a free one, and retries never get more than half", async (t) => {
  const world = new World(t);
  const begun: string[] = [];
  const hanging: Sender = {
    ...{ channel: "webhook", maxUnderWay: 6, minTryMs: 500 },
    send: ({ id }) => {
      begun.push(id);
      return new Promise(() => {});
    },
  };
  const outbox = new Outbox(world.store, silent, hanging, triesCounter(new Metrics(), "webhook"));
  const due = (names: string[], tries: number) => {
    for (const name of names) world.due(name, "https://example.com/", { tries });
    void outbox.deliverDue(now, now.getTime());
    return begun.splice(0).map((id) => id.split(" ")[0]);
  };
  assert.deepEqual(due(["a", "b", "c", "d"], 0), ["a", "b", "c", "d"]);
  assert.deepEqual(due(["r", "s"], 1), ["r", "s"]);
  assert.deepEqual(due(["t"], 1), [], "all slots are taken");
  const other = new World(t);
  const second = new Outbox(other.store, silent, hanging, triesCounter(new Metrics(), "webhook"));
  for (const name of ["r", "s", "t", "u"]) other.due(name, "https://example.com/", { tries: 1 });
  other.due("a", "https://example.com/");
  void second.deliverDue(now, now.getTime());
  assert.deepEqual(
    begun.map((id) => id.split(" ")[0]),
    ["a", "r", "s", "t"],
  );
});

test("ten tries come within about three days, after pauses that grow, and each channel has so many slots", () => {
  const [minute, hour] = [60, 3600];
  assert.deepEqual(pausesSeconds, [
    ...[10, minute, 5 * minute, 30 * minute],
    ...[2, 6, 12, 24, 27].map((hours) => hours * hour),
  ]);
  assert.equal(maxTries, 10);
  const { maxUnderWay, minTryMs } = webhookSender(Store.inMemory(), { allowLoopback: true });
  const mail = emailSender(undefined);
  assert.deepEqual(
    [maxUnderWay, minTryMs, mail.maxUnderWay, mail.minTryMs],
    [200, 500, 20, Number.POSITIVE_INFINITY],
  );
});

/** Stores events for 80, 90 and 100 % with the same due time. The last event is stored first, with the first id. */
function dueTogether(world: World, webhook: string): void {
  const { id: account } = world.account(10, webhook);
  for (const [i, threshold] of [100, 90, 80].entries())
    world.store.events.create(
      {
        ...{ id: `evt_${i}`, account, month: "2027-01", threshold, quota: 10 },
        ...{ payload: JSON.stringify({ threshold }), created_at: now.getTime() },
      },
      ["webhook"],
    );
}
const thresholdsOf = (receiver: Receiver) => receiver.posts.map(({ body }) => JSON.parse(body).threshold);

test("an event isn't sent while an earlier one waits for its retry, even after a restart", async (t) => {
  const [world, receiver] = [new World(t), await Receiver.open()];
  dueTogether(world, receiver.url());
  receiver.answer = 500;
  for (let i = 0; i < 3; i++) await world.deliver(now);
  receiver.answer = 200;
  world.restart();
  await world.deliver(later(9999));
  assert.deepEqual(
    world.store.events.list().map(({ threshold, state, tries }) => [threshold, state, tries]),
    [
      [80, "pending", 1],
      [90, "pending", 0],
      [100, "pending", 0],
    ],
  );
  for (let i = 0; i < 3; i++) await world.deliver(later(10_000));
  assert.deepEqual(thresholdsOf(receiver), [80, 80, 90, 100]);
});

test("after an event has failed for good, the next ones are sent", async (t) => {
  const [world, receiver] = [new World(t), await Receiver.open()];
  dueTogether(world, receiver.url());
  receiver.answer = 500;
  const [first] = world.store.events.list();
  for (let at: number | null = now.getTime(); at !== null; at = world.delivery(first.id).next)
    await world.deliver(new Date(at));
  assert.deepEqual(thresholdsOf(receiver), Array(maxTries).fill(80));
  receiver.answer = 200;
  for (let i = 0; i < 2; i++) await world.deliver(later(monthMs));
  assert.deepEqual(thresholdsOf(receiver).slice(maxTries), [90, 100]);
});

test("an event that is set to be retried is sent again before later events", async (t) => {
  const [world, receiver] = [new World(t), await Receiver.open()];
  dueTogether(world, receiver.url());
  await world.deliver(now);
  const [{ id }] = world.store.events.list();
  const [delivery] = world.store.events.deliveries(id);
  const again = { ...delivery, state: "pending", tries: 0, next_try_at: later(1000).getTime() } as const;
  world.operator.events.updateDelivery(again);
  for (let i = 0; i < 3; i++) await world.deliver(later(1000));
  assert.deepEqual(thresholdsOf(receiver), [80, 80, 90, 100]);
});

test("two events of one account from the same millisecond are sent one after the other", async (t) => {
  const [world, receiver] = [new World(t), await Receiver.open()];
  const ids = world.due("a", receiver.url(), { count: 2 });
  receiver.answer = 500;
  for (let i = 0; i < 2; i++) await world.deliver(now);
  assert.deepEqual(
    ids.map((id) => world.delivery(id).tries),
    [1, 0],
  );
});

test("an event with an earlier creation time isn't sent while another of its account is in flight", async (t) => {
  const [world, receiver] = [new World(t), await Receiver.open()];
  const { id: account } = world.account(10, receiver.url());
  const enter = (id: string, month: string, created_at: number) =>
    world.store.events.create({ id, account, month, threshold: 80, quota: 10, payload: "{}", created_at }, [
      "webhook",
    ]);
  enter("evt_1", "2027-02", now.getTime());
  receiver.answer = undefined;
  const delivering = [world.deliver(now)];
  await until("the post", () => receiver.held.length === 1);
  enter("evt_2", "2027-01", later(-1000).getTime());
  await world.deliver(now);
  assert.equal(receiver.posts.length, 1);
  world.webhooks.stop();
  await Promise.all(delivering);
});

test("deleting an account during its post doesn't hold up other accounts' events", async (t) => {
  const [world, receiver] = [new World(t), await Receiver.open()];
  receiver.answer = undefined;
  world.due("gone", receiver.url());
  const delivering = world.deliver(now);
  await until("the post", () => receiver.held.length === 1);
  world.operator.accounts.delete(world.operator.accounts.byName("gone")?.id ?? assert.fail());
  receiver.held[0].end();
  await delivering;
  receiver.answer = 200;
  const [id] = world.due("other", receiver.url());
  await world.deliver(later(1000));
  assert.deepEqual([world.delivery(id).state, world.store.events.list().length], ["delivered", 1]);
});

test("an event isn't sent while an earlier one is in flight", async (t) => {
  const [world, receiver] = [new World(t), await Receiver.open()];
  dueTogether(world, receiver.url());
  receiver.answer = undefined;
  const delivering = [world.deliver(now)];
  for (const thresholds of [[80], [80, 90], [80, 90, 100]]) {
    await until("the post", () => receiver.held.length === 1);
    await world.deliver(now);
    assert.deepEqual(thresholdsOf(receiver), thresholds);
    for (const response of receiver.held.splice(0)) response.end();
    await Promise.all(delivering);
    delivering.push(world.deliver(now));
  }
  await Promise.all(delivering);
  assert.ok(world.store.events.list().every(({ state }) => state === "delivered"));
});

for (const stepMs of [1000, 20 * hourMs, monthMs, 120 * monthMs].flatMap((ms) => [ms, -ms]))
  test(`setting the clock by ${stepMs / 1000} s and back doesn't change the pause before a retry`, async (t) => {
    const { world, receiver, id } = await dueEvent(t, 500);
    const isAt = async (steadyMs: number, aheadMs: number, posts: number) => {
      await world.deliver(later(steadyMs + aheadMs), steadyMs);
      assert.equal(receiver.posts.length, posts, `${steadyMs} ms, ${aheadMs} ms ahead`);
    };
    await isAt(0, 0, 1);
    await isAt(1000, stepMs, 1);
    await isAt(9999, stepMs, 1);
    await isAt(10_000, stepMs, 2);
    assert.equal(world.delivery(id).next, later(70_000 + stepMs).getTime());
    await isAt(69_999, 0, 2);
    receiver.answer = undefined;
    const delivering = world.deliver(later(70_000), 70_000);
    await until("the post", () => receiver.held.length === 1);
    await isAt(71_000, stepMs, 3);
    receiver.held[0].writeHead(500).end();
    await delivering;
    receiver.answer = 200;
    await isAt(369_999, 0, 3);
    await isAt(370_000, 0, 4);
    assert.equal(world.delivery(id).state, "delivered");
  });

for (const aheadMs of [60_000, hourMs, 24 * hourMs, monthMs])
  test(`a retry that a clock planned that was ${aheadMs / 1000} s ahead waits its pause, from a restart on`, async (t) => {
    const { world, receiver, id } = await dueEvent(t, 500);
    await world.deliver(later(aheadMs));
    world.restart();
    await world.deliver(now);
    assert.deepEqual([receiver.posts.length, world.delivery(id).next], [1, later(10_000).getTime()]);
    await world.deliver(later(10_000));
    assert.equal(receiver.posts.length, 2);
    // The second pause is a minute. It isn't shortened by a clock that is a little ahead.
    await world.deliver(later(40_000));
    assert.equal(world.delivery(id).next, later(70_000).getTime());
  });

test("a retry that another server has planned by its clock waits its pause, however late it is read", async (t) => {
  const { world, receiver, id } = await dueEvent(t, 500);
  await world.deliver(now);
  const [delivery] = world.store.events.deliveries(id);
  const planned = { ...delivery, tries: 3, next_try_at: later(24 * hourMs).getTime() };
  world.store.events.updateDelivery(planned);
  world.webhooks.look(later(1000), later(1000).getTime());
  assert.equal(world.delivery(id).next, later(1000 + 300_000).getTime());
  await world.deliver(later(1000 + 299_999));
  assert.equal(receiver.posts.length, 1);
  await world.deliver(later(1000 + 300_000));
  assert.equal(receiver.posts.length, 2);
});

test("a pending event has an age without a delivery, also if it was made by a clock that was ahead", async (t) => {
  const { world } = await dueEvent(t);
  assert.equal(world.webhooks.oldestPendingAge(later(5000), 5000), 0);
  world.webhooks.look(later(5000), 5000);
  assert.equal(world.webhooks.oldestPendingAge(later(7000), 7000), 7);
  world.webhooks.look(later(-hourMs), 8000);
  assert.equal(world.webhooks.oldestPendingAge(later(4000 - hourMs), 12_000), 7);
});

test("the first delivery attempt is made at once, even if the event's creation time is in the future", async (t) => {
  const { world, receiver, id } = await dueEvent(t);
  await world.deliver(later(-monthMs));
  assert.deepEqual([receiver.posts.length, world.delivery(id).state], [1, "delivered"]);
});

for (const answer of [200, 204, 299, 300, 301, 302, 307, 400, 404, 429, 503, 410]) {
  const expected = answer < 300 ? "delivered" : answer === 410 ? "failed" : "pending";
  test(`a webhook that is answered with ${answer} is ${expected} after one post`, async (t) => {
    const { world, receiver, id } = await dueEvent(t, answer);
    const account = world.store.accounts.byName("acme") ?? assert.fail();
    const overlap = { webhook_old_secret: secret, webhook_old_secret_until: later(hourMs).getTime() };
    world.store.accounts.update({ ...account, ...overlap });
    await world.deliver(now);
    assert.deepEqual(
      { ...world.delivery(id), next: 0 },
      { state: expected, tries: 1, answer: `${answer}`, next: 0 },
    );
    const outcome = expected === "pending" ? "retry" : expected;
    const { values } = await world.posts.get();
    assert.deepEqual(
      values.filter(({ value }) => value > 0),
      [{ labels: { outcome }, value: 1 }],
    );
    await world.deliver(later(1));
    assert.equal(world.webhooks.oldestPendingAge(later(5000), 5000), expected === "pending" ? 5 : 0);
    assert.equal(receiver.posts.map(({ path }) => path).join(), "/hook");
    const { webhook, webhook_secret, ...after } = world.store.accounts.byName("acme") ?? assert.fail();
    assert.deepEqual(
      [webhook, webhook_secret, after.webhook_old_secret, after.webhook_old_secret_until],
      answer === 410 ? Array(4).fill(null) : [receiver.url(), secret, ...Object.values(overlap)],
    );
  });
}

test("a 410 response doesn't remove a webhook address that was set meanwhile", async (t) => {
  const { world, receiver } = await dueEvent(t);
  receiver.answer = undefined;
  const delivering = world.deliver(now);
  await until("the post", () => receiver.held.length === 1);
  const account = world.store.accounts.byName("acme") ?? assert.fail();
  world.store.accounts.update({ ...account, webhook: "https://example.com/new" });
  receiver.held[0].writeHead(410).end();
  await delivering;
  assert.equal(world.store.accounts.byName("acme")?.webhook, "https://example.com/new");
});

test("an outcome that can't be stored is stored later, and the event isn't posted again", async (t) => {
  const { world, receiver, id } = await dueEvent(t);
  const write = t.mock.method(world.store.events, "updateDelivery", () => {
    throw new Error("disk I/O error");
  });
  await world.deliver(now);
  for (let i = 0; i < 3; i++) await assert.rejects(world.deliver(later(i * 1000)), /disk I\/O error/);
  assert.equal(world.delivery(id).state, "pending");
  write.mock.restore();
  await world.deliver(later(5000));
  assert.deepEqual([world.delivery(id).state, receiver.posts.length], ["delivered", 1]);
});

test("an event that another server delivered stays delivered when this server's attempt fails", async (t) => {
  for (const answer of [500, 410]) {
    const { world, receiver, id } = await dueEvent(t);
    receiver.answer = undefined;
    const delivering = world.deliver(now);
    await until("the post", () => receiver.held.length === 1);
    const [before] = world.operator.events.deliveries(id);
    const delivered = {
      ...before,
      state: "delivered",
      tries: 1,
      next_try_at: null,
      last_answer: "204",
    } as const;
    world.operator.events.updateDelivery(delivered);
    receiver.held[0].writeHead(answer).end();
    await delivering;
    assert.deepEqual(world.store.events.deliveries(id), [delivered], String(answer));
    await world.deliver(later(1e9));
    assert.equal(receiver.posts.length, 1, "and isn't posted again");
  }
});

test("a delivery is retried after a database error", async (t) => {
  const { world, receiver, id } = await dueEvent(t);
  const read = t.mock.method(world.store.accounts, "byId", () => {
    throw new Error("disk I/O error");
  });
  await world.deliver(now).catch(() => {});
  read.mock.restore();
  await world.deliver(later(1000));
  await world.deliver(later(86_400_000));
  assert.deepEqual([world.delivery(id).state, receiver.posts.length], ["delivered", 1]);
});

test("an attempt's error is recorded as one short line without control characters", async (t) => {
  t.mock.method(Resolver.prototype, "resolve4", async () => {
    throw new Error(`no\u001b[2J such\n\thost ${"x".repeat(1000)}`);
  });
  t.mock.method(Resolver.prototype, "resolve6", async () => []);
  const closed = createServer();
  const port = await listening(closed);
  closed.close();
  await once(closed, "close");
  const urls = ["https://hooks.example.com/", `http://localhost:${port}/`];
  assert.deepEqual(await answersOf(t, urls, { allowLoopback: true }), [
    `no [2J such host ${"x".repeat(200)}`.slice(0, 200),
    "ECONNREFUSED",
  ]);
});

test("both channels deliver four times a second while it is this server's turn, say so in the log, and end", async (t) => {
  const [world, receiver] = [new World(t), await Receiver.open()];
  const metrics = new Metrics();
  const lines: Record<string, unknown>[] = [];
  const works = new Map<string, () => Promise<void>>();
  const ends: (() => void)[] = [];
  let isOurs = false;
  await startNotifications({
    ...{ store: world.store, metrics, mailer: undefined },
    settings: { WEBHOOK_ALLOW_LOOPBACK: true },
    log: pino(
      { base: null, timestamp: false },
      { write: (line: string) => void lines.push(JSON.parse(line)) },
    ),
    change: async (work: () => void) => world.store.atomically(work),
    delivers: () => isOurs,
    repeat(what: string, everyMs: number, work: () => Promise<void>) {
      works.set(what, work);
      assert.equal(everyMs, 250);
    },
    atEnd: (end: () => void) => void ends.push(end),
  } as unknown as Core);
  assert.deepEqual([...works.keys()], ["delivering events by webhook", "delivering events by email"]);
  const account = world.account(10, receiver.url(), "ann@example.com");
  world.operator.accounts.update({ ...account, webhook_secret: secret });
  assert.deepEqual(world.use(8), [80]);
  const [{ id }] = world.store.events.list();
  const text = await metrics.text();
  for (const channel of ["webhook", "email"])
    assert.ok(
      text.includes(
        `Age in seconds of the oldest event that is still to be sent by ${channel}; 0 if there is none`,
      ),
    );
  const ageOf = async (channel: string) =>
    Number(new RegExp(`^hcqs_${channel}_oldest_pending_seconds (.*)$`, "m").exec(await metrics.text())?.[1]);
  for (const work of works.values()) await work();
  assert.equal(receiver.posts.length, 0, "another server's turn");
  assert.ok((await ageOf("webhook")) > 0, "but it looks");
  isOurs = true;
  for (const work of works.values()) await work();
  assert.equal(receiver.posts.length, 1);
  assert.equal(receiver.posts[0].headers["user-agent"], "healthcare-charge-query-service");
  assert.equal(receiver.posts[0].headers["content-type"], "application/json");
  const line = { level: 30, event: id, msg: "event delivery" };
  assert.deepEqual(lines, [
    { ...line, channel: "webhook", state: "delivered", tries: 1, answer: "200" },
    { ...line, channel: "email", state: "failed", tries: 0, answer: "SMTP_URL isn't set" },
  ]);
  for (const work of works.values()) await work();
  assert.equal(await ageOf("webhook"), 0);
  assert.equal(ends.length, 2);
  for (const end of ends) end();
});
