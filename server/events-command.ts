import { DataError, shown } from "../engine/query.ts";
import { runCommand } from "./command.ts";
import type { Store } from "./store.ts";

/** The operator's command for quota events and their deliveries. */

const usage = `usage:
  events list
  events retry ID`;

function list(store: Store): string {
  const header = [
    "id",
    "created",
    "account",
    "month",
    "threshold",
    "delivery",
    "tries",
    "next try",
    "last answer",
  ];
  const lines = store
    .events()
    .map((event) => [
      event.id,
      event.created_at,
      event.name,
      event.month,
      `${event.threshold} %`,
      event.state,
      event.tries,
      event.next_try_at ?? "-",
      event.last_answer ?? "-",
    ]);
  return [header, ...lines].map((fields) => `${fields.join("\t")}\n`).join("");
}

/** Makes an event's delivery due now, with all its tries before it. */
function retry(store: Store, id: string, now: Date): string {
  const event = store.event(id);
  if (event === undefined) throw new DataError(`event ${shown(id)}`, "none of that id", "one of events list");
  if (store.accountOf(event.account)?.webhook === null)
    throw new DataError(`event ${id}`, "an account without a webhook", "an address to post it to");
  store.updateDelivery({ ...event, state: "pending", tries: 0, next_try_at: now.toISOString() });
  return "";
}

runCommand(([command, id, ...more], store) => {
  if (command === "list" && id === undefined) return list(store);
  if (command === "retry" && id !== undefined && more.length === 0) return retry(store, id, new Date());
  throw new Error(usage);
});
