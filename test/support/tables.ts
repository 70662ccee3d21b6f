import { UsageDays } from "../../server/accounts/days.ts";
import { UsageEvents } from "../../server/accounts/events.ts";
import { Limits } from "../../server/accounts/limits.ts";
import { AccountNames } from "../../server/accounts/names.ts";

/** Enough for the few thousand accounts that a test has at most. */
const memory = () => new SharedArrayBuffer(2 ** 20);

/**
 * Tables for a test's accounts. Those of a server have room for a million accounts, and V8 frees shared memory late:
 * with hundreds of them, Linux starts no process any more on a machine with less memory than they could fill.
 */
export function smallTables() {
  return {
    ceilings: new Limits(memory()),
    names: new AccountNames(memory()),
    days: new UsageDays(memory()),
    events: new UsageEvents(memory()),
  };
}
