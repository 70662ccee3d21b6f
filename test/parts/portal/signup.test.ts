import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import * as v from "valibot";
import { addAccounts } from "../../../server/accounts/transfer.ts";
import { accountOptions } from "../../../server/commands/account-options.ts";
import { Mailer } from "../../../server/shared/mail.ts";
import { plans } from "../../../server/shared/plans.ts";
import { Store } from "../../../server/store/store.ts";
import { errorOf, form, Portal } from "../../support/portal.ts";
import { later, now } from "../../support/quota-events.ts";
import { temporaryFolder } from "../../support/server.ts";
import { SmtpServer, takesAll } from "../../support/smtp.ts";
import { contentOf } from "../../support/state.ts";

const from = { name: "", address: "prices@example.com" };

test("signup creates an account of plan free and a key that works at once", async (t) => {
  const portal = new Portal(t);
  const reply = await portal.ask("/portal/signup", form("ann@example.com", " Ånn  Smïth "));
  assert.equal(reply.status, 201);
  const { account, key, ...rest } = Object.fromEntries(Object.entries(reply.body));
  assert.match(key, /^hcq_[0-9A-Za-z]{49}$/);
  assert.match(account, /^Ann-Smith-[a-z2-7]{6}$/);
  assert.deepEqual(rest, { plan: "free", keyId: 1 });
  assert.ok(portal.isTaken(key));
  const { plan, burst, quota, email, webhook } = portal.store.accounts.byName(account) ?? assert.fail();
  assert.deepEqual([plan, burst, quota, email, webhook], ["free", 10, 10_000, "ann@example.com", null]);
});

test("an account's name is made valid from the given name and gets a random suffix", async (t) => {
  const portal = new Portal(t, { portalAccount: "explore" });
  const names: [given: string, start: string][] = [
    ["acme", "acme"],
    ["explore", "explore"],
    ["李明", "account"],
    ["--", "account"],
    ["x".repeat(100), "x".repeat(57)],
    [`${"y".repeat(56)} z`, "y".repeat(56)],
    ["<b>O'Neill & \u{1f600}Sons</b>", "b-O-Neill-Sons-b"],
    ["\u212bnn 2\ud800", "Ann-2"],
  ];
  for (const [i, [given, start]] of names.entries()) {
    const asked = { address: `192.0.2.${i}` };
    const { account } = await portal.done("/portal/signup", form(`a${i}@example.com`, given), asked);
    assert.match(String(account), new RegExp(`^${start}-[a-z2-7]{6}$`));
    assert.ok(v.is(accountOptions.entries.account, account), "an operator's commands take it");
  }
});

test("an account name that is taken is drawn again, and after five draws signup gets 503", async (t) => {
  const portal = new Portal(t);
  const other = portal.store.accounts.create(
    { name: "x", plan: "free", ...plans.free, webhook: null, webhook_secret: null },
    now,
  );
  let drawn = 0;
  const taken = (upTo: number) =>
    t.mock.method(portal.store.accounts, "byName", () => (++drawn <= upTo ? other : undefined));
  taken(4);
  await portal.signUp("ann@example.com");
  drawn = 0;
  taken(Number.POSITIVE_INFINITY);
  const before = portal.written();
  const reply = await portal.ask("/portal/signup", form("bob@example.com"));
  assert.deepEqual([reply.status, errorOf(reply).type, drawn], [503, "service_unavailable", 5]);
  assert.equal(portal.written(), before);
});

