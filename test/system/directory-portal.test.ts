import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { PortalActions, type PortalOptions } from "../../server/parts/portal/actions.ts";
import { Directory } from "../../server/parts/replicas/directory.ts";
import { Mailer } from "../../server/shared/mail.ts";
import { Store } from "../../server/store/store.ts";
import { errorOf, form } from "../support/portal.ts";
import { later, silent } from "../support/quota-events.ts";
import { type RedisServer, startRedis } from "../support/redis-server.ts";
import { SmtpServer } from "../support/smtp.ts";

/** What people do at the same moment on the portals of two servers that have accounts in common. */

let redis: RedisServer;
before(async () => {
  redis = await startRedis();
});
after(() => redis.stop());

type Part = Partial<PortalOptions["settings"] & Pick<PortalOptions, "mailer">>;

/** Two servers' portals on a Redis that has nothing yet. */
async function twoPortals({ mailer, ...settings }: Part = {}) {
  await redis.client.flushall();
  const servers = ["a", "b"].map((name) => {
    const store = Store.inMemory();
    const directory = new Directory(store, redis.client, name, 0);
    const actions = new PortalActions({
      store,
      log: silent,
      settings: { signup: "open", signupDaily: 200, webhookAllowLoopback: false, ...settings },
      mailer,
      portalAccount: undefined,
      publicUrl: "https://prices.example.com",
      fault: () => undefined,
      change: (work) => directory.change(work),
      keyCount: () => 0,
      takeOver: () => {},
    });
    return { store, directory, actions };
  });
  const read = async () => {
    for (const { directory } of servers) await directory.read();
  };
  await read();
  let asked = 0;
  /** Asks both at once, one after the other in turn. @returns the statuses, sorted */
  const ask = async (path: string, bodies: readonly object[], from: (i: number) => string, key = "") => {
    const at = later(10_000 * ++asked);
    const replies = await Promise.all(
      bodies.map((body, i) => {
        const sender = { authorization: key, address: from(i), requestId: `test-${i}` };
        const request = { path, body: JSON.stringify(body), ...sender };
        return servers[i % 2].actions.act(request, at);
      }),
    );
    await read();
    return replies.toSorted((one, other) => one.status - other.status);
  };
  return { store: servers[0].store, ask };
}

const forms = (count: number, email = (i: number) => `a${i}@example.com`) =>
  Array.from({ length: count }, (_, i) => form(email(i)));
const ownAddress = (i: number) => `192.0.2.${i}`;
const statusesOf = (replies: readonly { status: number }[]) => replies.map(({ status }) => status);
const several = (status: number, times: number): number[] => Array(times).fill(status);

test("who comes to both at once gets no more accounts a day than there may be", async () => {
  const { ask, store } = await twoPortals({ signupDaily: 8 });
  const one = await ask("/portal/signup", forms(8), () => "192.0.2.1");
  assert.deepEqual(statusesOf(one), [...several(201, 5), ...several(429, 3)]);
  assert.match(errorOf(one[7]).message, /5 signups from your address/);
  const others = await ask(
    "/portal/signup",
    forms(6, (i) => `b${i}@example.com`),
    ownAddress,
  );
  assert.deepEqual(statusesOf(others), [...several(201, 3), ...several(429, 3)]);
  assert.match(errorOf(others[5]).message, /as many signups within a day/);
  assert.equal(store.accounts.ids().length, 8);
});

test("a mailbox gets three links, each of which makes one account", async () => {
  const smtp = await SmtpServer.open();
  const mailer = new Mailer({ smtpUrl: smtp.url(), from: { name: "", address: "prices@example.com" } });
  const { ask, store } = await twoPortals({ mailer, signup: "email" });
  const links = await ask(
    "/portal/signup",
    forms(6, () => "ann@example.com"),
    ownAddress,
  );
  assert.deepEqual([statusesOf(links), smtp.mails.length], [several(202, 6), 3]);
  const tokens = smtp.mails.map(({ data }) => {
    const text = data.replaceAll("=\n", "").replaceAll("=3D", "=");
    return /token=([\w-]{43})$/m.exec(text)?.[1] ?? assert.fail(text);
  });
  const same = await ask("/portal/signup/confirm", Array(4).fill({ token: tokens[0] }), ownAddress);
  assert.deepEqual(statusesOf(same), [201, 400, 400, 400]);
  const others = await ask(
    "/portal/signup/confirm",
    tokens.slice(1).map((token) => ({ token })),
    ownAddress,
  );
  assert.deepEqual(statusesOf(others), [409, 409]);
  assert.equal(store.accounts.ids().length, 1);
});

test("an account gets no more keys a day than it may", async () => {
  const { ask, store } = await twoPortals();
  const [{ body }] = await ask("/portal/signup", forms(1), ownAddress);
  const { key } = Object.fromEntries(Object.entries(body));
  const made = await ask("/portal/keys/create", Array(24).fill({}), ownAddress, `Bearer ${key}`);
  assert.deepEqual(statusesOf(made), [...several(201, 19), ...several(429, 5)]);
  assert.equal(store.keys.list().length, 20);
});
