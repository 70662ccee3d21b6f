import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { pino } from "pino";
import { PermitTable } from "../../server/accounts/permit-table.ts";
import { Counts } from "../../server/parts/postgres/counts.ts";
import { dayName, monthName, monthOf } from "../../server/shared/months.ts";
import { Store } from "../../server/store/store.ts";
import { seededRandom } from "../support/random.ts";
import { rounds } from "../support/rounds.ts";
import { VirtualDatabase } from "../support/virtual-database.ts";

/** Tests counts of several servers in virtual time, when the database's clock jumps and comes back. */

const database = await VirtualDatabase.create();
after(() => database.close());

const secondMs = 1000;
const hourMs = 3600 * secondMs;
const dayMs = 24 * hourMs;
/** A server reads the counts of all servers so often. */
const readMs = 10 * secondMs;
const quota = 100;
let version = 0;
let versionId: string | null = null;

/** An account, a server that reads its counts, and what requests were admitted in which month and on which day. */
class World {
  readonly account: number;
  /** The right time, and by how much the database's clock is ahead of it. */
  nowMs: number;
  aheadMs = 0;
  readonly admitted = new Map<string, number>();
  #store = Store.inMemory();
  #counts!: Counts;

  private constructor(account: number, nowMs: number) {
    this.account = account;
    this.nowMs = nowMs;
  }

  static async open(nowMs: number): Promise<World> {
    const world = new World(version + 1, nowMs);
    await world.pass(0);
    const id = randomUUID();
    await database.query("SELECT hcqs.change($1, $2, $3, $4, $5, null)", [
      ...[version, versionId, id, [`accounts:${world.account}`]],
      [JSON.stringify({ name: `account ${world.account}`, burst: 1000, quota })],
    ]);
    version++;
    versionId = id;
    const none = { webhook: null, webhook_secret: null };
    for (let i = 0; i < world.account; i++)
      world.#store.accounts.create(
        { name: `account ${i}`, plan: "own", burst: 1000, quota, ...none },
        new Date(nowMs),
      );
    await world.restart();
    return world;
  }

  get wallMs(): number {
    return this.nowMs + this.aheadMs;
  }

  get month(): number {
    return monthOf(this.wallMs);
  }

  /** Another process knows what was stored. */
  async restart(): Promise<void> {
    const table = new PermitTable();
    table.month = monthOf(this.nowMs);
    this.#counts = new Counts(
      { quotaOf: () => quota, slotOf: () => 0, putDay() {} },
      { store: this.#store, log: pino({ enabled: false }) },
      { change: async (work) => work() },
      table,
    );
    await this.read();
  }

  async pass(ms: number): Promise<void> {
    this.nowMs += ms;
    await database.setClock(this.wallMs);
  }

  async jump(ms: number): Promise<void> {
    this.aheadMs += ms;
    await this.pass(0);
  }

  async read(): Promise<void> {
    await this.#counts.read(database, this.nowMs);
  }

  async ask(count: number): Promise<number> {
    const sql =
      "SELECT granted, used FROM hcqs.take(ARRAY[$1::bigint], ARRAY[$2::integer], ARRAY[0], ARRAY[0], null)";
    const [{ granted }] = await database.query<{ granted: number }>(sql, [this.account, count]);
    for (const name of [monthName(this.month), dayName(this.wallMs)])
      this.admitted.set(name, (this.admitted.get(name) ?? 0) + granted);
    return granted;
  }

  admittedIn(name: string): number {
    return this.admitted.get(name) ?? 0;
  }

  known(month = this.month): number | undefined {
    return this.#counts.of(this.account, month);
  }

  /** The requests of each day of a month with a stored count, by the stored counts. */
  daysOf(month: string): Record<string, number> {
    let before = 0;
    const days: Record<string, number> = {};
    for (const { day, used } of this.#store.usage.days(this.account)) {
      if (!day.startsWith(month)) continue;
      days[day] = used - before;
      before = used;
    }
    return days;
  }
}

