import { isDeepStrictEqual } from "node:util";
import * as v from "valibot";
import { DataError, jsonIn, shown, shownAddress } from "../../engine/query.ts";
import { maxBurst, maxQuota, planNames } from "../shared/plans.ts";
import { day, emailAddress, month, time } from "../shared/schemas.ts";
import { isoTime } from "../shared/time.ts";
import { type AccountRecord, maxDays, type Store } from "../store/store.ts";
import { accountName, keyLabel, webhookSecretForm } from "./changes.ts";
import { maxAccounts } from "./limits.ts";
import { maxAnswerCharacters, maxTries, payloadOf, thresholds } from "./quota-events.ts";
import { storedWebhookFault } from "./webhook-url.ts";

/** Exports and imports accounts as lines of JSON, with all their data except the days of last use of keys. */

const format = "healthcare-charge-query-service accounts";
const version = 1;

const unknownField = "an unknown field";
const fields = <Entries extends v.ObjectEntries>(entries: Entries) =>
  v.strictObject(entries, ({ expected, input }) => {
    if (expected === "never") return unknownField;
    return input === undefined ? "a value" : "an object";
  });
const list = <Item extends v.GenericSchema>(item: Item) => v.array(item, "a list");
/** A list in which `nameOf` returns a different value for each item. */
const distinct = <Item extends v.GenericSchema>(
  item: Item,
  what: string,
  nameOf: (item: v.InferOutput<Item>) => unknown,
) =>
  v.pipe(
    list(item),
    v.check((items) => new Set(items.map(nameOf)).size === items.length, `each ${what} once`),
  );
const text = (expected: string, form: RegExp) => v.pipe(v.string(expected), v.regex(form, expected));
const oneOf = <const Options extends readonly (string | number)[]>(options: Options) =>
  v.picklist(options, `one of ${options.join(", ")}`);
const whole = (min: number, max: number) => {
  const expected = `a whole number from ${min} to ${max}`;
  return v.pipe(
    v.number(expected),
    v.safeInteger(expected),
    v.minValue(min, expected),
    v.maxValue(max, expected),
  );
};

const head = fields({
  format: v.literal(format, format),
  version: v.number("a number"),
  /** The number of lines that follow: shows whether the file was truncated. */
  accounts: whole(0, maxAccounts),
});

/** The largest id that is imported. New ids continue from the largest used id, and must stay safe integers. */
const maxId = 2 ** 40;
const id = whole(1, maxId);
const used = whole(0, maxQuota);
/** ISO 8601 in the file; Unix milliseconds after parsing. */
const instant = time();

const key = fields({
  id,
  hash: text("64 hexadecimal digits in lower case", /^[0-9a-f]{64}$/),
  last4: text("4 letters or digits", /^[0-9A-Za-z]{4}$/),
  label: v.nullable(keyLabel),
  created_at: instant,
  expires_at: v.nullable(instant),
  revoked_at: v.nullable(instant),
  replaced_by: v.nullable(id),
});
const keys = v.pipe(
  distinct(key, "id", ({ id }) => id),
  v.check(
    (keys) =>
      keys.every(
        ({ id, replaced_by }) =>
          replaced_by === null || keys.some((other) => other.id === replaced_by && other.id > id),
      ),
    "replaced_by to name a later key of the same account",
  ),
);

function isPayload(text: string): boolean {
  try {
    return payloadOf(text) !== undefined;
  } catch {
    return false;
  }
}

const anAnswer = `up to ${maxAnswerCharacters} printable ASCII characters`;
const delivery = v.pipe(
  fields({
    channel: oneOf(["webhook", "email"]),
    state: oneOf(["pending", "delivered", "failed"]),
    tries: whole(0, maxTries),
    next_try_at: v.nullable(instant),
    last_answer: v.nullable(v.pipe(text(anAnswer, /^[ -~]*$/), v.maxLength(maxAnswerCharacters, anAnswer))),
  }),
  v.check(
    ({ state, tries }) => state !== "pending" || tries < maxTries,
    `fewer than ${maxTries} tries of a pending delivery`,
  ),
  v.check(
    ({ state, next_try_at }) => (state === "pending") === (next_try_at !== null),
    "next_try_at in a pending delivery, and in no other",
  ),
);

