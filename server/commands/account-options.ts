import * as v from "valibot";
import { DataError, shown } from "../../engine/query.ts";
import { accountName, webhookAt } from "../accounts/changes.ts";
import { webhookFault } from "../accounts/webhook-url.ts";
import { maxBurst, maxQuota, planNames, plans } from "../shared/plans.ts";
import { emailAddress, wholeNumber } from "../shared/schemas.ts";
import type { Account, NewAccount } from "../store/store.ts";

/** What an operator says of an account, and what the account is by that. */

export const accountOptions = v.object({
  account: accountName,
  plan: v.optional(v.picklist(planNames, `one of ${planNames.join(", ")}`)),
  burst: v.optional(wholeNumber(1, maxBurst)),
  quota: v.optional(wholeNumber(1, maxQuota)),
  webhook: v.optional(v.string()),
  email: v.optional(
    v.pipe(
      v.string(),
      v.check(
        (text) => text === "none" || v.is(emailAddress, text),
        "an e-mail address such as ann@example.com, or none",
      ),
    ),
  ),
});
export type AccountOptions = v.InferOutput<typeof accountOptions>;

/** The options' usage, without the account's name. */
export const accountUsage = `[--plan ${planNames.join("|")}] [--burst N --quota N] [--webhook URL|none] [--email ADDRESS|none]`;

/** An account's plan and ceilings after options: the plan's own, or an enterprise account's numbers. */
function ceilings({ account, plan = undefined, burst, quota }: AccountOptions, known: Account | undefined) {
  const name = plan ?? known?.plan;
  if (name === undefined)
    throw new DataError("--plan", "nothing", `a plan, because the account ${account} is new`);
  const fixed = plans[name];
  if (fixed !== undefined) {
    if (burst !== undefined || quota !== undefined)
      throw new DataError("--burst or --quota", "a number", `none for the plan ${name}, which has its own`);
    return { plan: name, ...fixed };
  }
  const before = known?.plan === name ? known : undefined;
  const numbers = { burst: burst ?? before?.burst, quota: quota ?? before?.quota };
  if (numbers.burst === undefined || numbers.quota === undefined)
    throw new DataError("--burst and --quota", "not both", `both for the plan ${name}`);
  return { plan: name, burst: numbers.burst, quota: numbers.quota };
}

/** The words that show a secret, which nothing shows a second time. */
export function secretShown(secret: string): string {
  return `webhook signing secret, shown this once: ${secret}\n`;
}

/** An address after an option: what it was, unless it is named; none is none. */
function addressAsked(option: string | undefined, known: string | null = null): string | null {
  if (option === undefined) return known;
  return option === "none" ? null : option;
}

/** @throws DataError when a new address would do if webhooks to this machine were allowed */
function checkLoopback(url: string | null, known: Account | undefined, allowLoopback: boolean): void {
  if (url === null || url === known?.webhook || allowLoopback) return;
  const fault = webhookFault(url, false);
  if (fault === undefined || webhookFault(url, true) !== undefined) return;
  const hint = `${fault}; WEBHOOK_ALLOW_LOOPBACK=true lets webhooks go to this machine`;
  throw new DataError("--webhook", shown(url), hint);
}

/**
 * The account that options ask for.
 *
 * @param known the account of that name, if there is one: what the options don't name stays
 * @throws DataError when the options don't go together
 */
export function accountAsked(
  options: AccountOptions,
  known: Account | undefined,
  allowLoopback: boolean,
): Omit<Account, "id" | "suspended_at"> {
  const webhook = addressAsked(options.webhook, known?.webhook);
  checkLoopback(webhook, known, allowLoopback);
  return {
    name: options.account,
    ...ceilings(options, known),
    ...webhookAt(webhook, known, allowLoopback, "--webhook"),
    email: addressAsked(options.email, known?.email),
  };
}

/** What is told apart when an account is changed, as an operator reads it. */
function described({
  plan,
  burst,
  quota,
  webhook,
  email,
}: NewAccount): [what: string, value: string | number][] {
  return [
    ["plan", plan],
    ["burst", burst],
    ["quota", quota],
    ["webhook", webhook ?? "none"],
    ["email", email ?? "none"],
  ];
}

/** What differs between an account as it is and as it is asked for. */
export function differences(before: NewAccount, after: NewAccount) {
  const wanted = described(after);
  return described(before)
    .map(([what, value], i) => ({ what, before: value, after: wanted[i][1] }))
    .filter((pair) => pair.before !== pair.after);
}
