import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import Database from "better-sqlite3";
import { generateKey, hashKey } from "../../../server/accounts/keys.ts";
import { isoTime } from "../../../server/shared/time.ts";
import { type Asked, errorOf, form, Portal } from "../../support/portal.ts";
import { later, now, silent } from "../../support/quota-events.ts";
import { account } from "../../support/state.ts";

/** Tests the account page's requests: settings and keys of the visitor's own account. */

const actions: [path: string, body: object][] = [
  ["/portal/account", {}],
  ["/portal/account/email", { email: "new@example.com" }],
  ["/portal/account/webhook", { url: "https://example.com/hook" }],
  ["/portal/keys", {}],
  ["/portal/keys/create", {}],
  ["/portal/keys/rotate", { id: 1, overlap_hours: 1 }],
  ["/portal/keys/revoke", { id: 1 }],
];

async function signedUp(t: TestContext) {
  const portal = new Portal(t);
  const key = await portal.signUp("ann@example.com");
  const [name] = portal.accountNames();
  return { portal, key, name, done: (path: string, body: object) => portal.done(path, body, { key }) };
}

const idOf = (body: Record<string, unknown>) => Number(body.id);

test("the account response has the account's settings but not its webhook secret", async (t) => {
  const { portal, name, done } = await signedUp(t);
  const account = { account: name, plan: "free", quota: 10_000, burst: 10, email: "ann@example.com" };
  assert.deepEqual(await done("/portal/account", {}), {
    ...account,
    webhook: null,
    webhook_secret_set: false,
  });
  const webhook = "https://example.com/hook";
  await done("/portal/account/webhook", { url: webhook });
  assert.deepEqual(await done("/portal/account", {}), { ...account, webhook, webhook_secret_set: true });
  assert.ok(portal.store.accounts.byName(name)?.webhook_secret);
});

test("the e-mail address for warnings is changed and removed", async (t) => {
  const { portal, key, name, done } = await signedUp(t);
  const email = () => portal.store.accounts.byName(name)?.email;
  assert.deepEqual(await done("/portal/account/email", { email: "bob@example.org" }), {
    email: "bob@example.org",
  });
  assert.equal(email(), "bob@example.org");
  for (const wrong of ["bob", "bob@example.org\r\nBcc: x@example.org", 5]) {
    const reply = await portal.ask("/portal/account/email", { email: wrong }, { key });
    assert.deepEqual([reply.status, errorOf(reply).param], [400, "email"]);
  }
  assert.equal(email(), "bob@example.org");
  await done("/portal/account/email", { email: null });
  assert.equal(email(), null);
});

test("a webhook secret is shown once, and a new address gets a new secret", async (t) => {
  const { portal, key, name, done } = await signedUp(t);
  const [a, b] = ["https://example.com/a", "https://example.com/b"];
  const secrets = [];
  for (const url of [a, b]) {
    const { webhook, secret } = await done("/portal/account/webhook", { url });
    assert.equal(webhook, url);
    assert.match(String(secret), /^whsec_[0-9A-Za-z+/]{32}$/);
    assert.equal(portal.store.accounts.byName(name)?.webhook_secret, secret);
    secrets.push(secret);
  }
  assert.notEqual(secrets[0], secrets[1]);
  const before = portal.written();
  assert.deepEqual(await done("/portal/account/webhook", { url: b }), { webhook: b });
  assert.equal(portal.written(), before, "nothing changed");
  for (const [url, expected] of [
    ["http://example.com/", "an https URL"],
    ["https://10.0.0.1/", "a public address"],
    ["https://localhost/", "a public address"],
    ["https://printer.local/", "a public address"],
    ["https://user:secret@example.com/", "a URL without a user name or password"],
    ["nonsense", "a URL"],
  ]) {
    const reply = await portal.ask("/portal/account/webhook", { url }, { key });
    const { message, param } = errorOf(reply);
    assert.deepEqual([reply.status, param, message.split(", expected ")[1]], [400, "url", expected]);
  }
  assert.deepEqual(await done("/portal/account/webhook", { url: null }), { webhook: null });
  assert.equal(portal.store.accounts.byName(name)?.webhook_secret, null);
});

