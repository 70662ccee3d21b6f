import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { DatabaseError } from "pg";
import { SharedDirectory } from "../../../server/parts/postgres/directory.ts";
import { StateUnavailable } from "../../../server/shared/state-unavailable.ts";
import { type Row, Store } from "../../../server/store/store.ts";
import { account } from "../../support/state.ts";

/** Tests the copy of the accounts against a list of changes in this process, which answers late, twice or not at all. */

interface Change {
  id: string;
  rows: readonly Row[];
}

/** The changes that servers share. A version is a place in the list. */
class Changes {
  readonly all: Change[] = [];
  /** Numbers of queries that read, and that change. */
  readonly asked = { read: 0, change: 0 };
  /** Called before a change is made, and after it. It may throw, as if the answer were lost. */
  before = () => {};
  after = () => {};

  async query<Answer>(text: string, values: readonly unknown[] = []): Promise<Answer[]> {
    return (text.includes("hcqs.change(") ? this.#change(values) : this.#page(values)) as Answer[];
  }

  #change([version, before, id, names, contents]: readonly unknown[]) {
    this.asked.change++;
    this.before();
    const known = this.all.findIndex((each) => each.id === id);
    if (known < 0) {
      if (version !== this.all.length || before !== (this.all.at(-1)?.id ?? null)) return [{ version: null }];
      const rows = (names as string[]).map((name, i) => ({ name, content: (contents as string[])[i] }));
      this.all.push({ id: String(id), rows });
    }
    this.after();
    return [{ version: String(known < 0 ? this.all.length : known + 1) }];
  }

  #page([own, version, name]: readonly unknown[]) {
    this.asked.read++;
    const newest = new Map<string, { version: number; row: Row }>();
    for (const [i, { rows }] of this.all.entries())
      for (const row of rows) newest.set(row.name, { version: i + 1, row });
    const after = [...newest.values()]
      .filter(
        (one) => one.version > Number(version) || (one.version === version && one.row.name > String(name)),
      )
      .sort((a, b) => a.version - b.version || (a.row.name < b.row.name ? -1 : 1))
      .slice(0, 1000);
    const head = {
      newest: this.all.length === 0 ? null : String(this.all.length),
      newest_id: this.all.at(-1)?.id ?? null,
      own_id: this.all[Number(own) - 1]?.id ?? null,
    };
    return after.length === 0
      ? [{ ...head, name: null, version: null, content: null }]
      : after.map((one) => ({ ...head, ...one.row, version: String(one.version) }));
  }
}

function serverOn(t: TestContext, changes: Changes) {
  const store = Store.inMemory();
  t.after(() => store.close());
  let withRoom = 0;
  const directory = new SharedDirectory(store, changes, (work) => {
    withRoom++;
    return work();
  });
  let reads = 0;
  directory.onRead = () => {
    reads++;
  };
  const now = new Date();
  return {
    ...{ store, directory },
    written: () => [withRoom, reads],
    names: () => store.accounts.ids().map((id) => store.accounts.byId(id)?.name),
    create: (...names: string[]) =>
      directory.change(() => names.map((name) => store.accounts.create({ ...account, name }, now).id)),
  };
}

test("a change is made once, and each copy reads what it hasn't, in pages of 1,000 rows", async (t) => {
  const changes = new Changes();
  const [one, other] = [serverOn(t, changes), serverOn(t, changes)];
  await one.directory.read();
  assert.deepEqual([one.directory.version, one.written()], [0, [0, 0]]);
  const many = Array.from({ length: 1001 }, (_, i) => `a${i}`);
  assert.equal((await one.create(...many)).length, 1001);
  assert.deepEqual([one.directory.version, one.names().length], [1, 1001]);
  assert.deepEqual(changes.asked, { read: 4, change: 1 });
  changes.asked.read = 0;
  await other.directory.read();
  assert.deepEqual([other.names().length, changes.asked.read, other.written()], [1001, 2, [1, 1]]);
  await other.directory.read();
  assert.deepEqual([changes.asked.read, other.written()], [3, [1, 1]], "nothing is new");
  assert.equal(await one.directory.change(() => "read only"), "read only");
  assert.equal(changes.all.length, 1);
});

