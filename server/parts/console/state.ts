import { reasonOf, statusOf, versionName } from "../../../engine/query.ts";
import { gapsOf } from "../../api/not-found.ts";
import { monthName, monthOf } from "../../shared/months.ts";
import { isoTime } from "../../shared/time.ts";
import type { SnapshotFolder } from "../../snapshots/snapshots.ts";
import type { Store } from "../../store/store.ts";

/** Collects the content of the console's tables: data versions, files, accounts and events. */

const maxListed = 100;

export type State = ReturnType<typeof stateOf>;

interface ServerState {
  node: string;
  threads: number;
  started_at: string;
  datasets: string;
  ready: boolean;
  /** Why the state's files can't be used, by the last check; null if they can be used. */
  fault: string | null;
}

export function stateOf(
  server: ServerState,
  snapshots: Pick<SnapshotFolder, "images" | "published" | "refused">,
  store: Pick<Store, "accounts" | "events">,
  now: Date,
) {
  const images = snapshots.images();
  const published = snapshots.published();
  const { fault, ...stored } = storedState(store, now);
  return {
    server: { ...server, fault: server.fault ?? fault },
    versions: images.map((image, i) => {
      const { provenance, counts } = image.description;
      const { states, missing_states } = gapsOf(image);
      return {
        version: versionName(provenance),
        status: statusOf(images, image),
        title: provenance.title,
        rows: counts.rows,
        priced_rows: counts.pricedRows,
        facilities: counts.facilities,
        procedures: counts.procedures,
        loaded_at: published[i].loadedAt,
        bytes: image.buffer.byteLength,
        states,
        missing_states,
      };
    }),
    refused: snapshots.refused(),
    ...stored,
  };
}

/** If the database can't be read, both lists are empty, and `fault` has the reason. */
function storedState(store: Pick<Store, "accounts" | "events">, now: Date) {
  const share = ({ used, quota }: { used: number; quota: number }) => used / quota;
  try {
    const accounts = store.accounts.list(monthName(monthOf(now.getTime())), now);
    const events = store.events
      .list()
      .sort((a, b) => b.created_at - a.created_at || b.threshold - a.threshold);
    return {
      fault: null,
      accounts: accounts
        .sort((a, b) => share(b) - share(a))
        .slice(0, maxListed)
        .map(({ name, plan, used, quota, burst, keys }) => ({ name, plan, used, quota, burst, keys })),
      all_accounts: accounts.length,
      events: events
        .slice(0, maxListed)
        .map(
          ({ id, name, month, threshold, created_at, channel, state, tries, next_try_at, last_answer }) => ({
            id,
            account: name,
            month,
            threshold,
            created_at: isoTime(created_at),
            channel,
            state,
            tries,
            next_try_at: state === "pending" && next_try_at !== null ? isoTime(next_try_at) : null,
            last_answer,
          }),
        ),
    };
  } catch (error) {
    const fault = `accounts and events can't be read: ${reasonOf(error)}`;
    return { fault, accounts: [], all_accounts: 0, events: [] };
  }
}