test("keys can be listed, created, rotated and revoked, with immediate effect", async (t) => {
  const { portal, key, done } = await signedUp(t);
  const expires = "2036-01-31T00:00:00.000Z";
  const made = await done("/portal/keys/create", { expires });
  assert.deepEqual({ ...made, key: "" }, { id: 2, key: "", last4: String(made.key).slice(-4), expires });
  assert.ok(portal.isTaken(String(made.key)));
  const rotated = await done("/portal/keys/rotate", { id: 2, overlap_hours: 0 });
  assert.deepEqual([rotated.id, rotated.expires], [3, expires]);
  assert.deepEqual([portal.isTaken(String(made.key)), portal.isTaken(String(rotated.key))], [false, true]);
  const { keys } = await done("/portal/keys", {});
  const listed = portal.store.keys.ofAccount(1).map((one) => ({
    id: one.id,
    last4: one.last4,
    state: one.id === 2 ? "revoked" : "active",
    label: null,
    created: isoTime(one.created_at),
    expires: one.id === 1 ? null : expires,
    is_this: one.id === 1,
  }));
  assert.deepEqual(keys, listed);
  assert.deepEqual(await done("/portal/keys/revoke", { id: 3 }), { id: 3, state: "revoked" });
  assert.equal(portal.isTaken(String(rotated.key)), false);
  const before = portal.written();
  assert.deepEqual(await done("/portal/keys/revoke", { id: 3 }), { id: 3, state: "revoked" });
  assert.equal(portal.written(), before);
  await done("/portal/keys/revoke", { id: 1 });
  assert.equal((await portal.ask("/portal/keys", {}, { key })).status, 401, "its own key, too");
});

test("a key of a suspended or deleted account gets the same response as an unknown key", async (t) => {
  const { portal, key } = await signedUp(t);
  const reply = async (used = key) => JSON.stringify(await portal.ask("/portal/account", {}, { key: used }));
  const unknown = await reply(generateKey());
  portal.store.accounts.suspend(1, 1);
  assert.equal(await reply(), unknown);
  portal.store.accounts.suspend(1, null);
  assert.notEqual(await reply(), unknown);
  portal.store.accounts.delete(1);
  assert.equal(await reply(), unknown);
});

test("only an active key can be rotated, only once, and the old key works until the overlap ends", async (t) => {
  const { portal, key, done } = await signedUp(t);
  const rotated = await done("/portal/keys/rotate", { id: 1, overlap_hours: 24 });
  assert.ok(portal.isTaken(key));
  const { id, expires } = Object(rotated.old);
  assert.deepEqual([id, portal.store.keys.byId(1)?.expires_at], [1, Date.parse(expires)]);
  const again = await portal.ask("/portal/keys/rotate", { id: 1, overlap_hours: 1 }, { key });
  assert.deepEqual(
    [again.status, errorOf(again).message],
    [
      409,
      "key 1: found a rotation before, which made key 2, expected one that wasn't rotated: rotate the newest",
    ],
  );
  await done("/portal/keys/revoke", { id: idOf(rotated) });
  const revoked = await portal.ask("/portal/keys/rotate", { id: 2, overlap_hours: 1 }, { key });
  assert.equal(errorOf(revoked).message, "key 2: found revoked, expected an active one");
  assert.equal(portal.store.keys.ofAccount(1).length, 2);
});

for (const [path, body, param] of [
  ["/portal/keys/create", { expires: "2020-01-01" }, "expires"],
  ["/portal/keys/create", { expires: "tomorrow" }, "expires"],
  ["/portal/keys/create", { expires: "2099-02-30" }, "expires"],
  ["/portal/keys/create", { expires: "9999-12-31T23:59:59-00:01" }, "expires"],
  ["/portal/keys/create", { expires: "1969-12-31T23:59:59Z" }, "expires"],
  ["/portal/keys/rotate", { id: 1, overlap_hours: 8761 }, "overlap_hours"],
  ["/portal/keys/rotate", { id: 1, overlap_hours: 0.5 }, "overlap_hours"],
  ["/portal/keys/rotate", { id: 1 }, "overlap_hours"],
  ["/portal/keys/revoke", { id: "1" }, "id"],
  ["/portal/keys/revoke", { id: 2 ** 60 }, "id"],
  ["/portal/keys/revoke", {}, "id"],
  ["/portal/account/webhook", {}, "url"],
] as const)
  test(`${path} with ${JSON.stringify(body)} is refused and writes nothing`, async (t) => {
    const { portal, key } = await signedUp(t);
    const before = portal.written();
    const reply = await portal.ask(path, body, { key });
    assert.deepEqual([reply.status, errorOf(reply).param], [400, param]);
    assert.equal(portal.written(), before);
  });

