import assert from "node:assert/strict";
import { test } from "node:test";
import { monthName } from "../../server/shared/months.ts";
import { run } from "../support/commands.ts";
import { month, now, World } from "../support/quota-events.ts";

/** Tests the operator's command `events`. */

test("events list prints lines or JSON, and events retry makes a delivery due again", async (t) => {
  const world = new World(t);
  world.account(1, "https://example.com/");
  world.use(1);
  const [{ id: first }, { id }, { id: last }] = world.store.events.list();
  const failed = { id, state: "failed", tries: 10, next_try_at: null, last_answer: "503" } as const;
  world.store.events.updateDelivery({ ...failed, channel: "webhook" });
  const created = now.toISOString();
  const name = monthName(month);
  const pending = { created, account: "acme", month: name, quota: 1, delivery: "pending", tries: 0 };
  const due = { ...pending, next_try: created, last_answer: null, channel: "webhook" };
  const retries = [`events retry ${id}`, `events retry ${first}`];
  const said = await run(world.folder, ["events list --json", "events list", ...retries]);
  const [json, list, ...retried] = said;
  assert.deepEqual(JSON.parse(json.stdout), [
    { ...due, id: first, threshold: 80 },
    { ...due, id, threshold: 90, delivery: "failed", tries: 10, next_try: null, last_answer: "503" },
    { ...due, id: last, threshold: 100 },
  ]);
  const lines = [
    "id created account month threshold delivery tries next~try last~answer quota channel"
      .split(" ")
      .map((name) => name.replace("~", " ")),
    [first, created, "acme", name, "80 %", "pending", "0", created, "-", "1", "webhook"],
    [id, created, "acme", name, "90 %", "failed", "10", "-", "503", "1", "webhook"],
    [last, created, "acme", name, "100 %", "pending", "0", created, "-", "1", "webhook"],
  ];
  assert.equal(list.stdout, lines.map((fields) => `${fields.join("\t")}\n`).join(""));
  assert.deepEqual(
    retried.map(({ code, stdout, stderr }) => [code, stdout, stderr]),
    [
      [0, `event ${id}: its delivery by webhook waits for event ${first}\n`, ""],
      [0, `event ${first}: its delivery by webhook is due now\n`, ""],
    ],
  );
  const { state, tries } = world.delivery(id);
  assert.deepEqual([state, tries], ["pending", 0]);
});

test("events retry refuses an account without an address, and accounts delete names the addresses", async (t) => {
  const world = new World(t);
  const account = world.account(1, "https://example.com/", "ann@example.com");
  world.use(1);
  const [{ id }] = world.store.events.list();
  const delivered = { id, state: "delivered", tries: 1, next_try_at: null, last_answer: "204" } as const;
  world.store.events.updateDelivery({ ...delivered, channel: "webhook" });
  const [again, deleted] = await run(world.folder, [`events retry ${id}`, "accounts delete acme"]);
  assert.equal(again.stdout, `event ${id}: its delivery by email is due now\n`);
  assert.match(deleted.stderr, /, its webhook, its e-mail address\. /);
  world.operator.accounts.update({ ...account, webhook: null, webhook_secret: null, email: null });
  const [{ code, stderr }] = await run(world.folder, [`events retry ${id}`]);
  const expected = `event ${id} can't be sent: its account has no webhook and no e-mail address`;
  assert.deepEqual([code, stderr.includes(expected)], [1, true], stderr);
});
