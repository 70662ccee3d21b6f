import assert from "node:assert/strict";
import { test } from "node:test";
import { emailSender } from "../../../server/parts/notifications/emails.ts";
import { Outbox, triesCounter } from "../../../server/parts/notifications/outbox.ts";
import { Mailer } from "../../../server/shared/mail.ts";
import { maxWaitMs, until } from "../../support/connection.ts";
import { later, now, Receiver, silent, World } from "../../support/quota-events.ts";
import { type Answers, SmtpServer, takesAll } from "../../support/smtp.ts";

const from = { name: "Prices", address: "prices@example.com" };
const email = { to: "ann@example.com", subject: "s", text: "t", id: "1" };

function mailed(world: World, smtpUrl: string | undefined, maxMs?: number) {
  const mailer = smtpUrl === undefined ? undefined : new Mailer({ smtpUrl, from }, maxMs);
  const tries = triesCounter(world.metrics, "email");
  const outbox = new Outbox(world.store, silent, emailSender(mailer), tries);
  const deliveries = () =>
    world.store.events
      .list()
      .map(({ channel, state, tries, last_answer }) => [channel, state, tries, last_answer]);
  const outcomes = async () =>
    (await tries.get()).values.flatMap(({ labels, value }) => (value > 0 ? [[labels.outcome, value]] : []));
  return { outbox, outcomes, deliveries, deliver: (at = now) => outbox.deliverDue(at, at.getTime()) };
}

test("the account's address gets one e-mail each at 80, 90 and 100 % of the quota", async (t) => {
  const [world, smtp] = [new World(t), await SmtpServer.open()];
  world.account(1000, null, "ann@example.com");
  assert.deepEqual(world.use(1000), [80, 90, 100]);
  const { deliver, deliveries, outcomes } = mailed(world, smtp.url());
  for (let i = 0; i < 3; i++) await deliver();
  await deliver(later(1e9));
  assert.deepEqual(deliveries(), Array(3).fill(["email", "delivered", 1, "250"]));
  assert.deepEqual(
    smtp.mails.map(({ from, to }) => [from, to]),
    Array(3).fill(["prices@example.com", "ann@example.com"]),
  );
  const mails = world.store.events.list().map(({ id }) => smtp.mails.find(({ data }) => data.includes(id)));
  for (const [i, threshold] of [80, 90, 100].entries()) {
    const data = mails[i]?.data ?? assert.fail();
    assert.match(data, /^From: Prices <prices@example.com>$/m);
    assert.match(data, /^To: ann@example.com$/m);
    assert.match(data, /^Auto-Submitted: auto-generated$/m);
    assert.match(data, /^Message-ID: <evt_[0-9a-f]{32}@example.com>$/m);
    assert.match(
      data,
      new RegExp(`^Subject: ${threshold} % of the month's requests are used: account acme$`, "m"),
    );
    const text = data.replaceAll("=\n", "");
    const used = threshold === 100 ? "1,000" : `${threshold}0`;
    assert.match(text, new RegExp(`used ${used} of its 1,000 requests in \\d{4}-\\d\\d`));
    assert.match(
      text,
      threshold < 100 ? /as before until the quota is used up\. Then they are/ : /\n\nRequests are refused/,
    );
  }
  assert.deepEqual(await outcomes(), [["delivered", 3]]);
});

test("an event's webhook and e-mail are delivered independently", async (t) => {
  const [world, receiver, smtp] = [new World(t), await Receiver.open(), await SmtpServer.open()];
  world.account(10, receiver.url(), "ann@example.com");
  assert.deepEqual(world.use(8), [80]);
  const { deliver, deliveries } = mailed(world, smtp.url());
  receiver.answer = 503;
  await world.deliver(now);
  await deliver();
  assert.deepEqual(deliveries(), [
    ["webhook", "pending", 1, "503"],
    ["email", "delivered", 1, "250"],
  ]);
  assert.match(smtp.mails[0].data.replaceAll("=\n", ""), /Requests are answered as before/);
  receiver.answer = undefined;
  const hanging = world.deliver(later(10_000));
  await until("the post", () => receiver.held.length === 1);
  assert.deepEqual(world.use(1), [90]);
  await deliver(later(10_000));
  assert.equal(smtp.mails.length, 2, "a receiver that hangs keeps no mail waiting");
  world.webhooks.stop();
  await hanging;
});

test("without SMTP_URL, e-mail deliveries fail with that reason", async (t) => {
  const world = new World(t);
  world.account(10, null, "ann@example.com");
  world.use(8);
  const { deliver, deliveries } = mailed(world, undefined);
  await deliver();
  assert.deepEqual(deliveries(), [["email", "failed", 0, "SMTP_URL isn't set"]]);
});

test("no e-mail is sent if the account's address has been removed", async (t) => {
  const [world, smtp] = [new World(t), await SmtpServer.open()];
  const account = world.account(10, null, "ann@example.com");
  world.use(8);
  world.store.accounts.update({ ...account, email: null });
  const { deliver, deliveries } = mailed(world, smtp.url());
  await deliver();
  assert.deepEqual([deliveries(), smtp.lines], [[["email", "failed", 0, "no e-mail address"]], []]);
});

const answering =
  (wanted: string, answer: string | undefined): Answers =>
  (word, line) =>
    word === wanted ? answer : takesAll(word, line);
