import { createHash, randomBytes } from "node:crypto";
import * as v from "valibot";
import { reasonOf } from "../../../engine/query.ts";
import { makeKey } from "../../accounts/changes.ts";
import { maxNameLength } from "../../accounts/names.ts";
import { ApiError } from "../../api/errors.ts";
import type { Core } from "../../part.ts";
import { clientOf } from "../../serving/client-address.ts";
import type { Email } from "../../shared/email.ts";
import { aPersonName, maxPersonNameLength } from "../../shared/form-rules.ts";
import type { PortalReply } from "../../shared/messages.ts";
import { plans } from "../../shared/plans.ts";
import { emailAddress } from "../../shared/schemas.ts";
import type { Signup, Store } from "../../store/store.ts";
import { invalid } from "./fields.ts";
import { tooMany } from "./rate-limits.ts";
import { errorReply, unavailable } from "./reply.ts";
import type { PortalSettings } from "./settings.ts";

/** Makes accounts for people. Limits the signups per day of each client and in total, and accounts per mailbox. */

const daySeconds = 86_400;
/** Hours for which the link in an e-mail works. Later signups delete older links. */
export const linkHours = daySeconds / 3600;
export const newcomersPlan = "free";
export const maxSignupsPerClient = 5;
const maxLinksPerMailbox = 3;
/** Minimum milliseconds between opening and sending the form. A faster sender is probably a bot, and is refused. */
export const minElapsedMs = 2000;
export const signupFields = v.strictObject({
  name: v.pipe(
    v.string(aPersonName),
    v.trim(),
    v.minLength(1, aPersonName),
    v.maxLength(maxPersonNameLength, aPersonName),
    v.regex(/^\P{Cc}*$/u, "a name in one line"),
  ),
  email: v.pipe(v.string("an e-mail address"), v.trim(), emailAddress),
  /** A hidden field, which bots fill in. */
  website: v.optional(v.literal("", "nothing"), ""),
  elapsedMs: v.pipe(
    v.number("a number"),
    v.finite("a finite number"),
    v.minValue(minElapsedMs, `at least ${minElapsedMs}`),
  ),
});
export const linkFields = v.strictObject({ token: v.string("the token of a link") });

export interface SignupOptions extends Pick<Core, "store" | "log" | "mailer"> {
  settings: PortalSettings;
  /** For links, without a slash at the end. */
  publicUrl: string;
  /** Runs a change in a transaction, perhaps several times. So the change must itself read what it depends on. */
  write<Result>(now: Date, work: () => Result): Promise<Result>;
}

/**
 * Makes an account, or mails a link that makes one. A mailbox gets at most `maxLinksPerMailbox` links a day.
 * @throws ApiError when the person can't have an account now
 */
export async function signUp(
  { name, email }: v.InferOutput<typeof signupFields>,
  address: string,
  options: SignupOptions,
  now: Date,
): Promise<PortalReply> {
  const signup = { mailbox: mailboxOf(email), address: clientOf(address) };
  const isMailed = options.settings.signup === "email";
  const { store } = options;
  /**
   * @returns the number of the mailbox's signups within a day
   * @throws ApiError if the client's or the server's limit is reached, or if no link is mailed and the mailbox has an
   *   account
   */
  const check = () => {
    const counts = store.signups.countsSince(dayBefore(now), signup);
    if (counts.address >= maxSignupsPerClient)
      throw tooMany(`there were ${maxSignupsPerClient} signups from your address within a day`, daySeconds);
    if (counts.all >= options.settings.signupDaily)
      throw tooMany("the server's signups for a day are used up", daySeconds);
    if (!isMailed && store.signups.hasAccount(signup.mailbox)) throw mailboxTaken();
    return counts.mailbox;
  };
  const linksBefore = check();
  if (isMailed)
    return linksBefore < maxLinksPerMailbox ? mailLink(name, email, signup, check, options, now) : linkSent;
  return options.write(now, () => {
    // Other people may have signed up since the first check.
    check();
    store.signups.forget(dayBefore(now));
    return make(name, email, options, now, (account) => store.signups.create(signup, account, now));
  });
}

const linkSent: PortalReply = { status: 202, body: { sent: true } };

