import { createHash, randomBytes } from "node:crypto";
import type { Logger } from "pino";
import * as v from "valibot";
import { reasonOf } from "../../../engine/query.ts";
import { makeKey } from "../../accounts/changes.ts";
import { maxNameLength } from "../../accounts/names.ts";
import type { PortalReply } from "../../shared/messages.ts";
import { plans } from "../../shared/plans.ts";
import { emailAddress } from "../../shared/schemas.ts";
import type { Settings } from "../../shared/settings.ts";
import type { Signup, Store } from "../../store/store.ts";
import type { Letter } from "../notifications/letter.ts";
import type { Mailer } from "../notifications/mail.ts";
import { clientOf } from "./floods.ts";
import { invalid, Refusal, readFields, tooMany } from "./refusal.ts";

/** People make accounts: so many a day from an address and in all, and one for a mailbox. */

const daySeconds = 86_400;
const maxSignupsPerClient = 5;
const maxLinksPerMailbox = 3;
/** A mail server that hangs keeps each for seconds, and with it one of the requests that a serving thread may ask. */
const maxLettersUnderWay = 16;
/** Whoever fills the form in faster is a program. */
const minElapsedMs = 2000;
const maxPersonNameLength = 100;

const aName = `1 to ${maxPersonNameLength} characters`;
const signupFields = v.strictObject({
  name: v.pipe(
    v.string(aName),
    v.trim(),
    v.minLength(1, aName),
    v.maxLength(maxPersonNameLength, aName),
    v.regex(/^\P{Cc}*$/u, "a name in one line"),
  ),
  email: v.pipe(v.string("an e-mail address"), v.trim(), emailAddress),
  /** People don't see it, and programs fill it in. */
  website: v.optional(v.literal("", "nothing"), ""),
  elapsedMs: v.pipe(
    v.number("a number"),
    v.finite("a finite number"),
    v.minValue(minElapsedMs, `at least ${minElapsedMs}`),
  ),
});
const linkFields = v.strictObject({ token: v.string("the token of a link") });

export interface SignupOptions {
  store: Store;
  log: Logger;
  settings: Pick<Settings, "signup" | "signupDaily">;
  mailer: Mailer | undefined;
  /** Those that the mail server hasn't taken yet. */
  letters: { underWay: number };
  /** Where links lead: the portal's address without a slash at its end. */
  publicUrl: string;
  /** Runs what writes, again if others have changed something meanwhile: so what it goes by, it looks up itself. */
  write<Result>(now: Date, work: () => Result): Promise<Result>;
}

/** @throws Refusal when there is no account for this person now */
export async function signUp(
  body: string,
  address: string,
  options: SignupOptions,
  now: Date,
): Promise<PortalReply> {
  checkOpen(options);
  const { name, email } = readFields(signupFields, body);
  const signup = { mailbox: mailboxOf(email), address: clientOf(address) };
  const isMailed = options.settings.signup === "email";
  const { store } = options;
  /** @returns the mailbox's signups within a day */
  const check = () => {
    const counts = store.signups.countsSince(dayBefore(now), signup);
    if (counts.address >= maxSignupsPerClient)
      throw tooMany(`there were ${maxSignupsPerClient} signups from your address within a day`, daySeconds);
    if (counts.all >= options.settings.signupDaily)
      throw tooMany("there were as many signups within a day as there may be", daySeconds);
    if (!isMailed && store.signups.hasAccount(signup.mailbox)) throw mailboxTaken();
    return counts.mailbox;
  };
  const linksBefore = check();
  if (isMailed)
    return linksBefore < maxLinksPerMailbox ? mailLink(name, email, signup, check, options, now) : linkSent;
  return options.write(now, () => {
    // Others may have signed up meanwhile.
    check();
    store.signups.forget(dayBefore(now));
    return make(name, email, options, now, (account) => store.signups.create(signup, account, now));
  });
}

const linkSent: PortalReply = { status: 202, body: { sent: true } };

/**
 * Mails a link. Whether the mailbox has an account makes no difference until the link is used, so that nobody else
 * learns it.
 */
