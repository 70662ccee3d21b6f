import { shown } from "../../engine/query.ts";
import { channelsOf } from "../accounts/quota-events.ts";
import type { CommandOutput } from "../part.ts";
import { parts } from "../parts.ts";
import { addressNames, channels } from "../shared/channels.ts";
import { isoTime, isoTimeOrNull } from "../shared/time.ts";
import { type Context, checkEnd, listed, runCommand } from "./command.ts";

function list(args: string[], { store }: Context): CommandOutput {
  const inWords = (cell: string | number | null, column: string) =>
    column === "threshold" ? `${cell} %` : cell;
  return {
    result: listed(
      "events list",
      args,
      store.events.list(),
      {
        id: ({ id }) => id,
        created: ({ created_at }) => isoTime(created_at),
        account: ({ name }) => name,
        month: ({ month }) => month,
        threshold: ({ threshold }) => threshold,
        delivery: ({ state }) => state,
        tries: ({ tries }) => tries,
        next_try: ({ next_try_at }) => isoTimeOrNull(next_try_at),
        last_answer: ({ last_answer }) => last_answer,
        quota: ({ quota }) => quota,
        channel: ({ channel }) => channel,
      },
      inWords,
    ),
  };
}

/**
 * Makes an event's deliveries pending for the account's channels that haven't delivered it, or for all its channels if
 * each has. The event keeps its place in the account's order.
 */
function retry([id, ...more]: string[], { store, now }: Context): CommandOutput {
  if (id === undefined) throw new Error("events retry needs an event's id, as events list shows it");
  checkEnd("events retry", more);
  const event = store.events.byId(id);
  if (event === undefined) throw new Error(`there is no event ${shown(id)}: events list has all ids`);
  const account = store.accounts.byId(event.account);
  const reached = account === undefined ? [] : channelsOf(account);
  if (reached.length === 0)
    throw new Error(
      `event ${id} can't be sent: its account has no ${channels.map((channel) => addressNames[channel]).join(" and no ")}`,
    );
  const known = new Map(store.events.deliveries(id).map((delivery) => [delivery.channel, delivery]));
  const undelivered = reached.filter((channel) => known.get(channel)?.state !== "delivered");
  const lines = (undelivered.length > 0 ? undelivered : reached).map((channel) => {
    const { last_answer = null } = known.get(channel) ?? {};
    const next_try_at = now.getTime();
    store.events.updateDelivery({ id, channel, state: "pending", tries: 0, next_try_at, last_answer });
    const first = store.events.firstPending(event.account, channel);
    return `event ${id}: its delivery by ${channel} ${first === id ? "is due now" : `waits for event ${first}`}\n`;
  });
  return { result: lines.join("") };
}

await runCommand("events", parts, {
  list: { usage: "[--json]", about: "Lists quota events and how their deliveries stand.", run: list },
  retry: {
    usage: "ID",
    about:
      "Restarts the undelivered deliveries of an event with all their tries, or all of its deliveries if each was delivered. They are due now, or after the account's earlier pending events.",
    run: retry,
  },
});