/** Mails a link. The reply doesn't depend on whether the mailbox has an account, so that strangers can't find this out. */
async function mailLink(
  name: string,
  email: string,
  signup: Signup,
  check: () => number,
  options: SignupOptions,
  now: Date,
): Promise<PortalReply> {
  const { store, publicUrl, write } = options;
  const token = randomBytes(32).toString("base64url");
  const link = { token: hashed(token), name, email };
  // The e-mail has no text from the form. Otherwise the form could send messages to strangers.
  const text = `Somebody asked for an API key with this e-mail address. If it was you, open this link within ${linkHours} hours:\n\n${publicUrl}/signup?token=${token}\n\nIf it wasn't you, ignore this e-mail.\n`;
  const id = `signup-${link.token.toString("hex").slice(0, 32)}`;
  const subject = "Your API key for hospital charges: confirm your address";
  const isNew = await write(now, () => {
    if (check() >= maxLinksPerMailbox) return false;
    store.signups.forget(dayBefore(now));
    store.signups.createLink(signup, link, now);
    return true;
  });
  if (isNew) await mail({ to: email, subject, text, id }, options);
  return linkSent;
}

async function mail(email: Email, { mailer, log }: SignupOptions): Promise<void> {
  try {
    if (mailer === undefined) throw new Error("SMTP_URL isn't set");
    await mailer.send(email);
  } catch (error) {
    log.error({ reason: reasonOf(error) }, "the link of a signup can't be mailed");
    throw unavailable("the e-mail can't be sent now; try again later", 60);
  }
}

/**
 * Makes the account of a mailed link. If the mailbox has an account already, uses the link up and returns an error reply.
 * @throws ApiError when the link isn't valid
 */
export async function confirmSignup(token: string, options: SignupOptions, now: Date): Promise<PortalReply> {
  const { store } = options;
  const find = () => {
    const link = store.signups.byToken(hashed(token), dayBefore(now));
    if (link === undefined)
      throw invalid("token", "not valid", `the token of an unused link, at most ${linkHours} hours old`);
    return link;
  };
  find();
  return options.write(now, () => {
    // The link or its mailbox may have been used since the first check.
    const link = find();
    if (store.signups.hasAccount(link.mailbox)) {
      store.signups.useLink(link.id, null);
      return errorReply(mailboxTaken());
    }
    return make(link.name, link.email, options, now, (account) => store.signups.useLink(link.id, account));
  });
}

function make(
  person: string,
  email: string,
  { store }: SignupOptions,
  now: Date,
  enter: (account: number) => void,
): PortalReply {
  const fields = {
    plan: newcomersPlan,
    ...plans[newcomersPlan],
    webhook: null,
    webhook_secret: null,
    email,
  } as const;
  const account = store.accounts.create({ name: freeName(person, store), ...fields }, now);
  enter(account.id);
  const { key, id } = makeKey(store, account.id, null, now);
  return { status: 201, body: { account: account.name, plan: account.plan, key, keyId: id } };
}

/** @throws ApiError when signup is off */
export function checkOpen({ settings }: SignupOptions): void {
  if (settings.signup === "off")
    throw new ApiError("signup_closed", "nobody can sign up here: the operator makes accounts");
}

function mailboxTaken(): ApiError {
  return new ApiError("conflict", "somebody has signed up with this e-mail address already", {
    param: "email",
  });
}

function dayBefore(now: Date): Date {
  return new Date(now.getTime() - daySeconds * 1000);
}

function hashed(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

/** Returns an e-mail address in lower case and without a tag. Spellings of the same Gmail address become equal. */
function mailboxOf(email: string): string {
  const [local, domain] = email.toLowerCase().split("@");
  const [name] = local.split("+");
  const isGmail = domain === "gmail.com" || domain === "googlemail.com";
  return isGmail ? `${name.replaceAll(".", "")}@gmail.com` : `${name}@${domain}`;
}

const base32 = "abcdefghijklmnopqrstuvwxyz234567";
/** Length of an account name's random suffix. There are a billion such suffixes. */
const suffixLength = 6;
const maxNameTries = 5;

/**
 * Makes an account name from the ASCII letters and digits of a person's name, and a random suffix. With the suffix, people
 * can't take names that the operator wants for clients' accounts.
 */
function accountName(person: string): string {
  const plain = person
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .replace(/[^0-9A-Za-z]+/g, "-")
    .slice(0, maxNameLength - suffixLength - 1)
    .replace(/^-+|-+$/g, "");
  const suffix = Array.from(randomBytes(suffixLength), (byte) => base32[byte % base32.length]).join("");
  return `${plain || "account"}-${suffix}`;
}

function freeName(person: string, store: Store): string {
  for (let i = 0; i < maxNameTries; i++) {
    const name = accountName(person);
    if (store.accounts.byName(name) === undefined) return name;
  }
  throw unavailable("no free name was found for the account; try again", 1);
}
