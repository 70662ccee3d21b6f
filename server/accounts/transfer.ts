import * as v from "valibot";
import { DataError, shown } from "../../engine/query.ts";
import { maxBurst, maxQuota } from "../shared/plans.ts";
import { day, month } from "../shared/schemas.ts";
import { maxTimeMs } from "../shared/time.ts";
import { accountTables, type MovedRow, type MovedTable, readRows, Store } from "../store/store.ts";
import { maxNameLength, maxPlanLength } from "./names.ts";

/**
 * Imports accounts. Some rules for new accounts, such as known plans, don't apply, because earlier releases had other
 * rules.
 */

export interface MovedAccount {
  id: number;
  name: string;
  rows: { table: MovedTable; row: MovedRow }[];
}

type Need = readonly [expected: string, isMet: (value: unknown) => boolean];

const whole = (min: number, max: number): Need => [
  `a whole number from ${min} to ${max}`,
  (value) => Number.isInteger(value) && Number(value) >= min && Number(value) <= max,
];
const text = (expected: string, form: RegExp): Need => [
  expected,
  (value) => typeof value === "string" && form.test(value),
];
const maxTextLength = 10_000;
const plainText = text(
  `up to ${maxTextLength} characters without control characters`,
  new RegExp(`^[^\\p{Cc}\\p{Cs}\\uFFFD]{0,${maxTextLength}}$`, "u"),
);
/** Ids after an import continue from the largest one, and must stay safe integers. */
const id = whole(1, 2 ** 40);
/** Maximum number of accounts in one change. Servers that share accounts apply a change as a whole. */
export const maxAccountsPerChange = 500;
/** Counters are signed integers of 32 bits. */
const maxCount = 2 ** 31 - 1;
const instant = whole(0, maxTimeMs);
/**
 * The form of events' ids, channels and states. Some become part of a header, or of the name of a row that servers
 * share.
 */
const word = text("1 to 64 letters, digits, hyphens and underscores", /^[\w-]{1,64}$/);

function isJson(value: unknown): boolean {
  try {
    return typeof value === "string" && JSON.parse(value) !== undefined;
  } catch {
    return false;
  }
}

/** The requirements for values, by column or by `table.column`. */
const needs: Record<string, Need> = {
  "accounts.id": id,
  "accounts.name": text(`1 to ${maxNameLength} ASCII characters`, new RegExp(`^[ -~]{1,${maxNameLength}}$`)),
  plan: text(`1 to ${maxPlanLength} ASCII characters`, new RegExp(`^[!-~]{1,${maxPlanLength}}$`)),
  burst: whole(1, maxBurst),
  quota: whole(1, maxQuota),
  "keys.id": id,
  account: id,
  replaced_by: id,
  hash: ["32 bytes", (value) => Buffer.isBuffer(value) && value.length === 32],
  month: ["a month such as 2027-01", (value) => v.is(month, value)],
  day: ["a day such as 2027-01-31", (value) => v.is(day, value)],
  used: whole(0, maxCount),
  "events.id": word,
  event: word,
  channel: word,
  state: word,
  // Events in memory have seven bits for the threshold.
  threshold: whole(1, 127),
  payload: ["JSON", isJson],
  tries: whole(0, maxCount),
};

/**
 * Reads an export or a backup. Leaves out a backup's deleted accounts, and its signups without an account.
 * @returns the accounts by id, ascending
 * @throws DataError when the file, or a value in it, can't be imported
 */
export function readAccounts(file: string): MovedAccount[] {
  const accounts = new Map<unknown, MovedAccount>();
  /** The account ids of keys and of events, by the key's or event's id. */
  const owners = { keys: new Map<unknown, unknown>(), events: new Map<unknown, unknown>() };
  const rotated: MovedRow[] = [];
  readRows(file, (table, row) => {
    if ((table === "accounts" && row.name === null) || (table === "signups" && row.account === null)) return;
    checkRow(file, table, row);
    if (table === "accounts" && !accounts.has(row.id))
      accounts.set(row.id, { id: Number(row.id), name: String(row.name), rows: [] });
    if (table === "keys" || table === "events") owners[table].set(row.id, row.account);
    if (table === "keys" && row.replaced_by !== null) rotated.push(row);
    const described = accountTables[table];
    const named = row[described.owner];
    const account = accounts.get("through" in described ? owners[described.through].get(named) : named);
    if (account === undefined) {
      const of = "through" in described ? described.owner : "account";
      throw new DataError(subjectOf(file, table, row), `a row of an ${of} that the file lacks`, "none");
    }
    account.rows.push({ table, row });
  });
  for (const row of rotated)
    if (owners.keys.get(row.replaced_by) !== row.account)
      throw new DataError(
        `${subjectOf(file, "keys", row)}: replaced_by`,
        shownValue(row.replaced_by),
        "a key of the same account",
      );
  const sorted = [...accounts.values()].toSorted((a, b) => a.id - b.id);
  tryOut(sorted, file);
  return sorted;
}

