import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { Store } from "../../server/store/store.ts";
import { run, succeed } from "../support/commands.ts";
import { temporaryFolder } from "../support/folders.ts";
import { account, contentOf, modeOf } from "../support/state.ts";

/** Tests backups of the whole state. */

function filledState(): string {
  const folder = temporaryFolder();
  const store = Store.open(folder);
  const { id } = store.accounts.create({ ...account, name: "a" }, new Date());
  store.keys.create(id, Buffer.alloc(32, 1), "0000", null, new Date());
  store.versions.serve("2024.1", "a", "b", new Date(0));
  store.close();
  return folder;
}

test("a backup contains the whole state of a running server and is readable only by its owner", async () => {
  const folder = filledState();
  const file = path.join(temporaryFolder(), "backup");
  const server = Store.open(folder);
  server.usage.save("2027-01", [[1, 8]]);
  const expected = contentOf(server);
  assert.deepEqual(await succeed(folder, `state backup ${file}`), [`${file}\n`]);
  server.close();
  assert.equal(modeOf(file), "600");
  assert.deepEqual(readdirSync(path.dirname(file)), ["backup"]);
  const restored = temporaryFolder();
  writeFileSync(path.join(restored, "state.sqlite"), readFileSync(file));
  const store = Store.open(restored);
  assert.equal(store.usage.of(1, "2027-01"), 8);
  assert.deepEqual(contentOf(store), expected);
  assert.equal(store.versions.byName("2024.1")?.first_served, 0);
  store.close();
});

test("a backup overwrites no file and leaves no file if it fails", async () => {
  const folder = filledState();
  const files = temporaryFolder();
  const there = path.join(files, "there");
  writeFileSync(there, "mine");
  symlinkSync("nowhere", path.join(files, "link"));
  mkdirSync(path.join(files, "folder"));
  for (const [name, found] of [
    ["there", "file already exists"],
    ["folder", "file already exists"],
    ["link", "file already exists"],
    ["none/file", "no such file or directory"],
    ["there/file", "not a directory"],
  ]) {
    const [{ code, stdout, stderr }] = await run(folder, [`state backup ${files}/${name}`]);
    assert.deepEqual([code, stdout], [1, ""]);
    assert.equal(stderr, `can't write ${files}/${name}: ${found}\n`);
  }
  assert.deepEqual(readdirSync(files).sort(), ["folder", "link", "there"]);
  assert.equal(readFileSync(there, "utf8"), "mine");
});

test("a backup without a state or without exactly one file name is refused", async () => {
  const folder = temporaryFolder();
  const [missing, ...wrong] = await run(folder, [
    `state backup ${folder}/file`,
    "state backup",
    "state backup a b",
    "state",
  ]);
  assert.deepEqual(
    [missing.code, missing.stderr],
    [1, `STATE_DIR ${folder}: found no state.sqlite, expected a folder with the state of a server\n`],
  );
  assert.deepEqual(
    wrong.map(({ code, stderr }) => [code, stderr]),
    [
      [1, "state backup needs a file to make\n"],
      [1, 'state backup takes nothing after the file, but has "b"\n'],
      [1, "state needs a command: use backup; --help explains them\n"],
    ],
  );
  assert.deepEqual(readdirSync(folder), [], "no state is made");
});

test("with DATABASE_URL, a backup is left to the database's own tools", async () => {
  const file = path.join(temporaryFolder(), "backup");
  const env = { DATABASE_URL: "postgres://hcqs@127.0.0.1:1/hcqs" };
  const [{ code, stdout, stderr }] = await run(filledState(), [`state backup ${file}`], env);
  assert.deepEqual([code, stdout, readdirSync(path.dirname(file))], [1, "", []]);
  assert.equal(
    stderr,
    "with DATABASE_URL, accounts are in PostgreSQL: back that up by its own tools, such as pg_dump; without it, state backup copies this machine's STATE_DIR\n",
  );
});