const event = fields({
  id: text("an event's id", /^evt_[0-9a-f]{32}$/),
  month,
  threshold: oneOf(thresholds),
  quota: whole(1, maxQuota),
  payload: v.pipe(v.string("JSON as a text"), v.check(isPayload, "an event's payload, as JSON")),
  created_at: instant,
  deliveries: distinct(delivery, "channel", ({ channel }) => channel),
});

const secret = text("a webhook's signing secret", webhookSecretForm);

const account = v.pipe(
  fields({
    id,
    name: accountName,
    plan: oneOf(planNames),
    burst: whole(1, maxBurst),
    quota: whole(1, maxQuota),
    webhook: v.nullable(
      v.pipe(
        v.string("a URL"),
        // Loopback addresses are accepted, because each delivery checks the address by this server's settings.
        v.rawCheck(({ dataset, addIssue }) => {
          const fault = dataset.typed ? storedWebhookFault(dataset.value, true) : undefined;
          if (fault !== undefined) addIssue({ message: fault });
        }),
      ),
    ),
    webhook_secret: v.nullable(secret),
    webhook_old_secret: v.nullable(secret),
    webhook_old_secret_until: v.nullable(instant),
    email: v.nullable(emailAddress),
    suspended_at: v.nullable(instant),
    created_at: instant,
    keys,
    usage: distinct(fields({ month, used }), "month", ({ month }) => month),
    days: v.pipe(
      distinct(fields({ day, used }), "day", ({ day }) => day),
      v.maxLength(maxDays, `up to ${maxDays} days`),
    ),
    events: distinct(
      event,
      "month, threshold and quota",
      ({ month, threshold, quota }) => `${month} ${threshold} ${quota}`,
    ),
    /** Normalised e-mail addresses that signed up for the account. */
    mailboxes: distinct(
      fields({ mailbox: text("a mailbox", /^[!-?A-~]{0,64}@[!-?A-~]{1,252}$/), created_at: instant }),
      "mailbox",
      ({ mailbox }) => mailbox,
    ),
  }),
  v.check(
    ({ webhook, webhook_secret }) => (webhook === null) === (webhook_secret === null),
    "webhook and webhook_secret both, or neither",
  ),
  v.check(
    ({ webhook, webhook_old_secret, webhook_old_secret_until }) =>
      (webhook_old_secret === null) === (webhook_old_secret_until === null) &&
      (webhook !== null || webhook_old_secret === null),
    "webhook_old_secret and webhook_old_secret_until both, beside a webhook, or neither",
  ),
);

/** Writes all accounts as JSON lines, in the order of their ids. The first line has the number of accounts. */
export function exportAccounts(store: Store): string {
  const ids = store.accounts.ids();
  const lines = ids.map((account) => JSON.stringify(store.records.read(account), withIsoTimes));
  return [JSON.stringify({ format, version, accounts: ids.length }), ...lines]
    .map((line) => `${line}\n`)
    .join("");
}

function withIsoTimes(name: string, value: unknown): unknown {
  return /_(?:at|until)$/.test(name) && typeof value === "number" ? isoTime(value) : value;
}

/**
 * Imports an export under the same ids. An existing account is skipped if it is identical, otherwise refused.
 *
 * @param subject the input's name in messages, such as the file's name
 * @returns the new accounts, the number of skipped accounts (`known`), and messages (`refused` and `miscount`)
 * @throws DataError when the first line isn't the first line of an export of this version
 */
export function importAccounts(
  store: Store,
  lines: string,
  subject: string,
): { entered: AccountRecord[]; known: number; refused: string[]; miscount: string | undefined } {
  const [first, ...rest] = lines.split("\n");
  while (rest.at(-1)?.trim() === "") rest.pop();
  const { version: found, accounts } = parsed(head, first, `${subject}, line 1`);
  if (found !== version) throw new DataError(`${subject}, line 1: version`, `${found}`, `${version}`);
  const miscount =
    rest.length === accounts
      ? undefined
      : new DataError(
          subject,
          `${rest.length} accounts`,
          `${accounts}, as its first line says: export them again, or import the ones present with --skip-invalid`,
        ).message;
  const entered: AccountRecord[] = [];
  const refused: string[] = [];
  for (const [i, line] of rest.entries())
    try {
      const record = parsed(account, line, `${subject}, line ${i + 2}`);
      const about = `${subject}, line ${i + 2}: account ${record.name}`;
      if (store.atomically(() => enter(store, record, about))) entered.push(record);
    } catch (error) {
      if (!(error instanceof DataError)) throw error;
      refused.push(error.message);
    }
  return { entered, known: rest.length - entered.length - refused.length, refused, miscount };
}

