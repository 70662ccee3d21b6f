import * as v from "valibot";
import { stateCodes } from "../../engine/query.ts";
import { wholeNumber } from "../shared/schemas.ts";
import { ApiError, echo, echoBare } from "./errors.ts";

/** The schemas of an endpoint's parameters. A schema takes the decoded text, and its messages say what is expected. */
export type Parameters = v.ObjectEntries;

/**
 * Parses a query without its `?`. Returns the decoded values by name, without spaces around them.
 * @throws ApiError `invalid_parameter` for a repeated name, a control character or a wrong encoding
 */
export function parseQuery(query: string): Map<string, string> {
  const values = new Map<string, string>();
  if (query === "") return values;
  // Shortcut: most queries have nothing to decode.
  const isPlain = /^[\w.~&=-]*$/.test(query);
  for (let start = 0; start <= query.length; ) {
    const ampersand = query.indexOf("&", start);
    const end = ampersand < 0 ? query.length : ampersand;
    const part = query.slice(start, end);
    start = end + 1;
    if (part === "") continue;
    const equals = part.indexOf("=");
    const coded = equals < 0 ? part : part.slice(0, equals);
    const name = isPlain ? coded : decodeInQuery(coded, coded, "the parameter name");
    if (values.has(name))
      throw new ApiError("invalid_parameter", `${echo(name)} is given twice, expected once`, {
        param: echoBare(name),
      });
    const value = equals < 0 ? "" : part.slice(equals + 1);
    values.set(name, isPlain ? value : decodeInQuery(value, name).replace(/^ +| +$/g, ""));
  }
  return values;
}

function decodeInQuery(text: string, param: string, what?: string): string {
  return decode(text.replaceAll("+", " "), param, what);
}

/** Decodes a parameter in the path. In a path, `+` is a plus. @throws ApiError `invalid_parameter` */
export function decodeSegment(segment: string, name: string): string {
  // Shortcut: most segments have nothing to decode.
  return /^[\w.-]*$/.test(segment) ? segment : decode(segment, name);
}

/** @param what names the text in errors @throws ApiError `invalid_parameter` */
function decode(text: string, param: string, what = "the value of"): string {
  let decoded: string;
  try {
    // The HTTP server turns bytes that aren't UTF-8 into U+FFFD. A client that means U+FFFD has to escape it.
    if (text.includes("\uFFFD")) throw new URIError("invalid UTF-8");
    decoded = decodeURIComponent(text);
  } catch {
    throw malformed(what, param, "isn't percent-encoded UTF-8");
  }
  if (/\p{Cc}/u.test(decoded)) throw malformed(what, param, "has a control character");
  return decoded;
}

const malformed = (what: string, param: string, fault: string) =>
  new ApiError("invalid_parameter", `${what} ${echo(param)} ${fault}`, { param: echoBare(param) });

export const withHint = (expected: string, hint: string | undefined) =>
  hint === undefined ? expected : `${expected}; ${hint}`;

const abortEarly = { abortEarly: true };

/** Says how to ask for a data year; undefined if the endpoint offers no way. */
function wayToYear(
  path: string,
  isVersioned: boolean,
  entries: Parameters,
  year: string,
): string | undefined {
  const named = /^\d{4}(\.\d+)?$/.test(year) ? year : "{year}";
  if (isVersioned) return `for a data year, request /api/v1/versions/${named}${path}`;
  return "versions" in entries ? `for data years, add versions=${named}` : undefined;
}

/**
 * Checks an endpoint's parameters. Reports unknown names before missing parameters, because a typo causes both errors.
 *
 * @param endpoint the endpoint's path and kind, for errors
 * @throws ApiError `invalid_parameter` or `missing_parameter`
 */
export function checkParameters<Schema extends Parameters>(
  schema: v.ObjectSchema<Schema, undefined>,
  given: ReadonlyMap<string, string>,
  { path = "", kind }: { path?: string; kind?: string } = {},
): v.InferOutput<typeof schema> {
  for (const name of given.keys()) {
    if (Object.hasOwn(schema.entries, name)) continue;
    const names = Object.keys(schema.entries);
    const supported = names.length > 0 ? `supported are ${names.join(", ")}` : "none is supported here";
    const isYear = /^(data_)?(year|version)$/.test(name);
    const way = isYear
      ? wayToYear(path, kind === "versioned", schema.entries, given.get(name) ?? "")
      : undefined;
    const message = withHint(`unknown parameter ${echo(name)}; ${supported}`, way);
    throw new ApiError("invalid_parameter", message, { param: echoBare(name) });
  }
  const input: Record<string, string> = {};
  for (const [name, value] of given) input[name] = value;
  const parsed = v.safeParse(schema, input, abortEarly);
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  const name = v.getDotPath(issue) ?? "";
  const value = given.get(name) ?? "";
  if (value === "" && schema.entries[name].type !== "optional")
    throw new ApiError("missing_parameter", `the parameter ${name} is required`, { param: name });
  throw new ApiError("invalid_parameter", `${name} is ${echo(value)}, expected ${issue.message}`, {
    param: name,
  });
}

const ccnDigits = 6;
export const zipDigits = 5;

