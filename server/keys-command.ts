import { parseArgs } from "node:util";
import * as v from "valibot";
import { DataError, shown } from "../engine/index.ts";
import { readSettings } from "./config.ts";
import { maxNameLength } from "./directory.ts";
import { generateKey, hashKey } from "./keys.ts";
import { maxBurst, maxQuota, planNames, plans } from "./plans.ts";
import { wholeNumber } from "./query.ts";
import { type Account, Store } from "./store.ts";

/** The operator's command for accounts and keys. It works on the database, whether a server runs or not. */

const usage = `usage:
  keys create --account NAME [--plan ${planNames.join("|")}] [--burst N --quota N] [--expires ISO]
  keys list
  keys revoke ID`;

const isoTime = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/;

const expectedName = `1 to ${maxNameLength} ASCII characters, none at the ends a space`;
const createOptions = v.object({
  account: v.pipe(
    v.string("a name: --account is required"),
    v.regex(/^[!-~](?:[ -~]*[!-~])?$/, expectedName),
    v.maxLength(maxNameLength, expectedName),
  ),
  plan: v.optional(v.picklist(planNames, `one of ${planNames.join(", ")}`)),
  burst: v.optional(wholeNumber(1, maxBurst)),
  quota: v.optional(wholeNumber(1, maxQuota)),
  expires: v.optional(
    v.pipe(
      v.string(),
      v.regex(isoTime, "a time such as 2027-01-31T00:00:00Z"),
      v.transform((text) => new Date(text)),
      v.check((date) => !Number.isNaN(date.getTime()), "a time that exists"),
    ),
  ),
});
type CreateOptions = v.InferOutput<typeof createOptions>;

function readCreateOptions(args: string[]): CreateOptions {
  const text = { type: "string" } as const;
  const options = { account: text, plan: text, burst: text, quota: text, expires: text };
  const { values } = parseArgs({ args, options, strict: true });
  const parsed = v.safeParse(createOptions, values, { abortEarly: true });
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  const found = typeof issue.input === "string" ? shown(issue.input) : "nothing";
  throw new DataError(`--${v.getDotPath(issue)}`, found, issue.message);
}

/** The ceilings that options ask for: the plan's, or an enterprise account's own. */
function ceilings({ account, plan, burst, quota }: CreateOptions): Omit<Account, "id"> {
  if (plan === undefined)
    throw new DataError("--plan", "nothing", `a plan, because the account ${account} is new`);
  const fixed = plans[plan];
  if (fixed === undefined) {
    if (burst === undefined || quota === undefined)
      throw new DataError("--burst and --quota", "not both", "both for the plan enterprise");
    return { name: account, plan, burst, quota };
  }
  if (burst !== undefined || quota !== undefined)
    throw new DataError("--burst or --quota", "a number", `none for the plan ${plan}, which has its own`);
  return { name: account, plan, ...fixed };
}

function create(store: Store, options: CreateOptions, now: Date): string {
  if (options.expires !== undefined && options.expires <= now)
    throw new DataError("--expires", options.expires.toISOString(), "a time to come");
  const key = generateKey();
  store.atomically(() => {
    const known = store.account(options.account);
    if (known !== undefined && (options.plan ?? known.plan) !== known.plan)
      throw new DataError(`plan of the account ${known.name}`, String(options.plan), known.plan);
    if (known !== undefined && (options.burst !== undefined || options.quota !== undefined))
      throw new DataError("--burst or --quota", "a number", "none for an account that exists");
    const account = known ?? store.createAccount(ceilings(options), now);
    store.createKey(account.id, hashKey(key), key.slice(-4), options.expires ?? null, now);
  });
  return key;
}

function list(store: Store, now: Date): string {
  const accounts = new Map(store.accounts().map((account) => [account.id, account]));
  const lines = store.keys().map((key) => {
    const account = accounts.get(key.account);
    const expired = key.expires_at !== null && key.expires_at <= now.toISOString();
    const state = key.revoked_at !== null ? "revoked" : expired ? "expired" : "active";
    return [
      key.id,
      account?.name,
      account?.plan,
      `…${key.last4}`,
      state,
      key.created_at,
      key.expires_at ?? "never",
    ];
  });
  const header = ["id", "account", "plan", "key", "state", "created", "expires"];
  return [header, ...lines].map((fields) => `${fields.join("\t")}\n`).join("");
}

function revoke(store: Store, ids: string[], now: Date): void {
  const [id, ...more] = ids;
  if (id === undefined || more.length > 0 || !/^[1-9]\d{0,14}$/.test(id))
    throw new DataError(
      "keys revoke",
      id === undefined ? "nothing" : shown(ids.join(" ")),
      "one key id from keys list",
    );
  if (!store.revokeKey(Number(id), now))
    throw new DataError(`key ${id}`, "none of that id", "one of keys list");
}

function run([command, ...args]: string[], store: Store): string {
  const now = new Date();
  if (command === "create") return `${create(store, readCreateOptions(args), now)}\n`;
  if (command === "list" && args.length === 0) return list(store, now);
  if (command === "revoke") {
    revoke(store, args, now);
    return "";
  }
  throw new Error(usage);
}

const settings = readSettings(process.env);
try {
  if (Array.isArray(settings)) throw new Error(settings.join("\n"));
  const store = Store.open(settings.stateDir);
  try {
    process.stdout.write(run(process.argv.slice(2), store));
  } finally {
    store.close();
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