/** Adds the accounts to a state in memory, so that wrong rows are found before anything is stored. @throws DataError */
function tryOut(accounts: readonly MovedAccount[], file: string): void {
  const store = Store.inMemory();
  try {
    store.atomically(() => addAccounts(store, accounts, file));
  } finally {
    store.close();
  }
}

function checkRow(file: string, table: MovedTable, row: MovedRow): void {
  for (const [column, value] of Object.entries(row)) {
    // The tables' constraints refuse null in other columns that may not be null.
    if (value === null && column !== "id") continue;
    const known = needs[`${table}.${column}`] ?? needs[column];
    const [expected, isMet] = known ?? (/_(?:at|until)$/.test(column) ? instant : plainText);
    if (isMet(value)) continue;
    const isSecret = /secret|hash/.test(column);
    const found = isSecret ? "another value" : shownValue(value);
    throw new DataError(`${subjectOf(file, table, row)}: ${column}`, found, expected);
  }
}

/** Names a row in messages by its first two columns, which identify it in every table. */
function subjectOf(file: string, table: MovedTable, row: MovedRow): string {
  const columns = Object.entries(row).slice(0, 2);
  return [
    `file ${file}: table ${table}`,
    ...columns.map(([column, value]) => `${column} ${shownValue(value)}`),
  ].join(", ");
}

function shownValue(value: unknown): string {
  if (Buffer.isBuffer(value)) return `a blob of ${value.length} bytes`;
  return typeof value === "string" ? shown(value) : String(value);
}

/**
 * Adds accounts with their ids, in the caller's transaction.
 * @param file the accounts' origin in messages
 * @throws DataError when a row breaks a constraint of its table
 */
export function addAccounts(store: Store, accounts: readonly MovedAccount[], file: string): void {
  // A key refers to the later key that replaced it.
  store.records.deferReferences();
  for (const { rows } of accounts)
    for (const { table, row } of rows)
      try {
        store.records.insert(table, row);
      } catch (error) {
        if (!isConstraintError(error)) throw error;
        throw new DataError(subjectOf(file, table, row), error.message, "a row that fits the table");
      }
}

const isConstraintError = (error: unknown): error is Error =>
  error instanceof Error && "code" in error && /^SQLITE_CONSTRAINT/.test(String(error.code));

/** @throws DataError when an id, a name, a key, an event or a mailbox is taken, or a deleted account had the id */
export function checkFree(store: Store, accounts: readonly MovedAccount[], file: string): void {
  for (const { id, name, rows } of accounts) {
    const subject = `file ${file}: account ${name}`;
    if (store.accounts.wasDeleted(id))
      throw new DataError(subject, `the id ${id} of an account that was deleted`, "one that no account had");
    const taken = [
      { what: `the id ${id}`, by: store.accounts.byId(id)?.id },
      { what: `the name ${name}`, by: store.accounts.byName(name)?.id },
      ...rows.flatMap(({ table, row }) => holdersOf(store, table, row)),
    ].find(({ by }) => by !== undefined);
    if (taken?.by === undefined) continue;
    const holder = store.accounts.byId(taken.by)?.name;
    throw new DataError(subject, `${taken.what}, which the account ${holder} has`, "what no account has");
  }
}

function holdersOf(
  store: Store,
  table: MovedTable,
  row: MovedRow,
): { what: string; by: number | undefined }[] {
  if (table === "keys")
    return [
      { what: `the key id ${row.id}`, by: store.keys.byId(Number(row.id))?.account },
      {
        what: `the hash of its key ${row.id}`,
        by: Buffer.isBuffer(row.hash) ? store.keys.byHash(row.hash)?.account : undefined,
      },
    ];
  if (table === "events")
    return [{ what: `the event ${row.id}`, by: store.events.byId(String(row.id))?.account }];
  if (table === "signups")
    return [{ what: `the mailbox ${row.mailbox}`, by: store.signups.accountOf(String(row.mailbox)) }];
  return [];
}