for (const [what, answers, state, said] of [
  [
    "doesn't know the recipient",
    answering("RCPT", "550 5.1.1 no such user"),
    "failed",
    /550 5\.1\.1 no such user/,
  ],
  ["wants the recipient later", answering("RCPT", "450 4.2.0 later"), "pending", /450 4\.2\.0 later/],
  ["has no room", answering("DATA", "452 4.3.1 full"), "pending", /452 4\.3\.1 full/],
  ["doesn't take the email", answering(".", "554 5.7.1 no"), "pending", /554 5\.7\.1 no/],
  ["refuses the login", answering("AUTH", "535 5.7.8 no"), "pending", /535 5\.7\.8 no/],
] as const)
  test(`an e-mail is ${state} after one attempt when the mail server ${what}`, async (t) => {
    const [world, smtp] = [new World(t), await SmtpServer.open()];
    smtp.answers = answers;
    world.account(10, null, "ann@example.com");
    world.use(8);
    const { deliver, deliveries, outcomes } = mailed(world, smtp.url("user:pass%40word@"));
    await deliver();
    const [[, found, tries, answer]] = deliveries();
    assert.deepEqual([found, tries], [state, 1]);
    assert.match(String(answer), said);
    assert.doesNotMatch(String(answer), /pass@word/);
    assert.deepEqual(await outcomes(), [[state === "failed" ? "failed" : "retry", 1]]);
    if (state === "failed") return;
    smtp.answers = takesAll;
    await deliver(later(9999));
    assert.equal(smtp.mails.length, 0, "not before the pause is over");
    await deliver(later(10_000));
    assert.deepEqual(deliveries(), [["email", "delivered", 2, "250"]]);
    const login = Buffer.from("\0user\0pass@word").toString("base64");
    assert.ok(smtp.lines.includes(`AUTH PLAIN ${login}`));
  });

const silence = { greeting: "", answers: takesAll };
const hanging = (word: string) => ({ greeting: undefined, answers: answering(word, undefined) });
for (const [what, { greeting, answers }] of Object.entries({
  "says nothing": silence,
  "never ends its greeting": { ...silence, greeting: "220-wait\r\n" },
  "hangs at the recipient": hanging("RCPT"),
  "hangs after the email": hanging("."),
}))
  test(`an attempt ends at its deadline and closes its connection when the mail server ${what}`, {
    timeout: maxWaitMs,
  }, async () => {
    const smtp = await SmtpServer.open();
    if (greeting !== undefined) smtp.greeting = greeting;
    smtp.answers = answers;
    const mailer = new Mailer({ smtpUrl: smtp.url(), from }, 300);
    await assert.rejects(
      mailer.send(email),
      /hasn't accepted it in 300 ms|ETIMEDOUT|timed? ?out|never received/i,
    );
    await until("the connection to be closed", () => smtp.sockets.size === 0);
  });

test("an aborted attempt rejects with the reason and closes its connection", {
  timeout: maxWaitMs,
}, async () => {
  const smtp = await SmtpServer.open();
  smtp.answers = answering("RCPT", undefined);
  const end = new AbortController();
  const sending = new Mailer({ smtpUrl: smtp.url(), from }).send(email, end.signal);
  await until("the recipient", () => smtp.lines.some((line) => line.startsWith("RCPT")));
  end.abort(new Error("given up"));
  await assert.rejects(sending, /^Error: given up$/);
  await until("the connection to be closed", () => smtp.sockets.size === 0);
});

test("smtps rejects a self-signed certificate and a server without TLS", async () => {
  const [secure, plain] = [await SmtpServer.open(true), await SmtpServer.open()];
  const send = (port: number) => new Mailer({ smtpUrl: `smtps://127.0.0.1:${port}`, from }, 5000).send(email);
  await assert.rejects(send(secure.port), /self.signed certificate/);
  await assert.rejects(send(plain.port));
  assert.deepEqual([secure.mails, plain.mails], [[], []]);
});

test("at most 20 e-mails are in flight, and none is cut off for a waiting one", {
  timeout: maxWaitMs,
}, async (t) => {
  const [world, smtp] = [new World(t), await SmtpServer.open()];
  smtp.answers = answering("RCPT", undefined);
  world.operator.atomically(() => {
    for (let i = 0; i < 30; i++) {
      const [id] = world.due(`a ${i}`, "https://example.com/");
      const account = world.operator.accounts.byName(`a ${i}`) ?? assert.fail();
      world.operator.accounts.update({ ...account, email: `a${i}@example.com` });
      const payload = JSON.stringify({
        data: { account: "a", plan: "free", month: "2026-11", quota: { limit: 1, used: 1 } },
      });
      const event = world.operator.events.byId(id) ?? assert.fail();
      world.operator.events.create({ ...event, id: `mail ${i}`, quota: 99, payload }, ["email"]);
    }
  });
  const { deliver, outbox } = mailed(world, smtp.url());
  const delivering = [deliver()];
  await until("the e-mails", () => smtp.lines.filter((line) => line.startsWith("RCPT")).length === 20);
  delivering.push(deliver(later(5000)));
  outbox.stop();
  await Promise.all(delivering);
  assert.equal(smtp.lines.filter((line) => line.startsWith("RCPT")).length, 20);
});
