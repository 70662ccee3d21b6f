import * as v from "valibot";
import { DataError } from "../../../engine/query.ts";
import { definePart } from "../../part.ts";
import { isPlainPath, pathExpected } from "../../shared/paths.ts";
import { wholeNumber } from "../../shared/schemas.ts";
import { secretSetting } from "../../shared/settings.ts";
import { escapes, writtenUrl } from "../../shared/urls.ts";

/** The part through which several servers share accounts, keys, ceilings and events in PostgreSQL. */

const form = `postgres://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]…]/DATABASE[?sslmode=…], ${escapes}`;

const sslModes: readonly string[] = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"];

const files: readonly string[] = ["sslrootcert", "sslcert", "sslkey"];
const parameters: readonly string[] = [
  ...["sslmode", ...files, "channel_binding", "application_name", "fallback_application_name"],
  ...["connect_timeout", "options", "target_session_attrs", "keepalives", "keepalives_idle"],
  ...["keepalives_interval", "keepalives_count", "tcp_user_timeout"],
];

/**
 * Splits a URL with several hosts into URLs with one host each, in the same order.
 * @throws DataError when the URL isn't valid; the error shows none of its values
 */
export function databaseUrls(text: string): string[] {
  const written = writtenUrl(text);
  const [, scheme] = /^(postgres(?:ql)?:\/\/)/.exec(text) ?? [];
  if (written === undefined || scheme === undefined || !/^\/[^/?&]+(\?|$)/.test(written.rest))
    throw new DataError("DATABASE_URL", "another form", form);
  // A login whose colon and @ are percent-encoded would be read as a host, and be looked up. Only a folder of sockets
  // may be encoded. It begins with a slash.
  if (written.hosts.some((host) => host.includes("%") && !/^%2f/i.test(host)) || text.includes("%00"))
    throw new DataError("DATABASE_URL", "another form", form);
  const urls = written.hosts.map((host) => `${scheme}${written.login}${host}${written.rest}`);
  const parsed = urls.map((url) => URL.parse(url));
  // A parser removes a name such as `..`.
  if (parsed.some((url) => !url?.hostname || url.pathname.length < 2))
    throw new DataError("DATABASE_URL", "another form", form);
  const { searchParams } = new URL(urls[0]);
  // The driver would ignore other parameters, such as `ssl` or `sslMode`, and might connect without TLS, or to another
  // host.
  const names = [...searchParams.keys()];
  if (names.some((name, i) => !parameters.includes(name) || names.indexOf(name) < i))
    throw new DataError(
      "DATABASE_URL",
      "a parameter that isn't known, or is there twice",
      `${parameters.join(", ")}, each once`,
    );
  const mode = searchParams.get("sslmode");
  if (mode !== null && !sslModes.includes(mode))
    throw new DataError("DATABASE_URL", "another sslmode", sslModes.join(", "));
  // The driver doesn't do channel binding. Verifying the server's certificate also prevents a man in the middle.
  if (searchParams.has("channel_binding") && mode !== "verify-full")
    throw new DataError("DATABASE_URL", "channel_binding without sslmode=verify-full", "both, or neither");
  if (mode === "verify-ca" && !searchParams.has("sslrootcert"))
    throw new DataError("DATABASE_URL", "sslmode=verify-ca without sslrootcert", "both, or verify-full");
  const file = files.find((name) => searchParams.has(name) && !isPlainPath(searchParams.get(name) ?? ""));
  if (file !== undefined) throw new DataError("DATABASE_URL", `another ${file}`, pathExpected);
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
