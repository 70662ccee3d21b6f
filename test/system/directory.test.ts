import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { exportAccounts } from "../../server/accounts/transfer.ts";
import { Directory } from "../../server/parts/replicas/directory.ts";
import { type ScriptClient, scriptIn } from "../../server/parts/replicas/redis.ts";
import { type NewAccount, Store } from "../../server/store/store.ts";
import { type RedisServer, startRedis } from "../support/redis-server.ts";

/** Tests the directory of accounts, keys and events that several servers share through a real Redis. */

const databases = 40;
let redis: RedisServer;
let next = 0;
before(async () => {
  redis = await startRedis(databases);
});
after(() => redis.stop());

const now = new Date("2027-01-31T00:00:00Z");
const free: NewAccount = {
  name: "",
  plan: "free",
  burst: 10,
  quota: 10_000,
  webhook: null,
  webhook_secret: null,
};
const hash = (of: string) => Buffer.alloc(32, of);

const rows = "hc:{directory}:rows";

/** Each group of copies has its own database of Redis. */
function group() {
  const client = redis.clients[next++];
  const backup = new Map<string, Buffer>();
  const copies: Directory[] = [];
  return {
    client,
    async backUp() {
      for (const name of await client.keys("hc:*"))
        backup.set(name, (await client.dumpBuffer(name)) ?? Buffer.alloc(0));
    },
    /** Restores the backup, as at a start of Redis. @param isNewRun false to restore it without a restart */
    async startFromBackup(isNewRun = true) {
      await client.flushdb();
      for (const [name, content] of backup) await client.restore(name, 0, content);
      if (isNewRun) await client.hset(rows, "run", "another");
      // Each copy connects again and has to check for a restart.
      for (const directory of copies) directory.check();
    },
    join(replica = "", store = Store.inMemory(), own: ScriptClient = client, learningMs = 0) {
      const directory = new Directory(store, own, replica !== "", learningMs);
      copies.push(directory);
      return { store, directory };
    },
  };
}

const make =
  (store: Store, name: string, key = name) =>
  () => {
    const { id } = store.accounts.create({ ...free, name }, now);
    return store.keys.create(id, hash(key), "last", null, now);
  };

const read = async (...copies: { directory: Directory }[]) => {
  for (let i = 0; i < 3; i++) for (const { directory } of copies) await directory.read();
};
const namesOf = (store: Store) => store.accounts.list("2027-01", now).map(({ name, keys }) => [name, keys]);