/**
 * Enters an account, unless it exists already. @returns whether the account is new @throws DataError when an existing
 * account with the same id or name differs, or the new account can't be stored
 */
function enter(store: Store, record: AccountRecord, about: string): boolean {
  const before = store.accounts.byId(record.id) ?? store.accounts.byName(record.name);
  if (before === undefined) {
    checkFree(store, record, about);
    try {
      store.records.enter(record);
    } catch (error) {
      if (!isConstraintError(error)) throw error;
      throw new DataError(about, error.message, "parts that belong together, each once");
    }
    return true;
  }
  const there = store.records.read(before.id);
  const [difference] =
    Object.entries(record).find(
      ([name, value]) => !isDeepStrictEqual(value, there[name as keyof AccountRecord]),
    ) ?? [];
  if (difference !== undefined)
    throw new DataError(
      about,
      `the account ${before.name} with other ${difference} of that id or name`,
      "none, or the same",
    );
  return false;
}

const isConstraintError = (error: unknown): error is Error =>
  error instanceof Error && "code" in error && /^SQLITE_CONSTRAINT/.test(String(error.code));

/** @throws DataError when a key, event or mailbox of the account is in use, or the id belonged to a deleted account */
function checkFree(store: Store, { id, keys, events, mailboxes }: AccountRecord, about: string): void {
  if (store.accounts.wasDeleted(id))
    throw new DataError(about, `the id ${id} of an account that was deleted`, "one that no account had");
  const taken = [
    ...keys.map(({ id }) => ({ what: `key ${id}`, isTaken: store.keys.byId(id) !== undefined })),
    ...keys.map(({ id, hash }) => ({
      what: `the hash of its key ${id}`,
      isTaken: store.keys.byHash(Buffer.from(hash, "hex")) !== undefined,
    })),
    ...events.map(({ id }) => ({ what: `event ${id}`, isTaken: store.events.byId(id) !== undefined })),
    ...mailboxes.map(({ mailbox }) => ({ what: mailbox, isTaken: store.signups.hasAccount(mailbox) })),
  ].find(({ isTaken }) => isTaken);
  if (taken !== undefined)
    throw new DataError(about, `${taken.what}, which another account has`, "what no other has");
}

function parsed<Schema extends v.GenericSchema>(
  schema: Schema,
  line: string,
  about: string,
): v.InferOutput<Schema> {
  const value = jsonIn(line, about, "a line of JSON");
  const result = v.safeParse(schema, value, { abortEarly: true, abortPipeEarly: true });
  if (result.success) return result.output;
  const [issue] = result.issues;
  const path = v.getDotPath(issue) ?? "";
  const subject = [about, ...accountIn(value), ...(path === "" ? [] : [path])].join(": ");
  if (issue.message === unknownField)
    throw new DataError(subject, unknownField, "only fields that the command accounts export writes");
  throw new DataError(subject, foundIn(issue.input, path), issue.message);
}

/** Names the account of a line for messages, in a list. The list is empty if the line has no name. */
function accountIn(line: unknown): string[] {
  const found = v.safeParse(v.object({ name: v.string() }), line);
  if (!found.success) return [];
  const { name } = found.output;
  return [`account ${v.is(accountName, name) ? name : shown(name)}`];
}

/** A value as messages show it, without secrets. */
function foundIn(value: unknown, path: string): string {
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "an object";
  if (typeof value !== "string") return String(value);
  if (/(?:secret|hash)[^.]*$/.test(path)) return `another text of ${value.length} characters`;
  return path.endsWith("webhook") ? shownAddress(value) : shown(value);
}