test("work runs again if another server has made a change in between, or the database cancelled it", async (t) => {
  const changes = new Changes();
  const [one, other] = [serverOn(t, changes), serverOn(t, changes)];
  await one.create("a");
  let tries = 0;
  changes.before = () => {
    if (++tries === 1) changes.all.push({ id: "x", rows: [{ name: "keys:7", content: null }] });
    if (tries === 2) throw Object.assign(new DatabaseError("", 0, "error"), { code: "57014" });
    if (tries === 3) throw Object.assign(new DatabaseError("", 0, "error"), { code: "40001" });
  };
  assert.deepEqual(await other.create("b"), [2]);
  assert.equal(tries, 4);
  assert.deepEqual([other.names(), other.directory.version], [["a", "b"], 3]);
  tries = 3;
  await assert.rejects(
    Promise.all([
      other.create("a"),
      one.directory.change(() => one.store.accounts.create({ ...account, name: "c" }, new Date())),
    ]),
    /UNIQUE constraint failed: accounts.name/,
  );
  changes.before = () => {
    throw Object.assign(new DatabaseError("no", 0, "error"), { code: "42501" });
  };
  await assert.rejects(one.create("d"), { message: "no" });
});

test("a change is given up after 100 tries, and one whose answers are lost after five", async (t) => {
  const changes = new Changes();
  const one = serverOn(t, changes);
  changes.before = () => {
    changes.all.push({ id: `x${changes.all.length}`, rows: [{ name: "keys:7", content: null }] });
  };
  await assert.rejects(one.create("a"), {
    name: "Error",
    message: "too many concurrent changes of accounts",
  });
  assert.equal(changes.asked.change, 100);
  changes.before = () => {};
  let lost = 0;
  changes.after = () => {
    if (++lost <= 4) throw new StateUnavailable("no answer");
  };
  assert.deepEqual(await one.create("a"), [1]);
  assert.deepEqual([lost, changes.all.length], [5, 101], "it is made once, however often it is asked for");
  lost = -1;
  await assert.rejects(one.create("b"), {
    message: "no answer: it isn't known whether the change is stored",
  });
  assert.equal(lost, 4);
});

test("a database that was restored, emptied or is being restored is told apart", async (t) => {
  const changes = new Changes();
  const [one, other] = [serverOn(t, changes), serverOn(t, changes)];
  await one.create("a");
  await one.create("b");
  await other.directory.read();
  // A backup without the last change was restored, and another change was made.
  changes.all.pop();
  await one.create("c");
  assert.deepEqual(one.names(), ["a", "c"]);
  const before = other.written();
  await other.directory.read();
  assert.deepEqual(other.names(), ["a", "c"]);
  assert.deepEqual(
    other.written().map((count, i) => count - before[i]),
    [2, 2],
    "what is gone is withdrawn and told before ids are given again",
  );
  assert.equal(other.directory.isBehind, false);
  changes.all.push({ id: "rows come later", rows: [] });
  await assert.rejects(other.directory.read(), {
    message: "the newest change has no rows: is a backup being restored?",
  });
  changes.all.length = 0;
  await assert.rejects(other.directory.read(), {
    name: "DataError",
    message:
      "DATABASE_URL: found an empty database, though this server has a copy of shared accounts, expected the database of those accounts, restored from a backup if it was lost; to begin anew, use an empty STATE_DIR",
  });
  const own = serverOn(t, changes);
  own.store.accounts.create({ ...account, name: "own" }, new Date());
  await assert.rejects(own.directory.read(), {
    name: "DataError",
    message:
      "STATE_DIR: found accounts of its own, which the database of DATABASE_URL doesn't have, expected an empty STATE_DIR: move the accounts by accounts export without DATABASE_URL, and accounts import with it",
  });
});

test("a copy that can't be written is behind until it can be", async (t) => {
  const changes = new Changes();
  const one = serverOn(t, changes);
  await one.create("a");
  const store = Store.inMemory();
  t.after(() => store.close());
  let isFull = true;
  const directory = new SharedDirectory(store, changes, (work) => {
    if (isFull) throw new Error("the disk is full");
    return work();
  });
  await assert.rejects(directory.read(), { message: "the disk is full" });
  assert.equal(directory.isBehind, true);
  isFull = false;
  await directory.read();
  assert.deepEqual([directory.isBehind, directory.version], [false, 1]);
});