async function mailLink(
  name: string,
  email: string,
  signup: Signup,
  check: () => number,
  { store, log, mailer, letters, publicUrl, write }: SignupOptions,
  now: Date,
): Promise<PortalReply> {
  if (letters.underWay >= maxLettersUnderWay)
    throw new Refusal("unavailable", "too many e-mails wait to be sent; try again later", {
      headers: { "Retry-After": "10" },
    });
  const token = randomBytes(32).toString("base64url");
  const link = { token: hashed(token), name, email };
  // What a stranger has typed isn't in it, so that it is no letter of theirs.
  const text = `Somebody, you we hope, asked for an API key with this e-mail address. To get it, open this link within 24 hours:\n\n${publicUrl}/signup?token=${token}\n\nIf it wasn't you, do nothing.\n`;
  const id = `signup-${link.token.toString("hex").slice(0, 32)}`;
  const subject = "Your API key for hospital charges: confirm your address";
  letters.underWay++;
  try {
    const isNew = await write(now, () => {
      if (check() >= maxLinksPerMailbox) return false;
      store.signups.forget(dayBefore(now));
      store.signups.createLink(signup, link, now);
      return true;
    });
    if (isNew) await mail({ to: email, subject, text, id }, mailer, log);
  } finally {
    letters.underWay--;
  }
  return linkSent;
}

async function mail(letter: Letter, mailer: Mailer | undefined, log: Logger): Promise<void> {
  try {
    if (mailer === undefined) throw new Error("SMTP_URL isn't set");
    await mailer.send(letter);
  } catch (error) {
    log.error({ reason: reasonOf(error) }, "the link of a signup can't be mailed");
    throw new Refusal("unavailable", "the e-mail can't be sent now; try again later", {
      headers: { "Retry-After": "60" },
    });
  }
}

/** @throws Refusal when the link isn't valid, or its mailbox has an account */
export async function confirmSignup(body: string, options: SignupOptions, now: Date): Promise<PortalReply> {
  checkOpen(options);
  const { token } = readFields(linkFields, body);
  const { store } = options;
  const find = () => {
    const link = store.signups.byToken(hashed(token), dayBefore(now));
    if (link === undefined)
      throw invalid("token", "not valid", "that of a link which is unused and of the last 24 hours");
    return link;
  };
  find();
  return options.write(now, () => {
    // It may have been used meanwhile, or its mailbox.
    const link = find();
    if (store.signups.hasAccount(link.mailbox)) {
      store.signups.useLink(link.id, null);
      return mailboxTaken().reply;
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
  const fields = { plan: "free", ...plans.free, webhook: null, webhook_secret: null, email } as const;
  const account = store.accounts.create({ name: freeName(person, store), ...fields }, now);
  enter(account.id);
  const { key, id } = makeKey(store, account.id, null, now);
  return { status: 201, body: { account: account.name, plan: account.plan, key, keyId: id } };
}

function checkOpen({ settings }: SignupOptions): void {
  if (settings.signup === "off")
    throw new Refusal("signup_closed", "nobody can sign up here: the operator makes accounts");
}

function mailboxTaken(): Refusal {
  return new Refusal("conflict", "somebody has signed up with this e-mail address already", {
    param: "email",
  });
}

function dayBefore(now: Date): Date {
  return new Date(now.getTime() - daySeconds * 1000);
}

function hashed(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

/** The one form of an e-mail address's spellings: of any case, with a tag or without, and Gmail's dots. */
function mailboxOf(email: string): string {
  const [local, domain] = email.toLowerCase().split("@");
  const [name] = local.split("+");
  const isGmail = domain === "gmail.com" || domain === "googlemail.com";
  return isGmail ? `${name.replaceAll(".", "")}@gmail.com` : `${name}@${domain}`;
}

const base32 = "abcdefghijklmnopqrstuvwxyz234567";
/** A billion of them. */
const suffixLength = 6;
const maxNameTries = 5;

/**
 * An account's name after a person's: its letters and digits, as far as they are ASCII's, and a random end. So nobody
 * can take, before the operator does, the name that the operator will give a client's account.
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
  throw new Refusal("unavailable", "no free name was found for the account; try again", {
    headers: { "Retry-After": "1" },
  });
}
