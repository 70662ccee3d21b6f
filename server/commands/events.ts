import { DataError, shown } from "../../engine/query.ts";
import { type Context, checkEnd, listed, runCommand, type Said } from "./command.ts";

/** The operator's command for quota events and their deliveries. */

const columns = [
  "id",
  "created",
  "account",
  "month",
  "threshold",
  "delivery",
  "tries",
  "next_try",
  "last_answer",
  "quota",
] as const;

function list(args: string[], { store }: Context): Said {
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
  const inWords = (event: (typeof events)[number]) => ({ ...event, threshold: `${event.threshold} %` });
  return { result: listed("events list", args, columns, events, inWords) };
}

/** Makes an event's delivery due now, with all its tries before it. */
function retry([id, ...more]: string[], { store, now }: Context): Said {
  if (id === undefined) throw new DataError("events retry", "nothing", "one event id from events list");
  checkEnd("events retry", more);
  const event = store.event(id);
  if (event === undefined) throw new DataError(`event ${shown(id)}`, "none of that id", "one of events list");
  if (store.accountOf(event.account)?.webhook === null)
    throw new DataError(`event ${id}`, "an account without a webhook", "an address to post it to");
  store.updateDelivery({ ...event, state: "pending", tries: 0, next_try_at: now.toISOString() });
  const quota = `${event.threshold} % of ${event.quota} in ${event.month}`;
  const before = `was ${event.state} after ${event.tries} ${event.tries === 1 ? "try" : "tries"}`;
  return { result: `event ${id}, ${quota}: the delivery ${before}, and is due now\n` };
}

await runCommand("events", {
  list: { usage: "[--json]", about: "Lists quota events and how their deliveries stand.", run: list },
  retry: {
    usage: "ID",
    about: "Makes an event's delivery due now, with all its tries before it.",
    run: retry,
  },
});