test("another account's key can't be rotated or revoked, and gets the response of a missing one", async (t) => {
  const { portal, key } = await signedUp(t);
  const other = await portal.signUp("bob@example.com");
  for (const [path, body] of [
    ["/portal/keys/rotate", { overlap_hours: 0 }],
    ["/portal/keys/revoke", {}],
  ] as const) {
    const [theirs, none] = [
      await portal.ask(path, { ...body, id: 2 }, { key }),
      await portal.ask(path, { ...body, id: 999 }, { key }),
    ];
    assert.deepEqual([theirs.status, none.status], [404, 404]);
    assert.equal(errorOf(theirs).message.replace("2", "999"), errorOf(none).message);
  }
  assert.ok(portal.isTaken(other));
});

test("invalid keys get 401, the portal's own key gets 403, and neither causes a write", async (t) => {
  const portal = new Portal(t, { portalAccount: "explore" });
  const own = { ...account, name: "explore" };
  const { id } = portal.store.accounts.create(own, now);
  const [portals, expired, revoked] = [generateKey(), generateKey(), generateKey()];
  portal.store.keys.create(id, hashKey(portals), portals.slice(-4), null, now);
  const free = portal.store.accounts.create({ ...own, name: "a" }, now);
  portal.store.keys.create(free.id, hashKey(expired), "0000", now.getTime(), now);
  portal.store.keys.revoke(portal.store.keys.create(free.id, hashKey(revoked), "0000", null, now), now);
  const before = portal.written();
  for (const [path, body] of actions) {
    for (const key of [expired, revoked, generateKey(), "x", ""]) {
      const reply = await portal.ask(path, body, { key });
      assert.deepEqual([reply.status, errorOf(reply).type], [401, "invalid_api_key"]);
      assert.deepEqual(reply.headers, { "WWW-Authenticate": "Bearer" });
    }
    const none = await portal.ask(path, body);
    assert.deepEqual([none.status, errorOf(none).type], [401, "missing_api_key"]);
    const forbidden = await portal.ask(path, body, { key: portals });
    assert.deepEqual([forbidden.status, errorOf(forbidden).type], [403, "forbidden"]);
  }
  assert.equal(portal.written(), before);
});

test("an unknown path returns unknown_endpoint", async (t) => {
  const portal = new Portal(t);
  for (const path of ["/portal/", "/portal/constructor", "/portal/keys/", "/portal/accounts"]) {
    const reply = await portal.ask(path, {});
    assert.deepEqual([reply.status, errorOf(reply).type], [404, "unknown_endpoint"]);
  }
});

test("an account can create 20 keys a day, and its changes are rate limited across addresses", async (t) => {
  const { portal, key } = await signedUp(t);
  const statuses = [];
  for (let i = 0; i < 30; i++) {
    const at = later(60_000 * (i + 1));
    statuses.push((await portal.ask("/portal/keys/create", {}, { key, at })).status);
  }
  assert.deepEqual(statuses, [...Array(19).fill(201), ...Array(11).fill(429)]);
  const changes = [];
  const at = later(86_400_000);
  for (let i = 0; i < 100; i++) {
    const reply = await portal.ask(
      "/portal/account/email",
      { email: `a${i}@example.com` },
      { key, at, address: `10.0.0.${i}` },
    );
    changes.push(`${reply.status} ${reply.headers?.["Retry-After"] ?? ""}`);
  }
  assert.deepEqual(changes, [...Array(32).fill("200 "), ...Array(68).fill("429 1")]);
});

test("a rejected webhook address doesn't count towards the limit of changes", async (t) => {
  const { portal, key } = await signedUp(t);
  const at = later(3_600_000);
  const set = async (url: string, i: number) =>
    (await portal.ask("/portal/account/webhook", { url }, { key, at, address: `10.0.0.${i}` })).status;
  for (let i = 0; i < 30; i++) assert.equal(await set(`https://10.0.0.1/${i}`, i), 400);
  for (let i = 0; i < 32; i++) assert.equal(await set(`https://example.com/${i}`, i), 200);
  assert.equal(await set("https://example.com/", 0), 429);
});

