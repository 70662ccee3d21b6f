import assert from "node:assert/strict";
import { test } from "node:test";
import { databaseInMemory } from "../../server/store/database.ts";
import { accountTables } from "../../server/store/schema.ts";

/** Tests that the description of the tables of accounts is that of the database. */

/** The tables of the server itself: data versions, what it has applied and saved, and its copy of shared rows. */
const own = ["versions", "obeyed", "saved", "directory", "away", "away_used"];

test("every table belongs to accounts or to the server, and its description has its key, account and columns", () => {
  const database = databaseInMemory();
  const all = <Row>(sql: string, ...values: string[]) => database.prepare<string[], Row>(sql).all(...values);
  const tables = all<{ name: string }>(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
  ).map(({ name }) => name);
  assert.deepEqual(tables.toSorted(), [...own, ...Object.keys(accountTables)].sort());

  for (const [name, table] of Object.entries(accountTables)) {
    const columns = all<{ name: string; pk: number }>("SELECT name, pk FROM pragma_table_info(?)", name);
    const key = columns.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk);
    assert.deepEqual(
      key.map((column) => column.name),
      table.key,
      name,
    );
    const names = columns.map((column) => column.name);
    assert.equal(names.includes("changed"), table.isCounted, name);
    const through = "through" in table ? table.through : name === "accounts" ? undefined : "accounts";
    const references = all<{ table: string; from: string }>(
      'SELECT "table", "from" FROM pragma_foreign_key_list(?)',
      name,
    );
    assert.ok(names.includes(table.owner), name);
    if (through !== undefined)
      assert.ok(
        references.some((each) => each.table === through && each.from === table.owner),
        `${name}.${table.owner}`,
      );
    // Its rows refer only to rows of tables before it, or of the same table.
    const before = Object.keys(accountTables).slice(0, Object.keys(accountTables).indexOf(name) + 1);
    for (const each of references) assert.ok(before.includes(each.table), `${name} to ${each.table}`);
    if (typeof table.moved !== "string")
      for (const column of table.moved) assert.ok(names.includes(column), column);
  }
  database.close();
});
