import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { after, test } from "node:test";
import { DataError } from "../../engine/query.ts";
import { KeyTable } from "../../server/accounts/key-table.ts";
import { generateKey, hashKey } from "../../server/accounts/keys.ts";
import { Accounts } from "../../server/accounts/sync.ts";
import { Authenticator } from "../../server/serving/authenticator.ts";
import { Store } from "../../server/store/store.ts";
import {
  type Answer,
  call,
  listening,
  pricesPath,
  rawRequest,
  requestText,
  runKeys,
  startServer,
  temporaryFolder,
  until,
  withConnections,
} from "../support/server.ts";

/** Tests the table in which serving threads find API keys, and how keys change in a running server. */

// Runs the core with a single part, because the core has to work with each part alone.
process.env.SERVER_PARTS = "notifications";

const webhookBodies: string[] = [];
const receiver = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  webhookBodies.push(JSON.stringify(request.headers), Buffer.concat(chunks).toString());
  response.end();
});
const receiverPort = await listening(receiver);

const stateDir = temporaryFolder();
const store = Store.open(stateDir);
const plain = { plan: "enterprise", burst: 1_000_000, webhook: null, webhook_secret: null } as const;
const watching = {
  webhook: `http://127.0.0.1:${receiverPort}/`,
  webhook_secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
};

function storeAccount(name: string, quota: number, options = {}): number {
  return store.accounts.create({ ...plain, name, quota, ...options }, new Date()).id;
}

function storeKey(account: number): string {
  const key = generateKey();
  store.keys.create(account, hashKey(key), key.slice(-4), null, new Date());
  return key;
}

const watched = storeAccount("watched", 40, watching);
const server = await startServer({ stateDir, env: { THREADS: "2", WEBHOOK_ALLOW_LOOPBACK: "true" } });
after(async () => {
  assert.equal(await server.stop(), 0);
  store.close();
  receiver.close();
});

function hashOf(first: number, rest: number): Buffer {
  const hash = Buffer.alloc(32, rest);
  hash.writeInt32LE(first);
  return hash;
}

const stored = (hash: Buffer, expires_at: number | null = null, revoked_at: number | null = null) => ({
  id: 1,
  hash,
  expires_at,
  revoked_at,
});
const inTable = new KeyTable();
const slotIn = (table: KeyTable, hash: Buffer, nowMs = 0) => {
  const entry = table.find(hash);
  return entry < 0 ? undefined : table.slotOf(entry, nowMs);
};

test("the key table returns a key's account and id, also for a revoked key", () => {
  const hash = hashKey(generateKey());
  for (const revoked of [null, Date.UTC(2026, 0, 1)]) {
    inTable.put({ ...stored(hash, null, revoked), id: 2 ** 40 + 1 }, 8);
    assert.deepEqual(inTable.holderOf(inTable.find(hash)), { slot: 8, id: 2 ** 40 + 1 });
  }
});

test("keys whose hashes begin alike are told apart, also at the end of the table", () => {
  for (const first of [0, -1, 0x7fffffff, 0x000fffff]) {
    const hashes = [1, 2, 3, 4].map((rest) => hashOf(first, rest));
    for (const [slot, hash] of hashes.entries()) inTable.put(stored(hash), slot);
    assert.deepEqual(
      hashes.map((hash) => slotIn(inTable, hash)),
      [0, 1, 2, 3],
    );
    assert.equal(slotIn(inTable, hashOf(first, 5)), undefined);
  }
});

for (const expires of ["2027-01-31T00:00:00.001Z", "2038-01-19T03:14:08.000Z", "9999-12-31T23:59:59.999Z"])
  test(`a key that expires at ${expires} works until then`, () => {
    const hash = hashKey(generateKey());
    const end = Date.parse(expires);
    inTable.put(stored(hash, end), 3);
    assert.equal(slotIn(inTable, hash, Date.parse("2026-06-01")), 3);
    assert.equal(slotIn(inTable, hash, end - 1), 3);
    assert.equal(slotIn(inTable, hash, end), -1);
    assert.equal(slotIn(inTable, hash, end + 1000), -1);
  });