test("requests are rate limited per client, and other clients aren't affected", async (t) => {
  const { portal, key } = await signedUp(t);
  const at = later(3_600_000);
  const ask = async (address: string, when = at) => {
    const { status, headers } = await portal.ask("/portal/account", {}, { key, at: when, address });
    return `${status} ${headers?.["Retry-After"] ?? ""}`;
  };
  for (let i = 0; i < 32; i++) assert.equal(await ask("2001:db8::1"), "200 ");
  assert.equal(await ask("2001:db8::2"), "429 1");
  assert.equal(await ask("2001:db8:0:1::1"), "200 ");
  assert.equal(await ask("2001:db8::3", new Date(at.getTime() + 1000)), "200 ");
});

test("all clients together make 50 changes in a row and then 10 a second, and more get 503", async (t) => {
  const portal = new Portal(t);
  const keys = await Promise.all(["a", "b", "c"].map((name) => portal.signUp(`${name}@example.com`)));
  const change = async (i: number, ms: number) => {
    const asked = { key: keys[i % 3], address: `10.0.0.${i}`, at: later(3_600_000 + ms) };
    const reply = await portal.ask("/portal/account/email", { email: `a${i}@example.com` }, asked);
    return [reply.status, reply.headers?.["Retry-After"]].join(" ");
  };
  for (let i = 0; i < 50; i++) assert.equal(await change(i, 0), "200 ");
  assert.equal(await change(50, 0), "503 1");
  assert.equal((await portal.ask("/portal/keys", {}, { key: keys[0], at: later(3_600_000) })).status, 200);
  for (let i = 50; i < 60; i++) assert.equal(await change(i, 1000), "200 ");
  assert.equal(await change(60, 1000), "503 1");
});

test("changes get 503 while the database is lost or full, and reads still work", async (t) => {
  const { portal, key } = await signedUp(t);
  portal.fault = "it is gone";
  const before = portal.written();
  const lost = await portal.ask("/portal/keys/create", {}, { key });
  assert.deepEqual([lost.status, errorOf(lost).type], [503, "service_unavailable"]);
  assert.equal((await portal.ask("/portal/signup", form("b@example.com"))).status, 503);
  assert.equal((await portal.ask("/portal/keys", {}, { key })).status, 200);
  portal.fault = undefined;
  t.mock.method(portal.store, "atomically", () => {
    throw new Database.SqliteError("database or disk is full", "SQLITE_FULL");
  });
  const full = await portal.ask("/portal/keys/create", {}, { key });
  assert.deepEqual([full.status, errorOf(full).message], [503, "the change can't be stored now; try again"]);
  t.mock.method(portal.store.keys, "byHash", () => {
    throw new TypeError("secret detail");
  });
  const { mock } = t.mock.method(silent, "error");
  const failed = await portal.ask("/portal/keys", {}, { key });
  assert.deepEqual([failed.status, errorOf(failed).message], [500, "the request failed; try again"]);
  assert.deepEqual(mock.calls[0].arguments, [
    { path: "/portal/keys", reason: "secret detail", requestId: "test-1" },
    "a request to the portal failed",
  ]);
  assert.equal(portal.written(), before);
});

test("signup returns the stored key even if a later step fails", async (t) => {
  const portal = new Portal(t);
  portal.failure = new Database.SqliteError("disk I/O error", "SQLITE_IOERR");
  const key = await portal.signUp("ann@example.com");
  assert.ok(portal.isTaken(key));
});

test("the portal creates no keys beyond 450,000, which leaves room for the operator", async (t) => {
  const { portal, key } = await signedUp(t);
  portal.keyCount = 449_999;
  assert.equal((await portal.ask("/portal/keys/create", {}, { key })).status, 201);
  portal.keyCount = 450_000;
  for (const [path, body] of [
    ["/portal/keys/create", {}],
    ["/portal/keys/rotate", { id: 1, overlap_hours: 0 }],
    ["/portal/signup", form("b@example.com")],
  ] as const) {
    const reply = await portal.ask(path, body, { key });
    assert.deepEqual([reply.status, errorOf(reply).type], [503, "service_unavailable"]);
  }
  assert.ok(portal.isTaken(key));
});

