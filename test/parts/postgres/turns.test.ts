import assert from "node:assert/strict";
import { test } from "node:test";
import { takeTurn } from "../../../server/parts/postgres/turns.ts";
import { until } from "../../support/connection.ts";
import { commonDatabase } from "../../support/virtual-database.ts";

/** Tests turns in PostgreSQL as WebAssembly. Its clock is real, so the turns' ends are moved. */

const database = await commonDatabase();
const client = {
  async query<Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    return (await database.query<Row>(text, [...values])).rows;
  },
};

let names = 0;

/** Makes a turn of another server, which ends so many seconds from now. @returns its name */
async function turnUntil(seconds: number): Promise<string> {
  const name = `turn ${++names}`;
  await client.query(
    "INSERT INTO hcqs.turns VALUES ($1, 'other', clock_timestamp() + make_interval(secs => $2))",
    [name, seconds],
  );
  return name;
}

for (const [seconds, isFree] of [
  [-3600, true],
  [-0.1, true],
  [10, false],
  [14.5, false],
  [15.5, true],
  [3600, true],
  [86_400 * 400, true],
] as const)
  test(`a turn of 15 s that ends in ${seconds} s is ${isFree ? "over" : "another server's"}`, async () => {
    const name = await turnUntil(seconds);
    assert.equal(await takeTurn(client, name, "own", 15), isFree);
    assert.equal(await takeTurn(client, name, "third", 15), false);
    assert.equal(await takeTurn(client, name, isFree ? "own" : "other", 15), true);
  });

test("a turn that ends at once confirms a write, also after a clock that was ahead", async () => {
  const name = await turnUntil(3600);
  for (const holder of ["a", "b", "a"]) {
    assert.equal(await takeTurn(client, name, holder, 0), true);
    const [row] = await client.query<{ holder: string }>("SELECT holder FROM hcqs.turns WHERE name = $1", [
      name,
    ]);
    assert.equal(row.holder, holder);
    // PostgreSQL as WebAssembly has a clock of whole milliseconds.
    const isOver = "SELECT until < clock_timestamp() AS is_over FROM hcqs.turns WHERE name = $1";
    await until("the turn's end", async () => {
      const [{ is_over }] = await client.query<{ is_over: boolean }>(isOver, [name]);
      return is_over;
    });
  }
});

test("a turn of another name stays", async () => {
  const name = await turnUntil(3600);
  assert.equal(await takeTurn(client, "a name of its own", "own", 15), true);
  assert.deepEqual(await client.query("SELECT holder FROM hcqs.turns WHERE name = $1", [name]), [
    { holder: "other" },
  ]);
});