test("changes by one server appear on all with the same ids", async () => {
  const { join } = group();
  const [a, b] = [join("a"), join("b")];
  assert.equal(await a.directory.change(make(a.store, "one")), 1);
  await b.directory.read();
  assert.equal(await b.directory.change(make(b.store, "two")), 2);
  await b.directory.change(() => b.store.keys.revoke(1, now));
  const event = { id: `evt_${"a".repeat(32)}`, account: 1, month: "2027-01", threshold: 80, quota: 10_000 };
  await a.directory.change(() =>
    a.store.events.create({ ...event, payload: "{}", created_at: now.getTime() }, ["webhook"]),
  );
  await a.directory.change(() => a.store.signups.create({ mailbox: "a@b.cd", address: "::" }, 1, now));
  await a.directory.change(() => a.store.signups.forget(now));
  const c = join();
  for (const { directory } of [a, b, c]) await directory.read();
  const content = exportAccounts(a.store);
  assert.match(content, /"revoked_at":"2027/);
  assert.match(content, /"mailbox":"a@b.cd"/);
  for (const { store } of [b, c]) assert.equal(exportAccounts(store), content);
  assert.equal(c.store.keys.byHash(hash("two"))?.id, 2);
});

test("simultaneous changes are applied one after the other, and none is lost", async () => {
  const { join } = group();
  const copies = Array.from({ length: 8 }, (_, i) => join(`r${i}`));
  const ids = await Promise.all(
    copies.flatMap(({ store, directory }, i) =>
      [1, 2, 3].map((j) => directory.change(make(store, `account ${i} ${j}`))),
    ),
  );
  assert.deepEqual(
    ids.toSorted((a, b) => a - b),
    Array.from({ length: 24 }, (_, i) => i + 1),
  );
  for (const { directory } of copies) await directory.read();
  const [content, ...others] = copies.map(({ store }) => exportAccounts(store));
  for (const other of others) assert.equal(other, content);
});

test("a change whose work throws is rolled back", async () => {
  const { join } = group();
  const { store, directory } = join("a");
  const failing = () => {
    make(store, "one")();
    throw new Error("no");
  };
  await assert.rejects(directory.change(failing), { message: "no" });
  await directory.change(make(store, "two"));
  assert.deepEqual(store.accounts.ids(), [1]);
});

test("1,000 rows and more are read in several calls and written to an emptied Redis", async () => {
  for (const more of [0, 1, 2]) {
    const { client, join } = group();
    const [a, b] = [join("a"), join("b")];
    await a.directory.change(() => {
      for (let i = 0; i < 999 + more; i++) a.store.accounts.create({ ...free, name: `account ${i}` }, now);
      a.store.keys.create(1, hash("k"), "last", null, now);
    });
    // Changes the account after its key was made, so that copies read the key before the account.
    await a.directory.change(() => {
      const account = a.store.accounts.byId(1);
      assert.ok(account);
      a.store.accounts.update({ ...account, quota: 5 });
    });
    await b.directory.read();
    const content = exportAccounts(a.store);
    assert.equal(exportAccounts(b.store), content);
    await client.flushdb();
    await read(a);
    const other = join("other");
    await read(other);
    assert.equal(exportAccounts(other.store), content, `${1000 + more} rows`);
  }
});

for (const minutes of [5, 60, -60])
  test(`keys can be created and revoked after Redis' clock is set ${minutes > 0 ? "back" : "forward"} by ${Math.abs(minutes)} minutes`, async () => {
    const { client, join } = group();
    const [a, b] = [join("a"), join("b")];
    await a.directory.change(make(a.store, "one"));
    await read(a, b);
    await client.hincrby(rows, "learning", minutes * 60_000);
    const command = join();
    await command.directory.change(make(command.store, "two"));
    await command.directory.change(() => command.store.keys.revoke(1, now));
    await read(b);
    assert.deepEqual(namesOf(b.store), [
      ["one", 0],
      ["two", 1],
    ]);
  });

test("many accounts are applied in complete slices with other work in between", async () => {
  const { join } = group();
  const [command, server] = [join(), join("a")];
  const count = 1000;
  await command.directory.change(() => {
    for (let i = 0; i < count; i++) make(command.store, `account ${i}`)();
    for (let i = 1; i <= count; i++)
      command.store.usage.saveImported({ account: i, month: "2027-01", used: 5 });
  });
  const sizes: number[] = [];
  let hasOtherWork = true;
  server.directory.onTaken = (slice) => {
    sizes.push(slice.length);
    assert.ok(hasOtherWork, "other work comes in between");
    hasOtherWork = false;
    setImmediate(() => {
      hasOtherWork = true;
    });
    const { store } = server;
    assert.equal(store.keys.list().length, store.accounts.ids().length);
    assert.equal(store.usage.imported().size, store.accounts.ids().length);
  };
  await server.directory.read();
  assert.deepEqual([sizes.reduce((sum, size) => sum + size), sizes.at(-1)], [3 * count, 0]);
  assert.ok(Math.max(...sizes) <= 202, `${sizes}`);
  assert.equal(server.store.accounts.ids().length, count);
});

test("the first server writes its accounts to Redis, and a server with other accounts is rejected", async () => {
  const { join } = group();
  const [a, b, c] = [join("a"), join("b"), join("c")];
  make(a.store, "one")();
  make(b.store, "two")();
  await a.directory.read();
  assert.equal(b.directory.syncAgeMs(5000), 5000);
  await assert.rejects(b.directory.read(), {
    message:
      /^REDIS_URL: found other accounts than those in STATE_DIR, expected the same accounts, or an empty STATE_DIR;/,
  });
  await c.directory.read();
  assert.equal(exportAccounts(c.store), exportAccounts(a.store));
  assert.deepEqual(b.store.accounts.ids(), [1]);
  assert.equal(b.store.accounts.byName("two")?.id, 1);
  // A copy that couldn't read the accounts counts as out of date.
  assert.equal(b.directory.syncAgeMs(5000), 5000);
  assert.ok(c.directory.syncAgeMs(5000) < 5000);
});

test("data that Redis lost, all or since a backup, is written again from the servers' copies", async () => {
  const { client, join, backUp, startFromBackup } = group();
  const copies = [join("a"), join("b"), join("c")];
  const [a, b, c] = copies;
  const settle = async () => {
    await read(...copies);
    const fresh = join();
    await fresh.directory.read();
    const content = exportAccounts(fresh.store);
    for (const { store } of copies) assert.equal(exportAccounts(store), content);
    return namesOf(a.store).map(([name]) => name);
  };
  await a.directory.change(make(a.store, "one"));
  await read(...copies);
  await backUp();
  await b.directory.change(make(b.store, "two"));
  await c.directory.read();
  await c.directory.change(() => c.store.keys.revoke(1, now));
  // Only copy c knows all rows. Copy a knows the fewest rows, and is the first to see the loss.
  await client.flushdb();
  assert.deepEqual(await settle(), ["one", "two"]);
  assert.notEqual(a.store.keys.byId(1)?.revoked_at, null);
  await b.directory.change(make(b.store, "three"));
  await startFromBackup();
  assert.deepEqual(await settle(), ["one", "three", "two"]);
  assert.equal(await c.directory.change(make(c.store, "four")), 4);
  await settle();
  await backUp();
  await b.directory.change(make(b.store, "five"));
  await startFromBackup(false);
  assert.deepEqual(await settle(), ["five", "four", "one", "three", "two"]);
  const versions = await client.zrange("hc:{directory}:names", "0", "-1", "WITHSCORES");
  await client.hset(rows, "run", "a third");
  for (const { directory } of copies) directory.check();
  await settle();
  const same = await client.zrange("hc:{directory}:names", "0", "-1", "WITHSCORES");
  assert.deepEqual(same, versions, "what wasn't lost isn't written again");
});

test("after Redis loses its data and its clock is set back, versions continue from the latest copy", async () => {
  const { client, join } = group();
  const [a, b] = [join("a"), join("b")];
  await a.directory.change(make(a.store, "one"));
  await read(a, b);
  for (const { store } of [a, b]) {
    const position = store.directory.position();
    store.directory.take([], { ...position, version: position.version + 1e12 });
  }
  await client.flushdb();
  await read(a, b);
  await a.directory.change(make(a.store, "two"));
  await b.directory.read();
  assert.deepEqual(namesOf(b.store), namesOf(a.store));
});

test("rows of one directory aren't written into another", async () => {
  const { client, join } = group();
  const { store, directory } = join("a");
  await directory.change(make(store, "one"));
  const row = JSON.stringify([1, "accounts:9", "{}"]);
  const keys = [rows, "hc:{directory}:names"];
  assert.deepEqual(await scriptIn("directory.lua")(client, keys, "restore", "other", row, ""), [0]);
});

test("suspensions and deletions apply in every copy, and a deleted account's ids aren't used again", async () => {
  const { client, join } = group();
  const [a, b] = [join("a"), join("b")];
  for (const name of ["one", "two"]) await a.directory.change(make(a.store, name));
  const event = { id: `evt_${"a".repeat(32)}`, account: 2, month: "2027-01", threshold: 80, quota: 10_000 };
  await a.directory.change(() => {
    a.store.events.create({ ...event, payload: "{}", created_at: now.getTime() }, ["webhook"]);
    a.store.signups.create({ mailbox: "a@b.cd", address: "::" }, 2, now);
    a.store.usage.saveImported({ account: 2, month: "2027-01", used: 3 });
    a.store.accounts.suspend(1, now.getTime());
  });
  await read(a, b);
  assert.equal(b.store.accounts.byId(1)?.suspended_at, now.getTime());
  // Each server has these counts only for itself.
  for (const { store } of [a, b]) {
    store.usage.save("2027-01", [[2, 5]]);
    store.usage.saveDay("2027-01-31", [[2, 5]]);
  }
  await a.directory.change(() => {
    a.store.accounts.suspend(1, null);
    a.store.accounts.delete(2);
  });
  await read(a, b);
  const command = join();
  await command.directory.read();
  for (const { store } of [a, b, command]) {
    assert.equal(store.accounts.byId(1)?.suspended_at, null);
    assert.deepEqual(
      [store.accounts.ids(), store.accounts.wasDeleted(2), store.keys.byId(2)],
      [[1], true, undefined],
    );
    assert.deepEqual([store.usage.of(2, "2027-01"), store.usage.daysOfMonth("2027-01").size], [0, 0]);
    assert.deepEqual([store.events.byId(event.id), store.signups.hasAccount("a@b.cd")], [undefined, false]);
  }
  const contents = Object.values(await client.hgetall(rows)).join("\n");
  assert.doesNotMatch(contents, /two|a@b\.cd|evt_|"account":2/, "nor has Redis anything of it");
  // The copy that makes the new key and account never had the deleted key and account.
  assert.equal(await command.directory.change(make(command.store, "two")), 3, "a key's id isn't given again");
  assert.equal(command.store.accounts.byName("two")?.id, 3);
});

test("a deleted account stays deleted when Redis loses its data before all copies know", async () => {
  const { client, join } = group();
  const [a, b] = [join("a"), join("b")];
  await a.directory.change(make(a.store, "one"));
  await a.directory.change(make(a.store, "two"));
  await read(a, b);
  await a.directory.change(() => a.store.accounts.delete(1));
  await client.flushdb();
  await read(b, a);
  for (const { store } of [a, b])
    assert.deepEqual([store.accounts.ids(), store.keys.list().map(({ id }) => id)], [[2], [2]]);
});

test("after Redis starts from an old backup, a command waits until servers restore the lost data", async () => {
  const { join, backUp, startFromBackup } = group();
  const [a, b] = [join("a"), join("b")];
  await a.directory.change(make(a.store, "one"));
  await read(a, b);
  await backUp();
  await a.directory.change(make(a.store, "two"));
  await read(a, b);
  await startFromBackup();
  const command = join();
  await command.directory.read();
  assert.deepEqual(namesOf(command.store), [["one", 1]]);
  const waiting = command.directory.change(make(command.store, "three"));
  await assert.rejects(Promise.race([waiting, Promise.reject(new Error("it waits"))]), {
    message: "it waits",
  });
  await read(b, a);
  assert.equal(await waiting, 3);
  await read(a, b);
  for (const { store } of [a, b, command])
    assert.deepEqual(namesOf(store), [
      ["one", 1],
      ["three", 1],
      ["two", 1],
    ]);
  assert.ok(await command.directory.settle());
});

test("after a loss, changes wait until a server with many rows has restored all of them", async () => {
  const { client, join } = group();
  const a = join("a");
  await a.directory.change(() => {
    for (let i = 0; i < 1500; i++) a.store.accounts.create({ ...free, name: `account ${i}` }, now);
  });
  await client.flushdb();
  const accepted: number[] = [];
  const watched: ScriptClient = {
    eval: (...call) => client.eval(...call),
    async evalsha(...call) {
      const answer = await client.evalsha(...call);
      if (call[4] === "restore") {
        const version = (await client.hget(rows, "version")) ?? "";
        const write = ["write", a.store.directory.position().epoch, version, "", "[]", 0, ""] as const;
        const [isDone] = (await client.evalsha(call[0], 2, call[2], call[3], ...write)) as [number];
        accepted.push(isDone);
      }
      return answer;
    },
  };
  // The server `new` reads first, and gives servers 0 ms for their rows. So only the restore by `a` makes changes wait.
  await join("new").directory.read();
  await join("a", a.store, watched, 9000).directory.read();
  assert.deepEqual(accepted, [0, 0]);
});

test("a server that joins late after a loss adds its accounts, and duplicate names are renamed", async () => {
  const { join, backUp, startFromBackup } = group();
  const [a, b, late] = [join("a"), join("b"), join("late")];
  await a.directory.change(make(a.store, "one"));
  await read(a, b, late);
  await backUp();
  await late.directory.change(make(late.store, "two"));
  await late.directory.change(() => late.store.keys.revoke(1, now));
  await late.directory.change(make(late.store, "three"));
  await startFromBackup();
  await read(a, b);
  await a.directory.change(make(a.store, "three", "another"));
  await read(late, a, b);
  const fresh = join();
  await fresh.directory.read();
  for (const { store } of [a, b, late, fresh]) {
    assert.deepEqual(namesOf(store), [
      ["one", 0],
      ["three", 1],
      ["three-3", 1],
    ]);
    // Redis gave the id 2 to `two` before the loss, and to `three` after it. The later account keeps the id.
    assert.equal(store.accounts.byName("three")?.id, 2);
  }
  await b.directory.change(make(b.store, "four"));
  await read(late, a);
  assert.deepEqual(namesOf(late.store), namesOf(b.store));
});

test("a server that renames an account notices the change", () => {
  const { join } = group();
  const [{ store: first }, { store }] = [join("a"), join("b")];
  make(first, "one")();
  const [{ content }] = first.directory.rows();
  const take = (id: number) =>
    store.directory.take([
      { version: id, name: `accounts:${id}`, content: `${content}`.replace('"id":1', `"id":${id}`) },
    ]);
  take(3);
  const [{ changed }] = store.accounts.since(0);
  take(2);
  const names = store.accounts.since(changed).map(({ account }) => account?.name);
  assert.deepEqual(names.sort(), ["one", "one-3"]);
});

for (const [lateId, otherId] of ["ab", "ba"])
  test(`entries that two servers added separately are merged in every copy: ${lateId} after ${otherId}`, async () => {
    const { join, backUp, startFromBackup } = group();
    const [a, b, late] = [join("a"), join("b"), join("late")];
    const add = (store: Store, id: string) => () => {
      const quota = { month: "2027-01", threshold: 80, quota: 10_000, payload: "{}" };
      store.events.create({ id, account: 1, ...quota, created_at: 1 }, ["webhook"]);
      if (id === "b") store.signups.create({ mailbox: "first@example.com", address: "::" }, 1, now);
      store.signups.create({ mailbox: "ann@example.com", address: "::" }, 1, now);
    };
    await a.directory.change(make(a.store, "one"));
    await read(a, b, late);
    await backUp();
    await late.directory.change(add(late.store, lateId));
    await startFromBackup();
    await read(a, b);
    await a.directory.change(add(a.store, otherId));
    await read(late, a, b);
    const fresh = join();
    await fresh.directory.read();
    for (const { store } of [a, b, late, fresh]) {
      assert.deepEqual(
        store.events.list().map(({ id, channel }) => [id, channel]),
        [["a", "webhook"]],
      );
      assert.ok(store.signups.hasAccount("ann@example.com"));
    }
    await late.directory.change(make(late.store, "two"));
    await read(a, b);
    assert.deepEqual(namesOf(a.store), namesOf(late.store));
  });

for (const isFromBackup of [false, true]) {
  const what = isFromBackup ? "a backup from before the first server" : "a Redis that was emptied";
  test(`a command doesn't write to ${what} while servers reconnect`, async () => {
    const { client, join, backUp, startFromBackup } = group();
    if (isFromBackup) {
      const first = join();
      await first.directory.read();
      await client.hincrby(rows, "since", -4000);
      await first.directory.change(make(first.store, "first"));
      await backUp();
    }
    const server = join("a", Store.inMemory(), client, 200);
    await server.directory.change(make(server.store, "old"));
    await read(server);
    await startFromBackup(isFromBackup);
    const command = join();
    await command.directory.read();
    await client.hincrby(rows, "since", -2000);
    const waiting = command.directory.change(make(command.store, "new"));
    // Redis gets the ping after the command's first try. So the server reads after this try.
    await client.ping();
    await read(server);
    await waiting;
    await read(server);
    const names = isFromBackup ? ["first", "new", "old"] : ["new", "old"];
    assert.deepEqual(
      namesOf(server.store),
      names.map((name) => [name, 1]),
    );
  });
}

test("each deleted Redis key is written again, and later changes still work", async () => {
  const { client, join } = group();
  // After a server's first read, commands wait for 200 ms, so that servers can resend their rows.
  const [a, b] = ["a", "b"].map((name) => join(name, Store.inMemory(), client, 200));
  await a.directory.change(make(a.store, "0"));
  await read(a, b);
  const keys = ["rows", "names"];
  for (const [i, name] of keys.entries()) {
    await client.del(`hc:{directory}:${name}`);
    const command = join();
    await command.directory.read();
    await client.hincrby(rows, "since", -60_000);
    const waiting = command.directory.change(make(command.store, String(i + 1)));
    await read(a, b);
    await waiting;
    await command.directory.change(() => command.store.keys.revoke(i + 1, now));
    await read(b, a);
    for (const { store } of [a, b, command])
      assert.deepEqual(
        namesOf(store),
        Array.from({ length: i + 2 }, (_, j) => [String(j), j > i ? 1 : 0]),
        name,
      );
  }
});

test("a Redis key of the wrong type gives a one-line error", async () => {
  const { client, join } = group();
  const { store, directory } = join("a");
  await directory.change(make(store, "one"));
  await client.set(rows, "x");
  const message =
    /^REDIS_URL: found keys under hc:\{directory\}:… that the servers didn't write \(WRONGTYPE .*\), expected /;
  await assert.rejects(directory.read(), { name: "DataError", message });
  await assert.rejects(directory.change(make(store, "two")), { name: "DataError", message });
  await client.del(rows);
  await directory.change(make(store, "two"));
  assert.deepEqual(namesOf(store), [
    ["one", 1],
    ["two", 1],
  ]);
});

test("a change whose response is lost isn't repeated, and the error tells that it may be stored", async () => {
  const { client, join } = group();
  const lossy: ScriptClient = {
    eval: (...values) => client.eval(...values),
    async evalsha(...values) {
      await client.evalsha(...values);
      throw new Error("Connection is closed.");
    },
  };
  const [a, b] = [join("a"), join("b")];
  const directory = new Directory(b.store, lossy, true, 0);
  await a.directory.change(make(a.store, "one"));
  await b.directory.read();
  await assert.rejects(directory.change(make(b.store, "two")), {
    message: "Connection is closed.: it isn't known whether the change is stored",
  });
  await a.directory.read();
  assert.deepEqual(a.store.accounts.ids(), [1, 2]);
});
