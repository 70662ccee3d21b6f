import * as v from "valibot";
import { DataError } from "../../../engine/query.ts";
import { definePart } from "../../part.ts";
import { wholeNumber } from "../../shared/schemas.ts";
import { secretSetting } from "../../shared/settings.ts";

/** Accounts, keys, ceilings and events that several servers share through PostgreSQL, as a part. */

const form =
  "postgres://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]…]/DATABASE[?sslmode=…], in a password %40 for @, %3A for :, %2F for /";

const sslModes: readonly string[] = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"];

/**
 * Splits a URL with several hosts into URLs with one host each, in the same order.
 * @throws DataError whose parts don't have the URL's password
 */
export function databaseUrls(text: string): string[] {
  const [, scheme, user = "", hosts, rest] =
    /^(postgres(?:ql)?:\/\/)([^@/?]*@)?([^/?@]+)(\/[^?/]+(?:\?.*)?)$/.exec(text) ?? [];
  const urls = hosts?.split(",").map((host) => `${scheme}${user}${host}${rest}`) ?? [];
  if (urls.length === 0 || urls.some((url) => !URL.parse(url)?.hostname))
    throw new DataError("DATABASE_URL", "another form", form);
  const { searchParams } = new URL(urls[0]);
  const mode = searchParams.get("sslmode");
  if (mode !== null && !sslModes.includes(mode))
    throw new DataError("DATABASE_URL", "another sslmode", sslModes.join(", "));
  if (mode === "verify-ca" && !searchParams.has("sslrootcert"))
    throw new DataError("DATABASE_URL", "sslmode=verify-ca without sslrootcert", "both, or verify-full");
  return urls;
}

export const postgresPart = definePart(
  {
    DATABASE_URL: secretSetting(
      "URL of the PostgreSQL database through which several servers share accounts, keys and limits; hosts separated by commas are tried in turn",
      databaseUrls,
    ),
    DATABASE_GRACE: v.pipe(
      v.optional(v.pipe(v.string(), wholeNumber(0, 86_400)), "300"),
      v.description(
        "seconds for which a server goes on alone while the database is away; then, or at once with 0, it answers 503",
      ),
    ),
  },
  ({ DATABASE_URL: urls, DATABASE_GRACE }) => {
    if (urls === undefined) return undefined;
    return {
      shareState: async (context) =>
        (await import("./control.ts")).shareState({ urls, graceMs: 1000 * DATABASE_GRACE }, context),
      runCommand: async (work) => (await import("./command.ts")).runShared(urls, work),
    };
  },
);
