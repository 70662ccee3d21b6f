import assert from "node:assert/strict";
import { after, test } from "node:test";
import { PortalActions } from "../../server/parts/portal/actions.ts";
import { Directory } from "../../server/parts/replicas/directory.ts";
import { Store } from "../../server/store/store.ts";
import { closed, errorOf, form } from "../support/portal.ts";
import { later, silent } from "../support/quota-events.ts";
import { startRedis } from "../support/redis-server.ts";

test("simultaneous signups on two servers stay within the daily limits", async () => {
  const redis = await startRedis();
  after(() => redis.stop());
  const servers = [1, 2].map(() => {
    const store = Store.inMemory();
    const directory = new Directory(store, redis.client, true, 0);
    const actions = new PortalActions({
      ...{ store, log: silent, mailer: undefined },
      settings: { ...closed, signup: "open", signupDaily: 8 },
      publicUrl: "https://prices.example.com",
      fault: () => undefined,
      change: (work) => directory.change(work),
      keyCount: () => 0,
      takeEffect: async () => {},
    });
    return { store, directory, actions };
  });
  const read = async () => {
    for (const { directory } of servers) await directory.read();
  };
  /** @returns the sorted statuses, and the last message */
  const signUp = async (addresses: readonly string[], name: string, ms: number) => {
    await read();
    const replies = await Promise.all(
      addresses.map((address, i) => {
        const sender = { authorization: "", address, requestId: `test-${i}` };
        const body = JSON.stringify(form(`${name}${i}@example.com`));
        return servers[i % 2].actions.act({ path: "/portal/signup", body, ...sender }, later(ms));
      }),
    );
    const sorted = replies.toSorted((one, other) => one.status - other.status);
    return [sorted.map(({ status }) => status), errorOf(sorted[sorted.length - 1]).message] as const;
  };
  const [fromOne, why] = await signUp(Array(8).fill("192.0.2.1"), "a", 10_000);
  assert.deepEqual(fromOne, [201, 201, 201, 201, 201, 429, 429, 429]);
  assert.match(why, /5 signups from your address/);
  const addresses = Array.from({ length: 6 }, (_, i) => `192.0.2.${i + 2}`);
  const [fromOthers, whyNot] = await signUp(addresses, "b", 20_000);
  assert.deepEqual(fromOthers, [201, 201, 201, 429, 429, 429]);
  assert.match(whyNot, /signups for a day are used up/);
  await read();
  assert.equal(servers[0].store.accounts.ids().length, 8);
});
