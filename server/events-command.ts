import { DataError, shown } from "../engine/query.ts";
import { runCommand } from "./command.ts";
import type { Store } from "./store.ts";

/** The operator's command for quota events and their deliveries. */

const usage = `usage:
  events list [--json]
  events retry ID
`;

function list(store: Store, asJson: boolean): string {
  const events = store.events().map((event) => ({
    id: event.id,
    created: event.created_at,
    account: event.name,
    month: event.month,
    threshold: event.threshold,
    delivery: event.state,
    tries: event.tries,
    next_try: event.next_try_at,
    last_answer: event.last_answer,
    quota: event.quota,
  }));
  if (asJson) return `${JSON.stringify(events, null, 2)}\n`;
  const header = "id created account month threshold delivery tries next_try last_answer quota".split(" ");
  const lines = events.map((event) => Object.values({ ...event, threshold: `${event.threshold} %` }));
  return [header.map((name) => name.replace("_", " ")), ...lines]
    .map((fields) => `${fields.map((field) => field ?? "-").join("\t")}\n`)
    .join("");
}

/** Makes an event's delivery due now, with all its tries before it. */
function retry(store: Store, id: string, now: Date): string {
  const event = store.event(id);
  if (event === undefined) throw new DataError(`event ${shown(id)}`, "none of that id", "one of events list");
  const account = store.accountOf(event.account);
  if (account === undefined || account.webhook === null)
    throw new DataError(`event ${id}`, "an account without a webhook", "an address to post it to");
  store.updateDelivery({ ...event, state: "pending", tries: 0, next_try_at: now.toISOString() });
  const what = `${event.threshold} % of ${event.quota} in ${event.month}, account ${account.name}`;
  const before = `${event.state}, tries ${event.tries}, last answer ${event.last_answer ?? "-"}`;
  return `event ${id} (${what}) is due now, with all its tries before it; it was ${before}\n`;
}

const [command, ...more] = process.argv.slice(2);
if (command === "--help" || more.includes("--help")) process.stdout.write(usage);
else
  runCommand((_, store) => {
    if (command === "list" && more.length === 0) return list(store, false);
    if (command === "list" && more.join(" ") === "--json") return list(store, true);
    if (command === "retry" && more.length === 1) return retry(store, more[0], new Date());
    throw new Error(usage.trimEnd());
  });