test("an unknown key stays unknown when its place in the table gets another key, and is known once it is added", () => {
  const [table, key] = [new KeyTable(), generateKey()];
  const authenticator = new Authenticator(table);
  const ask = () => authenticator.slotOf(`Bearer ${key}`, 0);
  assert.deepEqual([ask(), ask()], ["unknown", "unknown"]);
  table.put(stored(hashOf(hashKey(key).readInt32LE(0), 1)), 7);
  assert.deepEqual([ask(), ask()], ["unknown", "unknown"]);
  table.put(stored(hashKey(key)), 8);
  assert.deepEqual([ask(), ask()], [8, 8]);
  table.setSlots(new Map([[8, "suspended"]]));
  assert.equal(ask(), "inactive");
});

test("the key table holds 500,000 keys, refuses one more and can still change existing ones", () => {
  const table = new KeyTable();
  const hash = Buffer.alloc(32);
  const become = (i: number) => {
    hash.writeInt32LE(Math.imul(i, 0x9e3779b1), 0);
    hash.writeInt32LE(i, 4);
  };
  const put = (i: number, revoked: number | null = null) => {
    become(i);
    table.put(stored(hash, null, revoked), i);
  };
  for (let i = 0; i < 500_000; i++) put(i);
  const slots = new Set<number | undefined>();
  for (let i = 0; i < 500_000; i++) {
    become(i);
    slots.add(slotIn(table, hash));
  }
  assert.ok(slots.size === 500_000 && !slots.has(undefined) && !slots.has(-1));
  assert.throws(() => put(500_000), new DataError("keys", "more than 500000", "at most 500000"));
  put(7, 1);
  assert.equal(slotIn(table, hash), -1);
});

test("a key that one thread puts into the table is found by another", () => {
  const other = new KeyTable(inTable.buffer);
  const hash = hashKey(generateKey());
  inTable.put(stored(hash), 9);
  assert.equal(slotIn(other, hash), 9);
  inTable.put(stored(hash, null, 1), 9);
  assert.equal(slotIn(other, hash), -1, "a revoked key stays known, and unusable");
});

test("changes to accounts and keys by the server's own process take effect at the next refresh", (t) => {
  const own = Store.open(temporaryFolder());
  t.after(() => own.close());
  const accounts = new Accounts(own, Date.now());
  const { keys: table, ceilings: limits } = accounts.tables;
  const hash = hashKey(generateKey());
  const account = own.accounts.create({ ...plain, name: "own", quota: 10 }, new Date());
  const id = own.keys.create(account.id, hash, "0000", null, new Date());
  accounts.refresh();
  assert.equal(slotIn(table, hash), 0);
  own.accounts.update({ ...account, quota: 20 });
  accounts.refresh();
  assert.equal(limits.ceilings(0).quota, 20);
  own.keys.expire(id, 1000);
  accounts.refresh();
  assert.equal(slotIn(table, hash, 2000), -1, "expired");
  own.keys.expire(id, null);
  accounts.refresh();
  assert.equal(slotIn(table, hash, 2000), 0);
  own.keys.revoke(id, new Date());
  accounts.refresh();
  assert.equal(slotIn(table, hash), -1, "revoked");
});

test("an account and its key written during a refresh are both known afterwards", () => {
  const folder = temporaryFolder();
  const [reader, writer] = [Store.open(folder), Store.open(folder)];
  const table = new KeyTable();
  const key = generateKey();
  const accounts = new Accounts(reader, Date.now(), { keys: table });
  const since = reader.accounts.since.bind(reader.accounts);
  reader.accounts.since = (changed) => {
    const rows = since(changed);
    reader.accounts.since = since;
    writer.atomically(() => {
      const { id } = writer.accounts.create({ ...plain, name: "new", quota: 10 }, new Date());
      writer.keys.create(id, hashKey(key), key.slice(-4), null, new Date());
    });
    return rows;
  };
  writer.accounts.create({ ...plain, name: "other", quota: 10 }, new Date());
  for (let i = 0; i < 3; i++) accounts.refresh();
  assert.equal(slotIn(table, hashKey(key)), 1);
  reader.close();
  writer.close();
});

/** Uses so many connections that both threads of the server answer. */
function everywhere(key: string, request = `GET ${pricesPath}?procedure=5073`): Promise<Answer[]> {
  return withConnections(server, 8, async (connections) => {
    const answers: Answer[] = [];
    for (const connection of connections) {
      await connection.send(requestText(request, { Authorization: `Bearer ${key}` }));
      answers.push(await connection.answer());
    }
    return answers;
  });
}

function untilEverywhere(what: string, key: string, expected: (answer: Answer) => boolean) {
  return until(what, async () => (await everywhere(key)).every(expected));
}

