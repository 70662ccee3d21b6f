import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import { bearerKey, generateKey, hashKey, isWellFormed, KeyTable } from "../server/keys.ts";
import { call, pricesPath, runKeys, startServer, temporaryFolder, until } from "./server.ts";

/** API keys: their form, the table that serving threads look them up in, and the operator's command. */

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** CRC-32 bit by bit, as ISO 3309 has it. */
function crc32(text: string): number {
  let crc = 0xffffffff;
  for (const byte of Buffer.from(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}

function fromBase62(text: string): bigint {
  return [...text].reduce((value, digit) => value * 62n + BigInt(alphabet.indexOf(digit)), 0n);
}

test("a key is hcq_, 256 random bits in 43 characters and their CRC-32 in 6", () => {
  for (let i = 0; i < 200; i++) {
    const key = generateKey();
    assert.match(key, /^hcq_[0-9A-Za-z]{49}$/);
    assert.ok(fromBase62(key.slice(4, 47)) < 2n ** 256n);
    assert.equal(fromBase62(key.slice(47)), BigInt(crc32(key.slice(4, 47))));
    assert.ok(isWellFormed(key));
  }
});

test("known bytes make known keys", () => {
  const vectors = {
    [`${"00".repeat(32)}`]: "hcq_00000000000000000000000000000000000000000002CZclj",
    [`${"00".repeat(31)}01`]: "hcq_00000000000000000000000000000000000000000010HNUPx",
    [`80${"00".repeat(31)}`]: "hcq_ULrwNTJa3CHVaAVmO8lHlO4Afd3drtx651MXvhT4GuW1RLqoT",
    [`${"ff".repeat(32)}`]: "hcq_yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp13sRzl1",
    "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f":
      "hcq_003aUlTJC7tjlCTQj2uNU3MFagCXG9LRKRcwGkBIDlf1Yo7hP",
  };
  for (const [hex, key] of Object.entries(vectors)) {
    assert.equal(generateKey(Buffer.from(hex, "hex")), key);
    assert.equal(fromBase62(key.slice(4, 47)), BigInt(`0x${hex}`));
  }
});

test("every wrong character makes a key malformed", () => {
  const key = generateKey();
  for (let at = 0; at < key.length; at++)
    for (const other of alphabet) {
      if (other === key[at]) continue;
      assert.ok(!isWellFormed(key.slice(0, at) + other + key.slice(at + 1)), `${other} at ${at}`);
    }
});

test("two neighbours that changed places, a missing or an added character make a key malformed", () => {
  const key = generateKey();
  for (let at = 0; at < key.length; at++) {
    assert.ok(!isWellFormed(key.slice(0, at) + key.slice(at + 1)));
    assert.ok(!isWellFormed(`${key.slice(0, at)}0${key.slice(at)}`));
    const [a, b] = key.slice(at, at + 2);
    if (b !== undefined && a !== b) assert.ok(!isWellFormed(key.slice(0, at) + b + a + key.slice(at + 2)));
  }
  for (const text of ["", "hcq_", ` ${key}`, `${key}\n`, key.toUpperCase()]) assert.ok(!isWellFormed(text));
});

test("the key of an Authorization header is what stands behind its scheme", () => {
  assert.equal(bearerKey("Bearer abc"), "abc");
  assert.equal(bearerKey("bEARER   abc"), "abc");
  for (const header of ["", "abc", "Basic abc", "Bearerabc", "Bearers abc"])
    assert.equal(bearerKey(header), undefined);
});

/** A hash with a first word and a filling. */
function hashOf(first: number, rest: number): Buffer {
  const hash = Buffer.alloc(32, rest);
  hash.writeInt32LE(first);
  return hash;
}

const stored = (hash: Buffer, expires_at: string | null = null, revoked_at: string | null = null) => ({
  hash,
  expires_at,
  revoked_at,
});
const inTable = new KeyTable();
const slotIn = (table: KeyTable, hash: Buffer, nowMs = 0) => {
  const entry = table.find(hash);
  return entry < 0 ? undefined : table.slotOf(entry, nowMs / 1000);
};

test("a key is found with its account's slot, and an unknown one isn't", () => {
  const hash = hashKey(generateKey());
  assert.equal(slotIn(inTable, hash), undefined);
  inTable.put(stored(hash), 7);
  assert.equal(slotIn(inTable, hash), 7);
  assert.equal(slotIn(inTable, hashKey(generateKey())), undefined);
});

test("keys whose hashes begin alike are told apart, also around the table's end", () => {
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

test("a revoked key stays known, and unusable", () => {
  const hash = hashKey(generateKey());
  inTable.put(stored(hash), 3);
  inTable.put(stored(hash, null, "2026-01-01T00:00:00.000Z"), 3);
  assert.equal(slotIn(inTable, hash), -1);
});

for (const expires of ["2027-01-31T00:00:00.000Z", "2038-01-19T03:14:08.000Z", "2099-12-31T23:59:59.000Z"])
  test(`a key that expires at ${expires} is usable up to then`, () => {
    const hash = hashKey(generateKey());
    inTable.put(stored(hash, expires), 3);
    const end = Date.parse(expires);
    assert.equal(slotIn(inTable, hash, Date.parse("2026-06-01")), 3);
    assert.equal(slotIn(inTable, hash, end - 1), 3);
    assert.equal(slotIn(inTable, hash, end), -1);
    assert.equal(slotIn(inTable, hash, end + 1000), -1);
  });

test("what one thread puts into the table, another finds", () => {
  const other = new KeyTable(inTable.buffer);
  const hash = hashKey(generateKey());
  inTable.put(stored(hash), 9);
  assert.equal(slotIn(other, hash), 9);
  inTable.put(stored(hash, null, "2026-01-01T00:00:00.000Z"), 9);
  assert.equal(slotIn(other, hash), -1);
});

const stateDir = temporaryFolder();
const enterprise = ["--plan", "enterprise", "--burst", "1000", "--quota", "1000"];

async function created(...options: string[]): Promise<string> {
  const { code, stdout, stderr } = await runKeys(stateDir, "create", ...options);
  assert.equal(code, 0, stderr);
  assert.equal(stderr, "");
  assert.match(stdout, /^hcq_[0-9A-Za-z]{49}\n$/);
  return stdout.trim();
}

const keys = [
  await created("--account", "A & B hospitals", "--plan", "free"),
  await created("--account", "A & B hospitals", "--expires", "2037-01-01"),
  await created("--account", "large", ...enterprise),
];

/** The fields of `keys list`, a line each. */
async function listed(): Promise<string[][]> {
  const { code, stdout } = await runKeys(stateDir, "list");
  assert.equal(code, 0);
  return stdout
    .trim()
    .split("\n")
    .map((line) => line.split("\t"));
}

async function idOf(key: string): Promise<string> {
  const line = (await listed()).find((fields) => fields.includes(`…${key.slice(-4)}`));
  return line?.[0] ?? assert.fail("the key is listed");
}

test("the list shows every key by id, account, plan and last four characters", async () => {
  const [header, ...lines] = await listed();
  assert.deepEqual(header, ["id", "account", "plan", "key", "state", "created", "expires"]);
  assert.deepEqual(
    lines.map(([, account, plan, key, state, , expires]) => [account, plan, key, state, expires]),
    [
      ["A & B hospitals", "free", `…${keys[0].slice(-4)}`, "active", "never"],
      ["A & B hospitals", "free", `…${keys[1].slice(-4)}`, "active", "2037-01-01T00:00:00.000Z"],
      ["large", "enterprise", `…${keys[2].slice(-4)}`, "active", "never"],
    ],
  );
  const text = lines.flat().join(" ");
  for (const key of keys) assert.ok(!text.includes(key.slice(4, 20)) && !text.includes(key.slice(-5)));
});

test("the database has no key, only its SHA-256", () => {
  const files = readdirSync(stateDir).map((name) => readFileSync(path.join(stateDir, name)));
  const bytes = Buffer.concat(files);
  assert.ok(bytes.length > 0);
  for (const key of keys) {
    assert.ok(!bytes.includes(key.slice(4, 20)));
    assert.ok(!bytes.includes(key.slice(-5)));
    assert.ok(bytes.includes(createHash("sha256").update(key).digest()));
  }
});

for (const [args, message] of [
  [[], /^usage:/],
  [["help"], /^usage:/],
  [["create"], /--account.*is required/],
  [["create", "--account", ""], /1 to 64 .*characters/],
  [["create", "--account", " x"], /none at the ends a space/],
  [["create", "--account", "new"], /--plan: found nothing, expected a plan, because the account new is new/],
  [["create", "--account", "new", "--plan", "gold"], /--plan: found "gold", expected one of free, developer/],
  [["create", "--account", "new", "--plan", "enterprise"], /expected both for the plan enterprise/],
  [["create", "--account", "new", "--plan", "enterprise", "--burst", "5"], /expected both/],
  [["create", "--account", "new", "--plan", "enterprise", "--quota", "5"], /expected both/],
  [
    ["create", "--account", "new", "--plan", "enterprise", "--quota", "5", "--burst", "0"],
    /--burst.*from 1 to/,
  ],
  [
    ["create", "--account", "new", "--plan", "free", "--burst", "5", "--quota", "5"],
    /none for the plan free/,
  ],
  [["create", "--account", "large", "--plan", "free"], /expected enterprise/],
  [["create", "--account", "large", "--quota", "5"], /none for an account that exists/],
  [["create", "--account", "large", "--expires", "2020-01-01"], /--expires.*expected a time to come/],
  [["create", "--account", "large", "--expires", "tomorrow"], /--expires: found "tomorrow", expected a time/],
  [["create", "--account", "large", "--expires", "2099-13-01"], /expected a time that exists/],
  [["create", "--account", "large", "--expires", "2099-02-30"], /expected a time that exists/],
  [["create", "--account", "large", "--colour", "red"], /--colour/],
  [["create", "large"], /large/],
  [["list", "all"], /^usage:/],
  [["revoke"], /keys revoke: found nothing/],
  [["revoke", "x"], /one key id from keys list/],
  [["revoke", "0"], /one key id/],
  [["revoke", "1", "2"], /one key id/],
  [["revoke", "999"], /^key 999: found none of that id/],
] as const)
  test(`keys ${args.join(" ")} is refused`, async () => {
    const { code, stdout, stderr } = await runKeys(stateDir, ...args);
    assert.equal(code, 1);
    assert.equal(stdout, "");
    assert.match(stderr, message);
    assert.doesNotMatch(stderr, /\n\s+at /);
  });

test("what was refused has changed nothing", async () => {
  assert.equal((await listed()).length, 1 + keys.length);
});

test("a running server obeys: a new key works, a revoked one doesn't any more", async () => {
  const server = await startServer({ stateDir });
  after(() => server.stop());
  const status = async (key: string) =>
    (await call({ api: server.api, key }, `GET ${pricesPath}?procedure=5072`)).status;
  for (const key of keys) assert.equal(await status(key), 200);

  const key = await created("--account", "large");
  await until("the new key to work", async () => (await status(key)) === 200);
  const { code, stdout, stderr } = await server.keys("revoke", await idOf(key));
  assert.deepEqual([code, stdout, stderr], [0, "", ""]);
  await until("the revoked key to fail", async () => (await status(key)) === 401);
  assert.equal(await status(keys[2]), 200, "the account's other key works");

  const fleeting = await created(
    "--account",
    "large",
    "--expires",
    new Date(Date.now() + 2000).toISOString(),
  );
  await until("the key to expire", async () => (await status(fleeting)) === 401);
  const states = (await listed()).slice(1).map((fields) => fields[4]);
  assert.deepEqual(states.slice(0, 5), ["active", "active", "active", "active", "revoked"]);
});

test("revoking twice keeps the first time", async () => {
  const id = await idOf(keys[0]);
  for (let i = 0; i < 2; i++) assert.equal((await runKeys(stateDir, "revoke", id)).code, 0);
  assert.equal((await listed()).find((fields) => fields[0] === id)?.[4], "revoked");
});