test("each refusal says what was refused and what helps", async (t) => {
  const { portal, key } = await signedUp(t);
  const own = portal.store.accounts.create({ ...account, name: "explore" }, now);
  const shared = generateKey();
  portal.store.keys.create(own.id, hashKey(shared), "0000", null, now);
  const noon = later(43_200_000);
  const said = async (path: string, body: unknown, asked: Asked = {}) => {
    const {
      status,
      headers,
      body: reply,
    } = await portal.ask(`/portal/${path}`, body, { at: noon, ...asked });
    const { type, message, param } = errorOf({ body: reply });
    return [
      status,
      type,
      message,
      ...(param === undefined ? [] : [param]),
      ...Object.entries(headers ?? {}).map((each) => each.join(": ")),
    ].join(" | ");
  };
  for (const [path, body, expected] of [
    ["nothing", {}, '404 | unknown_endpoint | there is no endpoint at "/portal/nothing"'],
    ["keys", { x: 1 }, '400 | invalid_parameter | the field "x" isn\'t known, expected none | x'],
    [
      "signup",
      { ...form("b@example.com"), name: ["a"] },
      "400 | invalid_parameter | name is a list, expected 1 to 100 characters | name",
    ],
    [
      "signup",
      { ...form("b@example.com"), name: null },
      "400 | invalid_parameter | name is null, expected 1 to 100 characters | name",
    ],
    [
      "signup/confirm",
      { token: 5 },
      "400 | invalid_parameter | token is 5, expected the token of a link | token",
    ],
    [
      "signup/confirm",
      { token: "x" },
      "400 | invalid_parameter | token is not valid, expected the token of an unused link, at most 24 hours old | token",
    ],
    [
      "signup",
      form("ANN@example.com"),
      "409 | conflict | somebody has signed up with this e-mail address already | email",
    ],
    ["keys/revoke", { id: 9 }, "404 | not_found | the account has no key 9 | id"],
    ["keys/revoke", { id: 0 }, "400 | invalid_parameter | id is 0, expected a key's id | id"],
    ["keys/revoke", { id: 1.5 }, "400 | invalid_parameter | id is 1.5, expected a key's id | id"],
    [
      "keys/rotate",
      { id: 1, overlap_hours: -1 },
      "400 | invalid_parameter | overlap_hours is -1, expected a whole number from 0 to 8760 | overlap_hours",
    ],
    [
      "keys/rotate",
      { id: 1, overlap_hours: "1" },
      '400 | invalid_parameter | overlap_hours is "1", expected a whole number from 0 to 8760 | overlap_hours',
    ],
    ["account/webhook", { url: 1 }, "400 | invalid_parameter | url is 1, expected a URL or null | url"],
    [
      "account/webhook",
      { url: "https://u:secret@example.com/" },
      '400 | invalid_parameter | url is "https://…@example.com/", expected a URL without a user name or password | url',
    ],
    [
      "keys/create",
      { expires: isoTime(noon.getTime() - 1) },
      `400 | invalid_parameter | expires is ${isoTime(noon.getTime() - 1)}, expected a time in the future | expires`,
    ],
  ] as const)
    assert.equal(await said(path, body, { key }), expected);
  const limits: [() => Promise<string>, string][] = [
    [
      () => said("signup", form("c@example.com")),
      "503 | service_unavailable | nothing can be changed now; try again later | Retry-After: 60",
    ],
  ];
  portal.fault = "it is gone";
  for (const [ask, expected] of limits) assert.equal(await ask(), expected);
  portal.fault = undefined;
  portal.keyCount = 450_000;
  assert.equal(
    await said("keys/create", {}, { key }),
    "503 | service_unavailable | the server has no room for more keys: no key can be created until the operator makes room",
  );
  portal.keyCount = undefined;
  const many = async (count: number, ask: (i: number) => Promise<string>) => {
    let last = "";
    for (let i = 0; i < count; i++) last = await ask(i);
    return last;
  };
  const far = (i: number) => ({ address: `10.1.${i >> 8}.${i & 255}` });
  assert.equal(
    await many(40, () => said("keys", { x: 1 }, { key })),
    "429 | rate_limit_exceeded | too many requests from your address; retry in 1 s | Retry-After: 1",
  );
  const email = (i: number) => ({ email: `a${i}@example.com` });
  const change = async (i: number) => {
    const reply = await portal.ask("/portal/account/email", email(i), { key, at: noon, ...far(i) });
    return reply.status === 200 ? "" : errorOf(reply).message;
  };
  assert.equal(await many(33, change), "too many changes of your account; retry in 1 s");
  const late = later(2 * 86_400_000);
  const make = async (i: number) => {
    const reply = await portal.ask(
      "/portal/keys/create",
      {},
      { key, at: new Date(late.getTime() + 60_000 * i), ...far(i) },
    );
    return reply.status === 201 ? "" : errorOf(reply).message;
  };
  assert.equal(await many(21, make), "the account got 20 keys within a day; retry in 86400 s");
  const sign = (address: (i: number) => string, days: number) => async (i: number) => {
    const at = later(days * 86_400_000 + 80_000 * i);
    const reply = await portal.ask("/portal/signup", form(`s${days}x${i}@example.com`), {
      at,
      address: address(i),
    });
    return reply.status === 201 ? "" : errorOf(reply).message;
  };
  assert.equal(
    await many(
      6,
      sign(() => "10.2.0.1", 5),
    ),
    "there were 5 signups from your address within a day; retry in 86400 s",
  );
  const two = new Portal(t, { signupDaily: 1, portalAccount: "explore" });
  await two.signUp("a@example.com");
  const { id } = two.store.accounts.create({ ...account, name: "explore" }, now);
  two.store.keys.create(id, hashKey(shared), "0000", null, now);
  const refused = async (path: string, body: object, asked: Asked) =>
    errorOf(await two.ask(path, body, asked)).message;
  assert.equal(
    await refused("/portal/signup", form("b@example.com"), { address: "10.3.0.1" }),
    "the server's signups for a day are used up; retry in 86400 s",
  );
  assert.equal(
    await refused("/portal/keys", {}, { key: shared }),
    "this key is the portal's own: sign up for one of yours",
  );
  const none = new Portal(t, { signup: "off" });
  assert.equal(
    errorOf(await none.ask("/portal/signup", form("b@example.com"))).message,
    "nobody can sign up here: the operator makes accounts",
  );
});