const fields = form("ann@example.com");
/** Wrong bodies, each with the name of the wrong field and the expected message. */
const wrong: [body: unknown, param: string | undefined, message: string | RegExp][] = [
  ...["", "[]", "null", '{"name":"a",}'].map((body): (typeof wrong)[number] => [
    body,
    undefined,
    "the body isn't a JSON object",
  ]),
  [{ ...fields, plan: "x" }, "plan", /^the field "plan" isn't known, expected no other than name, /],
  ['{"__proto__":1}', "__proto__", /^the field "__proto__" isn't known/],
  [{ ...fields, name: undefined }, "name", "the field name is required"],
  [{ ...fields, name: " " }, "name", 'name is " ", expected 1 to 100 characters'],
  [{ ...fields, name: "x".repeat(101) }, "name", /expected 1 to 100 characters$/],
  [{ ...fields, name: "a\nb" }, "name", 'name is "a\\nb", expected a name in one line'],
  [{ ...fields, name: {} }, "name", "name is an object, expected 1 to 100 characters"],
  [{ ...fields, name: "a\u0085\u202eb" }, "name", 'name is "a\\u0085\\u202eb", expected a name in one line'],
  [
    { ...fields, name: `${"x ".repeat(31)}\u{1f600}${"y ".repeat(30)}` },
    "name",
    `name is "${"x ".repeat(31)}…", expected 1 to 100 characters`,
  ],
  [{ ...fields, email: undefined }, "email", "the field email is required"],
  ...[
    ...["ann", "ann@example", "ann@example.com\r\nBcc: all@example.com", "ann..b@example.com"],
    ...[`${"a".repeat(65)}@example.com`, `a@${"a.".repeat(130)}com`, "änn@example.com"],
  ].map((email): (typeof wrong)[number] => [
    { ...fields, email },
    "email",
    /expected an e-mail address such as ann@example.com$/,
  ]),
  [{ ...fields, website: "http://spam.example" }, "website", /, expected nothing$/],
  [{ ...fields, elapsedMs: 1999 }, "elapsedMs", "elapsedMs is 1999, expected at least 2000"],
  [{ ...fields, elapsedMs: "5000" }, "elapsedMs", 'elapsedMs is "5000", expected a number'],
  [
    JSON.stringify({ ...fields, elapsedMs: 0 }).replace(":0}", ":1e999}"),
    "elapsedMs",
    "elapsedMs is Infinity, expected a finite number",
  ],
];
for (const [body, param, message] of wrong)
  test(`an invalid signup is rejected and writes nothing: ${JSON.stringify(body).slice(0, 100)}`, async (t) => {
    const portal = new Portal(t);
    const before = portal.written();
    const reply = await portal.ask("/portal/signup", body);
    const error = errorOf(reply);
    const type = error.message.endsWith(" is required") ? "missing_parameter" : "invalid_parameter";
    assert.deepEqual([reply.status, error.type, error.param], [400, type, param]);
    if (typeof message === "string") assert.equal(error.message, message);
    else assert.match(error.message, message);
    assert.equal(portal.written(), before);
  });

test("with SIGNUP=off, signup gets 403 signup_closed", async (t) => {
  const portal = new Portal(t, { signup: "off" });
  for (const [path, body] of [
    ["/portal/signup", fields],
    ["/portal/signup/confirm", { token: "x" }],
  ] as const) {
    const reply = await portal.ask(path, body);
    assert.deepEqual([reply.status, errorOf(reply).type], [403, "signup_closed"]);
  }
  assert.deepEqual(portal.accountNames(), []);
});

test("a mailbox has one account, however its address is written", async (t) => {
  const portal = new Portal(t);
  await portal.signUp("ann.smith@gmail.com");
  await portal.signUp("ann.smith@example.com");
  for (const email of [
    "ANNSMITH@gmail.com",
    "a.n.n.smith+tag@googlemail.com",
    "ann.smith+x+y@Example.COM",
    "Ann.Smith@example.com",
  ]) {
    const reply = await portal.ask("/portal/signup", form(email), { address: "192.0.2.77" });
    assert.deepEqual([reply.status, errorOf(reply).type, errorOf(reply).param], [409, "conflict", "email"]);
  }
  await portal.signUp("annsmith@example.com");
  assert.equal(portal.accountNames().length, 3);
});

/** Signs up many times with different mailboxes. @returns the number of replies by status */
async function flood(
  portal: Portal,
  count: number,
  addressOf: (i: number) => string,
  atOf: (i: number) => Date,
) {
  const statuses = new Map<number, number>();
  for (let i = 0; i < count; i++) {
    const { status } = await portal.ask("/portal/signup", form(`a${i}@example.com`, `Name ${i}`), {
      address: addressOf(i),
      at: atOf(i),
    });
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }
  return statuses;
}

/** Maximum number of database pages that a signup may write, with a reserve for growing indexes. */
const maxFramesPerSignup = 40;

for (const [what, seconds, addressOf] of [
  ["an address", 0, () => "192.0.2.1"],
  ["an address in both forms", 80, (i: number) => (i % 2 === 0 ? "192.0.2.1" : "::ffff:192.0.2.1")],
  ["an IPv6 network of 64 bits", 80, (i: number) => `2001:db8:1:2:${i.toString(16)}::${i.toString(16)}`],
] as const)
  test(`1,000 signups from ${what}, one every ${seconds} s, make 5 accounts a day`, async (t) => {
    const portal = new Portal(t);
    const before = portal.written();
    const statuses = await flood(portal, 1000, addressOf, (i) => later(i * seconds * 1000));
    assert.deepEqual(
      statuses,
      new Map([
        [201, 5],
        [429, 995],
      ]),
    );
    const frames = portal.written() - before;
    assert.ok(frames <= 5 * maxFramesPerSignup, `${frames} frames`);
    assert.equal(portal.accountNames().length, 5);
  });

test("signups from 1,000 addresses make SIGNUP_DAILY accounts a day, and rejected ones write nothing", async (t) => {
  const portal = new Portal(t);
  const before = portal.written();
  const addressOf = (i: number) => `2001:db8:${(i >> 8).toString(16)}:${(i & 255).toString(16)}::1`;
  const statuses = await flood(portal, 1000, addressOf, (i) => later(i * 80_000));
  assert.deepEqual(
    statuses,
    new Map([
      [201, 200],
      [429, 800],
    ]),
  );
  const frames = portal.written() - before;
  assert.ok(frames <= 200 * maxFramesPerSignup, `${frames} frames`);
  const refused = portal.written();
  await flood(portal, 100, addressOf, () => later(1000 * 80_000));
  assert.equal(portal.written(), refused, "what is refused writes nothing");
});

test("of 1,000 simultaneous signups from different addresses, 50 create accounts", async (t) => {
  const portal = new Portal(t);
  const addressOf = (i: number) => `10.0.${i >> 8}.${i & 255}`;
  const statuses = await flood(portal, 1000, addressOf, () => now);
  assert.equal(statuses.get(201), 50);
  assert.equal(portal.accountNames().length, 50);
});

test("signup counts survive a restart and expire after a day", async (t) => {
  const folder = temporaryFolder();
  const refused = async (portal: Portal, at: Date, address = "192.0.2.1") => {
    const reply = await portal.ask("/portal/signup", form(`x${at.getTime()}@example.com`), { at, address });
    if (reply.status === 201) return undefined;
    return [reply.status, errorOf(reply).type, reply.headers?.["Retry-After"]];
  };
  const first = new Portal(t, { signupDaily: 6 }, folder);
  for (let i = 0; i < 5; i++) await first.done("/portal/signup", form(`a${i}@example.com`), { at: later(i) });
  const again = new Portal(t, { signupDaily: 6 }, folder);
  const tooMany = [429, "rate_limit_exceeded", "86400"];
  assert.deepEqual(await refused(again, later(1000)), tooMany);
  assert.equal(await refused(again, later(2000), "192.0.2.2"), undefined);
  assert.deepEqual(await refused(again, later(3000), "192.0.2.3"), tooMany, "the day's last was made");
  const day = 86_400_000;
  assert.deepEqual(await refused(again, later(day - 1)), tooMany);
  assert.equal(await refused(again, later(day)), undefined);
  assert.equal(
    again.store.signups.countsSince(later(-day), { mailbox: "", address: "192.0.2.1" }).address,
    5,
  );
});

async function mailing(t: TestContext, folder = temporaryFolder()) {
  const smtp = await SmtpServer.open();
  const mailer = new Mailer({ smtpUrl: smtp.url(), from });
  const tokens = () =>
    smtp.mails.map(({ data }) => {
      const text = data.replaceAll("=\n", "").replaceAll("=3D", "=");
      const [, token] = /^https:\/\/prices\.example\.com\/signup\?token=([\w-]{43})$/m.exec(text) ?? [];
      return token ?? assert.fail(text);
    });
  return { smtp, mailer, tokens, portal: new Portal(t, { signup: "email", mailer }, folder) };
}

test("with SIGNUP=email, signup mails a link that creates the account once", async (t) => {
  const folder = temporaryFolder();
  const { smtp, mailer, tokens, portal } = await mailing(t, folder);
  const reply = await portal.ask("/portal/signup", form("ann@example.com", "Ann <script>"));
  assert.deepEqual(reply, { status: 202, body: { sent: true } });
  assert.deepEqual(portal.accountNames(), []);
  const [{ to, data }] = smtp.mails;
  assert.equal(to, "ann@example.com");
  assert.doesNotMatch(data, /script/);
  const [token] = tokens();
  assert.match(data, /^Subject: Your API key for hospital charges: confirm your address$/m);
  assert.equal(
    data.split("\n\n").slice(1).join("\n\n").replaceAll("=\n", "").replaceAll("=3D", "=").trim(),
    `Somebody asked for an API key with this e-mail address. If it was you, open this link within 24 hours:\n\nhttps://prices.example.com/signup?token=${token}\n\nIf it wasn't you, ignore this e-mail.`,
  );
  const again = new Portal(t, { signup: "email", mailer }, folder);
  const made = await again.done("/portal/signup/confirm", { token });
  assert.match(String(made.account), /^Ann-script-[a-z2-7]{6}$/);
  assert.deepEqual([made.plan, made.keyId], ["free", 1]);
  assert.ok(again.isTaken(String(made.key)));
  assert.equal(again.store.accounts.byName(String(made.account))?.email, "ann@example.com");
  const second = await again.ask("/portal/signup/confirm", { token });
  assert.deepEqual([second.status, errorOf(second).param], [400, "token"]);
  assert.equal(again.accountNames().length, 1);
});

test("expired, mistyped and missing links get the same rejection and write nothing", async (t) => {
  const { tokens, portal } = await mailing(t);
  await portal.ask("/portal/signup", form("ann@example.com"), { at: now });
  const [token] = tokens();
  const day = 86_400_000;
  const before = portal.written();
  const replies = [
    await portal.ask("/portal/signup/confirm", { token }, { at: later(day) }),
    await portal.ask("/portal/signup/confirm", { token: `${token.slice(1)}A` }),
    await portal.ask("/portal/signup/confirm", { token: "" }),
  ];
  assert.deepEqual(replies[1], replies[0]);
  assert.deepEqual(replies[2], replies[0]);
  assert.equal(portal.written(), before);
  assert.doesNotMatch(JSON.stringify(replies), new RegExp(token));
  await portal.done("/portal/signup/confirm", { token }, { at: later(day - 1) });
});

test("links that weren't used within a day are deleted by the next signup", async (t) => {
  const { portal } = await mailing(t);
  const kept = () => portal.store.directory.names().filter((name) => name.startsWith("signups:"));
  await portal.ask("/portal/signup", form("ann@example.com"), { at: now });
  await portal.ask("/portal/signup", form("ben@example.com"), { at: later(86_399_999) });
  assert.deepEqual(kept(), ["signups:1", "signups:2"]);
  await portal.ask("/portal/signup", form("cy@example.com"), { at: later(86_400_000) });
  assert.deepEqual(kept(), ["signups:2", "signups:3"]);
});

test("with SIGNUP=email, the response doesn't reveal whether a mailbox has an account", async (t) => {
  const { smtp, tokens, portal } = await mailing(t);
  await portal.ask("/portal/signup", form("ann@example.com"));
  await portal.done("/portal/signup/confirm", { token: tokens()[0] });
  const ask = (email: string, address: string) => portal.ask("/portal/signup", form(email), { address });
  for (let i = 0; i < 7; i++) {
    const [known, unknown] = [
      await ask("ann+x@example.com", "192.0.2.8"),
      await ask("bob@example.com", "192.0.2.9"),
    ];
    assert.deepEqual(known, unknown);
  }
  assert.equal(smtp.mails.filter(({ to }) => to === "ann+x@example.com").length, 2, "3 a day with the first");
  assert.equal(smtp.mails.filter(({ to }) => to === "bob@example.com").length, 3);
  const ofAnn = smtp.mails.findIndex(({ to }) => to === "ann+x@example.com");
  const reply = await portal.ask("/portal/signup/confirm", { token: tokens()[ofAnn] });
  assert.deepEqual([reply.status, errorOf(reply).param], [409, "email"]);
  assert.equal(portal.accountNames().length, 1);
});

test("signup links are limited to 5 a day per address and SIGNUP_DAILY in total", async (t) => {
  const { smtp, mailer } = await mailing(t);
  const portal = new Portal(t, { signup: "email", signupDaily: 7, mailer });
  const at = (i: number) => later(i * 1000);
  const one = await flood(portal, 100, () => "192.0.2.1", at);
  const many = await flood(portal, 100, (i) => `192.0.2.${i + 2}`, at);
  assert.deepEqual([one.get(202), many.get(202), smtp.mails.length], [5, 2, 7]);
});

test("signups for one mailbox at the same time are mailed three links, and all get the same reply", async (t) => {
  const { smtp, mailer } = await mailing(t);
  const portal = new Portal(t, { signup: "email", signupDaily: 30, mailer });
  const replies = await Promise.all(
    Array.from({ length: 9 }, (_, i) =>
      portal.ask("/portal/signup", form("ann@example.com"), { address: `192.0.2.${i}` }),
    ),
  );
  assert.deepEqual(replies, Array(9).fill({ status: 202, body: { sent: true } }));
  assert.equal(smtp.mails.length, 3);
});

test("signup gets 503 if the mail server rejects the e-mail, and works when repeated", async (t) => {
  const { smtp, portal } = await mailing(t);
  smtp.answers = (word, line) => (word === "RCPT" ? "451 4.3.0 later" : takesAll(word, line));
  const reply = await portal.ask("/portal/signup", form("ann@example.com"));
  assert.deepEqual([reply.status, errorOf(reply).type], [503, "service_unavailable"]);
  smtp.answers = takesAll;
  assert.equal((await portal.ask("/portal/signup", form("ann@example.com"))).status, 202);
});

test("while a mail server hangs, signups wait for it, as many as SIGNUP_DAILY, and then get 503", async (t) => {
  const { mailer } = await mailing(t);
  const portal = new Portal(t, { signup: "email", signupDaily: 30, mailer });
  const { promise, reject } = Promise.withResolvers<string>();
  const { mock } = t.mock.method(mailer, "send", () => promise);
  const waiting = Array.from({ length: 30 }, (_, i) =>
    portal.ask("/portal/signup", form(`a${i}@example.com`), { address: `192.0.2.${i}` }),
  );
  await Promise.resolve();
  assert.equal((await portal.ask("/portal/signup", form("b@example.com"))).status, 429);
  assert.equal(mock.callCount(), 30);
  reject(new Error("it hangs"));
  for (const { status } of await Promise.all(waiting)) assert.equal(status, 503);
});

test("an account with the longest possible e-mail address can be exported and imported", async (t) => {
  const portal = new Portal(t);
  await portal.signUp(`a@${`${"x".repeat(60)}.`.repeat(4)}com`);
  const exported = contentOf(portal.store);
  const other = Store.inMemory();
  other.atomically(() => addAccounts(other, exported, "the export"));
  assert.deepEqual(contentOf(other), exported);
});