async function command(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await runKeys(stateDir, ...words);
  assert.equal(code, 0, stderr);
  return stdout.trim();
}

const idOf = (key: string) =>
  String(
    store.keys.since(0).find(({ hash }) => hash.equals(hashKey(key)))?.id ?? assert.fail("the key is stored"),
  );
const works = ({ status }: Answer) => status === 200;
const isRefused = ({ status }: Answer) => status === 401;

test("a key works in all threads once create returns and in none once revoke returns", async () => {
  const key = await command("create", "--account", "a new one", "--plan", "business");
  assert.ok((await everywhere(key)).every(works));
  await command("revoke", idOf(key));
  assert.ok((await everywhere(key)).every(isRefused));
});

const escaped = (text: string) => text.replaceAll(/./g, (letter) => `%${letter.charCodeAt(0).toString(16)}`);

test("responses, logs, webhooks and files contain at most the last four characters of a key", async () => {
  const [valid, revoked, expired] = [0, 1, 2].map(() => storeKey(watched));
  await untilEverywhere("the keys to work", revoked, ({ status }) => status === 200 || status === 429);
  store.keys.revoke(Number(idOf(revoked)), new Date());
  store.keys.expire(Number(idOf(expired)), Date.now() - 1);
  await untilEverywhere("the revoked key to fail", revoked, isRefused);
  const unknown = generateKey();
  const wrong = `${valid.slice(0, 20)}${valid[20] === "x" ? "y" : "x"}${valid.slice(21)}`;
  const mistyped = [wrong, valid.slice(0, -1), valid.toUpperCase()];
  const used = [valid, revoked, expired, unknown, ...mistyped];

  const answers: Answer[] = [];
  const ask = async (request: string, headers: Record<string, string> = {}) => {
    const text = requestText(request, { Authorization: `Bearer ${server.key}`, ...headers });
    answers.push(await rawRequest(server.api, text));
  };
  for (const key of used)
    for (const authorization of [
      `Bearer ${key}`,
      `bearer  ${key}`,
      `Basic ${key}`,
      key,
      `Bearer ${key} ${key}`,
    ])
      await ask(`GET ${pricesPath}?procedure=5072`, { Authorization: authorization });
  for (const key of used)
    for (const target of [
      `${pricesPath}?procedure=${key}`,
      `${pricesPath}?procedure=5072&state=${key}`,
      `${pricesPath}?${key}`,
      `${pricesPath}?${key}=1&${key}=2`,
      `${pricesPath}?procedure=5072&key=${key}`,
      `${pricesPath}?procedure=%FF${key}`,
      `${pricesPath}?procedure=%00${key}`,
      `/api/v1/search?q=${key}`,
      `/api/v1/search?q=x&type=${key}`,
      `/api/v1/pages/${key}`,
      `/api/v1/healthcare/facilities/${key}`,
      `/api/v1/healthcare/facilities/${escaped(key)}`,
      `/api/v1/pages/${key.replace("_", "%5F")}`,
      `/api/v1/versions/${key}/healthcare/prices?procedure=5072`,
      `/api/v1/${key}`,
      `/${key}`,
    ])
      await ask(`GET ${target}`);
  await ask(`${valid} ${pricesPath}`);
  const opsTexts = [`/${valid}?key=${valid}`, "/metrics"].map(async (target) =>
    (await fetch(`${server.ops}${target}`)).text(),
  );
  const spent = await until("the events to be posted", async () => {
    const answer = await call({ ...server, key: valid }, "GET /api/v1/usage");
    return webhookBodies.length >= 6 && answer;
  });
  answers.push(spent);

  const written = [
    ...answers.map(({ head, body }) => `${head}\n${body.toString("latin1")}`),
    ...webhookBodies,
    ...(await Promise.all(opsTexts)),
    server.process.stdout,
    server.process.stderr,
    (await runKeys(stateDir, "list")).stdout,
    ...readdirSync(stateDir).map((name) => readFileSync(path.join(stateDir, name), "latin1")),
  ];
  assert.ok(
    written.some((text) => text.includes(valid.slice(-4))),
    "the last four characters are stored",
  );
  const plainParts = [...used, server.key].flatMap((key) => [key.slice(5, 17), key.slice(-17, -5)]);
  const parts = [...plainParts, ...plainParts.map(escaped)];
  for (const part of new Set(parts)) {
    const found = written.find((text) => text.includes(part));
    assert.ok(found === undefined, `${part} is in ${found?.slice(0, 600)}`);
  }
});