const jumps = [hourMs, -hourMs, dayMs, -dayMs];
const moments = {
  "in a month": Date.UTC(2026, 4, 10, 12),
  "before a month's end": Date.UTC(2026, 4, 31, 23, 50),
  "after a month's start": Date.UTC(2026, 5, 1, 0, 10),
};

for (const [when, nowMs] of Object.entries(moments))
  for (const jumpMs of jumps)
    for (const isRestarted of [false, true])
      test(`counts are known 10 s after a jump of ${jumpMs / hourMs} h ${when}${isRestarted ? " and a restart" : ""}`, async () => {
        const world = await World.open(nowMs);
        await world.ask(30);
        await world.pass(readMs);
        await world.read();
        await world.jump(jumpMs);
        await world.ask(20);
        await world.pass(readMs);
        await world.read();
        assert.equal(world.known(), world.admittedIn(monthName(world.month)));
        await world.jump(-jumpMs);
        if (isRestarted) await world.restart();
        for (const asked of [5, 7, 9]) {
          await world.ask(asked);
          await world.pass(readMs);
          await world.read();
          assert.equal(world.known(), world.admittedIn(monthName(world.month)));
        }
        await world.ask(quota);
        assert.equal(world.admittedIn(monthName(world.month)), quota);
      });

test("counts that change before the first read after a step back of the clock are known", async () => {
  for (const stepMs of [1, 3, 6, 60].map((seconds) => seconds * secondMs)) {
    const world = await World.open(moments["in a month"]);
    await world.ask(3);
    await world.pass(readMs);
    await world.read();
    await world.jump(-stepMs);
    await world.ask(4);
    await world.pass(readMs);
    await world.read();
    assert.equal(world.known(), 7, `${stepMs} ms`);
  }
});

test("after a jump into the next month and back, the days of both months keep their counts", async () => {
  const world = await World.open(Date.UTC(2026, 4, 20, 12));
  await world.ask(10);
  await world.jump(15 * dayMs);
  await world.ask(6);
  await world.pass(readMs);
  await world.read();
  await world.jump(-15 * dayMs);
  for (let day = 20; day <= 31; day++) {
    await world.ask(1 + (day % 3));
    await world.pass(readMs);
    await world.read();
    // A restart in between changes nothing.
    if (day === 25) await world.restart();
    await world.pass(dayMs - readMs);
  }
  // It is the first of June.
  for (let day = 1; day <= 5; day++) {
    await world.ask(2);
    await world.pass(readMs);
    await world.read();
    await world.pass(dayMs - readMs);
  }
  await world.ask(1);
  await world.read();
  const may = Object.fromEntries([...world.admitted].filter(([day]) => /^2026-05-../.test(day)));
  assert.deepEqual(world.daysOf("2026-05"), may);
  const [june, firstOfJune] = [world.admittedIn("2026-06"), world.daysOf("2026-06")["2026-06-01"]];
  // What was admitted during the jump is counted in June, once.
  assert.deepEqual([june, world.known(), firstOfJune], [6 + 10 + 1, 17, 8]);
});

test("counts equal those of a naive model over jumps of up to a month, reads and restarts", async () => {
  const seed = 20_261_128;
  const random = seededRandom(seed);
  for (let trial = 0; trial < rounds(4); trial++) {
    const world = await World.open(random.pick(Object.values(moments)));
    for (let step = 0; step < 60; step++) {
      const where = `seed ${seed}, trial ${trial}, step ${step}`;
      const draw = random.int(6);
      if (draw === 0)
        await world.jump(world.aheadMs === 0 ? random.pick([...jumps, 20 * dayMs]) : -world.aheadMs);
      else if (draw === 1) await world.restart();
      else if (draw < 4) await world.ask(random.int(9));
      else {
        await world.pass(readMs);
        await world.read();
        assert.equal(world.known() ?? 0, world.admittedIn(monthName(world.month)), where);
      }
      for (const [name, count] of world.admitted) assert.ok(name.length > 7 || count <= quota, where);
    }
  }
});