test("an account that is deleted while its change waits is refused, and nothing is made again", async (t) => {
  const { portal, key, name } = await signedUp(t);
  const { atomically } = portal.store;
  for (const [path, body] of [
    ["/portal/account/email", { email: "new@example.com" }],
    ["/portal/account/webhook", { url: "https://example.com/hook" }],
    ["/portal/keys/create", {}],
    ["/portal/keys/rotate", { id: 1, overlap_hours: 1 }],
  ] as const) {
    const { mock } = t.mock.method(portal.store.accounts, "byId", (id: number) =>
      isDeleted ? undefined : byId(id),
    );
    const byId = (id: number) =>
      Object.getPrototypeOf(portal.store.accounts).byId.call(portal.store.accounts, id);
    let isDeleted = false;
    const change = t.mock.method(portal.store, "atomically", (work: () => unknown) => {
      isDeleted = true;
      return atomically.call(portal.store, work);
    });
    const before = portal.written();
    const reply = await portal.ask(path, body, { key });
    assert.deepEqual([reply.status, errorOf(reply).type], [401, "invalid_api_key"], path);
    mock.restore();
    change.mock.restore();
    assert.equal(portal.written(), before);
  }
  assert.equal(portal.store.accounts.byName(name)?.email, "ann@example.com");
  assert.equal(portal.store.keys.ofAccount(1).length, 1);
});

test("what can't take effect at once, and what can't be mailed, is logged", async (t) => {
  const { mock } = t.mock.method(silent, "error");
  const portal = new Portal(t);
  portal.failure = new Error("no answer");
  await portal.signUp("ann@example.com");
  const mailing = new Portal(t, { signup: "email" });
  const reply = await mailing.ask("/portal/signup", form("ann@example.com"));
  assert.deepEqual(
    [reply.status, errorOf(reply).message, reply.headers],
    [503, "the e-mail can't be sent now; try again later", { "Retry-After": "60" }],
  );
  assert.deepEqual(
    mock.calls.map((call) => call.arguments),
    [
      [{ reason: "no answer" }, "a change by the portal isn't confirmed by all servers yet"],
      [{ reason: "SMTP_URL isn't set" }, "the link of a signup can't be mailed"],
    ],
  );
});

test("keys that are made while a request for one more waits count for it, too", async (t) => {
  for (const [path, body] of [
    ["/portal/keys/create", {}],
    ["/portal/keys/rotate", { id: 1, overlap_hours: 1 }],
  ] as const) {
    const { portal, key } = await signedUp(t);
    const { atomically } = portal.store;
    t.mock.method(portal.store, "atomically", (work: () => unknown) => {
      for (let i = portal.store.keys.ofAccount(1).length; i < 20; i++)
        portal.store.keys.create(1, hashKey(`${path} ${i}`), "0000", null, later(1_000_000));
      return atomically.call(portal.store, work);
    });
    const reply = await portal.ask(path, body, { key, at: later(1_000_000) });
    assert.deepEqual([reply.status, portal.store.keys.ofAccount(1).length], [429, 20], path);
  }
});