/** Says that leading zeros may be missing in a number of fewer than `digits` digits; undefined for any other text. */
export function missingZeros(text: string, digits: number): string | undefined {
  if (!/^[0-9]+$/.test(text) || text.length >= digits) return undefined;
  const zeros = text.length === digits - 1 ? "a leading zero" : "leading zeros";
  return `${zeros} may be missing, which spreadsheets drop: ${text.padStart(digits, "0")}`;
}

export const shortCcn = (ccn: string): string | undefined => missingZeros(ccn, ccnDigits);

export function textUpTo(most: number, expected: string) {
  return v.pipe(
    v.string(),
    v.nonEmpty(expected),
    v.check((text) => [...text].length <= most, expected),
    v.metadata({ maxLength: most }),
  );
}

export const procedure = v.pipe(
  v.string(),
  v.nonEmpty(),
  v.description(
    "APC code of the procedure group. `/healthcare/procedures` lists them all, `/search` finds one by name.",
  ),
  v.examples(["5072"]),
);

const expectedState = `one of ${stateCodes.join(", ")}`;
const stateInAnyCase = `(${stateCodes
  .map((code) => code.replace(/./g, (letter) => `[${letter}${letter.toLowerCase()}]`))
  .join("|")})`;
export const state = v.optional(
  v.pipe(
    v.string(),
    v.regex(new RegExp(`^${stateInAnyCase}$`), ({ input }) =>
      withHint(
        expectedState,
        input.includes(",") ? "/healthcare/facilities takes several, separated by commas" : undefined,
      ),
    ),
    v.toUpperCase(),
    v.description("Two-letter state code, in upper or lower case. Without it, the whole nation."),
    v.examples(["DC", ...stateCodes.filter((code) => code !== "DC")]),
  ),
);

/**
 * Makes the schema of a list of 1 to `most` values, separated by commas. Spaces around values are dropped, and so are
 * repeated values.
 * @param pattern the pattern of a value
 * @param isValue tells whether a text that fits the pattern is a value
 * @param write writes a value in its usual form
 * @param key makes a value's key; of values with the same key, the first is kept
 * @param hint says what may be wrong with a list
 */
function listOf(
  pattern: string,
  most: number,
  expected: string,
  description: string,
  example: string,
  {
    isValue = () => true,
    write = (value) => value,
    key = write,
    hint = () => undefined,
  }: {
    isValue?: (value: string) => boolean;
    write?: (value: string) => string;
    key?: (value: string) => string;
    hint?: (list: string) => string | undefined;
  } = {},
) {
  const message = `1 to ${most} ${expected}, separated by commas`;
  return v.pipe(
    v.string(),
    v.regex(new RegExp(`^ *${pattern} *(, *${pattern} *)*$`), ({ input }) => withHint(message, hint(input))),
    v.check((text) => text.split(",").every((each) => isValue(each.trim())), message),
    v.description(`Up to ${most} ${description}`),
    v.examples([example]),
    v.transform((text) => {
      const entries = new Map<string, string>();
      for (const entry of text.split(",").map((each) => each.trim()))
        if (!entries.has(key(entry))) entries.set(key(entry), write(entry));
      return [...entries.values()];
    }),
    v.check((entries) => entries.length <= most, message),
  );
}

export const states = listOf(
  // A list's pattern has its value's pattern twice, so a pattern with all states would be long.
  "[A-Za-z]{2}",
  10,
  `of ${stateCodes.join(", ")}`,
  "state codes, separated by commas, in upper or lower case.",
  "DC,MD",
  {
    isValue: (code) => stateCodes.includes(code.toUpperCase()),
    write: (code) => code.toUpperCase(),
  },
);

export const aPlace = "a ZIP code of five digits, or a city with its state, such as Boston, MA";
export const place = v.pipe(v.string(), v.regex(/^.{2,100}$/, aPlace));

export const ccns = listOf(
  "[0-9A-Za-z]{6}",
  50,
  "CCNs of six letters or digits",
  "CCNs, separated by commas, in upper or lower case. `summary.unknown` lists those that aren't in the data.",
  "990580,990581,990582",
  {
    key: (ccn) => ccn.toUpperCase(),
    hint: (text) =>
      text
        .split(",")
        .map((entry) => shortCcn(entry.trim()))
        .find(Boolean),
  },
);

export const versionNames = v.optional(
  listOf(
    "[0-9]{4}(\\.[0-9]+)?",
    20,
    "data versions such as 2024.1, or years",
    "data versions, separated by commas, to compare instead of the newest of each year. A year means its newest revision. With exact versions only, the answer never changes.",
    "2023.1,2024.1",
  ),
);

export function dollars(max: number) {
  const expected = `dollars from 0 to ${max}, with at most two decimals`;
  return v.pipe(
    v.string(),
    v.regex(/^(0|[1-9][0-9]*)(\.[0-9]{1,2})?$/, expected),
    v.transform(Number.parseFloat),
    v.minValue(0, expected),
    v.maxValue(max, expected),
  );
}

export const defaultLimit = 25;
export const rowLimit = (max: number) =>
  v.optional(
    v.pipe(
      wholeNumber(1, max),
      v.description(`Maximum number of rows on a page, 1 to ${max}. \`next\` leads to the other rows.`),
      v.examples([2]),
    ),
    String(defaultLimit),
  );
