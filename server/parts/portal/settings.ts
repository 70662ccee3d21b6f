import * as v from "valibot";
import { DataError } from "../../../engine/query.ts";
import { wholeNumber } from "../../shared/schemas.ts";
import { isOrigin, origins, type Settings, type ValuesOf } from "../../shared/settings.ts";

/** Defines the portal's settings, with defaults that depend on the core's settings. */

const maxSignupDaily = 100_000;
const maxAddressRate = 1_000_000;
const maxAddressDaily = 1_000_000_000;
/** Label by which every server recognizes the pages' keys. */
export const pagesLabel = "pages";
/** Default of `PORTAL_ACCOUNT` if `STATE_DIR` isn't set. */
const trialAccount = "explore";

export const settingTable = {
  PORTAL: v.pipe(
    v.optional(v.picklist(["on", "off"], "on or off"), "on"),
    v.description("whether to serve pages for people at every path outside the API"),
  ),
  PORTAL_ACCOUNT: v.pipe(
    v.optional(
      v.pipe(
        v.string(),
        v.check((name) => !name.includes("://"), "an account's name"),
      ),
    ),
    v.description(
      "the account whose rate and quota apply to visitors without a key; without STATE_DIR one is created",
    ),
  ),
  PORTAL_ADDRESS_RATE: v.pipe(
    v.optional(wholeNumber(0, maxAddressRate), "10"),
    v.description(
      "requests per second that an address may make with the pages' key, up to 40 at once; 0 for no limit",
    ),
  ),
  PORTAL_ADDRESS_DAILY: v.pipe(
    v.optional(wholeNumber(0, maxAddressDaily), "2000"),
    v.description("requests per UTC day that an address may make with the pages' key; 0 for no limit"),
  ),
  PUBLIC_URL: v.pipe(
    v.optional(
      v.pipe(v.string(), v.check(isOrigin, "an address such as https://prices.example.org, without a path")),
    ),
    v.description("public address of the pages, for links in e-mails; default: http://HOST:PORT"),
  ),
  EMBED_ORIGINS: v.pipe(
    v.optional(origins),
    v.description(
      "origins whose pages may show a picture (/embed/…) in a frame, separated by commas; * for all",
    ),
  ),
  SIGNUP: v.pipe(
    v.optional(v.picklist(["open", "email", "off"], "open, email or off")),
    v.description(
      "whether people may create accounts: open, email (the server e-mails a link first) or off; default: open without STATE_DIR, else off",
    ),
  ),
  SIGNUP_DAILY: v.pipe(
    v.optional(wholeNumber(0, maxSignupDaily), "200"),
    v.description("maximum number of signups per day, of all people together"),
  ),
};

export type PortalSettings = ReturnType<typeof portalSettings>;

/** @throws DataError when SIGNUP needs e-mail and no mail server is set */
export function portalSettings(own: ValuesOf<typeof settingTable>, core: Settings) {
  const signup: "open" | "email" | "off" = own.SIGNUP ?? (core.isTrial ? "open" : "off");
  if (signup === "email" && core.SMTP_URL === undefined)
    throw new DataError("SIGNUP", '"email"', "SMTP_URL and MAIL_FROM beside it");
  const portalAccount = own.PORTAL_ACCOUNT ?? (core.isTrial ? trialAccount : undefined);
  return {
    signup,
    signupDaily: own.SIGNUP_DAILY,
    webhookAllowLoopback: core.WEBHOOK_ALLOW_LOOPBACK,
    /** Name of the account whose key the pages use; undefined if visitors need their own key. */
    portalAccount,
    addressLimits: { perSecond: own.PORTAL_ADDRESS_RATE, perDay: own.PORTAL_ADDRESS_DAILY },
    mayMakeAccount: core.isTrial && portalAccount === trialAccount,
    /** The public URL of the pages; undefined for the address on which the server listens. */
    publicUrl: own.PUBLIC_URL,
    embedOrigins: own.EMBED_ORIGINS ?? [],
  };
}
