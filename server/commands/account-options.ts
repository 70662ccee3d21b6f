import * as v from "valibot";
import { accountName, webhookAt } from "../accounts/changes.ts";
import { checkedOption } from "../shared/arguments.ts";
import { channels } from "../shared/channels.ts";
import { maxBurst, maxQuota, planNames, plans } from "../shared/plans.ts";
import { emailAddress, wholeNumber } from "../shared/schemas.ts";
import type { Account, NewAccount } from "../store/store.ts";

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

export const accountUsage = `[--plan ${planNames.join("|")}] [--burst N --quota N] [--webhook URL|none] [--email ADDRESS|none]`;

/**
 * Returns an account's plan and limits. If the plan has no fixed limits and stays the same, limits that aren't given
 * stay, too.
 * @throws Error when an option is missing or forbidden
 */
function ceilings({ account, plan = undefined, burst, quota }: AccountOptions, known: Account | undefined) {
  const name = plan ?? known?.plan;
  if (name === undefined)
    throw new Error(`account ${account} is new, so it needs --plan: ${planNames.join(", ")}`);
  // A plan of an earlier release has the account's own numbers, like enterprise.
  const planName = planNames.find((plan) => plan === name);
  const fixed = planName && plans[planName];
  if (fixed !== undefined) {
    if (burst !== undefined || quota !== undefined)
      throw new Error(`plan ${name} has its own burst and quota: leave out --burst and --quota`);
    return { plan: name, ...fixed };
  }
  const before = known?.plan === name ? known : undefined;
  const numbers = { burst: burst ?? before?.burst, quota: quota ?? before?.quota };
  if (numbers.burst === undefined || numbers.quota === undefined)
    throw new Error(`plan ${name} needs --burst and --quota`);
  return { plan: name, burst: numbers.burst, quota: numbers.quota };
}

export function secretShown(secret: string): string {
  return `webhook signing secret, shown this once: ${secret}\n`;
}

function addressAsked(option: string | undefined, known: string | null = null): string | null {
  if (option === undefined) return known;
  return option === "none" ? null : option;
}

/**
 * Returns the account after the options are applied.
 * @param known the account before; undefined for a new account
 * @throws Error when an option is wrong, missing or forbidden
 */
export function accountAsked(
  options: AccountOptions,
  known: Account | undefined,
  allowLoopback: boolean,
): Omit<Account, "id" | "suspended_at"> {
  const webhook = addressAsked(options.webhook, known?.webhook);
  return {
    name: options.account,
    ...ceilings(options, known),
    ...checkedOption("--webhook", () => webhookAt(webhook, known, allowLoopback, "--webhook")),
    email: addressAsked(options.email, known?.email),
  };
}

const reported = ["plan", "burst", "quota", ...channels] as const;

/** Lists an account's changes of plan, limits and addresses, with `none` instead of null. */
export function differences(before: NewAccount, after: NewAccount) {
  return reported
    .map((what) => ({ what, before: before[what] ?? "none", after: after[what] ?? "none" }))
    .filter((pair) => pair.before !== pair.after);
}
